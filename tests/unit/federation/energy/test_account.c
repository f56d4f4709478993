/*  What an attempt used: the sums that a bill rests on. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "federation/base/rng.h"
#include "federation/energy/account.h"
#include "tests/support/one_arena.h"

static const int64_t HOUR_MS = 3600000;

/* ---- rates and totals ---------------------------------------------------------------------------------- */

static void hourly_price__follows_the_site_the_pool_and_the_utilisation(void **state)
{
    (void)state;
    helio_site_profile_t site = {.pue = 1.25, .carbon_g_per_kwh = 120, .electricity_usd_per_kwh = 0.1};
    helio_pool_t pool = {.host_w = 50, .base_w = 100, .slope_w = 600, .price_usd_per_gpu_h = 2};
    helio_hourly_price_t hourly_price = helio_hourly_price_of(&site, &pool, 0.5);
    assert_true(hourly_price.watts_per_gpu == 450);
    assert_true(hourly_price.pue == 1.25 && hourly_price.carbon_g_per_kwh == 120 &&
                hourly_price.price_usd_per_gpu_h == 2);
    assert_true(hourly_price.electricity_usd_per_kwh == 0); /* the rent contains it */
    pool.owned = true;
    assert_true(helio_hourly_price_of(&site, &pool, 1).electricity_usd_per_kwh == 0.1);
    site.pue = 0; /* not said */
    site.carbon_g_per_kwh = -1;
    hourly_price = helio_hourly_price_of(&site, &pool, 1);
    assert_true(hourly_price.pue == 1 && hourly_price.carbon_g_per_kwh == 0);
}

static void account__is_power_times_time_with_carbon_and_cost(void **state)
{
    (void)state;
    helio_hourly_price_t hourly_price = {.watts_per_gpu = 400,
                                         .pue = 1.5,
                                         .price_usd_per_gpu_h = 2,
                                         .electricity_usd_per_kwh = 0.1,
                                         .carbon_g_per_kwh = 300};
    helio_account_t use = helio_account_of(&hourly_price, 3600000, 0);
    assert_int_equal(use.gpu_ms, 3600000);
    assert_int_equal(use.energy_j, 2160000);       /* 0.6 kWh */
    assert_int_equal(use.carbon_mg, 180000);       /* 180 g */
    assert_int_equal(use.cost_micro_usd, 2060000); /* 2 USD and 0.06 USD */
}

static void account__measured_energy_replaces_the_model_and_includes_the_pue(void **state)
{
    (void)state;
    helio_hourly_price_t hourly_price = {.watts_per_gpu = 400, .pue = 1.5, .carbon_g_per_kwh = 300};
    helio_account_t use = helio_account_of(&hourly_price, 3600000, 1000000);
    assert_int_equal(use.energy_j, 1500000);
    assert_int_equal(use.carbon_mg, 125000);
    assert_int_equal(helio_account_of(&hourly_price, 0, 1000000).energy_j, 1500000); /* a CPU job */
    assert_int_equal(helio_account_of(&hourly_price, 0, 0).energy_j, 0);
}

static void account__negative_prices_count(void **state)
{
    (void)state;
    helio_hourly_price_t hourly_price = {.watts_per_gpu = 1000, .pue = 1, .electricity_usd_per_kwh = -0.05};
    assert_int_equal(helio_account_of(&hourly_price, 3600000, 0).cost_micro_usd, -50000);
}

/* ---- the split ----------------------------------------------------------------------------------------- */

static void assert_adds_up(const helio_account_t *total, const helio_account_slice_t *slices, uint32_t count)
{
    helio_account_t sum = {0};
    for (uint32_t i = 0; i < count; i++) {
        sum.gpu_ms += slices[i].use.gpu_ms;
        sum.energy_j += slices[i].use.energy_j;
        sum.carbon_mg += slices[i].use.carbon_mg;
        sum.cost_micro_usd += slices[i].use.cost_micro_usd;
    }
    assert_true(sum.gpu_ms == total->gpu_ms && sum.energy_j == total->energy_j);
    assert_true(sum.carbon_mg == total->carbon_mg && sum.cost_micro_usd == total->cost_micro_usd);
}

