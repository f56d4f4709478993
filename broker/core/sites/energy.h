/*  energy.h -- the energy of past hours that no job is charged for, and the meters of sites. */
#ifndef HELIO_BROKER_CORE_SITES_ENERGY_H
#define HELIO_BROKER_CORE_SITES_ENERGY_H

#include "broker/core/state/nouns.h"
#include "federation/model/site.h"

bool core_energy_is_of(const helio_series_t *series);
/*  False: the site said exactly this last. */
bool core_energy_is_news(const site_t *site, const helio_series_t *series);
void core_energy_take(helio_broker_core_t *self, site_t *site, const helio_series_t *series);
void core_energy_issues_free(site_t *site);

#endif
