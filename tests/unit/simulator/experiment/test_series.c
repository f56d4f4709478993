/*  test_series.c -- hourly series: sums, gaps, and what is known at an hour. */
#include "tests/unit/simulator/experiment/experiment_testing.h"

#include <math.h>

#include "federation/base/rng.h"
#include "simulator/experiment/series.h"

#define HOUR INT64_C(3600000)
#define NOON INT64_C(1696161600000) /* 2023-10-01T12:00:00Z */
static const exp_series_unit_t grams = {"carbon_g_per_kwh", 1};
static const exp_series_unit_t money[] = {{"price_usd_mwh", 1e-3}, {"price_eur_mwh", 2e-3}};

static exp_series_set_t load(const char *text)
{
    exp_series_set_t set;
    if (exp_series_load(put("s.csv", text), &grams, 1, 0, &set, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    return set;
}

#define HEAD "region,utc_hour_iso8601,carbon_g_per_kwh\n"
static const char *const two_regions = HEAD
    "DE,2023-10-01T12:00:00Z,100\nFR,2023-10-01T10:00:00Z,50\nDE,2023-10-01T13:00:00Z,200\nDE,2023-10-01T16:00:00Z,400\n";

static void sums__are_exact_over_parts_of_hours_gaps_and_ends(void **state)
{
    (void)state;
    exp_series_set_t set = load(two_regions);
    const exp_series_t *de = exp_series_find(set, HELIO_TEXT("DE"));
    assert_null(exp_series_find(set, HELIO_TEXT("D")));
    assert_null(exp_series_find(set, (helio_text_t){0}));
    assert_true(exp_series_integral(de, NOON, NOON + HOUR) == 100);
    assert_true(exp_series_integral(de, NOON + HOUR / 2, NOON + 3 * HOUR / 2) == 150);
    assert_true(exp_series_integral(de, NOON + HOUR, NOON + 4 * HOUR) == 600); /* a gap: the last good value */
    assert_true(exp_series_integral(de, NOON + 4 * HOUR, NOON + 7 * HOUR) == 1200);
    assert_true(exp_series_integral(de, NOON - 2 * HOUR, NOON) == 200);
    assert_true(exp_series_integral(exp_series_find(set, HELIO_TEXT("FR")), NOON - 9 * HOUR, NOON + HOUR) == 500);
    exp_series_free(&set);
}

/*  An integral is the sum of its parts, wherever it is cut. */
static void sums__add_up(void **state)
{
    (void)state;
    helio_rng_t rng = {9};
    exp_series_set_t set = load(two_regions);
    const exp_series_t *de = exp_series_find(set, HELIO_TEXT("DE"));
    for (int i = 0; i < 1000; i++) {
        int64_t from = NOON - 5 * HOUR + (int64_t)helio_rng_below(&rng, 10 * (uint64_t)HOUR);
        int64_t cut = from + (int64_t)helio_rng_below(&rng, 5 * (uint64_t)HOUR);
        int64_t to = cut + (int64_t)helio_rng_below(&rng, 5 * (uint64_t)HOUR);
        double parts = exp_series_integral(de, from, cut) + exp_series_integral(de, cut, to);
        assert_true(fabs(exp_series_integral(de, from, to) - parts) < 1e-6);
    }
    exp_series_free(&set);
}

/*  What a site may know: no hour after the running one, however much the file has. */
static void known__ends_with_the_running_hour(void **state)
{
    (void)state;
    exp_series_set_t set = load(two_regions);
    const exp_series_t *de = exp_series_find(set, HELIO_TEXT("DE"));
    static const struct {
        int64_t after;
        uint32_t count;
    } rows[] = {{-1, 0}, {0, 1}, {1, 2}, {4, 5}, {99, 5}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        helio_hours_t known = exp_series_known(de, NOON / HOUR + rows[i].after);
        assert_int_equal(known.count, rows[i].count);
        assert_true(isnan(helio_hours_at(&known, NOON / HOUR + rows[i].after + 1)));
    }
    exp_series_free(&set);
}

static void units__are_those_of_the_column_that_is_there(void **state)
{
    (void)state;
    static const char *const files[] = {"region,utc_hour_iso8601,price_usd_mwh\nDE,2023-10-01T12:00:00Z,-80\n",
                                        "region,utc_hour_iso8601,price_eur_mwh\nDE,2023-10-01T12:00:00Z,-40\n"};
    for (size_t i = 0; i < 2; i++) {
        exp_series_set_t set;
        assert_int_equal(exp_series_load(put("p.csv", files[i]), money, 2, 0, &set, &err), HELIO_OK);
        assert_true(fabs(exp_series_find(set, HELIO_TEXT("DE"))->values[0] + 0.08) < 1e-12);
        exp_series_free(&set);
    }
    exp_series_set_t set;
    assert_int_equal(exp_series_load(put("p.csv", "region,utc_hour_iso8601\n"), money, 2, 0, &set, &err),
                     HELIO_INVALID);
    assert_error("p.csv", ":1: neither the column 'price_usd_mwh' nor 'price_eur_mwh' is there");
}

static void errors__name_the_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } rows[] = {
        {HEAD, ": no rows"},
        {HEAD "DE,2023-10-01T12:00:00Z,\n", ": 'DE' has no value"},
        {HEAD "DE,2023-10-01T12:30:00Z,1\n",
         ":2: column 'utc_hour_iso8601': '2023-10-01T12:30:00Z' is no full hour like 2023-10-01T16:00:00Z"},
        {HEAD "DE,2023-10-01T12:00:00Z,1\nDE,2023-10-01T12:00:00Z,2\n",
         ":3: column 'utc_hour_iso8601': the hours of 'DE' do not ascend"},
        {HEAD "DE,2023-10-01T12:00:00Z,1\nDE,1970-10-01T12:00:00Z,2\n",
         ":3: column 'utc_hour_iso8601': the hours of 'DE' do not ascend"},
        {HEAD "DE,1970-10-01T12:00:00Z,1\nDE,2023-10-01T12:00:00Z,2\n",
         ":3: column 'utc_hour_iso8601': the series of 'DE' is longer than 30 years"},
        {HEAD "DE,2023-10-01T12:00:00Z,1\nDE,2025-10-01T12:00:00Z,2\n",
         ":3: column 'utc_hour_iso8601': the hour is more than a year after the last one of 'DE'"},
        {HEAD "DE,2023-10-01T12:00:00Z,1\nDE,9999-12-31T23:00:00Z,2\n",
         ":3: column 'utc_hour_iso8601': the series of 'DE' is longer than 30 years"},
        {HEAD ",2023-10-01T12:00:00Z,1\n", ":2: column 'region': a name of 1 to 63 bytes is needed"},
        {HEAD "DE,2023-10-01T12:00:00Z,many\n", ":2: column 'carbon_g_per_kwh': 'many' is not a number"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        exp_series_set_t set;
        assert_int_equal(exp_series_load(put("s.csv", rows[i].text), &grams, 1, 0, &set, &err), HELIO_INVALID);
        assert_error("s.csv", rows[i].error);
        assert_null(set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(sums__are_exact_over_parts_of_hours_gaps_and_ends),
        CASE(sums__add_up),
        CASE(known__ends_with_the_running_hour),
        CASE(units__are_those_of_the_column_that_is_there),
        CASE(errors__name_the_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
