/*  store.h -- a broker's way to the virtual database, as broker/store drives its connection: it leads, its connection
 *  breaks and is resumed, or it finds itself fenced.
 *
 *      state      what happens                                   what follows
 *      seeking    the lock is free and the server is reachable   leads; otherwise it asks again after 1 s
 *      ready      a batch is sent                                it is written when it arrives, and answered after that
 *      ready      no answer for 10 s, or the session has ended   down; what became of the batch in flight is unknown
 *      down       the server is reachable                        resumed: the batch is answered, or sent again
 *      down       another session has the lock                   it asks again
 *      down       another broker has become leader               fenced: the process ends
 *
 *  The server ends the session of a broker of which it hears nothing for 15 s.
 */
#ifndef HELIO_SIMULATOR_DAEMONS_STORE_H
#define HELIO_SIMULATOR_DAEMONS_STORE_H

#include "simulator/daemons/fault.h"
#include "simulator/database/writer.h"
#include "simulator/engine/host.h"

typedef struct sim_store sim_store_t;

typedef struct sim_store_ends {
    void (*leads)(void *arg);
    void (*committed)(void *arg);                    /* a batch is written; the broker need not know */
    void (*answered)(void *arg, uint64_t batch);     /* the broker knows */
    void (*connected)(void *arg, bool is_connected); /* while it leads */
    void (*fenced)(void *arg);
} sim_store_ends_t;

typedef struct sim_store_setup {
    sim_engine_t *engine;
    sim_database_t *database;
    const sim_host_t *host;
    sim_faults_t *faults;
    bool breaks; /* false: its connection never breaks, and it leads without asking whether the server is reachable */
    uint64_t lease_ms;
    const sim_store_ends_t *ends;
    void *arg;
} sim_store_setup_t;

sim_store_t *sim_store_new(const sim_store_setup_t *setup); /* copied */
void sim_store_destroy(sim_store_t **self_p);
sim_writer_t *sim_store_writer(const sim_store_t *self);

void sim_store_seek(sim_store_t *self); /* a life of the broker has begun */
bool sim_store_is_ready(const sim_store_t *self);
bool sim_store_has_session(const sim_store_t *self);    /* with the server, as the server sees it */
void sim_store_send(sim_store_t *self, uint64_t batch); /* the sealed batch */
/*  The broker died. arrived: its batch in flight is written. silently: the server does not learn of it. */
void sim_store_crash(sim_store_t *self, bool arrived, bool silently);

/*  Faults. */
bool sim_store_lose_lock(sim_store_t *self); /* its session lives on; false: it had no lock */
void sim_store_paused(sim_store_t *self);    /* the broker's host is, from now on */
typedef enum sim_direction { SIM_TO_SERVER = 1, SIM_FROM_SERVER = 2 } sim_direction_t; /* or both */
void sim_store_cut(sim_store_t *self, uint32_t directions, int64_t until_ms);
/*  The server restarts: every session ends, and what was in flight is written or not. */
void sim_store_restart(sim_store_t *self, bool arrived, int64_t until_ms);
/*  While the database is down, no commit is acknowledged, and the leader knows at once. */
void sim_store_set_database(sim_store_t *self, bool up);

#endif
