/*  Feeds, tariff and windows as a site file says them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "site-agent/feeds/maps.h"
#include "tests/unit/site-agent/feeds/testing.h"
#include "tests/support/golden.h"
#include "tests/support/one_arena.h"

#define SITE                                                             \
    "name: oregon\nregion: US-CAL-CISO\ntimezone: America/Los_Angeles\n" \
    "pools: [{name: h100, gpu: H100, nodes: 2, gpus_per_node: 8}, {name: cpus, nodes: 1}]\n"

static void settings__a_map_fills_in_missing_values(void **state)
{
    (void)state;
    site_file_t *file = read_site(
        SITE "agent:\n"
             "  feeds:\n"
             "    - {signal: carbon, source: http-json, map: electricitymaps, secrets: {auth-token: em.token}}\n"
             "    - {signal: carbon, source: http-json, map: watttime, region: CAISO_NORTH, every: 5m,\n"
             "       login: {user: ada, password: /run/wt}}\n"
             "    - {signal: electricity, source: csv, path: p.csv, unit: EUR/MWh, usd_per_eur: 1.1}\n",
        arena);
    const helio_feed_t *em = &file->feeds.feeds.items[0], *wt = em + 1, *csv = em + 2;
    assert_true(helio_text_is(em->name, "electricitymaps") && helio_text_is(em->region, "US-CAL-CISO"));
    assert_true(helio_text_is(em->kind, "average") && helio_text_is(em->factor, "lifecycle"));
    assert_true(helio_text_is(em->secrets.items[0].value, "/etc/heliostat/em.token") && em->every_ms == 900000);
    assert_true(helio_text_is(wt->kind, "marginal") && helio_text_is(wt->unit, "lb/MWh") && wt->every_ms == 300000);
    assert_true(helio_text_is(wt->login.url, "https://api.watttime.org/login") &&
                helio_text_is(wt->region, "CAISO_NORTH"));
    double factor;
    assert_true(helio_feed_unit(wt, &factor) && near(factor * 1000, 453.59237));
    assert_true(helio_feed_unit(csv, &factor) && near(factor, 0.0011));
    assert_true(helio_text_is(csv->path, "/etc/heliostat/p.csv") && helio_text_is(csv->name, "csv"));
}

static void settings__every_map_is_among_the_words_of_the_table(void **state)
{
    (void)state;
    for (uint32_t i = 0; helio_feed_map_row(i); i++) {
        const helio_feed_map_t *map = helio_feed_map_row(i);
        char text[600];
        (void)snprintf(text, sizeof text, SITE "agent: {feeds: [{signal: carbon, source: http-json, map: %s%s}]}",
                       map->name, map->url ? "" : ", url: \"https://x.example/\"");
        (void)read_site(text, arena);
    }
}

static const struct {
    const char *text, *complaint;
} contradictions[] = {
    {"agent: {feeds: [{signal: carbon, source: static}]}", "feeds[0]: source static needs a value"},
    {"agent: {feeds: [{signal: carbon, source: csv}]}", "feeds[0]: source csv needs a path"},
    {"agent: {feeds: [{signal: carbon, source: exec}]}", "feeds[0]: source exec needs a command"},
    {"agent: {feeds: [{signal: carbon, source: http-json}]}", "needs a url"},
    {"agent: {feeds: [{signal: carbon, source: http-json, url: \"https://x/\"}]}", "needs fields.time"},
    {"agent: {feeds: [{signal: carbon, source: http-json, map: nosuch}]}", "electricitymaps"},
    {"agent: {feeds: [{signal: carbon, source: static, value: 1, unit: EUR/MWh}]}",
     "'EUR/MWh' is not a unit of carbon"},
    {"agent: {feeds: [{signal: price, source: static, value: 1}]}", "needs the name of one of the site's pools"},
    {"agent: {feeds: [{signal: price, pool: x9, source: static, value: 1}]}",
     "needs the name of one of the site's pools"},
    {"agent: {feeds: [{signal: pue, pool: h100, source: static, value: 1}]}", "only signal price can have a pool"},
    {"agent: {feeds: [{signal: price, pool: h100, source: http-json, map: watttime}]}", "is not a unit of price"},
    {"agent: {feeds: [{signal: carbon, source: static, value: 1}, {signal: carbon, source: static, "
     "value: 2}]}",
     "feeds[1]: feeds[0] delivers the same signal"},
    {"agent: {feeds: [{signal: carbon, source: static, value: 1}, {signal: carbon, factor: direct, "
     "source: static, value: 2}]}",
     "feeds[1]: feeds[0] delivers the same signal"},
    {"agent: {feeds: [{signal: carbon, source: http-json, map: carbon-aware-sdk, url: "
     "\"http://10.0.0.1/\", secrets: {a: b}}]}",
     "use https"},
    {"agent: {feeds: [{signal: carbon, source: http-json, map: carbon-aware-sdk, url: "
     "\"http://127.0.0.1.evil.example/\", "
     "secrets: {a: b}}]}",
     "use https"},
    {"agent: {feeds: [{signal: carbon, source: http-json, map: carbon-aware-sdk, url: "
     "\"file:///etc/passwd\"}]}",
     "must begin with https:// or http://"},
    {"agent: {feeds: [{signal: carbon, source: http-json, map: electricitymaps, headers: {\"a:b\": c}}]}",
     "cannot be the name of a header"},
    {"agent: {tariff: [{when: \"Mon 8-20\", usd_per_kwh: 1}]}", "at character 5"},
    {"windows: [{pool: x9, reserve_gpus: 4}]", "windows[0]: the site has no pool 'x9'"},
    {"windows: [{pool: cpus, reserve_gpus: 4}]", "has no GPUs"},
    {"windows: [{pool: h100, reserve_gpus: 4, when: Mon}]", "windows[0]: when: at character 4"},
    {"windows: [{pool: h100}]", "reserve_gpus"},
    {"windows: [{pool: h100, reserve_gpus: 4, peak_gpus: 4}]", "'peak_gpus' has no effect without a series"},
    {"windows: [{pool: h100, series: conv, peak_gpus: 4, when: Mon}]", "'when' has no effect with a series"},
    {"windows: [{pool: h100, series: conv, peak_gpus: 4}]", "no feed of signal load has the name 'conv'"},
};

static void settings__contradictions_are_refused_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof contradictions / sizeof contradictions[0]; i++) {
        char text[1000];
        site_file_t file;
        helio_error_t err = {0};
        (void)snprintf(text, sizeof text, SITE "%s\n", contradictions[i].text);
        if (try_site(text, arena, &file, &err) == HELIO_OK || !strstr(err.text, contradictions[i].complaint))
            fail_msg("%s: '%s'", contradictions[i].text, err.text);
    }
    site_file_t file;
    helio_error_t err = {0};
    assert_int_equal(
        try_site("name: a\ntimezone: ../etc/passwd\npools: [{name: p, gpu: A, nodes: 1, gpus_per_node: 8}]\n"
                 "windows: [{pool: p, reserve_gpus: 1}]\n",
                 arena, &file, &err),
        HELIO_INVALID);
}

static void settings__a_site_without_feeds_has_none(void **state)
{
    (void)state;
    site_file_t *file = read_site(SITE, arena);
    assert_int_equal(file->feeds.feeds.count + file->feeds.tariff.count + file->feeds.windows.count, 0);
}

static void reference__the_page_is_that_of_the_tables(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t page = {0};
    helio_feeds_reference(&page);
    golden_check("docs/reference/feeds.md", helio_buffer_view(&page));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(settings__a_map_fills_in_missing_values),      TEST(settings__every_map_is_among_the_words_of_the_table),
        TEST(settings__contradictions_are_refused_by_name), TEST(settings__a_site_without_feeds_has_none),
        TEST(reference__the_page_is_that_of_the_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
