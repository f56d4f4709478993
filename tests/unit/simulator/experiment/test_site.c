/*  test_site.c -- a site towards the core: orders, reports, summaries, and the hours that it publishes. */
#include "tests/unit/simulator/experiment/fleet_testing.h"

#include <math.h>
#include <stdlib.h>

#include "federation/base/clock.h"
#include "simulator/experiment/site.h"

#define HOUR INT64_C(3600000)
#define NOON INT64_C(1696161600000) /* 2023-10-01T12:00:00Z */

static exp_fleet_t fleet;
static exp_world_t world = {.fleet = &fleet};
static exp_site_t site;

/*  Carbon of three weeks that goes from 100 to 123 each day; prices below zero. */
static void write_series(void)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t carbon = {0}, price = {0};
    helio_buffer_text(&carbon, "region,utc_hour_iso8601,carbon_g_per_kwh\n");
    helio_buffer_text(&price, "region,utc_hour_iso8601,price_usd_mwh\n");
    for (int64_t hour = NOON / HOUR - 14 * 24; hour < NOON / HOUR + 7 * 24; hour++) {
        char at[HELIO_RFC3339_SIZE];
        helio_rfc3339(hour * HOUR, at);
        helio_buffer_printf(&carbon, "NO,%s,%d\n", at, (int)(100 + hour % 24));
        helio_buffer_printf(&price, "NO,%s,-20\n", at);
    }
    helio_buffer_append(&carbon, "", 1);
    helio_buffer_append(&price, "", 1);
    const exp_series_unit_t grams = {"carbon_g_per_kwh", 1}, money = {"price_usd_mwh", 1e-3};
    assert_int_equal(exp_series_load(put("c.csv", carbon.data), &grams, 1, 0, &world.carbon, &err), HELIO_OK);
    assert_int_equal(exp_series_load(put("p.csv", price.data), &money, 1, 0, &world.price, &err), HELIO_OK);
}

static int begin_site(void **state)
{
    if (begin(state))
        return -1;
    fleet = fleet_of(three_sites);
    write_series();
    exp_site_init(&site, &world, 0, EXP_KNOWS_FORECAST, NOON);
    return 0;
}

static int end_site(void **state)
{
    exp_site_clear(&site);
    exp_series_free(&world.carbon);
    exp_series_free(&world.price);
    return end(state);
}

static helio_order_t order_of(uint64_t number, uint32_t nodes, uint32_t gpus)
{
    return (helio_order_t){.dispatch_seq = number,
                           .key = {.job = {.bytes = {(uint8_t)number}}, .task = HELIO_NO_TASK},
                           .epoch = 1,
                           .pool = HELIO_TEXT("a100"),
                           .nodes = nodes,
                           .gpus_per_node = gpus};
}

static void order__that_fits_is_accepted_and_runs_at_once(void **state)
{
    (void)state;
    helio_order_t order = order_of(7, 2, 3);
    exp_attempt_t *attempt = exp_site_start(&site, &order, NOON);
    assert_non_null(attempt);
    assert_true(attempt->started_ms == NOON && attempt->node_count == 2 && attempt->gpus_per_node == 3);
    static const uint32_t kinds[] = {HELIO_REPORT_KIND_ACCEPTED, HELIO_REPORT_KIND_STARTING, HELIO_REPORT_KIND_RUNNING};
    assert_int_equal(site.report_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(site.reports[i].kind, kinds[i]);
        assert_int_equal(site.reports[i].seq, i + 1);
        assert_true(helio_job_key_equal(site.reports[i].key, order.key));
    }
    assert_false(site.changed); /* the core has counted it already */
    exp_site_end(&site, attempt, HELIO_REPORT_KIND_ENDED, NOON + 5000);
    const helio_report_t *end_report = &site.reports[3];
    assert_true(end_report->kind == HELIO_REPORT_KIND_ENDED && end_report->run_ms == 5000 &&
                end_report->gpu_ms == 30000 && end_report->ended_wall_ms == NOON + 5000);
    assert_true(site.changed && site.running == 0);
    free(attempt);
}

