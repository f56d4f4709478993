/*  dialer.c -- one connection to one of several servers: dialling, the handshake, the back-off. */
#include "federation/net/dialer.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/clock.h"
#include "federation/base/redial.h"
#include "federation/net/internal.h"
#include "federation/net/zap.h"

enum { ENDPOINT_MAX = 255, WHY_SIZE = 160, EVENT_BYTES = 6 };

typedef struct target {
    char endpoint[ENDPOINT_MAX + 1];
    char server_key[HELIO_CURVE_SIZE];
} target_t;

/*  RESTING waits for the back-off. Every attempt has its own sockets, so that data of an earlier connection cannot
 *  arrive through a later one. */
typedef enum state { RESTING, DIALLING, CONNECTED, LEAVING } state_t;

struct helio_dialer {
    helio_dialer_options_t options; /* strings and targets are not used after helio_dialer_new */
    target_t *targets;
    helio_redial_t redial;
    helio_keypair_t pair;
    helio_net_t *net;
    helio_loop_t *loop;
    helio_rng_t rng;
    state_t state;
    bool was_connected;   /* while LEAVING */
    helio_timer_t *timer; /* RESTING: the back-off; DIALLING: the attempt's limit; LEAVING: at once */
    void *socket, *monitor;
    helio_source_t *socket_source, *monitor_source;
    uint64_t attempts;
    char why[WHY_SIZE];
    bool calling;
};

static void on_timer(void *arg);

/* ---- callbacks ----------------------------------------------------------------------------------------- */

static void tell_end(helio_dialer_t *self, void (*fn)(void *arg, const char *endpoint, const char *why),
                     const char *endpoint, const char *why)
{
    if (!fn)
        return;
    self->calling = true;
    fn(self->options.arg, endpoint, why);
    self->calling = false;
}

/* ---- leaving ------------------------------------------------------------------------------------------- */

static void close_sockets(helio_dialer_t *self, int linger_ms)
{
    helio_source_destroy(&self->monitor_source);
    helio_source_destroy(&self->socket_source);
    if (self->socket) {
        (void)zmq_socket_monitor(self->socket, NULL, 0);
        (void)helio_socket_int(self->socket, ZMQ_LINGER, linger_ms);
        (void)zmq_close(self->socket);
        self->socket = NULL;
    }
    if (self->monitor)
        (void)zmq_close(self->monitor);
    self->monitor = NULL;
}

/*  Ends the connection or attempt and continues with the next target. From the loop only. */
static void hang_up(helio_dialer_t *self)
{
    char why[WHY_SIZE];
    bool connected = self->state == CONNECTED || (self->state == LEAVING && self->was_connected);
    const char *endpoint = self->targets[self->redial.target].endpoint;
    memcpy(why, self->why, sizeof why);
    close_sockets(self, 0);
    self->state = RESTING;
    helio_timer_arm(self->timer, helio_redial_next(&self->redial, &self->rng), 0);
    tell_end(self, connected ? self->options.on_disconnected : self->options.on_failed, endpoint, why);
}

/*  As hang_up, but in the loop's next turn: for callers that do not expect callbacks. */
static void leave(helio_dialer_t *self, const char *why)
{
    if (self->state == RESTING || self->state == LEAVING)
        return;
    (void)snprintf(self->why, sizeof self->why, "%s", why);
    self->was_connected = self->state == CONNECTED;
    self->state = LEAVING;
    helio_timer_arm(self->timer, 0, 0);
}

void helio_dialer_redial(helio_dialer_t *self, const char *why, uint32_t times)
{
    helio_redial_refused(&self->redial, times);
    leave(self, why ? why : "redial");
}

/* ---- receiving ----------------------------------------------------------------------------------------- */

static bool receive(helio_dialer_t *self)
{
    zmq_msg_t frame;
    (void)zmq_msg_init(&frame);
    bool received = zmq_msg_recv(&frame, self->socket, ZMQ_DONTWAIT) >= 0;
    if (received && zmq_msg_more(&frame)) {
        helio_socket_skip_parts(self->socket); /* frames are single-part: ignore others */
    } else if (received && zmq_msg_size(&frame) <= self->options.frame_max_bytes) {
        helio_redial_heard(&self->redial);
        self->calling = true;
        self->options.on_message(self->options.arg,
                                 (helio_text_t){zmq_msg_data(&frame), (uint32_t)zmq_msg_size(&frame)});
        self->calling = false;
    }
    (void)zmq_msg_close(&frame);
    return received;
}

static void on_readable(void *arg)
{
    helio_dialer_t *self = arg;
    /* Not before on_connected was called: the monitor's events arrive through another socket. */
    for (uint32_t i = 0; i < self->options.burst && self->state == CONNECTED && receive(self); i++)
        continue;
}

