/*  test_ledger.c -- the ledger of an attempt: every hour at the prices of that hour, and the baselines. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "federation/energy/account.h"
#include "tests/support/core_harness.h"

enum { NORTH = 1, SOUTH = 2, HOUR_MS = 3600000 };

static harness_t *h, *before;
static helio_site_profile_t *north, *south;

static int begin(void **state)
{
    (void)state;
    h = harness_begin(NULL);
    north = harness_site(h, "north");
    south = harness_site(h, "south");
    helio_pool_t *a = harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    helio_pool_t *b = harness_pool(h, south, "a", "H100", 4, 8, 3.0);
    a->base_w = b->base_w = 600;
    a->host_w = b->host_w = 100;
    a->slope_w = b->slope_w = 300;
    north->carbon_g_per_kwh = 50;
    south->carbon_g_per_kwh = 400;
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    return 0;
}

static int end(void **state)
{
    (void)state;
    harness_end(&h);
    if (before)
        harness_end(&before);
    return 0;
}

static void say_of_feed(uint64_t peer, uint32_t signal, const char *pool, double value, helio_feed_state_t state,
                        int64_t last_value_ms)
{
    double values[] = {value, 2 * value, 2 * value};
    int64_t wall_ms = harness_wall_ms(h);
    helio_series_t series = {.signal = signal,
                             .pool = helio_text_of(pool),
                             .kind = helio_text_of(signal == HELIO_SIGNAL_CARBON ? "average" : ""),
                             .factor = helio_text_of(signal == HELIO_SIGNAL_CARBON ? "lifecycle" : ""),
                             .source = HELIO_TEXT("grid"),
                             .issued_wall_ms = wall_ms,
                             .start_wall_ms = wall_ms - wall_ms % HOUR_MS,
                             .step_s = 3600,
                             .values = {values, 3},
                             .feed_state = state,
                             .last_value_ms = last_value_ms};
    harness_series(h, peer, &series, 1);
}

/*  Issued now: the hour's value, and twice that as a forecast of the next ones. */
static void say(uint64_t peer, uint32_t signal, const char *pool, double value)
{
    say_of_feed(peer, signal, pool, value, HELIO_FEED_STATE_CURRENT, 0);
}

/*  A job of one GPU that starts at north now. */
static helio_job_key_t start(void)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.time_limit_ms = 48 * (uint64_t)HOUR_MS;
    harness_strings(h, &spec.sites, (const char *[]){"north", NULL});
    harness_renew(h, NORTH);
    harness_renew(h, SOUTH);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    harness_clear(h);
    return key;
}

static helio_report_t ended(helio_job_key_t key, uint64_t run_ms)
{
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_ENDED);
    report.run_ms = run_ms;
    report.gpu_ms = run_ms;
    report.ended_wall_ms = harness_wall_ms(h);
    report.started_wall_ms = report.ended_wall_ms - (int64_t)run_ms;
    return report;
}

/*  The next row of rates of that id. */
static const helio_row_hourly_price_t *hourly_price_of(uint64_t id)
{
    for (const helio_row_hourly_price_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_HOURLY_PRICE));)
        if (row->hourly_price_id == id)
            return row;
    return NULL;
}

