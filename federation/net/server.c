#include "federation/net/server.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "federation/net/internal.h"
#include "federation/net/peers.h"
#include "federation/net/zap.h"

enum { ROUTE_BYTES = 5, RETRY_MS = 10, RETRY_BURST = 64, ENDPOINT_SIZE = 256 };

struct helio_server {
    helio_server_options_t options; /* strings are not used after helio_server_new */
    helio_loop_t *loop;
    void *socket;
    helio_zap_t *zap;
    helio_source_t *source;
    helio_timer_t *farewell, *retry, *sweep;
    helio_peers_t peers;
    helio_server_counters_t counters;
    char endpoint[ENDPOINT_SIZE];
    char public_key[HELIO_CURVE_SIZE];
    bool calling; /* inside a callback */
};

const char *helio_gone_name(helio_gone_t why)
{
    static const char *const words[HELIO_GONE_COUNT] = {"unreachable", "overflow", "idle", "revoked",
                                                        "crowded"};
    return (unsigned)why < HELIO_GONE_COUNT ? words[why] : "unknown";
}

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
    int64_t since_ms = helio_loop_now_ms(self->loop) - self->options.idle_ms;
    helio_peer_t *peer, *next;
    HASH_ITER(by_handle, self->peers.by_handle, peer, next)
    if (peer->heard_ms <= since_ms)
        retire(self, peer, HELIO_GONE_IDLE);
    plan_farewells(self);
}

/* ---- sending ------------------------------------------------------------------------------------------- */

