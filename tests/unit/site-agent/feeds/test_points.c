/*  test_points.c -- answers of sources: valid ones, and ones that no source should give. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/rng.h"
#include "site-agent/feeds/points.h"
#include "tests/unit/site-agent/feeds/testing.h"
#include "tests/support/one_arena.h"

static const helio_feed_t *feed_of(const char *text)
{
    char file[1200];
    (void)snprintf(
        file, sizeof file,
        "name: a\nregion: DE\npools: [{name: p, gpu: A, nodes: 1, gpus_per_node: 8}]\nagent: {feeds: [%s]}\n", text);
    return &read_site(file, arena)->feeds.feeds.items[0];
}

static const char electricitymaps[] = "{signal: carbon, source: http-json, map: electricitymaps}";
static const char watttime[] = "{signal: carbon, source: http-json, map: watttime}";
static const char uk[] = "{signal: carbon, source: http-json, map: uk-carbon-intensity}";
static const char sdk[] = "{signal: carbon, source: http-json, map: carbon-aware-sdk, url: \"http://127.0.0.1/\"}";

typedef struct expected {
    const char *time;
    double value;
    bool forecast, estimated;
} expected_t;

static const struct {
    const char *feed;
    bool forecast;
    const char *answer;
    expected_t points[3];
    uint32_t count;
} services[] = {
    {electricitymaps,
     false,
     "{\"zone\":\"DE\",\"history\":[{\"zone\":\"DE\",\"carbonIntensity\":302,\"datetime\":\"2026-11-"
     "20T06:00:00.000Z\","
     "\"updatedAt\":\"2026-11-21T06:47:21.000Z\",\"createdAt\":\"2026-11-17T06:50:11.000Z\","
     "\"emissionFactorType\":"
     "\"lifecycle\",\"isEstimated\":false,\"estimationMethod\":null},{\"zone\":\"DE\","
     "\"carbonIntensity\":288,"
     "\"datetime\":\"2026-11-20T07:00:00.000Z\",\"updatedAt\":\"2026-11-21T06:47:21.000Z\",\"createdAt\":"
     "\"2026-11-17T07:50:11.000Z\",\"emissionFactorType\":\"lifecycle\",\"isEstimated\":true,"
     "\"estimationMethod\":"
     "\"TIME_SLICER_AVERAGE\"}]}",
     {{"2026-11-20T06:00:00Z", 302, false, false}, {"2026-11-20T07:00:00Z", 288, false, true}},
     2},
    {electricitymaps,
     true,
     "{\"zone\":\"DE\",\"forecast\":[{\"carbonIntensity\":326,\"datetime\":\"2026-11-21T08:00:00.000Z\"}]"
     ",\"updatedAt\":"
     "\"2026-11-21T07:05:02.000Z\"}",
     {{"2026-11-21T08:00:00Z", 326, true, false}},
     1},
    {watttime,
     false,
     "{\"data\":[{\"point_time\":\"2026-11-21T07:05:00+00:00\",\"value\":870.0,\"version\":\"2026-03-"
     "01\"},"
     "{\"point_time\":\"2026-11-21T07:10:00+00:00\",\"value\":null}],\"meta\":{\"region\":\"CAISO_"
     "NORTH\",\"signal_type\":"
     "\"co2_moer\",\"model\":{\"date\":\"2026-03-01\"},\"units\":\"lbs_co2_per_mwh\",\"data_point_period_"
     "seconds\":300}}",
     {{"2026-11-21T07:05:00Z", 870 * 0.45359237, false, false}},
     1},
    {watttime,
     true,
     "{\"data\":[{\"point_time\":\"2026-11-21T07:15:00+00:00\",\"value\":1000}],\"meta\":{\"generated_"
     "at\":"
     "\"2026-11-21T07:10:00+00:00\",\"units\":\"lbs_co2_per_mwh\"}}",
     {{"2026-11-21T07:15:00Z", 453.59237, true, false}},
     1},
    {uk,
     false,
     "{\"data\":[{\"from\":\"2026-11-21T06:30Z\",\"to\":\"2026-11-21T07:00Z\",\"intensity\":{"
     "\"forecast\":266,\"actual\":263,"
     "\"index\":\"moderate\"}},{\"from\":\"2026-11-21T07:00Z\",\"to\":\"2026-11-21T07:30Z\","
     "\"intensity\":{\"forecast\":270,"
     "\"actual\":null,\"index\":\"moderate\"}}]}",
     {{"2026-11-21T06:30:00Z", 263, false, false},
      {"2026-11-21T06:30:00Z", 266, true, false},
      {"2026-11-21T07:00:00Z", 270, true, false}},
     3},
    {sdk,
     false,
     "[{\"location\":\"westus\",\"time\":\"2026-11-21T07:00:00+00:00\",\"rating\":65.5}]",
     {{"2026-11-21T07:00:00Z", 65.5, false, false}},
     1},
    {sdk,
     true,
     "[{\"generatedAt\":\"2026-11-21T06:55:00+00:00\",\"forecastData\":[{\"location\":\"westus\","
     "\"timestamp\":"
     "\"2026-11-21T08:00:00+00:00\",\"duration\":60,\"value\":70.1}]}]",
     {{"2026-11-21T08:00:00Z", 70.1, true, false}},
     1},
    {"{signal: price, pool: p, source: http-json, url: \"http://127.0.0.1/\", unit: EUR/GPU-h, "
     "usd_per_eur: 1.5,"
     " fields: {list: a.1.b, time: t, value: v}}",
     false,
     "{\"a\":[0,{\"b\":{\"t\":1795244400,\"v\":\"2.5\"}}]}", /* one object in place of a list, numbers as
                                                                texts */
     {{"2026-11-21T07:00:00Z", 3.75, false, false}},
     1},
};

