/*  tally.h -- totals of the rows that the core has emitted since this broker started, for /metrics: what was charged,
 *  what baselines would have used, which candidates were rejected, and how long placing took. Decides nothing. */
#ifndef HELIO_BROKER_ENGINE_TALLY_H
#define HELIO_BROKER_ENGINE_TALLY_H

#include "broker/model/effects.h"
#include "broker/model/events.h"
#include "federation/base/histogram.h"
#include "federation/base/step.h"

/*  Sums over the jobs that ended and have this baseline, of one kind of intensity. */
typedef struct helio_tally_baseline {
    int64_t carbon_mg_saved; /* can be below zero */
    int64_t micro_usd_saved;
} helio_tally_baseline_t;

typedef struct helio_tally_sum {
    uint64_t total;
    uint64_t reversed; /* part of total: taken back, and not used up again */
} helio_tally_sum_t;

typedef struct helio_tally {
    helio_tally_sum_t gpu_ms; /* charged to jobs, with fenced attempts and transfers */
    helio_tally_sum_t energy_j;
    helio_tally_sum_t carbon_mg;
    int64_t cost_micro_usd; /* can fall: electricity can have a negative price */
    helio_tally_baseline_t home, earliest_start;
    uint64_t rejected[HELIO_REJECTION_COUNT]; /* candidates of stored decisions */
    helio_histogram_t placing_us;             /* time of the core's steps that placed jobs */
} helio_tally_t;
extern const helio_bounds_t helio_tally_placing_bounds; /* microseconds */

/*  Adds the effects of one step of the core. step_us: the duration of that step. */
void helio_tally_step(helio_tally_t *self, const helio_effects_t *effects, uint64_t step_us);

#endif