/* ---- events of the socket ----------------------------------------------------------------------------------- */

/*  False if no event is left. */
static bool next_event(helio_dialer_t *self, uint16_t *ret_event, uint32_t *ret_value)
{
    uint8_t bytes[EVENT_BYTES];
    if (zmq_recv(self->monitor, bytes, sizeof bytes, ZMQ_DONTWAIT) != EVENT_BYTES)
        return false;
    memcpy(ret_event, bytes, sizeof *ret_event);
    memcpy(ret_value, bytes + sizeof *ret_event, sizeof *ret_value);
    helio_socket_skip_parts(self->monitor);
    return true;
}

static void lost(helio_dialer_t *self, const char *why)
{
    /* Read what arrived before the end; the queue bounds it. */
    for (uint32_t i = 0; i < self->options.queue_messages && self->state == CONNECTED && receive(self); i++)
        continue;
    if (self->state == LEAVING)
        return; /* a callback has already decided */
    (void)snprintf(self->why, sizeof self->why, "%s", why);
    hang_up(self);
}

static void connected(helio_dialer_t *self)
{
    if (self->state != DIALLING)
        return;
    self->state = CONNECTED;
    helio_timer_disarm(self->timer);
    if (!self->options.on_connected)
        return;
    self->calling = true;
    self->options.on_connected(self->options.arg, helio_dialer_endpoint(self));
    self->calling = false;
}

static void on_event(void *arg)
{
    helio_dialer_t *self = arg;
    uint16_t event;
    uint32_t value;
    while (self->monitor && next_event(self, &event, &value)) {
        switch (event) {
        case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
            connected(self);
            break;
        case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
            lost(self, value == HELIO_ZAP_CLOSED
                           ? "the server admits no agents now: it is not the leader, or has no keys yet"
                           : "the server does not know this key: ask its operator to add it");
            break;
        case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
        case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
            lost(self, "the handshake failed: check the configured server key");
            break;
        case ZMQ_EVENT_CLOSED:
            lost(self, "connection refused or unreachable");
            break;
        case ZMQ_EVENT_DISCONNECTED:
            lost(self, self->state == CONNECTED
                           ? "connection lost"
                           : "connection closed during the handshake: check the configured server key");
            break;
        default:
            break;
        }
    }
}

/* ---- dialling ------------------------------------------------------------------------------------------ */

static bool open_monitor(helio_dialer_t *self)
{
    enum {
        EVENTS = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                 ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_CLOSED | ZMQ_EVENT_DISCONNECTED
    };
    char address[64];
    (void)snprintf(address, sizeof address, "inproc://helio-dialer-%p-%llu", (void *)self,
                   (unsigned long long)self->attempts);
    if (zmq_socket_monitor(self->socket, address, EVENTS) != 0)
        return false;
    self->monitor = zmq_socket(helio_net_context(self->net), ZMQ_PAIR);
    return self->monitor && helio_socket_int(self->monitor, ZMQ_LINGER, 0) && zmq_connect(self->monitor, address) == 0;
}

static bool open_socket(helio_dialer_t *self, const target_t *target)
{
    self->socket = zmq_socket(helio_net_context(self->net), ZMQ_DEALER);
    void *socket = self->socket;
    /* This file redials, to other targets and with a new socket each time; libzmq must not do so as well. */
    return socket &&
           helio_socket_prepare(socket, self->options.frame_max_bytes, self->options.queue_messages,
                                target->endpoint) &&
           helio_socket_int(socket, ZMQ_RECONNECT_IVL, -1) &&
           helio_socket_int(socket, ZMQ_HANDSHAKE_IVL, 0) && /* connect_ms limits it, with all that is before it */
           helio_socket_int(socket, ZMQ_CONNECT_TIMEOUT, (int)self->options.connect_ms) &&
           helio_socket_text(socket, ZMQ_CURVE_SERVERKEY, target->server_key) &&
           helio_socket_text(socket, ZMQ_CURVE_PUBLICKEY, self->pair.public_key) &&
           helio_socket_text(socket, ZMQ_CURVE_SECRETKEY, self->pair.secret_key) && open_monitor(self) &&
           zmq_connect(socket, target->endpoint) == 0;
}

static void dial(helio_dialer_t *self)
{
    self->attempts++;
    self->state = DIALLING;
    if (!open_socket(self, &self->targets[self->redial.target])) {
        (void)snprintf(self->why, sizeof self->why, "%s", zmq_strerror(errno));
        hang_up(self);
        return;
    }
    self->socket_source = helio_source_of_socket(self->loop, self->socket, on_readable, self);
    self->monitor_source = helio_source_of_socket(self->loop, self->monitor, on_event, self);
    helio_timer_arm(self->timer, self->options.connect_ms, 0);
}

