/*  Time zones: against the C library's own reading of the same files, and by hand where clocks are moved. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "federation/base/civil.h"
#include "federation/base/clock.h"
#include "federation/base/rng.h"
#include "federation/energy/zone.h"
#include "federation/energy/zone_rule.h"

static char file_bytes[HELIO_ZONE_BYTES_MAX];

static helio_text_t read_zone(const char *name)
{
    char path[256];
    (void)snprintf(path, sizeof path, "/usr/share/zoneinfo/%s", name);
    FILE *file = fopen(path, "r");
    if (!file) {
        print_message("SKIPPED: %s is missing (Debian: tzdata)\n", path);
        skip();
    }
    size_t size = fread(file_bytes, 1, sizeof file_bytes, file);
    assert_int_equal(fclose(file), 0);
    return (helio_text_t){file_bytes, (uint32_t)size};
}

static helio_zone_t *zone_of(const char *name)
{
    helio_zone_t *zone = NULL;
    helio_error_t err = {0};
    if (helio_zone_parse(read_zone(name), &zone, &err) != HELIO_OK)
        fail_msg("%s: %s", name, err.text);
    return zone;
}

static int64_t utc(const char *text)
{
    int64_t ms = 0;
    assert_int_equal(helio_rfc3339_parse(helio_text_of(text), &ms), HELIO_OK);
    return ms / 1000;
}

static void zone__names_cannot_leave_the_folder(void **state)
{
    (void)state;
    static const char *const good[] = {"UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Etc/GMT+5",
                                       "EST5EDT"};
    static const char *const bad[] = {"",        "/etc/passwd", "../etc/passwd", "Europe/../../x", "Europe//Berlin",
                                      "Europe/", ".",           "a b",           "Europe\\Berlin", "a.b"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        if (!helio_zone_name_is_good(helio_text_of(good[i])))
            fail_msg("refused: %s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        if (helio_zone_name_is_good(helio_text_of(bad[i])))
            fail_msg("accepted: %s", bad[i]);
    char longest[HELIO_ZONE_NAME_MAX + 2];
    memset(longest, 'a', sizeof longest);
    assert_false(helio_zone_name_is_good((helio_text_t){longest, HELIO_ZONE_NAME_MAX + 1}));
}

static void zone__both_clock_changes_have_their_correct_times(void **state)
{
    (void)state;
    static const struct {
        const char *zone, *move; /* the first second after it, UTC */
        int32_t before_s, after_s;
        bool daylight;
    } cases[] = {
        {"Europe/Berlin", "2026-03-29T01:00:00Z", 3600, 7200, true},
        {"Europe/Berlin", "2026-10-25T01:00:00Z", 7200, 3600, false},
        {"Europe/Berlin", "2088-03-28T01:00:00Z", 3600, 7200, true}, /* by the footer's rule */
        {"America/New_York", "2026-03-08T07:00:00Z", -18000, -14400, true},
        {"America/New_York", "2026-11-01T06:00:00Z", -14400, -18000, false},
        {"America/New_York", "2099-11-01T06:00:00Z", -14400, -18000, false},
        {"Australia/Lord_Howe", "2026-04-04T15:00:00Z", 39600, 37800, false}, /* half an hour */
        {"Australia/Lord_Howe", "2026-10-03T15:30:00Z", 37800, 39600, true},
        {"Australia/Lord_Howe", "2060-10-02T15:30:00Z", 37800, 39600, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_zone_t *zone = zone_of(cases[i].zone);
        int64_t move = utc(cases[i].move);
        helio_zone_stretch_t before = helio_zone_at(zone, move - 1), after = helio_zone_at(zone, move);
        if (before.offset_s != cases[i].before_s || after.offset_s != cases[i].after_s || before.end_s != move ||
            after.begin_s != move || after.daylight != cases[i].daylight || before.daylight == cases[i].daylight)
            fail_msg("%s %s: %d to %d", cases[i].zone, cases[i].move, before.offset_s, after.offset_s);
        helio_zone_destroy(&zone);
    }
}

