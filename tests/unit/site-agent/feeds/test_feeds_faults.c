/*  test_feeds_faults.c -- feeds that fail, and what survives. */
#include "tests/unit/site-agent/feeds/feeds_testing.h"

/* ---- a site with feeds --------------------------------------------------------------------------------- */

static void move(int64_t by_ms)
{
    wall += by_ms;
    boot += by_ms;
}

static bool has_two_notes(void)
{
    return note_count > 1;
}

static bool is_idle(void)
{
    return helio_feeds_next_ms(feeds) - boot > 30000;
}

static void feeds__a_dead_source_is_logged_once_and_its_last_day_repeats(void **state)
{
    (void)state;
    say("/past", 200,
        "{\"data\":[{\"t\":\"2026-11-21T06:00:00Z\",\"v\":410},{\"t\":\"2026-11-21T07:00:00Z\",\"v\":420}]}", NULL);
    open_feeds(JSON_FEED(""));
    answered();
    (void)carbon();
    say("/past", 500, "down", NULL);
    move(15 * 60000);
    assert_true(turn_until(has_note));
    assert_true(strcmp(notes, "[fails HTTP status 500]") == 0);
    for (int i = 0; i < 4; i++) { /* it keeps failing, and no note repeats that */
        move(15 * 60000);
        helio_feeds_process(feeds, boot, wall);
        (void)carbon();
        assert_true(turn_until(is_idle)); /* otherwise a late failure would begin a pause that no move skips */
    }
    move(3 * H);
    const helio_series_t *series = carbon();
    assert_true(series->estimated && series->feed_state == HELIO_FEED_STATE_LAST_GOOD);
    assert_true(helio_text_is(series->source, "grid") && series->last_value_ms == INT64_C(1795244400000));
    assert_true(near(series->values.items[0], 415)); /* two other hours are known: their mean */
    assert_int_equal(note_count, 1);
    say("/past", 200, "{\"data\":[{\"t\":\"2026-11-21T11:00:00Z\",\"v\":500}]}", NULL);
    move(H);
    assert_true(turn_until(has_two_notes));
    assert_non_null(strstr(notes, "[well ]"));
    assert_true(near(carbon()->values.items[0], 500) || !carbon()->estimated);
}

static void feeds__bad_responses_are_logged_and_change_nothing(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *body, *note;
    } cases[] = {
        {200, "<html>maintenance</html>", "not JSON"},
        {200, "{\"data\":[]}", "the answer contains no value"},
        {200, "{\"other\":[]}", "the answer has no list at 'data'"},
        {200, "{\"data\":[{\"t\":\"1999-01-01T00:00:00Z\",\"v\":1}]}", "none of its values is for the last 35"},
        {403, "{\"data\":[{\"t\":\"2026-11-21T07:00:00Z\",\"v\":1}]}", "HTTP status 403"},
        {204, "", "HTTP status 204"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        say("/past", cases[i].status, cases[i].body, NULL);
        open_feeds(JSON_FEED(""));
        assert_true(turn_until(has_note));
        if (!strstr(notes, cases[i].note))
            fail_msg("case %zu: %s", i, notes);
        assert_true(has_news()); /* that it fails is published at once */
        const helio_series_t *series = carbon();
        assert_true(series->feed_state == HELIO_FEED_STATE_NO_DATA && series->last_value_ms && series->estimated);
        assert_true(series->values.items[0] == 300);
        helio_feeds_destroy(&feeds);
        notes[0] = '\0';
        note_count = 0;
    }
}

static void feeds__an_endless_or_missing_response_is_cut_off(void **state)
{
    (void)state;
    say("/past", 200, "{\"data\":[", NULL);
    pad(((size_t)8 << 20) + 1);
    open_feeds(JSON_FEED(""));
    assert_true(turn_until(has_note));
    assert_non_null(strstr(notes, "larger than"));
    helio_feeds_destroy(&feeds);
    note_count = 0;
    say("/past", 0, NULL, NULL);
    open_feeds("{signal: carbon, source: http-json, timeout: 200ms, url: \"@URL/past\", fields: {list: data, "
               "time: t, value: v}}");
    int64_t begun = helio_clock_boot_ms();
    helio_feeds_process(feeds, boot, wall);
    assert_true(helio_clock_boot_ms() - begun < 150); /* nobody waits for it */
    assert_true(turn_until(has_note));
    assert_non_null(strstr(notes, "timed out"));
    helio_feeds_destroy(&feeds);
    note_count = 0;
    open_feeds("{signal: carbon, source: http-json, url: \"http://127.0.0.1:1/\", fields: {list: data, time: "
               "t, value: v}}");
    assert_true(turn_until(has_note));
}

