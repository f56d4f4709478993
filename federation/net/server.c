/*  server.c -- the endpoint of the broker: takes connections, receives, sends, retires peers, changes grants. */
#include "federation/net/server.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/file.h"
#include "federation/net/door.h"
#include "federation/net/internal.h"
#include "federation/net/peers.h"
#include "federation/net/watch.h"
#include "federation/net/zap.h"

/*  STRANGERS_MAX connections at most may be in their handshake. A peer that has proved its key and says nothing for
 *  SPEECHLESS_MS is cut off. UNREAD_MAX bytes of a connection wait for their turn; beyond it, the network waits. */
enum {
    RETRY_MS = 10,
    RETRY_BURST = 64,
    ENDPOINT_SIZE = 256,
    ACCEPTS = 32,
    REOPEN_MS = 100,
    SLOWED_MS = 20,
    STRANGERS_MAX = 256,
    SPEECHLESS_MS = 15000,
    UNREAD_MAX = 4 << 20
};

struct helio_server {
    helio_server_options_t options; /* strings are not used after helio_server_new */
    helio_loop_t *loop;
    helio_net_t *net;
    helio_zap_t *zap;
    int door, watch; /* the port; the epoll set of it and of all peers */
    helio_source_t *source;
    helio_timer_t *farewell, *retry, *sweep, *again, *resume, *reopen;
    helio_peers_t peers;
    uint64_t last_handle;
    helio_server_counters_t counters;
    char endpoint[ENDPOINT_SIZE];
    helio_keypair_t pair;
    bool calling; /* inside a callback */
};

/* ---- ends of peers ------------------------------------------------------------------------------------- */

static void retire(helio_server_t *self, helio_peer_t *peer, helio_gone_t why)
{
    helio_peers_retire(&self->peers, peer, why);
}

/*  on_gone is called from the loop only: a caller of helio_server_send does not expect callbacks. */
static void plan_farewells(helio_server_t *self)
{
    if (self->peers.farewell_count && !helio_timer_is_armed(self->farewell))
        helio_timer_arm(self->farewell, 0, 0);
}

static void say_farewells(void *arg)
{
    helio_server_t *self = arg;
    helio_farewell_t *farewells = self->peers.farewells;
    size_t count = self->peers.farewell_count;
    /* The callbacks may retire more peers: those go to a new list and the next turn. */
    self->peers.farewells = NULL;
    self->peers.farewell_count = self->peers.farewell_capacity = 0;
    for (size_t i = 0; i < count; i++) {
        self->counters.gone[farewells[i].why]++;
        if (!self->options.on_gone)
            continue;
        self->calling = true;
        self->options.on_gone(self->options.arg, farewells[i].peer, farewells[i].why);
        self->calling = false;
    }
    free(farewells);
    plan_farewells(self);
}

static void sweep_idle(void *arg)
{
    helio_server_t *self = arg;
    int64_t now_ms = helio_loop_now_ms(self->loop);
    helio_peer_t *peer, *next;
    HASH_ITER(by_handle, self->peers.by_handle, peer, next)
    if (peer->heard_ms + (peer->spoken ? self->options.idle_ms : SPEECHLESS_MS) <= now_ms)
        retire(self, peer, HELIO_GONE_IDLE);
    plan_farewells(self);
}

/* ---- serving again -------------------------------------------------------------------------------------- */

/*  libzmq signals once for many messages. So a caller that leaves some, or calls the socket for another reason, has to
 *  look again. */
static void serve_again(helio_server_t *self, helio_peer_t *peer)
{
    helio_peers_set_ready(&self->peers, peer);
    if (!helio_timer_is_armed(self->again))
        helio_timer_arm(self->again, 0, 0);
}

/* ---- sending ------------------------------------------------------------------------------------------- */

