/*  The life of a job: what its site says of it, what people ask of it, and where that leads. */
#include <string.h>

#include "tests/support/core_harness.h"

enum { NORTH = 1, SOUTH = 2 };

static harness_t *h;
static helio_site_profile_t *north, *south;

static int begin(void **state)
{
    (void)state;
    h = harness_begin(NULL);
    north = harness_site(h, "north");
    south = harness_site(h, "south");
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_pool(h, south, "a", "H100", 4, 8, 3.0);
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    return 0;
}

static int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

/*  A job at north (the cheaper one), in the state. */
static helio_job_key_t job_in_state(const helio_job_spec_t *spec, uint32_t state)
{
    helio_job_key_t key = harness_job(h, spec);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    if (state == HELIO_JOB_STOPPING) {
        harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
        harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key);
    } else if (state != HELIO_JOB_OFFERED) {
        harness_run_up_to(h, NORTH, key, 1, state);
    }
    harness_clear(h);
    return key;
}

static helio_job_key_t any_in_state(uint32_t state)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    return job_in_state(&spec, state);
}

/*  Of a job that may run at north alone, whatever has failed there. */
static helio_job_key_t north_in_state(uint32_t state)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_word_t only = {HELIO_TEXT("north")};
    spec.sites.items = &only;
    spec.sites.count = 1;
    return job_in_state(&spec, state);
}

/* ---- ends
 * ---------------------------------------------------------------------------------------------------- */

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

static void end__its_own_failures_are_retried_as_often_as_it_said(void **state)
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

static void end__one_that_overtook_its_progress_is_caught_up(void **state)
{
    (void)state;
    static const uint32_t states[] = {HELIO_JOB_OFFERED, HELIO_JOB_ACCEPTED, HELIO_JOB_STARTING,
                                      HELIO_JOB_SUSPENDED};
    for (int i = 0; i < 4; i++) {
        helio_job_key_t key = any_in_state(states[i]);
        harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_ENDED);
        assert_int_equal(harness_row(h, key)->state, HELIO_JOB_SUCCEEDED);
    }
}

static void end__a_repeated_one_changes_nothing(void **state)
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

static void end__a_job_that_was_asked_to_move_and_failed_by_itself_is_still_retried(void **state)
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
static void end__what_its_attempts_saved_is_added_up_and_at_most_its_limit(void **state)
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

static void end__no_more_is_saved_than_was_run(void **state)
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

/* ---- sites that fail
 * --------------------------------------------------------------------------------------- */

static void lost__twice_before_it_ran_a_minute_holds_it_until_it_is_released(void **state)
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
    assert_true(helio_text_is(row->reason, "south: NodeFailure"));
    assert_true(harness_is_open(h, key));
    harness_wait(h, 10000);
    assert_int_equal(harness_state(h, key), HELIO_JOB_HELD);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_RELEASE, "acme", HELIO_ROLE_USER, key)->rc, HELIO_OK);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    assert_int_equal(harness_row(h, key)->site_failures, 0);
}

static void lost__at_once_makes_its_pool_the_last_choice_for_a_while(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_STARTING);
    assert_true(helio_text_is(harness_row(h, key)->site, "north")); /* the cheaper one */
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_LOST);
    report.run_ms = 0;
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

static void lost__by_a_refusal_is_held_against_that_pool_by_such_jobs_alone(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_STARTING);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_LOST);
    report.run_ms = 0;
    report.reason = HELIO_TEXT("SubmitRefused: Invalid partition name specified");
    harness_report(h, NORTH, &report);
    harness_tick(h);
    assert_true(helio_text_is(harness_row(h, key)->site, "south"));
    helio_job_spec_t spec = harness_spec(h, "H100", 2);
    helio_job_key_t other = job_in_state(&spec, HELIO_JOB_OFFERED);
    assert_true(helio_text_is(harness_row(h, other)->site, "north"));
}

static void lost__after_it_ran_longer_is_the_misfortune_of_long_jobs_and_holds_nothing(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_RUNNING);
    for (uint32_t epoch = 1; epoch <= 5; epoch++) {
        helio_report_t report = harness_report_of(h, key, epoch, HELIO_REPORT_KIND_LOST);
        report.run_ms = report.gpu_ms = 60000;
        harness_report(h, NORTH, &report);
        harness_tick(h);
        assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    }
}

