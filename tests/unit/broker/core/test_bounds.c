/*  test_bounds.c -- jobs that bounds of their own document keep from every site: how far they are from them, and that
 *  no other job keeps them waiting. */
#include <stdio.h>
#include <string.h>

#include "tests/support/core_harness.h"

enum { NORTH = 1, SOUTH = 2, HOUR = 3600000 };

static harness_t *h;
static helio_site_profile_t *north, *south;

static int begin(void **state)
{
    (void)state;
    helio_broker_options_t options = helio_broker_options_default();
    options.silent_after_ms = INT64_C(1000) * HOUR;
    h = harness_begin(&options);
    north = harness_site(h, "north");
    harness_pool(h, north, "a", "H100", 2, 8, 1.5)->base_w = 700;
    south = harness_site(h, "south");
    harness_pool(h, south, "a", "H100", 2, 8, 2.5)->base_w = 700;
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

static void tell_carbon(uint64_t peer, double value)
{
    static uint64_t seq = 5000;
    double *values = helio_arena_alloc(harness_arena(h), 1, sizeof *values);
    *values = value;
    helio_series_t series = {.signal = HELIO_SIGNAL_CARBON,
                             .issued_wall_ms = harness_wall_ms(h),
                             .start_wall_ms = harness_wall_ms(h) - harness_wall_ms(h) % HOUR,
                             .step_s = 3600,
                             .values = {values, 1}};
    helio_ev_site_summary_t event = {
        .peer = peer, .summary = {.seq = ++seq, .dispatch_seen = 0, .series = {&series, 1}, .power_w = -1}};
    harness_step(h, HELIO_BROKER_EV_SITE_SUMMARY, &event);
}

static const helio_fx_reply_t *plan(const helio_job_spec_t *spec)
{
    helio_submission_t job = harness_submission(h, spec, "", "");
    helio_ev_submit_t event = {.call = 7, .tenant = HELIO_TEXT("acme"), .user = HELIO_TEXT("ada"), .jobs = {&job, 1}};
    harness_clear(h);
    harness_step(h, HELIO_BROKER_EV_PLAN, &event);
    const helio_fx_reply_t *reply = harness_take(h, HELIO_BROKER_FX_REPLY);
    assert_non_null(reply);
    assert_int_equal(reply->rc, HELIO_OK);
    return reply;
}

/*  8 GPUs for an hour cost $12 at north and $20 at south. */
static void plan__of_a_job_above_its_bounds_tells_the_figures_of_the_nearest_pool(void **state)
{
    (void)state;
    static const struct {
        uint64_t max_cost_micro_usd, max_carbon_mg_per_kwh;
        const char *expected;
    } cases[] = {
        {10000000, 0,
         "RejectedFirstAt site=north rejection=CostCap; CostAtLeast cost_usd=$12.00 site=north max_cost_usd=$10.00"},
        {1, 0,
         "RejectedFirstAt site=north rejection=CostCap; CostAtLeast cost_usd=$12.00 site=north max_cost_usd=$0.000001"},
        {11999999, 0,
         "RejectedFirstAt site=north rejection=CostCap; JustAboveMaxCost cost_usd=$12.00 max_cost_usd=$12.00"},
        {0, 150000,
         "RejectedFirstAt site=north rejection=CarbonCap; CarbonAtLeast carbon_g_per_kwh=300 site=south "
         "max_carbon_g_per_kwh=150"},
        {0, 299999,
         "RejectedFirstAt site=north rejection=CarbonCap; JustAboveMaxCarbon carbon_g_per_kwh=300 max_carbon_g_per_kwh=300"},
    };
    tell_carbon(NORTH, 400);
    tell_carbon(SOUTH, 300);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_job_spec_t spec = harness_spec(h, "H100", 8);
        spec.max_cost_micro_usd = cases[i].max_cost_micro_usd;
        spec.max_carbon_mg_per_kwh = cases[i].max_carbon_mg_per_kwh;
        const helio_fx_reply_t *reply = plan(&spec);
        assert_true(helio_text_is(reply->plan.decision.reason, "PolicyCap"));
        assert_string_equal(harness_facts(h, reply->plan.decision.details), cases[i].expected);
        for (uint32_t k = 0; k < reply->start_estimate.hints.count; k++) /* no deadline is set, so none can be later */
            assert_int_not_equal(reply->start_estimate.hints.items[k].kind, HELIO_HINT_KIND_DEADLINE);
    }
}

