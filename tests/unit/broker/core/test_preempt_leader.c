/*  test_preempt_leader.c -- preemptions when things go wrong: new leaders, sites that are gone, ends that came first. */
#include "tests/unit/broker/core/preempt_testing.h"

/* ---- when things go wrong ------------------------------------------------------------------------------ */

static void preempt__a_new_leader_waits_for_those_who_were_told_to_leave(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 0);
    harness_join(h, NORTH, north);
    helio_job_key_t first = run(of("acme", "standard", 1, 4)), second = run(of("acme", "standard", 1, 4));
    harness_wait(h, MINUTE);
    helio_job_key_t urgent = of("other", "express", 1, 4);
    harness_tick(h);
    helio_job_key_t gone = harness_state(h, first) == HELIO_JOB_STOPPING ? first : second,
                    stays = harness_state(h, first) == HELIO_JOB_STOPPING ? second : first;
    harness_t *before = h;
    h = harness_rebuild(before);
    harness_hello(h, NORTH, north);
    helio_holding_t holdings[] = {{.key = gone, .epoch = 1, .state = HELIO_JOB_STOPPING, .dispatch_seq = 1},
                                  {.key = stays, .epoch = 1, .state = HELIO_JOB_RUNNING, .dispatch_seq = 2}};
    harness_inventory(h, NORTH, holdings, 2);
    harness_summary(h, NORTH, north, 0, 1);
    harness_wait(h, 2000);
    assert_state(stays, HELIO_JOB_RUNNING);
    assert_int_equal(preemptions(HELIO_PREEMPT_CAUSE_TIER), 0);
    stopped(gone, 1);
    harness_tick(h);
    assert_state(urgent, HELIO_JOB_OFFERED);
    assert_state(stays, HELIO_JOB_RUNNING);
    harness_end(&before);
}

/*  Two full sites; one job was told to leave, and the new leader hears of the other one's site first. */
typedef struct handover {
    helio_site_profile_t *sites[2];
    helio_job_key_t jobs[2], urgent;
    uint64_t left; /* the peer of the one that was told */
    harness_t *before;
} handover_t;

static void heard(const handover_t *self, uint64_t peer, uint32_t state)
{
    helio_holding_t holding = {.key = self->jobs[peer - NORTH], .epoch = 1, .state = state, .dispatch_seq = 1};
    harness_hello(h, peer, self->sites[peer - NORTH]);
    harness_inventory(h, peer, &holding, 1);
    harness_summary(h, peer, self->sites[peer - NORTH], 0, 1);
    harness_wait(h, 2000);
}

static handover_t hand_over(void)
{
    handover_t self = {.sites = {north, harness_site(h, "south")}};
    for (uint64_t peer = NORTH; peer <= SOUTH; peer++) {
        harness_pool(h, self.sites[peer - NORTH], "a", "H100", 1, 8, 0);
        harness_join(h, peer, self.sites[peer - NORTH]);
        self.jobs[peer - NORTH] = of("acme", "standard", 1, 8);
        harness_tick(h);
        harness_run_up_to(h, peer, self.jobs[peer - NORTH], 1, HELIO_JOB_RUNNING);
    }
    harness_wait(h, 2 * MINUTE);
    self.urgent = of("other", "express", 1, 8);
    harness_tick(h);
    self.left = harness_state(h, self.jobs[0]) == HELIO_JOB_STOPPING ? NORTH : SOUTH;
    assert_state(self.jobs[self.left - NORTH], HELIO_JOB_STOPPING);
    self.before = h;
    h = harness_rebuild(self.before);
    heard(&self, NORTH + SOUTH - self.left, HELIO_JOB_RUNNING);
    assert_state(self.jobs[SOUTH - self.left], HELIO_JOB_RUNNING);
    return self;
}

