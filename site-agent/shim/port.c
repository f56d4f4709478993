/*  port.c -- a connection to a port of the attempt: finds the listener, connects, and copies both ways. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "federation/base/file.h"
#include "site-agent/shim/enter.h"
#include "site-agent/shim/listeners.h"
#include "site-agent/shim/rights.h"

enum { PIECE = 64 << 10 };

/* ---- the listener -------------------------------------------------------------------------------------- */

/*  Looked up as the job's user, who may look into its processes. */
static bool is_of_attempt(const helio_inside_t *inside, const helio_listener_t *listener)
{
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
    size_t count = 0;
    const pid_t *pids = helio_inside_processes(inside, arena, &count);
#ifdef HELIO_MUTANT_port_of_anybody
    return true;
#endif
    return helio_listener_is_of(listener, pids, count);
}

/*  Somebody else listens there too, or may do so beyond the end of the list: the connection could come to them. */
static bool is_shared(const helio_inside_t *inside, const helio_listener_t *listener, const helio_listener_t *list,
                      size_t count)
{
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
    size_t pid_count = 0;
    const pid_t *pids = helio_inside_processes(inside, arena, &pid_count);
    bool shared = count == HELIO_LISTENERS_MAX;
    for (size_t i = 0; i < count && !shared; i++)
        shared = helio_listener_is_shared_with(listener, &list[i]) && !helio_listener_is_of(&list[i], pids, pid_count);
#ifdef HELIO_MUTANT_port_shared_with_anybody
    return false;
#endif
    return shared;
}

/*  The socket that was seen still listens, and alone: so no other can have taken its place before the connection. */
static bool still_listens(const helio_inside_t *inside, const helio_listener_t *listener, uint16_t port)
{
    helio_listener_t now[HELIO_LISTENERS_MAX];
    size_t count = helio_listeners_find(port, now);
    for (size_t i = 0; i < count; i++)
        if (now[i].inode == listener->inode)
            return is_of_attempt(inside, listener) && !is_shared(inside, listener, now, count);
    return false;
}

/*  -1: it does not take it, or is the attempt's no more. */
static int connect_to(const helio_inside_t *inside, const helio_listener_t *listener, uint16_t port)
{
    int socket_fd = socket(listener->to.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_fd >= 0 && (connect(socket_fd, (const struct sockaddr *)&listener->to, listener->to_size) ||
                           !still_listens(inside, listener, port)))
        helio_close(&socket_fd);
    return socket_fd;
}

/*  *ret_shared: the attempt listens there, but not alone. */
static int find_and_connect(const helio_inside_t *inside, uint16_t port, bool *ret_shared)
{
    helio_listener_t list[HELIO_LISTENERS_MAX];
    size_t count = helio_listeners_find(port, list);
    int socket_fd = -1;
    for (size_t i = 0; i < count && socket_fd < 0; i++) {
        if (!is_of_attempt(inside, &list[i]))
            continue;
        if (is_shared(inside, &list[i], list, count))
            *ret_shared = true;
        else
            socket_fd = connect_to(inside, &list[i], port);
    }
    return socket_fd;
}

/* ---- both ways ----------------------------------------------------------------------------------------- */

/*  One direction: at most one piece is under way. */
typedef struct way {
    int from, to;
    char bytes[PIECE];
    size_t at, size;
    bool ended; /* `from` gives no more */
} way_t;

static bool take(way_t *way)
{
    ssize_t got = read(way->from, way->bytes, sizeof way->bytes);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    way->ended = got <= 0;
    way->at = 0;
    way->size = got > 0 ? (size_t)got : 0;
    return got >= 0;
}

static bool give(way_t *way)
{
    ssize_t wrote = write(way->to, way->bytes + way->at, way->size - way->at);
    if (wrote < 0)
        return errno == EAGAIN || errno == EINTR;
    way->at += (size_t)wrote;
    return true;
}

static bool has_bytes(const way_t *way)
{
    return way->at < way->size;
}

/*  False: broken, or complete. */
static bool turn(way_t *in, way_t *out, int over)
{
    struct pollfd fds[] = {{.fd = in->ended || has_bytes(in) ? -1 : in->from, .events = POLLIN},
                           {.fd = has_bytes(in) ? in->to : -1, .events = POLLOUT},
                           {.fd = out->ended || has_bytes(out) ? -1 : out->from, .events = POLLIN},
                           {.fd = has_bytes(out) ? out->to : -1, .events = POLLOUT},
                           {.fd = over, .events = POLLIN}};
    if (poll(fds, 5, -1) < 0)
        return errno == EINTR;
    bool good = !fds[4].revents;
    if (good && fds[0].revents) {
        good = take(in);
        if (in->ended)
            (void)shutdown(in->to, SHUT_WR);
    }
    if (good && fds[1].revents)
        good = give(in);
    if (good && fds[2].revents)
        (void)take(out);
    if (good && fds[3].revents)
        good = give(out);
    return good && !(out->ended && !has_bytes(out));
}

static void copy(int socket_fd, int over)
{
    static const int streams[] = {0, 1};
    way_t *in = helio_new(1, sizeof *in), *out = helio_new(1, sizeof *out);
    in->from = out->to = -1;
    for (int i = 0; i < 2; i++) {
        int flags = fcntl(streams[i], F_GETFL);
        (void)fcntl(streams[i], F_SETFL, flags | O_NONBLOCK);
    }
    (void)fcntl(socket_fd, F_SETFL, O_NONBLOCK);
    in->from = 0;
    in->to = out->from = socket_fd;
    out->to = 1;
    while (turn(in, out, over))
        continue;
    free(in);
    free(out);
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

static const char *become(const helio_inside_t *inside)
{
    const char *step = helio_rights_limit(&inside->plan, inside->cgroup[0] ? inside->cgroup : NULL);
    if (!step)
        step = helio_rights_drop(&inside->plan, inside->user);
    if (!step)
        step = helio_rights_bind(&inside->plan, getppid());
    if (!step) {
        helio_rights_signals();
        (void)signal(SIGPIPE, SIG_IGN);
    }
    return step;
}

int helio_enter_port(const char *folder, uint32_t node, uint16_t port)
{
    helio_inside_t inside;
    helio_error_t err = {0};
    if (helio_inside_find(folder, node, &inside, &err)) {
        (void)dprintf(2, "%s\n", err.text);
        return HELIO_INSIDE_REFUSED;
    }
    int code = HELIO_INSIDE_REFUSED;
    const char *step = become(&inside);
    bool shared = false;
    int socket_fd = step ? -1 : find_and_connect(&inside, port, &shared);
    if (step) {
        (void)dprintf(2, "%s: %s\n", step, strerror(errno));
    } else if (socket_fd < 0 && shared) {
        (void)dprintf(2, "the job shares port %u with a process that is not of the job\n", port);
        code = HELIO_INSIDE_NO_PORT;
    } else if (socket_fd < 0) {
        (void)dprintf(2, "no process of the job listens on port %u\n", port);
        code = HELIO_INSIDE_NO_PORT;
    } else {
        (void)dprintf(2, HELIO_INSIDE_CONNECTED);
        copy(socket_fd, inside.over);
        code = 0;
    }
    helio_close(&socket_fd);
    helio_inside_clear(&inside);
    return code;
}
