/*  test_feeds.c -- feeds are asked as their services want it. */
#include "tests/unit/site-agent/feeds/feeds_testing.h"

/* ---- a site with feeds --------------------------------------------------------------------------------- */

static void feeds__a_source_is_requested_and_its_values_are_published(void **state)
{
    (void)state;
    say("/past", 200,
        "{\"data\":[{\"t\":\"2026-11-21T06:00:00Z\",\"v\":410},{\"t\":\"2026-11-21T07:00:00Z\",\"v\":420}]}", NULL);
    open_feeds(JSON_FEED(""));
    const helio_series_t *series = carbon(); /* the site file's figure stands until there is an answer */
    assert_true(helio_text_is(series->source, "static") && series->values.items[0] == 300);
    assert_true(turn_until(has_news));
    series = carbon();
    assert_true(near(series->values.items[0], 420) && helio_text_is(series->source, "grid, built-in forecast"));
    assert_false(helio_feeds_news(feeds, wall));
    assert_non_null(strstr(server->requests[0], "GET /past?zone=DE&from=2026-11-20T07:00Z HTTP/1.1\r\n"));
    assert_true(helio_feeds_news(feeds, wall + H)); /* another hour began */
    assert_int_equal(note_count, 0);
}

static void feeds__the_documented_services_get_their_documented_requests(void **state)
{
    (void)state;
    /* WattTime: a login by name and password, then a token with each request */
    (void)put_file("password", 0600, "correct horse\n");
    say("/login", 200, "{\"token\":\"tok.en-1\"}", "Authorization: Basic YWRhOmNvcnJlY3QgaG9yc2U=\r\n");
    say("/v3/historical", 200, "{\"data\":[{\"point_time\":\"2026-11-21T07:05:00+00:00\",\"value\":1000}],\"meta\":{}}",
        "Authorization: Bearer tok.en-1\r\n");
    say("/v3/forecast", 200, "{\"data\":[{\"point_time\":\"2026-11-21T08:00:00+00:00\",\"value\":2000}],\"meta\":{}}",
        "Authorization: Bearer tok.en-1\r\n");
    open_feeds("{signal: carbon, source: http-json, map: watttime, region: CAISO_NORTH, "
               "url: \"@URL/v3/historical?region={region}\", forecast_url: \"@URL/v3/forecast?region={region}\", "
               "login: {url: \"@URL/login\", user: ada, password: @DIR/password}}");
    answered();
    const helio_series_t *series = carbon();
    assert_true(helio_text_is(series->kind, "marginal") && helio_text_is(series->factor, "direct"));
    assert_true(near(series->values.items[0], 453.59237) && near(series->values.items[1], 907.18474));
    assert_int_equal(note_count, 0);
    assert_int_equal(server->request_count, 3);
    assert_null(strstr(server->requests[0], "Bearer"));
}

static void feeds__a_token_that_would_be_more_than_one_header_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"{\"token\":\"a\\r\\nX-Other: b\"}", "{\"token\":\"\"}", "{\"token\":1}",
                                      "{\"token\":\"a b\"}"};
    (void)put_file("password", 0600, "x");
    say("/past", 200, "{\"data\":[]}", NULL);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        say("/login", 200, bad[i], NULL);
        open_feeds("{signal: carbon, source: http-json, map: watttime, url: \"@URL/past\", "
                   "login: {url: \"@URL/login\", user: ada, password: @DIR/password}}");
        assert_true(turn_until(has_note));
        assert_non_null(strstr(notes, "login: "));
        helio_feeds_destroy(&feeds);
        notes[0] = '\0';
        note_count = 0;
    }
    assert_int_equal(server->request_count, 4); /* the logins alone */
}

static void feeds__a_token_in_a_file_is_sent_to_its_service_only(void **state)
{
    (void)state;
    (void)put_file("token", 0600, "canary-4711\n");
    say("/past", 200,
        "{\"zone\":\"DE\",\"history\":[{\"carbonIntensity\":302,\"datetime\":\"2026-11-21T07:00:00.000Z\","
        "\"isEstimated\":true}]}",
        "auth-token: canary-4711\r\n");
    say("/ahead", 302, "", NULL); /* a redirect is not followed */
    open_feeds("{signal: carbon, source: http-json, map: electricitymaps, url: \"@URL/past\", forecast_url: "
               "\"@URL/ahead\", "
               "secrets: {auth-token: @DIR/token}}");
    answered();
    const helio_series_t *series = carbon();
    assert_true(near(series->values.items[0], 302) && series->estimated && helio_text_is(series->kind, "average"));
    assert_int_equal(server->request_count, 2);
    assert_non_null(strstr(notes, "forecast: HTTP status 302"));
    assert_null(strstr(notes, "canary"));
}