static void preempt__a_new_leader_tells_nobody_to_leave_before_it_has_heard_who_was_told(void **state)
{
    (void)state;
    handover_t all = hand_over();
    heard(&all, all.left, HELIO_JOB_STOPPING);
    harness_say(h, all.left, all.jobs[all.left - NORTH], 1, HELIO_REPORT_KIND_STOPPED);
    harness_tick(h);
    assert_state(all.urgent, HELIO_JOB_OFFERED);
    assert_state(all.jobs[SOUTH - all.left], HELIO_JOB_RUNNING);
    assert_int_equal(preemptions(HELIO_PREEMPT_CAUSE_TIER), 0);
    harness_end(&all.before);
}

static void preempt__a_new_leader_does_not_wait_for_ever_for_a_site_that_is_gone(void **state)
{
    (void)state;
    handover_t all = hand_over();
    harness_wait(h, 20000);
    assert_state(all.jobs[SOUTH - all.left], HELIO_JOB_STOPPING);
    harness_end(&all.before);
}

static void preempt__an_end_that_came_first_counts_and_a_failure_under_notice_does_not(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 0);
    harness_join(h, NORTH, north);
    helio_job_key_t good = run(of("acme", "standard", 1, 4)), bad = run(of("acme", "standard", 1, 4));
    harness_wait(h, MINUTE);
    helio_job_key_t urgent = of("other", "express", 1, 8);
    harness_tick(h);
    harness_say(h, NORTH, good, 1, HELIO_REPORT_KIND_ENDED);
    helio_report_t report = harness_report_of(h, bad, 1, HELIO_REPORT_KIND_ENDED);
    report.exit_code = 1;
    harness_report(h, NORTH, &report);
    assert_state(good, HELIO_JOB_SUCCEEDED);
    assert_state(bad, HELIO_JOB_QUEUED);
    assert_int_equal(harness_row(h, bad)->failures, 0);
    harness_tick(h);
    assert_state(urgent, HELIO_JOB_OFFERED);
}

static void preempt__a_hold_at_a_site_that_comes_back_changed_is_dropped(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 0);
    harness_join(h, NORTH, north);
    helio_job_key_t low = run(of("acme", "standard", 1, 8));
    harness_wait(h, MINUTE);
    helio_job_key_t urgent = of("other", "express", 1, 8);
    harness_tick(h);
    assert_state(low, HELIO_JOB_STOPPING);
    harness_hello(h, SOUTH, north); /* a new session: its pools are read anew */
    helio_holding_t holding = {.key = low, .epoch = 1, .state = HELIO_JOB_STOPPING, .dispatch_seq = 1};
    harness_inventory(h, SOUTH, &holding, 1);
    harness_summary(h, SOUTH, north, 0, 1);
    harness_wait(h, 1000);
    harness_say(h, SOUTH, low, 1, HELIO_REPORT_KIND_STOPPED);
    harness_tick(h);
    assert_state(urgent, HELIO_JOB_OFFERED);
}

static void preempt__victims_that_never_leave_hold_nothing_for_ever(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 0);
    helio_site_profile_t *south = harness_site(h, "south");
    harness_join(h, NORTH, north);
    helio_job_key_t low = run(of("acme", "batch", 1, 8));
    harness_wait(h, 5000);
    helio_job_key_t urgent = of("other", "express", 1, 8);
    harness_tick(h);
    assert_state(low, HELIO_JOB_STOPPING);
    harness_pool(h, south, "b", "H100", 1, 8, 0);
    harness_join(h, SOUTH, south);
    harness_tick(h);
    assert_state(urgent, HELIO_JOB_OFFERED); /* it does not wait for what it does not need */
    stopped(low, 1);
    harness_tick(h);
    assert_state(low, HELIO_JOB_OFFERED);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        T(preempt__a_new_leader_waits_for_those_who_were_told_to_leave),
        T(preempt__a_new_leader_tells_nobody_to_leave_before_it_has_heard_who_was_told),
        T(preempt__a_new_leader_does_not_wait_for_ever_for_a_site_that_is_gone),
        T(preempt__an_end_that_came_first_counts_and_a_failure_under_notice_does_not),
        T(preempt__a_hold_at_a_site_that_comes_back_changed_is_dropped),
        T(preempt__victims_that_never_leave_hold_nothing_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