static void ledger__each_hour_has_its_own_price_with_its_provenance(void **state)
{
    (void)state;
    say(NORTH, HELIO_SIGNAL_CARBON, "", 100);
    say(NORTH, HELIO_SIGNAL_PRICE, "a", 1);
    harness_advance(h, HOUR_MS / 2);
    helio_job_key_t key = start(); /* half past */
    harness_advance(h, HOUR_MS / 2);
    say(NORTH, HELIO_SIGNAL_CARBON, "", 300);
    say(NORTH, HELIO_SIGNAL_PRICE, "a", 3);
    say(NORTH, HELIO_SIGNAL_PUE, "", 1.5);
    harness_advance(h, HOUR_MS + HOUR_MS / 2); /* of the third hour only the forecast is known */
    helio_report_t report = ended(key, 2 * (uint64_t)HOUR_MS);
    harness_clear(h);
    harness_report(h, NORTH, &report);
    static const struct {
        double kwh, carbon, price;
        bool estimated;
    } hours[] = {
        {0.5, 100, 1, false}, /* half an hour of 1 kW */
        {1.5, 300, 3, false}, /* a PUE of 1.5 */
        {1.5, 600, 6, true},  /* half an hour; the forecast was 3 */
    };
    int64_t cost = 0;
    uint64_t energy = 0, carbon = 0;
    for (int i = 0; i < 3; i++) {
        const helio_row_ledger_t *row = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER);
        assert_non_null(row);
        double used = hours[i].kwh;
        const helio_row_hourly_price_t *hourly_price = hourly_price_of(row->hourly_price_id);
        assert_non_null(hourly_price);
        assert_true(hourly_price->carbon_g_per_kwh == hours[i].carbon &&
                    hourly_price->price_usd_per_gpu_h == hours[i].price);
        assert_true(hourly_price->carbon_estimated == hours[i].estimated &&
                    hourly_price->price_estimated == hours[i].estimated);
        assert_true(helio_text_is(hourly_price->carbon_source, "grid") &&
                    helio_text_is(hourly_price->carbon_kind, "average") &&
                    helio_text_is(hourly_price->carbon_factor, "lifecycle") && hourly_price->carbon_issued_ms > 0);
        assert_true(hourly_price->hour_ms == row->hour_ms && hourly_price->watts_per_gpu == 1000);
        assert_true(fabs((double)row->energy_j - used * 3.6e6) <= 1);
        assert_true(fabs((double)row->carbon_mg - used * hours[i].carbon * 1000) <= 1);
        energy += row->energy_j;
        carbon += row->carbon_mg;
        cost += row->cost_micro_usd;
    }
    assert_null(harness_take(h, HELIO_BROKER_FX_ROW_LEDGER));
    assert_int_equal(cost, 500000 + 3000000 + 3000000);
    const helio_row_state_t *row = harness_row(h, key);
    assert_true(row->energy_j == energy && row->carbon_mg == carbon && row->cost_micro_usd == (uint64_t)cost);
}

static void ledger__a_price_says_which_feeds_had_failed_and_since_when(void **state)
{
    (void)state;
    int64_t last_ms = harness_wall_ms(h) - 5 * HOUR_MS;
    say(NORTH, HELIO_SIGNAL_CARBON, "", 100);
    say_of_feed(NORTH, HELIO_SIGNAL_PRICE, "a", 1, HELIO_FEED_STATE_LAST_GOOD, last_ms);
    say_of_feed(NORTH, HELIO_SIGNAL_PUE, "", 1.5, HELIO_FEED_STATE_NO_DATA, last_ms - 1);
    helio_job_key_t key = start();
    harness_advance(h, HOUR_MS / 2);
    helio_report_t report = ended(key, HOUR_MS / 2);
    harness_report(h, NORTH, &report);
    const helio_row_hourly_price_t *price = harness_take(h, HELIO_BROKER_FX_ROW_HOURLY_PRICE);
    assert_non_null(price);
    assert_true(price->carbon_feed_state == HELIO_FEED_STATE_CURRENT && !price->carbon_last_value_ms);
    assert_true(price->price_feed_state == HELIO_FEED_STATE_LAST_GOOD && price->price_last_value_ms == last_ms);
    assert_true(price->pue_feed_state == HELIO_FEED_STATE_NO_DATA && price->pue_last_value_ms == last_ms - 1);
    assert_true(price->electricity_feed_state == HELIO_FEED_STATE_UNKNOWN && !price->electricity_last_value_ms);
}

static void ledger__without_a_series_the_static_figure_is_an_estimate(void **state)
{
    (void)state;
    helio_job_key_t key = start();
    harness_advance(h, HOUR_MS);
    say(NORTH, HELIO_SIGNAL_CARBON, "", 300);
    harness_advance(h, HOUR_MS);
    helio_report_t report = ended(key, 2 * (uint64_t)HOUR_MS);
    harness_report(h, NORTH, &report);
    const helio_row_hourly_price_t *hourly_price = harness_take(h, HELIO_BROKER_FX_ROW_HOURLY_PRICE);
    assert_true(hourly_price->carbon_g_per_kwh == 50 && hourly_price->carbon_estimated &&
                !hourly_price->carbon_issued_ms);
    assert_true(helio_text_is(hourly_price->carbon_source, "static"));
    assert_true(!hourly_price->price_estimated &&
                helio_text_is(hourly_price->price_source, "static")); /* as was agreed */
    hourly_price = harness_take(h, HELIO_BROKER_FX_ROW_HOURLY_PRICE);
    assert_true(hourly_price->carbon_g_per_kwh == 300 && !hourly_price->carbon_estimated);
}

