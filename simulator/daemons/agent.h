/*  agent.h -- an agent's shell in the virtual world: the real core, a journal that can lose what was not committed, and
 *  the same order of work as site-agent/agent. */
#ifndef HELIO_SIMULATOR_DAEMONS_AGENT_H
#define HELIO_SIMULATOR_DAEMONS_AGENT_H

#include "simulator/network/network.h"
#include "simulator/daemons/backend.h"

typedef struct sim_agent sim_agent_t;

typedef struct sim_agent_setup {
    sim_engine_t *engine;
    sim_network_t *network;
    sim_backend_t *backend;
    sim_faults_t *faults;
    sim_host_t *host; /* the agent writes it: up, life */
    uint32_t site;
    const helio_site_profile_t *profile;
    bool gives_up; /* a broker that does not answer, as the uplink does */
    const sim_script_t *script;
    void *script_arg;
} sim_agent_setup_t;

sim_agent_t *sim_agent_new(const sim_agent_setup_t *setup); /* copied; what it points to outlives the agent */
void sim_agent_destroy(sim_agent_t **self_p);

void sim_agent_start(sim_agent_t *self);  /* from its journal */
void sim_agent_crash(sim_agent_t *self);  /* has no effect when the agent is down */
void sim_agent_damage(sim_agent_t *self); /* it crashes, and nothing of its journal can be read */
/*  Keeps a copy of its journal. sim_agent_forget puts it back, or deletes the journal if there is none; the
 *  agent must be down. blind: nor will the next agent find what runs; only where the journal was deleted. */
void sim_agent_keep_copy(sim_agent_t *self);
void sim_agent_forget(sim_agent_t *self, bool blind);
bool sim_agent_has_forgotten(const sim_agent_t *self); /* ever */
void sim_agent_connected(sim_agent_t *self);
void sim_agent_hear(sim_agent_t *self, uint32_t event, const void *payload); /* from its broker */
void sim_agent_take(sim_agent_t *self, uint32_t event, const void *payload);
/*  True: the agent is up and holds no attempt and no unacknowledged report. */
bool sim_agent_is_idle(const sim_agent_t *self);

#endif
