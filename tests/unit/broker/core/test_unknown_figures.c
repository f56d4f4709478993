/*  test_unknown_figures.c -- what a site does not say is assumed to be high, is charged so, and is shown as assumed. */
#include "federation/policy/prices.h"
#include "tests/unit/broker/core/two_sites_testing.h"

enum { HOUR_MS = 3600000, HIGHEST_W = 770 };

static helio_pool_t *pool;

/*  North has a pool of a model that no table knows; south is as clean and cheap as known figures can be. */
static void open_sites(void)
{
    pool = harness_pool(h, north, "new", "B300", 4, 8, 1.0);
    pool->idle_w = pool->base_w = pool->slope_w = pool->host_w = 0;
    (void)harness_pool(h, south, "a", "H100", 4, 8, 1.0);
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
}

static helio_job_key_t start(void)
{
    helio_job_spec_t spec = harness_spec(h, "B300", 1);
    spec.time_limit_ms = 48 * (uint64_t)HOUR_MS;
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    return key;
}

/*  The candidate of that site. */
static const helio_row_candidate_t *candidate_of(const char *site)
{
    for (const helio_row_candidate_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_CANDIDATE));)
        if (helio_text_is(row->site, site))
            return row;
    return NULL;
}

static void run_an_hour(helio_job_key_t key)
{
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    harness_clear(h);
    harness_advance(h, HOUR_MS);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_ENDED);
    report.run_ms = report.gpu_ms = HOUR_MS;
    report.started_wall_ms = report.ended_wall_ms - HOUR_MS;
    harness_report(h, NORTH, &report);
}

static void power__of_an_unknown_model_is_charged_as_the_highest_and_said(void **state)
{
    (void)state;
    open_sites();
    helio_job_key_t key = start();
    const helio_row_candidate_t *candidate = candidate_of("north");
    assert_non_null(candidate);
    assert_true(candidate->energy_j > 0 && candidate->carbon_mg > 0);
    harness_assert_value(harness_detail(candidate->details, HELIO_DETAIL_POWER_ASSUMED), "gpu", "B300");
    harness_assert_value(harness_detail(candidate->details, HELIO_DETAIL_POWER_ASSUMED), "watts", "770");
    run_an_hour(key);
    const helio_row_ledger_t *row = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER);
    assert_non_null(row);
    assert_int_equal(row->energy_j, HIGHEST_W * 3600);
    assert_true(row->carbon_mg > 0 && row->cost_micro_usd > 0 && !row->estimated);
    assert_true(helio_text_is(row->provenance, "assumed"));
    assert_true(((const helio_row_baseline_t *)harness_take(h, HELIO_BROKER_FX_ROW_BASELINE))->estimated);
}

static void power__that_the_site_gives_is_charged_without_a_word(void **state)
{
    (void)state;
    open_sites();
    pool->base_w = 500;
    harness_hello(h, NORTH + 10, north);
    harness_inventory(h, NORTH + 10, NULL, 0);
    harness_summary(h, NORTH + 10, north, 0, 0);
    (void)start();
    const helio_row_candidate_t *candidate = candidate_of("north");
    assert_true(candidate && candidate->details.items.count == 0);
}

static void carbon__that_nobody_reports_is_charged_as_coal(void **state)
{
    (void)state;
    north->carbon_g_per_kwh = -1;
    open_sites();
    helio_job_key_t key = start();
    const helio_row_candidate_t *candidate = candidate_of("north");
    assert_non_null(candidate);
    (void)harness_detail(candidate->details, HELIO_DETAIL_CARBON_ASSUMED);
    run_an_hour(key);
    const helio_row_ledger_t *row = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER);
    assert_int_equal(row->carbon_mg, HIGHEST_W * HELIO_UNKNOWN_G_PER_KWH);
    const helio_row_hourly_price_t *price = NULL;
    for (const helio_row_hourly_price_t *one; (one = harness_take(h, HELIO_BROKER_FX_ROW_HOURLY_PRICE));)
        price = one->hourly_price_id == row->hourly_price_id ? one : price;
    assert_true(price && price->carbon_estimated && helio_text_is(price->carbon_source, "assumed"));
    assert_int_equal(price->carbon_kind.size, 0);
    const helio_row_baseline_t *baseline = harness_take(h, HELIO_BROKER_FX_ROW_BASELINE);
    assert_true(baseline && baseline->home_carbon_kind.size == 0); /* compared with nothing */
}