static void split__falls_at_the_hours_and_nowhere_else(void **state)
{
    (void)state;
    static const struct {
        int64_t start_ms;
        uint64_t run_ms;
        int64_t first_ms;
        uint32_t count;
    } rows[] = {
        {0, 0, 0, 1},
        {0, 1, 0, 1},
        {0, 3600000, 0, 1}, /* [t, t + d): the end's hour is not touched */
        {0, 3600001, 0, 2},
        {3599999, 1, 0, 1},
        {3599999, 2, 0, 2},
        {3600000, 1, 3600000, 1},
        {1800000, 7200000, 0, 3},
        {-1, 1, -3600000, 1},
        {-1, 2, -3600000, 2},
        {-3600000, 3600000, -3600000, 1},
        {-3600001, 2, -7200000, 2},
        {1772323200000 + 59 * 60000, 120000, 1772323200000, 2},
    };
    helio_account_t total = {1000, 2000, 3000, -4000};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        helio_account_slice_t *slices;
        uint32_t count = helio_account_split(&total, rows[i].start_ms, rows[i].run_ms, arena, &slices);
        assert_int_equal(count, rows[i].count);
        for (uint32_t k = 0; k < count; k++)
            assert_true(slices[k].hour_ms == rows[i].first_ms + (int64_t)k * HOUR_MS);
        assert_adds_up(&total, slices, count);
    }
}

static void split__is_in_proportion_to_the_time_in_each_hour(void **state)
{
    (void)state;
    helio_account_t total = {4000, 400, 40, -4000};
    helio_account_slice_t *slices;
    assert_int_equal(helio_account_split(&total, HOUR_MS / 2, 2 * 3600000, arena, &slices), 3);
    static const uint64_t shares[] = {1, 2, 1};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(slices[i].use.gpu_ms, 1000 * shares[i]);
        assert_int_equal(slices[i].use.energy_j, 100 * shares[i]);
        assert_int_equal(slices[i].use.carbon_mg, 10 * shares[i]);
        assert_int_equal(slices[i].use.cost_micro_usd, -1000 * (int64_t)shares[i]);
    }
}

/*  A random value of random size: up to 63 bits. */
static uint64_t any_size(helio_rng_t *rng)
{
    return helio_rng_next(rng) >> (1 + helio_rng_below(rng, 63));
}

