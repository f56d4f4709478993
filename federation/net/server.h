/*  server.h -- a bound endpoint that communicates only with peers whose public key is in its table of principals.
 *
 *  Each connection has a ZeroMQ socket of its own with CURVE (line.h), so that no peer can take another's place: see
 *  docs/decisions/0005-a-socket-per-connection.md. The identity of a peer is the key that its connection has proved:
 *  never a routing id, and never a field of a message. Revoking a key closes its live connections at once.
 *
 *  A peer is a connection that has sent something, identified by a handle that is never reused. A principal may have
 *  several peers (reconnections, several keys). A peer ends, its connection is closed, and on_gone is called once for
 *  it, when
 *    - its connection is closed or broken,
 *    - its outbox is full because it does not read; its queued frames are dropped,
 *    - it has sent nothing for idle_ms,
 *    - its key was revoked or given to another principal,
 *    - its key has more than peers_per_key connections (the one silent for longest ends).
 *  What a connection brought before it was closed is still delivered, except after a revocation.
 *
 *  Frames are single-part. Thread: the loop's. Callbacks run in the loop, never inside a call of this header, and may
 *  call everything here except helio_server_destroy.
 */
#ifndef HELIO_NET_SERVER_H
#define HELIO_NET_SERVER_H

#include <stdint.h>

#include "federation/base/memory.h"
#include "federation/net/loop.h"
#include "federation/net/net.h"
#include "federation/net/rate.h"

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

/*  Zero selects the default in brackets. Strings are copied; the copy of the secret key is wiped at the end. */
typedef struct helio_server_options {
    const char *endpoint;         /* "tcp://0.0.0.0:7443"; "tcp://127.0.0.1:*" picks a port */
    const char *secret_key;       /* Z85 */
    uint32_t frame_max_bytes;     /* larger frames are dropped; much larger ones close the connection [1 MiB] */
    uint32_t outbox_max_messages; /* per peer, beyond ZeroMQ's own queue [4096] */
    uint32_t outbox_max_bytes;    /* per peer [8 MiB] */
    uint32_t queue_messages;      /* ZeroMQ's high-water mark per connection and direction [128] */
    uint32_t burst;               /* messages of one peer served per turn of the loop [32] */
    uint32_t peers_per_key;       /* [32] */
    helio_rate_limit_t rate;      /* of a key; beyond it, its peers are not read, and nothing is lost [no limit] */
    int64_t idle_ms;              /* [120 s] */
    int linger_ms;                /* how long destroying may wait for sent messages [1 s; -1 = not at all] */
    void (*on_message)(void *arg, uint64_t peer, helio_text_t principal, helio_text_t frame); /* views: this call */
    void (*on_gone)(void *arg, uint64_t peer, helio_gone_t why);                              /* may be NULL */
    void *arg;
} helio_server_options_t;

typedef struct helio_server_counters {
    uint64_t received, received_bytes;
    uint64_t sent, sent_bytes; /* handed to ZeroMQ */
    uint64_t queued;           /* through an outbox */
    uint64_t handshakes_accepted, handshakes_refused;
    uint64_t dropped_anonymous; /* no User-Id */
    uint64_t dropped_unknown;   /* not the key of the connection */
    uint64_t dropped_multipart;
    uint64_t dropped_big; /* beyond frame_max_bytes */
    uint64_t slowed;      /* times that a peer had to wait for its rate */
    uint64_t turned_away; /* connections for which there was no socket */
    uint64_t gone[HELIO_GONE_COUNT];
    uint64_t peers;                         /* now */
    uint64_t strangers;                     /* now: connections that have not proved a key */
    uint64_t outbox_messages, outbox_bytes; /* now, of all peers */
} helio_server_counters_t;

/*  Starts the authenticator, then opens the port; no key is allowed yet. HELIO_CONFLICT: the port is in use, or
 *  the net already has a server; HELIO_INVALID: endpoint or key. The error's text names the endpoint and the remedy. */
HELIO_MUST_CHECK helio_rc helio_server_new(helio_net_t *net, helio_loop_t *loop, const helio_server_options_t *options,
                                           helio_server_t **ret_server, helio_error_t *err);
void helio_server_destroy(helio_server_t **self_p); /* calls nothing back */
/*  The bound endpoint, with the actual port. Lives as long as the server. */
const char *helio_server_endpoint(const helio_server_t *self);
const char *helio_server_public_key(const helio_server_t *self);

/*  Allows a key as a principal (1..HELIO_PRINCIPAL_MAX bytes); replaces its former principal. HELIO_INVALID. */
HELIO_MUST_CHECK helio_rc helio_server_allow(helio_server_t *self, helio_text_t public_key, helio_text_t principal,
                                             helio_error_t *err);
/*  Revokes a key; unknown keys are not an error. */
void helio_server_revoke(helio_server_t *self, helio_text_t public_key);
/*  Replaces the whole table: keys that are not listed are revoked, unchanged keys keep their connections. On
 *  HELIO_INVALID the former table stays. */
typedef struct helio_grant {
    helio_text_t public_key;
    helio_text_t principal;
} helio_grant_t;
HELIO_MUST_CHECK helio_rc helio_server_replace(helio_server_t *self, const helio_grant_t *grants, size_t count,
                                               helio_error_t *err);

/*  Sends the frame, or queues it in the peer's outbox and retries; frames to one peer keep their order. Never blocks.
 *  HELIO_OK does not imply delivery. HELIO_UNAVAILABLE: the peer is gone, or was just found to be (on_gone follows);
 *  HELIO_TOO_BIG: longer than frame_max_bytes; HELIO_INVALID: empty. */
HELIO_MUST_CHECK helio_rc helio_server_send(helio_server_t *self, uint64_t peer, helio_text_t frame);
/*  Ends a peer without on_gone. */
void helio_server_drop(helio_server_t *self, uint64_t peer);

void helio_server_counters(const helio_server_t *self, helio_server_counters_t *ret_counters);

#endif
