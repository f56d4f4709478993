/*  feeds_testing.h -- a server that answers as it was told, and a site with feeds that ask it.
 *
 *  The shell around the feeds, with real requests to a server on loopback, real files and real programs.
 */
#ifndef HELIO_TESTS_SITE_AGENT_FEEDS_FEEDS_TESTING_H
#define HELIO_TESTS_SITE_AGENT_FEEDS_FEEDS_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <assert.h>
#include <cmocka.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "site-agent/feeds/feeds.h"
#include "site-agent/feeds/url.h"
#include "federation/fetch/fetch.h"
#include "site-agent/feeds/secret.h"
#include "tests/unit/site-agent/feeds/testing.h"

static const int64_t H = 3600000, PATIENCE_MS = 20000;

typedef struct answer {
    const char *path;  /* what a request's path begins with */
    const char *needs; /* a line that the request must hold; else 401 */
    int status;        /* 0: accept and say nothing */
    char *body;
    size_t pad;     /* further bytes of blanks */
    size_t missing; /* bytes that the head promises and that never come */
} answer_t;

typedef struct server {
    int fd, stop[2];
    uint16_t port;
    pthread_t thread;
    pthread_mutex_t lock;
    answer_t answers[8];
    uint32_t count;
    char requests[16][2048]; /* under the lock */
    uint32_t request_count;
    int silent[16]; /* connections that get no answer */
    uint32_t silent_count;
} server_t;

static server_t *server;

static inline void write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t done = send(fd, bytes, size, MSG_NOSIGNAL);
        if (done <= 0)
            return;
        bytes += done;
        size -= (size_t)done;
    }
}

static inline bool read_request(int fd, char *request, size_t capacity)
{
    size_t size = 0;
    while (size + 1 < capacity) {
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        ssize_t got = poll(&poll_fd, 1, (int)PATIENCE_MS) == 1 ? read(fd, request + size, capacity - 1 - size) : 0;
        if (got <= 0)
            return false;
        size += (size_t)got;
        request[size] = '\0';
        if (strstr(request, "\r\n\r\n"))
            return true;
    }
    return false;
}

static inline void serve_one(server_t *self, int fd)
{
    char request[2048] = "", head[256];
    if (!read_request(fd, request, sizeof request)) {
        (void)close(fd);
        return;
    }
    assert(pthread_mutex_lock(&self->lock) == 0);
    if (self->request_count < 16)
        memcpy(self->requests[self->request_count++], request, sizeof request);
    const answer_t *found = NULL;
    for (uint32_t i = 0; i < self->count && !found; i++)
        if (strncmp(request + 4, self->answers[i].path, strlen(self->answers[i].path)) == 0)
            found = &self->answers[i];
    bool let_in = found && (!found->needs || strstr(request, found->needs));
    int status = !found ? 404 : let_in ? found->status : 401;
    if (status == 0) {
        self->silent[self->silent_count++] = fd;
    } else {
        const char *body = let_in && found->body ? found->body : "";
        size_t pad = let_in ? found->pad : 0;
        (void)snprintf(head, sizeof head,
                       "HTTP/1.1 %d X\r\nContent-Length: %zu\r\nConnection: close\r\nLocation: /elsewhere\r\n\r\n",
                       status, strlen(body) + pad + (let_in ? found->missing : 0));
        write_all(fd, head, strlen(head));
        write_all(fd, body, strlen(body));
        char blanks[4096];
        memset(blanks, ' ', sizeof blanks);
        for (; pad > 0; pad -= pad < sizeof blanks ? pad : sizeof blanks)
            write_all(fd, blanks, pad < sizeof blanks ? pad : sizeof blanks);
        (void)close(fd);
    }
    assert(pthread_mutex_unlock(&self->lock) == 0);
}

