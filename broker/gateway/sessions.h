/*  sessions.h -- the conversation between the broker and its sites, without the network: frames in, events out; effects
 *  in, frames out.
 *
 *  Each site has one session, from its HELLO on. The site is the principal that the transport authenticated, never a
 *  field of a message. Before HELLO nothing of a peer is stored: its frames are dropped and counted, so strangers cost
 *  nothing. When a HELLO comes on a second connection of a site, the core refuses one of the two.
 *
 *  Thread: the engine's. `send` and `emit` are called from within the functions below. `emit` can step the core and
 *  call helio_sessions_carry. */
#ifndef HELIO_BROKER_SESSIONS_H
#define HELIO_BROKER_SESSIONS_H

#include "broker/gateway/channels.h"
#include "broker/model/effects.h"
#include "broker/model/events.h"
#include "federation/wire/messages.h"

enum {
    HELIO_SESSIONS_MAX = 4096,  /* sites with a session; more are refused */
    HELIO_LOG_READS_MAX = 1024, /* log pieces asked for and not yet answered */
    HELIO_LOG_READ_TIMEOUT_MS = 10000,
    HELIO_FLUSH_BYTES = 512 << 10 /* of collected items: half a frame, so that one more always fits */
};

/*  Why a frame was dropped. */
#define HELIO_BAD_FRAME_TABLE(X)                                                                     \
    X(MALFORMED, "malformed")   /* the codec refused its bytes or bounds; ends the session */        \
    X(UNKNOWN, "unknown")       /* a message number that is not in the table */                      \
    X(DIRECTION, "direction")   /* a message that only the broker sends */                           \
    X(NO_SESSION, "no_session") /* a message before HELLO */                                         \
    X(REPEATED, "repeated")     /* HELLO within a session of the same connection; ends it */         \
    X(VERSION, "version")       /* no protocol version in common */                                  \
    X(IDENTITY, "identity")     /* the site file names another site than the key */                  \
    X(UNASKED, "unasked")       /* LOG_DATA that no call waits for (too late, or never asked for) */ \
    X(CHANNEL, "channel")       /* more than the window of a channel, after its end, or of another site's channel */
typedef enum helio_bad_frame {
#define X(NAME, word) HELIO_BAD_FRAME_##NAME,
    HELIO_BAD_FRAME_TABLE(X)
#undef X
        HELIO_BAD_FRAME_COUNT
} helio_bad_frame_t;
const char *helio_bad_frame_name(uint32_t why);

typedef struct helio_sessions_ports {
    /*  HELIO_UNAVAILABLE: the peer is gone. The owner of the transport then calls helio_sessions_gone. */
    helio_rc (*send)(void *arg, uint64_t peer, helio_text_t frame);
    void (*emit)(void *emit_arg, uint32_t kind, const void *payload);
    /*  For the log; the callee limits the rate. Can be NULL. text is untrusted. */
    void (*bad)(void *arg, helio_text_t site, helio_bad_frame_t why, const char *text);
    /*  For the log, as `bad`: the core refused the site's agent, or ended its session. Can be NULL. */
    void (*refused)(void *arg, helio_text_t site, helio_rc rc, helio_text_t text);
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
void helio_sessions_destroy(helio_sessions_t **self_p); /* pending log reads are answered UNAVAILABLE */

/*  A frame of an authenticated peer. Its bytes are borrowed. */
void helio_sessions_frame(helio_sessions_t *self, helio_text_t site, uint64_t peer, helio_text_t frame);
/*  The connection ended, and with it the session, if it has one. */
void helio_sessions_gone(helio_sessions_t *self, uint64_t peer, const char *why, bool bye);
/*  While set, capacity summaries are dropped: under overload telemetry is the first to go. That the site lives is not:
 *  else overload would make quiet sites silent, and their jobs would be run again. Afterwards the core asks for
 *  a full summary by itself, because the chain of changes is broken. */
void helio_sessions_shed(helio_sessions_t *self, bool shed);

/*  Sends an effect to its site (ORDER … REFUSAL). ORDER, STOP and VERDICT are collected: their payload must live until
 *  helio_sessions_flush, which sends them. Effects for a session that is over are dropped; the next inventory makes up
 *  for them. */
void helio_sessions_carry(helio_sessions_t *self, const helio_effect_t *effect, int64_t wall_ms);
void helio_sessions_flush(helio_sessions_t *self);

/*  Asks a site for a piece of an attempt's log. HELIO_UNAVAILABLE: the site has no session. HELIO_BUSY: too many reads
 *  are pending. After HELIO_OK `done` is called exactly once: with the site's rc, with TIMEOUT after 10 s (by
 *  helio_sessions_tick), or with UNAVAILABLE when the session ends. piece is NULL unless rc is OK. */
typedef struct helio_log_ask {
    const char *site;
    helio_job_key_t key;
    uint32_t epoch;
    uint64_t offset;
    uint32_t size_max;
    bool from_end; /* offset counts back from the end. VERSION: that agent does not know it */
    void (*done)(void *arg, helio_rc rc, const helio_msg_log_data_t *piece);
    void *arg;
} helio_log_ask_t;
HELIO_MUST_CHECK helio_rc helio_sessions_read_log(helio_sessions_t *self, const helio_log_ask_t *ask, int64_t now_ms);
helio_channels_t *helio_sessions_channels(helio_sessions_t *self);
/*  Answers the log reads whose deadline has passed with TIMEOUT, and does what is due of channels. now_ms: monotonic. */
void helio_sessions_tick(helio_sessions_t *self, int64_t now_ms);

void helio_sessions_figures(const helio_sessions_t *self, helio_sessions_figures_t *ret_figures);

#endif