static void feeds__a_secret_that_others_can_read_is_not_sent(void **state)
{
    (void)state;
    static const struct {
        mode_t mode;
        const char *text, *complaint;
    } cases[] = {{0644, "canary-4711\n", "chmod 600"}, {0600, "", "empty"}, {0600, "two\nlines\n", "not one line"}};
    char secret[HELIO_SECRET_MAX];
    helio_error_t err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *path = put_file("token", cases[i].mode, cases[i].text);
        assert_true(helio_secret_read(path, secret, &err) != HELIO_OK && strstr(err.text, cases[i].complaint));
        assert_null(strstr(err.text, "canary"));
    }
    assert_int_equal(helio_secret_read("/nonexistent", secret, &err), HELIO_NOT_FOUND);
    assert_int_equal(helio_secret_read(directory, secret, &err), HELIO_INVALID);
    (void)put_file("token", 0640, "canary-4711\n");
    open_feeds("{signal: carbon, source: http-json, map: electricitymaps, url: \"@URL/past\", secrets: "
               "{auth-token: @DIR/token}}");
    assert_true(turn_until(has_note));
    assert_int_equal(server->request_count, 0);
    assert_non_null(strstr(notes, "chmod 600"));
}

static void feeds__files_and_programs_are_sources_too(void **state)
{
    (void)state;
    (void)put_file("data.csv", 0644,
                   "region,time,value\nFR,2026-11-21T07:00:00Z,20\nDE,2026-11-21T07:00:00Z,350\n"
                   "DE,2026-11-21T08:00:00Z,360\n");
    open_feeds("{signal: carbon, source: csv, path: @DIR/data.csv}");
    answered();
    assert_true(near(carbon()->values.items[0], 350) && near(carbon()->values.items[1], 360));
    helio_feeds_destroy(&feeds);
    (void)put_file("program", 0755, "#!/bin/sh\nprintf 'time,value\\n2026-11-21T07:00:00Z,%s\\n' \"$1\"\n");
    open_feeds("{signal: carbon, source: exec, command: [@DIR/program, \"77; rm -rf /\"]}");
    assert_true(turn_until(has_note)); /* arguments are no shell's */
    assert_non_null(strstr(notes, "line 2: the number is invalid"));
    helio_feeds_destroy(&feeds);
    open_feeds("{signal: carbon, source: exec, command: [@DIR/program, \"77\"]}");
    answered();
    assert_true(near(carbon()->values.items[0], 77) && helio_text_is(carbon()->source, "exec, built-in forecast"));
    helio_feeds_destroy(&feeds);
    (void)put_file("program", 0755, "#!/bin/sh\necho '{\"now\":{\"at\":\"2026-11-21T07:00:00Z\",\"g\":81}}'\n");
    open_feeds("{signal: carbon, source: exec, json: true, command: [@DIR/program], fields: {list: now, "
               "time: at, value: g}}");
    answered();
    assert_true(near(carbon()->values.items[0], 81));
}

static void url__placeholders_are_filled_in_and_nothing_else_is(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *region, *url; /* NULL: refused */
    } cases[] = {
        {"https://x/{region}?a={now}&b={hour}", "DE", "https://x/DE?a=2026-11-21T07:00Z&b=2026-11-21T07:00Z"},
        {"https://x/{day_ago}/{in_48h}", "DE", "https://x/2026-11-20T07:00Z/2026-11-23T07:00Z"},
        {"https://x/{region}", "a/../b?c&d\r\n", "https://x/a%2F..%2Fb%3Fc%26d%0D%0A"},
        {"https://x/{token}", "DE", NULL},
        {"https://x/{region", "DE", NULL},
        {"https://x/{}", "DE", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
        helio_error_t err;
        helio_rc rc =
            helio_fetch_url(helio_text_of(cases[i].pattern), helio_text_of(cases[i].region), wall, &out, &err);
        if ((rc == HELIO_OK) != (cases[i].url != NULL) || (cases[i].url && strcmp(out.data, cases[i].url) != 0))
            fail_msg("%s: %s", cases[i].pattern, out.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(feeds__a_source_is_requested_and_its_values_are_published),
        TEST(feeds__the_documented_services_get_their_documented_requests),
        TEST(feeds__a_token_that_would_be_more_than_one_header_is_refused),
        TEST(feeds__a_token_in_a_file_is_sent_to_its_service_only),
        TEST(feeds__a_secret_that_others_can_read_is_not_sent),
        TEST(feeds__files_and_programs_are_sources_too),
        TEST(url__placeholders_are_filled_in_and_nothing_else_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