static void json__the_documented_maps_read_the_services_answers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof services / sizeof services[0]; i++) {
        helio_points_t points = {0};
        helio_error_t err = {0};
        if (helio_points_json(feed_of(services[i].feed), helio_text_of(services[i].answer), services[i].forecast, arena,
                              &points, &err) != HELIO_OK)
            fail_msg("case %zu: %s", i, err.text);
        if (points.count != services[i].count)
            fail_msg("case %zu: %u points", i, points.count);
        for (uint32_t n = 0; n < points.count; n++) {
            const expected_t *want = &services[i].points[n];
            const helio_point_t *got = &points.items[n];
            if (got->time_ms != ms_of(want->time) || !near(got->value, want->value) ||
                got->forecast != want->forecast || got->estimated != want->estimated)
                fail_msg("case %zu point %u: %lld %g", i, n, (long long)got->time_ms, got->value);
        }
    }
}

static void json__hostile_responses_are_refused_or_give_no_points(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        helio_rc rc;
    } cases[] = {
        {"", HELIO_INVALID},
        {"<html>", HELIO_INVALID},
        {"{\"data\":", HELIO_INVALID},
        {"{\"data\":[]} trailing", HELIO_INVALID},
        {"{\"data\":1}", HELIO_INVALID},
        {"{\"nothing\":[]}", HELIO_INVALID},
        {"[]", HELIO_INVALID},
        {"{\"data\":[],\"data\":[]}", HELIO_INVALID},
        {"{\"data\":[{\"point_time\":\"2026-11-21T07:00:00Z\",\"value\":1e999}]}", HELIO_INVALID},
        {"{\"data\":[]}", HELIO_OK},
        {"{\"data\":[1,null,\"x\",[],{},{\"value\":3},{\"point_time\":\"yesterday\",\"value\":3},{\"point_"
         "time\":1e300,"
         "\"value\":3},{\"point_time\":true,\"value\":3},{\"point_time\":\"2026-11-21T07:00:00Z\",\"value\":"
         "\"NaN\"},"
         "{\"point_time\":\"2026-11-21T07:00:00Z\",\"value\":{}}]}",
         HELIO_OK},
    };
    const helio_feed_t *feed = feed_of(watttime);
    helio_points_t points;
    helio_error_t err;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        points = (helio_points_t){NULL, 99};
        helio_rc rc = helio_points_json(feed, helio_text_of(cases[i].answer), false, arena, &points, &err);
        if (rc != cases[i].rc || points.count != (rc == HELIO_OK ? 0 : 99))
            fail_msg("%s: %s, %u points", cases[i].answer, helio_rc_name(rc), points.count);
    }
    char *deep = helio_new(100001, 1);
    memset(deep, '[', 100000);
    assert_int_equal(helio_points_json(feed, (helio_text_t){deep, 100000}, false, arena, &points, &err), HELIO_INVALID);
    free(deep);
    char *large = helio_new(HELIO_ANSWER_BYTES_MAX + 1, 1);
    assert_int_equal(
        helio_points_json(feed, (helio_text_t){large, HELIO_ANSWER_BYTES_MAX + 1}, false, arena, &points, &err),
        HELIO_TOO_BIG);
    free(large);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t many = {0};
    helio_buffer_text(&many, "{\"data\":[0");
    for (int i = 0; i < HELIO_POINTS_MAX; i++)
        helio_buffer_text(&many, ",0");
    helio_buffer_text(&many, "]}");
    assert_int_equal(helio_points_json(feed, helio_buffer_view(&many), false, arena, &points, &err), HELIO_TOO_BIG);
}

