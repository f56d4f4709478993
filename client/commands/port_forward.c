/*  port_forward.c -- `port-forward`: listens here, and carries each connection to a port of a running job. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/commands/commands.h"
#include "client/jobs/channel.h"
#include "client/jobs/terminal.h"
#include "client/output/humanise.h"
#include "client/transport/response.h"

enum {
    PORTS_MAX = 16,
    CONNECTIONS_MAX = 32, /* of all ports: as many channels as a tenant has by default */
    READ_BYTES = 64 << 10,
    UNSENT_MAX = 256 << 10, /* bytes for a local client that does not read: no more output is asked for */
    PORT_MAX = 65535
};

typedef struct listener {
    uint16_t local, remote;
    int fd;
} listener_t;

/*  A connection of a local client, and its channel. */
typedef struct connection {
    int fd; /* -1 = the place is free */
    helio_channel_t *channel;
    helio_buffer_t unsent; /* for the local client */
    bool read_ended;
} connection_t;

typedef struct forward {
    helio_client_t *client;
    const char *job;
    const char *address;
    listener_t listeners[PORTS_MAX];
    uint32_t listener_count;
    connection_t connections[CONNECTIONS_MAX];
} forward_t;

/* ---- ports ------------------------------------------------------------------------------------------------- */

static bool read_port(helio_text_t text, uint32_t least, uint16_t *ret_port)
{
    uint32_t port = 0, i;
    for (i = 0; i < text.size && text.data[i] >= '0' && text.data[i] <= '9' && port <= PORT_MAX; i++)
        port = port * 10 + (uint32_t)(text.data[i] - '0');
    if (!text.size || i < text.size || port < least || port > PORT_MAX)
        return false;
    *ret_port = (uint16_t)port;
    return true;
}

/*  "8888", "9000:8888", ":8888" (any free port here). */
static bool read_word(const char *word, listener_t *ret_listener)
{
    const char *colon = strchr(word, ':');
    helio_text_t remote = helio_text_of(colon ? colon + 1 : word);
    *ret_listener = (listener_t){.fd = -1};
    if (!read_port(remote, 1, &ret_listener->remote))
        return false;
    if (!colon)
        ret_listener->local = ret_listener->remote;
    return !colon || colon == word ||
           read_port((helio_text_t){word, (uint32_t)(colon - word)}, 0, &ret_listener->local);
}

static int listen_at(forward_t *self, listener_t *listener)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(listener->local)};
    socklen_t size = sizeof at;
    int one = 1;
    if (inet_pton(AF_INET, self->address, &at.sin_addr) != 1)
        return helio_client_fail(self->client, HELIO_EXIT_USAGE, "--address must be an IPv4 address, not '%.64s'",
                                 self->address);
    listener->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd < 0 || setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
        bind(listener->fd, (const struct sockaddr *)&at, sizeof at) != 0 || listen(listener->fd, 16) != 0 ||
        getsockname(listener->fd, (struct sockaddr *)&at, &size) != 0)
        return helio_client_fail(self->client, HELIO_EXIT_FAILURE,
                                 "cannot listen at %.64s:%u: %s\nhelp: LOCAL:PORT chooses another port here, and :PORT "
                                 "any free one",
                                 self->address, listener->local, strerror(errno));
    listener->local = ntohs(at.sin_port);
    return HELIO_EXIT_OK;
}

/* ---- connections ------------------------------------------------------------------------------------------- */

static void on_output(void *arg, uint32_t stream, const char *bytes, size_t size)
{
    (void)stream;
    connection_t *self = arg;
    helio_buffer_append(&self->unsent, bytes, size);
}

static void drop(connection_t *self)
{
    helio_channel_destroy(&self->channel);
    (void)close(self->fd);
    helio_buffer_clear(&self->unsent);
    self->fd = -1;
}

static connection_t *free_place(forward_t *self)
{
    for (uint32_t i = 0; i < CONNECTIONS_MAX; i++)
        if (self->connections[i].fd < 0)
            return &self->connections[i];
    return NULL;
}

