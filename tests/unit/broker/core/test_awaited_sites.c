/*  test_awaited_sites.c -- what is not decided without a site that is about to come back: after a takeover, and when a
 *  session ends for a moment. */
#include <string.h>

#include "broker/core/holds/awaited_sites.h"
#include "tests/support/core_harness.h"

enum { NORTH = 1, SOUTH = 2, HOUR = 3600000, SILENT = 60000 };

static harness_t *h;
static helio_site_profile_t *north, *south;
static int64_t midnight;

/*  North is clean at three o'clock; south costs as much at any time. */
static int begin(void **state)
{
    (void)state;
    h = harness_begin(NULL);
    midnight = harness_wall_ms(h);
    north = harness_site(h, "north");
    south = harness_site(h, "south");
    harness_pool(h, north, "b", "H100", 1, 8, 0)->base_w = 1000;
    harness_pool(h, north, "a", "L40S", 1, 8, 0)->base_w = 1000;
    harness_pool(h, south, "a", "H100", 2, 8, 0)->base_w = 1000;
    south->carbon_g_per_kwh = 450;
    return 0;
}

static int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

static void take_over(void)
{
    harness_t *next = harness_rebuild(h);
    harness_end(&h);
    h = next;
    north = harness_site(h, "north");
    south = harness_site(h, "south");
    harness_pool(h, north, "b", "H100", 1, 8, 0)->base_w = 1000;
    harness_pool(h, north, "a", "L40S", 1, 8, 0)->base_w = 1000;
    harness_pool(h, south, "a", "H100", 2, 8, 0)->base_w = 1000;
    south->carbon_g_per_kwh = 450;
}

/*  Hours of north's carbon intensity from midnight on; the last one repeats. */
static void tell(uint32_t hours, const double *values)
{
    double *copy = helio_arena_alloc(harness_arena(h), hours, sizeof *copy);
    memcpy(copy, values, hours * sizeof *copy);
    helio_series_t series = {.signal = HELIO_SIGNAL_CARBON,
                             .issued_wall_ms = harness_wall_ms(h),
                             .start_wall_ms = midnight,
                             .step_s = 3600,
                             .values = {copy, hours}};
    harness_series(h, NORTH, &series, 1);
}

static const double DIP[] = {500, 500, 500, 60, 500, 500};

static void join_north(void)
{
    harness_join(h, NORTH, north);
    tell(6, DIP);
}

/*  A summary each second, as from a connected site. */
static void pass(int64_t ms, bool north_is_here, bool south_is_here)
{
    for (; ms > 0; ms -= 1000) {
        harness_wait(h, ms < 1000 ? ms : 1000);
        if (north_is_here)
            harness_renew(h, NORTH);
        if (south_is_here)
            harness_renew(h, SOUTH);
    }
}

static helio_job_spec_t green(uint32_t gpus, int64_t flexible_h)
{
    helio_job_spec_t spec = harness_spec(h, "H100", gpus);
    spec.goal = HELIO_GOAL_GREEN;
    spec.flexible_ms = (uint64_t)flexible_h * HOUR;
    return spec;
}

static const helio_row_class_t *last_class(void)
{
    const helio_row_class_t *row, *last = NULL;
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_CLASS)))
        last = row;
    return last;
}

static helio_job_key_t waiting_for_three(void)
{
    harness_join(h, SOUTH, south);
    join_north();
    helio_job_spec_t spec = green(8, 12);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_true(last_class()->expected_ms == midnight + 3 * HOUR);
    return key;
}

/* ---- a new leader ---------------------------------------------------------------------------------------- */

static void takeover__a_job_that_may_wait_does_not_start_at_the_first_site_that_is_back(void **state)
{
    (void)state;
    helio_job_key_t key = waiting_for_three();
    take_over();
    harness_join(h, SOUTH, south);
    pass(20000, false, true);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    const helio_row_class_t *row = last_class();
    assert_true(helio_text_is(row->reason, "WaitingForWindow"));
    assert_string_equal(harness_facts(h, row->details), "SitesAwaited sites=north until=2026-03-01T00:01:00Z; "
                                                        "WindowAt site=north pool=b from=2026-03-01T03:00Z");
    assert_true(row->expected_ms == midnight + 3 * HOUR);
    join_north();
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    pass(3 * HOUR - 20000 - 1000, true, true);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    pass(1000, true, true);
    assert_true(helio_text_is(harness_row(h, key)->site, "north"));
}

