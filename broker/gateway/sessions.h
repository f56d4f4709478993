/*  sessions.h -- what the broker and its sites say to each other, without the network: frames in, events out;
 * effects in, frames out.
 *
 *  One session a site, from its HELLO on. A site is the principal that the transport authenticated, never a
 * field of a message. Before HELLO nothing of a peer is kept: its frames are dropped and counted, so
 * strangers cost nothing. A newer HELLO of a site replaces its session, on whichever connection it comes.
 *
 *  Thread: the engine's. `send` and `emit` are called from within the functions below; `emit` may step the
 * core and call helio_sessions_carry.
 */
#ifndef HELIO_BROKER_SESSIONS_H
#define HELIO_BROKER_SESSIONS_H

#include "broker/model/effects.h"
#include "broker/model/events.h"
#include "federation/wire/messages.h"

enum {
    HELIO_SESSIONS_MAX = 4096,  /* sites with a session; more are refused */
    HELIO_LOG_READS_MAX = 1024, /* log pieces asked for and not yet answered */
    HELIO_LOG_READ_TIMEOUT_MS = 10000,
    HELIO_FLUSH_BYTES = 512 << 10 /* of collected items: half a frame, so that one more always fits */
};

typedef struct helio_sessions helio_sessions_t;

/*  Why a frame was dropped. */
#define HELIO_BAD_FRAME_TABLE(X)                                                             \
    X(MALFORMED, "malformed")   /* the codec refused it: bytes, bounds; ends the session */  \
    X(UNKNOWN, "unknown")       /* a message number that is not in the table */              \
    X(DIRECTION, "direction")   /* a message that only the broker sends */                   \
    X(NO_SESSION, "no_session") /* anything but HELLO before HELLO */                        \
    X(REPEATED, "repeated")     /* HELLO within a session of the same connection: ends it */ \
    X(VERSION, "version")       /* no protocol version in common */                          \
    X(IDENTITY, "identity")     /* the site file names another site than the key */          \
    X(UNASKED, "unasked")       /* LOG_DATA that nobody waits for (too late, or never asked) */
typedef enum helio_bad_frame {
#define X(NAME, word) HELIO_BAD_FRAME_##NAME,
    HELIO_BAD_FRAME_TABLE(X)
#undef X
        HELIO_BAD_FRAME_COUNT
} helio_bad_frame_t;
const char *helio_bad_frame_name(uint32_t why);

typedef struct helio_sessions_ports {
    /*  HELIO_UNAVAILABLE when the peer is gone; whoever owns the transport then says so through
     * helio_sessions_gone. */
    helio_rc (*send)(void *arg, uint64_t peer, helio_text_t frame);
    void (*emit)(void *emit_arg, uint32_t kind, const void *payload);
    /*  For the log, rate-limited by whoever implements it; may be NULL. text is not to be trusted. */
    void (*bad)(void *arg, helio_text_t site, helio_bad_frame_t why, const char *text);
    void *arg;
    void *emit_arg;
} helio_sessions_ports_t;

typedef struct helio_sessions_figures {
    uint64_t sessions;       /* now */
    uint64_t sessions_total; /* begun */
    uint64_t frames_in_total;
    uint64_t frames_out_total;
    uint64_t frames_bad_total[HELIO_BAD_FRAME_COUNT];
    uint64_t summaries_shed_total;
} helio_sessions_figures_t;

helio_sessions_t *helio_sessions_new(helio_sessions_ports_t ports);
void helio_sessions_destroy(
    helio_sessions_t **self_p); /* readers of logs that still wait are answered UNAVAILABLE */

/*  A frame from an authenticated peer. Bytes are borrowed. */
void helio_sessions_frame(helio_sessions_t *self, helio_text_t site, uint64_t peer, helio_text_t frame);
/*  The connection ended: its session, if it has one, too. */
void helio_sessions_gone(helio_sessions_t *self, uint64_t peer, const char *why);
/*  Under overload telemetry goes first: capacity summaries are dropped while this is set. The core asks for a
 * full one afterwards by itself, as the chain of changes is broken. */
void helio_sessions_shed(helio_sessions_t *self, bool shed);

/*  An effect for a site (ORDER … REFUSAL). ORDER, STOP and RULING are collected: their payload must live
 * until helio_sessions_flush, which sends what was collected. Effects for a session that is over are dropped:
 * the next inventory heals what they said. */
void helio_sessions_carry(helio_sessions_t *self, const helio_effect_t *effect, int64_t wall_ms);
void helio_sessions_flush(helio_sessions_t *self);

/*  Asks a site for a piece of an attempt's log. HELIO_UNAVAILABLE: it has no session; HELIO_BUSY: too many
 * wait. After HELIO_OK `done` is called exactly once: rc of the site, TIMEOUT after 10 s (by
 * helio_sessions_tick), UNAVAILABLE when the session ends. piece is NULL unless rc is OK. */
typedef struct helio_log_ask {
    const char *site;
    helio_job_key_t key;
    uint32_t epoch;
    uint64_t offset;
    uint32_t size_max;
    void (*done)(void *arg, helio_rc rc, const helio_msg_log_data_t *piece);
    void *arg;
} helio_log_ask_t;
HELIO_MUST_CHECK helio_rc helio_sessions_read_log(helio_sessions_t *self, const helio_log_ask_t *ask,
                                                  int64_t now_ms);
void helio_sessions_tick(helio_sessions_t *self, int64_t now_ms);

void helio_sessions_figures(const helio_sessions_t *self, helio_sessions_figures_t *ret_figures);

#endif
