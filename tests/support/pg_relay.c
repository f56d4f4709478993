#include "tests/support/pg_relay.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "federation/base/memory.h"

enum { FAULTS_MAX = 8, SIDES = 2, PIECE = 64 << 10 };

/*  One direction: what has come and has not been passed on. */
typedef struct stream {
    int fd; /* where it comes from; -1 = none */
    bool started;
    helio_buffer_t bytes;
} stream_t;

struct pg_relay {
    char folder[32];
    char server_path[108], own_path[108];
    char conninfo[512];
    int listener, wake;
    pthread_t thread;
    stream_t streams[SIDES];
    int lingering;
    bool stalled;

    pthread_mutex_t mutex; /* of what follows */
    pg_relay_fault_t faults[FAULTS_MAX];
    uint32_t fault_count, faults_done;
    uint32_t seen[SIDES];  /* since the fault at hand was the next */
    uint32_t total[SIDES]; /* since pg_relay_count */
    bool ends, releases;
};

static void fail(const char *what) __attribute__((noreturn));
static void fail(const char *what)
{
    (void)fprintf(stderr, "pg_relay: %s: %s\n", what, strerror(errno));
    abort();
}

static struct sockaddr_un address_of(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        fail(path);
    memcpy(address.sun_path, path, strlen(path));
    return address;
}

/* ---- the ends of connections --------------------------------------------------------------------------- */

/*  Until the server has ended its session, and so given up its locks. */
static void end_server(int fd)
{
    char piece[4096];
    if (fd < 0)
        return;
    (void)shutdown(fd, SHUT_WR);
    while (recv(fd, piece, sizeof piece, 0) > 0)
        ;
    (void)close(fd);
}

static void forget(pg_relay_t *self)
{
    for (int side = 0; side < SIDES; side++) {
        self->streams[side].fd = -1;
        self->streams[side].started = false;
        helio_buffer_reset(&self->streams[side].bytes);
    }
    self->stalled = false;
}

static void end_both(pg_relay_t *self)
{
    int client = self->streams[PG_RELAY_FRONT].fd, server = self->streams[PG_RELAY_BACK].fd;
    if (client >= 0)
        (void)close(client);
    end_server(server);
    forget(self);
}

static void begin(pg_relay_t *self)
{
    int client = accept(self->listener, NULL, NULL);
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = address_of(self->server_path);
    if (client < 0 || server < 0 || connect(server, (struct sockaddr *)&address, sizeof address) != 0)
        fail("connect");
    self->streams[PG_RELAY_FRONT].fd = client;
    self->streams[PG_RELAY_BACK].fd = server;
    self->streams[PG_RELAY_BACK].started = true;
    (void)pthread_mutex_lock(&self->mutex);
    memset(self->seen, 0, sizeof self->seen);
    (void)pthread_mutex_unlock(&self->mutex);
}

/* ---- messages ------------------------------------------------------------------------------------------ */

