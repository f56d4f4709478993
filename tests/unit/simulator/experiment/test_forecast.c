/*  test_forecast.c -- forecasts as issued: which issue is known when, and what is said of wrong files. */
#include "tests/unit/simulator/experiment/experiment_testing.h"

#include <math.h>

#include "simulator/experiment/forecast.h"

#define NOON (INT64_C(1696161600) / 3600) /* 2023-10-01T12:00:00Z */
#define HEAD "region,issue_utc,horizon_h,utc_hour_iso8601,carbon_g_per_kwh,carbon_g_per_kwh_forecast\n"

/*  DE: issued at 12:00 and at 14:30. The true values of the fifth column are not read. */
static const char *const two_issues =
    HEAD "DE,2023-10-01T12:00:00Z,0,2023-10-01T12:00:00Z,1,100\nDE,2023-10-01T12:00:00Z,1,2023-10-01T13:00:00Z,1,110\n"
         "FR,2023-10-01T00:00:00Z,9,2023-10-01T09:00:00Z,1,7\nDE,2023-10-01T12:00:00Z,3,2023-10-01T15:00:00Z,1,130\n"
         "DE,2023-10-01T14:30:00Z,1,2023-10-01T15:00:00Z,1,230\nDE,2023-10-01T14:30:00Z,2,2023-10-01T16:00:00Z,1,240\n";

static const exp_series_unit_t grams = {"carbon_g_per_kwh_forecast", 1};

static exp_forecast_set_t load(const char *text)
{
    exp_forecast_set_t set;
    if (exp_forecast_load(put("f.csv", text), &grams, 1, 0, 0, &set, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    return set;
}

static helio_hours_t newest(const exp_forecast_t *forecast, int64_t hour)
{
    uint32_t known = exp_forecast_known(forecast, hour);
    return known ? exp_forecast_hours(forecast, known - 1) : (helio_hours_t){.first_hour = hour};
}

static void known__is_the_newest_issue_of_the_past(void **state)
{
    (void)state;
    static const struct {
        int64_t running, hour;
        double value; /* NAN = none */
    } rows[] = {
        {-1, 0, NAN}, {0, 0, 100}, {0, 1, 110}, {0, 2, NAN}, {0, 3, 130}, {0, 4, NAN},  {2, 3, 130},
        {2, 4, NAN},  {3, 3, 230}, {3, 4, 240}, {3, 1, NAN}, {3, 5, NAN}, {99, 4, 240},
    };
    exp_forecast_set_t set = load(two_issues);
    const exp_forecast_t *de = exp_forecast_find(set, HELIO_TEXT("DE"));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        helio_hours_t known = newest(de, NOON + rows[i].running);
        double value = helio_hours_at(&known, NOON + rows[i].hour);
        if (isnan(value) != isnan(rows[i].value) || (!isnan(value) && value != rows[i].value))
            fail_msg("row %zu: %g", i, value);
    }
    helio_hours_t fr = newest(exp_forecast_find(set, HELIO_TEXT("FR")), NOON);
    assert_true(helio_hours_at(&fr, NOON - 3) == 7);
    assert_null(exp_forecast_find(set, HELIO_TEXT("ES")));
    exp_forecast_free(&set);
}

static void errors__name_the_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } rows[] = {
        {HEAD, ": no rows"},
        {"region,issue_utc,utc_hour_iso8601\n", ":1: the column 'carbon_g_per_kwh_forecast' is missing"},
        {HEAD "DE,noon,0,2023-10-01T12:00:00Z,1,1\n",
         ":2: column 'issue_utc': 'noon' is no time like 2023-10-01T16:00:00Z"},
        {HEAD "DE,2023-10-01T12:00:00Z,0,2023-10-01T12:01:00Z,1,1\n",
         ":2: column 'utc_hour_iso8601': '2023-10-01T12:01:00Z' is no full hour like 2023-10-01T16:00:00Z"},
        {HEAD ",2023-10-01T12:00:00Z,0,2023-10-01T12:00:00Z,1,1\n",
         ":2: column 'region': a name of 1 to 63 bytes is needed"},
        {HEAD "DE,2023-10-01T12:00:00Z,0,2023-10-01T12:00:00Z,1,-1\n",
         ":2: column 'carbon_g_per_kwh_forecast': -1 is not within 0..1e+06"},
        {HEAD "DE,2023-10-01T12:00:00Z,0,2023-10-01T10:00:00Z,1,1\n",
         ":2: column 'utc_hour_iso8601': the hour is over before the forecast is issued"},
        {HEAD "DE,2023-10-01T12:00:00Z,0,9999-10-01T10:00:00Z,1,1\n",
         ":2: column 'utc_hour_iso8601': the hour is more than 31 days after its issue"},
        {HEAD
         "DE,2023-10-01T12:00:00Z,0,2023-10-01T12:00:00Z,1,1\nDE,2023-10-01T12:00:00Z,0,2023-10-01T12:00:00Z,1,1\n",
         ":3: column 'utc_hour_iso8601': the hours of an issue of 'DE' do not ascend"},
        {HEAD
         "DE,2023-10-01T12:00:00Z,0,2023-10-01T12:00:00Z,1,1\nDE,2023-10-01T11:00:00Z,1,2023-10-01T12:00:00Z,1,1\n",
         ":3: column 'issue_utc': the issues of 'DE' do not ascend"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        exp_forecast_set_t set;
        assert_int_equal(exp_forecast_load(put("f.csv", rows[i].text), &grams, 1, 0, 0, &set, &err), HELIO_INVALID);
        assert_error("f.csv", rows[i].error);
        assert_null(set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(known__is_the_newest_issue_of_the_past),
        CASE(errors__name_the_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