/*  The same things happen to a core and to one that is rebuilt meanwhile: the ledger must not differ. */
static void ledger__a_new_leader_prices_as_the_old_one_would_have(void **state)
{
    (void)state;
    helio_account_t sums[2] = {0};
    uint64_t ids[2][8] = {{0}}, counts[2] = {0};
    for (int rebuilt = 0; rebuilt < 2; rebuilt++) {
        if (rebuilt) {
            (void)end(NULL);
            (void)begin(NULL);
        }
        helio_job_key_t key = start();
        for (int hour = 0; hour < 5; hour++) {
            if (hour != 2) /* it said nothing for an hour */
                say(NORTH, HELIO_SIGNAL_CARBON, "", 100 + 50 * hour);
            say(SOUTH, HELIO_SIGNAL_CARBON, "", 90);
            harness_advance(h, HOUR_MS);
        }
        if (rebuilt) {
            before = h; /* the sites' profiles live there */
            h = harness_rebuild(before);
            harness_hello(h, NORTH, north);
            helio_holding_t holding = {.key = key, .epoch = 1, .state = HELIO_JOB_RUNNING};
            harness_inventory(h, NORTH, &holding, 1);
        }
        helio_report_t report = ended(key, 5 * (uint64_t)HOUR_MS);
        harness_clear(h);
        harness_report(h, NORTH, &report);
        for (const helio_row_ledger_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER));) {
            sums[rebuilt].carbon_mg += row->carbon_mg;
            sums[rebuilt].cost_micro_usd += row->cost_micro_usd;
            ids[rebuilt][counts[rebuilt]++] = row->hourly_price_id;
        }
        const helio_row_baseline_t *baseline = harness_take(h, HELIO_BROKER_FX_ROW_BASELINE);
        assert_non_null(baseline);
        assert_true(helio_text_is(baseline->earliest_site, "north"));
    }
    assert_true(sums[0].carbon_mg > 0 && sums[0].carbon_mg == sums[1].carbon_mg);
    assert_true(sums[0].cost_micro_usd == sums[1].cost_micro_usd);
    assert_true(counts[0] == 5 && counts[1] == 5);
    assert_memory_equal(ids[0], ids[1], sizeof ids[0]);
}

static void ledger__rows_of_any_hours_add_up_to_the_total(void **state)
{
    (void)state;
    srand48(5);
    for (int n = 0; n < 40; n++) {
        for (int hour = 0; hour < 4; hour++) {
            say(NORTH, HELIO_SIGNAL_CARBON, "", 700 * drand48());
            say(NORTH, HELIO_SIGNAL_PRICE, "a", 5 * drand48() - 1);
            harness_advance(h, HOUR_MS);
        }
        helio_job_key_t key = start();
        uint64_t run_ms = 1 + (uint64_t)(drand48() * 30 * HOUR_MS);
        harness_advance(h, (int64_t)run_ms);
        helio_report_t report = ended(key, run_ms);
        if (n % 3 == 0)
            report.energy_j = (uint64_t)((double)run_ms * 4 * drand48()); /* less than 4 kW */
        harness_clear(h);
        harness_report(h, NORTH, &report);
        helio_account_t sum = {0};
        for (const helio_row_ledger_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER));) {
            assert_true(helio_text_is(row->provenance, report.energy_j ? "measured" : "model"));
            sum.gpu_ms += row->gpu_ms;
            sum.energy_j += row->energy_j;
            sum.carbon_mg += row->carbon_mg;
            sum.cost_micro_usd += row->cost_micro_usd;
        }
        const helio_row_state_t *row = harness_row(h, key);
        assert_true(sum.gpu_ms == run_ms && row->gpu_ms == sum.gpu_ms);
        assert_true(row->energy_j == sum.energy_j && row->carbon_mg == sum.carbon_mg);
        assert_true(sum.cost_micro_usd < 0 ? !row->cost_micro_usd
                                           : row->cost_micro_usd == (uint64_t)sum.cost_micro_usd);
        assert_true(!report.energy_j || sum.energy_j == report.energy_j);
    }
}

