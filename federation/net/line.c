/*  line.c -- opens and closes lines. */
#include "federation/net/line.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "federation/base/file.h"
#include "federation/net/internal.h"
#include "federation/net/zap.h"

enum { ENDPOINT_SIZE = 32, BACKLOG = 16, NEVER_MS = 24 * 3600 * 1000 };

/*  Listens at an address that the kernel picks, without a file. Only its own process gets past helio_line_join. */
static bool open_rendezvous(int *ret_fd, char ret_endpoint[ENDPOINT_SIZE])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t size = sizeof address;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    if (bind(fd, (struct sockaddr *)&address, sizeof address.sun_family) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
        helio_close(&fd);
        return false;
    }
    int name = (int)(size - offsetof(struct sockaddr_un, sun_path) - 1);
    (void)snprintf(ret_endpoint, ENDPOINT_SIZE, "ipc://@%.*s", name, address.sun_path + 1);
    *ret_fd = fd;
    return true;
}

static bool set_up(void *socket, const helio_line_options_t *options)
{
    static const int enforce = 1;
    char domain[HELIO_ZAP_DOMAIN_SIZE];
    helio_zap_domain(options->number, domain);
    /* With ZMQ_IMMEDIATE, or without reconnection, libzmq throws away what it has received and the program has not yet
     * read when the connection ends. The line is closed long before a reconnection is due. */
    bool done = helio_socket_prepare(socket, options->frame_max_bytes, options->queue_messages, "") &&
                helio_socket_int(socket, ZMQ_IMMEDIATE, 0) && helio_socket_int(socket, ZMQ_RECONNECT_IVL, NEVER_MS) &&
                helio_socket_int(socket, ZMQ_CURVE_SERVER, 1) &&
                helio_socket_text(socket, ZMQ_CURVE_SECRETKEY, options->secret_key) &&
                helio_socket_text(socket, ZMQ_ZAP_DOMAIN, domain);
    /* Option 93, ZMQ_ZAP_ENFORCE_DOMAIN, refuses all peers if the authenticator is missing. Not every build supports
     * it, and messages without a User-Id are dropped anyway. */
    (void)zmq_setsockopt(socket, 93, &enforce, sizeof enforce);
    return done;
}

helio_rc helio_line_open(helio_net_t *net, int connection, const helio_line_options_t *options, helio_line_t *ret_line)
{
    helio_line_t line = {
        .rendezvous = -1, .signal = -1, .relay = {.outer = connection, .inner = -1, .unread_max = options->unread_max}};
    char endpoint[ENDPOINT_SIZE];
    size_t size = sizeof line.signal;
    line.socket = zmq_socket(helio_net_context(net), ZMQ_DEALER);
    if (!line.socket || !set_up(line.socket, options) || !open_rendezvous(&line.rendezvous, endpoint) ||
        zmq_getsockopt(line.socket, ZMQ_FD, &line.signal, &size) != 0 || zmq_connect(line.socket, endpoint) != 0) {
        helio_line_close(&line, 0);
        return HELIO_BUSY;
    }
    *ret_line = line;
    return HELIO_OK;
}

void helio_line_close(helio_line_t *self, int linger_ms)
{
    if (self->socket) {
        (void)helio_socket_int(self->socket, ZMQ_LINGER, linger_ms);
        (void)zmq_close(self->socket);
        self->socket = NULL;
    }
    helio_close(&self->rendezvous);
    if (linger_ms > 0 && self->relay.inner >= 0)
        return;
    helio_close(&self->relay.inner);
    helio_close(&self->relay.outer);
    helio_relay_clear(&self->relay);
}

/*  Another process may guess the address and come first; the kernel says who it is. */
static bool is_our_own(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.pid == getpid();
}

bool helio_line_join(helio_line_t *self)
{
    for (;;) {
        int fd = accept4(self->rendezvous, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && errno == EINTR)
            continue;
        if (fd < 0)
            return false;
        if (is_our_own(fd)) {
            self->relay.inner = fd;
            helio_close(&self->rendezvous);
            return true;
        }
        helio_close(&fd);
    }
}
