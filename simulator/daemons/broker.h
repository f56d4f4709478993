/*  broker.h -- a broker's shell in the virtual world: the real core, the virtual database, and the same order of work
 *  as broker/engine. It follows until it becomes leader, and ends when it finds itself fenced. */
#ifndef HELIO_SIMULATOR_DAEMONS_BROKER_H
#define HELIO_SIMULATOR_DAEMONS_BROKER_H

#include "broker/core/broker_core.h"
#include "simulator/network/network.h"
#include "simulator/daemons/moments.h"
#include "simulator/daemons/store.h"

typedef struct sim_broker sim_broker_t;

typedef struct sim_broker_setup {
    sim_engine_t *engine;
    sim_network_t *network;
    sim_database_t *database;
    sim_faults_t *faults;
    sim_host_t *host; /* the broker writes it: up, life, paused, and the wall clock of another leader */
    uint32_t index;   /* among the brokers */
    const char *name; /* in traces */
    bool stands_by; /* it waits for the leader lock, its connection can break, and it starts again when it was fenced */
    helio_broker_options_t options;
    const sim_script_t *script;
    void *script_arg;
    const sim_moments_t *moments;
    void *moments_arg;
} sim_broker_setup_t;

sim_broker_t *sim_broker_new(const sim_broker_setup_t *setup); /* copied; what it points to outlives the broker */
void sim_broker_destroy(sim_broker_t **self_p);

void sim_broker_start(sim_broker_t *self); /* has no effect when the broker is up */
/*  Has no effect when the broker is down. silently: its session with the database, and the lock, outlive it for a
 *  while. */
void sim_broker_crash(sim_broker_t *self, bool silently);
bool sim_broker_pause(sim_broker_t *self, int64_t until_ms); /* false: it is down or paused */
/*  While it leads, and is not paused. */
void sim_broker_take(sim_broker_t *self, uint32_t event, const void *payload);
sim_store_t *sim_broker_store(const sim_broker_t *self);

bool sim_broker_leads(const sim_broker_t *self);     /* as it believes */
bool sim_broker_is_newest(const sim_broker_t *self); /* no other broker has become leader after it */
uint64_t sim_broker_epoch(const sim_broker_t *self); /* counts leaders */
int64_t sim_broker_boot_ms(const sim_broker_t *self);
int64_t sim_broker_wall_ms(const sim_broker_t *self);
const helio_broker_core_t *sim_broker_core(const sim_broker_t *self); /* NULL while it does not lead */
const helio_broker_options_t *sim_broker_options(const sim_broker_t *self);

#endif
