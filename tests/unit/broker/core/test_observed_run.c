/*  test_observed_run.c -- what ran is charged, also when its end was not seen: killed shims, lost journals, reports
 *  without figures. */
#include "federation/reason/codes.h"
#include "tests/unit/broker/core/observed_run_testing.h"

/*  North's agent ends now; an operator attests the site an hour later. */
static void lose_north(void)
{
    harness_gone(h, NORTH);
    for (int64_t ms = 0; ms < HOUR_MS; ms += 30000) {
        harness_renew(h, SOUTH);
        harness_wait(h, 30000);
    }
    harness_clear(h);
    assert_int_equal(harness_site_command(h, HELIO_BROKER_EV_ATTEST, HELIO_ROLE_ADMIN, "north")->rc, HELIO_OK);
}

static void attested__is_charged_up_to_the_last_sign_of_life(void **state)
{
    (void)state;
    helio_job_key_t key = start();
    pass(3 * HOUR_MS);
    lose_north();
    const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
    assert_true(attempt && attempt->epoch == 1 && attempt->kind == HELIO_REPORT_KIND_LOST && !attempt->completes);
    expect_estimate(3 * HOUR_MS - 31000, 3 * HOUR_MS);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
}

static void attested__after_a_takeover_counts_what_the_former_leader_noted(void **state)
{
    (void)state;
    helio_job_key_t key = start();
    pass(2 * HOUR_MS);
    harness_t *former = h;
    h = harness_rebuild(former);
    harness_join(h, NEXT_SESSION, south); /* its profile is the former one's */
    harness_end(&former);
    for (int64_t ms = 0; ms < HOUR_MS; ms += 30000) {
        harness_renew(h, NEXT_SESSION);
        harness_wait(h, 30000);
    }
    harness_clear(h);
    assert_int_equal(harness_site_command(h, HELIO_BROKER_EV_ATTEST, HELIO_ROLE_ADMIN, "north")->rc, HELIO_OK);
    expect_estimate(2 * HOUR_MS - 91000, 2 * HOUR_MS);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
}

/*  North's agent came back and was gone again before it had listed what it runs, under the last leader. */
static void attest_under_the_next_leader(helio_job_key_t key, bool its_row_was_written_again)
{
    pass(HOUR_MS);
    harness_gone(h, NORTH);
    for (int64_t ms = 0; ms < HOUR_MS; ms += 30000) {
        harness_renew(h, SOUTH);
        harness_wait(h, 30000);
    }
    assert_int_equal(harness_state(h, key), HELIO_JOB_SUSPECT);
    harness_hello(h, NEXT_SESSION, north);
    if (its_row_was_written_again)
        assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key)->rc, HELIO_OK);
    harness_t *former = h;
    h = harness_rebuild(former);
    harness_end(&former);
    harness_join(h, SOUTH, south);
    lose_north();
    expect_estimate(HOUR_MS - 31000, HOUR_MS); /* the silence that made it suspect is no sign of life */
}

static void attested__after_a_takeover_is_not_charged_for_a_message_that_does_not_show_it(void **state)
{
    (void)state;
    attest_under_the_next_leader(start(), false);
}

static void attested__after_a_takeover_is_not_charged_up_to_the_last_change_of_its_row(void **state)
{
    (void)state;
    attest_under_the_next_leader(start(), true);
}

/*  Leaders and north were away for an hour. North said HELLO to a leader that ended before the inventory. */
static void attested__after_two_takeovers_is_not_charged_up_to_a_hello(void **state)
{
    (void)state;
    helio_job_key_t key = start();
    pass(HOUR_MS);
    harness_advance(h, HOUR_MS);
    for (int leader = 0; leader < 2; leader++) {
        harness_t *former = h;
        h = harness_rebuild(former);
        harness_end(&former);
        harness_hello(h, NEXT_SESSION, north);
    }
    harness_join(h, SOUTH, south);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
    harness_gone(h, NEXT_SESSION);
    lose_north();
    expect_estimate(HOUR_MS - 31000, HOUR_MS);
}

