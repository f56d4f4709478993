/*  checks.h -- the promises of the federation, one sentence each. They subscribe to its moments and look at its parts
 *  after every step; a broken one ends the run (sim_violate). The checks change nothing that they look at.
 */
#ifndef HELIO_SIMULATOR_CHECKS_CHECKS_H
#define HELIO_SIMULATOR_CHECKS_CHECKS_H

#include "simulator/workload/workload.h"

typedef struct sim_checks sim_checks_t;

/*  What was seen; the promises would be worth little if it had never happened. */
typedef struct sim_sights {
    uint64_t preemptions; /* running jobs that were told to make room */
    uint64_t migrations;     /* that were told to leave for a better site; arrivals: and were placed there */
    uint64_t arrivals;
    uint64_t attested; /* jobs that an operator's attestation freed from their site */
    uint64_t expected_use; /* placements whose p90 is below their limit */
    uint64_t admitted; /* of those, ones that by their limit would have come too late for their deadline */
} sim_sights_t;

sim_checks_t *sim_checks_new(const sim_federation_t *federation, const sim_workload_t *workload);
void sim_checks_destroy(sim_checks_t **self_p);

/*  Moments of the federation. */
void sim_checks_decided(sim_checks_t *self, uint32_t event_kind, const helio_effect_t *effect, int64_t wall_ms);
void sim_checks_committed(sim_checks_t *self);
void sim_checks_order_left(sim_checks_t *self, const helio_order_t *order);
void sim_checks_taken_over(sim_checks_t *self);

void sim_checks_step(sim_checks_t *self);    /* after every step */
void sim_checks_at_rest(sim_checks_t *self); /* when every job is over */

sim_sights_t sim_checks_sights(const sim_checks_t *self);

#endif
