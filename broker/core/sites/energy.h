/*  energy.h -- hours that are over, for the balance of the ledger. */
#ifndef HELIO_BROKER_CORE_SITES_ENERGY_H
#define HELIO_BROKER_CORE_SITES_ENERGY_H

#include "broker/core/state/nouns.h"
#include "federation/model/site.h"

/*  False: the series is another one, and nothing was taken. */
bool core_energy_take(helio_broker_core_t *self, site_t *site, const helio_series_t *series);
void core_accounted_free(site_t *site);

#endif