/*  The database was away for an hour, which gave every site a new grace: that is no sign of life. */
static void attested__after_an_outage_of_the_database_counts_no_grace(void **state)
{
    (void)state;
    (void)start();
    pass(HOUR_MS);
    harness_gone(h, NORTH);
    harness_step(h, HELIO_BROKER_EV_DATABASE, &(helio_ev_database_t){.connected = false});
    harness_advance(h, HOUR_MS);
    harness_step(h, HELIO_BROKER_EV_DATABASE, &(helio_ev_database_t){.connected = true});
    harness_join(h, NEXT_SESSION, south);
    lose_north();
    expect_estimate(HOUR_MS - 31000, HOUR_MS);
}

/*  Its site's clock is hours behind: the job cannot have started before it was placed. */
static void attested__is_charged_from_its_placement_whatever_the_clock_of_the_site(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 2);
    spec.time_limit_ms = 48 * (uint64_t)HOUR_MS;
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_STARTING);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_RUNNING);
    report.started_wall_ms = harness_wall_ms(h) - 5 * (int64_t)HOUR_MS;
    harness_report(h, NORTH, &report);
    pass(HOUR_MS);
    lose_north();
    expect_estimate(HOUR_MS - 31000, HOUR_MS);
}

/*  The order was lost, and north's inventory of an hour later showed that. It said nothing of the start that followed. */
static void attested__is_not_charged_for_the_time_before_its_site_had_it(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 2);
    harness_strings(h, &spec.sites, (const char *[]){"north", NULL});
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    harness_gone(h, NORTH);
    for (int64_t ms = 0; ms < HOUR_MS; ms += 30000) {
        harness_renew(h, SOUTH);
        harness_wait(h, 30000);
    }
    harness_hello(h, NEXT_SESSION, north);
    harness_inventory(h, NEXT_SESSION, NULL, 0);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    harness_advance(h, 20000);
    harness_hello(h, NORTH, north);
    helio_holding_t holding = {.key = key, .epoch = 1, .state = HELIO_JOB_RUNNING};
    harness_inventory(h, NORTH, &holding, 1);
    pass(10 * 60000);
    lose_north();
    expect_estimate(10 * 60000 - 31000, 10 * 60000 + 20000);
}

/*  The site had accepted it, and nobody saw it run. If it did, its report is the first that is known of it. */
static void attested__that_was_not_seen_to_run_costs_nothing_until_its_report(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 2);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_ACCEPTED);
    lose_north();
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_ATTEMPT), 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_LEDGER), 0);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    harness_join(h, NEXT_SESSION, north);
    helio_report_t report = end_of(key, 1, HELIO_REPORT_KIND_STOPPED);
    report.ended_wall_ms = harness_wall_ms(h);
    report.started_wall_ms = report.ended_wall_ms - 9000;
    report.run_ms = 9000;
    report.gpu_ms = 2 * report.run_ms;
    harness_report(h, NEXT_SESSION, &report);
    const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
    assert_true(attempt && attempt->basis == HELIO_ATTEMPT_REPORTED && attempt->run_ms == 9000);
    assert_int_equal(charged().gpu_ms, 18000);
}

static void killed__is_charged_as_the_site_estimates(void **state)
{
    (void)state;
    helio_job_key_t key = start();
    pass(2 * HOUR_MS);
    helio_report_t report = end_of(key, 1, HELIO_REPORT_KIND_LOST);
    report.run_ms = 2 * HOUR_MS - 3000;
    report.gpu_ms = 2 * report.run_ms;
    report.ended_wall_ms = harness_wall_ms(h);
    report.started_wall_ms = report.ended_wall_ms - (int64_t)report.run_ms;
    report.estimated = true;
    harness_clear(h);
    harness_report(h, NORTH, &report);
    expect_estimate(report.run_ms, report.run_ms);
    assert_true(harness_row(h, key)->gpu_ms == report.gpu_ms);
}

