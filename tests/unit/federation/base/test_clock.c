/*  RFC 3339 there and back, over leap years, offsets and nonsense. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "federation/base/clock.h"
#include "federation/base/rng.h"

static void rfc3339__known_times_both_ways(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {{0, "1970-01-01T00:00:00.000Z"},
                {-1, "1969-12-31T23:59:59.999Z"},
                {INT64_C(951782400000), "2000-02-29T00:00:00.000Z"},
                {INT64_C(951868800000), "2000-03-01T00:00:00.000Z"},
                {INT64_C(1078012800000), "2004-02-29T00:00:00.000Z"},
                {INT64_C(1772323199999), "2026-02-28T23:59:59.999Z"},
                {INT64_C(1772323200000), "2026-03-01T00:00:00.000Z"},
                {INT64_C(4107542400000), "2100-03-01T00:00:00.000Z"}, /* no leap year */
                {INT64_C(-2203891200000), "1900-03-01T00:00:00.000Z"},
                {INT64_C(253402300799999), "9999-12-31T23:59:59.999Z"},
                {INT64_C(-62167219200000), "0000-01-01T00:00:00.000Z"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[HELIO_RFC3339_SIZE];
        int64_t ms = 7;
        helio_rfc3339(rows[i].ms, text);
        assert_string_equal(text, rows[i].text);
        assert_int_equal(helio_rfc3339_parse(helio_text_of(text), &ms), HELIO_OK);
        assert_true(ms == rows[i].ms);
    }
}

static void rfc3339__agrees_with_the_c_library_on_random_times(void **state)
{
    (void)state;
    helio_rng_t rng = {4};
    for (int i = 0; i < 20000; i++) {
        int64_t ms = (int64_t)helio_rng_below(&rng, UINT64_C(253402300800000));
        if (helio_rng_below(&rng, 4) == 0)
            ms = -(ms % INT64_C(60000000000000));
        char text[HELIO_RFC3339_SIZE], expected[128];
        helio_rfc3339(ms, text);
        int64_t millis = ((ms % 1000) + 1000) % 1000;
        time_t seconds = (time_t)((ms - millis) / 1000);
        struct tm tm;
        assert_non_null(gmtime_r(&seconds, &tm));
        (void)snprintf(expected, sizeof expected, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900,
                       tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)millis);
        assert_string_equal(text, expected);
        int64_t back;
        assert_int_equal(helio_rfc3339_parse(helio_text_of(text), &back), HELIO_OK);
        assert_true(back == ms);
    }
}

static void rfc3339__forms_of_the_same_moment(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "2026-03-01T00:00:00Z",      "2026-03-01t00:00:00z",         "2026-03-01 00:00:00Z",
        "2026-03-01T00:00Z",         "2026-03-01T00:00:00.0Z",       "2026-03-01T00:00:00.0009999999999999999999Z",
        "2026-03-01T01:00:00+01:00", "2026-02-28T18:30:00-05:30",    "2026-03-01T00:00:00+00:00",
        "2026-03-01T00:00:00-00:00", "2026-03-01T23:59:00.000+23:59"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        int64_t ms = 0;
        assert_int_equal(helio_rfc3339_parse(helio_text_of(texts[i]), &ms), HELIO_OK);
        if (ms != INT64_C(1772323200000))
            fail_msg("'%s' is %lld", texts[i], (long long)ms);
    }
    int64_t ms = 0;
    assert_int_equal(helio_rfc3339_parse(HELIO_TEXT("2026-03-01T00:00:00.25Z"), &ms), HELIO_OK);
    assert_true(ms == INT64_C(1772323200250));
    assert_int_equal(helio_rfc3339_parse(HELIO_TEXT("2016-12-31T23:59:60Z"), &ms), HELIO_OK); /* a leap second */
    assert_true(ms == INT64_C(1483228800000));
}

