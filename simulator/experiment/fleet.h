/*  fleet.h -- the fleet file: a list of sites, each in the form of a site file. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_FLEET_H
#define HELIO_SIMULATOR_EXPERIMENT_FLEET_H

#include "federation/spec/spec.h"

typedef struct exp_fleet_site {
    helio_site_profile_t profile;
    helio_text_t price_region;    /* key into the price series; as the site's region unless given */
    helio_text_t forecast_region; /* into the forecasts, likewise */
} exp_fleet_site_t;

typedef struct exp_fleet {
    exp_fleet_site_t *items;
    uint32_t count;
} exp_fleet_t;

/*  What is not simulated yet (windows, links, elastic pools) is an error, because ignoring it would change figures.
 *  Everything lives in the arena. */
HELIO_MUST_CHECK helio_rc exp_fleet_parse(helio_spec_source_t source, helio_arena_t *arena, exp_fleet_t *ret_fleet,
                                          helio_diagnostics_t *ret_wrong);

/*  The index of a site; fleet->count if there is none. */
uint32_t exp_fleet_find(const exp_fleet_t *self, helio_text_t name);
uint64_t exp_fleet_gpus(const exp_fleet_t *self);
/*  Every pool with nodes gets so many times its nodes, rounded, and at least one. HELIO_TOO_BIG: more than a pool can
 *  have. */
HELIO_MUST_CHECK helio_rc exp_fleet_scale(exp_fleet_t *self, double factor);

#endif
