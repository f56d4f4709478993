/*  test_leaving.c -- each promise of the fault campaign on migrations and the run as a whole is seen when it is broken, and
 *  only then. */
#include "tests/unit/simulator/checks/checks_testing.h"

#include "federation/policy/migration.h"

/* ---- migrations -------------------------------------------------------------------------------------------- */

static bool asks_for_better_site(const stage_t *self)
{
    const helio_job_spec_t *spec = &job_at(self, 0)->submission.spec;
    return spec->on_better_site == HELIO_BETTER_SITE_CHECKPOINT &&
           (spec->checkpoint_signal.size || spec->checkpoint_every_ms);
}

static bool asks_and_does_not_save(const stage_t *self)
{
    const helio_job_spec_t *spec = &job_at(self, 0)->submission.spec;
    return spec->on_better_site == HELIO_BETTER_SITE_CHECKPOINT && !spec->checkpoint_signal.size &&
           !spec->checkpoint_every_ms;
}

static bool saves_and_does_not_ask(const stage_t *self)
{
    const helio_job_spec_t *spec = &job_at(self, 0)->submission.spec;
    return spec->on_better_site != HELIO_BETTER_SITE_CHECKPOINT && spec->checkpoint_signal.size;
}

static void migrate(stage_t *self)
{
    helio_row_transition_t row = {.key = key_at(0), .from = HELIO_JOB_RUNNING, .to = HELIO_JOB_STOPPING};
    helio_details_add(&row.why, sim_arena(self->engine),
                      HELIO_DETAIL(sim_arena(self->engine), HELIO_DETAIL_MIGRATED, helio_value_string("site0"),
                                   helio_value_string("site1")));
    decided(self, HELIO_BROKER_FX_ROW_TRANSITION, &row);
}

static void only_a_job_that_asks_and_saves__leaves_for_a_better_site(void **state)
{
    (void)state;
    fits_fn *const cases[] = {asks_for_better_site, asks_and_does_not_save, saves_and_does_not_ask};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stage_t *self = stage_of(1, cases[i]);
        accept_job(self, 0);
        migrate(self);
        if (i) {
            expect_broken(&self, "did not ask for it, or does not declare how it checkpoints");
            continue;
        }
        expect_kept(self);
        assert_int_equal(sim_checks_seen(self->checks).migrations, 1);
        stage_destroy(&self);
    }
}

static void nothing(void *arg, sim_happening_t *happening)
{
    (void)arg, (void)happening;
}

static void a_job_that_migrated__stays_for_an_hour(void **state)
{
    (void)state;
    static const int64_t stays_ms[] = {0, 1, HELIO_MIGRATION_RESIDENCE_MS / 2, HELIO_MIGRATION_RESIDENCE_MS + 60000};
    for (size_t i = 0; i < sizeof stays_ms / sizeof stays_ms[0]; i++) {
        stage_t *self = stage_of(1, asks_for_better_site);
        accept_job(self, 0);
        sim_later(self->engine, 1, nothing, NULL); /* no clock begins at 0 */
        migrate(self);
        expect_kept(self);
        int64_t until_ms = sim_now_ms(self->engine) + stays_ms[i];
        sim_later(self->engine, stays_ms[i], nothing, NULL);
        while (sim_now_ms(self->engine) < until_ms && sim_engine_step(self->engine))
            continue;
        migrate(self);
        if (stays_ms[i] < HELIO_MIGRATION_RESIDENCE_MS) {
            expect_broken(&self, "a job migrated again after");
            continue;
        }
        expect_kept(self);
        stage_destroy(&self);
    }
}

static void a_job__migrates_a_bounded_number_of_times(void **state)
{
    (void)state;
    stage_t *self = stage_of(1, asks_for_better_site);
    helio_row_state_t row = {.key = key_at(0), .migrations = HELIO_MIGRATION_TIMES_MAX};
    decided(self, HELIO_BROKER_FX_ROW_STATE, &row);
    expect_kept(self);
    row.migrations++;
    decided(self, HELIO_BROKER_FX_ROW_STATE, &row);
    expect_broken(&self, "a job migrated 57 times");
}

static void an_arrival__is_counted_where_the_job_came_from_another_site(void **state)
{
    (void)state;
    stage_t *self = stage_of(1, asks_for_better_site);
    for (int migrated = 0; migrated < 2; migrated++) {
        helio_row_transition_t row = {.key = key_at(0), .from = HELIO_JOB_QUEUED, .to = HELIO_JOB_OFFERED};
        helio_details_add(&row.why, sim_arena(self->engine),
                          HELIO_DETAIL(sim_arena(self->engine), HELIO_DETAIL_PLACED_AT, helio_value_string("site1"),
                                       helio_value_string(migrated ? "site0" : ""), helio_value_number(0)));
        decided(self, HELIO_BROKER_FX_ROW_TRANSITION, &row);
        assert_int_equal(sim_checks_seen(self->checks).arrivals, migrated);
    }
    expect_kept(self);
    stage_destroy(&self);
}

