/*  test_aimed.c -- faults that are aimed strike soon after what they are aimed at, a bounded number of times, and heal. */
#include "tests/unit/simulator/checks/checks_testing.h"

#include "federation/reason/detail.h"
#include "simulator/faults/faults.h"

enum { SETTLED_MS = 20000, SOON_MS = 5000, HEALED_MS = 200000, STRIKES_MAX = 4 };

static void run_until(stage_t *self, int64_t until_ms)
{
    while (sim_now_ms(self->engine) < until_ms && sim_engine_step(self->engine))
        continue;
}

static uint64_t strikes(const stage_t *self, sim_fault_t fault)
{
    return self->federation->faults.counts[fault];
}

/*  A world whose leader has its sites, and its storm. */
typedef struct field {
    stage_t *stage;
    sim_storm_t *storm;
} field_t;

static field_t field_of(uint64_t seed)
{
    field_t self = {.stage = stage_new(seed, 1)};
    self.storm = sim_storm_new(self.stage->federation, HOUR_MS);
    sim_federation_start(self.stage->federation);
    run_until(self.stage, SETTLED_MS);
    assert_true(sim_broker_leads(self.stage->federation->brokers[0]));
    return self;
}

static void field_end(field_t *self)
{
    sim_storm_destroy(&self->storm);
    stage_destroy(&self->stage);
}

static void tell_to_leave(field_t *self, uint32_t to, helio_detail_code_t code)
{
    helio_row_transition_t row = {.from = HELIO_JOB_RUNNING, .to = to};
    helio_details_add(&row.why, sim_arena(self->stage->engine), (helio_detail_t){.code = code});
    const helio_effect_t effect = {.kind = HELIO_BROKER_FX_ROW_TRANSITION, .payload = &row};
    sim_storm_decided(self->storm, &effect);
}

static void a_leader__ends_soon_after_it_told_a_job_to_leave(void **state)
{
    (void)state;
    static const struct {
        uint32_t to;
        helio_detail_code_t code;
        bool aims, struck;
    } cases[] = {
        {HELIO_JOB_STOPPING, HELIO_DETAIL_PREEMPTED_BY, true, true},
        {HELIO_JOB_STOPPING, HELIO_DETAIL_MIGRATED, true, true},
        {HELIO_JOB_STOPPING, HELIO_DETAIL_SITE_FORGOT, true, false},
        {HELIO_JOB_QUEUED, HELIO_DETAIL_PREEMPTED_BY, true, false},
        {HELIO_JOB_STOPPING, HELIO_DETAIL_PREEMPTED_BY, false, false}, /* a world of an older generation */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t worlds = 0;
        for (uint64_t seed = 1; seed <= 12; seed++) {
            field_t self = field_of(seed);
            uint64_t epoch = sim_broker_epoch(self.stage->federation->brokers[0]);
            if (cases[i].aims)
                sim_storm_begin_aimed(self.storm);
            tell_to_leave(&self, cases[i].to, cases[i].code);
            run_until(self.stage, SETTLED_MS + SOON_MS);
            bool struck = strikes(self.stage, SIM_FAULT_LEADER_AMID) > 0;
            worlds += struck;
            run_until(self.stage, SETTLED_MS + HEALED_MS);
            if (struck)
                assert_true(sim_broker_leads(self.stage->federation->brokers[0]) &&
                            sim_broker_epoch(self.stage->federation->brokers[0]) > epoch);
            field_end(&self);
        }
        assert_int_equal(worlds > 0, cases[i].struck);
    }
}

static void strikes_amid_what_was_begun__are_few(void **state)
{
    (void)state;
    uint64_t most = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        field_t self = field_of(seed);
        sim_storm_begin_aimed(self.storm);
        for (int64_t at_ms = SETTLED_MS; at_ms < 20 * HEALED_MS; at_ms += HEALED_MS) {
            tell_to_leave(&self, HELIO_JOB_STOPPING, HELIO_DETAIL_PREEMPTED_BY);
            run_until(self.stage, at_ms + HEALED_MS);
        }
        uint64_t count = strikes(self.stage, SIM_FAULT_LEADER_AMID);
        most = count > most ? count : most;
        field_end(&self);
    }
    assert_int_equal(most, STRIKES_MAX);
}

static void agents__end_with_the_leader_and_come_back(void **state)
{
    (void)state;
    uint64_t worlds = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        field_t self = field_of(seed);
        uint64_t lives[SITES] = {self.stage->federation->hosts[0].life, self.stage->federation->hosts[1].life};
        sim_storm_begin_aimed(self.storm);
        run_until(self.stage, HOUR_MS + HEALED_MS);
        bool struck = strikes(self.stage, SIM_FAULT_SITES_WITH_LEADER) > 0, ended = false;
        for (uint32_t i = 0; i < SITES; i++) {
            ended = ended || self.stage->federation->hosts[i].life > lives[i];
            assert_true(self.stage->federation->hosts[i].up);
        }
        assert_true(struck || !ended);
        worlds += struck && ended;
        field_end(&self);
    }
    assert_true(worlds > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leader__ends_soon_after_it_told_a_job_to_leave),
        cmocka_unit_test(strikes_amid_what_was_begun__are_few),
        cmocka_unit_test(agents__end_with_the_leader_and_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