static void responses__that_are_truncated_do_no_harm(void **state)
{
    (void)state;
    static const char json[] = "{\"data\":[{\"point_time\":\"2026-11-21T07:05:00+00:00\",\"value\":870.5}]}";
    static const char csv[] = "region,time,value\nDE,2026-11-21T07:00:00Z,12.5\nFR,2026-11-21T07:00:00Z,50\n";
    const helio_feed_t *by_json = feed_of(watttime), *by_csv = feed_of("{signal: carbon, source: csv, path: x}");
    helio_points_t points;
    helio_error_t err;
    helio_rng_t rng = {3};
    helio_arena_t *scratch = helio_arena_new();
    for (int n = 0; n < 30000; n++) {
        bool is_json = n % 2;
        const char *whole = is_json ? json : csv;
        size_t size = is_json ? sizeof json - 1 : sizeof csv - 1, cut = helio_rng_below(&rng, size + 1);
        char *copy = helio_new(cut + 1, 1);
        memcpy(copy, whole, cut);
        if (n > 10000 && cut)
            copy[helio_rng_below(&rng, cut)] = (char)helio_rng_next(&rng);
        helio_text_t text = {copy, (uint32_t)cut};
        helio_rc rc = is_json ? helio_points_json(by_json, text, false, scratch, &points, &err)
                              : helio_points_csv(by_csv, text, scratch, &points, &err);
        for (uint32_t i = 0; rc == HELIO_OK && i < points.count; i++)
            assert_true(isfinite(points.items[i].value));
        helio_arena_reset(scratch);
        free(copy);
    }
    helio_arena_destroy(&scratch);
}

static void csv__the_forms_of_the_simulators_files_are_read(void **state)
{
    (void)state;
    const helio_feed_t *feed = feed_of("{signal: electricity, source: csv, path: x, unit: EUR/MWh, usd_per_eur: 1.08,"
                                       " time_column: utc_hour_iso8601, value_column: price_eur_mwh}");
    helio_points_t points;
    helio_error_t err = {0};
    helio_text_t file = HELIO_TEXT("\xef\xbb\xbfregion,utc_hour_iso8601,price_eur_mwh,price_local_mwh,currency\r\n"
                                   "AT,2026-11-21T07:00:00Z,99,99,EUR\r\n"
                                   "DE,2026-11-21T06:00:00Z,-20,-20,EUR\r\n"
                                   "\r\n"
                                   "DE,2026-11-21T07:00:00Z,,,\r\n"
                                   "DE,2026-11-21T08:00:00Z, 100 ,100,EUR");
    assert_int_equal(helio_points_csv(feed, file, arena, &points, &err), HELIO_OK);
    assert_int_equal(points.count, 2);
    assert_true(points.items[0].time_ms == ms_of("2026-11-21T06:00:00Z") && near(points.items[0].value, -0.0216));
    assert_true(points.items[1].time_ms == ms_of("2026-11-21T08:00:00Z") && near(points.items[1].value, 0.108));
    /* one column a zone, no region column */
    feed = feed_of("{signal: carbon, source: csv, path: x, time_column: utc_hour_iso8601, value_column: DE}");
    file = HELIO_TEXT("utc_hour_iso8601,AT,DE\n2026-11-21T06:00:00Z,1,2\n1795244400,3,4\n");
    assert_int_equal(helio_points_csv(feed, file, arena, &points, &err), HELIO_OK);
    assert_int_equal(points.count, 2);
    assert_true(near(points.items[1].value, 4) && points.items[1].time_ms == ms_of("2026-11-21T07:00:00Z"));
}