/* ---- the end ----------------------------------------------------------------------------------------------- */

static bool ends_by_itself(const stage_t *self)
{
    const sim_job_t *job = job_at(self, 0);
    return job->tasks == 1 && !job->after_count && !job->cancel_ms && !job->deadline_ms && !job->limit_hits;
}

typedef enum fault {
    NONE,
    OTHER_STATE,
    OTHER_CODE,
    NO_COMPLETION,
    USE_WITHOUT_LEDGER,
    STILL_OPEN,
    STILL_RUNS,
    RUNS_UNFOUND,
    NEVER_STORED,
    FAULTS
} fault_t;

/*  The job ends as its program says, but for the fault. */
static void end_with(stage_t *self, fault_t fault)
{
    const sim_job_t *job = job_at(self, 0);
    helio_row_state_t state = {.key = key_at(0),
                               .epoch = 1,
                               .state = job->exit_code ? HELIO_JOB_FAILED : HELIO_JOB_SUCCEEDED,
                               .exit_code = (int32_t)job->exit_code + (fault == OTHER_CODE),
                               .energy_j = fault == USE_WITHOUT_LEDGER};
    if (fault == OTHER_STATE)
        state.state = job->exit_code ? HELIO_JOB_SUCCEEDED : HELIO_JOB_FAILED;
    else if (fault == STILL_OPEN)
        state.state = HELIO_JOB_RUNNING;
    helio_row_placement_t placement = placement_of(self, 0, 1, "site0");
    helio_row_attempt_t attempt = {.key = key_at(0), .epoch = 1, .completes = fault != NO_COMPLETION};
    durable(self, HELIO_BROKER_FX_ROW_PLACEMENT, &placement);
    durable(self, HELIO_BROKER_FX_ROW_ATTEMPT, &attempt);
    durable(self, HELIO_BROKER_FX_ROW_STATE, &state);
}

static void a_run__ends_with_every_job_as_its_program_says(void **state)
{
    (void)state;
    static const char *const broken[FAULTS] = {
        [OTHER_STATE] = ", its program says ",
        [OTHER_CODE] = " has exit code ",
        [NO_COMPLETION] = " has 0 completions",
        [USE_WITHOUT_LEDGER] = " used 1 J and 0 mg by its state, 0 J and 0 mg by the ledger",
        [STILL_OPEN] = "is running, its program says ",
        [STILL_RUNS] = " epoch 1 still runs",
        [NEVER_STORED] = "an accepted job is lost",
    };
    for (fault_t fault = NONE; fault < FAULTS; fault++) {
        stage_t *self = stage_of(1, ends_by_itself);
        if (fault != NEVER_STORED) {
            accept_job(self, 0);
            end_with(self, fault);
        }
        if (fault == STILL_RUNS || fault == RUNS_UNFOUND) {
            helio_afx_start_t start = {
                .order = {.key = key_at(0), .epoch = 1, .nodes = 1, .source = helio_text_of(job_at(self, 0)->source)}};
            sim_backend_start(self->federation->backend, 0, &start);
        }
        if (fault == RUNS_UNFOUND) /* no agent can end it */
            sim_backend_orphan_all(self->federation->backend, 0);
        sim_checks_at_rest(self->checks);
        if (broken[fault]) {
            expect_broken(&self, broken[fault]);
            continue;
        }
        expect_kept(self);
        stage_destroy(&self);
    }
}

