/*  series.h -- the latest series of a site. */
#ifndef HELIO_BROKER_CORE_SITES_SERIES_H
#define HELIO_BROKER_CORE_SITES_SERIES_H

#include "broker/core/state/nouns.h"
#include "federation/model/site.h"

void core_on_series(helio_broker_core_t *self, site_t *site, const helio_series_t *series);

#endif