/*  An agent of an older version says only that it lost the attempt. A job that ran for hours is no quick failure: it is
 *  not held after the second time. */
static void killed__without_figures_is_charged_by_what_was_seen_and_is_no_quick_failure(void **state)
{
    (void)state;
    helio_job_key_t key = start();
    for (uint32_t epoch = 1; epoch <= 3; epoch++) {
        pass(2 * HOUR_MS);
        helio_report_t report = end_of(key, epoch, HELIO_REPORT_KIND_LOST);
        report.cause = HELIO_CAUSE_VANISHED;
        harness_clear(h);
        harness_report(h, NORTH, &report);
        expect_estimate(2 * HOUR_MS, 2 * HOUR_MS);
        assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
        harness_tick(h);
        harness_run_up_to(h, NORTH, key, epoch + 1, HELIO_JOB_RUNNING);
    }
}

static void killed__at_once_is_a_quick_failure(void **state)
{
    (void)state;
    helio_job_key_t key = start();
    for (uint32_t epoch = 1; epoch <= 2; epoch++) {
        pass(5000);
        helio_report_t report = end_of(key, epoch, HELIO_REPORT_KIND_LOST);
        report.cause = HELIO_CAUSE_VANISHED;
        harness_report(h, NORTH, &report);
        if (epoch == 2)
            break;
        pass(2 * HOUR_MS); /* north is trusted again */
        harness_tick(h);
        harness_run_up_to(h, NORTH, key, 2, HELIO_JOB_RUNNING);
    }
    assert_int_equal(harness_state(h, key), HELIO_JOB_HELD);
}

/*  The agent found it running, without its order: it does not know its GPUs. */
static void journal_lost__gpus_are_those_of_the_placement(void **state)
{
    (void)state;
    helio_job_key_t key = start();
    pass(HOUR_MS);
    harness_hello(h, NORTH + NEXT_SESSION, north);
    helio_holding_t holding = {.key = key, .epoch = 1, .state = HELIO_JOB_RUNNING};
    harness_inventory(h, NORTH + NEXT_SESSION, &holding, 1);
    pass(HOUR_MS);
    helio_report_t report = end_of(key, 1, HELIO_REPORT_KIND_ENDED);
    report.run_ms = 2 * HOUR_MS;
    report.ended_wall_ms = harness_wall_ms(h);
    report.started_wall_ms = report.ended_wall_ms - 2 * HOUR_MS;
    harness_clear(h);
    harness_report(h, NORTH + NEXT_SESSION, &report);
    expect_estimate(2 * HOUR_MS, 2 * HOUR_MS);
    assert_int_equal(harness_state(h, key), HELIO_JOB_SUCCEEDED);
    assert_true(harness_row(h, key)->gpu_ms == 4 * (uint64_t)HOUR_MS);
}

/*  The agent does not know it at all: it ran at least until the last message of the session that it ran in. */
static void journal_lost__what_is_not_there_any_more_is_charged_to_the_last_proof_of_life(void **state)
{
    (void)state;
    for (int rebuilt = 0; rebuilt < 2; rebuilt++) {
        helio_job_key_t key = start();
        pass(3 * HOUR_MS);
        harness_gone(h, NORTH);
        harness_advance(h, 20000);
        harness_t *before = h;
        if (rebuilt)
            h = harness_rebuild(before);
        harness_hello(h, NORTH + NEXT_SESSION, north);
        harness_inventory(h, NORTH + NEXT_SESSION, NULL, 0);
        assert_int_equal(harness_state(h, key), HELIO_JOB_STOPPING);
        helio_report_t report = end_of(key, 1, HELIO_REPORT_KIND_STOPPED);
        report.cause = HELIO_CAUSE_NOT_HERE;
        harness_clear(h);
        harness_report(h, NORTH + NEXT_SESSION, &report);
        expect_estimate(3 * HOUR_MS - 60000, 3 * HOUR_MS + 20000); /* rows of sites are not written at each message */
        if (rebuilt)
            harness_end(&before);
        harness_end(&h);
        (void)begin_joined(NULL);
    }
}