/*  HELIO_BUSY: the connection's queue is full. HELIO_UNAVAILABLE: the connection no longer exists. */
static helio_rc transmit(helio_server_t *self, const helio_peer_t *peer, helio_text_t frame)
{
    uint8_t route[ROUTE_BYTES] = {0, (uint8_t)(peer->route >> 24), (uint8_t)(peer->route >> 16),
                                  (uint8_t)(peer->route >> 8), (uint8_t)peer->route};
    if (zmq_send(self->socket, route, sizeof route, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
        return errno == EAGAIN ? HELIO_BUSY : HELIO_UNAVAILABLE;
    /* The first part selects the connection in ROUTER: the second part always takes the same one. */
    if (zmq_send(self->socket, frame.data, frame.size, ZMQ_DONTWAIT) < 0)
        return HELIO_UNAVAILABLE;
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
    if (helio_outbox_add(&peer->outbox, frame, self->options.outbox_max_messages,
                         self->options.outbox_max_bytes))
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

/*  The grant of the message's sender. NULL, and counted, if the sender is not allowed. */
static helio_peer_t *peer_of(helio_server_t *self, const uint8_t route[ROUTE_BYTES], int route_size,
                             zmq_msg_t *body)
{
    const char *key = zmq_msg_gets(body, "User-Id");
    if (!key || !*key) {
        self->counters.dropped_anonymous++;
        return NULL;
    }
    helio_allowed_t *allowed = helio_peers_allowed(&self->peers, key, strlen(key));
    if (!allowed) {
        self->counters.dropped_unknown++;
        return NULL;
    }
    /* Generated routing ids are a zero byte and a number; a peer with a chosen id could impersonate an old route. */
    if (route_size != ROUTE_BYTES || route[0] != 0) {
        self->counters.dropped_named++;
        return NULL;
    }
    uint32_t number =
        (uint32_t)route[1] << 24 | (uint32_t)route[2] << 16 | (uint32_t)route[3] << 8 | route[4];
    return helio_peers_of(&self->peers, number, allowed, helio_loop_now_ms(self->loop),
                          self->options.peers_per_key);
}

static void deliver(helio_server_t *self, const helio_peer_t *peer, zmq_msg_t *body)
{
    /* A copy: the callback may revoke the key, which frees the peer and its principal. */
    char principal[HELIO_PRINCIPAL_MAX + 1];
    memcpy(principal, peer->allowed->principal, sizeof principal);
    helio_text_t frame = {zmq_msg_data(body), (uint32_t)zmq_msg_size(body)};
    self->counters.received++;
    self->counters.received_bytes += frame.size;
    self->calling = true;
    self->options.on_message(self->options.arg, peer->handle, helio_text_of(principal), frame);
    self->calling = false;
}

/*  Serves one message. False if there is none. */
static bool receive(helio_server_t *self)
{
    uint8_t route[ROUTE_BYTES] = {0};
    int route_size = zmq_recv(self->socket, route, sizeof route, ZMQ_DONTWAIT);
    if (route_size < 0)
        return false;
    zmq_msg_t body;
    (void)zmq_msg_init(&body);
    if (zmq_msg_recv(&body, self->socket, ZMQ_DONTWAIT) >= 0) {
        if (zmq_msg_more(&body)) {
            self->counters.dropped_multipart++;
            helio_socket_skip_parts(self->socket);
        } else if (zmq_msg_size(&body) > self->options.frame_max_bytes) {
            self->counters.dropped_big++;
        } else {
            helio_peer_t *peer = peer_of(self, route, route_size, &body);
            if (peer)
                deliver(self, peer, &body);
        }
    }
    (void)zmq_msg_close(&body);
    return true;
}

static void on_readable(void *arg)
{
    helio_server_t *self = arg;
    for (uint32_t i = 0; i < self->options.burst && receive(self); i++)
        continue;
    plan_farewells(self);
}

/* ---- principals ---------------------------------------------------------------------------------------- */

static bool is_allowed(void *arg, const char public_key[HELIO_CURVE_SIZE])
{
    helio_server_t *self = arg;
    return helio_peers_allowed(&self->peers, public_key, HELIO_CURVE_CHARS) != NULL;
}

static helio_rc check_grant(helio_text_t public_key, helio_text_t principal, helio_error_t *err)
{
    if (!principal.size || principal.size > HELIO_PRINCIPAL_MAX ||
        memchr(principal.data, '\0', principal.size))
        return helio_fail(err, HELIO_INVALID, "the name of a principal must have 1 to %d bytes", HELIO_PRINCIPAL_MAX);
    if (!helio_curve_key_is_valid(public_key))
        return helio_fail(err, HELIO_INVALID,
                          "%.*s: the key \"%.*s\" is not a public key (40 characters of Z85)",
                          HELIO_TEXT_ARGS(principal), HELIO_TEXT_ARGS(public_key));
    return HELIO_OK;
}

helio_rc helio_server_allow(helio_server_t *self, helio_text_t public_key, helio_text_t principal,
                            helio_error_t *err)
{
    helio_rc rc = check_grant(public_key, principal, err);
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

helio_rc helio_server_replace(helio_server_t *self, const helio_grant_t *grants, size_t count,
                              helio_error_t *err)
{
    helio_allowed_t *allowed, *next;
    for (size_t i = 0; i < count; i++) {
        helio_rc rc = check_grant(grants[i].public_key, grants[i].principal, err);
        if (rc)
            return rc;
    }
    HASH_ITER(hh, self->peers.allowed, allowed, next)
    allowed->keep = false;
    for (size_t i = 0; i < count; i++)
        helio_peers_allow(&self->peers, grants[i].public_key, grants[i].principal);
    HASH_ITER(hh, self->peers.allowed, allowed, next)
    if (!allowed->keep)
        helio_peers_revoke(&self->peers, allowed);
    plan_farewells(self);
    return HELIO_OK;
}

/* ---- beginning and end --------------------------------------------------------------------------------- */

static void set_defaults(helio_server_options_t *options)
{
#define DEFAULT(member, value) options->member = options->member ? options->member : (value)
    DEFAULT(frame_max_bytes, 1 << 20);
    DEFAULT(outbox_max_messages, 4096);
    DEFAULT(outbox_max_bytes, 8 << 20);
    DEFAULT(queue_messages, 128);
    DEFAULT(burst, 256);
    DEFAULT(peers_per_key, 32);
    DEFAULT(idle_ms, 120000);
    DEFAULT(linger_ms, 1000);
#undef DEFAULT
}

static helio_rc bind_failed(const char *endpoint, int why, helio_error_t *err)
{
    switch (why) {
    case EADDRINUSE:
        return helio_fail(
            err, HELIO_CONFLICT,
            "%s: the port is in use: stop the process that listens there (ss -ltnp shows it) or choose another port",
            endpoint);
    case EADDRNOTAVAIL:
    case ENODEV:
        return helio_fail(
            err, HELIO_INVALID,
            "%s: this machine does not have the address: use one of its addresses (ip addr lists them) or 0.0.0.0",
            endpoint);
    case EACCES:
        return helio_fail(err, HELIO_FORBIDDEN, "%s: no permission to listen there: choose a port above 1023",
                          endpoint);
    case EINVAL:
    case EPROTONOSUPPORT:
    case ENOCOMPATPROTO:
        return helio_fail(err, HELIO_INVALID, "%s: not an endpoint: write tcp://ADDRESS:PORT", endpoint);
    default:
        return helio_fail(err, HELIO_IO, "%s: cannot listen: %s", endpoint, zmq_strerror(why));
    }
}

/*  Sets CURVE before binding, with the authenticator already bound and enforced, so that no peer can ever connect
 *  without them. */
static helio_rc open_socket(helio_server_t *self, helio_net_t *net, helio_error_t *err)
{
    static const int enforce = 1;
    const char *endpoint = self->options.endpoint;
    size_t size = sizeof self->endpoint;
    if (!helio_endpoint_is_valid(endpoint, true))
        return bind_failed(endpoint, EINVAL, err);
    self->socket = zmq_socket(helio_net_context(net), ZMQ_ROUTER);
    if (!self->socket)
        return helio_fail(err, HELIO_IO, "%s: cannot create a socket: %s", endpoint, zmq_strerror(errno));
    void *socket = self->socket;
    if (!helio_socket_prepare(socket, self->options.frame_max_bytes, self->options.queue_messages,
                              endpoint) ||
        !helio_socket_int(socket, ZMQ_ROUTER_MANDATORY, 1) ||
        !helio_socket_int(socket, ZMQ_ROUTER_HANDOVER, 0) || !helio_socket_int(socket, ZMQ_BACKLOG, 1024) ||
        !helio_socket_int(socket, ZMQ_CURVE_SERVER, 1) ||
        !helio_socket_text(socket, ZMQ_CURVE_SECRETKEY, self->options.secret_key) ||
        !helio_socket_text(socket, ZMQ_ZAP_DOMAIN, HELIO_ZAP_DOMAIN))
        return helio_fail(err, HELIO_IO, "%s: cannot set up the socket: %s", endpoint, zmq_strerror(errno));
    /* Option 93, ZMQ_ZAP_ENFORCE_DOMAIN, refuses all peers if the authenticator is missing. Not every build supports
     * it, and messages without a User-Id are dropped anyway. */
    (void)zmq_setsockopt(socket, 93, &enforce, sizeof enforce);
    if (zmq_bind(socket, endpoint) != 0)
        return bind_failed(endpoint, errno, err);
    if (zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, self->endpoint, &size) != 0)
        return helio_fail(err, HELIO_IO, "%s: cannot determine the bound address: %s", endpoint, zmq_strerror(errno));
    return HELIO_OK;
}

helio_rc helio_server_new(helio_net_t *net, helio_loop_t *loop, const helio_server_options_t *options,
                          helio_server_t **ret_server, helio_error_t *err)
{
    HELIO_AUTO(helio_keypair_wipe) helio_keypair_t pair = {0};
    assert(options->endpoint && options->on_message);
    helio_rc rc = helio_keypair_of(options->secret_key, &pair, err);
    if (rc)
        return rc;
    helio_server_t *self = helio_new(1, sizeof *self);
    self->options = *options;
    self->loop = loop;
    set_defaults(&self->options);
    memcpy(self->public_key, pair.public_key, sizeof self->public_key);
    if ((rc = helio_zap_new(net, loop, is_allowed, self, &self->zap, err)) ||
        (rc = open_socket(self, net, err))) {
        helio_server_destroy(&self);
        return rc;
    }
    self->options.endpoint = self->options.secret_key = NULL;
    self->source = helio_source_of_socket(loop, self->socket, on_readable, self);
    self->farewell = helio_timer_new(loop, say_farewells, self);
    self->retry = helio_timer_new(loop, retry_outboxes, self);
    self->sweep = helio_timer_new(loop, sweep_idle, self);
    int64_t sweep_ms = self->options.idle_ms / 4 + 1;
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
    helio_timer_destroy(&self->sweep);
    helio_timer_destroy(&self->retry);
    helio_timer_destroy(&self->farewell);
    helio_source_destroy(&self->source);
    if (self->socket) {
        (void)helio_socket_int(self->socket, ZMQ_LINGER,
                               self->options.linger_ms > 0 ? self->options.linger_ms : 0);
        (void)zmq_close(self->socket);
    }
    helio_zap_destroy(&self->zap);
    helio_peers_clear(&self->peers);
    free(self);
    *self_p = NULL;
}

const char *helio_server_endpoint(const helio_server_t *self)
{
    return self->endpoint;
}

const char *helio_server_public_key(const helio_server_t *self)
{
    return self->public_key;
}

void helio_server_counters(const helio_server_t *self, helio_server_counters_t *ret_counters)
{
    *ret_counters = self->counters;
    ret_counters->peers = HASH_CNT(by_handle, self->peers.by_handle);
    ret_counters->outbox_messages = self->peers.outbox_messages;
    ret_counters->outbox_bytes = self->peers.outbox_bytes;
    helio_zap_counters(self->zap, &ret_counters->handshakes_accepted, &ret_counters->handshakes_refused);
}
