/*  federation.h -- a whole virtual federation: one broker or two, their database, the sites with their agents and
 *  processes, and the network between them. The world above it decides what jobs do and watches the moments
 *  (moments.h). */
#ifndef HELIO_SIMULATOR_DAEMONS_FEDERATION_H
#define HELIO_SIMULATOR_DAEMONS_FEDERATION_H

#include "simulator/daemons/agent.h"
#include "simulator/daemons/broker.h"

enum { SIM_SITES_MAX = 4 };

/*  The parts. Any code may read the struct; only sim_federation_new changes it. The caller owns the engine. */
typedef struct sim_federation {
    sim_engine_t *engine;
    sim_database_t *database;
    sim_network_t *network;
    sim_backend_t *backend;
    sim_broker_t *brokers[SIM_BROKERS_MAX];
    const helio_site_profile_t *profiles; /* by site */
    sim_agent_t **agents;
    sim_host_t broker_hosts[SIM_BROKERS_MAX], *hosts; /* hosts: of the agents */
    const sim_host_t *broker_views[SIM_BROKERS_MAX], **host_views;
    uint32_t broker_count, site_count;
    sim_faults_t faults;
} sim_federation_t;

typedef struct sim_federation_setup {
    sim_engine_t *engine;
    const helio_site_profile_t *profiles; /* they outlive the federation */
    uint32_t site_count;
    uint32_t broker_count; /* 0 = 1. With two, every connection can break, and sites dial as real agents do. */
    helio_broker_options_t options[SIM_BROKERS_MAX]; /* all zero = the defaults */
    sim_database_preset_t preset;
    sim_backend_options_t backend;
    const sim_script_t *script;
    const sim_moments_t *moments;
    void *arg; /* of both tables */
} sim_federation_setup_t;

sim_federation_t *sim_federation_new(const sim_federation_setup_t *setup);
void sim_federation_destroy(sim_federation_t **self_p);

void sim_federation_start(sim_federation_t *self); /* the brokers, then the agents */
/*  The brokers die, and the next leader finds an older copy of the database (sim_database_restore). The caller starts
 *  them. */
void sim_federation_restore(sim_federation_t *self, uint64_t draw);
/*  The broker that became leader last, also when it has died since. */
sim_broker_t *sim_federation_leader(const sim_federation_t *self);
/*  The broker that a client reaches now: one that believes that it leads. NULL = none. */
sim_broker_t *sim_federation_door(const sim_federation_t *self);
bool sim_federation_is_idle(const sim_federation_t *self); /* true: every agent is idle (sim_agent_is_idle) */

#endif
