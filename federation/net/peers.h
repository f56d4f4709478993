/*  peers.h -- the table of grants (key -> principal) and the table of peers (connections that have sent something).
 *  Used by server.c only; pure bookkeeping, no sockets. */
#ifndef HELIO_NET_PEERS_H
#define HELIO_NET_PEERS_H

#include "federation/base/id.h"

/*  A stranger cannot choose a key of these tables: they are our own handles, ROUTER's numbers and granted public
 *  keys. */
#define HASH_FUNCTION(bytes, size, ret_hash) \
    ((ret_hash) = (unsigned)helio_hash(HELIO_HASH_SEED, (bytes), (size)))
#include <uthash.h>

#include "federation/net/curve.h"
#include "federation/net/outbox.h"
#include "federation/net/server.h"

typedef struct helio_peer helio_peer_t;

typedef struct helio_allowed {
    char key[HELIO_CURVE_SIZE];
    char principal[HELIO_PRINCIPAL_MAX + 1];
    bool keep; /* during the replacement of the whole table */
    helio_peer_t *peers;
    uint32_t peer_count;
    UT_hash_handle hh;
} helio_allowed_t;

struct helio_peer {
    uint64_t handle;
    uint32_t route; /* ROUTER's id of the connection: a zero byte, then these four */
    helio_allowed_t *allowed;
    int64_t heard_ms;
    helio_outbox_t outbox;
    helio_peer_t *previous, *next; /* peers with the same key */
    UT_hash_handle by_handle, by_route;
};

typedef struct helio_farewell {
    uint64_t peer;
    helio_gone_t why;
} helio_farewell_t;

typedef struct helio_peers {
    helio_allowed_t *allowed;
    helio_peer_t *by_handle, *by_route;
    uint64_t last_handle;
    helio_farewell_t *farewells; /* pending calls of on_gone */
    size_t farewell_count, farewell_capacity;
    uint64_t outbox_messages, outbox_bytes; /* of all peers */
} helio_peers_t;

void helio_peers_clear(helio_peers_t *self);

helio_allowed_t *helio_peers_allowed(const helio_peers_t *self, const char *key, size_t size);
/*  Both functions retire the peers that lose their principal. */
void helio_peers_allow(helio_peers_t *self, helio_text_t key, helio_text_t principal);
void helio_peers_revoke(helio_peers_t *self, helio_allowed_t *allowed);

helio_peer_t *helio_peers_find(const helio_peers_t *self, uint64_t handle);
/*  The peer of a message, created if it is new; then the peer of this key that was silent longest may be retired. */
helio_peer_t *helio_peers_of(helio_peers_t *self, uint32_t route, helio_allowed_t *allowed, int64_t now_ms,
                             uint32_t per_key_max);
/*  Removes a peer and its queued frames; retiring schedules on_gone, forgetting does not. */
void helio_peers_retire(helio_peers_t *self, helio_peer_t *peer, helio_gone_t why);
void helio_peers_forget(helio_peers_t *self, helio_peer_t *peer);

#endif
