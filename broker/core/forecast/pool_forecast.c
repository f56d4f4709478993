/*  pool_forecast.c -- the latest series of a site as forecasts of its pools. A forecast is computed on demand and kept
 *  for the hour. */
#include "broker/core/forecast/pool_forecast.h"

#include <stdlib.h>

#include "broker/core/state/core.h"

const helio_pool_forecast_t *core_pool_forecast(helio_broker_core_t *self, const site_t *site, pool_t *pool)
{
    int64_t hour_ms = self->wall_ms - self->wall_ms % HELIO_HOUR_MS;
    if (!pool->pool_forecast)
        pool->pool_forecast = helio_new(1, sizeof *pool->pool_forecast);
    if (pool->pool_forecast_hour_ms != hour_ms) {
        helio_pool_forecast_make(pool->pool_forecast, &site->profile, &pool->info, site->series, site->series_count,
                                 self->wall_ms);
        pool->pool_forecast_hour_ms = hour_ms;
    }
    return pool->pool_forecast;
}

void core_site_series_free(site_t *site)
{
    for (uint32_t i = 0; i < site->series_count; i++)
        helio_arena_destroy(&site->series_arenas[i]);
    free(site->series_arenas);
    free(site->series);
    site->series = NULL;
    site->series_arenas = NULL;
    site->series_count = 0;
}
