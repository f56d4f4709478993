/*  test_window.c -- jobs that wait for a better hour: when they start, what ends their wait, and the capacity that is
 *  promised to them. */
#include <string.h>

#include "tests/support/core_harness.h"

enum { NORTH = 1, SOUTH = 2, HOUR = 3600000 };

static harness_t *h;
static helio_site_profile_t *north, *south;
static int64_t midnight;

/*  One owned pool of 2 nodes x 8 GPUs of 1 kW a site; nothing costs money; silence means nothing. */
static int begin(void **state)
{
    (void)state;
    helio_broker_options_t options = helio_broker_options_default();
    options.silent_after_ms = INT64_C(1000) * HOUR;
    h = harness_begin(&options);
    midnight = harness_wall_ms(h);
    assert_true(midnight % HOUR == 0);
    north = harness_site(h, "north");
    south = harness_site(h, "south");
    harness_pool(h, north, "a", "H100", 2, 8, 0)->base_w = 1000;
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

/*  Hours of a signal from midnight on; the last one repeats. */
static void tell(uint64_t peer, uint32_t signal, const char *pool, uint32_t hours, const double *values)
{
    static uint64_t seq = 1000;
    double *copy = helio_arena_alloc(harness_arena(h), hours, sizeof *copy);
    memcpy(copy, values, hours * sizeof *copy);
    helio_series_t series = {.signal = signal,
                             .pool = helio_text_of(pool),
                             .issued_wall_ms = harness_wall_ms(h),
                             .start_wall_ms = midnight,
                             .step_s = 3600,
                             .values = {copy, hours}};
    helio_ev_site_summary_t event = {
        .peer = peer, .summary = {.seq = ++seq, .dispatch_seen = 0, .series = {&series, 1}, .power_w = -1}};
    harness_step(h, HELIO_BROKER_EV_SITE_SUMMARY, &event);
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

static uint32_t placed(void)
{
    return (uint32_t)harness_figures(h).placements_total;
}

static const double DIP[] = {500, 500, 500, 60, 500, 500};

static void window__a_flexible_job_starts_when_the_clean_hour_begins(void **state)
{
    (void)state;
    harness_join(h, NORTH, north);
    tell(NORTH, HELIO_SIGNAL_CARBON, "", 6, DIP);
    helio_job_spec_t spec = green(8, 12);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    const helio_row_class_t *row = last_class();
    assert_true(helio_text_is(row->reason, "WaitingForWindow"));
    assert_true(row->expected_ms == midnight + 3 * HOUR);
    assert_string_equal(
        harness_facts(h, row->details),
        "WindowAt site=north pool=a from=2026-03-01T03:00Z; WindowSaves saves_usd=$7.04 site=north pool=a "
        "less_usd=$0.00 more_usd=$0.00 less_carbon_g=3.52 kg more_carbon_g=0 g");
    const helio_row_decision_t *decision = harness_take(h, HELIO_BROKER_FX_ROW_DECISION);
    assert_true(helio_text_is(decision->reason, "WaitingForWindow"));
    assert_true(helio_text_is(decision->chosen_site, "north"));
    assert_true(decision->forecast_ms == midnight);
    const helio_row_candidate_t *candidate = harness_take(h, HELIO_BROKER_FX_ROW_CANDIDATE);
    assert_true(candidate->start_ms == midnight + 3 * HOUR);
    assert_int_equal(candidate->carbon_mg, 480000); /* 8 kWh x 60 g */
    assert_int_equal(candidate->carbon_micro_usd, 960000);
    assert_int_equal(candidate->score_micro_usd, 960000);
    harness_wait(h, 3 * HOUR - 1);
    assert_int_equal(placed(), 0);
    harness_wait(h, 1);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    const helio_row_placement_t *placement = harness_take(h, HELIO_BROKER_FX_ROW_PLACEMENT);
    assert_int_equal(placement->planned_carbon_mg, 480000);
    assert_true(helio_text_is(last_class()->reason, ""));
}

/*  All GPUs of a site for `hours`. */
static void fill(const char *site, uint64_t hours)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    helio_string_t only = {helio_text_of(site)};
    spec.nodes = 2;
    spec.time_limit_ms = hours * HOUR;
    spec.sites.items = &only;
    spec.sites.count = 1;
    (void)harness_job(h, &spec);
    harness_tick(h);
}

static const helio_row_candidate_t *last_candidate(const char *site)
{
    const helio_row_candidate_t *row, *last = NULL;
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_CANDIDATE)))
        last = helio_text_is(row->site, site) ? row : last;
    assert_non_null(last);
    return last;
}