static void csv__a_catalogue_gives_the_price_of_one_instance_type(void **state)
{
    (void)state;
    helio_points_t points;
    helio_error_t err;
    static const char head[] = "{signal: price, pool: p, source: csv, path: x, region: us-west-2, time_column: hour,";
    char text[400];
    (void)snprintf(text, sizeof text, "%s value_column: spot_usd_h, where: {cloud: aws, instance: p4d}, divisor: 8}",
                   head);
    helio_text_t file = HELIO_TEXT("cloud,region,instance,hour,price_usd_h,spot_usd_h\n"
                                   "aws,us-west-2,p4d,2026-11-21T06:00:00Z,32.8,12.0\n"
                                   "aws,us-west-2,p5,2026-11-21T06:00:00Z,98,40\n"
                                   "gcp,us-west-2,p4d,2026-11-21T06:00:00Z,1,1\n"
                                   "aws,eu-north-1,p4d,2026-11-21T06:00:00Z,2,2\n"
                                   "aws,us-west-2,p4d,2026-11-21T07:00:00Z,32.8,16\n"
                                   "aws,us-west-2,p4d,2026-11-21T08:00:00Z,32.8,\n");
    assert_int_equal(helio_points_csv(feed_of(text), file, arena, &points, &err), HELIO_OK);
    assert_int_equal(points.count, 2); /* spot is not sold in the last hour */
    assert_true(near(points.items[0].value, 1.5) && near(points.items[1].value, 2));
    (void)snprintf(text, sizeof text, "%s value_column: price_usd_h, where: {cloud: aws, instance: p4d}, divisor: 8}",
                   head);
    assert_int_equal(helio_points_csv(feed_of(text), file, arena, &points, &err), HELIO_OK);
    assert_true(points.count == 3 && near(points.items[2].value, 4.1));
    (void)snprintf(text, sizeof text, "%s value_column: price_usd_h, where: {type: p4d}}", head);
    assert_int_equal(helio_points_csv(feed_of(text), file, arena, &points, &err), HELIO_INVALID);
    assert_string_equal(err.text, "line 1: no column 'type'");
}

static void csv__errors_name_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *file, *complaint;
    } cases[] = {
        {"", "empty"},
        {"when,value\n", "line 1: no column 'time'"},
        {"time,price\n", "line 1: no column 'value'"},
        {"time,value\n2026-11-21T07:00:00Z,1\nnever,2\n", "line 3: the time is invalid"},
        {"time,value\n2026-11-21T07:00:00Z,nan\n", "line 2: the number is invalid"},
        {"time,value\n2026-11-21T07:00:00Z,1e999\n", "line 2: the number is invalid"},
        {"time,value\n2026-11-21T07:00:00Z,0x10\n", "line 2: the number is invalid"},
    };
    const helio_feed_t *feed = feed_of("{signal: carbon, source: csv, path: x}");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_points_t points;
        helio_error_t err = {0};
        if (helio_points_csv(feed, helio_text_of(cases[i].file), arena, &points, &err) != HELIO_INVALID ||
            !strstr(err.text, cases[i].complaint))
            fail_msg("%s: %s", cases[i].file, err.text);
    }
}