/*  HELIO_BUSY: the connection's queue is full. */
static helio_rc transmit(helio_server_t *self, helio_peer_t *peer, helio_text_t frame)
{
    int sent = zmq_send(peer->line.socket, frame.data, frame.size, ZMQ_DONTWAIT);
    int why = errno;
    serve_again(self, peer);
    if (sent < 0)
        return why == EAGAIN ? HELIO_BUSY : HELIO_UNAVAILABLE;
    self->counters.sent++;
    self->counters.sent_bytes += frame.size;
    return HELIO_OK;
}

/*  False if the peer was retired. */
static bool flush_outbox(helio_server_t *self, helio_peer_t *peer)
{
    for (int i = 0; i < RETRY_BURST && peer->outbox.messages; i++) {
        helio_text_t frame = helio_outbox_first(&peer->outbox);
        helio_rc rc = transmit(self, peer, frame);
        if (rc == HELIO_BUSY)
            return true;
        if (rc) {
            retire(self, peer, HELIO_GONE_UNREACHABLE);
            return false;
        }
        self->peers.outbox_messages--;
        self->peers.outbox_bytes -= frame.size;
        helio_outbox_remove_first(&peer->outbox);
    }
    return true;
}

static void retry_outboxes(void *arg)
{
    helio_server_t *self = arg;
    helio_peer_t *peer, *next;
    HASH_ITER(by_handle, self->peers.by_handle, peer, next)
    if (peer->outbox.messages)
        (void)flush_outbox(self, peer);
    if (!self->peers.outbox_messages)
        helio_timer_disarm(self->retry);
    plan_farewells(self);
}

static helio_rc give_up(helio_server_t *self, helio_peer_t *peer, helio_gone_t why)
{
    retire(self, peer, why);
    plan_farewells(self);
    return HELIO_UNAVAILABLE;
}

helio_rc helio_server_send(helio_server_t *self, uint64_t handle, helio_text_t frame)
{
    helio_peer_t *peer = helio_peers_find(&self->peers, handle);
    if (!frame.size)
        return HELIO_INVALID;
    if (frame.size > self->options.frame_max_bytes)
        return HELIO_TOO_BIG;
    if (!peer)
        return HELIO_UNAVAILABLE;
    if (!peer->outbox.messages) {
        helio_rc rc = transmit(self, peer, frame);
        if (rc == HELIO_UNAVAILABLE)
            return give_up(self, peer, HELIO_GONE_UNREACHABLE);
        if (!rc)
            return HELIO_OK;
    }
    if (helio_outbox_add(&peer->outbox, frame, self->options.outbox_max_messages, self->options.outbox_max_bytes))
        return give_up(self, peer, HELIO_GONE_OVERFLOW);
    self->counters.queued++;
    self->peers.outbox_messages++;
    self->peers.outbox_bytes += frame.size;
    if (!helio_timer_is_armed(self->retry))
        helio_timer_arm(self->retry, RETRY_MS, RETRY_MS);
    return HELIO_OK;
}

void helio_server_drop(helio_server_t *self, uint64_t handle)
{
    helio_peer_t *peer = helio_peers_find(&self->peers, handle);
    if (peer)
        helio_peers_forget(&self->peers, peer);
}

/* ---- receiving ----------------------------------------------------------------------------------------- */

/*  The line has one connection, so every message of it has the key that the authenticator admitted. It is compared all
 *  the same: identity rests on nothing else. */
static bool is_of_peer(helio_server_t *self, const helio_peer_t *peer, zmq_msg_t *body)
{
    const char *key = zmq_msg_gets(body, "User-Id");
    if (!key || !*key)
        self->counters.dropped_anonymous++;
    else if (!peer->allowed || strcmp(key, peer->allowed->key) != 0)
        self->counters.dropped_unknown++;
    else
        return true;
    return false;
}

