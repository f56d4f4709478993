/*  faults.h -- what goes wrong, drawn from the seed; after options.until_ms everything heals. */
#ifndef HELIO_SIMULATOR_FAULTS_FAULTS_H
#define HELIO_SIMULATOR_FAULTS_FAULTS_H

#include "simulator/nodes/federation.h"

typedef struct sim_storm sim_storm_t;

sim_storm_t *sim_storm_new(sim_federation_t *federation, int64_t until_ms);
void sim_storm_destroy(sim_storm_t **self_p);

void sim_storm_begin(sim_storm_t *self);
/*  Suspensions, sites that lose their power and slow messages, each in some of the worlds. They draw by sim_draw alone. */
void sim_storm_begin_some(sim_storm_t *self);

#endif