static void takeover__the_window_is_kept_by_two_leaders_in_a_row(void **state)
{
    (void)state;
    helio_job_key_t key = waiting_for_three();
    take_over();
    harness_join(h, SOUTH, south);
    pass(10000, false, true);
    take_over();
    harness_join(h, SOUTH, south);
    pass(10000, false, true);
    assert_true(last_class()->expected_ms == midnight + 3 * HOUR);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
}

static void takeover__noise_of_the_forecast_does_not_move_a_window(void **state)
{
    (void)state;
    harness_join(h, NORTH, north);
    tell(6, (double[]){500, 500, 500, 100, 60, 500});
    helio_job_spec_t spec = green(8, 12);
    harness_job(h, &spec);
    harness_tick(h);
    assert_true(last_class()->expected_ms == midnight + 4 * HOUR);
    take_over();
    harness_join(h, NORTH, north);
    tell(6, (double[]){500, 500, 500, 61, 62, 500}); /* whoever chooses anew takes the earlier hour */
    harness_tick(h);
    pass(1000, true, false);
    const helio_row_class_t *row = last_class();
    assert_true(!row || row->expected_ms == midnight + 4 * HOUR);
    pass(3 * HOUR + HOUR / 2, true, false);
    assert_int_equal(harness_figures(h).placements_total, 0);
}

static void takeover__an_ordinary_job_waits_a_moment_for_a_missed_site(void **state)
{
    (void)state;
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    take_over();
    harness_join(h, SOUTH, south);
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    helio_job_key_t key = harness_job(h, &spec);
    pass(TAKEOVER_AWAIT_MS - 1000, false, true);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    pass(2000, false, true);
    assert_true(helio_text_is(harness_row(h, key)->site, "south"));
}

static void takeover__nobody_waits_once_all_sites_have_spoken(void **state)
{
    (void)state;
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    take_over();
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    helio_job_key_t key = harness_job(h, &spec);
    harness_hello(h, NORTH, north);
    harness_inventory(h, NORTH, NULL, 0);
    harness_join(h, SOUTH, south);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED); /* what is free at north is not known */
    harness_summary(h, NORTH, north, 0, 0);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
}

static void takeover__a_site_that_stays_away_is_awaited_until_it_would_be_silent(void **state)
{
    (void)state;
    helio_job_key_t key = waiting_for_three();
    take_over();
    harness_join(h, SOUTH, south);
    pass(SILENT - 2000, false, true);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    pass(4000, false, true);
    assert_true(helio_text_is(harness_row(h, key)->site, "south"));
}

static void takeover__a_site_that_was_silent_or_cannot_run_the_job_is_not_awaited(void **state)
{
    (void)state;
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    harness_gone(h, NORTH);
    pass(SILENT + 1000, false, true); /* silent */
    take_over();
    harness_join(h, SOUTH, south);
    helio_job_spec_t spec = green(8, 0);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    join_north();
    take_over();
    join_north();
    spec = harness_spec(h, "L40S", 1); /* south has none */
    spec.flexible_ms = 12 * HOUR;
    key = harness_job(h, &spec);
    pass(TAKEOVER_AWAIT_MS + 1000, true, false);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
}

static void takeover__a_deadline_is_not_waited_away(void **state)
{
    (void)state;
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    take_over();
    harness_join(h, SOUTH, south);
    helio_job_spec_t spec = green(8, 12);
    spec.time_limit_ms = HOUR;
    spec.deadline_wall_ms = harness_wall_ms(h) + HOUR + SILENT / 2;
    helio_job_key_t key = harness_job(h, &spec);
    pass(TAKEOVER_AWAIT_MS + 1000, false, true);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
}

static void takeover__explain_names_the_sites_that_are_awaited(void **state)
{
    (void)state;
    helio_job_key_t key = waiting_for_three();
    take_over();
    harness_join(h, SOUTH, south);
    pass(20000, false, true);
    const helio_fx_reply_t *reply = harness_command(h, HELIO_BROKER_EV_EXPLAIN, "acme", HELIO_ROLE_USER, key);
    assert_string_equal(harness_facts(h, reply->start_estimate.basis),
                        "SitesAwaited sites=north until=2026-03-01T00:01:00Z");
    assert_true(reply->start_estimate.latest_ms == midnight + SILENT);
}

/* ---- a session that ends for a moment -------------------------------------------------------------------- */

static void flap__a_window_stays_while_its_site_is_away(void **state)
{
    (void)state;
    helio_job_key_t key = waiting_for_three();
    harness_gone(h, NORTH);
    pass(30000, false, true);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    harness_join(h, NORTH, north);
    pass(2000, true, true);
    const helio_row_class_t *row = last_class();
    assert_true(!row || row->expected_ms == midnight + 3 * HOUR);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
}

