/*  The hours ahead of a pool, from series with gaps, of any step, alive and dead. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "federation/base/rng.h"
#include "federation/policy/pool_forecast.h"
#include "federation/policy/prices.h"

static const int64_t NOON = INT64_C(1772366400000); /* 2026-03-01T12:00Z */
static helio_site_profile_t site;
static helio_pool_t pool;
static helio_series_t series[8];
static uint32_t count;
static double points[8][HELIO_SERIES_POINTS_MAX];
static helio_pool_forecast_t pool_forecast;

static int begin(void **state)
{
    (void)state;
    site = (helio_site_profile_t){.pue = 1.25, .carbon_g_per_kwh = 300, .electricity_usd_per_kwh = 0.1};
    pool = (helio_pool_t){.name = HELIO_TEXT("h100"),
                          .owned = true,
                          .price_usd_per_gpu_h = 2,
                          .base_w = 400,
                          .slope_w = 300,
                          .host_w = 100};
    memset(series, 0, sizeof series);
    count = 0;
    return 0;
}

/*  A series from noon; the values are those given, and the last of them again. */
static helio_series_t *add(uint32_t signal, const char *of_pool, uint32_t step_s, uint32_t length, const double *values,
                           uint32_t value_count)
{
    helio_series_t *s = &series[count];
    *s = (helio_series_t){.signal = signal,
                          .pool = helio_text_of(of_pool),
                          .issued_wall_ms = NOON - 60000,
                          .start_wall_ms = NOON,
                          .step_s = step_s,
                          .values = {points[count], length}};
    for (uint32_t i = 0; i < length; i++)
        points[count][i] = values[i < value_count ? i : value_count - 1];
    count++;
    return s;
}

static void make(int64_t wall_ms)
{
    helio_pool_forecast_make(&pool_forecast, &site, &pool, series, count, wall_ms);
}

static void pool_forecast__without_series_uses_the_profile_for_every_hour(void **state)
{
    (void)state;
    make(NOON + 1234567);
    assert_int_equal(pool_forecast.from_ms, NOON);
    for (uint32_t h = 0; h < HELIO_POOL_FORECAST_HOURS; h++) {
        assert_int_equal(pool_forecast.milliwatts[h], 1000000); /* 800 W x 1.25 */
        assert_int_equal(pool_forecast.rent[h], 2000000);
        assert_int_equal(pool_forecast.tariff[h], 100000);
        assert_int_equal(pool_forecast.carbon[h], 300000);
        assert_int_equal(pool_forecast.carbon_high[h], 300000);
        assert_int_equal(pool_forecast.free_gpus[h], -1);
    }
    assert_false(pool_forecast.carbon_from.series);
    assert_true(pool_forecast.carbon_from.known);
    assert_false(pool_forecast.free_from.known);
}

static void pool_forecast__a_rented_pool_pays_no_electricity(void **state)
{
    (void)state;
    pool.owned = false;
    make(NOON);
    assert_int_equal(pool_forecast.tariff[0], 0);
}

static void pool_forecast__an_unreported_intensity_is_charged_and_scored_as_coal(void **state)
{
    (void)state;
    site.carbon_g_per_kwh = -1;
    make(NOON);
    assert_false(pool_forecast.carbon_from.known);
    assert_int_equal(pool_forecast.carbon[0], HELIO_UNKNOWN_G_PER_KWH * 1000);
    assert_int_equal(pool_forecast.carbon_high[0], HELIO_UNKNOWN_G_PER_KWH * 1000);
}

static void pool_forecast__an_hour_is_the_mean_of_its_points_by_time(void **state)
{
    (void)state;
    add(HELIO_SIGNAL_CARBON, "", 1800, 4, (double[]){100, 200, 300, 500}, 4);
    make(NOON + 59 * 60000);
    assert_int_equal(pool_forecast.carbon[0], 150000);
    assert_int_equal(pool_forecast.carbon[1], 400000);
    assert_int_equal(pool_forecast.carbon[2], 400000); /* the last hour repeats */
    assert_true(pool_forecast.carbon_from.issued_ms == NOON - 60000);
    series[0].step_s = 7200; /* two hours each */
    make(NOON);
    assert_int_equal(pool_forecast.carbon[1], 100000);
    assert_int_equal(pool_forecast.carbon[2], 200000);
    series[0].step_s = 3600;
    series[0].start_wall_ms = NOON + 1200000; /* from twenty past: two thirds of an hour are known, then a third */
    make(NOON);
    assert_int_equal(pool_forecast.carbon[0], 100000);
    assert_int_equal(pool_forecast.carbon[1], 166667);
}