static void order__that_does_not_fit_is_refused_and_the_site_says_what_is_free(void **state)
{
    (void)state;
    static const struct {
        uint32_t nodes, gpus;
        const char *pool;
    } rows[] = {{3, 1, "a100"}, {1, 9, "a100"}, {1, 1, "h100"}};
    for (uint32_t i = 0; i < 3; i++) {
        helio_order_t order = order_of(i + 1, rows[i].nodes, rows[i].gpus);
        order.pool = helio_text_of(rows[i].pool);
        site.changed = false;
        assert_null(exp_site_start(&site, &order, NOON));
        assert_int_equal(site.reports[i].kind, HELIO_REPORT_KIND_REFUSED);
        assert_int_equal(site.reports[i].cause, HELIO_CAUSE_NO_CAPACITY);
        assert_true(site.changed && site.running == 0);
    }
}

static void summary__counts_nodes_by_their_free_gpus(void **state)
{
    (void)state;
    helio_order_t order = order_of(9, 1, 3);
    exp_attempt_t *attempt = exp_site_start(&site, &order, NOON);
    helio_site_summary_t summary = exp_site_summary(&site, NOON, false, arena);
    const helio_pool_capacity_t *pool = &summary.pools.items[0];
    assert_true(summary.seq == 1 && summary.dispatch_seen == 9 && summary.series.count == 0);
    assert_true(pool->nodes_up == 2 && pool->gpus_total == 16 && pool->gpus_allocated == 3 && pool->jobs_running == 1);
    assert_int_equal(pool->free_nodes.count, 9);
    for (uint32_t k = 0; k <= 8; k++)
        assert_int_equal(pool->free_nodes.items[k], k == 5 || k == 8);
    exp_site_end(&site, attempt, HELIO_REPORT_KIND_STOPPED, NOON);
    summary = exp_site_summary(&site, NOON, false, arena);
    assert_int_equal(summary.pools.items[0].free_nodes.items[8], 2);
    assert_false(site.changed);
    free(attempt);
}

static const exp_series_unit_t grams_ahead = {"carbon_g_per_kwh_forecast", 1};

static void series__are_the_running_hour_and_the_forecast_of_two_days(void **state)
{
    (void)state;
    helio_site_summary_t summary = exp_site_summary(&site, NOON + HOUR / 2, true, arena);
    assert_int_equal(summary.series.count, 2);
    const helio_series_t *carbon = &summary.series.items[0], *price = &summary.series.items[1];
    assert_true(carbon->signal == HELIO_SIGNAL_CARBON && carbon->start_wall_ms == NOON &&
                carbon->issued_wall_ms == NOON);
    assert_true(carbon->step_s == 3600 && carbon->values.count == 48);
    for (uint32_t i = 0; i < 48; i++) /* the same every day, so the forecast is right */
        assert_true(fabs(carbon->values.items[i] - (double)(100 + (NOON / HOUR + i) % 24)) < 1e-6);
    assert_true(price->signal == HELIO_SIGNAL_ELECTRICITY && fabs(price->values.items[47] + 0.02) < 1e-9);
}

/*  An issue replaces the built-in forecast of its hours, from the hour of its issue on; the running hour stays as measured. */
static void series__are_as_issued_where_a_forecast_is_known(void **state)
{
    (void)state;
    const char *path = put("f.csv", "region,issue_utc,utc_hour_iso8601,carbon_g_per_kwh_forecast\n"
                                    "NO,2023-10-01T12:30:00Z,2023-10-01T14:00:00Z,901\n"
                                    "NO,2023-10-01T12:30:00Z,2023-10-01T16:00:00Z,903\n");
    assert_int_equal(exp_forecast_load(path, &grams_ahead, 1, 0, 0, &world.forecast, &err), HELIO_OK);
    exp_site_clear(&site);
    exp_site_init(&site, &world, 0, EXP_KNOWS_FORECAST, NOON);
    static const int from[] = {0, 1}; /* the hour; issued within the first one */
    for (size_t turn = 0; turn < 2; turn++) {
        helio_site_summary_t summary = exp_site_summary(&site, NOON + from[turn] * HOUR, true, arena);
        const helio_series_t *carbon = &summary.series.items[0];
        assert_int_equal(carbon->values.count, 48);
        for (int i = 0; i < 48; i++) {
            int at = from[turn] + i;
            bool issued = turn == 1 && (at == 2 || at == 4);
            double expected = issued ? 899 + at : (double)(100 + (NOON / HOUR + at) % 24);
            assert_true(fabs(carbon->values.items[i] - expected) < 1e-6);
        }
        assert_true(fabs(summary.series.items[1].values.items[2] + 0.02) < 1e-9); /* prices have none */
    }
    exp_forecast_free(&world.forecast);
}

