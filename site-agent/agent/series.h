/*  series.h -- constant series from the figures of a site file, for sites without feeds. Pure. */
#ifndef HELIO_AGENT_SERIES_H
#define HELIO_AGENT_SERIES_H

#include "site-agent/core/agent_core.h"

enum { HELIO_STATIC_HOURS = 48 };

/*  Hourly, from the running hour on: carbon (when known), electricity, PUE, and the price of each pool that
 * has one. power_w stays unknown (-1). Everything lives in the arena, names in the profile. */
void helio_static_series(const helio_site_profile_t *profile, int64_t wall_ms, helio_arena_t *arena,
                         helio_aev_series_t *ret_series);
/*  Appends the series of `more` to those of *series, which is in the arena; views are shared. As many as one
 * event may have. */
void helio_series_add(helio_aev_series_t *series, const helio_aev_series_t *more, helio_arena_t *arena);

#endif
