/*  profile.h -- the profile of a site. Its pools are created from it, and freed with everything that points at them. */
#ifndef HELIO_BROKER_CORE_SITES_PROFILE_H
#define HELIO_BROKER_CORE_SITES_PROFILE_H

#include "broker/core/state/nouns.h"
#include "federation/model/site.h"

void core_sites_free(helio_broker_core_t *self);
void core_site_pools_free(helio_broker_core_t *self, site_t *site); /* and clears all pointers to them */
void core_site_take_profile(helio_broker_core_t *self, site_t *site, const helio_site_profile_t *profile);

#endif
