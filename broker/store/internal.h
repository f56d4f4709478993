/*  internal.h -- the writer's insides, shared by store.c (its life and the open batch), link.c (the connection), flight.c
 *  (the batch in flight) and load.c (start). Calls go one way: store.c uses link.c, and both use flight.c. */
#ifndef HELIO_BROKER_STORE_INTERNAL_H
#define HELIO_BROKER_STORE_INTERNAL_H

#include "broker/store/batch.h"
#include "broker/store/session.h"
#include "broker/store/store.h"

typedef enum helio_store_phase {
    HELIO_STORE_CLOSED,     /* never opened: does nothing by itself */
    HELIO_STORE_DOWN,       /* waits until retry_ms, then connects */
    HELIO_STORE_CONNECTING, /* PQconnectPoll decides what to wait for */
    HELIO_STORE_RESUMING, /* asked who leads and what became of the last batch; statements are being prepared
                           */
    HELIO_STORE_READY
} helio_store_phase_t;

struct helio_store {
    char *conninfo;
    uint64_t commit_deadline_ms;
    uint64_t lease_ms;

    PGconn *connection;
    helio_store_phase_t phase;
    PostgresPollingStatusType polling; /* CONNECTING */
    bool unflushed;
    uint32_t sent_times; /* the batch in flight */
    int64_t deadline_ms; /* of the phase, or of the batch in flight; INT64_MAX = none */
    int64_t retry_ms;    /* DOWN */
    int64_t backoff_ms;
    helio_error_t trouble; /* why it is not connected */

    /* What was sent and not answered yet: names of statements, in order. */
    const char **expected;
    uint32_t expected_count;
    uint32_t expected_capacity;
    uint32_t answered;
    bool doubtful; /* a warning came while a commit was awaited: its promise is not known to hold */

    uint64_t epoch;
    uint64_t resumed_batch; /* RESUMING: the database's last */
    helio_batch_t *open;
    helio_batch_t *flight; /* sent or to be sent again, outcome not known */
    helio_uuid_t flight_open_from;
    bool in_flight;
    uint64_t open_number;
    uint64_t committed;
    int64_t sealed_us;
    helio_store_figures_t figures;
};

/*  link.c: everything that moves the connection. Fatal results as helio_store_process documents. */
void helio_store_lose(helio_store_t *self, int64_t now_ms, const helio_error_t *why);
helio_rc helio_store_move(helio_store_t *self, int64_t now_ms, helio_error_t *err);
/*  Prepares every put on a blocking connection. */
helio_rc helio_store_prepare(PGconn *connection, helio_error_t *err);
void helio_store_listen(helio_store_t *self); /* notices of self->connection are heard from now on */

/*  flight.c */
void helio_store_expect(helio_store_t *self, const char *statement); /* its answer is the next */
/*  Sends the batch in flight, from its BEGIN to its Sync. False: the connection failed. */
bool helio_store_send_flight(helio_store_t *self, int64_t now_ms);
void helio_store_flight_committed(helio_store_t *self);

#endif