/*  A site can call its feed what it likes. */
static void carbon__of_a_feed_that_is_called_assumed_is_reported(void **state)
{
    (void)state;
    double values[] = {300, 300, 300};
    open_sites();
    helio_series_t series = {.signal = HELIO_SIGNAL_CARBON,
                             .kind = HELIO_TEXT("average"),
                             .source = HELIO_TEXT("assumed"),
                             .issued_wall_ms = harness_wall_ms(h),
                             .start_wall_ms = harness_wall_ms(h) - harness_wall_ms(h) % HOUR_MS,
                             .step_s = 3600,
                             .values = {values, 3}};
    harness_series(h, NORTH, &series, 1);
    run_an_hour(start());
    const helio_row_ledger_t *row = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER);
    assert_int_equal(row->carbon_mg, HIGHEST_W * 300);
    const helio_row_baseline_t *baseline = harness_take(h, HELIO_BROKER_FX_ROW_BASELINE);
    assert_true(baseline && helio_text_is(baseline->home_carbon_kind, "average"));
}

static bool says_unknown_price(void)
{
    (void)start();
    const helio_row_candidate_t *candidate = candidate_of("north");
    assert_non_null(candidate);
    return helio_details_find(&candidate->details, HELIO_DETAIL_PRICE_UNKNOWN) != NULL;
}

static void price__that_nothing_gives_is_said_to_be_unknown(void **state)
{
    (void)state;
    open_sites();
    assert_false(says_unknown_price());
    pool->price_usd_per_gpu_h = 0;
    north->electricity_usd_per_kwh = 0;
    harness_join(h, NORTH + 10, north);
    assert_true(says_unknown_price());
    pool->owned = true;
    north->electricity_usd_per_kwh = 0.1; /* of owned GPUs that is the price */
    harness_join(h, NORTH + 11, north);
    assert_false(says_unknown_price());
    pool->owned = false;
    harness_join(h, NORTH + 12, north);
    assert_true(says_unknown_price());
}

/* ---- decisions -------------------------------------------------------------------------------------------- */

enum { NONE = -1 };

/*  Sites with a pool of the model at these prices; 0 = the site gives none, NONE = it has no such pool. */
static helio_job_key_t decide(helio_goal_t goal, double north_usd, double south_usd, double north_g)
{
    const double prices[] = {north_usd, south_usd};
    helio_site_profile_t *sites[] = {north, south};
    for (int i = 0; i < 2; i++) {
        sites[i]->electricity_usd_per_kwh = 0;
        sites[i]->carbon_g_per_kwh = i ? 400 : north_g;
        if (prices[i] != NONE)
            harness_pool(h, sites[i], "a", "H100", 4, 8, prices[i]);
        harness_join(h, NORTH + (uint64_t)i, sites[i]);
    }
    helio_job_spec_t spec = harness_spec(h, "H100", 2);
    spec.time_limit_ms = HOUR_MS;
    spec.goal = goal;
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    return key;
}

static void price__that_is_unknown_is_never_the_cheapest(void **state)
{
    static const struct {
        helio_goal_t goal;
        double north_usd, south_usd, north_g;
        const char *chosen;
    } cases[] = {
        {HELIO_GOAL_CHEAP, 0, 9, 400, "south"},
        {HELIO_GOAL_CHEAP, 9, 0, 400, "north"},
        {HELIO_GOAL_BALANCED, 0, 9, 390, "north"}, /* as dear as the other: the other terms decide */
        {HELIO_GOAL_BALANCED, 0, 9, 410, "south"},
        {HELIO_GOAL_BALANCED, 0, 0, 1, "north"}, /* no site gives a price: the other terms decide */
        {HELIO_GOAL_BALANCED, 0, 0, 900, "south"},
        {HELIO_GOAL_CHEAP, 0, NONE, 400, "north"}, /* it is the only one */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)end(state);
        (void)begin_apart(state);
        helio_job_key_t key = decide(cases[i].goal, cases[i].north_usd, cases[i].south_usd, cases[i].north_g);
        assert_string_equal(helio_arena_string(harness_arena(h), harness_row(h, key)->site), cases[i].chosen);
    }
}

/*  What it counts as, where that is from, and that it is no cost. */
static void price__that_is_unknown_counts_as_risk_and_says_so(void **state)
{
    (void)state;
    (void)decide(HELIO_GOAL_CHEAP, 0, 9, 400);
    const helio_row_candidate_t *row = candidate_of("north");
    assert_true(row && row->cost_micro_usd == 0 && row->risk_micro_usd == 18000001);
    assert_true(row->score_micro_usd == row->cost_micro_usd + row->carbon_micro_usd + row->wait_micro_usd +
                                            row->risk_micro_usd + row->shadow_micro_usd + row->transfer_micro_usd);
    const helio_detail_t *detail = harness_detail(row->details, HELIO_DETAIL_PRICE_UNKNOWN);
    harness_assert_value(detail, "risk_usd", "$18.00");
}

