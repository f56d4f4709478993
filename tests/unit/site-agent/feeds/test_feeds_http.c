/*  test_feeds_http.c -- invalid answers, and the conversion of each signal into the site's series. */
#include "tests/unit/site-agent/feeds/feeds_testing.h"

#define GOOD "{\"data\":[{\"t\":\"2026-11-21T06:00:00Z\",\"v\":410},{\"t\":\"2026-11-21T07:00:00Z\",\"v\":420}]}"

static uint32_t requests(void)
{
    assert_int_equal(pthread_mutex_lock(&server->lock), 0);
    uint32_t count = server->request_count;
    assert_int_equal(pthread_mutex_unlock(&server->lock), 0);
    return count;
}

static void forget_requests(void)
{
    assert_int_equal(pthread_mutex_lock(&server->lock), 0);
    server->request_count = 0;
    assert_int_equal(pthread_mutex_unlock(&server->lock), 0);
    notes[0] = '\0';
    note_count = 0;
}

/*  The feed fails, and the figure of the site file takes its place. */
static bool has_no_data(const helio_series_t *series)
{
    return series->feed_state == HELIO_FEED_STATE_NO_DATA && series->last_value_ms && series->values.items[0] == 300;
}

/*  A body with values does not make an answer of a status that says otherwise. A redirection is not followed:
 * the site file names the host that a token goes to. */
static void feeds__take_nothing_from_an_answer_whose_status_is_not_ok(void **state)
{
    (void)state;
    static const int statuses[] = {201, 206, 301, 302, 303, 307, 308, 400, 404, 408, 418, 429, 500, 502, 503, 599};
    say("/elsewhere", 200, GOOD, NULL);
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        char expected[64];
        (void)snprintf(expected, sizeof expected, "HTTP status %d", statuses[i]);
        say("/past", statuses[i], GOOD, NULL);
        open_feeds(JSON_FEED(""));
        assert_true(turn_until(has_note));
        if (!strstr(notes, expected))
            fail_msg("status %d: %s", statuses[i], notes);
        assert_true(has_no_data(carbon()));
        assert_int_equal(requests(), 1);
        helio_feeds_destroy(&feeds);
        forget_requests();
    }
}

/*  What came is whole JSON; but more was promised, and it may have been a newer value. */
static void feeds__take_nothing_from_an_answer_that_was_cut_off(void **state)
{
    (void)state;
    say("/past", 200, GOOD, NULL);
    cut_off(1);
    open_feeds(JSON_FEED(""));
    assert_true(turn_until(has_note));
    assert_non_null(strstr(notes, "[fails "));
    assert_true(has_no_data(carbon()));
}

static bool has_carbon(void)
{
    return near(carbon()->values.items[0], 420);
}

/*  One feed is dead, one never answers and one works: none affects another. */
static void feeds__of_one_site_do_not_hold_one_another_up(void **state)
{
    (void)state;
    say("/past", 200, GOOD, NULL);
    say("/dead", 500, "", NULL);
    say("/mute", 0, NULL, NULL);
    open_feeds("{signal: electricity, source: http-json, unit: USD/kWh, name: mute, timeout: 60s, url: "
               "\"@URL/mute\", "
               "fields: {list: data, time: t, value: v}}, "
               "{signal: pue, source: http-json, name: dead, timeout: 5s, url: \"@URL/dead\", "
               "fields: {list: data, time: t, value: v}}, " JSON_FEED(""));
    assert_true(turn_until(has_carbon));
    assert_true(turn_until(has_note));
    assert_non_null(strstr(notes, "HTTP status 500"));
    assert_int_equal(note_count, 1); /* the mute one has most of a minute yet */
}

/*  Each signal in a unit that is not its own, out of a file. */
static void feeds__become_the_series_of_their_signal_in_its_own_unit(void **state)
{
    (void)state;
    static const struct {
        const char *feed;
        uint32_t signal;
        const char *pool;
        double value; /* of 2 in the file */
    } rows[] = {
        {"signal: carbon, unit: lb/MWh", HELIO_SIGNAL_CARBON, "", 2 * 0.45359237},
        {"signal: carbon, unit: t/MWh", HELIO_SIGNAL_CARBON, "", 2000},
        {"signal: carbon", HELIO_SIGNAL_CARBON, "", 2},
        {"signal: electricity, unit: USD/MWh", HELIO_SIGNAL_ELECTRICITY, "", 0.002},
        {"signal: electricity, unit: EUR/kWh, usd_per_eur: 1.25", HELIO_SIGNAL_ELECTRICITY, "", 2.5},
        {"signal: electricity, unit: EUR/MWh, usd_per_eur: 1.25", HELIO_SIGNAL_ELECTRICITY, "", 0.0025},
        {"signal: price, pool: p", HELIO_SIGNAL_PRICE, "p", 2},
        {"signal: price, pool: p, unit: EUR/GPU-h, usd_per_eur: 1.25", HELIO_SIGNAL_PRICE, "p", 2.5},
        {"signal: pue", HELIO_SIGNAL_PUE, "", 2},
    };
    (void)put_file("data.csv", 0644, "time,value\n2026-11-21T06:00:00Z,2\n2026-11-21T07:00:00Z,2\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char feed[256], history[128];
        (void)snprintf(feed, sizeof feed, "{%s, name: f%zu, source: csv, path: @DIR/data.csv}", rows[i].feed, i);
        open_feeds(feed);
        answered();
        (void)carbon();
        const helio_series_t *found = NULL;
        for (uint32_t n = 0; n < published.series.count; n++)
            if (published.series.items[n].signal == rows[i].signal &&
                helio_text_is(published.series.items[n].pool, rows[i].pool))
                found = &published.series.items[n];
        if (!found || !near(found->values.items[0], rows[i].value) || !near(found->values.items[47], rows[i].value))
            fail_msg("%s: %g", rows[i].feed, found ? found->values.items[0] : NAN);
        helio_feeds_destroy(&feeds);
        (void)snprintf(history, sizeof history, "%s/feeds.history", directory);
        (void)unlink(history);
    }
}

static void feeds__of_power_are_the_sites_power_while_they_are_fresh(void **state)
{
    (void)state;
    (void)put_file("data.csv", 0644, "time,value\n2026-11-21T06:00:00Z,11\n2026-11-21T07:00:00Z,12\n");
    open_feeds("{signal: power, unit: kW, source: csv, path: @DIR/data.csv}");
    (void)carbon();
    assert_true(published.power_w < 0);
    answered();
    (void)carbon();
    assert_true(near(published.power_w, 12000));
    wall += 2 * H;
    (void)carbon();
    assert_true(near(published.power_w, 12000));
    wall += H; /* what was true three hours ago is not known to be so now */
    (void)carbon();
    assert_true(published.power_w < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(feeds__take_nothing_from_an_answer_whose_status_is_not_ok),
        TEST(feeds__take_nothing_from_an_answer_that_was_cut_off),
        TEST(feeds__of_one_site_do_not_hold_one_another_up),
        TEST(feeds__become_the_series_of_their_signal_in_its_own_unit),
        TEST(feeds__of_power_are_the_sites_power_while_they_are_fresh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