static void lost__counts_at_every_state_and_writes_an_attempt_that_does_not_complete(void **state)
{
    (void)state;
    static const uint32_t states[] = {HELIO_JOB_OFFERED, HELIO_JOB_ACCEPTED, HELIO_JOB_STARTING,
                                      HELIO_JOB_RUNNING, HELIO_JOB_SUSPENDED};
    for (int i = 0; i < 5; i++) {
        helio_job_key_t key = north_in_state(states[i]);
        helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_LOST);
        report.run_ms = 0;
        harness_report(h, NORTH, &report);
        assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
        assert_int_equal(harness_row(h, key)->site_failures, 1);
        assert_false(((const helio_row_attempt_t *)harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT))->completes);
        assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_LEDGER), 0); /* it did not run */
    }
}

static void lost__what_was_taken_back_from_a_queue_is_placed_again_and_never_held_for_it(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_STARTING);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_LOST);
    report.run_ms = 0;
    report.reason = HELIO_TEXT("Withdrawn: the cluster keeps it from starting: JobHeldAdmin");
    harness_report(h, NORTH, &report);
    assert_int_not_equal(harness_state(h, key), HELIO_JOB_HELD);
    assert_int_equal(harness_row(h, key)->site_failures, 0);
}

static void starting__said_again_with_a_reason_is_shown_and_is_no_transition(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_STARTING);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_STARTING);
    report.reason = HELIO_TEXT("WaitsInCluster: Resources");
    harness_report(h, NORTH, &report);
    assert_int_equal(harness_state(h, key), HELIO_JOB_STARTING);
    assert_true(helio_text_is(harness_row(h, key)->reason, "WaitsInCluster: Resources"));
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_TRANSITION), 0);
    uint32_t rows = harness_count(h, HELIO_BROKER_FX_ROW_STATE);
    harness_report(h, NORTH, &report); /* again: nothing is written */
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_STATE), rows);
    report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_RUNNING);
    harness_report(h, NORTH, &report);
    report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_STARTING);
    report.reason = HELIO_TEXT("WaitsInCluster: Priority"); /* late */
    harness_report(h, NORTH, &report);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
    assert_false(helio_text_is(harness_row(h, key)->reason, "WaitsInCluster: Priority"));
    report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_SUSPENDED);
    report.reason = HELIO_TEXT("SiteSuspended: suspended at the site");
    harness_report(h, NORTH, &report);
    assert_int_equal(harness_state(h, key), HELIO_JOB_SUSPENDED);
    assert_true(helio_text_is(harness_row(h, key)->reason, "SiteSuspended: suspended at the site"));
    report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_RUNNING);
    harness_report(h, NORTH, &report);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
}

/* ---- people
 * ------------------------------------------------------------------------------------------------ */

static void cancel__of_what_no_site_has_is_done_at_once(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_job_key_t queued = harness_job(h, &spec);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, queued)->rc,
                     HELIO_OK);
    assert_int_equal(harness_row(h, queued)->state, HELIO_JOB_CANCELLED);
    assert_int_equal(harness_row(h, queued)->exit_code, 130);
    helio_job_key_t held = north_in_state(HELIO_JOB_STARTING);
    for (uint32_t epoch = 1; epoch <= 2; epoch++) {
        helio_report_t report = harness_report_of(h, held, epoch, HELIO_REPORT_KIND_LOST);
        report.run_ms = 0;
        harness_report(h, NORTH, &report);
        harness_tick(h);
    }
    assert_int_equal(harness_state(h, held), HELIO_JOB_HELD);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, held)->rc, HELIO_OK);
    assert_int_equal(harness_row(h, held)->state, HELIO_JOB_CANCELLED);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_STOP), 0);
}

static void cancel__of_what_a_site_has_asks_it_to_stop_and_waits_for_the_proof(void **state)
{
    (void)state;
    static const uint32_t states[] = {HELIO_JOB_OFFERED, HELIO_JOB_ACCEPTED, HELIO_JOB_STARTING,
                                      HELIO_JOB_RUNNING, HELIO_JOB_SUSPENDED};
    for (int i = 0; i < 5; i++) {
        helio_job_key_t key = any_in_state(states[i]);
        assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key)->rc,
                         HELIO_OK);
        assert_int_equal(harness_state(h, key), HELIO_JOB_STOPPING);
        const helio_fx_stop_t *stop = harness_take(h, HELIO_BROKER_FX_STOP);
        assert_int_equal(stop->peer, NORTH);
        assert_true(helio_job_key_equal(stop->stop.key, key));
        assert_int_equal(stop->stop.epoch, 1);
        assert_int_equal(stop->stop.mode, HELIO_STOP_MODE_GRACE);
        /* again: neither another transition nor another stop */
        assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key)->rc,
                         HELIO_OK);
        assert_null(harness_take(h, HELIO_BROKER_FX_STOP));
        harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_STOPPED);
        assert_int_equal(harness_row(h, key)->state, HELIO_JOB_CANCELLED);
        assert_int_equal(harness_row(h, key)->exit_code, 130);
        assert_true(((const helio_row_attempt_t *)harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT))->completes);
    }
}