static void pass(pg_relay_t *self, int side, size_t size)
{
    const char *at = self->streams[side].bytes.data;
    while (size) {
        ssize_t sent = send(self->streams[!side].fd, at, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return; /* it has hung up: what it said last is read yet */
        at += sent;
        size -= (size_t)sent;
    }
}

static void drop(helio_buffer_t *bytes, size_t size)
{
    memmove(bytes->data, bytes->data + size, bytes->size - size);
    bytes->size -= size;
}

/*  0: it has not all come. The client's first message has no letter before its length. */
static size_t message_size(const stream_t *stream)
{
    const unsigned char *at = (const unsigned char *)stream->bytes.data + stream->started;
    if (stream->bytes.size < 4U + stream->started)
        return 0;
    size_t size = ((size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3]) + stream->started;
    return stream->bytes.size < size ? 0 : size;
}

/*  true: the fault at hand happens at this message. A client's goodbye counts for nothing: it comes when it likes. */
static bool is_due(pg_relay_t *self, int side, pg_relay_how_t *ret_how)
{
    if (side == PG_RELAY_FRONT && self->streams[side].bytes.data[0] == 'X')
        return false;
    (void)pthread_mutex_lock(&self->mutex);
    const pg_relay_fault_t *fault = &self->faults[self->faults_done % FAULTS_MAX];
    self->total[side]++;
    self->seen[side]++;
    bool due = self->faults_done < self->fault_count && (int)fault->side == side && self->seen[side] == fault->at;
    *ret_how = fault->how;
    if (due)
        self->faults_done++;
    (void)pthread_mutex_unlock(&self->mutex);
    return due;
}

static void happen(pg_relay_t *self, int side, size_t size, pg_relay_how_t how)
{
    switch (how) {
    case PG_RELAY_HALF:
        pass(self, side, size / 2);
        end_both(self);
        break;
    case PG_RELAY_STALL:
        self->stalled = true;
        break;
    case PG_RELAY_LINGER:
        end_server(self->lingering);
        self->lingering = self->streams[PG_RELAY_BACK].fd;
        self->streams[PG_RELAY_BACK].fd = -1;
        end_both(self);
        break;
    case PG_RELAY_CUT:
        end_both(self);
    }
}

static void take(pg_relay_t *self, int side)
{
    stream_t *stream = &self->streams[side];
    static _Thread_local char piece[PIECE];
    ssize_t got = recv(stream->fd, piece, sizeof piece, 0);
    if (got <= 0 && (!self->stalled || side == PG_RELAY_FRONT))
        end_both(self);
    else if (got <= 0)
        (void)poll(NULL, 0, 1); /* the client is not to learn of it */
    if (got <= 0 || self->stalled)
        return;
    helio_buffer_append(&stream->bytes, piece, (size_t)got);
    for (size_t size; stream->fd >= 0 && !self->stalled && (size = message_size(stream));) {
        pg_relay_how_t how;
        stream->started = true;
        if (is_due(self, side, &how)) {
            happen(self, side, size, how);
        } else {
            pass(self, side, size);
            drop(&stream->bytes, size);
        }
    }
}

static void *run(void *arg)
{
    pg_relay_t *self = arg;
    for (bool ends = false, releases = false; !ends;) {
        bool connected = self->streams[PG_RELAY_FRONT].fd >= 0;
        struct pollfd fds[] = {{.fd = self->wake, .events = POLLIN},
                               {.fd = connected ? -1 : self->listener, .events = POLLIN},
                               {.fd = self->streams[PG_RELAY_FRONT].fd, .events = POLLIN},
                               {.fd = self->streams[PG_RELAY_BACK].fd, .events = POLLIN}};
        (void)poll(fds, 4, -1);
        if (fds[0].revents) {
            eventfd_t count;
            (void)eventfd_read(self->wake, &count);
            (void)pthread_mutex_lock(&self->mutex);
            ends = self->ends;
            releases = self->releases || ends;
            self->releases = false;
            (void)pthread_mutex_unlock(&self->mutex);
        }
        if (releases) {
            end_server(self->lingering);
            self->lingering = -1;
            releases = false;
        }
        if (fds[1].revents)
            begin(self);
        /* What the server said before the client hung up is passed on first. */
        if (fds[3].revents && self->streams[PG_RELAY_BACK].fd == fds[3].fd)
            take(self, PG_RELAY_BACK);
        if (fds[2].revents && self->streams[PG_RELAY_FRONT].fd == fds[2].fd)
            take(self, PG_RELAY_FRONT);
    }
    end_both(self);
    return NULL;
}

/* ---- life ---------------------------------------------------------------------------------------------- */

pg_relay_t *pg_relay_up(const char *conninfo)
{
    pg_relay_t *self = helio_new(1, sizeof *self);
    char host[80];
    if (sscanf(conninfo, "host=%79s", host) != 1)
        fail(conninfo);
    (void)snprintf(self->folder, sizeof self->folder, "/tmp/helio-relay-XXXXXX");
    if (!mkdtemp(self->folder))
        fail(self->folder);
    (void)snprintf(self->server_path, sizeof self->server_path, "%s/.s.PGSQL.5432", host);
    (void)snprintf(self->own_path, sizeof self->own_path, "%s/.s.PGSQL.5432", self->folder);
    (void)snprintf(self->conninfo, sizeof self->conninfo, "%s host=%s", conninfo, self->folder); /* the last wins */
    struct sockaddr_un address = address_of(self->own_path);
    self->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    self->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (self->listener < 0 || self->wake < 0 ||
        bind(self->listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(self->listener, 16) != 0)
        fail(self->own_path);
    self->lingering = -1;
    forget(self);
    (void)pthread_mutex_init(&self->mutex, NULL);
    if (pthread_create(&self->thread, NULL, run, self) != 0)
        fail("thread");
    return self;
}

static void wake(pg_relay_t *self, bool *flag)
{
    (void)pthread_mutex_lock(&self->mutex);
    *flag = true;
    (void)pthread_mutex_unlock(&self->mutex);
    (void)eventfd_write(self->wake, 1);
}

void pg_relay_down(pg_relay_t **self_p)
{
    pg_relay_t *self = *self_p;
    wake(self, &self->ends);
    (void)pthread_join(self->thread, NULL);
    for (int side = 0; side < SIDES; side++)
        helio_buffer_clear(&self->streams[side].bytes);
    (void)pthread_mutex_destroy(&self->mutex);
    (void)close(self->listener);
    (void)close(self->wake);
    (void)unlink(self->own_path);
    (void)rmdir(self->folder);
    free(self);
    *self_p = NULL;
}

const char *pg_relay_conninfo(const pg_relay_t *self)
{
    return self->conninfo;
}

void pg_relay_break(pg_relay_t *self, pg_relay_fault_t fault)
{
    (void)pthread_mutex_lock(&self->mutex);
    if (self->fault_count - self->faults_done == FAULTS_MAX)
        fail("more faults than there is room for");
    if (self->fault_count == self->faults_done)
        memset(self->seen, 0, sizeof self->seen);
    self->faults[self->fault_count++ % FAULTS_MAX] = fault;
    (void)pthread_mutex_unlock(&self->mutex);
}

uint32_t pg_relay_faults(pg_relay_t *self)
{
    (void)pthread_mutex_lock(&self->mutex);
    uint32_t done = self->faults_done;
    (void)pthread_mutex_unlock(&self->mutex);
    return done;
}

void pg_relay_heal(pg_relay_t *self)
{
    (void)pthread_mutex_lock(&self->mutex);
    self->fault_count = self->faults_done;
    (void)pthread_mutex_unlock(&self->mutex);
}

void pg_relay_release(pg_relay_t *self)
{
    wake(self, &self->releases);
}

uint32_t pg_relay_count(pg_relay_t *self, pg_relay_side_t side)
{
    (void)pthread_mutex_lock(&self->mutex);
    uint32_t count = self->total[side];
    self->total[side] = 0;
    (void)pthread_mutex_unlock(&self->mutex);
    return count;
}
