/*  test_life.c -- how jobs end, and what failures mean for a pool. */
#include "tests/unit/broker/core/life_testing.h"

#include "federation/reason/codes.h"

/*  By the broker's clock, too. */
static void pass_a_minute(void)
{
    for (int i = 0; i < 2; i++) {
        harness_advance(h, 30000);
        harness_renew(h, NORTH);
        harness_renew(h, SOUTH);
    }
}

/* ---- ends ---------------------------------------------------------------------------------------------- */

static void end__an_exit_code_of_zero_succeeds_and_writes_attempt_ledger_and_state(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_RUNNING);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_ENDED);
    report.units_done = 12;
    report.local_id = HELIO_TEXT("4711");
    harness_report(h, NORTH, &report);
    const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
    assert_true(attempt->completes && !attempt->fenced);
    assert_int_equal(attempt->kind, HELIO_REPORT_KIND_ENDED);
    assert_int_equal(attempt->run_ms, 60000);
    assert_true(helio_text_is(attempt->site, "north"));
    assert_true(helio_text_is(attempt->local_id, "4711"));
    uint64_t gpu_ms = 0;
    int64_t cost = 0;
    const helio_row_ledger_t *ledger;
    while ((ledger = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER))) {
        assert_true(helio_text_is(ledger->tenant, "acme"));
        assert_true(helio_text_is(ledger->pool, "a"));
        assert_true(helio_text_is(ledger->provenance, "model"));
        assert_false(ledger->fenced);
        gpu_ms += ledger->gpu_ms;
        cost += ledger->cost_micro_usd;
    }
    assert_int_equal(gpu_ms, 60000);
    assert_int_equal(cost, 2000000 / 60); /* a minute at 2 USD an hour */
    const helio_row_state_t *row = harness_row(h, key);
    assert_int_equal(row->state, HELIO_JOB_SUCCEEDED);
    assert_int_equal(row->exit_code, 0);
    assert_int_equal(row->units_done, 12);
    assert_int_equal(row->gpu_ms, 60000);
    assert_int_equal(row->cost_micro_usd, cost);
    assert_true(row->started_ms == report.started_wall_ms && row->finished_ms == report.ended_wall_ms);
    assert_false(harness_is_open(h, key));
    const helio_fx_reports_ack_t *ack = harness_take(h, HELIO_BROKER_FX_REPORTS_ACK);
    assert_non_null(ack);
    assert_int_equal(ack->peer, NORTH);
    assert_true(ack->seq > 0);
}

static void end__the_limit_is_a_timeout_whatever_the_exit_code(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.retries = 5;
    helio_job_key_t key = job_in_state(&spec, HELIO_JOB_RUNNING);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_ENDED);
    report.exit_code = 124;
    report.limit_reached = true;
    harness_report(h, NORTH, &report);
    assert_int_equal(harness_row(h, key)->state, HELIO_JOB_TIMEOUT);
    assert_int_equal(harness_row(h, key)->exit_code, 124);
}

static void end__its_own_failures_are_retried_as_often_as_it_asked(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.retries = 2;
    helio_job_key_t key = harness_job(h, &spec);
    for (uint32_t epoch = 1; epoch <= 3; epoch++) {
        harness_tick(h);
        assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
        const helio_fx_order_t *order = harness_take(h, HELIO_BROKER_FX_ORDER);
        assert_int_equal(order->order.epoch, epoch);
        assert_true(order->order.resume == (epoch > 1));
        harness_run_up_to(h, NORTH, key, epoch, HELIO_JOB_RUNNING);
        helio_report_t report = harness_report_of(h, key, epoch, HELIO_REPORT_KIND_ENDED);
        report.exit_code = 3;
        harness_report(h, NORTH, &report);
        assert_int_equal(harness_state(h, key), epoch < 3 ? HELIO_JOB_QUEUED : HELIO_JOB_FAILED);
        const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
        assert_true(attempt->completes == (epoch == 3));
    }
    const helio_row_state_t *row = harness_row(h, key);
    assert_int_equal(row->exit_code, 3);
    assert_int_equal(row->attempts, 3);
    assert_int_equal(row->failures, 3);
    assert_int_equal(row->gpu_ms, 180000); /* all attempts are charged */
}