static void deliver(helio_server_t *self, helio_peer_t *peer, zmq_msg_t *body)
{
    /* A copy: the callback may revoke the key, which frees the peer and its principal. */
    char principal[HELIO_PRINCIPAL_MAX + 1];
    memcpy(principal, peer->allowed->principal, sizeof principal);
    helio_text_t frame = {zmq_msg_data(body), (uint32_t)zmq_msg_size(body)};
    helio_peers_heard(&self->peers, peer, helio_loop_now_ms(self->loop));
    helio_rate_spend(&peer->allowed->rate, &self->options.rate, frame.size);
    self->counters.received++;
    self->counters.received_bytes += frame.size;
    self->calling = true;
    self->options.on_message(self->options.arg, peer->handle, helio_text_of(principal), frame);
    self->calling = false;
}

/*  Serves one message. False if none is left. The peer may be gone afterwards. */
static bool receive(helio_server_t *self, helio_peer_t *peer)
{
    zmq_msg_t body;
    (void)zmq_msg_init(&body);
    bool received = zmq_msg_recv(&body, peer->line.socket, ZMQ_DONTWAIT) >= 0;
    if (!received) {
        helio_relay_drained(&peer->line.relay);
    } else if (zmq_msg_more(&body)) {
        self->counters.dropped_multipart++;
        helio_socket_skip_parts(peer->line.socket);
    } else if (zmq_msg_size(&body) > self->options.frame_max_bytes) {
        self->counters.dropped_big++;
    } else if (is_of_peer(self, peer, &body)) {
        deliver(self, peer, &body);
    }
    (void)zmq_msg_close(&body);
    return received;
}

/*  A peer whose key sends too much is not read. What it sends then waits in its own queues, at last in the network. */
static bool is_slowed(helio_server_t *self, helio_peer_t *peer)
{
    peer->slowed = peer->allowed && !helio_rate_allows(&peer->allowed->rate, helio_loop_now_ms(self->loop));
    if (peer->slowed && !helio_timer_is_armed(self->resume)) {
        self->counters.slowed++;
        helio_timer_arm(self->resume, SLOWED_MS, 0);
    }
    return peer->slowed;
}

/*  Carries bytes, and serves a bounded number of messages. */
static void serve(helio_server_t *self, uint64_t handle)
{
    helio_peer_t *peer = helio_peers_find(&self->peers, handle);
    if (!peer)
        return;
    if (peer->line.relay.inner < 0 && !helio_line_join(&peer->line)) {
        helio_watch_peer(self->watch, peer);
        return;
    }
    bool alive = helio_relay_pump(&peer->line.relay);
    bool more = true;
    for (uint32_t i = 0; i < self->options.burst && peer && more && !is_slowed(self, peer); i++) {
        more = receive(self, peer);
        peer = helio_peers_find(&self->peers, handle);
    }
    if (!peer)
        return;
    if (more) {
        if (!peer->slowed)
            serve_again(self, peer);
    } else if (!alive) {
        retire(self, peer, HELIO_GONE_UNREACHABLE);
        return;
    }
    helio_watch_peer(self->watch, peer);
}

static void resume_slowed(void *arg)
{
    helio_server_t *self = arg;
    helio_peer_t *peer, *next;
    HASH_ITER(by_handle, self->peers.by_handle, peer, next)
    if (peer->slowed)
        serve_again(self, peer);
}

static void serve_ready(void *arg)
{
    helio_server_t *self = arg;
    helio_peer_t *peer;
    /* Those that become ready meanwhile wait for the next turn. */
    for (uint32_t count = self->peers.ready_count; count && (peer = helio_peers_take_ready(&self->peers)); count--)
        serve(self, peer->handle);
    if (self->peers.ready && !helio_timer_is_armed(self->again))
        helio_timer_arm(self->again, 0, 0);
    plan_farewells(self);
}

/* ---- arrivals ------------------------------------------------------------------------------------------ */

static void watch_door(void *arg)
{
    helio_server_t *self = arg;
    helio_watch_door(self->watch, self->door);
}

