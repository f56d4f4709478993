/*  server.h -- a bound endpoint that talks only to peers whose public key is in its table of principals.
 *
 *  ROUTER with CURVE. Identity is the key that the connection was made with, looked up for every single
 * message: never a routing id, never a field of a message. A revoked key's live connections are therefore cut
 * off at once.
 *
 *  A peer is one connection that has sent something, named by a handle that is never used again. One
 * principal may have several peers (reconnections, several keys). A peer ends, and on_gone is called once for
 * it, when
 *    - a send finds the connection closed (ZeroMQ does not announce it, so this is noticed at the next send),
 *    - its outbox is full: it does not read; what it was to get is dropped,
 *    - it has sent nothing for idle_ms,
 *    - its key was revoked or given to another principal,
 *    - its key has more than peers_per_key of them (the one silent for longest ends).
 *  Later messages of a connection that ended are those of a new peer: the caller refuses what lacks a
 * session.
 *
 *  Frames are single-part. Thread: the loop's. Callbacks run in the loop, never inside a call of this header,
 * and may call everything here but helio_server_destroy.
 */
#ifndef HELIO_NET_SERVER_H
#define HELIO_NET_SERVER_H

#include <stdint.h>

#include "federation/base/memory.h"
#include "federation/net/loop.h"
#include "federation/net/net.h"

enum { HELIO_PRINCIPAL_MAX = 127 }; /* bytes of a principal's name */

typedef struct helio_server helio_server_t;

typedef enum helio_gone {
    HELIO_GONE_UNREACHABLE,
    HELIO_GONE_OVERFLOW,
    HELIO_GONE_IDLE,
    HELIO_GONE_REVOKED,
    HELIO_GONE_CROWDED,
    HELIO_GONE_COUNT
} helio_gone_t;
const char *helio_gone_name(helio_gone_t why); /* "unreachable", … */

/*  Zero takes the default in brackets. Strings are copied; the secret key is handed to ZeroMQ and not kept
 * here. */
typedef struct helio_server_options {
    const char *endpoint;         /* "tcp://0.0.0.0:7443"; "tcp://127.0.0.1:*" picks a port */
    const char *secret_key;       /* Z85 */
    uint32_t frame_max_bytes;     /* larger is dropped; much larger closes the connection [1 MiB] */
    uint32_t outbox_max_messages; /* per peer, beyond ZeroMQ's own queue [4096] */
    uint32_t outbox_max_bytes;    /* per peer [8 MiB] */
    uint32_t queue_messages;      /* ZeroMQ's high-water mark per connection and direction [128] */
    uint32_t burst;               /* messages served per turn of the loop [256] */
    uint32_t peers_per_key;       /* [32] */
    int64_t idle_ms;              /* [120 s] */
    int linger_ms;                /* how long the end may wait for what was sent [1 s; -1 = not at all] */
    void (*on_message)(void *arg, uint64_t peer, helio_text_t principal,
                       helio_text_t frame);                      /* views: this call */
    void (*on_gone)(void *arg, uint64_t peer, helio_gone_t why); /* may be NULL */
    void *arg;
} helio_server_options_t;

typedef struct helio_server_counters {
    uint64_t received, received_bytes;
    uint64_t sent, sent_bytes; /* handed to ZeroMQ */
    uint64_t queued;           /* through an outbox */
    uint64_t handshakes_accepted, handshakes_refused;
    uint64_t dropped_anonymous; /* no User-Id */
    uint64_t dropped_unknown;   /* key not, or no longer, in the table */
    uint64_t dropped_multipart;
    uint64_t dropped_big;   /* beyond frame_max_bytes */
    uint64_t dropped_named; /* connections that chose their own routing id */
    uint64_t gone[HELIO_GONE_COUNT];
    uint64_t peers;                         /* now */
    uint64_t outbox_messages, outbox_bytes; /* now, of all peers */
} helio_server_counters_t;

/*  Authenticator first, then the socket is bound; nobody is allowed in yet. HELIO_CONFLICT: port in use, or
 * the net has a server already; HELIO_INVALID: endpoint or key. The text names the endpoint and what to do.
 */
HELIO_MUST_CHECK helio_rc helio_server_new(helio_net_t *net, helio_loop_t *loop,
                                           const helio_server_options_t *options, helio_server_t **ret_server,
                                           helio_error_t *err);
void helio_server_destroy(helio_server_t **self_p); /* calls nothing back */
/*  As bound, with the port that was picked. Lives as long as the server. */
const char *helio_server_endpoint(const helio_server_t *self);
const char *helio_server_public_key(const helio_server_t *self);

/*  Lets a key in as a principal (1..HELIO_PRINCIPAL_MAX bytes); replaces its former principal. HELIO_INVALID.
 */
HELIO_MUST_CHECK helio_rc helio_server_allow(helio_server_t *self, helio_text_t public_key,
                                             helio_text_t principal, helio_error_t *err);
/*  Cuts a key off: unknown keys are no error. */
void helio_server_revoke(helio_server_t *self, helio_text_t public_key);
/*  The whole table at once: keys that it does not name are revoked, unchanged ones keep their connections.
 *  HELIO_INVALID leaves the former table. */
typedef struct helio_grant {
    helio_text_t public_key;
    helio_text_t principal;
} helio_grant_t;
HELIO_MUST_CHECK helio_rc helio_server_replace(helio_server_t *self, const helio_grant_t *grants,
                                               size_t count, helio_error_t *err);

/*  Sends, or queues in the peer's outbox and retries; frames of one peer keep their order. Never blocks.
 * HELIO_OK promises nothing about delivery. HELIO_UNAVAILABLE: the peer is gone, or has just been declared so
 * (on_gone follows); HELIO_TOO_BIG: longer than frame_max_bytes; HELIO_INVALID: empty. */
HELIO_MUST_CHECK helio_rc helio_server_send(helio_server_t *self, uint64_t peer, helio_text_t frame);
/*  Ends a peer without on_gone. */
void helio_server_drop(helio_server_t *self, uint64_t peer);

void helio_server_counters(const helio_server_t *self, helio_server_counters_t *ret_counters);

#endif