static void ledger__a_day_with_a_clock_change_has_whole_hours(void **state)
{
    (void)state;
    int64_t change_ms = INT64_C(1774746000000); /* 2026-03-29T01:00Z: clocks go forward in Europe */
    harness_advance(h, change_ms - 90 * 60000 - harness_wall_ms(h));
    helio_job_key_t key = start();
    for (int half = 0; half < 6; half++) {
        say(NORTH, HELIO_SIGNAL_CARBON, "", 100 * (1 + half / 2));
        harness_advance(h, HOUR_MS / 2);
    }
    helio_report_t report = ended(key, 3 * (uint64_t)HOUR_MS);
    harness_clear(h);
    harness_report(h, NORTH, &report);
    uint64_t gpu_ms = 0;
    int64_t hour_ms = change_ms - 2 * HOUR_MS;
    for (const helio_row_ledger_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER)); hour_ms += HOUR_MS) {
        assert_true(row->hour_ms == hour_ms);
        gpu_ms += row->gpu_ms;
    }
    assert_true(hour_ms == change_ms + 2 * HOUR_MS && gpu_ms == 3 * (uint64_t)HOUR_MS);
}

static void ledger__a_fenced_attempt_is_charged_and_in_no_baseline(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.on_site_loss = HELIO_SITE_LOSS_EAGER;
    spec.time_limit_ms = 48 * (uint64_t)HOUR_MS;
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    say(NORTH, HELIO_SIGNAL_CARBON, "", 100);
    harness_advance(h, HOUR_MS);
    say(NORTH, HELIO_SIGNAL_CARBON, "", 500);
    harness_advance(h, HOUR_MS / 2);
    harness_renew(h, SOUTH);
    harness_tick(h); /* north was silent */
    harness_tick(h);
    assert_int_equal(harness_row(h, key)->epoch, 2);
    harness_run_up_to(h, SOUTH, key, 2, HELIO_JOB_RUNNING);
    harness_hello(h, NORTH + 10, north);
    harness_inventory(h, NORTH + 10, NULL, 0);
    harness_clear(h);
    helio_report_t report = ended(key, (uint64_t)HOUR_MS + HOUR_MS / 2);
    harness_report(h, NORTH + 10, &report);
    uint64_t carbon_mg = 0;
    for (const helio_row_ledger_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER));) {
        assert_true(row->fenced && row->hourly_price_id);
        if (row->part == HELIO_LEDGER_MEASURED)
            carbon_mg += row->carbon_mg;
    }
    assert_int_equal(carbon_mg, 100000 + 250000);
    assert_null(harness_take(h, HELIO_BROKER_FX_ROW_BASELINE));
    harness_say(h, SOUTH, key, 2, HELIO_REPORT_KIND_ENDED);
    const helio_row_baseline_t *row = harness_take(h, HELIO_BROKER_FX_ROW_BASELINE);
    assert_true(row && row->carbon_mg == harness_row(h, key)->carbon_mg && row->carbon_mg < 100000);
}

