/*  pool_options.h -- takes the options of a site's pools: the partitions and features that its nodes have. */
#ifndef HELIO_BROKER_CORE_SITES_POOL_OPTIONS_H
#define HELIO_BROKER_CORE_SITES_POOL_OPTIONS_H

#include "broker/core/state/nouns.h"
#include "federation/model/site.h"

/*  Those of a summary, within what the site may have and how often it may change them. The rest counts as not reported:
 *  any value may be known there. It is counted, and operators are shown it. */
void core_pool_options_take(helio_broker_core_t *self, site_t *site, pool_t *pool,
                            const helio_pool_capacity_t *figures);
/*  Those of a new profile, which its pools have already. The first summary repeats them, so they are shown then. */
void core_pool_options_bound(site_t *site);
/*  True once after changes were left out because they came too often, when there is room again for all of the site. */
bool core_pool_options_are_wanted(helio_broker_core_t *self, site_t *site);

#endif
