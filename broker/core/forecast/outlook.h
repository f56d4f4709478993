/*  outlook.h -- the hours ahead of a pool, by the series of its site. */
#ifndef HELIO_BROKER_CORE_FORECAST_OUTLOOK_H
#define HELIO_BROKER_CORE_FORECAST_OUTLOOK_H

#include "broker/core/state/nouns.h"
#include "federation/policy/outlook.h"

const helio_outlook_t *core_pool_outlook(helio_broker_core_t *self, const site_t *site, pool_t *pool);
void core_site_series_free(site_t *site);

#endif