static void take_connection(forward_t *self, const listener_t *listener)
{
    connection_t *connection = free_place(self);
    if (!connection)
        return; /* it waits in the queue of the port */
    int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    *connection = (connection_t){.fd = fd};
    if (helio_channel_open(self->client, self->job, json_pack("{s:i}", "port", (int)listener->remote), on_output,
                           connection, &connection->channel) != HELIO_EXIT_OK)
        drop(connection); /* it said why */
}

static void read_local(connection_t *self)
{
    char bytes[READ_BYTES];
    size_t room = helio_channel_room(self->channel);
    ssize_t size = read(self->fd, bytes, room < sizeof bytes ? room : sizeof bytes);
    if (size > 0) {
        helio_channel_write(self->channel, bytes, (size_t)size);
    } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
        self->read_ended = true;
        helio_channel_write_end(self->channel);
    }
}

/*  False: the local client is gone. */
static bool write_local(connection_t *self)
{
    while (self->unsent.size) {
        ssize_t size = send(self->fd, self->unsent.data, self->unsent.size, MSG_NOSIGNAL);
        if (size < 0)
            return errno == EAGAIN || errno == EINTR;
        memmove(self->unsent.data, self->unsent.data + size, self->unsent.size - (size_t)size);
        self->unsent.size -= (size_t)size;
    }
    return true;
}

static void turn_connection(connection_t *connection)
{
    helio_channel_pause(connection->channel, connection->unsent.size >= UNSENT_MAX);
    helio_channel_turn(connection->channel);
    bool is_there = write_local(connection);
    if (!is_there || (helio_channel_is_over(connection->channel) && !connection->unsent.size)) {
        if (is_there && helio_channel_is_over(connection->channel))
            (void)helio_channel_exit(connection->channel); /* says why, if it failed */
        drop(connection);
    }
}

/* ---- the command ------------------------------------------------------------------------------------------- */

/*  One turn: waits for ports, local clients and channels. */
static int turn(forward_t *self, helio_terminal_t *terminal)
{
    struct pollfd fds[1 + PORTS_MAX + CONNECTIONS_MAX];
    uint32_t wait_ms = 60000, first = 1 + self->listener_count;
    bool resized, has_place = free_place(self) != NULL;
    fds[0] = (struct pollfd){.fd = terminal->signal_fd, .events = POLLIN};
    for (uint32_t i = 0; i < self->listener_count; i++)
        fds[1 + i] = (struct pollfd){.fd = has_place ? self->listeners[i].fd : -1, .events = POLLIN};
    for (uint32_t i = 0; i < CONNECTIONS_MAX; i++) {
        const connection_t *each = &self->connections[i];
        bool reads = each->fd >= 0 && !each->read_ended && helio_channel_room(each->channel);
        short events = (short)((reads ? POLLIN : 0) | (each->fd >= 0 && each->unsent.size ? POLLOUT : 0));
        fds[first + i] = (struct pollfd){.fd = events ? each->fd : -1, .events = events};
        if (each->fd >= 0 && helio_channel_wait_ms(each->channel) < wait_ms)
            wait_ms = helio_channel_wait_ms(each->channel);
    }
    helio_remote_pump_with(self->client->remote, wait_ms, fds, first + CONNECTIONS_MAX);
    int ended_by = fds[0].revents ? helio_terminal_signals(terminal, &resized) : 0;
    for (uint32_t i = 0; i < CONNECTIONS_MAX; i++)
        if (self->connections[i].fd >= 0 && fds[first + i].revents & (POLLIN | POLLHUP | POLLERR) &&
            fds[first + i].events & POLLIN)
            read_local(&self->connections[i]);
    for (uint32_t i = 0; i < self->listener_count; i++)
        if (fds[1 + i].revents)
            take_connection(self, &self->listeners[i]);
    for (uint32_t i = 0; i < CONNECTIONS_MAX; i++)
        if (self->connections[i].fd >= 0)
            turn_connection(&self->connections[i]);
    return ended_by ? 128 + ended_by : HELIO_EXIT_OK;
}