static void feeds__programs_that_fail_or_hang_are_logged(void **state)
{
    (void)state;
    static const struct {
        const char *program, *note;
    } cases[] = {{"#!/bin/sh\necho quota exceeded >&2\nexit 3\n", "failed (exit 3): quota exceeded"},
                 {"#!/bin/sh\nexec tail -f /dev/null\n", "took too long"},
                 {"#!/bin/sh\nexec yes\n", "printed too much"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)put_file("program", 0755, cases[i].program);
        open_feeds("{signal: carbon, source: exec, timeout: 3s, command: [@DIR/program]}");
        bool told = turn_until(has_note);
        if (!told || !strstr(notes, cases[i].note))
            fail_msg("case %zu: %s", i, notes);
        helio_feeds_destroy(&feeds);
        notes[0] = '\0';
        note_count = 0;
    }
    open_feeds("{signal: carbon, source: csv, path: @DIR/nosuch.csv}");
    assert_true(turn_until(has_note));
    assert_non_null(strstr(notes, "No such file"));
}

static void feeds__the_history_survives_a_restart(void **state)
{
    (void)state;
    say("/past", 200,
        "{\"data\":[{\"t\":\"2026-11-21T06:00:00Z\",\"v\":410},{\"t\":\"2026-11-21T07:00:00Z\",\"v\":420}]}", NULL);
    open_feeds(JSON_FEED(""));
    answered();
    helio_feeds_destroy(&feeds);
    say("/past", 500, "", NULL);
    move(H);
    open_feeds(JSON_FEED(""));
    const helio_series_t *series = carbon(); /* before any answer */
    assert_true(near(series->values.items[0], 415) && helio_text_is(series->source, "grid, built-in forecast"));
    helio_feeds_destroy(&feeds);
    (void)put_file("feeds.history", 0600, "not what it was");
    open_feeds(JSON_FEED(""));
    assert_non_null(strstr(notes, "damaged"));
    assert_true(helio_text_is(carbon()->source, "static"));
}

static void feeds__the_delay_after_failures_grows_up_to_the_period(void **state)
{
    (void)state;
    static const int64_t minutes[] = {1, 2, 4, 8, 15}; /* a further one would be behind the next hour */
    say("/past", 500, "", NULL);
    open_feeds(JSON_FEED(""));
    (void)carbon();
    for (size_t i = 0; i < sizeof minutes / sizeof minutes[0]; i++) {
        assert_true(i > 0 || turn_until(has_note));
        /* the round is over once the feeds wait for the next one */
        int64_t began = helio_clock_boot_ms();
        while (helio_feeds_next_ms(feeds) - boot < 50000 && helio_clock_boot_ms() - began < PATIENCE_MS) {
            struct pollfd fd = {.fd = helio_feeds_fd(feeds), .events = POLLIN};
            (void)poll(&fd, 1, 5);
            helio_feeds_process(feeds, boot, wall);
            if (helio_feeds_news(feeds, wall))
                (void)carbon();
        }
        int64_t wait = helio_feeds_next_ms(feeds) - boot;
        if (wait < minutes[i] * 60000 - 5000 || wait > minutes[i] * 60000)
            fail_msg("after failure %zu it waits %lld ms", i + 1, (long long)wait);
        move(wait);
        (void)carbon();
        helio_feeds_process(feeds, boot, wall);
    }
    assert_int_equal(note_count, 1);
}

static void feeds__a_missing_time_zone_that_is_needed_is_an_error(void **state)
{
    (void)state;
    site_file_t *site =
        read_site("name: a\ntimezone: Europe/Nowhere\npools: [{name: p, gpu: A, nodes: 1, gpus_per_node: 8}]\n"
                  "windows: [{pool: p, reserve_gpus: 1}]\n",
                  arena);
    helio_feeds_options_t options = {
        .settings = &site->feeds, .profile = &site->site, .now_boot_ms = boot, .wall_ms = wall};
    helio_error_t err = {0};
    assert_int_equal(helio_feeds_new(&options, &feeds, &err), HELIO_NOT_FOUND);
    assert_non_null(strstr(err.text, "Europe/Nowhere"));
    site->feeds.windows.count = 0; /* nobody needs it */
    assert_int_equal(helio_feeds_new(&options, &feeds, &err), HELIO_OK);
    helio_feeds_process(feeds, boot, wall);
    (void)carbon();
    assert_true(helio_feeds_next_ms(feeds) - boot == 12 * H); /* nothing changes by the hour */
    helio_feeds_destroy(&feeds);
    site->site.timezone = HELIO_TEXT("UTC");
    site->feeds.windows.count = 1;
    options.zones = "/nonexistent";
    assert_int_equal(helio_feeds_new(&options, &feeds, &err), HELIO_OK); /* UTC needs no data */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(feeds__a_dead_source_is_logged_once_and_its_last_day_repeats),
        TEST(feeds__bad_responses_are_logged_and_change_nothing),
        TEST(feeds__an_endless_or_missing_response_is_cut_off),
        TEST(feeds__programs_that_fail_or_hang_are_logged),
        TEST(feeds__the_history_survives_a_restart),
        TEST(feeds__the_delay_after_failures_grows_up_to_the_period),
        TEST(feeds__a_missing_time_zone_that_is_needed_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
