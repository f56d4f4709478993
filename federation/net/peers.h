/*  peers.h -- the table of grants (key -> principal) and the table of peers: every connection, from its arrival on. A
 *  stranger has not proved a granted key yet. Used by server.c only. */
#ifndef HELIO_NET_PEERS_H
#define HELIO_NET_PEERS_H

#include "federation/base/id.h"

/*  A stranger cannot choose a key of these tables: they are our own handles and granted public keys. */
#define HASH_FUNCTION(bytes, size, ret_hash) ((ret_hash) = (unsigned)helio_hash(HELIO_HASH_SEED, (bytes), (size)))
#include <uthash.h>

#include "federation/net/curve.h"
#include "federation/net/door.h"
#include "federation/net/line.h"
#include "federation/net/outbox.h"
#include "federation/net/rate.h"
#include "federation/net/server.h"

typedef struct helio_peer helio_peer_t;

typedef struct helio_allowed {
    char key[HELIO_CURVE_SIZE];
    char principal[HELIO_PRINCIPAL_MAX + 1];
    bool keep; /* during the replacement of the whole table */
    helio_peer_t *peers;
    uint32_t peer_count;
    helio_rate_t rate; /* of all of them together */
    UT_hash_handle hh;
} helio_allowed_t;

/*  The strangers of one origin. */
typedef struct helio_crowd {
    helio_origin_t origin;
    uint32_t count;
    struct helio_crowd *previous, *next;
} helio_crowd_t;

struct helio_peer {
    uint64_t handle;
    helio_line_t line;
    helio_allowed_t *allowed; /* NULL: a stranger */
    helio_crowd_t *crowd;     /* of a stranger */
    bool spoken;              /* the caller knows its handle */
    bool slowed;              /* it waits until it may send again */
    bool ready;               /* it is in the list of those that are to be served again */
    int64_t heard_ms;         /* also of its arrival */
    uint32_t watched[3];      /* what each descriptor is watched for; indices are of watch.c */
    helio_outbox_t outbox;
    helio_peer_t *previous, *next; /* peers with the same key; or strangers, the oldest first */
    helio_peer_t *ready_previous, *ready_next;
    UT_hash_handle by_handle;
};

typedef struct helio_farewell {
    uint64_t peer;
    helio_gone_t why;
} helio_farewell_t;

typedef struct helio_peers {
    helio_allowed_t *allowed;
    helio_peer_t *by_handle;
    helio_peer_t *strangers;
    helio_crowd_t *crowds;
    helio_peer_t *ready;
    uint32_t stranger_count, spoken_count, ready_count;
    uint64_t last_handle;
    helio_farewell_t *farewells; /* pending calls of on_gone */
    size_t farewell_count, farewell_capacity;
    uint64_t outbox_messages, outbox_bytes; /* of all peers */
} helio_peers_t;

void helio_peers_clear(helio_peers_t *self);
/*  Closes all lines. What was sent still leaves, for linger_ms at most: the caller waits that long. */
void helio_peers_see_off(helio_peers_t *self, int linger_ms);

helio_allowed_t *helio_peers_allowed(const helio_peers_t *self, const char *key, size_t size);
/*  Both functions retire the peers that lose their principal. */
void helio_peers_allow(helio_peers_t *self, helio_text_t key, helio_text_t principal);
void helio_peers_revoke(helio_peers_t *self, helio_allowed_t *allowed);

/*  HELIO_INVALID: no public key, or no name of a principal. */
HELIO_MUST_CHECK helio_rc helio_grant_check(helio_text_t public_key, helio_text_t principal, helio_error_t *err);
/*  The grants are all that is allowed from now on. HELIO_INVALID: the former ones stay. */
HELIO_MUST_CHECK helio_rc helio_peers_replace(helio_peers_t *self, const helio_grant_t *grants, size_t count,
                                              helio_error_t *err);

helio_peer_t *helio_peers_find(const helio_peers_t *self, uint64_t handle);
/*  A new stranger for an open line, which it takes over. Beyond strangers_max, the oldest stranger of the origin that has
 *  most of them is forgotten. So connections that prove nothing keep no agent out, and a flood from one address costs the
 *  handshakes of that address alone. */
helio_peer_t *helio_peers_add(helio_peers_t *self, uint64_t handle, const helio_line_t *line, helio_origin_t origin,
                              int64_t now_ms, uint32_t strangers_max);
/*  The stranger has proved the key. The peer of this key that was silent longest may be retired for it. */
void helio_peers_admit(helio_peers_t *self, helio_peer_t *peer, helio_allowed_t *allowed, uint32_t per_key_max);
void helio_peers_heard(helio_peers_t *self, helio_peer_t *peer, int64_t now_ms);
void helio_peers_set_ready(helio_peers_t *self, helio_peer_t *peer);
/*  The next peer to be served again; NULL if none is left. */
helio_peer_t *helio_peers_take_ready(helio_peers_t *self);
/*  Both remove a peer with its queued frames and cut its connection; retiring schedules on_gone if the caller knows the
 *  peer, forgetting does not. */
void helio_peers_retire(helio_peers_t *self, helio_peer_t *peer, helio_gone_t why);
void helio_peers_forget(helio_peers_t *self, helio_peer_t *peer);

#endif