static void pool_forecast__gaps_take_the_last_good_value_or_the_first_one(void **state)
{
    (void)state;
    add(HELIO_SIGNAL_CARBON, "", 3600, 6, (double[]){NAN, NAN, 100, -5, INFINITY, 200}, 6);
    make(NOON);
    static const int64_t expected[] = {100000, 100000, 100000, 100000, 100000, 200000, 200000};
    for (int h = 0; h < 7; h++)
        assert_int_equal(pool_forecast.carbon[h], expected[h]);
    for (int i = 0; i < 6; i++)
        points[0][i] = NAN;
    make(NOON);
    assert_int_equal(pool_forecast.carbon[3], 300000); /* nothing good in it: the profile */
    assert_false(pool_forecast.carbon_from.series);
}

static void pool_forecast__an_ended_series_continues_for_a_day_and_then_is_dead(void **state)
{
    (void)state;
    add(HELIO_SIGNAL_CARBON, "", 3600, 2, (double[]){100, 200}, 2);
    make(NOON + 25 * HELIO_HOUR_MS);
    assert_int_equal(pool_forecast.carbon[0], 200000);
    make(NOON + 26 * HELIO_HOUR_MS);
    assert_int_equal(pool_forecast.carbon[0], 300000);
    site.carbon_g_per_kwh = -1; /* no static figure: what is left is better than nothing */
    make(NOON + 26 * HELIO_HOUR_MS);
    assert_int_equal(pool_forecast.carbon[0], 200000);
    add(HELIO_SIGNAL_FREE_GPUS, "h100", 3600, 2, (double[]){8, 16}, 2);
    make(NOON + 26 * HELIO_HOUR_MS);
    assert_int_equal(pool_forecast.free_gpus[0], -1); /* of what is free a dead series says nothing */
}

static void pool_forecast__the_hours_after_a_series_are_those_of_its_last_day(void **state)
{
    (void)state;
    double day[30], tariffs[30];
    for (int h = 0; h < 30; h++) {
        day[h] = 100 + h;
        tariffs[h] = day[h] / 1000;
    }
    add(HELIO_SIGNAL_CARBON, "", 3600, 30, day, 30);
    add(HELIO_SIGNAL_FREE_GPUS, "h100", 3600, 30, day, 30);
    add(HELIO_SIGNAL_ELECTRICITY, "", 3600, 23, tariffs, 23);
    make(NOON);
    assert_int_equal(pool_forecast.carbon[29], 129000);
    assert_int_equal(pool_forecast.carbon[30], 106000);
    assert_int_equal(pool_forecast.carbon[53], 129000);
    assert_int_equal(pool_forecast.carbon[54], 106000);
    assert_int_equal(pool_forecast.free_gpus[54], 129); /* nothing says that what is free follows the day */
    assert_int_equal(pool_forecast.tariff[54], 122000); /* less than a day: the last value */
}

static void use__beyond_the_hours_repeats_the_last_day(void **state)
{
    (void)state;
    double values[HELIO_POOL_FORECAST_HOURS];
    for (int h = 0; h < HELIO_POOL_FORECAST_HOURS; h++)
        values[h] = 100 + h;
    add(HELIO_SIGNAL_CARBON, "", 3600, HELIO_POOL_FORECAST_HOURS, values, HELIO_POOL_FORECAST_HOURS);
    make(NOON);
    const int64_t end = NOON + (int64_t)HELIO_POOL_FORECAST_HOURS * HELIO_HOUR_MS, day = 24 * HELIO_HOUR_MS;
    helio_pool_forecast_use_t last = helio_pool_forecast_use(&pool_forecast, end - day, end),
                              third = helio_pool_forecast_use(&pool_forecast, end + 2 * day, end + 3 * day),
                              hour = helio_pool_forecast_use(&pool_forecast, end - day + 5 * HELIO_HOUR_MS,
                                                             end - day + 6 * HELIO_HOUR_MS),
                              again = helio_pool_forecast_use(&pool_forecast, end + 7 * day + 5 * HELIO_HOUR_MS,
                                                              end + 7 * day + 6 * HELIO_HOUR_MS);
    assert_true(last.carbon == third.carbon && last.money == third.money && last.energy == third.energy);
    assert_true(hour.carbon == again.carbon && hour.carbon_high == again.carbon_high && hour.taken == again.taken);
}