static void window__is_compared_with_a_start_that_is_possible_now(void **state)
{
    (void)state;
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    tell(NORTH, HELIO_SIGNAL_CARBON, "", 1, (double[]){200}); /* the best start of all, but for its room */
    tell(SOUTH, HELIO_SIGNAL_CARBON, "", 6, DIP);
    fill("north", 40);
    helio_job_spec_t spec = green(8, 12);
    (void)harness_job(h, &spec);
    harness_tick(h);
    assert_string_equal(
        harness_facts(h, last_class()->details),
        "WindowAt site=south pool=a from=2026-03-01T03:00Z; WindowSaves saves_usd=$7.04 site=south pool=a "
        "less_usd=$0.00 more_usd=$0.00 less_carbon_g=3.52 kg more_carbon_g=0 g");
    assert_true(helio_text_is(last_candidate("north")->rejected_reason, "NoCapacity"));
}

static void window__of_full_pools_is_compared_with_nothing(void **state)
{
    (void)state;
    harness_join(h, NORTH, north);
    tell(NORTH, HELIO_SIGNAL_CARBON, "", 6, DIP);
    fill("north", 1);
    helio_job_spec_t spec = green(8, 12);
    (void)harness_job(h, &spec);
    harness_tick(h);
    assert_string_equal(harness_facts(h, last_class()->details),
                        "WindowAt site=north pool=a from=2026-03-01T03:00Z; PoolsFull pools=1");
}

/*  A cleaner hour at a pool that will be full is no start that the job gave up. */
static void window__hours_without_room_are_no_candidates(void **state)
{
    (void)state;
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    tell(NORTH, HELIO_SIGNAL_CARBON, "", 6, (double[]){500, 500, 500, 10, 500, 500});
    tell(SOUTH, HELIO_SIGNAL_CARBON, "", 6, DIP);
    fill("north", 40);
    helio_job_spec_t spec = green(8, 12);
    (void)harness_job(h, &spec);
    harness_tick(h);
    const helio_row_candidate_t *candidate = last_candidate("north");
    assert_true(candidate->start_ms == harness_wall_ms(h));
    assert_true(helio_text_is(candidate->rejected_reason, "NoCapacity"));
}

static void window__a_lower_score_after_a_longer_wait_says_so(void **state)
{
    (void)state;
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    tell(NORTH, HELIO_SIGNAL_CARBON, "", 4, (double[]){500, 100, 500, 500});
    tell(SOUTH, HELIO_SIGNAL_CARBON, "", 12, (double[]){500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 99});
    helio_job_spec_t spec = green(8, 14);
    (void)harness_job(h, &spec);
    harness_tick(h);
    assert_true(last_class()->expected_ms == midnight + HOUR);
    const helio_row_candidate_t *candidate = last_candidate("south");
    assert_true(candidate->start_ms == midnight + 11 * HOUR);
    assert_string_equal(harness_facts(h, candidate->details),
                        "LongerWait hours=10; PriceUnknown pool=a risk_usd=$0.00");
}

static void window__an_inflexible_job_starts_at_once(void **state)
{
    (void)state;
    harness_join(h, NORTH, north);
    tell(NORTH, HELIO_SIGNAL_CARBON, "", 6, DIP);
    helio_job_spec_t spec = green(8, 0);
    harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(placed(), 1);
    spec.flexible_ms = HOUR - 1; /* no hour begins in that time */
    harness_advance(h, 1);
    harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(placed(), 2);
}

static void window__another_site_now_is_better_than_a_small_gain_later(void **state)
{
    (void)state;
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    tell(NORTH, HELIO_SIGNAL_CARBON, "", 2, (double[]){500, 449.5});
    helio_job_spec_t spec = green(8, 12);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_true(helio_text_is(harness_row(h, key)->site, "south")); /* 450 g, at once */
}

static void window__a_new_forecast_starts_the_job_and_noise_does_not(void **state)
{
    (void)state;
    harness_join(h, NORTH, north);
    tell(NORTH, HELIO_SIGNAL_CARBON, "", 6, DIP);
    helio_job_spec_t spec = green(8, 12);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_true(last_class()->expected_ms == midnight + 3 * HOUR);
    harness_wait(h, HOUR / 2);
    tell(NORTH, HELIO_SIGNAL_CARBON, "", 6,
         (double[]){510, 490, 505, 62, 61, 500}); /* the fourth hour is better by a gram */
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    const helio_row_class_t *row = last_class();
    assert_true(!row || row->expected_ms == midnight + 3 * HOUR);
    tell(NORTH, HELIO_SIGNAL_CARBON, "", 6, (double[]){500, 500, 500, 500, 20, 500});
    harness_tick(h);
    assert_true(last_class()->expected_ms == midnight + 4 * HOUR);
    tell(NORTH, HELIO_SIGNAL_CARBON, "", 1, (double[]){500});
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
}