static void on_timer(void *arg)
{
    helio_dialer_t *self = arg;
    switch (self->state) {
    case RESTING:
        dial(self);
        break;
    case DIALLING:
        (void)snprintf(self->why, sizeof self->why, "no answer within %lld ms", (long long)self->options.connect_ms);
        hang_up(self);
        break;
    case LEAVING:
        hang_up(self);
        break;
    case CONNECTED:
        break;
    }
}

/* ---- creation and end --------------------------------------------------------------------------------------- */

static void set_defaults(helio_dialer_options_t *options)
{
#define DEFAULT(member, value) options->member = options->member ? options->member : (value)
    DEFAULT(frame_max_bytes, 1 << 20);
    DEFAULT(queue_messages, 128);
    DEFAULT(burst, 256);
    DEFAULT(connect_ms, 10000);
    DEFAULT(backoff_min_ms, 250);
    DEFAULT(backoff_max_ms, 30000);
    DEFAULT(linger_ms, 1000);
#undef DEFAULT
}

static helio_rc check_target(const helio_dialer_target_t *target, helio_error_t *err)
{
    const char *endpoint = target->endpoint;
    if (!helio_endpoint_is_valid(endpoint, false))
        return helio_fail(err, HELIO_INVALID, "%.*s: not an endpoint: write tcp://HOST:PORT", ENDPOINT_MAX, endpoint);
    if (!target->server_key || !helio_curve_key_is_valid(helio_text_of(target->server_key)))
        return helio_fail(err, HELIO_INVALID, "%s: the server key is not a public key (40 characters of Z85)",
                          endpoint);
    return HELIO_OK;
}

helio_rc helio_dialer_new(helio_net_t *net, helio_loop_t *loop, const helio_dialer_options_t *options,
                          helio_dialer_t **ret_dialer, helio_error_t *err)
{
    HELIO_AUTO(helio_keypair_wipe) helio_keypair_t pair = {0};
    assert(options->target_count && options->on_message);
    helio_rc rc = helio_keypair_of(options->secret_key, &pair, err);
    for (size_t i = 0; !rc && i < options->target_count; i++)
        rc = check_target(&options->targets[i], err);
    if (rc)
        return rc;
    helio_dialer_t *self = helio_new(1, sizeof *self);
    self->options = *options;
    set_defaults(&self->options);
    self->redial = (helio_redial_t){.target_count = (uint32_t)options->target_count,
                                    .least_ms = self->options.backoff_min_ms,
                                    .most_ms = self->options.backoff_max_ms};
    self->pair = pair;
    self->net = net;
    self->loop = loop;
    self->rng.state = options->seed ? options->seed : (uint64_t)(uintptr_t)self ^ (uint64_t)helio_clock_boot_ms();
    self->targets = helio_new(options->target_count, sizeof *self->targets);
    for (size_t i = 0; i < options->target_count; i++) {
        memcpy(self->targets[i].endpoint, options->targets[i].endpoint, strlen(options->targets[i].endpoint));
        memcpy(self->targets[i].server_key, options->targets[i].server_key, HELIO_CURVE_SIZE);
    }
    self->options.targets = NULL;
    self->options.secret_key = NULL;
    self->timer = helio_timer_new(loop, on_timer, self);
    helio_timer_arm(self->timer, 0, 0);
    *ret_dialer = self;
    return HELIO_OK;
}

void helio_dialer_destroy(helio_dialer_t **self_p)
{
    helio_dialer_t *self = *self_p;
    if (!self)
        return;
    assert(!self->calling);
    close_sockets(self, self->state == CONNECTED && self->options.linger_ms > 0 ? self->options.linger_ms : 0);
    helio_timer_destroy(&self->timer);
    helio_keypair_wipe(&self->pair);
    free(self->targets);
    free(self);
    *self_p = NULL;
}

helio_rc helio_dialer_send(helio_dialer_t *self, helio_text_t frame)
{
    if (!frame.size)
        return HELIO_INVALID;
    if (frame.size > self->options.frame_max_bytes)
        return HELIO_TOO_BIG;
    if (self->state != CONNECTED)
        return HELIO_UNAVAILABLE;
    if (zmq_send(self->socket, frame.data, frame.size, ZMQ_DONTWAIT) >= 0)
        return HELIO_OK;
    return errno == EAGAIN ? HELIO_BUSY : HELIO_UNAVAILABLE;
}

bool helio_dialer_is_connected(const helio_dialer_t *self)
{
    return self->state == CONNECTED;
}

const char *helio_dialer_endpoint(const helio_dialer_t *self)
{
    return self->targets[self->redial.target].endpoint;
}