static void end__before_its_progress_enters_the_skipped_states(void **state)
{
    (void)state;
    static const uint32_t states[] = {HELIO_JOB_OFFERED, HELIO_JOB_ACCEPTED, HELIO_JOB_STARTING, HELIO_JOB_SUSPENDED};
    for (int i = 0; i < 4; i++) {
        helio_job_key_t key = any_in_state(states[i]);
        harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_ENDED);
        assert_int_equal(harness_row(h, key)->state, HELIO_JOB_SUCCEEDED);
    }
}

static void end__a_repetition_changes_nothing(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_RUNNING);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_ENDED);
    helio_broker_figures_t before = harness_figures(h);
    for (int i = 0; i < 3; i++) {
        harness_clear(h);
        harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_ENDED);
        assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_STATE), 0);
        assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_TRANSITION), 0);
        assert_int_equal(harness_count(h, HELIO_BROKER_FX_REPORTS_ACK), 1);
        const helio_row_attempt_t *attempt;
        while ((attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT)))
            assert_false(attempt->completes);
    }
    helio_broker_figures_t after = harness_figures(h);
    assert_memory_equal(before.jobs, after.jobs, sizeof before.jobs);
}

static void end__twice_in_one_frame_completes_once(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_RUNNING);
    helio_report_t twice[2];
    twice[0] = twice[1] = harness_report_of(h, key, 1, HELIO_REPORT_KIND_ENDED);
    twice[0].seq = 8;
    twice[1].seq = 9;
    helio_ev_site_reports_t event = {.peer = NORTH, .reports = {twice, 2}};
    harness_step(h, HELIO_BROKER_EV_SITE_REPORTS, &event); /* the harness counts completions */
    assert_int_equal(harness_figures(h).jobs[HELIO_JOB_SUCCEEDED], 1);
    assert_int_equal(((const helio_fx_reports_ack_t *)harness_take(h, HELIO_BROKER_FX_REPORTS_ACK))->seq, 9);
}

static void end__a_job_that_fails_while_it_is_told_to_migrate_is_still_retried(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.retries = 1;
    helio_job_key_t key = job_in_state(&spec, HELIO_JOB_RUNNING);
    harness_hello(h, NORTH + 10, north); /* its journal does not know the job: it is asked to stop */
    harness_inventory(h, NORTH + 10, NULL, 0);
    assert_int_equal(harness_state(h, key), HELIO_JOB_STOPPING);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_ENDED);
    report.exit_code = 1;
    harness_report(h, NORTH + 10, &report);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
}

/*  Told to leave after each minute; the site says what it saved of that. */
static void end__saved_run_time_adds_up_to_at_most_the_limit(void **state)
{
    (void)state;
    static const struct {
        uint64_t said_ms, saved_ms;
    } rows[] = {{40000, 40000}, {0, 40000}, {59000, 99000}, {UINT64_MAX, 150000}};
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.time_limit_ms = 150000;
    helio_job_key_t key = harness_job(h, &spec);
    for (uint32_t epoch = 1; epoch <= 4; epoch++) {
        harness_tick(h);
        harness_run_up_to(h, NORTH, key, epoch, HELIO_JOB_RUNNING);
        pass_a_minute();
        helio_report_t report = harness_report_of(h, key, epoch, HELIO_REPORT_KIND_STOPPED);
        report.saved_run_ms = rows[epoch - 1].said_ms;
        harness_report(h, NORTH, &report);
        assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
        assert_int_equal(harness_row(h, key)->saved_ms, rows[epoch - 1].saved_ms);
        harness_report(h, NORTH, &report); /* once more: evidence */
    }
    harness_t *next = harness_rebuild(h);
    harness_command(next, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key);
    assert_int_equal(harness_row(next, key)->saved_ms, 150000);
    harness_end(&next);
}