static void flap__a_job_whose_hour_has_come_waits_for_the_site_that_is_away(void **state)
{
    (void)state;
    helio_job_key_t key = waiting_for_three();
    pass(3 * HOUR - 10000, true, true);
    harness_gone(h, NORTH);
    pass(30000, false, true);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    assert_non_null(strstr(harness_facts(h, last_class()->details), "SitesAwaited sites=north"));
    harness_join(h, NORTH, north);
    harness_tick(h);
    assert_true(helio_text_is(harness_row(h, key)->site, "north"));
}

static void flap__a_job_is_planned_for_a_site_that_is_away(void **state)
{
    (void)state;
    harness_join(h, SOUTH, south);
    join_north();
    harness_gone(h, NORTH);
    helio_job_spec_t spec = green(8, 12);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_true(last_class()->expected_ms == midnight + 3 * HOUR);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
}

static void flap__that_lasts_ends_as_silence(void **state)
{
    (void)state;
    helio_job_key_t key = waiting_for_three();
    harness_gone(h, NORTH);
    pass(SILENT + 2000, false, true);
    assert_true(helio_text_is(harness_row(h, key)->site, "south"));
}

static void flap__a_site_that_says_hello_and_no_more_is_not_awaited_for_ever(void **state)
{
    (void)state;
    helio_job_key_t key = waiting_for_three();
    for (uint32_t i = 0; i < 10; i++) {
        harness_gone(h, NORTH);
        harness_hello(h, NORTH, north);
        pass(9000, true, true);
    }
    assert_true(helio_text_is(harness_row(h, key)->site, "south"));
}

static void flap__a_preemption_under_way_is_not_begun_again(void **state)
{
    (void)state;
    harness_join(h, SOUTH, south);
    helio_job_spec_t low = harness_spec(h, "H100", 8);
    low.queue = HELIO_TEXT("batch");
    helio_job_key_t keys[2];
    for (uint32_t i = 0; i < 2; i++) {
        keys[i] = harness_job(h, &low);
        harness_tick(h);
        harness_run_up_to(h, SOUTH, keys[i], 1, HELIO_JOB_RUNNING);
    }
    pass(HOUR / 2, false, true);
    helio_job_spec_t high = harness_spec(h, "H100", 8);
    high.queue = HELIO_TEXT("express");
    harness_job(h, &high);
    harness_tick(h);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_STOP), 1);
    harness_clear(h);
    harness_gone(h, SOUTH);
    pass(5000, false, false);
    harness_hello(h, SOUTH, south);
    helio_holding_t holdings[2];
    for (uint32_t i = 0; i < 2; i++)
        holdings[i] = (helio_holding_t){keys[i], 1, HELIO_JOB_RUNNING, 1};
    harness_inventory(h, SOUTH, holdings, 2);
    harness_summary(h, SOUTH, south, 100, 2);
    pass(3000, false, true);
    const helio_fx_stop_t *stop, *other = NULL;
    uint32_t stops = 0;
    while ((stop = harness_take(h, HELIO_BROKER_FX_STOP))) {
        assert_true(!other || helio_uuid_equal(stop->stop.key.job, other->stop.key.job));
        other = stop;
        stops++;
    }
    assert_int_equal(stops, 1); /* said again in the new session */
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(takeover__a_job_that_may_wait_does_not_start_at_the_first_site_that_is_back),
        CASE(takeover__the_window_is_kept_by_two_leaders_in_a_row),
        CASE(takeover__noise_of_the_forecast_does_not_move_a_window),
        CASE(takeover__an_ordinary_job_waits_a_moment_for_a_missed_site),
        CASE(takeover__nobody_waits_once_all_sites_have_spoken),
        CASE(takeover__a_site_that_stays_away_is_awaited_until_it_would_be_silent),
        CASE(takeover__a_site_that_was_silent_or_cannot_run_the_job_is_not_awaited),
        CASE(takeover__a_deadline_is_not_waited_away),
        CASE(takeover__explain_names_the_sites_that_are_awaited),
        CASE(flap__a_window_stays_while_its_site_is_away),
        CASE(flap__a_job_whose_hour_has_come_waits_for_the_site_that_is_away),
        CASE(flap__a_job_is_planned_for_a_site_that_is_away),
        CASE(flap__that_lasts_ends_as_silence),
        CASE(flap__a_site_that_says_hello_and_no_more_is_not_awaited_for_ever),
        CASE(flap__a_preemption_under_way_is_not_begun_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