/*  It began at 0, and its site was heard at 0 only; clocks can be two minutes apart. */
static void an_attested_run__is_charged_up_to_the_last_message_of_its_site(void **state)
{
    (void)state;
    static const struct {
        uint64_t run_ms;
        bool heard, given_up, begun, broken; /* begun: a leader knew that it had */
    } cases[] = {{120000, true, true, true, false},
                 {140000, true, true, true, true},
                 {140000, true, false, true, false},
                 {HOUR_MS, true, true, false, false},
                 {HOUR_MS, false, true, true, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stage_t *self = stage_of(1, ends_by_itself);
        accept_job(self, 0);
        helio_afx_start_t start = {
            .order = {.key = key_at(0), .epoch = 1, .nodes = 1, .source = helio_text_of(job_at(self, 0)->source)}};
        sim_backend_start(self->federation->backend, 0, &start);
        if (cases[i].begun) {
            helio_row_state_t state_row = {.key = key_at(0),
                                           .state = HELIO_JOB_RUNNING,
                                           .epoch = 1,
                                           .site = HELIO_TEXT("site0"),
                                           .started_ms = sim_true_wall_ms(self->engine)};
            durable(self, HELIO_BROKER_FX_ROW_STATE, &state_row);
        }
        helio_row_site_t site = {.site = HELIO_TEXT("site0"), .seen_ms = cases[i].heard};
        decided(self, HELIO_BROKER_FX_ROW_SITE, &site);
        helio_row_attempt_t row = {.key = key_at(0),
                                   .epoch = 1,
                                   .run_ms = cases[i].run_ms,
                                   .basis = cases[i].given_up ? HELIO_ATTEMPT_GIVEN_UP : HELIO_ATTEMPT_REPORTED};
        decided(self, HELIO_BROKER_FX_ROW_ATTEMPT, &row);
        if (cases[i].broken) {
            expect_broken(&self, "beyond the last message of its site");
            continue;
        }
        expect_kept(self);
        stage_destroy(&self);
    }
}

static void a_run__has_the_use_of_every_attempt_in_the_ledger(void **state)
{
    (void)state;
    stage_t *self = stage_of(1, ends_by_itself);
    accept_job(self, 0);
    end_with(self, NONE);
    helio_afx_start_t start = {.order = {.key = key_at(0),
                                         .epoch = 1,
                                         .nodes = 1,
                                         .gpus_per_node = 2,
                                         .source = helio_text_of(job_at(self, 0)->source)}};
    sim_backend_start(self->federation->backend, 0, &start);
    const sim_run_t *run = sim_backend_runs(self->federation->backend);
    for (int i = 0; i < 100000 && run->running && sim_engine_step(self->engine); i++)
        continue;
    assert_false(run->running);
    assert_true(run->run_ms > 0);
    sim_checks_at_rest(self->checks);
    expect_broken(&self, "GPU-ms, the ledger has 0");
}

/*  It used no GPU, so that its figures are right: but its site can tell its end, and would not have been asked. */
static void a_run__keeps_no_estimate_that_its_site_could_correct(void **state)
{
    (void)state;
    static const uint32_t bases[] = {HELIO_ATTEMPT_REPORTED, HELIO_ATTEMPT_GIVEN_UP, HELIO_ATTEMPT_CORRECTED};
    for (int i = 0; i < 3; i++) {
        stage_t *self = stage_of(1, ends_by_itself);
        accept_job(self, 0);
        end_with(self, NONE);
        helio_row_placement_t placement = placement_of(self, 0, 2, "site0");
        helio_row_attempt_t attempt = {.key = key_at(0), .epoch = 2, .fenced = true};
        durable(self, HELIO_BROKER_FX_ROW_PLACEMENT, &placement);
        for (int step = i ? 1 : 0; step <= i; step++) {
            attempt.basis = bases[step];
            durable(self, HELIO_BROKER_FX_ROW_ATTEMPT, &attempt);
        }
        helio_afx_start_t start = {
            .order = {.key = key_at(0), .epoch = 2, .nodes = 1, .source = helio_text_of(job_at(self, 0)->source)}};
        sim_backend_start(self->federation->backend, 0, &start);
        const sim_run_t *run = sim_backend_runs(self->federation->backend);
        for (int n = 0; n < 100000 && run->running && sim_engine_step(self->engine); n++)
            continue;
        sim_checks_at_rest(self->checks);
        if (bases[i] == HELIO_ATTEMPT_GIVEN_UP) {
            expect_broken(&self, "GPU-ms, the ledger has 0, by estimate");
            continue;
        }
        expect_kept(self);
        stage_destroy(&self);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_job_that_asks_and_saves__leaves_for_a_better_site),
        cmocka_unit_test(a_job_that_migrated__stays_for_an_hour),
        cmocka_unit_test(a_job__migrates_a_bounded_number_of_times),
        cmocka_unit_test(an_arrival__is_counted_where_the_job_came_from_another_site),
        cmocka_unit_test(a_run__ends_with_every_job_as_its_program_says),
        cmocka_unit_test(an_attested_run__is_charged_up_to_the_last_message_of_its_site),
        cmocka_unit_test(a_run__has_the_use_of_every_attempt_in_the_ledger),
        cmocka_unit_test(a_run__keeps_no_estimate_that_its_site_could_correct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