static void rfc3339__nonsense_is_invalid_and_leaves_the_output_alone(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "2026",
                                        "2026-03-01",
                                        "2026-03-01T00:00:00", /* no zone: whose midnight? */
                                        "2026-03-01T00:00:00+01",
                                        "2026-03-01T00:00:00+0100",
                                        "2026-03-01T00:00:00+1:00",
                                        "2026-03-01T00:00:00+24:00",
                                        "2026-03-01T00:00:00+00:60",
                                        "2026-03-01T00:00:00Z ",
                                        " 2026-03-01T00:00:00Z",
                                        "2026-03-01T00:00:00ZZ",
                                        "2026-03-01T00:00:00.Z",
                                        "2026-03-01T00:00:00,5Z",
                                        "2026-03-01T00:00:61Z",
                                        "2026-03-01T00:60:00Z",
                                        "2026-03-01T24:00:00Z",
                                        "2026-03-01T0:00:00Z",
                                        "2026-00-01T00:00:00Z",
                                        "2026-13-01T00:00:00Z",
                                        "2026-03-00T00:00:00Z",
                                        "2026-04-31T00:00:00Z",
                                        "2026-02-29T00:00:00Z",
                                        "2100-02-29T00:00:00Z",
                                        "1900-02-29T00:00:00Z",
                                        "2026/03/01T00:00:00Z",
                                        "-026-03-01T00:00:00Z",
                                        "+2026-03-01T00:00:00Z",
                                        "20266-03-01T00:00:00Z",
                                        "2026-03-01X00:00:00Z",
                                        "2026-03-01T00:00:Z"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        int64_t ms = 42;
        if (helio_rfc3339_parse(helio_text_of(texts[i]), &ms) != HELIO_INVALID)
            fail_msg("'%s' was taken", texts[i]);
        assert_true(ms == 42);
    }
    int64_t ms = 42;
    assert_int_equal(helio_rfc3339_parse((helio_text_t){0}, &ms), HELIO_INVALID);
    assert_int_equal(helio_rfc3339_parse((helio_text_t){"2026-03-01\0"
                                                        "00:00:00Z",
                                                        20},
                                         &ms),
                     HELIO_INVALID);
}

/*  Every prefix, in memory of just that size: nothing is read beyond the end. */
static void rfc3339__a_truncated_text_is_invalid(void **state)
{
    (void)state;
    static const char full[] = "2026-03-01T00:00:00.250+01:30";
    for (uint32_t size = 0; size < sizeof full - 1; size++) {
        char *copy = helio_new(size, 1);
        memcpy(copy, full, size);
        int64_t ms = 42;
        assert_int_equal(helio_rfc3339_parse((helio_text_t){copy, size}, &ms), HELIO_INVALID);
        free(copy);
    }
}

static void rfc3339__a_time_outside_four_digits_of_a_year_is_the_nearest_within(void **state)
{
    (void)state;
    static const struct {
        int64_t ms;
        const char *text;
    } rows[] = {{INT64_MIN, "0000-01-01T00:00:00.000Z"},
                {INT64_C(-62167219200001), "0000-01-01T00:00:00.000Z"},
                {INT64_C(253402300800000), "9999-12-31T23:59:59.999Z"},
                {INT64_MAX, "9999-12-31T23:59:59.999Z"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[HELIO_RFC3339_SIZE];
        helio_rfc3339(rows[i].ms, text);
        assert_string_equal(text, rows[i].text);
    }
}

static void clocks__go_forward(void **state)
{
    (void)state;
    int64_t ms = helio_clock_boot_ms(), us = helio_clock_boot_us();
    assert_true(ms > 0 && us / 1000 >= ms);
    assert_true(helio_clock_boot_ms() >= ms);
    assert_true(helio_clock_wall_ms() > INT64_C(1600000000000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rfc3339__known_times_both_ways),
        cmocka_unit_test(rfc3339__agrees_with_the_c_library_on_random_times),
        cmocka_unit_test(rfc3339__forms_of_the_same_moment),
        cmocka_unit_test(rfc3339__nonsense_is_invalid_and_leaves_the_output_alone),
        cmocka_unit_test(rfc3339__a_truncated_text_is_invalid),
        cmocka_unit_test(rfc3339__a_time_outside_four_digits_of_a_year_is_the_nearest_within),
        cmocka_unit_test(clocks__go_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
