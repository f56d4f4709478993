/*  compose_testing.h -- tracks of feeds with values that a test chooses, and the series that a site publishes from
 *  them, in virtual time. */
#ifndef HELIO_TESTS_SITE_AGENT_FEEDS_COMPOSE_TESTING_H
#define HELIO_TESTS_SITE_AGENT_FEEDS_COMPOSE_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "site-agent/feeds/compose.h"
#include "site-agent/feeds/store.h"
#include "tests/unit/site-agent/feeds/testing.h"

static const int64_t H = 3600000;
static helio_arena_t *arena;
static int64_t now; /* Saturday 2026-11-21T07:20Z */

static inline int begin(void **state)
{
    (void)state;
    arena = helio_arena_new();
    now = ms_of("2026-11-21T07:20:00Z");
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    helio_arena_destroy(&arena);
    return 0;
}

static inline helio_track_t *new_track(int64_t wall_ms)
{
    helio_track_t *track = helio_arena_alloc(arena, 1, sizeof *track);
    helio_track_begin(track, wall_ms);
    return track;
}

static inline uint32_t tell(helio_track_t *track, int64_t wall_ms, helio_point_t point)
{
    return helio_track_take(track, &(helio_points_t){&point, 1}, wall_ms);
}

/*  `days` whole days before the running hour, 100 + 10 h in UTC hour h. */
static inline void tell_days(helio_track_t *track, int64_t wall_ms, int days)
{
    uint32_t count = (uint32_t)days * 24;
    helio_point_t *points = helio_arena_alloc(arena, count, sizeof *points);
    int64_t hour = wall_ms / H;
    for (uint32_t i = 0; i < count; i++) {
        int64_t at = hour - (int64_t)i;
        points[i] = (helio_point_t){.time_ms = at * H, .value = 100 + 10 * (double)(at % 24)};
    }
    assert_int_equal(helio_track_take(track, &(helio_points_t){points, count}, wall_ms), count);
}

static inline helio_zone_t *zone_of(const char *name)
{
    static char bytes[HELIO_ZONE_BYTES_MAX];
    char path[128];
    (void)snprintf(path, sizeof path, "/usr/share/zoneinfo/%s", name);
    FILE *file = fopen(path, "r");
    if (!file) {
        print_message("SKIPPED: /usr/share/zoneinfo is missing (Debian: tzdata)\n");
        skip();
    }
    size_t size = fread(bytes, 1, sizeof bytes, file);
    assert_int_equal(fclose(file), 0);
    helio_zone_t *zone = NULL;
    assert_int_equal(helio_zone_parse((helio_text_t){bytes, (uint32_t)size}, &zone, NULL), HELIO_OK);
    return zone;
}

static inline const helio_series_t *find(const helio_aev_series_t *all, uint32_t signal, const char *pool)
{
    const helio_series_t *found = NULL;
    for (uint32_t i = 0; i < all->series.count; i++)
        if (all->series.items[i].signal == signal && helio_text_is(all->series.items[i].pool, pool)) {
            assert_null(found); /* each once */
            found = &all->series.items[i];
        }
    return found;
}

static inline helio_aev_series_t compose(const site_file_t *file, const helio_track_t *tracks, const helio_zone_t *zone,
                                         int64_t at)
{
    helio_aev_series_t all;
    helio_compose_t from = {.profile = &file->site, .settings = &file->feeds, .tracks = tracks, .zone = zone};
    helio_compose(&from, at, arena, &all);
    for (uint32_t i = 0; i < all.series.count; i++) {
        const helio_series_t *series = &all.series.items[i];
        uint32_t hours = series->values.count * series->step_s / 3600;
        assert_true(series->start_wall_ms == at / H * H);
        if (series->signal == HELIO_SIGNAL_RESERVED)
            assert_true(hours <= HELIO_COMPOSE_HOURS);
        else
            assert_true(series->step_s == 3600 && hours >= HELIO_COMPOSE_HOURS && hours <= HELIO_COMPOSE_HOURS_MAX);
        assert_true(series->issued_wall_ms >= series->start_wall_ms && series->issued_wall_ms <= at);
        assert_true(series->source.size <= 64);
        assert_true(series->p10.count == series->p90.count && (series->p10.count == 0 || series->p10.count == hours));
        for (uint32_t h = 0; h < series->values.count; h++) {
            assert_true(isfinite(series->values.items[h]));
            if (series->p10.count)
                assert_true(series->p10.items[h] <= series->values.items[h] &&
                            series->values.items[h] <= series->p90.items[h]);
        }
    }
    return all;
}

#define SITE                                                                                            \
    "name: a\nregion: DE\ntimezone: Europe/Berlin\npue: 1.2\ncarbon_g_per_kwh: "                        \
    "300\nelectricity_usd_per_kwh: 0.1\n"                                                               \
    "pools: [{name: p, gpu: H100, nodes: 4, gpus_per_node: 8, price_usd_per_gpu_h: 2}, {name: q, gpu: " \
    "A100, nodes: 2, "                                                                                  \
    "gpus_per_node: 4}]\n"

#define CARBON_FEED SITE "agent: {feeds: [{signal: carbon, source: http-json, map: electricitymaps}]}\n"

static char directory[64];

static inline int begin_directory(void **state)
{
    (void)snprintf(directory, sizeof directory, "/tmp/helio-feeds-XXXXXX");
    return begin(state) != 0 || !mkdtemp(directory);
}

static inline int end_directory(void **state)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/feeds.history", directory);
    (void)unlink(path);
    return end(state) != 0 || rmdir(directory) != 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define WITH_DIRECTORY(name) cmocka_unit_test_setup_teardown(name, begin_directory, end_directory)

#endif