/*  A header, then a point a minute from the epoch on whose value is its number. */
static void make_csv(helio_buffer_t *out, int points)
{
    helio_buffer_text(out, "time,value\n");
    for (int i = 0; i < points; i++)
        helio_buffer_printf(out, "%d,%d\n", i * 60, i);
}

static void csv__every_point_of_a_long_file_is_kept_and_one_too_many_refused(void **state)
{
    (void)state;
    const helio_feed_t *feed = feed_of("{signal: carbon, source: csv, path: x}");
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t most = {0}, more = {0};
    helio_points_t points = {0};
    make_csv(&most, HELIO_POINTS_MAX);
    assert_int_equal(helio_points_csv(feed, helio_buffer_view(&most), arena, &points, NULL), HELIO_OK);
    assert_int_equal(points.count, HELIO_POINTS_MAX);
    for (int i = 0; i < HELIO_POINTS_MAX; i++)
        if (points.items[i].time_ms != i * INT64_C(60000) || !near(points.items[i].value, i))
            fail_msg("point %d: %lld %g", i, (long long)points.items[i].time_ms, points.items[i].value);
    make_csv(&more, HELIO_POINTS_MAX + 1);
    points = (helio_points_t){NULL, 99};
    assert_int_equal(helio_points_csv(feed, helio_buffer_view(&more), arena, &points, NULL), HELIO_TOO_BIG);
    assert_int_equal(points.count, 99);
}

static void csv__a_file_or_a_header_that_is_too_large_is_refused_unread(void **state)
{
    (void)state;
    const helio_feed_t *feed = feed_of("{signal: carbon, source: csv, path: x}");
    helio_points_t points = {NULL, 99};
    char *large = helio_new(HELIO_ANSWER_BYTES_MAX + 1, 1);
    memset(large, '\n', HELIO_ANSWER_BYTES_MAX + 1);
    memcpy(large, "time,value", 10);
    assert_int_equal(helio_points_csv(feed, (helio_text_t){large, HELIO_ANSWER_BYTES_MAX + 1}, arena, &points, NULL),
                     HELIO_TOO_BIG);
    assert_int_equal(helio_points_csv(feed, (helio_text_t){large, HELIO_ANSWER_BYTES_MAX}, arena, &points, NULL),
                     HELIO_OK);
    assert_int_equal(points.count, 0);
    memset(large + 10, ',', 65536 - 9);
    assert_int_equal(helio_points_csv(feed, (helio_text_t){large, HELIO_ANSWER_BYTES_MAX}, arena, &points, NULL),
                     HELIO_TOO_BIG);
    free(large);
}

static void json__a_token_is_one_text(void **state)
{
    (void)state;
    helio_text_t token;
    helio_error_t err;
    assert_int_equal(helio_json_text(HELIO_TEXT("{\"token\":\"abc\"}"), HELIO_TEXT("token"), arena, &token, &err),
                     HELIO_OK);
    assert_true(helio_text_is(token, "abc"));
    assert_int_equal(helio_json_text(HELIO_TEXT("{\"token\":5}"), HELIO_TEXT("token"), arena, &token, &err),
                     HELIO_INVALID);
    assert_int_equal(helio_json_text(HELIO_TEXT("no"), HELIO_TEXT("token"), arena, &token, &err), HELIO_INVALID);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(json__the_documented_maps_read_the_services_answers),
        TEST(json__hostile_responses_are_refused_or_give_no_points),
        TEST(responses__that_are_truncated_do_no_harm),
        TEST(csv__the_forms_of_the_simulators_files_are_read),
        TEST(csv__a_catalogue_gives_the_price_of_one_instance_type),
        TEST(csv__errors_name_their_line),
        TEST(csv__every_point_of_a_long_file_is_kept_and_one_too_many_refused),
        TEST(csv__a_file_or_a_header_that_is_too_large_is_refused_unread),
        TEST(json__a_token_is_one_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