static void zone__without_daylight_saving_has_one_offset(void **state)
{
    (void)state;
    static const struct {
        const char *zone;
        int32_t offset_s;
    } cases[] = {{"Asia/Kolkata", 19800}, {"UTC", 0}, {"Etc/GMT+5", -18000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_zone_t *zone = zone_of(cases[i].zone);
        helio_zone_stretch_t now = helio_zone_at(zone, utc("2026-07-01T00:00:00Z"));
        assert_int_equal(now.offset_s, cases[i].offset_s);
        assert_true(now.end_s == INT64_MAX);
        helio_zone_destroy(&zone);
    }
    helio_zone_t *fixed = helio_zone_fixed(-7200);
    assert_int_equal(helio_zone_local_s(fixed, 10000), 2800);
    helio_zone_destroy(&fixed);
}

static int64_t local(const char *text)
{
    return utc(text); /* written with Z, meant as shown on the wall */
}

static void zone__local_times_that_do_not_exist_or_occur_twice_are_reported(void **state)
{
    (void)state;
    static const struct {
        const char *zone, *local, *first, *second;
        helio_local_fit_t fit;
    } cases[] = {
        {"Europe/Berlin", "2026-07-01T12:00:00Z", "2026-07-01T10:00:00Z", "2026-07-01T10:00:00Z", HELIO_LOCAL_ONCE},
        {"Europe/Berlin", "2026-03-29T02:30:00Z", "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z", HELIO_LOCAL_NEVER},
        {"Europe/Berlin", "2026-03-29T03:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z", HELIO_LOCAL_ONCE},
        {"Europe/Berlin", "2026-10-25T02:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", HELIO_LOCAL_TWICE},
        {"Europe/Berlin", "2026-10-25T03:00:00Z", "2026-10-25T02:00:00Z", "2026-10-25T02:00:00Z", HELIO_LOCAL_ONCE},
        {"America/New_York", "2026-11-01T01:00:00Z", "2026-11-01T05:00:00Z", "2026-11-01T06:00:00Z", HELIO_LOCAL_TWICE},
        {"America/New_York", "2026-03-08T02:00:00Z", "2026-03-08T07:00:00Z", "2026-03-08T07:00:00Z", HELIO_LOCAL_NEVER},
        {"Australia/Lord_Howe", "2026-04-05T01:45:00Z", "2026-04-04T14:45:00Z", "2026-04-04T15:15:00Z",
         HELIO_LOCAL_TWICE},
        {"Australia/Lord_Howe", "2026-10-04T02:15:00Z", "2026-10-03T15:30:00Z", "2026-10-03T15:30:00Z",
         HELIO_LOCAL_NEVER},
        {"Asia/Kolkata", "2026-10-04T02:15:00Z", "2026-10-03T20:45:00Z", "2026-10-03T20:45:00Z", HELIO_LOCAL_ONCE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_zone_t *zone = zone_of(cases[i].zone);
        int64_t first = 0, second = 0;
        helio_local_fit_t fit = helio_zone_utc_s(zone, local(cases[i].local), &first, &second);
        if (fit != cases[i].fit || first != utc(cases[i].first) || second != utc(cases[i].second))
            fail_msg("%s %s: fit %d, %lld, %lld", cases[i].zone, cases[i].local, fit, (long long)first,
                     (long long)second);
        helio_zone_destroy(&zone);
    }
}

/*  Offsets of the C library, which reads the same file by its own code. */
static void zone__agrees_with_the_c_library_everywhere_from_1900_to_2200(void **state)
{
    (void)state;
    static const char *const names[] = {
        "Europe/Berlin",     "Europe/Dublin",     "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata",
        "America/Sao_Paulo", "Africa/Casablanca", "America/Santiago", "Asia/Tokyo",          "Pacific/Kiritimati",
        "Antarctica/Troll",  "America/St_Johns",  "Asia/Tehran",      "America/Godthab",     "Pacific/Apia"};
    helio_rng_t rng = {20261121};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        helio_zone_t *zone = zone_of(names[i]);
        assert_int_equal(setenv("TZ", names[i], 1), 0);
        tzset();
        for (int n = 0; n < 5000; n++) {
            int64_t at = utc("1900-01-01T00:00:00Z") + (int64_t)(helio_rng_next(&rng) % (uint64_t)(300 * 31556952LL));
            time_t when = at;
            struct tm parts;
            assert_non_null(localtime_r(&when, &parts));
            helio_zone_stretch_t stretch = helio_zone_at(zone, at);
            if (stretch.offset_s != parts.tm_gmtoff || stretch.begin_s > at || stretch.end_s <= at)
                fail_msg("%s at %lld: %d, the C library says %ld", names[i], (long long)at, stretch.offset_s,
                         parts.tm_gmtoff);
            int64_t first, second, shown = helio_zone_local_s(zone, at);
            helio_local_fit_t fit = helio_zone_utc_s(zone, shown, &first, &second);
            assert_true(fit != HELIO_LOCAL_NEVER && (first == at || second == at));
        }
        helio_zone_destroy(&zone);
    }
    assert_int_equal(unsetenv("TZ"), 0);
    tzset();
}

static void zone__damaged_and_cut_files_are_refused_without_harm(void **state)
{
    (void)state;
    helio_text_t whole = read_zone("Europe/Berlin");
    helio_zone_t *zone = NULL;
    helio_error_t err;
    for (uint32_t size = 0; size < whole.size; size++) {
        char *copy = helio_new(size + 1, 1); /* of its own, so that reading beyond is seen */
        memcpy(copy, whole.data, size);
        assert_int_equal(helio_zone_parse((helio_text_t){copy, size}, &zone, &err), HELIO_INVALID);
        assert_null(zone);
        free(copy);
    }
    helio_rng_t rng = {7};
    for (int n = 0; n < 20000; n++) {
        char *copy = helio_new(whole.size, 1);
        memcpy(copy, whole.data, whole.size);
        for (int flips = 0; flips < 3; flips++)
            copy[helio_rng_next(&rng) % (n % 2 ? whole.size : 100)] = (char)helio_rng_next(&rng);
        if (helio_zone_parse((helio_text_t){copy, whole.size}, &zone, &err) == HELIO_OK) {
            int64_t first, second;
            (void)helio_zone_utc_s(zone, utc("2026-03-29T02:30:00Z"), &first, &second);
            (void)helio_zone_at(zone, INT64_MAX / 2000);
            helio_zone_destroy(&zone);
        }
        free(copy);
    }
}

static void rule__every_form_of_a_day_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *rule, *at;
        int32_t offset_s;
        bool good;
    } cases[] = {
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2027-03-28T01:00:00Z", 7200, true},
        {"CET-1CEST,M3.5.0,M10.5.0/3", "2027-03-28T00:59:59Z", 3600, true},
        {"<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "2027-01-01T00:00:00Z", 39600, true},
        {"IST-5:30", "2027-06-01T00:00:00Z", 19800, true},
        {"AAA3BBB,J60/0,J300/0", "2028-03-01T02:59:59Z", -10800, true}, /* 29 February never counts */
        {"AAA3BBB,J60/0,J300/0", "2028-03-01T03:00:00Z", -7200, true},
        {"AAA3BBB,59/0,300/0", "2028-02-29T03:00:00Z", -7200, true}, /* here it does */
        {"EST5EDT,M3.2.0/-1,M11.1.0/26", "2027-03-14T04:00:00Z", -14400, true},
        {"CET", "2027-01-01T00:00:00Z", 0, false},
        {"CE-1", "2027-01-01T00:00:00Z", 0, false},
        {"CET-1CEST", "2027-01-01T00:00:00Z", 0, false},
        {"CET-1CEST,M13.5.0,M10.5.0", "2027-01-01T00:00:00Z", 0, false},
        {"CET-1CEST,M3.6.0,M10.5.0", "2027-01-01T00:00:00Z", 0, false},
        {"CET-1CEST,M3.5.0,M10.5.0/3x", "2027-01-01T00:00:00Z", 0, false},
        {"CET-99CEST,M3.5.0,M10.5.0/3", "2027-01-01T00:00:00Z", 0, false},
        {"<CET", "2027-01-01T00:00:00Z", 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_zone_rule_t rule;
        bool good = helio_zone_rule_parse(helio_text_of(cases[i].rule), &rule);
        if (good != cases[i].good ||
            (good && helio_zone_rule_at(&rule, utc(cases[i].at)).offset_s != cases[i].offset_s))
            fail_msg("%s at %s", cases[i].rule, cases[i].at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zone__names_cannot_leave_the_folder),
        cmocka_unit_test(zone__both_clock_changes_have_their_correct_times),
        cmocka_unit_test(zone__without_daylight_saving_has_one_offset),
        cmocka_unit_test(zone__local_times_that_do_not_exist_or_occur_twice_are_reported),
        cmocka_unit_test(zone__agrees_with_the_c_library_everywhere_from_1900_to_2200),
        cmocka_unit_test(zone__damaged_and_cut_files_are_refused_without_harm),
        cmocka_unit_test(rule__every_form_of_a_day_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
