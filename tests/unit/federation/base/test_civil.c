/*  test_civil.c -- the calendar, day by day beside one that only counts; and the small parts that others are made
 *  of. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "federation/base/char.h"
#include "federation/base/civil.h"
#include "federation/base/histogram.h"
#include "federation/base/number.h"
#include "federation/base/rng.h"

typedef struct date {
    int64_t year, month, day;
} date_t;

static int64_t days_in(const date_t *date)
{
    static const int64_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (date->year % 4 == 0 && date->year % 100 != 0) || date->year % 400 == 0;
    return days[date->month - 1] + (date->month == 2 && leap);
}

static void go_on(date_t *date)
{
    if (++date->day <= days_in(date))
        return;
    date->day = 1;
    if (++date->month <= 12)
        return;
    date->month = 1;
    date->year++;
}

/*  From -0400-01-01 on, a little over 3000 years. */
static void every_day__has_the_number_after_the_day_before_it(void **state)
{
    (void)state;
    enum { FIRST = -865625, COUNT = 1100000 };
    date_t date = {-400, 1, 1};
    uint32_t weekday = helio_weekday_of_days(FIRST);
    for (int64_t days = FIRST; days < FIRST + COUNT; days++) {
        int64_t year, month, day;
        helio_civil_of_days(days, &year, &month, &day);
        bool same = year == date.year && month == date.month && day == date.day;
        if (!same || helio_days_of_civil(year, month, day) != days || helio_weekday_of_days(days) != weekday)
            fail_msg("day %lld is %lld-%lld-%lld instead of %lld-%lld-%lld", (long long)days, (long long)year,
                     (long long)month, (long long)day, (long long)date.year, (long long)date.month,
                     (long long)date.day);
        go_on(&date);
        weekday = (weekday + 1) % 7;
    }
}

static void known_days__have_their_numbers_and_weekdays(void **state)
{
    (void)state;
    static const struct {
        date_t date;
        int64_t days;
        uint32_t weekday; /* 0 = Monday */
    } cases[] = {
        {{1970, 1, 1}, 0, 3},      {{1969, 12, 31}, -1, 2},    {{2000, 2, 29}, 11016, 1},    {{2000, 3, 1}, 11017, 2},
        {{1900, 3, 1}, -25508, 3}, {{2026, 11, 22}, 20779, 6}, {{9999, 12, 31}, 2932896, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const date_t *date = &cases[i].date;
        assert_int_equal(helio_days_of_civil(date->year, date->month, date->day), cases[i].days);
        assert_int_equal(helio_weekday_of_days(cases[i].days), cases[i].weekday);
    }
    assert_int_equal(helio_days_of_civil(2026, 2, 31), helio_days_of_civil(2026, 3, 3)); /* days count on */
}

static void a_floor__rounds_down_on_both_sides_of_zero(void **state)
{
    (void)state;
    static const int64_t by[] = {1, 2, 1000, 3600000};
    helio_rng_t rng = {.state = 8};
    for (int i = 0; i < 20000; i++) {
        int64_t value = (int64_t)(helio_rng_next(&rng) >> helio_rng_below(&rng, 63));
        value = helio_rng_below(&rng, 2) ? value / 2 : -(value / 2);
        int64_t unit = by[i % 4], floor = helio_floor(value, unit);
        assert_true(floor * unit <= value && value - floor * unit < unit);
    }
}

static void a_histogram__counts_each_figure_once_at_the_first_bound_that_holds_it(void **state)
{
    (void)state;
    static const helio_bounds_t bounds = {.count = 4, .at = {0, 10, 100, UINT64_C(1) << 40}};
    helio_histogram_t histogram = {{0}, 0};
    uint64_t naive[HELIO_HISTOGRAM_BOUNDS_MAX + 1] = {0}, sum = 0;
    helio_rng_t rng = {.state = 9};
    for (int i = 0; i < 5000; i++) {
        uint64_t figure = i < 8 ? (const uint64_t[]){0, 1, 9, 10, 11, 100, 101, UINT64_C(1) << 40}[i]
                                : helio_rng_next(&rng) >> (16 + helio_rng_below(&rng, 48));
        uint64_t below = 0; /* bounds that do not hold it */
        for (uint32_t b = 0; b < bounds.count; b++)
            below += bounds.at[b] < figure;
        naive[below]++;
        sum += figure;
        helio_histogram_add(&histogram, &bounds, figure);
    }
    assert_memory_equal(histogram.counts, naive, sizeof naive);
    assert_int_equal(histogram.sum, sum);
}

static void names__begin_with_a_letter_or_digit_and_have_no_other_signs_than_three(void **state)
{
    (void)state;
    for (int first = 0; first < 256; first++) {
        for (int then = 0; then < 256; then++) {
            char bytes[2] = {(char)first, (char)then};
            bool plain_first =
                (first >= '0' && first <= '9') || (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
            bool plain_then =
                (then >= '0' && then <= '9') || (then >= 'a' && then <= 'z') || (then >= 'A' && then <= 'Z');
            bool good = plain_first && (plain_then || then == '.' || then == '_' || then == '-');
            assert_int_equal(helio_is_name((helio_text_t){bytes, 2}, 2), good);
        }
    }
    assert_false(helio_is_name(HELIO_TEXT(""), 8));
    assert_true(helio_is_name(HELIO_TEXT("12345678"), 8));
    assert_false(helio_is_name(HELIO_TEXT("123456789"), 8));
}

static void hexadecimal_digits__have_their_value_in_both_cases_and_nothing_else_has_one(void **state)
{
    (void)state;
    static const char digits[] = "0123456789abcdef";
    for (int c = 0; c < 256; c++) {
        const char *at = c ? strchr(digits, c >= 'A' && c <= 'Z' ? c | 0x20 : c) : NULL;
        assert_int_equal(helio_hex_digit((char)c), at && c < 128 ? (int)(at - digits) : -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_day__has_the_number_after_the_day_before_it),
        cmocka_unit_test(known_days__have_their_numbers_and_weekdays),
        cmocka_unit_test(a_floor__rounds_down_on_both_sides_of_zero),
        cmocka_unit_test(a_histogram__counts_each_figure_once_at_the_first_bound_that_holds_it),
        cmocka_unit_test(names__begin_with_a_letter_or_digit_and_have_no_other_signs_than_three),
        cmocka_unit_test(hexadecimal_digits__have_their_value_in_both_cases_and_nothing_else_has_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
