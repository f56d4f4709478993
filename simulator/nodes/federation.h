/*  federation.h -- a whole virtual federation: one broker, its database, the sites with their agents and processes, and
 *  the network between them. Whoever builds a world on it says what jobs do and watches the moments (moments.h).
 */
#ifndef HELIO_SIMULATOR_NODES_FEDERATION_H
#define HELIO_SIMULATOR_NODES_FEDERATION_H

#include "simulator/nodes/agent.h"
#include "simulator/nodes/broker.h"

/*  The parts; the struct is read by all, and changed by sim_federation_new alone. The engine is the caller's. */
typedef struct sim_federation {
    sim_engine_t *engine;
    helio_vdb_t *vdb;
    sim_network_t *network;
    sim_backend_t *backend;
    sim_broker_t *broker;
    const helio_site_profile_t *profiles; /* by site */
    sim_agent_t **agents;
    sim_host_t broker_host, *hosts; /* hosts: of the agents */
    const sim_host_t **host_views;
    uint32_t site_count;
    sim_faults_t faults;
} sim_federation_t;

typedef struct sim_federation_setup {
    sim_engine_t *engine;
    const helio_site_profile_t *profiles; /* they outlive the federation */
    uint32_t site_count;
    helio_vdb_preset_t preset;
    sim_backend_options_t backend;
    const sim_script_t *script;
    const sim_moments_t *moments;
    void *arg; /* of both tables */
} sim_federation_setup_t;

sim_federation_t *sim_federation_new(const sim_federation_setup_t *setup);
void sim_federation_destroy(sim_federation_t **self_p);

void sim_federation_start(sim_federation_t *self); /* the broker, then the agents */
bool sim_federation_is_idle(const sim_federation_t *self); /* every agent is (sim_agent_is_idle) */

#endif
