#include "federation/net/peers.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

void helio_peers_forget(helio_peers_t *self, helio_peer_t *peer)
{
    HASH_DELETE(by_handle, self->by_handle, peer);
    HASH_DELETE(by_route, self->by_route, peer);
    DL_DELETE2(peer->allowed->peers, peer, previous, next);
    peer->allowed->peer_count--;
    self->outbox_messages -= peer->outbox.messages;
    self->outbox_bytes -= peer->outbox.bytes;
    helio_outbox_clear(&peer->outbox);
    free(peer);
}

void helio_peers_retire(helio_peers_t *self, helio_peer_t *peer, helio_gone_t why)
{
    if (self->farewell_count == self->farewell_capacity) {
        self->farewell_capacity = self->farewell_capacity ? 2 * self->farewell_capacity : 16;
        self->farewells = helio_grow(self->farewells, self->farewell_capacity, sizeof *self->farewells);
    }
    self->farewells[self->farewell_count++] = (helio_farewell_t){peer->handle, why};
    helio_peers_forget(self, peer);
}

static void retire_all_of(helio_peers_t *self, helio_allowed_t *allowed)
{
    while (allowed->peers)
        helio_peers_retire(self, allowed->peers, HELIO_GONE_REVOKED);
}

void helio_peers_revoke(helio_peers_t *self, helio_allowed_t *allowed)
{
    retire_all_of(self, allowed);
    HASH_DELETE(hh, self->allowed, allowed);
    free(allowed);
}

void helio_peers_clear(helio_peers_t *self)
{
    helio_allowed_t *allowed, *next;
    HASH_ITER(hh, self->allowed, allowed, next)
    helio_peers_revoke(self, allowed);
    free(self->farewells);
    *self = (helio_peers_t){0};
}

helio_allowed_t *helio_peers_allowed(const helio_peers_t *self, const char *key, size_t size)
{
    helio_allowed_t *allowed = NULL;
    if (size == HELIO_CURVE_CHARS)
        HASH_FIND(hh, self->allowed, key, HELIO_CURVE_CHARS, allowed);
    return allowed;
}

void helio_peers_allow(helio_peers_t *self, helio_text_t key, helio_text_t principal)
{
    helio_allowed_t *allowed = helio_peers_allowed(self, key.data, key.size);
    if (!allowed) {
        allowed = helio_new(1, sizeof *allowed);
        (void)helio_text_copy(key, allowed->key, sizeof allowed->key);
        HASH_ADD(hh, self->allowed, key, HELIO_CURVE_CHARS, allowed);
    } else if (!helio_text_is(principal, allowed->principal)) {
        retire_all_of(self, allowed);
    }
    (void)helio_text_copy(principal, allowed->principal, sizeof allowed->principal);
    allowed->keep = true;
}

helio_peer_t *helio_peers_find(const helio_peers_t *self, uint64_t handle)
{
    helio_peer_t *peer = NULL;
    HASH_FIND(by_handle, self->by_handle, &handle, sizeof handle, peer);
    return peer;
}

static void make_room(helio_peers_t *self, helio_allowed_t *allowed, uint32_t per_key_max)
{
    helio_peer_t *peer, *silent = allowed->peers;
    if (allowed->peer_count < per_key_max)
        return;
    DL_FOREACH2(allowed->peers, peer, next)
    if (peer->heard_ms < silent->heard_ms)
        silent = peer;
    helio_peers_retire(self, silent, HELIO_GONE_CROWDED);
}

helio_peer_t *helio_peers_of(helio_peers_t *self, uint32_t route, helio_allowed_t *allowed, int64_t now_ms,
                             uint32_t per_key_max)
{
    helio_peer_t *peer = NULL;
    HASH_FIND(by_route, self->by_route, &route, sizeof route, peer);
    if (peer && peer->allowed != allowed) {
        /* Another peer has the route now, so the former connection has ended. */
        helio_peers_retire(self, peer, HELIO_GONE_UNREACHABLE);
        peer = NULL;
    }
    if (!peer) {
        make_room(self, allowed, per_key_max);
        peer = helio_new(1, sizeof *peer);
        peer->handle = ++self->last_handle;
        peer->route = route;
        peer->allowed = allowed;
        HASH_ADD(by_handle, self->by_handle, handle, sizeof peer->handle, peer);
        HASH_ADD(by_route, self->by_route, route, sizeof peer->route, peer);
        DL_APPEND2(allowed->peers, peer, previous, next);
        allowed->peer_count++;
    }
    peer->heard_ms = now_ms;
    return peer;
}
