/*  broker.h -- the broker's shell in the virtual world: the real core, the virtual database, and the same order of
 *  things as broker/engine. */
#ifndef HELIO_SIMULATOR_NODES_BROKER_H
#define HELIO_SIMULATOR_NODES_BROKER_H

#include "broker/core/broker_core.h"
#include "simulator/database/vdb.h"
#include "simulator/network/network.h"
#include "simulator/nodes/fault.h"
#include "simulator/nodes/moments.h"

typedef struct sim_broker sim_broker_t;

typedef struct sim_broker_setup {
    sim_engine_t *engine;
    sim_network_t *network;
    helio_vdb_t *vdb;
    sim_faults_t *faults;
    sim_host_t *host; /* the broker writes it: up, life, and the wall clock of another leader */
    const sim_script_t *script;
    void *script_arg;
    const sim_moments_t *moments;
    void *moments_arg;
} sim_broker_setup_t;

sim_broker_t *sim_broker_new(const sim_broker_setup_t *setup); /* copied; what it points to outlives the broker */
void sim_broker_destroy(sim_broker_t **self_p);

void sim_broker_start(sim_broker_t *self); /* from the database; nothing happens when it is up */
void sim_broker_crash(sim_broker_t *self); /* nothing happens when it is down */
void sim_broker_take(sim_broker_t *self, uint32_t event, const void *payload);
/*  While the database is down no commit is answered. */
void sim_broker_set_database(sim_broker_t *self, bool up);

bool sim_broker_is_up(const sim_broker_t *self);
uint64_t sim_broker_life(const sim_broker_t *self); /* counts leaders */
int64_t sim_broker_boot_ms(const sim_broker_t *self);
const helio_broker_core_t *sim_broker_core(const sim_broker_t *self); /* NULL while it is down */

#endif
