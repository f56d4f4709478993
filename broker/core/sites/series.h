/*  series.h -- takes the series of a site. */
#ifndef HELIO_BROKER_CORE_SITES_SERIES_H
#define HELIO_BROKER_CORE_SITES_SERIES_H

#include "broker/core/state/nouns.h"
#include "federation/model/site.h"

/*  Only what is new is written, within what the site may send; the rest is counted, and operators are shown it. */
void core_series_take(helio_broker_core_t *self, site_t *site, const helio_series_t *series);
/*  True once after series were left out because they came too often, when there is room again for all of the site. */
bool core_series_are_wanted(helio_broker_core_t *self, site_t *site);

#endif
