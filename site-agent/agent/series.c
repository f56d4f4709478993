#include "site-agent/agent/series.h"

#define HOUR_MS (INT64_C(3600) * 1000)

static helio_series_t *add(helio_aev_series_t *all, uint32_t signal, double value, int64_t wall_ms,
                           helio_arena_t *arena)
{
    helio_series_t *series = &all->series.items[all->series.count++];
    *series = (helio_series_t){.signal = signal,
                               .source = HELIO_TEXT("static"),
                               .issued_wall_ms = wall_ms,
                               .start_wall_ms = wall_ms - wall_ms % HOUR_MS,
                               .step_s = 3600};
    series->values.items = helio_arena_alloc(arena, HELIO_STATIC_HOURS, sizeof(double));
    series->values.count = HELIO_STATIC_HOURS;
    for (uint32_t i = 0; i < HELIO_STATIC_HOURS; i++)
        series->values.items[i] = value;
    return series;
}

void helio_static_series(const helio_site_profile_t *profile, int64_t wall_ms, helio_arena_t *arena,
                         helio_aev_series_t *ret_series)
{
    helio_aev_series_t all = {.power_w = -1};
    all.series.items = helio_arena_alloc(arena, 3 + (size_t)profile->pools.count, sizeof *all.series.items);
    if (profile->carbon_g_per_kwh >= 0) {
        helio_series_t *carbon = add(&all, HELIO_SIGNAL_CARBON, profile->carbon_g_per_kwh, wall_ms, arena);
        carbon->kind = HELIO_TEXT("average");
        carbon->factor = HELIO_TEXT("lifecycle");
        carbon->estimated = true; /* a yearly figure stands for every hour */
    }
    (void)add(&all, HELIO_SIGNAL_ELECTRICITY, profile->electricity_usd_per_kwh, wall_ms, arena);
    (void)add(&all, HELIO_SIGNAL_PUE, profile->pue, wall_ms, arena);
    for (uint32_t p = 0; p < profile->pools.count; p++)
        if (profile->pools.items[p].price_usd_per_gpu_h > 0)
            add(&all, HELIO_SIGNAL_PRICE, profile->pools.items[p].price_usd_per_gpu_h, wall_ms, arena)->pool =
                profile->pools.items[p].name;
    *ret_series = all;
}

void helio_series_add(helio_aev_series_t *series, const helio_aev_series_t *more, helio_arena_t *arena)
{
    uint32_t count = series->series.count, room = HELIO_SERIES_MAX - count,
             take = more->series.count < room ? more->series.count : room;
    helio_series_t *all = helio_arena_alloc(arena, count + take + 1, sizeof *all);
    for (uint32_t i = 0; i < count; i++)
        all[i] = series->series.items[i];
    for (uint32_t i = 0; i < take; i++)
        all[count + i] = more->series.items[i];
    series->series.items = all;
    series->series.count = count + take;
}
