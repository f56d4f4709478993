/*  Schedules: what their text means, and which UTC hours they are on ordinary days and on the days when
 * clocks move. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "federation/base/clock.h"
#include "federation/energy/schedule.h"
#include "tests/support/one_arena.h"

static helio_zone_t *zone_of(const char *name)
{
    static char bytes[HELIO_ZONE_BYTES_MAX];
    char path[256];
    (void)snprintf(path, sizeof path, "/usr/share/zoneinfo/%s", name);
    FILE *file = fopen(path, "r");
    if (!file) {
        print_message("SKIPPED: %s is missing (Debian: tzdata)\n", path);
        skip();
    }
    size_t size = fread(bytes, 1, sizeof bytes, file);
    assert_int_equal(fclose(file), 0);
    helio_zone_t *zone = NULL;
    assert_int_equal(helio_zone_parse((helio_text_t){bytes, (uint32_t)size}, &zone, NULL), HELIO_OK);
    return zone;
}

static int64_t ms_of(const char *text)
{
    int64_t ms = 0;
    assert_int_equal(helio_rfc3339_parse(helio_text_of(text), &ms), HELIO_OK);
    return ms;
}

static const struct {
    const char *schedule, *zone, *from, *to;
    const char *intervals[6]; /* begin, end, … */
} walls[] = {
    /* a week that begins on Saturday */
    {"Mon..Fri 08:00-20:00",
     "Europe/Berlin",
     "2026-07-04T00:00:00Z",
     "2026-07-07T00:00:00Z",
     {"2026-07-06T06:00:00Z", "2026-07-06T18:00:00Z"}},
    {"Mon..Fri 08:00-20:00",
     "Asia/Kolkata",
     "2026-07-06T00:00:00Z",
     "2026-07-07T00:00:00Z",
     {"2026-07-06T02:30:00Z", "2026-07-06T14:30:00Z"}},
    {"Sat,Sun 00:00-24:00",
     "UTC",
     "2026-07-01T00:00:00Z",
     "2026-07-08T00:00:00Z",
     {"2026-07-04T00:00:00Z", "2026-07-06T00:00:00Z"}},
    /* 23 and 25 hours */
    {"Sun 00:00-24:00",
     "Europe/Berlin",
     "2026-03-28T00:00:00Z",
     "2026-03-31T00:00:00Z",
     {"2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"}},
    {"Sun 00:00-24:00",
     "Europe/Berlin",
     "2026-10-24T00:00:00Z",
     "2026-10-27T00:00:00Z",
     {"2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"}},
    /* over midnight, on the nights of both moves: 7 and 9 hours */
    {"Sat 22:00-06:00",
     "Europe/Berlin",
     "2026-03-28T12:00:00Z",
     "2026-03-30T00:00:00Z",
     {"2026-03-28T21:00:00Z", "2026-03-29T04:00:00Z"}},
    {"Sat 22:00-06:00",
     "Europe/Berlin",
     "2026-10-24T12:00:00Z",
     "2026-10-26T00:00:00Z",
     {"2026-10-24T20:00:00Z", "2026-10-25T05:00:00Z"}},
    /* in the hour that is shown twice, and in the one that never is */
    {"02:15-02:45",
     "Europe/Berlin",
     "2026-10-25T00:00:00Z",
     "2026-10-25T12:00:00Z",
     {"2026-10-25T00:15:00Z", "2026-10-25T00:45:00Z", "2026-10-25T01:15:00Z", "2026-10-25T01:45:00Z"}},
    {"02:15-02:45", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29T12:00:00Z", {0}},
    {"02:15-03:30",
     "Europe/Berlin",
     "2026-03-29T00:00:00Z",
     "2026-03-29T12:00:00Z",
     {"2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"}},
    {"01:30-02:00",
     "Australia/Lord_Howe",
     "2026-04-04T12:00:00Z",
     "2026-04-05T00:00:00Z",
     {"2026-04-04T14:30:00Z", "2026-04-04T15:30:00Z"}}, /* shown twice without a pause: one hour */
    {"22:00-06:00",
     "UTC",
     "2026-07-06T00:00:00Z",
     "2026-07-07T00:00:00Z",
     {"2026-07-06T00:00:00Z", "2026-07-06T06:00:00Z", "2026-07-06T22:00:00Z", "2026-07-07T00:00:00Z"}},
    {"Fri..Mon 09:00-10:00,12:00-13:00",
     "UTC",
     "2026-07-06T00:00:00Z",
     "2026-07-08T00:00:00Z",
     {"2026-07-06T09:00:00Z", "2026-07-06T10:00:00Z", "2026-07-06T12:00:00Z", "2026-07-06T13:00:00Z"}},
    {"Mon 09:00-12:00; Mon 11:00-13:00",
     "UTC",
     "2026-07-06T00:00:00Z",
     "2026-07-07T00:00:00Z",
     {"2026-07-06T09:00:00Z", "2026-07-06T13:00:00Z"}},
};

static void schedule__gives_the_utc_hours_of_its_local_times(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof walls / sizeof walls[0]; i++) {
        helio_zone_t *zone = zone_of(walls[i].zone);
        helio_schedule_t schedule;
        helio_error_t err = {0};
        if (helio_schedule_parse(helio_text_of(walls[i].schedule), &schedule, &err) != HELIO_OK)
            fail_msg("%s: %s", walls[i].schedule, err.text);
        helio_interval_t *found = NULL;
        int64_t from = ms_of(walls[i].from), to = ms_of(walls[i].to);
        uint32_t count = helio_schedule_intervals(&schedule, zone, from, to, arena, &found), expected = 0;
        for (; expected < 3 && walls[i].intervals[expected * 2]; expected++) {
            char shown[2][HELIO_RFC3339_SIZE];
            if (expected >= count || found[expected].begin_ms != ms_of(walls[i].intervals[expected * 2]) ||
                found[expected].end_ms != ms_of(walls[i].intervals[expected * 2 + 1])) {
                helio_rfc3339(expected < count ? found[expected].begin_ms : 0, shown[0]);
                helio_rfc3339(expected < count ? found[expected].end_ms : 0, shown[1]);
                fail_msg("%s %s: interval %u is %s to %s", walls[i].schedule, walls[i].zone, expected, shown[0],
                         shown[1]);
            }
        }
        assert_int_equal(count, expected);
        for (int64_t at = from; at < to; at += 15 * 60000) { /* the same by the other way of asking */
            bool inside = false;
            for (uint32_t n = 0; n < count; n++)
                inside = inside || (at >= found[n].begin_ms && at < found[n].end_ms);
            assert_true(helio_schedule_covers(&schedule, zone, at) == inside);
        }
        helio_zone_destroy(&zone);
    }
}