static void cancel__an_end_that_came_first_stands(void **state)
{
    (void)state;
    static const struct {
        int32_t exit_code;
        bool limit;
        uint32_t state;
    } rows[] = {
        {0, false, HELIO_JOB_SUCCEEDED}, {3, false, HELIO_JOB_FAILED}, {124, true, HELIO_JOB_TIMEOUT}};
    for (int i = 0; i < 3; i++) {
        helio_job_spec_t spec = harness_spec(h, "H100", 1);
        spec.retries = 4; /* who cancels does not want it again */
        helio_job_key_t key = job_in_state(&spec, HELIO_JOB_STOPPING);
        helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_ENDED);
        report.exit_code = rows[i].exit_code;
        report.limit_reached = rows[i].limit;
        harness_report(h, NORTH, &report);
        assert_int_equal(harness_row(h, key)->state, rows[i].state);
        assert_int_equal(harness_row(h, key)->exit_code, rows[i].exit_code);
    }
}

static void cancel__a_lost_or_refused_attempt_is_cancelled_too(void **state)
{
    (void)state;
    static const uint32_t kinds[] = {HELIO_REPORT_KIND_LOST, HELIO_REPORT_KIND_REFUSED};
    for (int i = 0; i < 2; i++) {
        helio_job_key_t key = any_in_state(HELIO_JOB_STOPPING);
        harness_say(h, NORTH, key, 1, kinds[i]);
        assert_int_equal(harness_row(h, key)->state, HELIO_JOB_CANCELLED);
    }
}

static void cancel__of_another_tenants_job_finds_nothing_unless_an_operator_asks(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_RUNNING);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "other", HELIO_ROLE_USER, key)->rc,
                     HELIO_NOT_FOUND);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_AUDIT), 0);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "other", HELIO_ROLE_OPERATOR, key)->rc,
                     HELIO_OK);
    assert_int_equal(harness_state(h, key), HELIO_JOB_STOPPING);
    const helio_row_audit_t *audit = harness_take(h, HELIO_BROKER_FX_ROW_AUDIT);
    assert_true(helio_text_is(audit->action, "cancel"));
    assert_true(helio_text_is(audit->actor, "ada"));
}

static void cancel__of_an_array_reaches_every_task_whatever_its_index(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    uint32_t tasks[] = {0, 9999, 10000, 9999999};
    spec.tasks = (helio_u32s_t){tasks, 4};
    helio_job_key_t array = harness_job(h, &spec);
    harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, harness_task(array, 0));
    assert_int_equal(harness_figures(h).jobs[HELIO_JOB_CANCELLED], 1);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "other", HELIO_ROLE_USER, array)->rc,
                     HELIO_NOT_FOUND);
    assert_int_equal(harness_figures(h).jobs[HELIO_JOB_CANCELLED], 1);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, array)->rc,
                     HELIO_OK);
    assert_int_equal(harness_figures(h).jobs[HELIO_JOB_CANCELLED], 4);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, array)->rc,
                     HELIO_NOT_FOUND);
}

static void release__of_a_job_that_is_not_held_says_so(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_RUNNING);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_RELEASE, "acme", HELIO_ROLE_USER, key)->rc,
                     HELIO_NOT_FOUND);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_AUDIT), 0);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
}

/* ---- evidence
 * ------------------------------------------------------------------------------------------------ */

/*  An eager job that ran at north, went silent, and is now at south under epoch 2. */
static helio_job_key_t eager_job_at_south(void)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.on_site_loss = HELIO_SITE_LOSS_EAGER;
    helio_job_key_t key = job_in_state(&spec, HELIO_JOB_RUNNING);
    harness_gone(h, NORTH);
    harness_advance(h, 30000);
    harness_summary(h, SOUTH, south, 0, 0);
    harness_advance(h, 30000);
    harness_summary(h, SOUTH, south, 0, 0);
    harness_wait(h, 1000);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    assert_int_equal(harness_row(h, key)->epoch, 2);
    assert_true(helio_text_is(harness_row(h, key)->site, "south"));
    harness_join(h, NORTH + 10, north);
    harness_clear(h);
    return key;
}

