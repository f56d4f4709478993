/*  life.h -- one life of a virtual daemon, from its start to its crash: the effects of its core, those that wait for
 *  the commit of their batch, and the tick that the core asked for.
 */
#ifndef HELIO_SIMULATOR_DAEMONS_LIFE_H
#define HELIO_SIMULATOR_DAEMONS_LIFE_H

#include "broker/release/release.h"
#include "simulator/engine/host.h"

typedef struct sim_life {
    helio_effects_t *effects; /* of the last step */
    helio_release_queue_t *release;
    uint64_t open_batch, committed;
    int64_t wake_ms; /* by the boot clock; INT64_MAX = no tick is wanted */
} sim_life_t;

void sim_life_begin(sim_life_t *self, const helio_step_kind_t *effect_kinds);
void sim_life_end(sim_life_t *self); /* nothing happens when none has begun */

/*  Makes the tick that the last step asked for: on_tick (arg, tick). */
void sim_life_set_wake(sim_life_t *self, sim_engine_t *engine, const sim_host_t *host, sim_happening_fn *on_tick,
                       void *arg);
/*  True: the daemon lives, and no later step has asked for another tick. */
bool sim_life_wants(const sim_life_t *self, const sim_host_t *host, const sim_happening_t *tick);

/*  Closes the open batch, whose commit is answered after delay_ms: on_committed (arg, commit). Returns the number of
 *  the batch. */
uint64_t sim_life_seal(sim_life_t *self, sim_engine_t *engine, const sim_host_t *host, int64_t delay_ms,
                       sim_happening_fn *on_committed, void *arg);
/*  Lets go what has become durable. open_rows: of the open batch. */
void sim_life_release(sim_life_t *self, uint64_t open_rows, helio_release_fn *on_released, void *arg);

#endif