/*  A begin time lifts no bound: after it the job would wait for ever. */
static void gated__a_job_above_its_bounds_is_judged_for_its_begin_time(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.max_cost_micro_usd = 10000000;
    spec.not_before_wall_ms = harness_wall_ms(h) + 2 * HOUR;
    static const char then[] = "BeginTime at=2026-03-01T02:00:00Z; StartNoHour",
                      hint[] = "StartsAt site=north pool=a cost_usd=$12.00";
    const helio_fx_reply_t *reply = plan(&spec);
    assert_true(helio_text_is(reply->plan.decision.reason, "Gated"));
    const char *facts = harness_facts(h, reply->plan.decision.details);
    assert_non_null(strstr(facts, "ShownAsOfThen; RejectedFirstAt site=north rejection=CostCap; CostAtLeast"));
    assert_int_equal(reply->start_estimate.earliest_ms, 0);
    assert_string_equal(harness_facts(h, reply->start_estimate.basis), then);
    assert_true(reply->start_estimate.hints.count);
    assert_int_equal(reply->start_estimate.hints.items[0].kind, HELIO_HINT_KIND_MAX_COST);
    assert_non_null(strstr(harness_facts(h, reply->start_estimate.hints.items[0].effect), hint));
    helio_job_key_t key = harness_job(h, &spec);
    const helio_fx_reply_t *explained = harness_command(h, HELIO_BROKER_EV_EXPLAIN, "acme", HELIO_ROLE_USER, key);
    assert_int_equal(explained->start_estimate.earliest_ms, 0);
    assert_true(explained->start_estimate.hints.count);
    assert_string_equal(harness_facts(h, explained->start_estimate.basis), then);
    assert_non_null(strstr(harness_facts(h, explained->start_estimate.hints.items[0].effect), hint));
    spec.max_cost_micro_usd = 12000000;
    reply = plan(&spec);
    assert_true(reply->start_estimate.earliest_ms == spec.not_before_wall_ms);
    assert_string_equal(harness_facts(h, reply->start_estimate.basis), "BeginTime at=2026-03-01T02:00:00Z");
    key = harness_job(h, &spec);
    explained = harness_command(h, HELIO_BROKER_EV_EXPLAIN, "acme", HELIO_ROLE_USER, key);
    assert_non_null(strstr(harness_facts(h, explained->start_estimate.basis), "StartThenCapacity"));
}

/*  One bound at each site: both figures, since either change would help. */
static void plan__of_a_job_above_two_bounds_tells_both(void **state)
{
    (void)state;
    tell_carbon(NORTH, 400);
    tell_carbon(SOUTH, 100);
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.max_cost_micro_usd = 15000000;
    spec.max_carbon_mg_per_kwh = 200000;
    const char *facts = harness_facts(h, plan(&spec)->plan.decision.details);
    assert_non_null(strstr(facts, "CostAtLeast cost_usd=$20.00 site=south max_cost_usd=$15.00"));
    assert_non_null(strstr(facts, "CarbonAtLeast carbon_g_per_kwh=400 site=north max_carbon_g_per_kwh=200"));
}

/*  The stored reason has no figure: it would have to be written again each hour. */
static void rows__of_a_job_above_its_bounds_have_no_figures(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.max_cost_micro_usd = 10000000;
    (void)harness_job(h, &spec);
    harness_tick(h);
    const helio_row_class_t *row = harness_take(h, HELIO_BROKER_FX_ROW_CLASS);
    assert_non_null(row);
    assert_string_equal(harness_facts(h, row->details), "RejectedFirstAt site=north rejection=CostCap");
}

static const helio_start_estimate_t *explain(helio_job_key_t key)
{
    const helio_fx_reply_t *reply = harness_command(h, HELIO_BROKER_EV_EXPLAIN, "acme", HELIO_ROLE_USER, key);
    assert_int_equal(reply->rc, HELIO_OK);
    return &reply->start_estimate;
}

/*  Both sites are full, and another job waits for them with a higher priority. */
static void fill(void)
{
    helio_job_spec_t large = harness_spec(h, "H100", 8);
    large.nodes = 2;
    for (int i = 0; i < 2; i++)
        (void)harness_job(h, &large);
    harness_tick(h);
    assert_int_equal(harness_submit(h, "other", &large)->rc, HELIO_OK);
    harness_tick(h);
}

