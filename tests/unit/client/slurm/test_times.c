/*  test_times.c -- instants as people write them for sacct, in a zone of their own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/slurm/times.h"
#include "federation/base/clock.h"

static int64_t at(const char *rfc3339)
{
    int64_t ms = 0;
    assert_int_equal(helio_rfc3339_parse(helio_text_of(rfc3339), &ms), HELIO_OK);
    return ms;
}

static void times__are_those_of_the_readers_zone(void **state)
{
    (void)state;
    static const struct {
        const char *word, *utc, *east; /* two hours ahead of UTC */
    } rows[] = {{"2026-03-01", "2026-03-01T00:00:00Z", "2026-02-28T22:00:00Z"},
                {"2026-03-01T12:00", "2026-03-01T12:00:00Z", "2026-03-01T10:00:00Z"},
                {"2026-03-01T12:00:05", "2026-03-01T12:00:05Z", "2026-03-01T10:00:05Z"},
                {"today", "2026-03-05T00:00:00Z", "2026-03-05T22:00:00Z"},
                {"midnight", "2026-03-05T00:00:00Z", "2026-03-05T22:00:00Z"},
                {"now", "2026-03-05T23:30:00Z", "2026-03-05T23:30:00Z"},
                {"now-2days", "2026-03-03T23:30:00Z", "2026-03-03T23:30:00Z"},
                {"now-90minutes", "2026-03-05T22:00:00Z", "2026-03-05T22:00:00Z"},
                {"now-1week", "2026-02-26T23:30:00Z", "2026-02-26T23:30:00Z"}};
    helio_zone_t *east = helio_zone_fixed(7200);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t ms = 0;
        assert_true(helio_slurm_time(rows[i].word, NULL, at("2026-03-05T23:30:00Z"), &ms));
        assert_true(ms == at(rows[i].utc));
        assert_true(helio_slurm_time(rows[i].word, east, at("2026-03-05T23:30:00Z"), &ms));
        assert_true(ms == at(rows[i].east));
    }
    helio_zone_destroy(&east);
    static const char *const wrong[] = {"",           "yesterday", "12:00", "2026-13-01", "now-2fortnights",
                                        "now-2days!", "now-days"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        int64_t ms;
        assert_false(helio_slurm_time(wrong[i], NULL, at("2026-03-05T23:30:00Z"), &ms));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(times__are_those_of_the_readers_zone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