/*  A day-ahead market: what it published counts from its hour on, also below 0, and carbon is forecast as before. */
static void series__of_prices_are_as_published(void **state)
{
    (void)state;
    const exp_series_unit_t units[] = {{"price_usd_mwh_forecast", 1e-3}, {"price_eur_mwh_forecast", 2e-3}};
    const char *path = put("f.csv", "region,issue_utc,utc_hour_iso8601,price_eur_mwh_forecast\n"
                                    "NO,2023-10-01T12:30:00Z,2023-10-01T14:00:00Z,-15\n"
                                    "NO,2023-10-01T12:30:00Z,2023-10-01T15:00:00Z,75\n");
    assert_int_equal(exp_forecast_load(path, units, 2, -1e6, 0, &world.price_forecast, &err), HELIO_OK);
    exp_site_clear(&site);
    exp_site_init(&site, &world, 0, EXP_KNOWS_FORECAST, NOON);
    for (int turn = 0; turn < 2; turn++) {
        helio_site_summary_t summary = exp_site_summary(&site, NOON + turn * HOUR, true, arena);
        const helio_series_t *carbon = &summary.series.items[0], *price = &summary.series.items[1];
        assert_true(fabs(price->values.items[2 - turn] - (turn ? -0.03 : -0.02)) < 1e-9);
        assert_true(fabs(price->values.items[3 - turn] - (turn ? 0.15 : -0.02)) < 1e-9);
        assert_true(fabs(price->values.items[4] + 0.02) < 1e-9);
        assert_true(fabs(carbon->values.items[2] - (double)(100 + (NOON / HOUR + turn + 2) % 24)) < 1e-6);
    }
    exp_forecast_free(&world.price_forecast);
}

/*  Three issues that were 10 g too low at each hour, and a fourth of which one hour is known by now. */
static void series__as_issued_are_corrected_by_past_errors(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_buffer_text(&text, "region,issue_utc,utc_hour_iso8601,carbon_g_per_kwh_forecast\n");
    for (int64_t issue = NOON / HOUR - 72; issue <= NOON / HOUR; issue += 24)
        for (int64_t hour = issue; hour < issue + 24; hour++) {
            char issued[HELIO_RFC3339_SIZE], at[HELIO_RFC3339_SIZE];
            helio_rfc3339(issue * HOUR, issued);
            helio_rfc3339(hour * HOUR, at);
            helio_buffer_printf(&text, "NO,%s,%s,%d\n", issued, at, (int)(90 + hour % 24));
        }
    helio_buffer_append(&text, "", 1);
    assert_int_equal(exp_forecast_load(put("f.csv", text.data), &grams_ahead, 1, 0, 0, &world.forecast, &err),
                     HELIO_OK);
    exp_site_clear(&site);
    exp_site_init(&site, &world, 0, EXP_KNOWS_FORECAST, NOON);
    helio_site_summary_t summary = exp_site_summary(&site, NOON, true, arena);
    const double *values = summary.series.items[0].values.items;
    double weights = 1 + 0.8 + 0.64, usual = 10 * weights / (2 + weights);
    assert_true(fabs(values[0] - 112) < 1e-6);
    assert_true(fabs(values[1] - (103 + usual + (10 - usual) * exp(-1.0 / 36))) < 1e-6);
    assert_true(fabs(values[24] - 112) < 1e-6); /* further than it was issued: by the built-in forecast */
    exp_forecast_free(&world.forecast);
}

