/*  hours.c -- the grid of the virtual world: true hourly intensity, and the noisy forecasts of it. */
#include "simulator/workload/hours.h"

enum { FIRST_HOUR_MS = 110000, FORECAST_HOURS = 4, FORECAST_MS = 20000, RESERVED_MINUTES = 8 };

bool sim_hours_differ(uint64_t seed)
{
    return seed % 2 == 1;
}

int64_t sim_hours_begin_wall_ms(uint64_t seed)
{
    return SIM_HOUR_WALL_MS - (sim_hours_differ(seed) ? FIRST_HOUR_MS : 0);
}

uint64_t sim_hours_truth(const sim_engine_t *engine, uint32_t site, int64_t hour_ms)
{
    return sim_draw(engine, 1000 + site, (uint64_t)(hour_ms / 3600000)) % 900;
}

/*  Hourly intensity, with noise that differs from issue to issue. */
static helio_series_t forecast(sim_engine_t *engine, uint32_t site, int64_t wall_ms)
{
    int64_t issued_ms = wall_ms - wall_ms % FORECAST_MS, start_ms = wall_ms - wall_ms % 3600000;
    double *values = helio_arena_alloc(sim_arena(engine), FORECAST_HOURS, sizeof *values);
    for (int64_t h = 0; h < FORECAST_HOURS; h++) {
        uint64_t truth = sim_hours_truth(engine, site, start_ms + h * 3600000);
        uint64_t noise = sim_draw(engine, 2000 + site, (uint64_t)(issued_ms / FORECAST_MS + h)) % SIM_NOISE_G;
        values[h] = (double)(truth + noise);
    }
    return (helio_series_t){.signal = HELIO_SIGNAL_CARBON,
                            .kind = HELIO_TEXT("average"),
                            .issued_wall_ms = issued_ms,
                            .start_wall_ms = start_ms,
                            .step_s = 3600,
                            .values = {values, FORECAST_HOURS}};
}

static helio_series_t reserved(sim_engine_t *engine, uint32_t site, int64_t wall_ms)
{
    int64_t start_ms = wall_ms - wall_ms % 3600000;
    double *values = helio_arena_alloc(sim_arena(engine), HELIO_SERIES_POINTS_MAX, sizeof *values);
    for (int64_t m = 0; m < HELIO_SERIES_POINTS_MAX; m++) {
        int64_t minute = start_ms / 60000 + m;
        bool inside = minute < SIM_HOUR_WALL_MS / 60000 + RESERVED_MINUTES &&
                      sim_draw(engine, 3000 + site, (uint64_t)(minute / 2)) % 2 == 0;
        values[m] = inside ? (double)(4 + sim_draw(engine, 4000 + site, (uint64_t)(minute / 2)) % 9) : 0;
    }
    return (helio_series_t){.signal = HELIO_SIGNAL_RESERVED,
                            .pool = HELIO_TEXT("gpus"),
                            .issued_wall_ms = start_ms,
                            .start_wall_ms = start_ms,
                            .step_s = 60,
                            .values = {values, HELIO_SERIES_POINTS_MAX}};
}

void sim_hours_feed(sim_engine_t *engine, uint32_t site, int64_t wall_ms, helio_site_summary_t *summary)
{
    if (!sim_hours_differ(sim_seed(engine)))
        return;
    helio_series_t *series = helio_arena_alloc(sim_arena(engine), 2, sizeof *series);
    series[0] = forecast(engine, site, wall_ms);
    series[1] = reserved(engine, site, wall_ms);
    summary->series.items = series;
    summary->series.count = 2;
}