static void price__that_nobody_gives_adds_no_risk(void **state)
{
    (void)state;
    (void)decide(HELIO_GOAL_CHEAP, 0, 0, 400);
    for (const helio_row_candidate_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_CANDIDATE));) {
        assert_int_equal(row->risk_micro_usd, 0);
        assert_true(helio_details_find(&row->details, HELIO_DETAIL_PRICE_UNKNOWN));
    }
}

/*  Judged again when the other site's price changes, and not added up. */
static void price__that_is_unknown_follows_the_dearest_of_the_others(void **state)
{
    (void)state;
    (void)decide(HELIO_GOAL_CHEAP, 0, 9, 400);
    helio_job_spec_t spec = harness_spec(h, "H100", 2);
    spec.time_limit_ms = HOUR_MS;
    spec.goal = HELIO_GOAL_CHEAP;
    spec.flexible_ms = 4 * HOUR_MS; /* its verdicts are kept */
    harness_or(h, &spec, "nothing", 2);
    for (int usd = 9; usd >= 3; usd -= 3) {
        helio_pool_t *dear = (helio_pool_t *)&south->pools.items[0];
        dear->price_usd_per_gpu_h = usd;
        harness_join(h, SOUTH + 10 + (uint64_t)usd, south);
        harness_clear(h);
        (void)harness_job(h, &spec);
        harness_tick(h);
        const helio_row_candidate_t *row = candidate_of("north");
        assert_true(row && row->risk_micro_usd == 2000000 * usd + 1);
    }
}

/*  A feed that ended days ago, and a site file without a price: the last price is nearer to the truth than 0. */
static void price__whose_feed_ended_is_not_zero(void **state)
{
    (void)state;
    open_sites();
    pool->price_usd_per_gpu_h = 0;
    harness_hello(h, NORTH + 10, north);
    harness_inventory(h, NORTH + 10, NULL, 0);
    harness_summary(h, NORTH + 10, north, 0, 0);
    int64_t wall_ms = harness_wall_ms(h);
    helio_series_t series = {.signal = HELIO_SIGNAL_PRICE,
                             .pool = HELIO_TEXT("new"),
                             .source = HELIO_TEXT("market"),
                             .issued_wall_ms = wall_ms,
                             .start_wall_ms = wall_ms - wall_ms % HOUR_MS,
                             .step_s = 3600,
                             .values = {(double[]){6}, 1}};
    harness_series(h, NORTH + 10, &series, 1);
    harness_advance(h, 72 * (int64_t)HOUR_MS);
    harness_renew(h, NORTH + 10);
    harness_renew(h, SOUTH);
    helio_job_key_t key = start();
    const helio_row_candidate_t *candidate = candidate_of("north");
    assert_true(candidate && candidate->cost_micro_usd > 0);
    harness_run_up_to(h, NORTH + 10, key, 1, HELIO_JOB_RUNNING);
    harness_clear(h);
    harness_advance(h, HOUR_MS);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_ENDED);
    report.run_ms = report.gpu_ms = HOUR_MS;
    report.started_wall_ms = report.ended_wall_ms - HOUR_MS;
    harness_report(h, NORTH + 10, &report);
    int64_t cost_micro_usd = 0;
    for (const helio_row_ledger_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER));)
        cost_micro_usd += row->cost_micro_usd;
    assert_int_equal(cost_micro_usd, 6000000);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_apart, end)
    const struct CMUnitTest tests[] = {
        CASE(power__of_an_unknown_model_is_charged_as_the_highest_and_said),
        CASE(power__that_the_site_gives_is_charged_without_a_word),
        CASE(carbon__that_nobody_reports_is_charged_as_coal),
        CASE(carbon__of_a_feed_that_is_called_assumed_is_reported),
        CASE(price__that_nothing_gives_is_said_to_be_unknown),
        CASE(price__that_is_unknown_is_never_the_cheapest),
        CASE(price__that_is_unknown_counts_as_risk_and_says_so),
        CASE(price__that_nobody_gives_adds_no_risk),
        CASE(price__that_is_unknown_follows_the_dearest_of_the_others),
        CASE(price__whose_feed_ended_is_not_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