/*  The hours as they will be, as far as the broker looks. */
static void series__of_those_who_may_know_are_the_truth(void **state)
{
    (void)state;
    exp_site_clear(&site);
    exp_site_init(&site, &world, 0, EXP_KNOWS_TRUTH, NOON);
    ((exp_series_t *)(uintptr_t)site.carbon)->sums[site.carbon->count] += 7; /* the last hour, which is never over */
    int64_t last = site.carbon->first_hour + site.carbon->count - 1;
    helio_site_summary_t summary = exp_site_summary(&site, (last - 5) * HOUR + HOUR / 2, true, arena);
    const helio_series_t *carbon = &summary.series.items[0];
    assert_true(summary.series.count == 2 && carbon->values.count == 72);
    assert_true(fabs(carbon->values.items[4] - exp_series_at(site.carbon, last - 1)) < 1e-6);
    assert_true(fabs(carbon->values.items[5] - site.carbon->values[site.carbon->count - 1] - 7) < 1e-6);
}

/*  What runs keeps its GPUs until its limit. */
static void series__of_free_gpus_follow_from_limits(void **state)
{
    (void)state;
    exp_site_clear(&site);
    exp_site_init(&site, &world, 0, EXP_KNOWS_FREE, NOON);
    helio_order_t order = order_of(1, 1, 3), longer = order_of(2, 1, 8);
    order.time_limit_ms = 2 * HOUR + HOUR / 2;
    longer.time_limit_ms = 100 * HOUR;
    exp_attempt_t *attempt = exp_site_start(&site, &order, NOON), *other = exp_site_start(&site, &longer, NOON);
    helio_site_summary_t summary = exp_site_summary(&site, NOON + 1, true, arena);
    assert_int_equal(summary.series.count, 3);
    const helio_series_t *gpus = &summary.series.items[2];
    assert_true(gpus->signal == HELIO_SIGNAL_FREE_GPUS && helio_text_is(gpus->pool, "a100"));
    for (uint32_t i = 0; i < gpus->values.count; i++)
        assert_true(gpus->values.items[i] == (i <= 2 ? 5 : 8));
    exp_site_end(&site, attempt, HELIO_REPORT_KIND_ENDED, NOON);
    exp_site_end(&site, other, HELIO_REPORT_KIND_ENDED, NOON);
    free(attempt);
    free(other);
}

static void series__before_all_history_are_not_published(void **state)
{
    (void)state;
    assert_int_equal(exp_site_summary(&site, NOON - 30 * 24 * HOUR, true, arena).series.count, 0);
    assert_int_equal(exp_site_summary(&site, NOON - 13 * 24 * HOUR, true, arena).series.count, 2);
}

static void static_figures__are_the_mean_of_the_past(void **state)
{
    (void)state;
    exp_site_clear(&site);
    exp_site_init(&site, &world, 0, EXP_KNOWS_MEAN, NOON);
    assert_true(fabs(site.profile.carbon_g_per_kwh - 111.5) < 1e-9); /* of whole days */
    assert_true(fabs(site.profile.electricity_usd_per_kwh + 0.02) < 1e-12);
    assert_int_equal(exp_site_summary(&site, NOON, true, arena).series.count, 0);
    exp_site_clear(&site);
    exp_site_init(&site, &world, 0, EXP_KNOWS_MEAN, NOON - 14 * 24 * HOUR); /* no past: the first value */
    assert_true(site.profile.carbon_g_per_kwh == 112);
}

#define AT_SITE(name) cmocka_unit_test_setup_teardown(name, begin_site, end_site)
int main(void)
{
    const struct CMUnitTest tests[] = {
        AT_SITE(order__that_fits_is_accepted_and_runs_at_once),
        AT_SITE(order__that_does_not_fit_is_refused_and_the_site_says_what_is_free),
        AT_SITE(summary__counts_nodes_by_their_free_gpus),
        AT_SITE(series__are_the_running_hour_and_the_forecast_of_two_days),
        AT_SITE(series__are_as_issued_where_a_forecast_is_known),
        AT_SITE(series__of_prices_are_as_published),
        AT_SITE(series__as_issued_are_corrected_by_past_errors),
        AT_SITE(series__of_those_who_may_know_are_the_truth),
        AT_SITE(series__of_free_gpus_follow_from_limits),
        AT_SITE(series__before_all_history_are_not_published),
        AT_SITE(static_figures__are_the_mean_of_the_past),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