static void end__saved_run_time_is_at_most_the_run_time(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.time_limit_ms = 3600000;
    helio_job_key_t key = job_in_state(&spec, HELIO_JOB_RUNNING);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_STOPPED);
    report.saved_run_ms = UINT64_MAX;
    harness_report(h, NORTH, &report);
    assert_int_equal(harness_row(h, key)->saved_ms, report.run_ms);
}

/* ---- sites that fail ----------------------------------------------------------------------------------- */

static void lost__twice_within_a_minute_holds_the_job_until_it_is_released(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_STARTING);
    for (uint32_t epoch = 1; epoch <= 2; epoch++) {
        helio_report_t report = harness_report_of(h, key, epoch, HELIO_REPORT_KIND_LOST);
        report.run_ms = report.gpu_ms = 59999;
        harness_report(h, epoch == 1 ? NORTH : SOUTH, &report);
        assert_int_equal(harness_state(h, key), epoch == 1 ? HELIO_JOB_QUEUED : HELIO_JOB_HELD);
        harness_tick(h);
    }
    const helio_row_state_t *row = harness_row(h, key);
    assert_int_equal(row->site_failures, 2);
    assert_string_equal(harness_facts(h, row->why), "SiteStates site=south explanation=NodeFailure; HeldAfterFailures");
    assert_true(harness_is_open(h, key));
    harness_wait(h, 10000);
    assert_int_equal(harness_state(h, key), HELIO_JOB_HELD);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_RELEASE, "acme", HELIO_ROLE_OPERATOR, key)->rc, HELIO_OK);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    assert_int_equal(harness_row(h, key)->site_failures, 0);
}

static void lost__at_once_makes_the_pool_the_last_choice_for_a_while(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_STARTING);
    assert_true(helio_text_is(harness_row(h, key)->site, "north")); /* the cheaper one */
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_LOST);
    report.run_ms = 0;
    report.started_wall_ms = 0; /* it never started */
    harness_report(h, NORTH, &report);
    harness_tick(h);
    assert_true(helio_text_is(harness_row(h, key)->site, "south"));
    helio_job_spec_t spec = harness_spec(h, "H100", 2); /* of another class */
    helio_job_key_t other = job_in_state(&spec, HELIO_JOB_OFFERED);
    assert_true(helio_text_is(harness_row(h, other)->site, "south"));
    harness_advance(h, 10000);
    harness_summary(h, NORTH, north, 0, 0);
    harness_summary(h, SOUTH, south, 0, 0);
    spec = harness_spec(h, "H100", 3);
    helio_job_key_t later = job_in_state(&spec, HELIO_JOB_OFFERED);
    assert_true(helio_text_is(harness_row(h, later)->site, "north"));
}

static void lost__by_a_refusal_makes_the_pool_doubtful_for_equal_jobs_only(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_STARTING);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_LOST);
    report.run_ms = 0;
    report.started_wall_ms = 0; /* it never started */
    report.cause = HELIO_CAUSE_SUBMIT_REFUSED;
    report.reason = HELIO_TEXT("SubmitRefused: Invalid partition name specified");
    harness_report(h, NORTH, &report);
    harness_tick(h);
    assert_true(helio_text_is(harness_row(h, key)->site, "south"));
    helio_job_spec_t spec = harness_spec(h, "H100", 2);
    helio_job_key_t other = job_in_state(&spec, HELIO_JOB_OFFERED);
    assert_true(helio_text_is(harness_row(h, other)->site, "north"));
}

