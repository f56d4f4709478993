/*  test_clock.c -- the wall clock of the broker or of a site is set: nothing waits for a time that no longer comes, and
 *  no run gets shorter. */
#include <stdio.h>
#include <string.h>

#include "tests/support/core_harness.h"

enum { NORTH = 1, HOUR = 3600000, DAY = 24 * HOUR };

static harness_t *h;
static helio_site_profile_t *north;

static int begin(void **state)
{
    (void)state;
    helio_broker_options_t options = helio_broker_options_default();
    options.silent_after_ms = INT64_C(10000) * HOUR;
    h = harness_begin(&options);
    north = harness_site(h, "north");
    harness_pool(h, north, "a", "H100", 1, 8, 0);
    harness_join(h, NORTH, north);
    return 0;
}

static int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

static helio_job_key_t job_of(int64_t limit_ms)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 4);
    spec.time_limit_ms = (uint64_t)limit_ms;
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    return key;
}

static helio_job_key_t running(int64_t limit_ms)
{
    helio_job_key_t key = job_of(limit_ms);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    harness_clear(h);
    return key;
}

static helio_report_t ended(helio_job_key_t key, int64_t run_ms)
{
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_ENDED);
    report.run_ms = (uint64_t)run_ms;
    report.gpu_ms = (uint64_t)run_ms * 4;
    return report;
}

/*  GPUs that the site reserves, by the hour. */
static void tell_kept(const double *gpus, uint32_t count, int64_t start_ms)
{
    double *values = helio_arena_alloc(harness_arena(h), count, sizeof *values);
    memcpy(values, gpus, count * sizeof *values);
    helio_series_t series = {.signal = HELIO_SIGNAL_RESERVED,
                             .pool = HELIO_TEXT("a"),
                             .source = HELIO_TEXT("windows"),
                             .issued_wall_ms = start_ms,
                             .start_wall_ms = start_ms,
                             .step_s = 3600,
                             .values = {values, count}};
    harness_series(h, NORTH, &series, 1);
}

static void clock__a_job_that_waits_for_a_windows_end_starts_when_the_clock_is_set_before_it(void **state)
{
    (void)state;
    tell_kept((double[]){0, 0, 0, 8, 8, 0}, 6, harness_wall_ms(h));
    harness_tick(h);
    harness_set_wall(h, 3 * HOUR + HOUR / 2);
    helio_job_key_t key = job_of(HOUR);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    harness_set_wall(h, -3 * HOUR - HOUR / 2);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
}

static void clock__a_site_hours_ahead_preempts_nothing_for_a_window_in_its_own_time(void **state)
{
    (void)state;
    helio_job_key_t key = running(HOUR);
    tell_kept((double[]){8, 8, 0}, 3, harness_wall_ms(h) + 6 * HOUR);
    harness_tick(h);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_STOP), 0);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
    assert_int_equal(harness_state(h, job_of(HOUR)), HELIO_JOB_OFFERED);
    tell_kept((double[]){8, 8, 0}, 3, harness_wall_ms(h) + HOUR / 60); /* clocks differ by a minute */
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_STOPPING);
}

static void clock__a_run_keeps_its_length_when_the_clock_is_set_back(void **state)
{
    (void)state;
    static const int64_t set_ms[] = {0, -HOUR, -4 * HOUR, -DAY, DAY};
    for (uint32_t i = 0; i < sizeof set_ms / sizeof set_ms[0]; i++) {
        helio_job_key_t key = running(6 * HOUR);
        harness_wait(h, 5 * HOUR);
        harness_set_wall(h, set_ms[i]);
        harness_clear(h);
        helio_report_t report = ended(key, 5 * HOUR);
        harness_report(h, NORTH, &report);
        const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
        assert_non_null(attempt);
        assert_int_equal(attempt->run_ms, 5 * HOUR);
        assert_int_equal(harness_figures(h).illegal_reports_total, 0);
        harness_set_wall(h, -set_ms[i]);
    }
}

static void clock__no_run_ends_before_it_began_when_its_sites_clock_is_set_back(void **state)
{
    (void)state;
    helio_job_key_t key = running(6 * HOUR);
    harness_wait(h, HOUR);
    helio_report_t report = ended(key, HOUR);
    report.started_wall_ms = harness_wall_ms(h) - HOUR;
    report.ended_wall_ms = harness_wall_ms(h) - DAY;
    harness_clear(h);
    harness_report(h, NORTH, &report);
    const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
    assert_non_null(attempt);
    assert_true(attempt->ended_ms - attempt->started_ms == HOUR);
    assert_int_equal(attempt->run_ms, HOUR);
}

static void tell_clock(uint64_t peer, int64_t wall_ms)
{
    helio_ev_site_summary_t event = {.peer = peer, .summary = {.seq = 1, .wall_ms = wall_ms, .power_w = -1}};
    harness_step(h, HELIO_BROKER_EV_SITE_SUMMARY, &event);
}

static void clock__sites_whose_clocks_differ_most_are_in_the_figures(void **state)
{
    (void)state;
    enum { OTHERS = HELIO_FIGURES_CLOCKS_MAX + 4 };
    for (uint32_t i = 0; i < OTHERS; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "site-%u", i);
        harness_join(h, 10 + i, harness_site(h, name));
        tell_clock(10 + i, harness_wall_ms(h) + (int64_t)(i % 2 ? i : -(int64_t)i) * 1000);
    }
    helio_broker_figures_t figures = harness_figures(h);
    assert_int_equal(figures.clock_count, HELIO_FIGURES_CLOCKS_MAX);
    for (uint32_t n = 0; n < HELIO_FIGURES_CLOCKS_MAX; n++) {
        char name[16];
        uint32_t i = OTHERS - 1 - n;
        (void)snprintf(name, sizeof name, "site-%u", i);
        assert_string_equal(figures.clocks[n].site, name);
        assert_int_equal(figures.clocks[n].ahead_ms, (i % 2 ? 1 : -1) * (int64_t)i * 1000);
    }
    tell_clock(NORTH, INT64_MIN); /* whatever a site sends, the figure is bounded */
    figures = harness_figures(h);
    assert_string_equal(figures.clocks[0].site, "north");
    assert_true(figures.clocks[0].ahead_ms == -INT64_C(366) * DAY);
    harness_gone(h, NORTH); /* without a session, nothing is known of its clock now */
    figures = harness_figures(h);
    assert_string_equal(figures.clocks[0].site, "site-19");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(clock__a_job_that_waits_for_a_windows_end_starts_when_the_clock_is_set_before_it),
        TEST(clock__a_site_hours_ahead_preempts_nothing_for_a_window_in_its_own_time),
        TEST(clock__a_run_keeps_its_length_when_the_clock_is_set_back),
        TEST(clock__no_run_ends_before_it_began_when_its_sites_clock_is_set_back),
        TEST(clock__sites_whose_clocks_differ_most_are_in_the_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
