/*  Time-zone files, schedules, and the answers of energy sources. The first byte says which. */
#include <math.h>
#include <stdlib.h>

#include "federation/energy/schedule.h"
#include "site-agent/feeds/points.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void zone(helio_text_t text, helio_arena_t *arena)
{
    helio_zone_t *parsed = NULL;
    helio_schedule_t schedule;
    helio_interval_t *intervals;
    if (helio_zone_parse(text, &parsed, NULL) != HELIO_OK)
        return;
    if (helio_schedule_parse(HELIO_TEXT("Fri..Mon 22:00-06:00"), &schedule, NULL) != HELIO_OK)
        abort();
    uint32_t count =
        helio_schedule_intervals(&schedule, parsed, INT64_C(1790000000000), INT64_C(1792000000000), arena, &intervals);
    for (uint32_t i = 0; i < count; i++)
        if (intervals[i].begin_ms >= intervals[i].end_ms || (i && intervals[i].begin_ms <= intervals[i - 1].end_ms))
            abort();
    int64_t first, second;
    (void)helio_zone_utc_s(parsed, INT64_C(1790000000), &first, &second);
    helio_zone_destroy(&parsed);
}

static void points(helio_text_t text, bool json, bool forecast, helio_arena_t *arena)
{
    static const helio_feed_t feed = {.signal = HELIO_FEED_CARBON,
                                      .unit = {"lb/MWh", 6},
                                      .region = {"DE", 2},
                                      .region_column = {"region", 6},
                                      .time_column = {"time", 4},
                                      .value_column = {"value", 5},
                                      .fields = {.list = {"data", 4},
                                                 .time = {"t", 1},
                                                 .value = {"v.0", 3},
                                                 .forecast = {"f", 1},
                                                 .forecast_time = {"t", 1},
                                                 .forecast_value = {"v", 1}}};
    helio_points_t found = {0};
    helio_error_t err;
    helio_rc rc = json ? helio_points_json(&feed, text, forecast, arena, &found, &err)
                       : helio_points_csv(&feed, text, arena, &found, &err);
    for (uint32_t i = 0; rc == HELIO_OK && i < found.count; i++)
        if (!isfinite(found.items[i].value))
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    helio_arena_t *arena = helio_arena_new();
    helio_text_t text = {(const char *)data + 1, (uint32_t)(size - 1)};
    helio_schedule_t schedule;
    if (data[0] % 4 == 0)
        zone(text, arena);
    else if (data[0] % 4 == 1)
        (void)!helio_schedule_parse(text, &schedule, NULL);
    else
        points(text, data[0] % 4 == 2, data[0] & 16, arena);
    helio_arena_destroy(&arena);
    return 0;
}
