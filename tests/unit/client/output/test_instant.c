/*  Instants in the reader's zone, and how far off they are. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "client/output/instant.h"

enum { SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE };

static const int64_t noon = INT64_C(1772366400000); /* 2026-03-01T12:00:00Z */

static void instant__is_in_the_readers_zone_with_the_distance_from_now(void **state)
{
    (void)state;
    static const struct {
        int32_t offset_s;
        int64_t off_ms, now_ms;
        const char *expected;
    } cases[] = {
        {0, 0, noon, "2026-03-01T12:00:00Z (now)"},
        {0, 8 * SECOND, noon, "2026-03-01T12:00:08Z (in 8s)"},
        {0, -8 * SECOND, noon, "2026-03-01T11:59:52Z (8s ago)"},
        {0, 999, noon, "2026-03-01T12:00:00Z (now)"},
        {0, -999, noon, "2026-03-01T11:59:59Z (now)"},
        {3600, 117 * SECOND, noon, "2026-03-01T13:01:57+01:00 (in 1m57s)"},
        {-12600, 2 * HOUR + 5 * MINUTE, noon, "2026-03-01T10:35:00-03:30 (in 2h05m)"},
        {12 * 3600, 75 * HOUR, noon, "2026-03-05T03:00:00+12:00 (in 3d03h)"},
        {3600, 5 * SECOND, 0, "2026-03-01T13:00:05+01:00"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[HELIO_INSTANT_SIZE];
        HELIO_AUTO(helio_zone_destroy) helio_zone_t *zone = helio_zone_fixed(cases[i].offset_s);
        helio_instant_text(zone, cases[i].now_ms, noon + cases[i].off_ms, text);
        assert_string_equal(text, cases[i].expected);
        helio_instant_text(NULL, cases[i].now_ms, noon + cases[i].off_ms, text);
        assert_true(cases[i].offset_s != 0 || strcmp(text, cases[i].expected) == 0);
    }
}

static void instants__in_a_sentence_are_found_and_nothing_else_is(void **state)
{
    (void)state;
    static const struct {
        const char *said, *shown;
    } cases[] = {
        {"", ""},
        {"0 GPUs free until 2026-03-01T14:00Z", "0 GPUs free until 2026-03-01T15:00+01:00 (in 2h00m)"},
        {"from 2026-03-01T12:00:30Z: $3, to 2026-03-01T12:00Z",
         "from 2026-03-01T13:00:30+01:00 (in 30s): $3, to 2026-03-01T13:00+01:00 (now)"},
        {"2026-03-01", "2026-03-01"},
        {"2026-03-01T14:00", "2026-03-01T14:00"},
        {"2026-03-01T14:00:0Z", "2026-03-01T14:00:0Z"},
        {"2026-99-01T14:00Z", "2026-99-01T14:00Z"},
        {"x2026-03-01T14:00Z", "x2026-03-01T14:00Z"},
        {"12026-03-01T14:00Z", "12026-03-01T14:00Z"},
        {"2026-03-01T14:", "2026-03-01T14:"},
        {"'at' must be a time such as '2026-03-01T14:00:00Z', not '2026-03-01T14:00Z'",
         "'at' must be a time such as '2026-03-01T14:00:00Z', not '2026-03-01T14:00Z'"},
    };
    HELIO_AUTO(helio_zone_destroy) helio_zone_t *zone = helio_zone_fixed(3600);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
        helio_instants_in(zone, noon, cases[i].said, &out);
        assert_string_equal(out.data ? out.data : "", cases[i].shown);
    }
}

static void zone__with_an_unknown_name_is_utc(void **state)
{
    (void)state;
    static const char *const names[] = {"../../etc/passwd", "/etc/passwd", "No/Such_Place", "CET-1CEST,M3.5.0", ""};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_null(helio_zone_of_reader(names[i]));
    HELIO_AUTO(helio_zone_destroy) helio_zone_t *berlin = helio_zone_of_reader(":Europe/Berlin");
    if (!berlin) {
        print_message("SKIPPED: no time-zone data (Debian: tzdata)\n");
        skip();
    }
    char text[HELIO_INSTANT_SIZE];
    helio_instant_text(berlin, 0, noon, text);
    assert_string_equal(text, "2026-03-01T13:00:00+01:00");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instant__is_in_the_readers_zone_with_the_distance_from_now),
        cmocka_unit_test(instants__in_a_sentence_are_found_and_nothing_else_is),
        cmocka_unit_test(zone__with_an_unknown_name_is_utc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