/*  North's agent is silent for an hour, comes back without the job, and the leader ends before the agent has answered
 *  that the job is not there. */
static void leader_ends_while_north_answers(helio_job_key_t key, bool cancelled)
{
    pass(HOUR_MS);
    harness_gone(h, NORTH);
    for (int64_t ms = 0; ms < HOUR_MS; ms += 30000) {
        harness_renew(h, SOUTH);
        harness_wait(h, 30000);
    }
    assert_int_equal(harness_state(h, key), HELIO_JOB_SUSPECT);
    if (cancelled)
        assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key)->rc, HELIO_OK);
    harness_hello(h, NEXT_SESSION, north);
    harness_inventory(h, NEXT_SESSION, NULL, 0);
    harness_renew(h, NEXT_SESSION);
    assert_int_equal(harness_state(h, key), HELIO_JOB_STOPPING);
    harness_t *former = h;
    h = harness_rebuild(former);
    harness_end(&former);
    harness_hello(h, NORTH, north);
    harness_inventory(h, NORTH, NULL, 0);
    helio_report_t report = end_of(key, 1, HELIO_REPORT_KIND_STOPPED);
    report.cause = HELIO_CAUSE_NOT_HERE;
    harness_clear(h);
    harness_report(h, NORTH, &report);
    expect_estimate(HOUR_MS - 31000, HOUR_MS);
}

static void journal_lost__after_a_takeover_is_not_charged_for_the_silence_before(void **state)
{
    (void)state;
    helio_job_key_t key = start();
    leader_ends_while_north_answers(key, false);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
}

static void journal_lost__after_a_takeover_a_cancelled_job_is_not_charged_for_the_silence_before(void **state)
{
    (void)state;
    helio_job_key_t key = start();
    leader_ends_while_north_answers(key, true);
    assert_int_equal(harness_row(h, key)->state, HELIO_JOB_CANCELLED);
}

static void suspended__time_is_not_charged(void **state)
{
    (void)state;
    helio_job_key_t key = start();
    pass(HOUR_MS);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_SUSPENDED);
    pass(5 * HOUR_MS);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_RUNNING);
    helio_report_t report = end_of(key, 1, HELIO_REPORT_KIND_LOST);
    report.started_wall_ms = harness_wall_ms(h) - 6 * HOUR_MS;
    harness_clear(h);
    harness_report(h, NORTH, &report);
    expect_estimate(HOUR_MS, HOUR_MS);
}

static void suspended__since_its_last_sign_of_life_takes_nothing_away(void **state)
{
    (void)state;
    helio_job_key_t key = start();
    pass(3 * HOUR_MS);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_SUSPENDED);
    lose_north(); /* for an hour */
    expect_estimate(3 * HOUR_MS - 31000, 3 * HOUR_MS);
}

static void short_run__that_contradicts_all_clocks_is_charged_by_them(void **state)
{
    (void)state;
    helio_job_key_t key = start();
    pass(2 * HOUR_MS);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_ENDED);
    report.run_ms = report.gpu_ms = 1000;
    report.started_wall_ms = report.ended_wall_ms - 2 * HOUR_MS;
    harness_clear(h);
    harness_report(h, NORTH, &report);
    expect_estimate(2 * HOUR_MS, 2 * HOUR_MS);
}

/*  The end was reported late: the site's own times say so, and nothing is added. */
static void short_run__that_is_reported_late_is_charged_as_measured(void **state)
{
    (void)state;
    helio_job_key_t key = start();
    int64_t started_ms = harness_wall_ms(h);
    pass(2 * HOUR_MS);
    helio_report_t report = end_of(key, 1, HELIO_REPORT_KIND_ENDED);
    report.started_wall_ms = started_ms;
    report.ended_wall_ms = started_ms + 5000;
    report.run_ms = 5000;
    report.gpu_ms = 10000;
    harness_clear(h);
    harness_report(h, NORTH, &report);
    charged_t sum = charged();
    assert_int_equal(sum.gpu_ms, 10000);
    assert_false(sum.any_estimated);
}