static void window__a_repeated_forecast_changes_nothing(void **state)
{
    (void)state;
    harness_join(h, NORTH, north);
    tell(NORTH, HELIO_SIGNAL_CARBON, "", 6, DIP);
    helio_job_spec_t spec = green(8, 12);
    harness_job(h, &spec);
    harness_tick(h);
    (void)last_class();
    for (int i = 0; i < 20; i++) {
        tell(NORTH, HELIO_SIGNAL_CARBON, "", 6, DIP);
        harness_wait(h, 60000);
    }
    assert_null(last_class());
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_DECISION), 1);
}

static void window__no_more_jobs_wait_than_will_find_capacity(void **state)
{
    (void)state;
    harness_join(h, NORTH, north);
    tell(NORTH, HELIO_SIGNAL_CARBON, "", 6, DIP);
    helio_job_spec_t spec = green(8, 12);
    spec.time_limit_ms = 12 * HOUR; /* a job that starts now is not over by then */
    tell(NORTH, HELIO_SIGNAL_FREE_GPUS, "a", 6, (double[]){16, 16, 16, 8, 8, 8});
    tell(NORTH, HELIO_SIGNAL_CARBON, "", 16,
         (double[]){900, 900, 900, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60, 60});
    for (int i = 0; i < 2; i++)
        harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(placed(), 1); /* the first in line */
    assert_true(helio_text_is(last_class()->reason, "WaitingForWindow"));
}

static void window__capacity_promised_to_one_class_is_not_counted_for_the_next(void **state)
{
    (void)state;
    harness_join(h, NORTH, north);
    tell(NORTH, HELIO_SIGNAL_CARBON, "", 6, DIP);
    tell(NORTH, HELIO_SIGNAL_FREE_GPUS, "a", 1, (double[]){8});
    helio_job_spec_t spec = green(8, 12);
    helio_job_key_t first = harness_job(h, &spec);
    harness_tick(h);
    spec.cpus = 1; /* another class, with the same wish */
    helio_job_key_t second = harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(harness_state(h, first), HELIO_JOB_QUEUED);
    assert_int_equal(harness_state(h, second), HELIO_JOB_OFFERED);
    harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, first); /* the promise goes with it */
    spec.cpus = 2;
    helio_job_key_t third = harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(harness_state(h, third), HELIO_JOB_QUEUED);
}

static void window__a_deadline_is_not_waited_past(void **state)
{
    (void)state;
    harness_join(h, NORTH, north);
    tell(NORTH, HELIO_SIGNAL_CARBON, "", 6, DIP);
    helio_job_spec_t spec = green(8, 12);
    spec.deadline_wall_ms = midnight + 4 * HOUR - 1; /* and its limit is an hour */
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
}

static const helio_start_estimate_t *explain(helio_job_key_t key)
{
    const helio_fx_reply_t *reply = harness_command(h, HELIO_BROKER_EV_EXPLAIN, "acme", HELIO_ROLE_USER, key);
    assert_int_equal(reply->rc, HELIO_OK);
    return &reply->start_estimate;
}

static void window__the_latest_start_that_is_told_keeps_the_deadline(void **state)
{
    (void)state;
    harness_join(h, NORTH, north);
    tell(NORTH, HELIO_SIGNAL_CARBON, "", 6, DIP);
    const struct {
        int64_t deadline_ms, latest_ms;
    } cases[] = {{0, 12 * HOUR}, {20 * HOUR, 12 * HOUR}, {8 * HOUR, 7 * HOUR}}; /* its limit is an hour */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        helio_job_spec_t spec = green(4, 12);
        spec.deadline_wall_ms = cases[i].deadline_ms ? midnight + cases[i].deadline_ms : 0;
        helio_job_key_t key = harness_job(h, &spec);
        harness_tick(h);
        assert_int_equal(explain(key)->earliest_ms, midnight + 3 * HOUR);
        assert_int_equal(explain(key)->latest_ms, midnight + cases[i].latest_ms);
    }
}

static void window__a_full_site_is_waited_for_as_capacity_not_as_a_window(void **state)
{
    (void)state;
    harness_join(h, NORTH, north);
    harness_summary(h, NORTH, north, 0, 2);
    helio_job_spec_t spec = green(8, 12);
    harness_job(h, &spec);
    harness_tick(h);
    assert_true(helio_text_is(last_class()->reason, "WaitingForCapacity"));
    harness_summary(h, NORTH, north, 0, 1);
    harness_tick(h);
    assert_int_equal(placed(), 1);
}

