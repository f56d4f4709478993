/*  agent.h -- an agent's shell in the virtual world: the real core, a journal that may lose what was not committed, and
 *  the same order of things as site-agent/agent. */
#ifndef HELIO_SIMULATOR_NODES_AGENT_H
#define HELIO_SIMULATOR_NODES_AGENT_H

#include "simulator/network/network.h"
#include "simulator/nodes/backend.h"

typedef struct sim_agent sim_agent_t;

typedef struct sim_agent_setup {
    sim_engine_t *engine;
    sim_network_t *network;
    sim_backend_t *backend;
    sim_faults_t *faults;
    sim_host_t *host; /* the agent writes it: up, life */
    uint32_t site;
    const helio_site_profile_t *profile;
    const sim_script_t *script;
    void *script_arg;
} sim_agent_setup_t;

sim_agent_t *sim_agent_new(const sim_agent_setup_t *setup); /* copied; what it points to outlives the agent */
void sim_agent_destroy(sim_agent_t **self_p);

void sim_agent_start(sim_agent_t *self); /* from its journal */
void sim_agent_crash(sim_agent_t *self); /* nothing happens when it is down */
void sim_agent_take(sim_agent_t *self, uint32_t event, const void *payload);
/*  True: it is up and holds no attempt and no report that the broker has not acknowledged. */
bool sim_agent_is_idle(const sim_agent_t *self);

#endif