static void stale__an_end_of_an_old_epoch_is_evidence_with_its_cost_and_never_a_completion(void **state)
{
    (void)state;
    helio_job_key_t key = eager_job_at_south();
    harness_say(h, NORTH + 10, key, 1, HELIO_REPORT_KIND_ENDED);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    assert_int_equal(harness_figures(h).stale_reports_total, 1);
    const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
    assert_non_null(attempt);
    assert_true(attempt->fenced && !attempt->completes);
    assert_int_equal(attempt->epoch, 1);
    assert_true(helio_text_is(attempt->site, "north"));
    const helio_row_ledger_t *ledger = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER);
    assert_non_null(ledger);
    assert_true(ledger->fenced);
    assert_int_equal(ledger->gpu_ms, 60000);
    assert_int_equal(ledger->cost_micro_usd, 2000000 / 60); /* of north, at its price */
    assert_true(ledger->energy_j > 0 && ledger->carbon_mg > 0);
    assert_true(helio_text_is(ledger->tenant, "acme"));
    /* and the current one ends as if nothing had been */
    harness_say(h, SOUTH, key, 2, HELIO_REPORT_KIND_ENDED);
    assert_int_equal(harness_row(h, key)->state, HELIO_JOB_SUCCEEDED);
}

static void stale__an_end_after_the_job_is_over_is_charged_too(void **state)
{
    (void)state;
    helio_job_key_t key = eager_job_at_south();
    harness_say(h, SOUTH, key, 2, HELIO_REPORT_KIND_ENDED);
    assert_int_equal(harness_row(h, key)->state, HELIO_JOB_SUCCEEDED);
    harness_clear(h);
    harness_say(h, NORTH + 10, key, 1, HELIO_REPORT_KIND_STOPPED);
    const helio_row_ledger_t *ledger = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER);
    assert_non_null(ledger);
    assert_true(ledger->fenced);
    assert_int_equal(ledger->cost_micro_usd, 2000000 / 60);
}

static void stale__progress_of_an_old_epoch_writes_nothing(void **state)
{
    (void)state;
    helio_job_key_t key = eager_job_at_south();
    for (uint32_t kind = HELIO_REPORT_KIND_ACCEPTED; kind <= HELIO_REPORT_KIND_SUSPENDED; kind++)
        harness_say(h, NORTH + 10, key, 1, kind);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_ATTEMPT), 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_STATE), 0);
}

/*  The row of an attempt is written once: whoever comes first. A site must not be first with another's. */
static void lies__a_site_cannot_put_its_word_in_the_place_of_anothers_attempt(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_RUNNING);
    harness_say(h, SOUTH, key, 1, HELIO_REPORT_KIND_ENDED); /* north has epoch 1 */
    harness_say(h, SOUTH, key, 2, HELIO_REPORT_KIND_ENDED); /* nobody has it yet */
    harness_say(h, NORTH, key, 2, HELIO_REPORT_KIND_ENDED);
    harness_say(h, NORTH, key, UINT32_MAX, HELIO_REPORT_KIND_ENDED);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_ATTEMPT), 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_LEDGER), 0);
    assert_int_equal(harness_figures(h).stale_reports_total, 4);
}

static void lies__figures_without_measure_are_bounded_before_they_are_kept(void **state)
{
    (void)state;
    static const int64_t times[] = {INT64_MIN, -1, 0, INT64_MAX};
    static const uint64_t sizes[] = {0, 1, UINT64_MAX / 2, UINT64_MAX};
    for (int t = 0; t < 4; t++)
        for (int s = 0; s < 4; s++) {
            helio_job_key_t key = any_in_state(HELIO_JOB_RUNNING);
            helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_ENDED);
            report.started_wall_ms = report.ended_wall_ms = report.wall_ms = times[t];
            report.run_ms = report.gpu_ms = report.energy_j = report.units_done = sizes[s];
            harness_report(h, NORTH, &report);
            const helio_row_state_t *row = harness_row(h, key);
            assert_int_equal(row->state, HELIO_JOB_SUCCEEDED);
            int64_t day = 86400000;
            assert_true(row->finished_ms > 0 && row->finished_ms <= harness_wall_ms(h) + day);
            assert_true(row->started_ms >= 0 && row->started_ms <= harness_wall_ms(h) + day);
            assert_true(row->gpu_ms <= INT64_MAX && row->energy_j <= INT64_MAX &&
                        row->carbon_mg <= INT64_MAX);
            uint64_t gpu_ms = 0;
            const helio_row_ledger_t *ledger;
            while ((ledger = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER))) {
                gpu_ms += ledger->gpu_ms;
                assert_true(ledger->hour_ms >= 0 && ledger->hour_ms <= harness_wall_ms(h) + day);
            }
            assert_true(gpu_ms == row->gpu_ms);
        }
}