static void schedule__follows_the_clock_change_of_new_york_in_november(void **state)
{
    (void)state;
    helio_zone_t *zone = zone_of("America/New_York");
    helio_schedule_t schedule;
    assert_int_equal(helio_schedule_parse(HELIO_TEXT("08:00-20:00"), &schedule, NULL), HELIO_OK);
    helio_interval_t *found;
    uint32_t count = helio_schedule_intervals(&schedule, zone, ms_of("2026-10-31T04:00:00Z"),
                                              ms_of("2026-11-02T05:00:00Z"), arena, &found);
    assert_int_equal(count, 2);
    assert_true(found[0].begin_ms == ms_of("2026-10-31T12:00:00Z") && found[0].end_ms == ms_of("2026-11-01T00:00:00Z"));
    assert_true(found[1].begin_ms == ms_of("2026-11-01T13:00:00Z") && found[1].end_ms == ms_of("2026-11-02T01:00:00Z"));
    helio_zone_destroy(&zone);
}

static void schedule__bad_text_is_refused_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *place;
    } cases[] = {
        {"", "at character 1:"},
        {"Mon", "at character 4:"},
        {"mon 08:00-20:00", "at character 1:"},
        {"Mond 08:00-20:00", "at character 1:"},
        {"Mon.Fri 08:00-20:00", "at character 5:"},
        {"Mon..Fry 08:00-20:00", "at character 6:"},
        {"Mon..Fri 8:00-20:00", "at character 10:"},
        {"Mon..Fri 08:00 20:00", "at character 15:"},
        {"08:00-25:00", "at character 7:"},
        {"08:60-20:00", "at character 1:"},
        {"24:00-02:00", "at character 1:"},
        {"08:00-24:01", "at character 7:"},
        {"08:00-08:00", "at character 12:"},
        {"08:00-20:00 x", "at character 13:"},
        {"08:00-20:00;", "at character 13:"},
        {"08:00-20:00,", "at character 13:"},
        {"Mon,,Tue 08:00-20:00", "at character 5:"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_schedule_t schedule;
        helio_error_t err = {0};
        if (helio_schedule_parse(helio_text_of(cases[i].text), &schedule, &err) != HELIO_INVALID ||
            strncmp(err.text, cases[i].place, strlen(cases[i].place)) != 0)
            fail_msg("'%s': %s", cases[i].text, err.text);
    }
    char many[HELIO_SCHEDULE_TEXT_MAX + 2];
    memset(many, ' ', sizeof many);
    helio_schedule_t schedule;
    assert_int_equal(helio_schedule_parse((helio_text_t){many, sizeof many}, &schedule, NULL), HELIO_TOO_BIG);
    (void)snprintf(many, sizeof many, "00:00-00:01");
    for (int i = 1; i < 40 && strlen(many) + 12 < sizeof many; i++)
        (void)snprintf(many + strlen(many), sizeof many - strlen(many), ",00:00-00:01");
    assert_int_equal(helio_schedule_parse(helio_text_of(many), &schedule, NULL), HELIO_OK); /* 21 ranges fit the text */
}

static void schedule__intervals_end_after_400_days(void **state)
{
    (void)state;
    helio_zone_t *zone = helio_zone_fixed(0);
    helio_schedule_t schedule;
    assert_int_equal(helio_schedule_parse(HELIO_TEXT("08:00-20:00"), &schedule, NULL), HELIO_OK);
    helio_interval_t *found;
    assert_int_equal(helio_schedule_intervals(&schedule, zone, 0, INT64_C(100000) * 86400000, arena, &found), 400);
    assert_int_equal(helio_schedule_intervals(&schedule, zone, 1000, 1000, arena, &found), 0);
    assert_int_equal(helio_schedule_intervals(&schedule, zone, 2000, 1000, arena, &found), 0);
    helio_zone_destroy(&zone);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(schedule__gives_the_utc_hours_of_its_local_times),
        TEST(schedule__follows_the_clock_change_of_new_york_in_november),
        TEST(schedule__bad_text_is_refused_with_its_place),
        TEST(schedule__intervals_end_after_400_days),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