/*  As a partition that only one site has, where sites do not report theirs. */
static void lost__by_refusals_is_tried_once_at_each_pool_before_it_is_held(void **state)
{
    (void)state;
    enum { EAST = 3 };
    helio_site_profile_t *east = harness_site(h, "east");
    harness_pool(h, east, "a", "H100", 4, 8, 4.0);
    const char *asked[3] = {0};
    harness_join(h, EAST, east);
    harness_summary(h, EAST, east, 0, 0);
    helio_job_key_t key = any_in_state(HELIO_JOB_STARTING);
    for (uint32_t epoch = 1; epoch <= 3; epoch++) {
        bool at_north = helio_text_is(harness_row(h, key)->site, "north");
        bool at_south = helio_text_is(harness_row(h, key)->site, "south");
        asked[epoch - 1] = at_north ? "north" : at_south ? "south" : "east";
        for (uint32_t i = 0; i + 1 < epoch; i++)
            assert_string_not_equal(asked[i], asked[epoch - 1]);
        helio_report_t report = harness_report_of(h, key, epoch, HELIO_REPORT_KIND_LOST);
        report.run_ms = report.gpu_ms = 0;
        report.started_wall_ms = 0; /* it never started */
        report.cause = HELIO_CAUSE_SUBMIT_REFUSED;
        report.explanation = HELIO_TEXT("Invalid partition name specified");
        harness_report(h, at_north ? NORTH : at_south ? SOUTH : EAST, &report);
        assert_int_equal(harness_state(h, key), epoch < 3 ? HELIO_JOB_QUEUED : HELIO_JOB_HELD);
        harness_tick(h);
    }
    assert_int_equal(harness_row(h, key)->site_failures, 3);
}

static void lost__after_a_minute_is_no_failure_of_the_site(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_RUNNING);
    for (uint32_t epoch = 1; epoch <= 5; epoch++) {
        pass_a_minute();
        helio_report_t report = harness_report_of(h, key, epoch, HELIO_REPORT_KIND_LOST);
        report.run_ms = report.gpu_ms = 60000;
        harness_report(h, NORTH, &report);
        harness_tick(h);
        assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    }
}

static void lost__is_accepted_in_every_state_and_writes_an_incomplete_attempt(void **state)
{
    (void)state;
    static const uint32_t states[] = {HELIO_JOB_OFFERED, HELIO_JOB_ACCEPTED, HELIO_JOB_STARTING, HELIO_JOB_RUNNING,
                                      HELIO_JOB_SUSPENDED};
    for (int i = 0; i < 5; i++) {
        helio_job_key_t key = north_in_state(states[i]);
        helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_LOST);
        report.run_ms = 0;
        report.started_wall_ms = 0; /* it never started */
        harness_report(h, NORTH, &report);
        assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
        assert_int_equal(harness_row(h, key)->site_failures, 1);
        assert_false(((const helio_row_attempt_t *)harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT))->completes);
        assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_LEDGER), 0); /* it did not run */
    }
}

static void lost__by_an_unknown_cause_makes_the_pool_doubtful(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_STARTING);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_LOST);
    report.run_ms = 0;
    report.started_wall_ms = 0; /* it never started */
    report.cause = HELIO_CAUSE_COUNT + 7;
    harness_report(h, NORTH, &report);
    harness_tick(h);
    helio_job_spec_t spec = harness_spec(h, "H100", 2);
    helio_job_key_t other = job_in_state(&spec, HELIO_JOB_OFFERED);
    assert_true(helio_text_is(harness_row(h, other)->site, "south"));
}

static void lost__a_withdrawn_attempt_is_placed_again_and_never_holds_the_job(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_STARTING);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_LOST);
    report.run_ms = 0;
    report.started_wall_ms = 0; /* it never started */
    report.cause = HELIO_CAUSE_WITHDRAWN;
    report.reason = HELIO_TEXT("Withdrawn: the cluster keeps it from starting: JobHeldAdmin");
    harness_report(h, NORTH, &report);
    assert_int_not_equal(harness_state(h, key), HELIO_JOB_HELD);
    assert_int_equal(harness_row(h, key)->site_failures, 0);
}

