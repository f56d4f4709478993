/*  test_foretold.c -- forecasts of a source, corrected by the errors of its earlier ones. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "federation/base/rng.h"
#include "federation/energy/foretold.h"

enum { DAYS = 30, HOURS = DAYS * 24, AHEAD = 96 };
static const int64_t BEGIN = INT64_C(470000) * 24;
static helio_foretold_t foretold;
static double actual[HOURS], issued[AHEAD];

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-9 * fmax(1, fabs(b));
}

static int begin(void **state)
{
    (void)state;
    helio_foretold_begin(&foretold, BEGIN);
    for (int i = 0; i < HOURS; i++)
        actual[i] = 100;
    return 0;
}

/*  Takes a forecast of `count` hours from `hour` on: each of them 100 less `error`, and as much again for each day ahead. */
static helio_hours_t issue(int64_t hour, uint32_t count, double error)
{
    for (uint32_t i = 0; i < count; i++)
        issued[i] = 100 - error * (1 + i / 24);
    helio_hours_t hours = {BEGIN + hour, issued, count};
    helio_foretold_take(&foretold, BEGIN + hour, &hours);
    return hours;
}

/*  What is made of it, if the hours until `running` are known. */
static uint32_t correct(helio_hours_t hours, int64_t running, uint32_t count, double *ret_values)
{
    helio_issue_t at = {&foretold, {BEGIN, actual, (uint32_t)running + 1}, hours, hours.first_hour};
    for (uint32_t i = 0; i < count; i++)
        ret_values[i] = helio_hours_at(&hours, BEGIN + running + 1 + i);
    return helio_foretold_correct(&at, BEGIN + running + 1, count, 0, ret_values);
}

static void correct__without_known_errors_a_forecast_stays_as_issued(void **state)
{
    (void)state;
    double values[AHEAD];
    helio_hours_t hours = issue(10, AHEAD, 7);
    assert_int_equal(correct(hours, 9, AHEAD, values), 0); /* the first hour that was foretold is still to come */
    for (int i = 0; i < AHEAD; i++)
        assert_true(values[i] == issued[i]);
}

static void correct__the_formula_is_the_documented_one(void **state)
{
    (void)state;
    double values[AHEAD];
    for (int64_t day = 0; day < 3; day++)
        (void)issue(24 * day, AHEAD, 10);
    helio_hours_t hours = issue(72, AHEAD, 10);
    actual[72 + 5] = 106; /* the last known hour: 16 above its forecast instead of 10 */
    assert_int_equal(correct(hours, 72 + 5, 72, values), 72);
    /* three errors of 10 of the same hour of the same day ahead, and two days without */
    double weights = 1 + 0.8 + 0.64, usual = 10 * weights / (2 + weights), unusual = 16 - usual;
    assert_true(near(values[0], 90 + usual + unusual * exp(-1.0 / 36)));
    assert_true(near(values[17], 90 + usual + unusual * exp(-18.0 / 36)));
    /* a day ahead the errors are twice as large */
    assert_true(near(values[18], 80 + 2 * usual + unusual * exp(-19.0 / 36)));
}

/*  Errors of the morning correct the morning. */
static void correct__each_hour_of_the_day_has_its_own_error(void **state)
{
    (void)state;
    double values[AHEAD];
    for (int64_t day = 0; day < 10; day++) {
        (void)issue(24 * day, 24, 0);
        actual[24 * day + 6] = 150;
    }
    helio_hours_t hours = issue(240, 24, 0);
    assert_int_equal(correct(hours, 240, 23, values), 1);
    assert_true(values[5] > 120 && values[5] < 150 && near(values[4], 100) && near(values[6], 100));
}

static void correct__gaps_hours_of_the_past_and_bounds(void **state)
{
    (void)state;
    double values[AHEAD];
    helio_hours_t hours = issue(0, 48, 30);
    issued[4] = NAN;
    for (int i = 0; i < 4; i++)
        actual[i] = 1; /* 69 less than foretold */
    values[4] = -5;
    helio_issue_t at = {&foretold, {BEGIN, actual, 3}, hours, BEGIN};
    for (int i = 0; i < 48; i++)
        values[i] = -5;
    assert_int_equal(helio_foretold_correct(&at, BEGIN, 48, 10, values), 44);
    assert_true(values[2] == -5 && values[4] == -5 && values[3] == 10); /* known, not issued, and at least 10 */
    /* a value of the day before yesterday says nothing of how wrong the forecast is */
    assert_int_equal(helio_foretold_correct(&at, BEGIN + 27, 21, 0, values), 0);
}

/*  A source that issues every hour is measured by what it says in the middle of each day ahead. */
static void take__of_issues_of_one_day_ahead_the_middle_counts(void **state)
{
    (void)state;
    const int64_t hour = BEGIN + 100;
    for (int64_t ahead = 47; ahead >= 0; ahead--) {
        double value = (double)ahead;
        helio_foretold_take(&foretold, hour - ahead, &(helio_hours_t){hour, &value, 1});
    }
    int64_t index = hour - foretold.first_hour;
    assert_true(foretold.values[0][index] == 12 && foretold.values[1][index] == 36);
    double late = 3; /* the only one */
    helio_foretold_take(&foretold, hour + 1, &(helio_hours_t){hour + 4, &late, 1});
    assert_true(foretold.values[0][hour + 4 - foretold.first_hour] == 3);
}

/*  A clock that jumps, or is set back, loses what does not fit and nothing else. */
static void take__any_hour(void **state)
{
    (void)state;
    helio_rng_t rng = {7};
    for (int n = 0; n < 20000; n++) {
        int64_t hour = BEGIN + (int64_t)helio_rng_below(&rng, 3000) - 1500;
        double value = (double)helio_rng_below(&rng, 1000), values[AHEAD];
        helio_foretold_take(&foretold, hour, &(helio_hours_t){hour + (int64_t)helio_rng_below(&rng, 200), &value, 1});
        for (int i = 0; i < AHEAD; i++)
            values[i] = issued[i] = value;
        helio_issue_t at = {&foretold,
                            {BEGIN, actual, (uint32_t)helio_rng_below(&rng, HOURS)},
                            {hour, issued, AHEAD},
                            hour - (int64_t)helio_rng_below(&rng, 200)};
        (void)helio_foretold_correct(&at, hour, AHEAD, 0, values);
        for (int i = 0; i < AHEAD; i++)
            assert_true(values[i] >= 0 && values[i] < 4000);
    }
    (void)issue(50, AHEAD, 1);
    assert_true(foretold.first_hour <= BEGIN + 50 && foretold.first_hour > BEGIN + 50 - HELIO_FORETOLD_HOURS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(correct__without_known_errors_a_forecast_stays_as_issued, begin),
        cmocka_unit_test_setup(correct__the_formula_is_the_documented_one, begin),
        cmocka_unit_test_setup(correct__each_hour_of_the_day_has_its_own_error, begin),
        cmocka_unit_test_setup(correct__gaps_hours_of_the_past_and_bounds, begin),
        cmocka_unit_test_setup(take__of_issues_of_one_day_ahead_the_middle_counts, begin),
        cmocka_unit_test_setup(take__any_hour, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
