/*  test_humanise.c -- quantities as people read them are close to the value, grow with it, and have no signed zero. */
#include "tests/unit/client/output/output_testing.h"

#include <math.h>

#include "client/output/humanise.h"
#include "federation/base/rng.h"

enum { ROUNDS = 3000 };

/*  Of any size from 1e-6 to 1e14, of either sign. */
static double random_quantity(helio_rng_t *rng)
{
    double size = pow(10, (double)helio_rng_below(rng, 20000) / 1000 - 6);
    return helio_rng_below(rng, 2) ? size : -size;
}

static void numbers__read_back_within_half_a_percent_or_the_last_decimal(void **state)
{
    (void)state;
    helio_rng_t rng = {.state = 11};
    for (int i = 0; i < ROUNDS; i++) {
        char text[HELIO_HUMAN_SIZE], *end;
        double value = random_quantity(&rng);
        helio_human_number(value, text);
        double back = strtod(text, &end);
        if (*end || fabs(back - value) > fmax(0.005 * fabs(value), 0.0000501))
            fail_msg("%.17g is shown as %s", value, text);
    }
}

static void numbers__grow_with_their_value(void **state)
{
    (void)state;
    double before = -INFINITY;
    for (double value = -2000; value < 2000; value += 0.0773) {
        char text[HELIO_HUMAN_SIZE];
        helio_human_number(value, text);
        double shown = strtod(text, NULL);
        if (shown < before)
            fail_msg("%.17g is shown as %s, below the number before it", value, text);
        before = shown;
    }
}

static void what_rounds_to_nothing__has_no_sign(void **state)
{
    (void)state;
    static const double tiny[] = {-0.0, -1e-300, -0.00001, -0.000049};
    for (size_t i = 0; i < sizeof tiny / sizeof tiny[0]; i++) {
        char text[HELIO_HUMAN_SIZE];
        helio_human_number(tiny[i], text);
        assert_string_equal(text, "0");
        helio_human_money(tiny[i], text);
        assert_string_equal(text, "$0.00");
        helio_human_duration(tiny[i], text);
        assert_string_equal(text, "0s");
        helio_human_mass(tiny[i], text);
        assert_string_equal(text, "0 g");
    }
}

static void money__reads_back_to_the_cent_or_to_half_a_percent(void **state)
{
    (void)state;
    helio_rng_t rng = {.state = 12};
    for (int i = 0; i < ROUNDS; i++) {
        char text[HELIO_HUMAN_SIZE], *end;
        double value = random_quantity(&rng);
        helio_human_money(value, text);
        bool negative = text[0] == '-';
        assert_int_equal(text[negative], '$');
        double back = strtod(text + negative + 1, &end) * (negative ? -1 : 1);
        if (*end || fabs(back - value) > fmax(0.005 * fabs(value), 0.0050001))
            fail_msg("%.17g is shown as %s", value, text);
    }
}

static const struct {
    void (*human)(double, char[HELIO_HUMAN_SIZE]);
    const char *units[7];
    double base; /* of the first unit, in the argument's unit */
} scales[] = {
    {helio_human_energy, {"Wh", "kWh", "MWh", "GWh"}, 1e-3},
    {helio_human_mass, {"g", "kg", "t"}, 1},
    {helio_human_bytes, {"B", "kB", "MB", "GB", "TB", "PB"}, 1},
};

static void units__make_the_number_less_than_a_thousand_where_a_larger_one_exists(void **state)
{
    (void)state;
    helio_rng_t rng = {.state = 13};
    for (int i = 0; i < ROUNDS; i++) {
        size_t s = (size_t)i % 3, unit = 0;
        char text[HELIO_HUMAN_SIZE], *end;
        double value = random_quantity(&rng);
        scales[s].human(value, text);
        double back = strtod(text, &end), factor = scales[s].base;
        assert_int_equal(*end, ' ');
        for (; scales[s].units[unit] && strcmp(end + 1, scales[s].units[unit]) != 0; unit++)
            factor *= 1000;
        assert_non_null(scales[s].units[unit]);
        if (fabs(back) >= 1000 && scales[s].units[unit + 1])
            fail_msg("%.17g is shown as %s", value, text);
        if (fabs(back * factor - value) > fmax(0.005 * fabs(value), 0.00006 * scales[s].base))
            fail_msg("%.17g is shown as %s", value, text);
    }
}

/*  "3d04h" in seconds. */
static double seconds_of(const char *text)
{
    static const char units[] = "smhd";
    static const double lengths[] = {1, 60, 3600, 86400};
    double sum = 0;
    while (*text) {
        char *end;
        double number = strtod(text, &end);
        const char *unit = strchr(units, *end);
        assert_true(end != text && *end && unit);
        sum += number * lengths[unit - units];
        text = end + 1;
    }
    return sum;
}

static void durations__lose_less_than_their_smallest_unit(void **state)
{
    (void)state;
    helio_rng_t rng = {.state = 14};
    for (int i = 0; i < ROUNDS; i++) {
        char brief[HELIO_HUMAN_SIZE], run[HELIO_HUMAN_SIZE];
        double value = floor(pow(10, (double)helio_rng_below(&rng, 8000) / 1000));
        double least = value < 60 ? 1 : value < 86400 ? 60 : 3600;
        helio_human_duration(value, brief);
        helio_human_run(value, run);
        if (seconds_of(brief) > value || seconds_of(brief) <= value - least)
            fail_msg("%.0f s is shown as %s", value, brief);
        if (value < 3600 && seconds_of(run) != value) /* shorter than an hour, a run is exact */
            fail_msg("a run of %.0f s is shown as %s", value, run);
    }
}

static void times__are_cut_to_the_second_and_what_is_no_time_is_copied(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"2026-11-22T07:00:00.999Z", "2026-11-22T07:00:00Z"},
        {"2026-11-22T08:00:00+01:00", "2026-11-22T07:00:00Z"},
        {"2026-11-22T07:00:00Z", "2026-11-22T07:00:00Z"},
        {"soon", "soon"},
        {"", ""},
        {"2026-13-22T07:00:00Z", "2026-13-22T07:00:00Z"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[HELIO_HUMAN_SIZE];
        helio_human_time(cases[i][0], text);
        assert_string_equal(text, cases[i][1]);
    }
}

static void what_is_no_finite_amount__is_a_question_mark(void **state)
{
    (void)state;
    static const double wrong[] = {NAN, INFINITY, -INFINITY, 1e300};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[HELIO_HUMAN_SIZE];
        helio_human_number(wrong[i], text);
        assert_string_equal(text, "?");
        helio_human_money(wrong[i], text);
        assert_string_equal(text, "?");
        helio_human_duration(wrong[i], text);
        assert_string_equal(text, "?");
        helio_human_energy(wrong[i], text);
        assert_int_equal(text[0], '?');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers__read_back_within_half_a_percent_or_the_last_decimal),
        cmocka_unit_test(numbers__grow_with_their_value),
        cmocka_unit_test(what_rounds_to_nothing__has_no_sign),
        cmocka_unit_test(money__reads_back_to_the_cent_or_to_half_a_percent),
        cmocka_unit_test(units__make_the_number_less_than_a_thousand_where_a_larger_one_exists),
        cmocka_unit_test(durations__lose_less_than_their_smallest_unit),
        cmocka_unit_test(times__are_cut_to_the_second_and_what_is_no_time_is_copied),
        cmocka_unit_test(what_is_no_finite_amount__is_a_question_mark),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
