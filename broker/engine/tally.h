/*  tally.h -- what the rows that leave the core add up to since this broker started, for /metrics: what was
 * booked, what baselines would have used, which candidates were rejected, how long it took to place. Decides
 * nothing. */
#ifndef HELIO_BROKER_ENGINE_TALLY_H
#define HELIO_BROKER_ENGINE_TALLY_H

#include "broker/model/effects.h"
#include "broker/model/events.h"
#include "federation/base/histogram.h"
#include "federation/base/step.h"

/*  Of jobs that ended and have such a baseline, in one kind of intensity. */
typedef struct helio_tally_baseline {
    int64_t carbon_mg_saved; /* may be below zero */
    int64_t micro_usd_saved;
} helio_tally_baseline_t;

typedef struct helio_tally {
    uint64_t gpu_ms; /* booked to jobs, fenced attempts and transfers too */
    uint64_t energy_j;
    uint64_t carbon_mg;
    int64_t cost_micro_usd; /* may fall: electricity has negative prices */
    helio_tally_baseline_t home, earliest_start;
    uint64_t rejected[HELIO_REJECTION_COUNT]; /* candidates of decisions that were written */
    helio_histogram_t placing_us;             /* steps of the core that placed jobs */
} helio_tally_t;
extern const helio_bounds_t helio_tally_placing_bounds; /* us */

/*  After a step of the core, which took so long. */
void helio_tally_step(helio_tally_t *self, const helio_effects_t *effects, uint64_t step_us);

#endif
