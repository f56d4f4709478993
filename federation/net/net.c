/*  net.c -- the ZeroMQ context, and the options of its sockets. */
#include "federation/net/net.h"

#include <czmq.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/net/internal.h"

/*  libzmq compares its limit with the encrypted size, which is 33 bytes larger. */
enum { SOCKETS_DEFAULT = 1023, CURVE_OVERHEAD = 64 };

struct helio_net {
    void *context;
};

helio_rc helio_net_new(int sockets_max, helio_net_t **ret_net, helio_error_t *err)
{
    /* czmq would handle SIGINT and SIGTERM itself as soon as it is initialised. */
    zsys_handler_set(NULL);
    void *context = zmq_ctx_new();
    if (!context)
        return helio_fail(err, HELIO_IO, "cannot create a ZeroMQ context: %s", zmq_strerror(errno));
    int sockets = sockets_max > 0 ? sockets_max : SOCKETS_DEFAULT;
    if (zmq_ctx_set(context, ZMQ_MAX_SOCKETS, sockets) != 0) {
        (void)zmq_ctx_term(context);
        return helio_fail(err, HELIO_INVALID, "ZeroMQ does not allow %d sockets", sockets);
    }
    helio_net_t *self = helio_new(1, sizeof *self);
    self->context = context;
    *ret_net = self;
    return HELIO_OK;
}

void helio_net_destroy(helio_net_t **self_p)
{
    if (!*self_p)
        return;
    while (zmq_ctx_term((*self_p)->context) != 0 && errno == EINTR)
        continue;
    free(*self_p);
    *self_p = NULL;
}

void helio_net_version(char ret_text[16])
{
    int major, minor, patch;
    zmq_version(&major, &minor, &patch);
    (void)snprintf(ret_text, 16, "%d.%d.%d", major % 1000, minor % 1000, patch % 1000);
}

void *helio_net_context(helio_net_t *self)
{
    return self->context;
}

bool helio_endpoint_is_valid(const char *endpoint, bool binding)
{
    enum { SCHEME = 6, ENDPOINT_MAX = 255, PORT_DIGITS = 5 };
    if (strlen(endpoint) > ENDPOINT_MAX)
        return false;
    if (strncmp(endpoint, "ipc://", SCHEME) == 0)
        return endpoint[SCHEME] != '\0';
    const char *port = strrchr(endpoint, ':');
    if (strncmp(endpoint, "tcp://", SCHEME) != 0 || port <= endpoint + SCHEME)
        return false;
    port++;
    if (binding && strcmp(port, "*") == 0)
        return true;
    size_t digits = strspn(port, "0123456789");
    if (!digits || digits > PORT_DIGITS || port[digits])
        return false;
    long number = strtol(port, NULL, 10);
    return number >= 1 && number <= UINT16_MAX;
}

bool helio_socket_int(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

bool helio_socket_text(void *socket, int option, const char *value)
{
    return zmq_setsockopt(socket, option, value, strlen(value)) == 0;
}

bool helio_socket_prepare(void *socket, uint32_t frame_max_bytes, uint32_t queue_messages, const char *endpoint)
{
    int64_t frame_max = (int64_t)frame_max_bytes + CURVE_OVERHEAD;
    int queue = (int)queue_messages;
    /* Every option is set, since libzmq's defaults are "unlimited", "for ever" and "queue for absent peers". */
    return zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &frame_max, sizeof frame_max) == 0 &&
           helio_socket_int(socket, ZMQ_SNDHWM, queue) && helio_socket_int(socket, ZMQ_RCVHWM, queue) &&
           helio_socket_int(socket, ZMQ_SNDTIMEO, 0) && helio_socket_int(socket, ZMQ_RCVTIMEO, 0) &&
           helio_socket_int(socket, ZMQ_LINGER, 0) && helio_socket_int(socket, ZMQ_IMMEDIATE, 1) &&
           helio_socket_int(socket, ZMQ_HEARTBEAT_IVL, HEARTBEAT_MS) &&
           helio_socket_int(socket, ZMQ_HEARTBEAT_TIMEOUT, SILENCE_MS) &&
           helio_socket_int(socket, ZMQ_HEARTBEAT_TTL, SILENCE_MS) &&
           helio_socket_int(socket, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS) &&
           helio_socket_int(socket, ZMQ_TCP_MAXRT, SILENCE_MS) && helio_socket_int(socket, ZMQ_TCP_KEEPALIVE, 1) &&
           helio_socket_int(socket, ZMQ_IPV6, strchr(endpoint, '[') != NULL);
}

void helio_socket_skip_parts(void *socket)
{
    int more = 1;
    size_t size = sizeof more;
    while (zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size) == 0 && more) {
        zmq_msg_t part;
        (void)zmq_msg_init(&part);
        int received = zmq_msg_recv(&part, socket, ZMQ_DONTWAIT);
        (void)zmq_msg_close(&part);
        if (received < 0)
            return;
    }
}

void helio_wipe(void *memory, size_t size)
{
    explicit_bzero(memory, size);
}