static void window__is_the_same_for_a_new_leader(void **state)
{
    (void)state;
    harness_join(h, NORTH, north);
    tell(NORTH, HELIO_SIGNAL_CARBON, "", 6, DIP);
    helio_job_spec_t spec = green(8, 12);
    helio_job_key_t key = harness_job(h, &spec);
    harness_wait(h, HOUR);
    uint64_t class_id = last_class()->class_id;
    harness_t *old = h;
    h = harness_rebuild(old);
    harness_join(h, NORTH, north);
    tell(NORTH, HELIO_SIGNAL_CARBON, "", 6, DIP);
    harness_tick(h);
    const helio_row_class_t *row = last_class();
    assert_true(row->class_id == class_id);
    assert_true(row->expected_ms == midnight + 3 * HOUR);
    harness_wait(h, 2 * HOUR);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    harness_end(&old);
}

static void window__a_site_that_returns_with_other_pools_leaves_no_window(void **state)
{
    (void)state;
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    tell(NORTH, HELIO_SIGNAL_CARBON, "", 6, DIP);
    helio_job_spec_t spec = green(8, 12);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    helio_site_profile_t *again = harness_site(h, "north");
    harness_pool(h, again, "z", "H100", 4, 8, 0)->base_w = 1000;
    harness_join(h, NORTH, again); /* its series are still the latest that are known */
    harness_tick(h);
    assert_string_equal(
        harness_facts(h, last_class()->details),
        "WindowAt site=north pool=z from=2026-03-01T03:00Z; WindowSaves saves_usd=$6.24 site=south pool=a "
        "less_usd=$0.00 more_usd=$0.00 less_carbon_g=3.12 kg more_carbon_g=0 g");
    harness_wait(h, 3 * HOUR);
    assert_true(helio_text_is(harness_row(h, key)->pool, "z"));
}

static void cap__an_inflexible_job_gets_its_earliest_hour_and_starts_then(void **state)
{
    (void)state;
    harness_join(h, NORTH, north);
    tell(NORTH, HELIO_SIGNAL_CARBON, "", 6, (double[]){499.6, 499.6, 499.6, 20, 20, 499.6});
    helio_job_spec_t spec = green(8, 0);
    spec.max_carbon_mg_per_kwh = 100000;
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    const helio_row_class_t *row = last_class();
    assert_true(helio_text_is(row->reason, "PolicyCap"));
    assert_string_equal(harness_facts(h, row->details),
                        "RejectedFirstAt site=north rejection=CarbonCap until=2026-03-01T03:00Z");
    assert_true(row->expected_ms == midnight + 3 * HOUR);
    (void)harness_take(h, HELIO_BROKER_FX_ROW_DECISION);
    const helio_row_candidate_t *candidate = harness_take(h, HELIO_BROKER_FX_ROW_CANDIDATE);
    assert_true(helio_text_is(candidate->rejected_reason, "CarbonCap"));
    assert_string_equal(harness_facts(h, candidate->details),
                        "AboveMaxCarbon carbon_g_per_kwh=500 max_carbon_g_per_kwh=100 until=2026-03-01T03:00Z");
    harness_wait(h, 3 * HOUR);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
}

static void series__impossible_values_do_no_harm(void **state)
{
    (void)state;
    harness_join(h, NORTH, north);
    static const double bad[] = {-1e300, 1e300, 0, -0.0, 5e-324};
    for (uint32_t signal = 0; signal < HELIO_SIGNAL_COUNT; signal++)
        tell(NORTH, signal, signal % 2 ? "a" : "", 5, bad);
    helio_job_spec_t spec = green(8, 12);
    harness_job(h, &spec);
    harness_wait(h, 13 * HOUR);
    assert_int_equal(placed(), 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(window__a_flexible_job_starts_when_the_clean_hour_begins),
        CASE(window__is_compared_with_a_start_that_is_possible_now),
        CASE(window__of_full_pools_is_compared_with_nothing),
        CASE(window__hours_without_room_are_no_candidates),
        CASE(window__a_lower_score_after_a_longer_wait_says_so),
        CASE(window__an_inflexible_job_starts_at_once),
        CASE(window__another_site_now_is_better_than_a_small_gain_later),
        CASE(window__a_new_forecast_starts_the_job_and_noise_does_not),
        CASE(window__a_repeated_forecast_changes_nothing),
        CASE(window__no_more_jobs_wait_than_will_find_capacity),
        CASE(window__capacity_promised_to_one_class_is_not_counted_for_the_next),
        CASE(window__a_deadline_is_not_waited_past),
        CASE(window__the_latest_start_that_is_told_keeps_the_deadline),
        CASE(window__a_full_site_is_waited_for_as_capacity_not_as_a_window),
        CASE(window__is_the_same_for_a_new_leader),
        CASE(window__a_site_that_returns_with_other_pools_leaves_no_window),
        CASE(cap__an_inflexible_job_gets_its_earliest_hour_and_starts_then),
        CASE(series__impossible_values_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