/*  The change is named even where the job would still have to wait for capacity. */
static void hints__of_a_job_above_its_bounds_name_the_least_bound_although_all_is_full(void **state)
{
    (void)state;
    harness_summary(h, NORTH, north, 0, 2); /* others work there */
    harness_summary(h, SOUTH, south, 0, 2);
    tell_carbon(NORTH, 400);
    tell_carbon(SOUTH, 300);
    helio_job_spec_t cost = harness_spec(h, "H100", 8), carbon = cost;
    harness_strings(h, &cost.sites, (const char *const[]){"north", NULL});
    harness_strings(h, &carbon.sites, (const char *const[]){"south", NULL});
    cost.max_cost_micro_usd = 100;
    carbon.max_carbon_mg_per_kwh = 1000;
    helio_job_key_t keys[] = {harness_job(h, &cost), harness_job(h, &carbon)};
    static const char *const expected[] = {"TryMaxCost max_cost_usd=12", "TryMaxCarbon max_carbon_g_per_kwh=300"};
    harness_tick(h);
    for (int i = 0; i < 2; i++) {
        const helio_start_estimate_t *estimate = explain(keys[i]);
        assert_true(estimate->hints.count > 0);
        assert_string_equal(harness_facts(h, estimate->hints.items[0].change), expected[i]);
        assert_int_equal(estimate->hints.items[0].effect.items.count, 0);
    }
}

static void jobs_ahead__of_a_job_that_its_own_bounds_stop_are_none(void **state)
{
    (void)state;
    fill();
    tell_carbon(NORTH, 400);
    tell_carbon(SOUTH, 300);
    helio_job_spec_t waits = harness_spec(h, "H100", 8), cost = waits, carbon = waits;
    cost.max_cost_micro_usd = 1000000;
    carbon.max_carbon_mg_per_kwh = 1000;
    assert_int_equal(plan(&waits)->start_estimate.ahead_jobs, 1);
    assert_int_equal(plan(&cost)->start_estimate.ahead_jobs, 0);
    assert_int_equal(plan(&carbon)->start_estimate.ahead_jobs, 0);
    helio_job_key_t keys[] = {harness_job(h, &waits), harness_job(h, &cost), harness_job(h, &carbon)};
    harness_tick(h);
    assert_int_equal(explain(keys[0])->ahead_jobs, 1);
    for (int i = 1; i < 3; i++) {
        const helio_start_estimate_t *estimate = explain(keys[i]);
        assert_int_equal(estimate->ahead_jobs, 0);
        assert_int_equal(estimate->ahead_gpus, 0);
        assert_int_equal(estimate->ahead.count, 0);
        assert_string_equal(harness_facts(h, estimate->basis), "StartNoHour");
    }
}

static void jobs_ahead__of_a_job_that_no_site_can_run_any_more_are_none(void **state)
{
    (void)state;
    fill();
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    harness_strings(h, &spec.sites, (const char *const[]){"south", NULL});
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_true(explain(key)->ahead_jobs > 0);
    helio_site_profile_t *smaller = harness_site(h, "south");
    harness_pool(h, smaller, "a", "L40", 2, 8, 2.5)->base_w = 700;
    harness_hello(h, SOUTH, smaller);
    harness_tick(h);
    assert_int_equal(explain(key)->ahead_jobs, 0);
}

/*  A quota is no bound of the job's own: it can be met while others are still ahead. */
static void jobs_ahead__of_a_job_that_a_quota_stops_are_counted(void **state)
{
    (void)state;
    fill();
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    (void)harness_quota(h, "acme", "", HARNESS_AS_IS, 4, HARNESS_AS_IS);
    const helio_fx_reply_t *reply = plan(&spec);
    assert_true(helio_text_is(reply->plan.decision.reason, "PolicyCap"));
    assert_int_equal(reply->start_estimate.ahead_jobs, 1);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(plan__of_a_job_above_its_bounds_tells_the_figures_of_the_nearest_pool),
        CASE(gated__a_job_above_its_bounds_is_judged_for_its_begin_time),
        CASE(plan__of_a_job_above_two_bounds_tells_both),
        CASE(hints__of_a_job_above_its_bounds_name_the_least_bound_although_all_is_full),
        CASE(rows__of_a_job_above_its_bounds_have_no_figures),
        CASE(jobs_ahead__of_a_job_that_its_own_bounds_stop_are_none),
        CASE(jobs_ahead__of_a_job_that_no_site_can_run_any_more_are_none),
        CASE(jobs_ahead__of_a_job_that_a_quota_stops_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
