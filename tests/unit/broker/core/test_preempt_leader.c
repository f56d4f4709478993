/*  test_preempt_leader.c -- preemptions that are disturbed: new leaders, sites that are gone, victims that end by
 *  themselves. */
#include "broker/core/holds/awaited_sites.h"
#include "tests/unit/broker/core/preempt_testing.h"

/* ---- when things go wrong ------------------------------------------------------------------------------ */

static void preempt__a_new_leader_waits_for_the_victims_of_the_last_one(void **state)
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

/*  Two full sites; one job was told to stop, and the other job's site reports to the new leader first. */
typedef struct handover {
    helio_site_profile_t *sites[2];
    helio_job_key_t jobs[2], urgent;
    uint64_t left; /* the peer of the victim */
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

static void preempt__a_new_leader_preempts_nothing_before_old_victims_are_known(void **state)
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

/*  North, with running jobs of four, two and two GPUs, and south, whose eight run something critical. In the end the latter is
 *  missed by a new leader, so that this leader begins no preemption of its own. */
typedef struct missed {
    helio_job_key_t jobs[3];
    harness_t *before;
} missed_t;

static missed_t fill_both(bool other_order)
{
    missed_t self = {.before = NULL};
    helio_site_profile_t *south = harness_site(h, "south");
    harness_pool(h, south, "a", "H100", 1, 8, 0);
    harness_join(h, SOUTH, south);
    helio_job_key_t critical = of("acme", "express", 1, 8);
    harness_tick(h);
    harness_run_up_to(h, SOUTH, critical, 1, HELIO_JOB_RUNNING);
    if (other_order)
        harness_pool(h, north, "b", "L40S", 1, 8, 0);
    harness_pool(h, north, "a", "H100", 1, 8, 0);
    if (!other_order)
        harness_pool(h, north, "b", "L40S", 1, 8, 0);
    harness_join(h, NORTH, north);
    for (uint32_t i = 0; i < 3; i++)
        self.jobs[i] = run(of("acme", "standard", 1, i ? 2 : 4));
    harness_wait(h, MINUTE);
    return self;
}

static void assert_jobs(const missed_t *self, uint32_t first, uint32_t second, uint32_t third)
{
    assert_state(self->jobs[0], first);
    assert_state(self->jobs[1], second);
    assert_state(self->jobs[2], third);
}

/*  North comes back with all three and with its pools in this order, and the first one leaves. */
static void hand_over_north(missed_t *self)
{
    self->before = h;
    h = harness_rebuild(self->before);
    north = harness_site(h, "north");
    harness_pool(h, north, "a", "H100", 1, 8, 0);
    harness_pool(h, north, "b", "L40S", 1, 8, 0);
    harness_hello(h, NORTH, north);
    helio_holding_t holdings[3];
    for (uint32_t i = 0; i < 3; i++)
        holdings[i] =
            (helio_holding_t){.key = self->jobs[i], .epoch = 1, .state = HELIO_JOB_STOPPING, .dispatch_seq = i + 1};
    harness_inventory(h, NORTH, holdings, 3);
    harness_summary(h, NORTH, north, 0, 1);
    harness_wait(h, TAKEOVER_AWAIT_MS + 1000);
    stopped(self->jobs[0], 1);
    harness_wait(h, 2000);
}

static void preempt__a_new_leader_holds_what_victims_of_the_last_one_return(void **state)
{
    (void)state;
    for (uint32_t other_order = 0; other_order < 2; other_order++) {
        harness_t *former = h;
        if (other_order) {
            harness_end(&former);
            begin(NULL);
        }
        missed_t all = fill_both(other_order);
        helio_job_key_t urgent = of("other", "express", 1, 8);
        harness_tick(h);
        assert_jobs(&all, HELIO_JOB_STOPPING, HELIO_JOB_STOPPING, HELIO_JOB_STOPPING);
        hand_over_north(&all);
        assert_jobs(&all, HELIO_JOB_QUEUED, HELIO_JOB_STOPPING, HELIO_JOB_STOPPING);
        stopped(all.jobs[1], 1);
        stopped(all.jobs[2], 1);
        harness_tick(h);
        assert_state(urgent, HELIO_JOB_OFFERED);
        assert_jobs(&all, HELIO_JOB_QUEUED, HELIO_JOB_QUEUED, HELIO_JOB_QUEUED);
        assert_int_equal(preemptions(HELIO_PREEMPT_CAUSE_TIER), 0);
        harness_end(&all.before);
    }
}

static void preempt__a_new_leader_holds_for_each_job_that_the_last_one_preempted_for(void **state)
{
    (void)state;
    missed_t all = fill_both(false);
    helio_job_key_t urgent = of("other", "express", 1, 4), next = of("other", "express", 1, 4);
    harness_tick(h);
    assert_jobs(&all, HELIO_JOB_STOPPING, HELIO_JOB_STOPPING, HELIO_JOB_STOPPING);
    hand_over_north(&all);
    assert_state(urgent, HELIO_JOB_OFFERED);
    stopped(all.jobs[1], 1);
    harness_wait(h, 2000);
    assert_jobs(&all, HELIO_JOB_QUEUED, HELIO_JOB_QUEUED, HELIO_JOB_STOPPING);
    stopped(all.jobs[2], 1);
    harness_tick(h);
    assert_state(next, HELIO_JOB_OFFERED);
    assert_jobs(&all, HELIO_JOB_QUEUED, HELIO_JOB_QUEUED, HELIO_JOB_QUEUED);
    harness_end(&all.before);
}

static void preempt__a_new_leader_holds_nothing_for_a_job_that_waits_no_more(void **state)
{
    (void)state;
    missed_t all = fill_both(false);
    helio_job_key_t urgent = of("other", "express", 1, 8);
    harness_tick(h);
    (void)harness_command(h, HELIO_BROKER_EV_CANCEL, "other", HELIO_ROLE_USER, urgent);
    hand_over_north(&all);
    assert_state(all.jobs[0], HELIO_JOB_OFFERED);
    harness_end(&all.before);
}

static void preempt__a_new_leader_does_not_wait_for_ever_for_a_silent_site(void **state)
{
    (void)state;
    handover_t all = hand_over();
    for (uint32_t s = 0; s < 58; s++) {
        assert_state(all.jobs[SOUTH - all.left], HELIO_JOB_RUNNING);
        harness_wait(h, 1000);
        harness_renew(h, NORTH + SOUTH - all.left);
    }
    harness_wait(h, 1000);
    assert_state(all.jobs[SOUTH - all.left], HELIO_JOB_STOPPING);
    harness_end(&all.before);
}

static void preempt__an_earlier_end_counts_and_a_failure_during_the_grace_does_not(void **state)
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

static void preempt__a_hold_at_a_site_that_returns_with_other_pools_is_dropped(void **state)
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

static void preempt__a_hold_for_victims_that_never_leave_ends(void **state)
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

/*  Whoever looks at the job afterwards reads why it left, not that its site was silent meanwhile; and its site is
 *  told again why it is stopped. */
static void preempt__a_victim_whose_site_was_silent_returns_with_its_reason(void **state)
{
    for (int successor = 0; successor < 2; successor++) {
        (void)end(state);
        h = harness_begin(NULL);
        north = harness_site(h, "north");
        harness_pool(h, north, "a", "H100", 1, 8, 0);
        harness_join(h, NORTH, north);
        helio_job_spec_t spec = spec_of("standard", 1, 8);
        spec.on_site_loss = HELIO_SITE_LOSS_STRICT;
        spec.checkpoint_signal = HELIO_TEXT("USR1");
        spec.checkpoint_grace_ms = 10 * MINUTE;
        helio_job_key_t low = run(harness_job(h, &spec));
        for (int i = 0; i < 4; i++) { /* young runs are protected */
            harness_wait(h, 30000);
            harness_renew(h, NORTH);
        }
        (void)of("other", "express", 1, 8);
        harness_tick(h);
        assert_state(low, HELIO_JOB_STOPPING);
        char why[512], now[600];
        (void)snprintf(why, sizeof why, "%s", harness_facts(h, harness_row(h, low)->why));
        assert_non_null(strstr(why, "PreemptedBy"));
        harness_gone(h, NORTH);
        harness_wait(h, 2 * MINUTE);
        assert_state(low, HELIO_JOB_SUSPECT);
        (void)snprintf(now, sizeof now, "SiteSilent; %s", why);
        assert_string_equal(harness_facts(h, harness_row(h, low)->why), now);
        harness_t *before = h;
        if (successor) {
            h = harness_rebuild(before);
            harness_end(&before);
            north = harness_site(h, "north");
            harness_pool(h, north, "a", "H100", 1, 8, 0);
        }
        harness_clear(h);
        harness_hello(h, NORTH + 10, north);
        helio_holding_t holding = {low, 1, HELIO_JOB_STOPPING, 1};
        harness_inventory(h, NORTH + 10, &holding, 1);
        assert_state(low, HELIO_JOB_STOPPING);
        (void)snprintf(now, sizeof now, "SiteBack; %s", why);
        assert_string_equal(harness_facts(h, harness_row(h, low)->why), now);
        const helio_fx_stop_t *stop = harness_take(h, HELIO_BROKER_FX_STOP);
        assert_non_null(stop);
        assert_true(stop->stop.reason.size > 12 && memcmp(stop->stop.reason.data, "preempted by", 12) == 0);
        harness_say(h, NORTH + 10, low, 1, HELIO_REPORT_KIND_STOPPED);
        assert_state(low, HELIO_JOB_QUEUED);
        assert_string_equal(harness_facts(h, harness_row(h, low)->why), why);
    }
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        T(preempt__a_new_leader_waits_for_the_victims_of_the_last_one),
        T(preempt__a_new_leader_preempts_nothing_before_old_victims_are_known),
        T(preempt__a_new_leader_holds_what_victims_of_the_last_one_return),
        T(preempt__a_new_leader_holds_for_each_job_that_the_last_one_preempted_for),
        T(preempt__a_new_leader_holds_nothing_for_a_job_that_waits_no_more),
        T(preempt__a_new_leader_does_not_wait_for_ever_for_a_silent_site),
        T(preempt__an_earlier_end_counts_and_a_failure_during_the_grace_does_not),
        T(preempt__a_hold_at_a_site_that_returns_with_other_pools_is_dropped),
        T(preempt__a_hold_for_victims_that_never_leave_ends),
        T(preempt__a_victim_whose_site_was_silent_returns_with_its_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
