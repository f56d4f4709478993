/*  pool_forecast.h -- the hours ahead of a pool, from the series of its site. */
#ifndef HELIO_BROKER_CORE_FORECAST_POOL_FORECAST_H
#define HELIO_BROKER_CORE_FORECAST_POOL_FORECAST_H

#include "broker/core/state/nouns.h"
#include "federation/policy/pool_forecast.h"

/*  The forecast of the pool from this hour on. Valid until the site's series or profile change. */
const helio_pool_forecast_t *core_pool_forecast(helio_broker_core_t *self, const site_t *site, pool_t *pool);
void core_site_series_free(site_t *site);

#endif