static void never_started__costs_nothing(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 2);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_STARTING);
    pass(HOUR_MS);
    helio_report_t report = end_of(key, 1, HELIO_REPORT_KIND_LOST);
    report.cause = HELIO_CAUSE_START_FAILED;
    report.ended_wall_ms = harness_wall_ms(h);
    harness_clear(h);
    harness_report(h, NORTH, &report);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_LEDGER), 0);
}

/*  Its site's two times are the same second. */
static void seen__runs_for_a_second_at_least(void **state)
{
    (void)state;
    helio_job_key_t key = start();
    pass(5000);
    helio_report_t report = end_of(key, 1, HELIO_REPORT_KIND_LOST);
    report.started_wall_ms = report.ended_wall_ms = harness_wall_ms(h);
    harness_report(h, NORTH, &report);
    expect_estimate(1000, 1000);
    assert_int_equal(harness_row(h, key)->state, HELIO_JOB_QUEUED);
}

/*  The report of an older attempt, from an agent that does not know its order. */
static void evidence__without_gpus_is_charged_with_those_that_the_job_wants(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 2);
    spec.on_site_loss = HELIO_SITE_LOSS_EAGER;
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    harness_advance(h, 120000);
    harness_renew(h, SOUTH);
    harness_tick(h);
    harness_tick(h);
    assert_int_equal(harness_row(h, key)->epoch, 2);
    harness_hello(h, NORTH + NEXT_SESSION, north);
    harness_inventory(h, NORTH + NEXT_SESSION, NULL, 0);
    harness_clear(h);
    helio_report_t report = end_of(key, 1, HELIO_REPORT_KIND_STOPPED);
    report.run_ms = 100000;
    report.ended_wall_ms = harness_wall_ms(h);
    report.started_wall_ms = report.ended_wall_ms - 100000;
    harness_report(h, NORTH + NEXT_SESSION, &report);
    expect_estimate(100000, 100000);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_joined, end)
    const struct CMUnitTest tests[] = {
        CASE(attested__is_charged_up_to_the_last_sign_of_life),
        CASE(attested__is_charged_from_its_placement_whatever_the_clock_of_the_site),
        CASE(attested__after_a_takeover_counts_what_the_former_leader_noted),
        CASE(attested__after_a_takeover_is_not_charged_for_a_message_that_does_not_show_it),
        CASE(attested__after_a_takeover_is_not_charged_up_to_the_last_change_of_its_row),
        CASE(attested__after_two_takeovers_is_not_charged_up_to_a_hello),
        CASE(attested__after_an_outage_of_the_database_counts_no_grace),
        CASE(attested__is_not_charged_for_the_time_before_its_site_had_it),
        CASE(attested__that_was_not_seen_to_run_costs_nothing_until_its_report),
        CASE(killed__is_charged_as_the_site_estimates),
        CASE(killed__without_figures_is_charged_by_what_was_seen_and_is_no_quick_failure),
        CASE(killed__at_once_is_a_quick_failure),
        CASE(journal_lost__gpus_are_those_of_the_placement),
        CASE(journal_lost__what_is_not_there_any_more_is_charged_to_the_last_proof_of_life),
        CASE(journal_lost__after_a_takeover_is_not_charged_for_the_silence_before),
        CASE(journal_lost__after_a_takeover_a_cancelled_job_is_not_charged_for_the_silence_before),
        CASE(suspended__time_is_not_charged),
        CASE(suspended__since_its_last_sign_of_life_takes_nothing_away),
        CASE(short_run__that_contradicts_all_clocks_is_charged_by_them),
        CASE(short_run__that_is_reported_late_is_charged_as_measured),
        CASE(never_started__costs_nothing),
        CASE(seen__runs_for_a_second_at_least),
        CASE(evidence__without_gpus_is_charged_with_those_that_the_job_wants),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