static void lies__series_that_no_table_can_hold_are_passed_over(void **state)
{
    (void)state;
    double values[] = {1, 2};
    const helio_series_t good = {.signal = HELIO_SIGNAL_CARBON,
                                 .issued_wall_ms = harness_wall_ms(h),
                                 .start_wall_ms = harness_wall_ms(h),
                                 .step_s = 3600,
                                 .values = {values, 2}};
    helio_series_t series[] = {good, good, good, good};
    series[1].issued_wall_ms = INT64_MAX;
    series[2].start_wall_ms = INT64_MIN;
    series[3].step_s = 0;
    helio_ev_site_summary_t event = {.peer = NORTH,
                                     .summary = {.seq = 77, .series = {series, 4}, .power_w = -1}};
    harness_clear(h);
    harness_step(h, HELIO_BROKER_EV_SITE_SUMMARY, &event);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_SERIES), 1);
}

static void reason__a_long_one_is_cut_between_characters(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_OFFERED);
    char reason[256];
    for (size_t i = 0; i + 2 <= sizeof reason; i += 2)
        memcpy(reason + i, "é", 2);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_REFUSED);
    report.reason = (helio_text_t){reason, sizeof reason};
    harness_report(h, NORTH, &report);
    helio_text_t kept = harness_row(h, key)->reason;
    assert_true(kept.size <= 256 && kept.size > 250);
    assert_int_equal((unsigned char)kept.data[kept.size - 2], 0xc3); /* the last é is whole */
    assert_int_equal((unsigned char)kept.data[kept.size - 1], 0xa9);
}

/* ---- the full product
 * -------------------------------------------------------------------------------------- */

/*  Every live state x every report x kinds of end. The harness refuses any transition that is not listed, and
 * the core asserts; here it only has to be reached, twice, with the job told to come back or not. */
static void product__no_report_in_any_state_leads_astray(void **state)
{
    (void)state;
    static const uint32_t states[] = {HELIO_JOB_OFFERED, HELIO_JOB_ACCEPTED,  HELIO_JOB_STARTING,
                                      HELIO_JOB_RUNNING, HELIO_JOB_SUSPENDED, HELIO_JOB_STOPPING};
    uint32_t reached = 0;
    for (uint32_t silent = 0; silent < 3; silent++)
        for (size_t s = 0; s < sizeof states / sizeof states[0]; s++)
            for (uint32_t kind = 0; kind < HELIO_REPORT_KIND_COUNT; kind++)
                for (uint32_t variant = 0; variant < 4; variant++) {
                    end(NULL);
                    begin(NULL);
                    helio_job_spec_t spec = harness_spec(h, "H100", 1);
                    spec.retries = variant == 2 ? 1 : 0;
                    helio_job_key_t key = job_in_state(&spec, states[s]);
                    uint64_t peer = NORTH;
                    if (silent) {
                        harness_gone(h, NORTH);
                        harness_wait(h, 61000);
                        assert_int_equal(harness_state(h, key), HELIO_JOB_SUSPECT);
                        if (silent == 2)
                            harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key);
                        peer = NORTH + 10;
                        harness_hello(h, peer, north);
                        helio_holding_t holding = {key, 1, states[s], 1};
                        harness_inventory(h, peer, &holding, variant % 2);
                    }
                    helio_report_t report = harness_report_of(h, key, 1, kind);
                    report.exit_code = variant >= 2 ? 1 : 0;
                    report.limit_reached = variant == 3;
                    harness_report(h, peer, &report);
                    harness_report(h, peer, &report);
                    harness_wait(h, 3000);
                    reached++;
                }
    assert_int_equal(reached, 3 * 6 * HELIO_REPORT_KIND_COUNT * 4);
}