static void baseline__home_at_once_and_least_wait_of_a_job_that_waited_for_a_better_hour(void **state)
{
    (void)state;
    say(NORTH, HELIO_SIGNAL_CARBON, "", 400);
    double clean[] = {800, 800, 800, 10, 10, 10, 10, 10};
    helio_series_t series = {.signal = HELIO_SIGNAL_CARBON,
                             .kind = HELIO_TEXT("average"),
                             .factor = HELIO_TEXT("lifecycle"),
                             .source = HELIO_TEXT("grid"),
                             .issued_wall_ms = harness_wall_ms(h),
                             .start_wall_ms = harness_wall_ms(h),
                             .step_s = 3600,
                             .values = {clean, 8}};
    harness_series(h, SOUTH, &series, 1);
    say(SOUTH, HELIO_SIGNAL_PRICE, "a", 1); /* it foresees 2 USD, as at north */
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.goal = HELIO_GOAL_GREEN;
    spec.flexible_ms = 12 * (uint64_t)HOUR_MS;
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    for (int hour = 0; hour < 3; hour++) {
        harness_advance(h, HOUR_MS);
        harness_renew(h, NORTH);
        harness_renew(h, SOUTH);
        harness_tick(h);
    }
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    const helio_row_placement_t *placement = harness_take(h, HELIO_BROKER_FX_ROW_PLACEMENT);
    assert_true(helio_text_is(placement->site, "south"));
    assert_true(helio_text_is(placement->earliest_site, "north")); /* its home, which had room at once */
    harness_run_up_to(h, SOUTH, key, 1, HELIO_JOB_RUNNING);
    harness_advance(h, HOUR_MS);
    helio_report_t report = ended(key, HOUR_MS);
    harness_report(h, SOUTH, &report);
    const helio_row_baseline_t *row = harness_take(h, HELIO_BROKER_FX_ROW_BASELINE);
    assert_non_null(row);
    assert_true(helio_text_is(row->home_site, "north") && helio_text_is(row->earliest_site, "north"));
    assert_true(row->energy_j == 3600000 && row->home_energy_j == 3600000);
    assert_int_equal(row->carbon_mg, 10000);
    assert_int_equal(row->home_carbon_mg, 400000); /* of the hour in which it was submitted */
    assert_int_equal(row->earliest_carbon_mg, 400000);
    assert_int_equal(row->cost_micro_usd, 2000000);
    assert_int_equal(row->home_cost_micro_usd, 2000000);
    assert_true(row->wait_ms >= 3 * HOUR_MS && row->earliest_wait_ms < 1000);
    assert_true(helio_text_is(row->home_carbon_kind, "average lifecycle"));
    assert_null(harness_take(h, HELIO_BROKER_FX_ROW_BASELINE));
}

static void baseline__kinds_never_mix_and_a_job_without_home_has_none(void **state)
{
    (void)state;
    say(NORTH, HELIO_SIGNAL_CARBON, "", 100);
    harness_advance(h, HOUR_MS / 2);
    harness_renew(h, NORTH);
    harness_renew(h, SOUTH);
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.home = HELIO_TEXT("south"); /* static there: of no named factor */
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    const helio_row_placement_t *placement = harness_take(h, HELIO_BROKER_FX_ROW_PLACEMENT);
    uint64_t peer = helio_text_is(placement->site, "north") ? NORTH : SOUTH;
    assert_true(peer == NORTH && helio_text_is(placement->earliest_site, "south"));
    harness_run_up_to(h, peer, key, 1, HELIO_JOB_RUNNING);
    harness_say(h, peer, key, 1, HELIO_REPORT_KIND_ENDED);
    const helio_row_baseline_t *row = harness_take(h, HELIO_BROKER_FX_ROW_BASELINE);
    assert_true(helio_text_is(row->home_carbon_kind, "mixed") && row->estimated);
    spec = harness_spec(h, "H100", 1);
    const helio_fx_reply_t *reply = harness_submit(h, "other", &spec);
    key = (helio_job_key_t){reply->jobs.items[0].job, HELIO_NO_TASK};
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_ENDED);
    row = harness_take(h, HELIO_BROKER_FX_ROW_BASELINE);
    assert_true(row && !row->home_site.size && row->earliest_site.size > 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(ledger__each_hour_has_its_own_price_with_its_provenance),
        CASE(ledger__a_price_says_which_feeds_had_failed_and_since_when),
        CASE(ledger__without_a_series_the_static_figure_is_an_estimate),
        CASE(ledger__a_new_leader_prices_as_the_old_one_would_have),
        CASE(ledger__rows_of_any_hours_add_up_to_the_total),
        CASE(ledger__a_day_with_a_clock_change_has_whole_hours),
        CASE(ledger__a_fenced_attempt_is_charged_and_in_no_baseline),
        CASE(baseline__home_at_once_and_least_wait_of_a_job_that_waited_for_a_better_hour),
        CASE(baseline__kinds_never_mix_and_a_job_without_home_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