static void pool_forecast__the_pools_series_precedes_the_sites_and_newer_ones_older_ones(void **state)
{
    (void)state;
    add(HELIO_SIGNAL_PRICE, "h100", 3600, 1, (double[]){3}, 1);
    add(HELIO_SIGNAL_PRICE, "", 3600, 1, (double[]){4}, 1)->issued_wall_ms = NOON;
    add(HELIO_SIGNAL_PRICE, "other", 3600, 1, (double[]){5}, 1)->issued_wall_ms = NOON + 1;
    make(NOON);
    assert_int_equal(pool_forecast.rent[0], 3000000);
    add(HELIO_SIGNAL_PRICE, "h100", 3600, 1, (double[]){6}, 1)->issued_wall_ms = NOON;
    make(NOON);
    assert_int_equal(pool_forecast.rent[0], 6000000);
}

static void pool_forecast__marginal_intensity_is_never_mixed_with_average(void **state)
{
    (void)state;
    add(HELIO_SIGNAL_CARBON, "", 3600, 1, (double[]){700}, 1)->kind = HELIO_TEXT("marginal");
    make(NOON);
    assert_int_equal(pool_forecast.carbon[0], 300000);
    add(HELIO_SIGNAL_CARBON, "", 3600, 1, (double[]){50}, 1)->kind = HELIO_TEXT("average");
    make(NOON);
    assert_int_equal(pool_forecast.carbon[0], 50000);
}

static void pool_forecast__the_risk_is_between_the_mean_and_the_tenth_decile(void **state)
{
    (void)state;
    static double p90[2] = {200, 50};
    helio_series_t *s = add(HELIO_SIGNAL_CARBON, "", 3600, 2, (double[]){100, 100}, 2);
    s->p90 = (helio_f64s_t){p90, 2};
    make(NOON);
    assert_int_equal(pool_forecast.carbon_high[0], 140900);
    assert_int_equal(pool_forecast.carbon_high[1], 100000); /* a decile below the mean is no forecast */
    s->p90.count = 1;
    make(NOON);
    assert_int_equal(pool_forecast.carbon_high[0], 100000);
}

static void pool_forecast__extreme_figures_are_clamped(void **state)
{
    (void)state;
    add(HELIO_SIGNAL_CARBON, "", 3600, 1, (double[]){1e300}, 1);
    add(HELIO_SIGNAL_PRICE, "", 3600, 1, (double[]){-1e300}, 1);
    add(HELIO_SIGNAL_ELECTRICITY, "", 3600, 1, (double[]){1e300}, 1);
    add(HELIO_SIGNAL_PUE, "", 3600, 1, (double[]){1e300}, 1);
    add(HELIO_SIGNAL_FREE_GPUS, "", UINT32_MAX, 192, (double[]){1e300}, 1);
    pool.base_w = 1e300;
    make(NOON);
    assert_true(pool_forecast.carbon[0] == 100000000);
    assert_true(pool_forecast.rent[0] ==
                2000000); /* less than a rent can be: a gap, and nothing else is in the series */
    assert_true(pool_forecast.tariff[0] == 100000000);
    assert_true(pool_forecast.free_gpus[HELIO_POOL_FORECAST_HOURS - 1] == 10000000);
    assert_true(pool_forecast.milliwatts[0] == 10000000000);
    helio_pool_forecast_use_t use =
        helio_pool_forecast_use(&pool_forecast, NOON, NOON + INT64_C(3162240000000)); /* a century */
    assert_true(use.money > 0 && use.carbon > 0 && use.energy > 0);
}

/*  Any split of any time adds up to the whole, exactly. */
static void use__splits_add_up_to_the_whole(void **state)
{
    (void)state;
    helio_rng_t rng = {3};
    for (int round = 0; round < 3000; round++) {
        begin(NULL);
        for (uint32_t signal = HELIO_SIGNAL_PRICE; signal <= HELIO_SIGNAL_PUE; signal++) {
            double values[48];
            for (int i = 0; i < 48; i++)
                values[i] = (helio_rng_unit(&rng) - 0.2) * (signal == HELIO_SIGNAL_CARBON ? 900 : 3);
            add(signal, "", 900 * (1 + (uint32_t)helio_rng_below(&rng, 8)), 48, values, 48);
        }
        make(NOON + (int64_t)helio_rng_below(&rng, 7200000));
        int64_t a = pool_forecast.from_ms + (int64_t)helio_rng_below(&rng, 60 * (uint64_t)HELIO_HOUR_MS);
        int64_t b = a + (int64_t)helio_rng_below(&rng, 100 * (uint64_t)HELIO_HOUR_MS);
        int64_t m = a + (int64_t)helio_rng_below(&rng, (uint64_t)(b - a) + 1);
        helio_pool_forecast_use_t whole = helio_pool_forecast_use(&pool_forecast, a, b),
                                  one = helio_pool_forecast_use(&pool_forecast, a, m),
                                  two = helio_pool_forecast_use(&pool_forecast, m, b);
        assert_true(one.energy + two.energy == whole.energy);
        assert_true(one.money + two.money == whole.money);
        assert_true(one.carbon + two.carbon == whole.carbon);
        assert_true(one.carbon_high + two.carbon_high == whole.carbon_high);
        assert_true(one.energy >= 0 && two.energy >= 0 && one.carbon_high >= one.carbon);
    }
}