static void progress__only_goes_forward_and_repetition_is_no_transition(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_RUNNING);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_ACCEPTED);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_STARTING);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_RUNNING);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_TRANSITION), 0);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_SUSPENDED);
    assert_int_equal(harness_state(h, key), HELIO_JOB_SUSPENDED);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_RUNNING);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_TRANSITION), 2);
    assert_int_equal(harness_figures(h).illegal_reports_total, 0);
}

static void progress__a_refusal_after_an_acceptance_is_a_contradiction_that_is_counted(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_ACCEPTED);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_REFUSED);
    assert_int_equal(harness_state(h, key), HELIO_JOB_ACCEPTED);
    assert_int_equal(harness_figures(h).illegal_reports_total, 1);
}

static void wait__is_counted_once_a_job_whatever_it_is_asked_later(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_ACCEPTED);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_RUNNING);
    report.started_wall_ms = harness_wall_ms(h) + 5000; /* the site's clock is its own */
    helio_ev_site_reports_t event = {.peer = NORTH, .reports = {&report, 1}};
    harness_step(h, HELIO_BROKER_EV_SITE_REPORTS, &event);
    helio_broker_figures_t figures = harness_figures(h);
    assert_int_equal(figures.wait_ms[HELIO_TIER_STANDARD].counts[1], 1); /* over one second, at most ten */
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_SUSPENDED);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_RUNNING);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_ENDED);
    helio_broker_figures_t after = harness_figures(h);
    assert_memory_equal(after.wait_ms, figures.wait_ms, sizeof figures.wait_ms);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(end__an_exit_code_of_zero_succeeds_and_writes_attempt_ledger_and_state),
        CASE(end__the_limit_is_a_timeout_whatever_the_exit_code),
        CASE(end__its_own_failures_are_retried_as_often_as_it_said),
        CASE(end__one_that_overtook_its_progress_is_caught_up),
        CASE(end__a_repeated_one_changes_nothing),
        CASE(end__twice_in_one_frame_completes_once),
        CASE(end__a_job_that_was_asked_to_move_and_failed_by_itself_is_still_retried),
        CASE(end__what_its_attempts_saved_is_added_up_and_at_most_its_limit),
        CASE(end__no_more_is_saved_than_was_run),
        CASE(lost__twice_before_it_ran_a_minute_holds_it_until_it_is_released),
        CASE(lost__at_once_makes_its_pool_the_last_choice_for_a_while),
        CASE(lost__by_a_refusal_is_held_against_that_pool_by_such_jobs_alone),
        CASE(lost__after_it_ran_longer_is_the_misfortune_of_long_jobs_and_holds_nothing),
        CASE(lost__counts_at_every_state_and_writes_an_attempt_that_does_not_complete),
        CASE(lost__what_was_taken_back_from_a_queue_is_placed_again_and_never_held_for_it),
        CASE(starting__said_again_with_a_reason_is_shown_and_is_no_transition),
        CASE(cancel__of_what_no_site_has_is_done_at_once),
        CASE(cancel__of_what_a_site_has_asks_it_to_stop_and_waits_for_the_proof),
        CASE(cancel__an_end_that_came_first_stands),
        CASE(cancel__a_lost_or_refused_attempt_is_cancelled_too),
        CASE(cancel__of_another_tenants_job_finds_nothing_unless_an_operator_asks),
        CASE(cancel__of_an_array_reaches_every_task_whatever_its_index),
        CASE(release__of_a_job_that_is_not_held_says_so),
        CASE(stale__an_end_of_an_old_epoch_is_evidence_with_its_cost_and_never_a_completion),
        CASE(stale__an_end_after_the_job_is_over_is_charged_too),
        CASE(stale__progress_of_an_old_epoch_writes_nothing),
        CASE(lies__a_site_cannot_put_its_word_in_the_place_of_anothers_attempt),
        CASE(lies__figures_without_measure_are_bounded_before_they_are_kept),
        CASE(lies__series_that_no_table_can_hold_are_passed_over),
        CASE(reason__a_long_one_is_cut_between_characters),
        CASE(product__no_report_in_any_state_leads_astray),
        CASE(progress__only_goes_forward_and_repetition_is_no_transition),
        CASE(wait__is_counted_once_a_job_whatever_it_is_asked_later),
        CASE(progress__a_refusal_after_an_acceptance_is_a_contradiction_that_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