/*  Where the job runs: a job that does not is refused before anybody connects. */
static int find_job(forward_t *self, const char **ret_site)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    int code = helio_ask_get(self->client, helio_path(self->client, "/v1/jobs/", self->job, ""), &reply);
    if (code != HELIO_EXIT_OK)
        return code;
    const char *state = helio_output_string(reply, "state");
    if (!state[0])
        return helio_client_fail(self->client, HELIO_EXIT_OWN,
                                 "the broker's answer for %.64s is not a job; do the versions of helio and the broker "
                                 "differ?",
                                 self->job);
    if (strcmp(state, "running") != 0)
        return helio_client_fail(self->client, HELIO_EXIT_CONFLICT, "job %.64s is %.32s: only a running job has ports",
                                 self->job, state);
    *ret_site = helio_arena_string(self->client->arena, helio_text_of(helio_output_string(reply, "site")));
    return HELIO_EXIT_OK;
}

static int open_ports(forward_t *self, const char *site)
{
    for (uint32_t i = 0; i < self->listener_count; i++) {
        int code = listen_at(self, &self->listeners[i]);
        if (code != HELIO_EXIT_OK)
            return code;
    }
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t said = {0}, safe = {0};
    for (uint32_t i = 0; i < self->listener_count; i++)
        helio_buffer_printf(&said, "Forwarding %s:%u -> %s port %u at %s\n", self->address, self->listeners[i].local,
                            self->job, self->listeners[i].remote, site);
    helio_safe_text(said.size ? said.data : "", true, &safe);
    fputs(safe.size ? safe.data : "", self->client->io->out);
    (void)fflush(self->client->io->out);
    return HELIO_EXIT_OK;
}

static int serve(forward_t *self)
{
    helio_terminal_t terminal;
    int interrupts = helio_client_interrupts(self->client->io), code = HELIO_EXIT_OK;
    helio_terminal_begin(&terminal, -1);
    while (code == HELIO_EXIT_OK && helio_client_interrupts(self->client->io) == interrupts)
        code = turn(self, &terminal);
    helio_terminal_end(&terminal);
    return code == HELIO_EXIT_OK ? HELIO_EXIT_INTERRUPTED : code;
}

int helio_cmd_port_forward(helio_client_t *client)
{
    const helio_command_line_t *arguments = client->arguments;
    forward_t *self = helio_arena_alloc(client->arena, 1, sizeof *self);
    const char *site = "", *address = helio_client_value(client, HELIO_OPTION_ADDRESS);
    *self = (forward_t){.client = client, .job = arguments->words[0], .address = address ? address : "127.0.0.1"};
    for (uint32_t i = 0; i < CONNECTIONS_MAX; i++)
        self->connections[i].fd = -1;
    if (arguments->word_count - 1 > PORTS_MAX)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "at most %d ports at once", PORTS_MAX);
    for (uint32_t i = 1; i < arguments->word_count; i++)
        if (!read_word(arguments->words[i], &self->listeners[self->listener_count++]))
            return helio_client_fail(client, HELIO_EXIT_USAGE,
                                     "'%.64s' is no port\nhelp: PORT, LOCAL:PORT or :PORT, from 1 to %d",
                                     arguments->words[i], PORT_MAX);
    int code = find_job(self, &site);
    if (code == HELIO_EXIT_OK)
        code = open_ports(self, site);
    if (code == HELIO_EXIT_OK)
        code = serve(self);
    for (uint32_t i = 0; i < CONNECTIONS_MAX; i++)
        if (self->connections[i].fd >= 0)
            drop(&self->connections[i]);
    for (uint32_t i = 0; i < self->listener_count; i++)
        if (self->listeners[i].fd >= 0)
            (void)close(self->listeners[i].fd);
    return code;
}
