/*  engine.h -- the broker's loop: one thread that owns the core, the store and the gateway.
 *
 *  It turns calls (HTTP) and frames (sites) into events, steps the core, appends ROW effects to the store's open batch,
 *  and holds HELD effects until their batch is committed. It seals the open batch as soon as no batch is in flight and
 *  rows are waiting. So batches grow while the database is busy (group commit).
 *
 *  Other threads post calls; the engine answers them on its own thread. It decides nothing. */
#ifndef HELIO_BROKER_ENGINE_H
#define HELIO_BROKER_ENGINE_H

#include "broker/model/channels.h"
#include "broker/model/effects.h"
#include "broker/model/events.h"
#include "broker/model/figures.h"
#include "broker/model/options.h"
#include "broker/engine/tally.h"
#include "broker/store/follower.h"
#include "federation/base/log.h"

typedef struct helio_engine helio_engine_t;
typedef struct helio_call helio_call_t;

/*  The kinds of calls. EVENT: an event of the core that has a REPLY (SUBMIT, CANCEL, QUOTA, TOKEN, …). The engine fills
 *  in the payload's `call`, the first field of each of these records. LOG_READ: a piece of an attempt's log from the
 *  site that has it. FIGURES: a snapshot for /metrics and /readyz. CHANNEL: bytes of a channel that an EVENT has opened. */
typedef enum helio_call_kind {
    HELIO_CALL_EVENT,
    HELIO_CALL_LOG_READ,
    HELIO_CALL_FIGURES,
    HELIO_CALL_CHANNEL
} helio_call_kind_t;

typedef struct helio_log_piece {
    uint64_t offset;
    helio_text_t data;
    bool end; /* the attempt is over, and this is the last piece */
} helio_log_piece_t;

enum { HELIO_ENGINE_BAD_FRAMES_MAX = 16 };

typedef struct helio_engine_figures {
    bool ready; /* leader, loaded, and the database is connected */
    bool leader;
    bool database_full; /* it refuses the batch in flight, because its disk is full */
    uint64_t lease_ms;  /* granted to sites */
    uint64_t broker_epoch;
    helio_broker_figures_t core;
    helio_store_figures_t store;
    uint64_t held_effects; /* they wait for their commit */
    uint64_t step_us_max;  /* the longest step since the last snapshot */
    uint64_t step_us_sum;  /* of all steps */
    uint64_t steps_total;
    helio_tally_t tally;
    uint64_t sessions_total; /* sessions begun: connects and reconnects of sites */
    uint64_t sessions;       /* now */
    uint64_t frames_in_total;
    uint64_t frames_out_total;
    uint64_t reads_slowed_total; /* times that a site was not read for a moment, because it sends too much */
    struct {
        const char *why;
        uint64_t count;
    } frames_bad_total[HELIO_ENGINE_BAD_FRAMES_MAX]; /* the first whose why is NULL ends them */
    uint64_t calls_total;
} helio_engine_figures_t;

struct helio_call {
    helio_call_kind_t kind;
    /* for EVENT */
    uint32_t event;                         /* helio_broker_event_t */
    void *payload;                          /* the event's record; owned by the caller until done */
    const helio_channel_opening_t *opening; /* of CHANNEL: what the core does not see */
    /* for LOG_READ */
    const char *site;
    helio_job_key_t key;
    uint32_t epoch;
    uint64_t offset;
    uint32_t size_max;
    /* for CHANNEL: all but `done` and `arg` */
    helio_channel_ask_t ask;
    bool from_end; /* offset counts back from the end */
    /* One of these is called exactly once, on the engine's thread. Its arguments are borrowed for the call. */
    void (*on_reply)(helio_call_t *call, const helio_fx_reply_t *reply);             /* for EVENT */
    void (*on_log)(helio_call_t *call, helio_rc rc, const helio_log_piece_t *piece); /* for LOG_READ */
    void (*on_figures)(helio_call_t *call, const helio_engine_figures_t *figures);   /* for FIGURES */
    void (*on_channel)(helio_call_t *call, const helio_channel_answer_t *answer);    /* for CHANNEL */
    void *arg;
    /* private to the engine */
    int64_t posted_ms;
    uint64_t id;
    uint64_t channel; /* that it has prepared; 0 = none */
};

typedef struct helio_engine_options {
    helio_broker_options_t core;
    helio_store_options_t store;
    const char *endpoint;        /* where sites connect: tcp://0.0.0.0:7443 */
    const char *secret_key_path; /* the broker's CURVE secret key; mode 0600 */
    const char *record_path;     /* NULL, or the file where every event is recorded (helio-broker run --record) */
    uint32_t batch_rows_max;     /* a batch is sealed at the latest when it has this many rows; 20,000 */
} helio_engine_options_t;

/*  Called on the engine's thread with rows that have become durable. Each function can be NULL. */
typedef struct helio_engine_listener {
    void (*on_transition)(void *arg, const helio_row_transition_t *transition);
    void (*on_token)(void *arg, const helio_row_token_t *token);
    void (*on_principal)(void *arg, const helio_row_principal_t *principal);
    /*  Before and after all tokens and users that the database has: at start, and while another broker leads whenever
     *  any has changed. One that does not come between the two is no longer there. */
    void (*on_access_begin)(void *arg);
    void (*on_access_end)(void *arg);
    /*  While another broker leads: several times a second, after the tokens and users that have changed. leader: that
     *  broker; NULL: this one is about to lead. */
    void (*on_following)(void *arg, const helio_leader_t *leader);
    void (*on_leading)(void *arg); /* once, when everything is loaded, tokens too */
    void *arg;
} helio_engine_listener_t;

/*  Copies the options with their strings. The log must outlive the engine. A failure here is reported by
 *  helio_engine_run. */
helio_engine_t *helio_engine_new(const helio_engine_options_t *options, helio_engine_listener_t listener,
                                 helio_log_t *log);
void helio_engine_destroy(helio_engine_t **self_p);
helio_broker_options_t helio_engine_core_options(const helio_engine_t *self);
/*  Runs until helio_engine_stop or a fatal error: HELIO_FENCED, HELIO_INVALID, a bind error, or a recording that cannot
 *  be written. While the database cannot be reached or another broker leads, it waits and answers calls with
 *  UNAVAILABLE. */
HELIO_MUST_CHECK helio_rc helio_engine_run(helio_engine_t *self, helio_error_t *err);
/*  Any thread, also a signal handler. helio_engine_run commits what was accepted, and then returns. */
void helio_engine_stop(helio_engine_t *self);
/*  Any thread. The call must live until it is answered. HELIO_BUSY: the bounded ring (4,096 calls) is full; HTTP
 *  answers 429. */
HELIO_MUST_CHECK helio_rc helio_engine_post(helio_engine_t *self, helio_call_t *call);

#endif
