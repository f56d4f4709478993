/*  clocks.h -- how far the clocks of sites differ from the leader's. No decision depends on it: operators are shown it,
 *  because hours are priced and windows begin by the site's clock. */
#ifndef HELIO_BROKER_CORE_SITES_CLOCKS_H
#define HELIO_BROKER_CORE_SITES_CLOCKS_H

#include "broker/core/state/nouns.h"
#include "broker/model/figures.h"

/*  wall_ms: what the site's clock showed when it sent the message that is being handled. */
int64_t core_clock_ahead_ms(const helio_broker_core_t *self, int64_t wall_ms);
/*  The sites in session whose clocks differ most. */
void core_clocks_figures(const helio_broker_core_t *self, helio_broker_figures_t *ret_figures);

#endif
