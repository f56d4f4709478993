/*  peers.c -- the tables of grants and peers. */
#include "federation/net/peers.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utlist.h>

#include "federation/base/clock.h"

enum { SEE_OFF_STEP_MS = 2 };

const char *helio_gone_name(helio_gone_t why)
{
    static const char *const words[HELIO_GONE_COUNT] = {"unreachable", "overflow", "idle", "revoked", "crowded"};
    return (unsigned)why < HELIO_GONE_COUNT ? words[why] : "unknown";
}

static void unset_ready(helio_peers_t *self, helio_peer_t *peer)
{
    if (!peer->ready)
        return;
    DL_DELETE2(self->ready, peer, ready_previous, ready_next);
    peer->ready = false;
    self->ready_count--;
}

/*  There are at most as many crowds as strangers, so they are searched one by one. */
static helio_crowd_t *crowd_of(helio_peers_t *self, helio_origin_t origin)
{
    helio_crowd_t *crowd;
    DL_FOREACH2(self->crowds, crowd, next)
    if (memcmp(&crowd->origin, &origin, sizeof origin) == 0)
        return crowd;
    crowd = helio_new(1, sizeof *crowd);
    crowd->origin = origin;
    DL_APPEND2(self->crowds, crowd, previous, next);
    return crowd;
}

static void leave_strangers(helio_peers_t *self, helio_peer_t *peer)
{
    DL_DELETE2(self->strangers, peer, previous, next);
    self->stranger_count--;
    helio_crowd_t *crowd = peer->crowd;
    peer->crowd = NULL;
    if (--crowd->count)
        return;
    DL_DELETE2(self->crowds, crowd, previous, next);
    free(crowd);
}

/*  The oldest of the largest crowd. */
static helio_peer_t *first_to_go(const helio_peers_t *self)
{
    uint32_t most = 0;
    const helio_crowd_t *crowd;
    DL_FOREACH2(self->crowds, crowd, next)
    most = crowd->count > most ? crowd->count : most;
    helio_peer_t *peer = self->strangers;
    while (peer->crowd->count < most)
        peer = peer->next;
    return peer;
}

static void leave_lists(helio_peers_t *self, helio_peer_t *peer)
{
    if (peer->allowed) {
        DL_DELETE2(peer->allowed->peers, peer, previous, next);
        peer->allowed->peer_count--;
    } else {
        leave_strangers(self, peer);
    }
    unset_ready(self, peer);
}

void helio_peers_forget(helio_peers_t *self, helio_peer_t *peer)
{
    HASH_DELETE(by_handle, self->by_handle, peer);
    leave_lists(self, peer);
    self->spoken_count -= peer->spoken;
    self->outbox_messages -= peer->outbox.messages;
    self->outbox_bytes -= peer->outbox.bytes;
    helio_outbox_clear(&peer->outbox);
    helio_line_close(&peer->line, 0);
    free(peer);
}

void helio_peers_retire(helio_peers_t *self, helio_peer_t *peer, helio_gone_t why)
{
    if (peer->spoken && self->farewell_count == self->farewell_capacity) {
        self->farewell_capacity = self->farewell_capacity ? 2 * self->farewell_capacity : 16;
        self->farewells = helio_grow(self->farewells, self->farewell_capacity, sizeof *self->farewells);
    }
    if (peer->spoken)
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
    while (self->strangers)
        helio_peers_forget(self, self->strangers);
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

helio_rc helio_grant_check(helio_text_t public_key, helio_text_t principal, helio_error_t *err)
{
    if (!principal.size || principal.size > HELIO_PRINCIPAL_MAX || memchr(principal.data, '\0', principal.size))
        return helio_fail(err, HELIO_INVALID, "the name of a principal must have 1 to %d bytes", HELIO_PRINCIPAL_MAX);
    if (!helio_curve_key_is_valid(public_key))
        return helio_fail(err, HELIO_INVALID, "%.*s: the key \"%.*s\" is not a public key (40 characters of Z85)",
                          HELIO_TEXT_ARGS(principal), HELIO_TEXT_ARGS(public_key));
    return HELIO_OK;
}

helio_rc helio_peers_replace(helio_peers_t *self, const helio_grant_t *grants, size_t count, helio_error_t *err)
{
    helio_allowed_t *allowed, *next;
    for (size_t i = 0; i < count; i++) {
        helio_rc rc = helio_grant_check(grants[i].public_key, grants[i].principal, err);
        if (rc)
            return rc;
    }
    HASH_ITER(hh, self->allowed, allowed, next)
    allowed->keep = false;
    for (size_t i = 0; i < count; i++)
        helio_peers_allow(self, grants[i].public_key, grants[i].principal);
    HASH_ITER(hh, self->allowed, allowed, next)
    if (!allowed->keep)
        helio_peers_revoke(self, allowed);
    return HELIO_OK;
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

helio_peer_t *helio_peers_add(helio_peers_t *self, uint64_t handle, const helio_line_t *line, helio_origin_t origin,
                              int64_t now_ms, uint32_t strangers_max)
{
    if (self->stranger_count >= strangers_max)
        helio_peers_forget(self, first_to_go(self));
    helio_peer_t *peer = helio_new(1, sizeof *peer);
    peer->handle = handle;
    peer->line = *line;
    peer->heard_ms = now_ms;
    HASH_ADD(by_handle, self->by_handle, handle, sizeof peer->handle, peer);
    DL_APPEND2(self->strangers, peer, previous, next);
    self->stranger_count++;
    peer->crowd = crowd_of(self, origin);
    peer->crowd->count++;
    return peer;
}

void helio_peers_admit(helio_peers_t *self, helio_peer_t *peer, helio_allowed_t *allowed, uint32_t per_key_max)
{
    make_room(self, allowed, per_key_max);
    leave_strangers(self, peer);
    peer->allowed = allowed;
    DL_APPEND2(allowed->peers, peer, previous, next);
    allowed->peer_count++;
}

void helio_peers_heard(helio_peers_t *self, helio_peer_t *peer, int64_t now_ms)
{
    self->spoken_count += !peer->spoken;
    peer->spoken = true;
    peer->heard_ms = now_ms;
}

void helio_peers_set_ready(helio_peers_t *self, helio_peer_t *peer)
{
    if (peer->ready)
        return;
    peer->ready = true;
    self->ready_count++;
    DL_APPEND2(self->ready, peer, ready_previous, ready_next);
}

helio_peer_t *helio_peers_take_ready(helio_peers_t *self)
{
    helio_peer_t *peer = self->ready;
    if (peer)
        unset_ready(self, peer);
    return peer;
}

void helio_peers_see_off(helio_peers_t *self, int linger_ms)
{
    static const struct timespec step = {.tv_nsec = SEE_OFF_STEP_MS * 1000000L};
    int64_t end_ms = helio_clock_boot_ms() + linger_ms;
    helio_peer_t *peer, *next;
    HASH_ITER(by_handle, self->by_handle, peer, next)
    helio_line_close(&peer->line, linger_ms);
    while (self->by_handle && helio_clock_boot_ms() < end_ms) {
        HASH_ITER(by_handle, self->by_handle, peer, next)
        if (peer->line.relay.inner < 0 || !helio_relay_pump(&peer->line.relay))
            helio_peers_forget(self, peer);
        if (self->by_handle)
            (void)nanosleep(&step, NULL);
    }
}
