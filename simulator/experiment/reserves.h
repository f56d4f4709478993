/*  reserves.h -- GPUs that sites keep for inference: `windows` of the fleet, by the clock or in the shape of a series of
 *  demand. They count by whole hours: an hour that a window touches is reserved completely. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_RESERVES_H
#define HELIO_SIMULATOR_EXPERIMENT_RESERVES_H

#include "simulator/experiment/fleet.h"
#include "simulator/experiment/series.h"

typedef struct exp_reserves exp_reserves_t;

/*  Of a fleet with windows; *ret_reserves is NULL if it has none. demand: by the names of series; NULL = none is given.
 *  The fleet must outlive them. */
HELIO_MUST_CHECK helio_rc exp_reserves_new(const exp_fleet_t *fleet, exp_series_set_t demand,
                                           exp_reserves_t **ret_reserves, helio_error_t *err);
void exp_reserves_destroy(exp_reserves_t **self_p);

bool exp_reserves_has(const exp_reserves_t *self, uint32_t site, uint32_t pool); /* the pool has windows */
/*  What is reserved in that hour; self may be NULL. */
uint32_t exp_reserves_at(const exp_reserves_t *self, uint32_t site, uint32_t pool, int64_t hour);

/*  What a site publishes while `hour` runs: of that hour as it is, and of the others by the clock and by the built-in
 *  forecast of demand; by their whole peak while nothing of the demand is known. true_hours: as they will be. */
void exp_reserves_publish(const exp_reserves_t *self, uint32_t site, uint32_t pool, int64_t hour, uint32_t count,
                          bool true_hours, helio_arena_t *arena, double *ret_gpus);

#endif