static void greet(helio_server_t *self, int connection, helio_origin_t origin)
{
    helio_line_t line;
    helio_line_options_t options = {.number = ++self->last_handle,
                                    .secret_key = self->pair.secret_key,
                                    .frame_max_bytes = self->options.frame_max_bytes,
                                    .queue_messages = self->options.queue_messages,
                                    .unread_max = UNREAD_MAX};
    if (helio_line_open(self->net, connection, &options, &line) != HELIO_OK) {
        self->counters.turned_away++;
        return;
    }
    helio_watch_peer(self->watch, helio_peers_add(&self->peers, options.number, &line, origin,
                                                  helio_loop_now_ms(self->loop), STRANGERS_MAX));
}

static void open_door(helio_server_t *self)
{
    int connection = -1;
    helio_origin_t origin;
    for (int i = 0; i < ACCEPTS && (connection = helio_door_accept(self->door, SILENCE_MS, &origin)) >= 0; i++)
        greet(self, connection, origin);
    /* Without descriptors the same connection would be announced again at once, and for ever. */
    if (connection < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
        helio_timer_arm(self->reopen, REOPEN_MS, 0);
    else
        watch_door(self);
}

static void on_events(void *arg)
{
    helio_server_t *self = arg;
    helio_watched_t events[HELIO_WATCH_EVENTS];
    int count = helio_watch_take(self->watch, events);
    for (int i = 0; i < count; i++) {
        helio_peer_t *peer = helio_peers_find(&self->peers, events[i].handle);
        if (peer)
            helio_watch_over(peer, &events[i]);
        if (events[i].handle)
            serve(self, events[i].handle);
        else
            open_door(self);
    }
    plan_farewells(self);
}

/* ---- principals ---------------------------------------------------------------------------------------- */

/*  The authenticator's question. */
static helio_zap_answer_t admit(void *arg, uint64_t number, const char public_key[HELIO_CURVE_SIZE])
{
    helio_server_t *self = arg;
    if (!self->peers.allowed)
        return HELIO_ZAP_CLOSED;
    helio_peer_t *peer = helio_peers_find(&self->peers, number);
    helio_allowed_t *allowed = helio_peers_allowed(&self->peers, public_key, HELIO_CURVE_CHARS);
    if (!peer || peer->allowed || !allowed)
        return HELIO_ZAP_UNKNOWN;
    helio_peers_admit(&self->peers, peer, allowed, self->options.peers_per_key);
    plan_farewells(self);
    return HELIO_ZAP_KNOWN;
}

helio_rc helio_server_allow(helio_server_t *self, helio_text_t public_key, helio_text_t principal, helio_error_t *err)
{
    helio_rc rc = helio_grant_check(public_key, principal, err);
    if (rc)
        return rc;
    helio_peers_allow(&self->peers, public_key, principal);
    plan_farewells(self);
    return HELIO_OK;
}

void helio_server_revoke(helio_server_t *self, helio_text_t public_key)
{
    helio_allowed_t *allowed = helio_peers_allowed(&self->peers, public_key.data, public_key.size);
    if (!allowed)
        return;
    helio_peers_revoke(&self->peers, allowed);
    plan_farewells(self);
}

helio_rc helio_server_replace(helio_server_t *self, const helio_grant_t *grants, size_t count, helio_error_t *err)
{
    helio_rc rc = helio_peers_replace(&self->peers, grants, count, err);
    if (!rc)
        plan_farewells(self);
    return rc;
}

/* ---- creation and end --------------------------------------------------------------------------------------- */

static void set_defaults(helio_server_options_t *options)
{
#define DEFAULT(member, value) options->member = options->member ? options->member : (value)
    DEFAULT(frame_max_bytes, 1 << 20);
    DEFAULT(outbox_max_messages, 4096);
    DEFAULT(outbox_max_bytes, 8 << 20);
    DEFAULT(queue_messages, 128);
    DEFAULT(burst, 32);
    DEFAULT(peers_per_key, 32);
    DEFAULT(idle_ms, 120000);
    DEFAULT(linger_ms, 1000);
#undef DEFAULT
}

/*  The authenticator is bound before the port is open, so that no peer can ever connect without it. */
static helio_rc open_server(helio_server_t *self, helio_error_t *err)
{
    helio_rc rc = helio_zap_new(self->net, self->loop, admit, self, &self->zap, err);
    if (!rc)
        rc = helio_door_open(self->options.endpoint, &self->door, self->endpoint, sizeof self->endpoint, err);
    if (rc)
        return rc;
    self->watch = helio_watch_open();
    if (self->watch < 0)
        return helio_fail(err, HELIO_IO, "%s: cannot create an epoll set: %s", self->endpoint, strerror(errno));
    watch_door(self);
    return HELIO_OK;
}

helio_rc helio_server_new(helio_net_t *net, helio_loop_t *loop, const helio_server_options_t *options,
                          helio_server_t **ret_server, helio_error_t *err)
{
    assert(options->endpoint && options->on_message);
    helio_server_t *self = helio_new(1, sizeof *self);
    *self = (helio_server_t){.options = *options, .loop = loop, .net = net, .door = -1, .watch = -1};
    set_defaults(&self->options);
    helio_rc rc = helio_keypair_of(options->secret_key, &self->pair, err);
    if (!rc)
        rc = open_server(self, err);
    if (rc) {
        helio_server_destroy(&self);
        return rc;
    }
    self->options.endpoint = self->options.secret_key = NULL;
    self->source = helio_source_new(loop, self->watch, HELIO_LOOP_IN, on_events, self);
    self->farewell = helio_timer_new(loop, say_farewells, self);
    self->retry = helio_timer_new(loop, retry_outboxes, self);
    self->sweep = helio_timer_new(loop, sweep_idle, self);
    self->again = helio_timer_new(loop, serve_ready, self);
    self->resume = helio_timer_new(loop, resume_slowed, self);
    self->reopen = helio_timer_new(loop, watch_door, self);
    int64_t sweep_ms = (self->options.idle_ms < SPEECHLESS_MS ? self->options.idle_ms : SPEECHLESS_MS) / 4 + 1;
    helio_timer_arm(self->sweep, sweep_ms, sweep_ms);
    *ret_server = self;
    return HELIO_OK;
}

void helio_server_destroy(helio_server_t **self_p)
{
    helio_server_t *self = *self_p;
    if (!self)
        return;
    assert(!self->calling);
    helio_timer_destroy(&self->reopen);
    helio_timer_destroy(&self->resume);
    helio_timer_destroy(&self->again);
    helio_timer_destroy(&self->sweep);
    helio_timer_destroy(&self->retry);
    helio_timer_destroy(&self->farewell);
    helio_source_destroy(&self->source);
    helio_close(&self->door);
    if (self->options.linger_ms > 0)
        helio_peers_see_off(&self->peers, self->options.linger_ms);
    helio_peers_clear(&self->peers);
    helio_close(&self->watch);
    helio_zap_destroy(&self->zap);
    helio_keypair_wipe(&self->pair);
    free(self);
    *self_p = NULL;
}

const char *helio_server_endpoint(const helio_server_t *self)
{
    return self->endpoint;
}

const char *helio_server_public_key(const helio_server_t *self)
{
    return self->pair.public_key;
}

void helio_server_counters(const helio_server_t *self, helio_server_counters_t *ret_counters)
{
    *ret_counters = self->counters;
    ret_counters->peers = self->peers.spoken_count;
    ret_counters->outbox_messages = self->peers.outbox_messages;
    ret_counters->outbox_bytes = self->peers.outbox_bytes;
    ret_counters->strangers = self->peers.stranger_count;
    helio_zap_counters(self->zap, &ret_counters->handshakes_accepted, &ret_counters->handshakes_refused);
}
