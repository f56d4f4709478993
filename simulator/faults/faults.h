/*  faults.h -- what goes wrong, drawn from the seed. After options.until_ms everything heals.
 *
 *  A storm is all the faults of one world. A new kind of fault is a row of SIM_FAULT_TABLE (simulator/daemons/fault.h),
 *  a function that injects it, and a row of the table of strikes in faults.c or leaders.c, which says how often it is
 *  drawn. A fault that needs a certain moment belongs in aimed.c. sim_faults fails if a kind never struck. */
#ifndef HELIO_SIMULATOR_FAULTS_FAULTS_H
#define HELIO_SIMULATOR_FAULTS_FAULTS_H

#include "simulator/daemons/federation.h"

typedef struct sim_storm sim_storm_t;

sim_storm_t *sim_storm_new(sim_federation_t *federation, int64_t until_ms);
void sim_storm_destroy(sim_storm_t **self_p);

void sim_storm_begin(sim_storm_t *self);
/*  Suspensions, sites that lose their power and slow messages, each in some of the worlds. They draw with sim_draw
 *  alone. */
void sim_storm_begin_some(sim_storm_t *self);
/*  In some worlds agents lose their journals, or get older copies of them; in some of these they find nothing of what
 *  runs. */
void sim_storm_begin_losses(sim_storm_t *self);
/*  With two brokers: pauses, ways to the database and to the sites that break in one direction or both, restarts of the
 *  server. */
void sim_storm_begin_leaders(sim_storm_t *self);
/*  In some worlds the brokers die, and the next leader finds an older copy of the database. In some of these a site is
 *  away then. */
void sim_storm_begin_restores(sim_storm_t *self);
/*  What strikes in the midst of what a leader has begun; in some worlds. */
void sim_storm_begin_aimed(sim_storm_t *self);
void sim_storm_decided(sim_storm_t *self, const helio_effect_t *effect); /* by the newest leader */

#endif