static void starting__repeated_with_a_reason_shows_it_without_a_transition(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_STARTING);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_STARTING);
    report.cause = HELIO_CAUSE_WAITS_IN_CLUSTER;
    report.explanation = HELIO_TEXT("Resources");
    harness_report(h, NORTH, &report);
    assert_int_equal(harness_state(h, key), HELIO_JOB_STARTING);
    assert_string_equal(harness_facts(h, harness_row(h, key)->why),
                        "SiteSays cause=WaitsInCluster explanation=Resources");
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_TRANSITION), 0);
    uint32_t rows = harness_count(h, HELIO_BROKER_FX_ROW_STATE);
    harness_report(h, NORTH, &report); /* again: nothing is written */
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_STATE), rows);
    report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_RUNNING);
    harness_report(h, NORTH, &report);
    report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_STARTING);
    report.cause = HELIO_CAUSE_WAITS_IN_CLUSTER;
    report.explanation = HELIO_TEXT("Priority"); /* late */
    harness_report(h, NORTH, &report);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
    assert_string_equal(harness_facts(h, harness_row(h, key)->why), "ProcessesRun");
    report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_SUSPENDED);
    report.cause = HELIO_CAUSE_SITE_SUSPENDED;
    report.explanation = HELIO_TEXT("suspended at the site");
    harness_report(h, NORTH, &report);
    assert_int_equal(harness_state(h, key), HELIO_JOB_SUSPENDED);
    assert_string_equal(harness_facts(h, harness_row(h, key)->why),
                        "SiteSays cause=SiteSuspended explanation=suspended at the site");
    report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_RUNNING);
    harness_report(h, NORTH, &report);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
}

/*  So that people find it in squeue. Other backends name their processes after the attempt. */
static void a_running_job__of_a_slurm_site_says_which_job_it_is_there(void **state)
{
    (void)state;
    static const struct {
        const char *backend, *id, *facts;
    } cases[] = {{"slurm", "4711_3", "ProcessesRun; SchedulerJob local_id=4711_3"},
                 {"slurm", "", "ProcessesRun"},
                 {"slurm", "1 is; rm", "ProcessesRun"},
                 {"local", "helio-x-1", "ProcessesRun"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)end(NULL);
        (void)begin_apart(NULL);
        north->backend = helio_text_of(cases[i].backend);
        harness_pool(h, north, "a", "H100", 4, 8, 2.0);
        harness_pool(h, south, "a", "H100", 4, 8, 3.0);
        harness_join(h, NORTH, north);
        harness_join(h, SOUTH, south);
        helio_job_key_t key = any_in_state(HELIO_JOB_STARTING);
        helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_RUNNING);
        report.local_id = helio_text_of(cases[i].id);
        harness_report(h, NORTH, &report);
        assert_string_equal(harness_facts(h, harness_row(h, key)->why), cases[i].facts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(end__an_exit_code_of_zero_succeeds_and_writes_attempt_ledger_and_state),
        CASE(end__the_limit_is_a_timeout_whatever_the_exit_code),
        CASE(end__its_own_failures_are_retried_as_often_as_it_asked),
        CASE(end__before_its_progress_enters_the_skipped_states),
        CASE(end__a_repetition_changes_nothing),
        CASE(end__twice_in_one_frame_completes_once),
        CASE(end__a_job_that_fails_while_it_is_told_to_migrate_is_still_retried),
        CASE(end__saved_run_time_adds_up_to_at_most_the_limit),
        CASE(end__saved_run_time_is_at_most_the_run_time),
        CASE(lost__twice_within_a_minute_holds_the_job_until_it_is_released),
        CASE(lost__at_once_makes_the_pool_the_last_choice_for_a_while),
        CASE(lost__by_a_refusal_makes_the_pool_doubtful_for_equal_jobs_only),
        CASE(lost__by_refusals_is_tried_once_at_each_pool_before_it_is_held),
        CASE(lost__after_a_minute_is_no_failure_of_the_site),
        CASE(lost__is_accepted_in_every_state_and_writes_an_incomplete_attempt),
        CASE(lost__by_an_unknown_cause_makes_the_pool_doubtful),
        CASE(lost__a_withdrawn_attempt_is_placed_again_and_never_holds_the_job),
        CASE(starting__repeated_with_a_reason_shows_it_without_a_transition),
        CASE(a_running_job__of_a_slurm_site_says_which_job_it_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
