/*  engine.h -- the broker's heart beat: one thread that owns the core, the store and the gateway, and runs their loop.
 *
 *  It turns calls (HTTP) and frames (sites) into events, steps the core, appends ROW effects to the store's open
 *  batch, and holds HELD effects until their batch is committed. It seals a batch as soon as nothing is in flight and
 *  something is waiting: batches grow by themselves while the database is busy (group commit).
 *
 *  Other threads talk to it by posting calls; it answers on its own thread. Nothing here decides.
 */
#ifndef HELIO_BROKER_ENGINE_H
#define HELIO_BROKER_ENGINE_H

#include "broker/model/effects.h"
#include "broker/model/events.h"
#include "broker/model/figures.h"
#include "broker/model/options.h"
#include "broker/engine/tally.h"
#include "broker/store/store.h"
#include "federation/base/log.h"

typedef struct helio_engine helio_engine_t;
typedef struct helio_call helio_call_t;

/*  What may be asked. EVENT: an event of the core with an ANSWER (SUBMIT, CANCEL, RELEASE, DRAIN, UNDRAIN, ATTEST,
 *  TOKEN, SITE_KEY): the engine fills the payload's `call` field (each of those records begins with it). LOG_READ: a
 *  piece of an attempt's log from the site that has it. FIGURES: a snapshot for /metrics and /readyz. */
typedef enum helio_call_kind { HELIO_CALL_EVENT, HELIO_CALL_LOG_READ, HELIO_CALL_FIGURES } helio_call_kind_t;

typedef struct helio_log_piece {
    uint64_t offset;
    helio_text_t data;
    bool end; /* the attempt is over and this is the last of it */
} helio_log_piece_t;

enum { HELIO_ENGINE_BAD_FRAMES_MAX = 16 };

typedef struct helio_engine_figures {
    bool ready;      /* leader, loaded, database connected */
    bool leader;
    uint64_t broker_epoch;
    helio_broker_figures_t core;
    helio_store_figures_t store;
    uint64_t held_effects; /* waiting for their commit */
    uint64_t step_us_max;  /* since the last snapshot */
    uint64_t step_us_sum;  /* of all steps */
    uint64_t steps_total;
    helio_tally_t tally;
    uint64_t sessions_total; /* that sites began: their connects and reconnects */
    uint64_t sessions;       /* now */
    uint64_t frames_in_total;
    uint64_t frames_out_total;
    struct {
        const char *why;
        uint64_t count;
    } frames_bad_total[HELIO_ENGINE_BAD_FRAMES_MAX]; /* NULL ends them */
    uint64_t calls_total;
} helio_engine_figures_t;

struct helio_call {
    helio_call_kind_t kind;
    /* EVENT */
    uint32_t event;      /* helio_broker_event_t */
    void *payload;       /* its record; owned by the caller until done */
    /* LOG_READ */
    const char *site;
    helio_job_key_t key;
    uint32_t epoch;
    uint64_t offset;
    uint32_t size_max;
    /*  Answers, on the engine's thread, exactly once; what they point to is borrowed for the call. */
    void (*on_reply)(helio_call_t *call, const helio_fx_reply_t *reply);                   /* EVENT */
    void (*on_log)(helio_call_t *call, helio_rc rc, const helio_log_piece_t *piece);          /* LOG_READ */
    void (*on_figures)(helio_call_t *call, const helio_engine_figures_t *figures);            /* FIGURES */
    void *arg;
    /* the engine's own */
    int64_t posted_ms;
    uint64_t id;
};

typedef struct helio_engine_options {
    helio_broker_options_t core;
    helio_store_options_t store;
    const char *endpoint;        /* sites connect here: tcp://0.0.0.0:7443 */
    const char *secret_key_path; /* CURVE secret key of the broker, 0600 */
    const char *record_path;     /* NULL, or append every event in canonical encoding (helio-broker --record) */
    uint32_t batch_rows_max;     /* seal at the latest when so many rows are open; 20,000 */
} helio_engine_options_t;

/*  Who listens to what has become durable; called on the engine's thread. */
typedef struct helio_engine_listener {
    void (*on_transition)(void *arg, const helio_row_transition_t *transition);
    void (*on_token)(void *arg, const helio_row_token_t *token); /* also all in force, at start */
    void (*on_principal)(void *arg, const helio_row_principal_t *principal); /* also all that are disabled, at start */
    void (*on_leading)(void *arg); /* once: everything is loaded, tokens too. May be NULL */
    void *arg;
} helio_engine_listener_t;

helio_engine_t *helio_engine_new(const helio_engine_options_t *options, helio_engine_listener_t listener,
                                 helio_log_t *log);
void helio_engine_destroy(helio_engine_t **self_p);
/*  Runs until helio_engine_stop or a fatal error (HELIO_FENCED, HELIO_INVALID, a bind error, a journal that cannot be
 *  recorded). While the database cannot be reached or another broker leads, waits, answering calls with UNAVAILABLE. */
HELIO_MUST_CHECK helio_rc helio_engine_run(helio_engine_t *self, helio_error_t *err);
void helio_engine_stop(helio_engine_t *self); /* any thread, a signal's too: flushes what is sealed, then run returns */
/*  Any thread. HELIO_BUSY: the bounded ring (4,096) is full: answer 429. The call must live until it was answered. */
HELIO_MUST_CHECK helio_rc helio_engine_post(helio_engine_t *self, helio_call_t *call);

#endif
