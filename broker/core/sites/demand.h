/*  demand.h -- what waiting jobs need of a site's elastic pools, as the site hears it. */
#ifndef HELIO_BROKER_CORE_SITES_DEMAND_H
#define HELIO_BROKER_CORE_SITES_DEMAND_H

#include "broker/core/state/nouns.h"

/*  Asked at each summary of the site. Tells it if the demand has changed, and again after half a minute: an agent that
 *  hears nothing for longer takes it that nobody wants anything. */
void core_demand_tell(helio_broker_core_t *self, site_t *site);

#endif