static void split__adds_up_exactly_over_random_totals(void **state)
{
    (void)state;
    helio_rng_t rng = {3};
    for (int round = 0; round < 20000; round++) {
        helio_account_t total = {any_size(&rng), any_size(&rng), any_size(&rng), (int64_t)any_size(&rng)};
        if (helio_rng_below(&rng, 2))
            total.cost_micro_usd = -total.cost_micro_usd;
        int64_t start_ms = (int64_t)helio_rng_below(&rng, UINT64_C(4000000000000)) - INT64_C(2000000000000);
        uint64_t run_ms = helio_rng_below(&rng, UINT64_C(100) * 3600000);
        helio_account_slice_t *slices;
        uint32_t count = helio_account_split(&total, start_ms, run_ms, arena, &slices);
        assert_true(slices[0].hour_ms <= start_ms && start_ms < slices[0].hour_ms + HOUR_MS);
        if (run_ms) {
            int64_t last_ms = start_ms + (int64_t)run_ms - 1;
            assert_true(slices[count - 1].hour_ms <= last_ms && last_ms < slices[count - 1].hour_ms + HOUR_MS);
        }
        for (uint32_t i = 0; i < count; i++) {
            assert_true(slices[i].use.gpu_ms <= total.gpu_ms && slices[i].use.energy_j <= total.energy_j);
            assert_true(total.cost_micro_usd >= 0 ? slices[i].use.cost_micro_usd >= 0
                                                  : slices[i].use.cost_micro_usd <= 0);
        }
        assert_adds_up(&total, slices, count);
        helio_arena_reset(arena);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
/* ---- rates by the hour --------------------------------------------------------------------------------- */

static void hourly__each_hour_is_charged_by_its_own_price(void **state)
{
    (void)state;
    helio_hourly_price_t hourly_price[2] = {
        {.watts_per_gpu = 500, .pue = 1.2, .carbon_g_per_kwh = 100, .electricity_usd_per_kwh = 0.2},
        {.watts_per_gpu = 500, .pue = 1.2, .carbon_g_per_kwh = 400, .electricity_usd_per_kwh = -0.1}};
    helio_account_slice_t *slices;
    helio_account_t total;
    /* two GPUs from half past: half an hour of the first rate, an hour and a half of the second */
    uint32_t count = helio_account_hourly(hourly_price, 2, HOUR_MS / 2, (uint64_t)(2 * HOUR_MS),
                                          (uint64_t)(4 * HOUR_MS), 0, arena, &slices, &total);
    assert_int_equal(count, 3);
    assert_int_equal(slices[0].use.energy_j, 2160000); /* 0.6 kWh */
    assert_int_equal(slices[0].use.carbon_mg, 60000);
    assert_int_equal(slices[1].use.carbon_mg, 480000);
    assert_int_equal(slices[2].use.carbon_mg, 240000); /* the last rate goes on */
    assert_int_equal(total.carbon_mg, 780000);
    assert_int_equal(total.cost_micro_usd, 120000 - 120000 - 60000); /* prices below zero are income */
    assert_int_equal(total.gpu_ms, 4 * HOUR_MS);
}

static void hourly__measured_energy_is_split_exactly(void **state)
{
    (void)state;
    helio_rng_t rng = {99};
    for (int n = 0; n < 2000; n++) {
        helio_hourly_price_t hourly_price[3];
        for (int i = 0; i < 3; i++)
            hourly_price[i] =
                (helio_hourly_price_t){.watts_per_gpu = 400, .pue = 1, .carbon_g_per_kwh = 500 * helio_rng_unit(&rng)};
        helio_account_slice_t *slices;
        helio_account_t total, sum = {0};
        uint64_t measured = n % 5 == 0 ? 1 : 1 + helio_rng_below(&rng, 1000000000);
        uint64_t run_ms = helio_rng_below(&rng, 20 * (uint64_t)HOUR_MS);
        uint32_t count =
            helio_account_hourly(hourly_price, 3, (int64_t)helio_rng_below(&rng, 1000000000), run_ms,
                                 run_ms * (1 + helio_rng_below(&rng, 8)), measured, arena, &slices, &total);
        for (uint32_t i = 0; i < count; i++) {
            sum.energy_j += slices[i].use.energy_j;
            sum.carbon_mg += slices[i].use.carbon_mg;
        }
        assert_true(total.energy_j == measured && sum.energy_j == measured); /* PUE is 1 */
        assert_true(sum.carbon_mg == total.carbon_mg);
        helio_arena_reset(arena);
    }
}

static void hourly__equal_hours_are_the_whole_rounded_once(void **state)
{
    (void)state;
    helio_rng_t rng = {7};
    for (int n = 0; n < 2000; n++) {
        helio_hourly_price_t hourly_price = {.watts_per_gpu = 700 * helio_rng_unit(&rng),
                                             .pue = 1 + helio_rng_unit(&rng),
                                             .carbon_g_per_kwh = 900 * helio_rng_unit(&rng),
                                             .price_usd_per_gpu_h = 4 * helio_rng_unit(&rng) - 1,
                                             .electricity_usd_per_kwh = helio_rng_unit(&rng) - 0.3};
        uint64_t run_ms = helio_rng_below(&rng, 60 * (uint64_t)HOUR_MS), gpu_ms = run_ms * 3;
        helio_account_slice_t *slices;
        helio_account_t total, once = helio_account_of(&hourly_price, gpu_ms, 0);
        uint32_t count = helio_account_hourly(&hourly_price, 1, (int64_t)helio_rng_below(&rng, 1000000000), run_ms,
                                              gpu_ms, 0, arena, &slices, &total);
        assert_adds_up(&total, slices, count);
        assert_true(total.gpu_ms == once.gpu_ms);
        assert_true(total.energy_j - once.energy_j + 1 <= 2 && total.carbon_mg - once.carbon_mg + 1 <= 2);
        assert_true(total.cost_micro_usd - once.cost_micro_usd <= 1 && once.cost_micro_usd - total.cost_micro_usd <= 1);
        helio_arena_reset(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(hourly_price__follows_the_site_the_pool_and_the_utilisation),
        CASE(account__is_power_times_time_with_carbon_and_cost),
        CASE(account__measured_energy_replaces_the_model_and_includes_the_pue),
        CASE(account__negative_prices_count),
        CASE(split__falls_at_the_hours_and_nowhere_else),
        CASE(split__is_in_proportion_to_the_time_in_each_hour),
        CASE(split__adds_up_exactly_over_random_totals),
        CASE(hourly__each_hour_is_charged_by_its_own_price),
        CASE(hourly__equal_hours_are_the_whole_rounded_once),
        CASE(hourly__measured_energy_is_split_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
