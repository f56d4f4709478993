/*  internal.h -- the writer's struct, shared by store.c (its life and the open batch), link.c (the connection),
 *  flight.c (the batch in flight) and load.c (the start). Calls go one way: store.c uses link.c, and both use
 *  flight.c. */
#ifndef HELIO_BROKER_STORE_INTERNAL_H
#define HELIO_BROKER_STORE_INTERNAL_H

#include "broker/store/batch.h"
#include "broker/store/session.h"
#include "broker/store/store.h"

typedef enum helio_store_phase {
    HELIO_STORE_CLOSED,     /* never opened: does nothing by itself */
    HELIO_STORE_DOWN,       /* not connected; connects at retry_ms */
    HELIO_STORE_CONNECTING, /* PQconnectPoll decides what to wait for */
    HELIO_STORE_RESUMING,   /* has asked who leads and for the last batch */
    HELIO_STORE_PREPARING,  /* leads again, and prepares statements */
    HELIO_STORE_READY
} helio_store_phase_t;

struct helio_store {
    char *conninfo;
    char *http; /* where other brokers reach this one; "" = nowhere */
    uint64_t commit_deadline_ms;
    uint64_t lease_ms;
    uint64_t idle_ms;
    int64_t usage_ms;
    bool standby_keeps;

    PGconn *connection;
    helio_store_phase_t phase;
    PostgresPollingStatusType polling; /* in CONNECTING */
    uint32_t host;                     /* which of several hosts is tried */
    uint32_t first_host;               /* which one was tried first since the loss */
    bool unflushed;
    bool beating;        /* a Sync was sent that is no batch's, and is not answered yet */
    int64_t beat_ms;     /* when the next one is due */
    uint32_t sent_times; /* how often the batch in flight was sent */
    int64_t deadline_ms; /* of the phase, or of the batch in flight; INT64_MAX = none */
    int64_t retry_ms;    /* in DOWN */
    int64_t backoff_ms;
    helio_error_t trouble; /* why it is not connected, or what waits for a lock */

    /* Statements that were sent and are not answered yet: their names, in order. */
    const char **expected;
    uint32_t expected_count;
    uint32_t expected_capacity;
    uint32_t answered;
    bool lacks_room; /* the server refused the batch in flight for lack of room, and has committed none since */
    bool refused;  /* a statement waited too long for a lock: all up to the next Sync is undone, and sent again then */
    bool waits;    /* for a lock, with the batch in flight, for longer than one try */
    bool doubtful; /* a warning came during a commit: the standby may lack it */

    uint64_t epoch;
    helio_batch_mark_t seen; /* the latest batch that is known to be durable, of any leader; zeros = none is */
    uint64_t resumed_batch;  /* in RESUMING: the database's last batch */
    helio_batch_t *open;
    helio_batch_t *flight; /* sealed, outcome unknown; sent again after a reconnect */
    helio_uuid_t flight_open_from;
    bool in_flight;
    uint64_t open_number;
    uint64_t committed;
    int64_t sealed_us;
    helio_store_figures_t figures;
};

/*  link.c: everything that drives the connection. Fatal results are as helio_store_process documents them. */
void helio_store_lose(helio_store_t *self, int64_t now_ms, const helio_error_t *why);
helio_rc helio_store_move(helio_store_t *self, int64_t now_ms, helio_error_t *err);
/*  How long the server waits for a sign of life of this session, as text; ret_text has 24 bytes. */
void helio_store_idle_text(const helio_store_t *self, char *ret_text);
/*  How long a statement of this session may wait for a lock, as text; ret_text has 24 bytes. */
void helio_store_lock_text(const helio_store_t *self, char *ret_text);
/*  Prepares every put on a blocking connection. */
helio_rc helio_store_prepare(PGconn *connection, helio_error_t *err);
void helio_store_listen(helio_store_t *self); /* installs the handler of the notices of self->connection */

/*  The parameters of session_lead and session_resume: numbers as texts. */
typedef struct helio_store_number {
    char text[24];
} helio_store_number_t;
helio_store_number_t helio_store_number(uint64_t number);

/*  flight.c: the batch in flight. */
void helio_store_expect(helio_store_t *self, const char *statement); /* the next answer belongs to this statement */
/*  Sends the batch in flight, from its BEGIN to its Sync; if the last try was refused, it is rolled back first. False:
 *  the connection failed. */
bool helio_store_send_flight(helio_store_t *self, int64_t now_ms);
void helio_store_flight_committed(helio_store_t *self);
int64_t helio_store_beat_every_ms(const helio_store_t *self);
/*  Sends a Sync alone, which ends the server's count of idle time. False: the connection failed. */
bool helio_store_send_beat(helio_store_t *self, int64_t now_ms);

#endif