/*  Against the plain definition: millisecond by millisecond would be too slow, so hour by hour. */
static void use__is_the_sum_over_hours_of_power_times_rate(void **state)
{
    (void)state;
    add(HELIO_SIGNAL_CARBON, "", 3600, 3, (double[]){100, 200, 400}, 3);
    add(HELIO_SIGNAL_ELECTRICITY, "", 3600, 2, (double[]){0.1, -0.05}, 2);
    make(NOON);
    /* half an hour of the first, an hour of the second, half an hour of the third, at 1 kW */
    helio_pool_forecast_use_t use =
        helio_pool_forecast_use(&pool_forecast, NOON + 1800000, NOON + 3 * HELIO_HOUR_MS - 1800000);
    const int64_t kwh = INT64_C(3600000000000);
    assert_true(use.energy == 2 * (helio_i128_t)kwh);
    assert_true(use.carbon == (helio_i128_t)kwh * (50000 + 200000 + 200000));
    assert_true(use.money == (helio_i128_t)kwh * (4000000 + 50000 - 50000 - 25000));
    use = helio_pool_forecast_use(&pool_forecast, NOON + 5, NOON + 5);
    assert_true(use.energy == 0 && use.money == 0);
    use = helio_pool_forecast_use(&pool_forecast, NOON + 5, NOON);
    assert_true(use.energy == 0 && use.money == 0);
}

/*  As one that was made from such series, to the rounding of a millionth. */
static void reprice__is_as_if_its_prices_had_been_so(void **state)
{
    (void)state;
    add(HELIO_SIGNAL_ELECTRICITY, "", 3600, 5, (double[]){0.1, -0.05, 0.2, 0.002, 0.3}, 5);
    make(NOON);
    helio_pool_forecast_t was = pool_forecast;
    helio_pool_forecast_reprice(&pool_forecast, 1000);
    assert_memory_equal(&was, &pool_forecast, sizeof was);
    helio_pool_forecast_reprice(&pool_forecast, 2500);
    helio_pool_forecast_t repriced = pool_forecast;
    for (uint32_t i = 0; i < 5; i++)
        points[0][i] *= 2.5;
    pool.price_usd_per_gpu_h *= 2.5;
    make(NOON);
    assert_memory_equal(&repriced, &pool_forecast, sizeof repriced);
    helio_pool_forecast_reprice(&pool_forecast, 0);
    helio_pool_forecast_use_t use = helio_pool_forecast_use(&pool_forecast, NOON, NOON + INT64_C(100) * 3600000);
    assert_true(use.money == 0 && use.energy > 0);
    pool = (helio_pool_t){.name = HELIO_TEXT("h100"), .price_usd_per_gpu_h = 1e6};
    make(NOON);
    helio_pool_forecast_reprice(&pool_forecast, 1000000);
    assert_true(pool_forecast.rent[0] == INT64_C(1000000000000)); /* no more than any price can be */
}

#define CASE(name) cmocka_unit_test_setup(name, begin)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(pool_forecast__without_series_uses_the_profile_for_every_hour),
        CASE(pool_forecast__a_rented_pool_pays_no_electricity),
        CASE(pool_forecast__an_unreported_intensity_is_charged_and_scored_as_coal),
        CASE(pool_forecast__an_hour_is_the_mean_of_its_points_by_time),
        CASE(pool_forecast__gaps_take_the_last_good_value_or_the_first_one),
        CASE(pool_forecast__an_ended_series_continues_for_a_day_and_then_is_dead),
        CASE(pool_forecast__the_hours_after_a_series_are_those_of_its_last_day),
        CASE(use__beyond_the_hours_repeats_the_last_day),
        CASE(pool_forecast__the_pools_series_precedes_the_sites_and_newer_ones_older_ones),
        CASE(pool_forecast__marginal_intensity_is_never_mixed_with_average),
        CASE(pool_forecast__the_risk_is_between_the_mean_and_the_tenth_decile),
        CASE(pool_forecast__extreme_figures_are_clamped),
        CASE(use__splits_add_up_to_the_whole),
        CASE(reprice__is_as_if_its_prices_had_been_so),
        CASE(use__is_the_sum_over_hours_of_power_times_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