static inline void *serve(void *arg)
{
    server_t *self = arg;
    for (;;) {
        struct pollfd fds[2] = {{.fd = self->fd, .events = POLLIN}, {.fd = self->stop[0], .events = POLLIN}};
        if (poll(fds, 2, -1) < 0 || fds[1].revents)
            return NULL;
        int fd = accept4(self->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            serve_one(self, fd);
    }
}

static inline void start_server(void)
{
    server = helio_new(1, sizeof *server);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(server->fd >= 0 && bind(server->fd, (struct sockaddr *)&address, size) == 0 &&
                listen(server->fd, 16) == 0);
    assert_int_equal(getsockname(server->fd, (struct sockaddr *)&address, &size), 0);
    server->port = ntohs(address.sin_port);
    assert_int_equal(pipe2(server->stop, O_CLOEXEC), 0);
    assert_int_equal(pthread_mutex_init(&server->lock, NULL), 0);
    assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static inline void stop_server(void)
{
    (void)close(server->stop[1]);
    assert_int_equal(pthread_join(server->thread, NULL), 0);
    for (uint32_t i = 0; i < server->silent_count; i++)
        (void)close(server->silent[i]);
    for (uint32_t i = 0; i < server->count; i++)
        free(server->answers[i].body);
    (void)close(server->stop[0]);
    (void)close(server->fd);
    (void)pthread_mutex_destroy(&server->lock);
    free(server);
}

/*  Replaces what was said at that path. */
static inline void say(const char *path, int status, const char *body, const char *needs)
{
    assert_int_equal(pthread_mutex_lock(&server->lock), 0);
    uint32_t i = 0;
    while (i < server->count && strcmp(server->answers[i].path, path) != 0)
        i++;
    assert_true(i < 8);
    server->count = i == server->count ? i + 1 : server->count;
    free(server->answers[i].body);
    server->answers[i] = (answer_t){path, needs, status, body ? helio_strdup(body) : NULL, 0, 0};
    assert_int_equal(pthread_mutex_unlock(&server->lock), 0);
}

static inline void pad(size_t bytes)
{
    assert_int_equal(pthread_mutex_lock(&server->lock), 0);
    server->answers[0].pad = bytes;
    assert_int_equal(pthread_mutex_unlock(&server->lock), 0);
}

/*  The first answer is cut off: its head promises more. */
static inline void cut_off(size_t missing)
{
    assert_int_equal(pthread_mutex_lock(&server->lock), 0);
    server->answers[0].missing = missing;
    assert_int_equal(pthread_mutex_unlock(&server->lock), 0);
}

static helio_arena_t *arena;
static char directory[64];
static helio_feeds_t *feeds;
static site_file_t *file;
static int64_t wall, boot; /* ours to move */

static char notes[4096];
static uint32_t note_count;

static inline int begin(void **state)
{
    (void)state;
    arena = helio_arena_new();
    wall = ms_of("2026-11-21T07:20:00Z");
    boot = helio_clock_boot_ms();
    notes[0] = '\0';
    note_count = 0;
    feeds = NULL;
    (void)unsetenv("http_proxy");
    (void)unsetenv("all_proxy");
    (void)snprintf(directory, sizeof directory, "/tmp/helio-feeds-XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    start_server();
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    static const char *const names[] = {"feeds.history", "feeds.history.new", "token",
                                        "password",      "data.csv",          "program"};
    helio_feeds_destroy(&feeds);
    stop_server();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[128];
        (void)snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        (void)unlink(path);
    }
    helio_arena_destroy(&arena);
    return rmdir(directory);
}

static const char *put_file(const char *name, mode_t mode, const char *text)
{
    static char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    (void)unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && fchmod(fd, mode) == 0 &&
                close(fd) == 0);
    return path;
}

static inline void on_note(void *arg, const helio_feed_note_t *note)
{
    (void)arg;
    size_t used = strlen(notes);
    (void)snprintf(notes + used, sizeof notes - used, "[%s %s]", note->well ? "well" : "fails", note->text);
    note_count++;
}

/*  %s of the text: the server's address; then the directory. */
static inline void open_feeds(const char *format)
{
    char text[3000], address[64];
    (void)snprintf(address, sizeof address, "http://127.0.0.1:%u", server->port);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    helio_buffer_text(&out, "name: a\nregion: DE\ntimezone: Europe/Berlin\ncarbon_g_per_kwh: 300\n"
                            "pools: [{name: p, gpu: H100, nodes: 4, gpus_per_node: 8}]\nagent: {feeds: [");
    for (const char *at = format; *at;)
        if (strncmp(at, "@URL", 4) == 0) {
            helio_buffer_text(&out, address);
            at += 4;
        } else if (strncmp(at, "@DIR", 4) == 0) {
            helio_buffer_text(&out, directory);
            at += 4;
        } else {
            helio_buffer_append(&out, at++, 1);
        }
    helio_buffer_text(&out, "]}\n");
    assert_true(out.size < sizeof text);
    memcpy(text, out.data, out.size + 1);
    file = read_site(text, arena);
    helio_feeds_options_t options = {.settings = &file->feeds,
                                     .profile = &file->site,
                                     .state_dir = directory,
                                     .on_note = on_note,
                                     .now_boot_ms = boot,
                                     .wall_ms = wall};
    helio_error_t err = {0};
    if (helio_feeds_new(&options, &feeds, &err) != HELIO_OK)
        fail_msg("%s", err.text);
}

/*  Turns as an agent's loop would, until `until` or until patience ends. The clock runs on from where it was
 * moved to. */
static inline bool turn_until(bool (*until)(void))
{
    int64_t begun = helio_clock_boot_ms(), from = boot;
    do {
        boot = from + helio_clock_boot_ms() - begun;
        helio_feeds_process(feeds, boot, wall);
        if (until())
            return true;
        int64_t wait = helio_feeds_next_ms(feeds) - boot;
        struct pollfd fd = {.fd = helio_feeds_fd(feeds), .events = POLLIN};
        (void)poll(&fd, 1, wait < 0 ? 0 : wait > 20 ? 20 : (int)wait);
    } while (helio_clock_boot_ms() - begun < PATIENCE_MS);
    return false;
}

static helio_aev_series_t published;

static const helio_series_t *carbon(void)
{
    helio_feeds_publish(feeds, NULL, wall, arena, &published);
    for (uint32_t i = 0; i < published.series.count; i++)
        if (published.series.items[i].signal == HELIO_SIGNAL_CARBON)
            return &published.series.items[i];
    return NULL;
}

static inline bool has_news(void)
{
    return helio_feeds_news(feeds, wall);
}

static inline bool has_note(void)
{
    return note_count > 0;
}

static inline void answered(void)
{
    (void)carbon(); /* the first publication is due in any case */
    if (!turn_until(has_news))
        fail_msg("no news came: %s", notes);
}

#define JSON_FEED(more)                                                  \
    "{signal: carbon, source: http-json, name: grid, timeout: 5s, url: " \
    "\"@URL/past?zone={region}&from={day_ago}\", "                       \
    "fields: {list: data, time: t, value: v}" more "}"

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

#endif
