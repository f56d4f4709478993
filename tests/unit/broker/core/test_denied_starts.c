/*  test_denied_starts.c -- ends whose report says that the attempt never started, of attempts that the broker saw run. */
#include "tests/unit/broker/core/observed_run_testing.h"

static helio_report_t denial(helio_job_key_t key, uint32_t kind)
{
    helio_report_t report = end_of(key, 1, kind);
    report.cause = HELIO_CAUSE_START_FAILED;
    report.ended_wall_ms = harness_wall_ms(h);
    return report;
}

/*  North comes back, under the next leader or not, with the job or without it. */
static uint64_t back(helio_job_key_t key, bool takeover, bool has_it)
{
    const uint64_t peer = NORTH + NEXT_SESSION;
    harness_gone(h, NORTH);
    harness_advance(h, 20000);
    if (takeover) {
        harness_t *former = h;
        h = harness_rebuild(former);
        harness_end(&former);
        north = harness_site(h, "north");
        harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    }
    helio_holding_t holding = {.key = key, .epoch = 1, .state = HELIO_JOB_RUNNING};
    harness_hello(h, peer, north);
    harness_inventory(h, peer, &holding, has_it);
    harness_clear(h);
    return peer;
}

static void start_failed__of_a_run_that_was_seen_is_charged(void **state)
{
    static const struct {
        uint32_t kind;
        bool session, takeover, has_it;
        uint64_t illegal;
    } cases[] = {
        {HELIO_REPORT_KIND_ENDED, false, false, true, 1},   {HELIO_REPORT_KIND_LOST, false, false, true, 0},
        {HELIO_REPORT_KIND_STOPPED, true, false, false, 0}, {HELIO_REPORT_KIND_ENDED, true, true, true, 1},
        {HELIO_REPORT_KIND_LOST, true, true, true, 0},      {HELIO_REPORT_KIND_STOPPED, true, true, false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_job_key_t key = start();
        pass(HOUR_MS);
        harness_clear(h);
        const uint64_t peer = cases[i].session ? back(key, cases[i].takeover, cases[i].has_it) : NORTH;
        const helio_report_t report = denial(key, cases[i].kind);
        harness_report(h, peer, &report);
        expect_estimate(HOUR_MS - 60000, HOUR_MS + 21000);
        assert_int_equal(harness_figures(h).illegal_reports_total, cases[i].illegal);
        if (cases[i].kind == HELIO_REPORT_KIND_ENDED)
            assert_int_equal(harness_row(h, key)->state, HELIO_JOB_SUCCEEDED);
        (void)end(state);
        (void)begin_joined(state);
    }
}

/*  A program that could not be run, after the site had said that the attempt starts. */
static void start_failed__of_a_run_that_nobody_saw_costs_nothing(void **state)
{
    for (uint32_t kind = HELIO_REPORT_KIND_ENDED; kind <= HELIO_REPORT_KIND_LOST; kind++) {
        helio_job_spec_t spec = harness_spec(h, "H100", 2);
        helio_job_key_t key = harness_job(h, &spec);
        harness_tick(h);
        harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_STARTING);
        pass(HOUR_MS);
        helio_report_t report = denial(key, kind);
        report.exit_code = 127;
        harness_clear(h);
        harness_report(h, NORTH, &report);
        assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_LEDGER), 0);
        assert_int_equal(harness_figures(h).illegal_reports_total, 0);
        (void)end(state);
        (void)begin_joined(state);
    }
}

/*  An agent that lost its journal finds it, lists it as it lists all that it finds, and then hears that its start had
 *  failed. */
static void start_failed__of_an_attempt_that_was_only_listed_costs_nothing(void **state)
{
    for (int takeover = 0; takeover < 2; takeover++) {
        helio_job_spec_t spec = harness_spec(h, "H100", 2);
        helio_job_key_t key = harness_job(h, &spec);
        harness_tick(h);
        harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_STARTING);
        const uint64_t peer = back(key, takeover, true);
        harness_advance(h, 20000);
        const helio_report_t report = denial(key, HELIO_REPORT_KIND_LOST);
        harness_report(h, peer, &report);
        assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_LEDGER), 0);
        (void)end(state);
        (void)begin_joined(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(start_failed__of_a_run_that_was_seen_is_charged, begin_joined, end),
        cmocka_unit_test_setup_teardown(start_failed__of_a_run_that_nobody_saw_costs_nothing, begin_joined, end),
        cmocka_unit_test_setup_teardown(start_failed__of_an_attempt_that_was_only_listed_costs_nothing, begin_joined,
                                        end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
