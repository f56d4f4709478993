/*  test_run_clocks.c -- clocks of brokers and sites are set while a job runs: what it is charged stays the same. */
#include "federation/reason/codes.h"
#include "tests/unit/broker/core/observed_run_testing.h"

static const int64_t SET_MS[] = {40000, -40000, 86400000, -86400000};
enum { SETS = sizeof SET_MS / sizeof SET_MS[0] };

static void begin_again(void)
{
    harness_end(&h);
    (void)begin_joined(NULL);
}

/*  The broker's clock is set, half-way through the run or while nothing is heard of it. */
static void clock_set__of_the_broker_changes_no_estimate(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 2 * SETS; i++) {
        helio_job_key_t key = start();
        pass(HOUR_MS);
        if (i % 2)
            harness_set_wall(h, SET_MS[i / 2]);
        pass(HOUR_MS);
        harness_gone(h, NORTH);
        harness_advance(h, 20000);
        if (!(i % 2))
            harness_set_wall(h, SET_MS[i / 2]);
        harness_hello(h, NEXT_SESSION, north);
        harness_inventory(h, NEXT_SESSION, NULL, 0);
        helio_report_t report = end_of(key, 1, HELIO_REPORT_KIND_STOPPED);
        report.cause = HELIO_CAUSE_NOT_HERE;
        harness_clear(h);
        harness_report(h, NEXT_SESSION, &report);
        expect_estimate(2 * HOUR_MS - 31000, 2 * HOUR_MS);
        begin_again();
    }
}

static void clock_set__of_the_broker_before_a_loss_without_figures_changes_no_estimate(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SETS; i++) {
        helio_job_key_t key = start();
        pass(HOUR_MS);
        harness_set_wall(h, SET_MS[i]);
        pass(HOUR_MS);
        helio_report_t report = end_of(key, 1, HELIO_REPORT_KIND_LOST);
        report.cause = HELIO_CAUSE_VANISHED;
        harness_clear(h);
        harness_report(h, NORTH, &report);
        expect_estimate(2 * HOUR_MS, 2 * HOUR_MS);
        begin_again();
    }
}

/*  It is set between the placement and the report that it runs. */
static void clock_set__of_the_broker_before_the_start_changes_no_estimate(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SETS; i++) {
        helio_job_spec_t spec = harness_spec(h, "H100", 2);
        spec.time_limit_ms = 48 * (uint64_t)HOUR_MS;
        helio_job_key_t key = harness_job(h, &spec);
        harness_tick(h);
        harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_STARTING);
        helio_report_t running = harness_report_of(h, key, 1, HELIO_REPORT_KIND_RUNNING);
        running.started_wall_ms = harness_wall_ms(h);
        harness_set_wall(h, SET_MS[i]);
        harness_advance(h, 1000);
        harness_report(h, NORTH, &running);
        pass(HOUR_MS);
        helio_report_t report = end_of(key, 1, HELIO_REPORT_KIND_LOST);
        report.cause = HELIO_CAUSE_VANISHED;
        harness_clear(h);
        harness_report(h, NORTH, &report);
        expect_estimate(HOUR_MS, HOUR_MS + 2000);
        begin_again();
    }
}

static void clock_set__of_the_next_leader_changes_no_estimate(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SETS; i++) {
        helio_job_key_t key = start();
        pass(HOUR_MS);
        harness_t *former = h;
        h = harness_rebuild(former);
        harness_hello(h, NEXT_SESSION, north); /* its profile is the former one's */
        harness_end(&former);
        helio_holding_t holding = {.key = key, .epoch = 1, .state = HELIO_JOB_RUNNING};
        harness_inventory(h, NEXT_SESSION, &holding, 1);
        harness_set_wall(h, SET_MS[i]);
        for (int64_t ms = 0; ms < HOUR_MS; ms += 30000) {
            harness_advance(h, 30000);
            harness_renew(h, NEXT_SESSION);
        }
        helio_report_t report = end_of(key, 1, HELIO_REPORT_KIND_LOST);
        report.cause = HELIO_CAUSE_VANISHED;
        harness_clear(h);
        harness_report(h, NEXT_SESSION, &report);
        expect_estimate(2 * HOUR_MS, 2 * HOUR_MS);
        begin_again();
    }
}

/*  Neither the site's times nor the site's estimate make a run longer than the broker's own clock since its
 *  placement. */
static void clock_set__of_the_site_makes_no_estimate_longer_than_since_the_placement(void **state)
{
    (void)state;
    for (int given = 0; given < 2; given++) {
        helio_job_key_t key = start();
        pass(HOUR_MS);
        helio_report_t report = end_of(key, 1, HELIO_REPORT_KIND_LOST);
        report.started_wall_ms = harness_wall_ms(h) - HOUR_MS;
        report.ended_wall_ms = report.started_wall_ms + 9 * (int64_t)HOUR_MS;
        report.run_ms = given ? 9 * (uint64_t)HOUR_MS : 0;
        report.gpu_ms = 2 * report.run_ms;
        report.estimated = given;
        harness_clear(h);
        harness_report(h, NORTH, &report);
        expect_estimate(HOUR_MS, HOUR_MS + 2000);
        begin_again();
    }
}

/*  The age of a job bounds its runs. It grows, whatever the clock shows. */
static void clock_set__of_the_broker_cuts_no_measured_run(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < SETS; i++) {
        helio_job_key_t key = start();
        harness_set_wall(h, SET_MS[i]);
        pass(2 * HOUR_MS);
        helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_ENDED);
        report.run_ms = 2 * HOUR_MS;
        report.gpu_ms = 2 * report.run_ms;
        report.started_wall_ms = report.ended_wall_ms - 2 * HOUR_MS;
        harness_clear(h);
        harness_report(h, NORTH, &report);
        charged_t sum = charged();
        assert_int_equal(sum.gpu_ms, 4 * HOUR_MS);
        assert_true(sum.any_plain && !sum.any_estimated);
        begin_again();
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_joined, end)
    const struct CMUnitTest tests[] = {
        CASE(clock_set__of_the_broker_changes_no_estimate),
        CASE(clock_set__of_the_broker_before_a_loss_without_figures_changes_no_estimate),
        CASE(clock_set__of_the_broker_before_the_start_changes_no_estimate),
        CASE(clock_set__of_the_next_leader_changes_no_estimate),
        CASE(clock_set__of_the_site_makes_no_estimate_longer_than_since_the_placement),
        CASE(clock_set__of_the_broker_cuts_no_measured_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
