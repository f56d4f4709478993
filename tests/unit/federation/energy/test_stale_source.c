/*  test_stale_source.c -- the sources of failed feeds are read as they are written, and no other text is taken for one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "federation/base/clock.h"
#include "federation/energy/stale_source.h"
#include "tests/support/one_arena.h"

static int64_t ms_of(const char *text)
{
    int64_t ms = 0;
    assert_int_equal(helio_rfc3339_parse(helio_text_of(text), &ms), HELIO_OK);
    return ms;
}

static void stale_source__is_read_as_it_was_written(void **state)
{
    (void)state;
    int64_t at = ms_of("2026-11-20T06:41:07Z"), since = 0;
    helio_text_t last_good = helio_source_last_good(arena, HELIO_TEXT("grid"), at);
    assert_true(helio_text_is(last_good, "grid, last good 2026-11-20T06Z"));
    assert_true(helio_source_is_stale(last_good, &since));
    assert_true(since == ms_of("2026-11-20T06:00:00Z"));
    since = 0;
    helio_text_t no_data = helio_source_no_data(arena, HELIO_TEXT("grid, last good 2020-01-01T00Z"), at);
    assert_true(helio_text_is(no_data, "grid, last good 2020-01-01T00Z, no data since 2026-11-20T06Z"));
    assert_true(helio_source_is_stale(no_data, &since));
    assert_true(since == ms_of("2026-11-20T06:00:00Z"));
}

static void stale_source__no_other_text_is_taken_for_one(void **state)
{
    (void)state;
    static const char *const others[] = {
        "",
        "static",
        "tariff",
        "grid, built-in forecast",
        "grid, 24h of it built-in",
        ", last good ",
        "grid, last good yesterday",
        "grid, last good 2026-13-20T06Z",
        "grid, last good 2026-11-20T06",
        "grid, last good 2026-11-20T06Z, built-in forecast",
        "grid, no data since 2026-11-20T99Z",
        "grid, no data since -026-11-20T06Z",
    };
    int64_t since = 7;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (helio_source_is_stale(helio_text_of(others[i]), &since))
            fail_msg("taken: %s", others[i]);
    assert_false(helio_source_is_stale((helio_text_t){0}, &since));
    assert_int_equal(since, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stale_source__is_read_as_it_was_written, begin, end),
        cmocka_unit_test(stale_source__no_other_text_is_taken_for_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
