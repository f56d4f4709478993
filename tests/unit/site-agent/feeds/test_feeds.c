/*  The shell around the feeds, with real requests to a server on loopback, real files and real programs. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <assert.h>
#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "site-agent/feeds/feeds.h"
#include "site-agent/feeds/fetch.h"
#include "site-agent/feeds/secret.h"
#include "tests/unit/site-agent/feeds/testing.h"

static const int64_t H = 3600000, PATIENCE_MS = 20000;

/* ---- a server
 * ------------------------------------------------------------------------------------------------------- */

typedef struct answer {
    const char *path;  /* what a request's path begins with */
    const char *needs; /* a line that the request must hold; else 401 */
    int status;        /* 0: accept and say nothing */
    char *body;
    size_t pad; /* further bytes of blanks */
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

static void write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t done = send(fd, bytes, size, MSG_NOSIGNAL);
        if (done <= 0)
            return;
        bytes += done;
        size -= (size_t)done;
    }
}

static bool read_request(int fd, char *request, size_t capacity)
{
    size_t size = 0;
    while (size + 1 < capacity) {
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        ssize_t got =
            poll(&poll_fd, 1, (int)PATIENCE_MS) == 1 ? read(fd, request + size, capacity - 1 - size) : 0;
        if (got <= 0)
            return false;
        size += (size_t)got;
        request[size] = '\0';
        if (strstr(request, "\r\n\r\n"))
            return true;
    }
    return false;
}

static void serve_one(server_t *self, int fd)
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
        (void)snprintf(
            head, sizeof head,
            "HTTP/1.1 %d X\r\nContent-Length: %zu\r\nConnection: close\r\nLocation: /elsewhere\r\n\r\n",
            status, strlen(body) + pad);
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

static void *serve(void *arg)
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

static void start_server(void)
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

static void stop_server(void)
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
static void say(const char *path, int status, const char *body, const char *needs)
{
    assert_int_equal(pthread_mutex_lock(&server->lock), 0);
    uint32_t i = 0;
    while (i < server->count && strcmp(server->answers[i].path, path) != 0)
        i++;
    assert_true(i < 8);
    server->count = i == server->count ? i + 1 : server->count;
    free(server->answers[i].body);
    server->answers[i] = (answer_t){path, needs, status, body ? helio_strdup(body) : NULL, 0};
    assert_int_equal(pthread_mutex_unlock(&server->lock), 0);
}

static void pad(size_t bytes)
{
    assert_int_equal(pthread_mutex_lock(&server->lock), 0);
    server->answers[0].pad = bytes;
    assert_int_equal(pthread_mutex_unlock(&server->lock), 0);
}

/* ---- a site with feeds
 * ---------------------------------------------------------------------------------------------- */

static helio_arena_t *arena;
static char directory[64];
static helio_feeds_t *feeds;
static site_file_t *file;
static int64_t wall, boot; /* ours to move */
static char notes[4096];
static uint32_t note_count;

static int begin(void **state)
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

static int end(void **state)
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

static void on_note(void *arg, const helio_feed_note_t *note)
{
    (void)arg;
    size_t used = strlen(notes);
    (void)snprintf(notes + used, sizeof notes - used, "[%s %s]", note->well ? "well" : "fails", note->text);
    note_count++;
}

/*  %s of the text: the server's address; then the directory. */
static void open_feeds(const char *format)
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
static bool turn_until(bool (*until)(void))
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

static void move(int64_t by_ms)
{
    wall += by_ms;
    boot += by_ms;
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

static bool has_news(void)
{
    return helio_feeds_news(feeds, wall);
}

static bool has_note(void)
{
    return note_count > 0;
}

static bool has_two_notes(void)
{
    return note_count > 1;
}

static bool is_idle(void)
{
    return helio_feeds_next_ms(feeds) - boot > 30000;
}

static void answered(void)
{
    (void)carbon(); /* the first publication is due in any case */
    if (!turn_until(has_news))
        fail_msg("no news came: %s", notes);
}

#define JSON_FEED(more)                                                  \
    "{signal: carbon, source: http-json, name: grid, timeout: 5s, url: " \
    "\"@URL/past?zone={region}&from={day_ago}\", "                       \
    "fields: {list: data, time: t, value: v}" more "}"

static void feeds__a_source_is_asked_and_what_it_says_is_published(void **state)
{
    (void)state;
    say("/past", 200,
        "{\"data\":[{\"t\":\"2026-11-21T06:00:00Z\",\"v\":410},{\"t\":\"2026-11-21T07:00:00Z\",\"v\":420}]}",
        NULL);
    open_feeds(JSON_FEED(""));
    const helio_series_t *series = carbon(); /* the site file's figure stands until there is an answer */
    assert_true(helio_text_is(series->source, "static") && series->values.items[0] == 300);
    assert_true(turn_until(has_news));
    series = carbon();
    assert_true(near(series->values.items[0], 420) &&
                helio_text_is(series->source, "grid, built-in forecast"));
    assert_false(helio_feeds_news(feeds, wall));
    assert_non_null(strstr(server->requests[0], "GET /past?zone=DE&from=2026-11-20T07:00Z HTTP/1.1\r\n"));
    assert_true(helio_feeds_news(feeds, wall + H)); /* another hour began */
    assert_int_equal(note_count, 0);
}

static void feeds__the_documented_services_are_asked_as_they_want_to_be(void **state)
{
    (void)state;
    /* WattTime: a login by name and password, then a token with each request */
    (void)put_file("password", 0600, "correct horse\n");
    say("/login", 200, "{\"token\":\"tok.en-1\"}", "Authorization: Basic YWRhOmNvcnJlY3QgaG9yc2U=\r\n");
    say("/v3/historical", 200,
        "{\"data\":[{\"point_time\":\"2026-11-21T07:05:00+00:00\",\"value\":1000}],\"meta\":{}}",
        "Authorization: Bearer tok.en-1\r\n");
    say("/v3/forecast", 200,
        "{\"data\":[{\"point_time\":\"2026-11-21T08:00:00+00:00\",\"value\":2000}],\"meta\":{}}",
        "Authorization: Bearer tok.en-1\r\n");
    open_feeds(
        "{signal: carbon, source: http-json, map: watttime, region: CAISO_NORTH, "
        "url: \"@URL/v3/historical?region={region}\", forecast_url: \"@URL/v3/forecast?region={region}\", "
        "login: {url: \"@URL/login\", user: ada, password: @DIR/password}}");
    answered();
    const helio_series_t *series = carbon();
    assert_true(helio_text_is(series->kind, "marginal") && helio_text_is(series->factor, "direct"));
    assert_true(near(series->values.items[0], 453.59237) && near(series->values.items[1], 907.18474));
    assert_int_equal(note_count, 0);
    assert_int_equal(server->request_count, 3);
    assert_null(strstr(server->requests[0], "Bearer"));
}

static void feeds__a_token_that_would_be_more_than_one_header_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"{\"token\":\"a\\r\\nX-Other: b\"}", "{\"token\":\"\"}",
                                      "{\"token\":1}", "{\"token\":\"a b\"}"};
    (void)put_file("password", 0600, "x");
    say("/past", 200, "{\"data\":[]}", NULL);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        say("/login", 200, bad[i], NULL);
        open_feeds("{signal: carbon, source: http-json, map: watttime, url: \"@URL/past\", "
                   "login: {url: \"@URL/login\", user: ada, password: @DIR/password}}");
        assert_true(turn_until(has_note));
        assert_non_null(strstr(notes, "login: "));
        helio_feeds_destroy(&feeds);
        notes[0] = '\0';
        note_count = 0;
    }
    assert_int_equal(server->request_count, 4); /* the logins alone */
}

static void feeds__a_token_in_a_file_goes_along_and_nowhere_else(void **state)
{
    (void)state;
    (void)put_file("token", 0600, "canary-4711\n");
    say("/past", 200,
        "{\"zone\":\"DE\",\"history\":[{\"carbonIntensity\":302,\"datetime\":\"2026-11-21T07:00:00.000Z\","
        "\"isEstimated\":true}]}",
        "auth-token: canary-4711\r\n");
    say("/ahead", 302, "", NULL); /* a redirect is not followed */
    open_feeds("{signal: carbon, source: http-json, map: electricitymaps, url: \"@URL/past\", forecast_url: "
               "\"@URL/ahead\", "
               "secrets: {auth-token: @DIR/token}}");
    answered();
    const helio_series_t *series = carbon();
    assert_true(near(series->values.items[0], 302) && series->estimated &&
                helio_text_is(series->kind, "average"));
    assert_int_equal(server->request_count, 2);
    assert_non_null(strstr(notes, "forecast: HTTP status 302"));
    assert_null(strstr(notes, "canary"));
}

static void feeds__a_secret_that_others_may_read_is_not_sent(void **state)
{
    (void)state;
    static const struct {
        mode_t mode;
        const char *text, *complaint;
    } cases[] = {
        {0644, "canary-4711\n", "chmod 600"}, {0600, "", "empty"}, {0600, "two\nlines\n", "not one line"}};
    char secret[HELIO_SECRET_MAX];
    helio_error_t err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *path = put_file("token", cases[i].mode, cases[i].text);
        assert_true(helio_secret_read(path, secret, &err) != HELIO_OK &&
                    strstr(err.text, cases[i].complaint));
        assert_null(strstr(err.text, "canary"));
    }
    assert_int_equal(helio_secret_read("/nonexistent", secret, &err), HELIO_NOT_FOUND);
    assert_int_equal(helio_secret_read(directory, secret, &err), HELIO_INVALID);
    (void)put_file("token", 0640, "canary-4711\n");
    open_feeds("{signal: carbon, source: http-json, map: electricitymaps, url: \"@URL/past\", secrets: "
               "{auth-token: @DIR/token}}");
    assert_true(turn_until(has_note));
    assert_int_equal(server->request_count, 0);
    assert_non_null(strstr(notes, "chmod 600"));
}

static void feeds__a_dead_source_is_told_once_and_its_last_day_stands(void **state)
{
    (void)state;
    say("/past", 200,
        "{\"data\":[{\"t\":\"2026-11-21T06:00:00Z\",\"v\":410},{\"t\":\"2026-11-21T07:00:00Z\",\"v\":420}]}",
        NULL);
    open_feeds(JSON_FEED(""));
    answered();
    (void)carbon();
    say("/past", 500, "down", NULL);
    move(15 * 60000);
    assert_true(turn_until(has_note));
    assert_true(strcmp(notes, "[fails HTTP status 500]") == 0);
    for (int i = 0; i < 4; i++) { /* it fails on, without a word */
        move(15 * 60000);
        helio_feeds_process(feeds, boot, wall);
        (void)carbon();
        assert_true(
            turn_until(is_idle)); /* or a late failure would be followed by a pause that nobody moves over */
    }
    move(3 * H);
    const helio_series_t *series = carbon();
    assert_true(series->estimated && helio_text_is(series->source, "grid, last good 2026-11-21T07Z"));
    assert_true(
        near(series->values.items[0], 415)); /* of two hours known: this one is neither, so their mean */
    assert_int_equal(note_count, 1);
    say("/past", 200, "{\"data\":[{\"t\":\"2026-11-21T11:00:00Z\",\"v\":500}]}", NULL);
    move(H);
    assert_true(turn_until(has_two_notes));
    assert_non_null(strstr(notes, "[well ]"));
    assert_true(near(carbon()->values.items[0], 500) || !carbon()->estimated);
}

static void feeds__bad_answers_are_told_and_change_nothing(void **state)
{
    (void)state;
    static const struct {
        int status;
        const char *body, *note;
    } cases[] = {
        {200, "<html>maintenance</html>", "not JSON"},
        {200, "{\"data\":[]}", "the answer holds no value"},
        {200, "{\"other\":[]}", "there is no list at 'data'"},
        {200, "{\"data\":[{\"t\":\"1999-01-01T00:00:00Z\",\"v\":1}]}",
         "none of its values is of the last 35"},
        {403, "{\"data\":[{\"t\":\"2026-11-21T07:00:00Z\",\"v\":1}]}", "HTTP status 403"},
        {204, "", "HTTP status 204"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        say("/past", cases[i].status, cases[i].body, NULL);
        open_feeds(JSON_FEED(""));
        assert_true(turn_until(has_note));
        if (!strstr(notes, cases[i].note))
            fail_msg("case %zu: %s", i, notes);
        assert_true(helio_text_is(carbon()->source, "static"));
        helio_feeds_destroy(&feeds);
        notes[0] = '\0';
        note_count = 0;
    }
}

static void feeds__an_answer_without_end_or_at_all_is_cut(void **state)
{
    (void)state;
    say("/past", 200, "{\"data\":[", NULL);
    pad(((size_t)8 << 20) + 1);
    open_feeds(JSON_FEED(""));
    assert_true(turn_until(has_note));
    assert_non_null(strstr(notes, "larger than"));
    helio_feeds_destroy(&feeds);
    note_count = 0;
    say("/past", 0, NULL, NULL);
    open_feeds("{signal: carbon, source: http-json, timeout: 200ms, url: \"@URL/past\", fields: {list: data, "
               "time: t, value: v}}");
    int64_t begun = helio_clock_boot_ms();
    helio_feeds_process(feeds, boot, wall);
    assert_true(helio_clock_boot_ms() - begun < 150); /* nobody waits for it */
    assert_true(turn_until(has_note));
    assert_non_null(strstr(notes, "timed out"));
    helio_feeds_destroy(&feeds);
    note_count = 0;
    open_feeds("{signal: carbon, source: http-json, url: \"http://127.0.0.1:1/\", fields: {list: data, time: "
               "t, value: v}}");
    assert_true(turn_until(has_note));
}

static void feeds__files_and_programs_are_sources_too(void **state)
{
    (void)state;
    (void)put_file("data.csv", 0644,
                   "region,time,value\nFR,2026-11-21T07:00:00Z,20\nDE,2026-11-21T07:00:00Z,350\n"
                   "DE,2026-11-21T08:00:00Z,360\n");
    open_feeds("{signal: carbon, source: csv, path: @DIR/data.csv}");
    answered();
    assert_true(near(carbon()->values.items[0], 350) && near(carbon()->values.items[1], 360));
    helio_feeds_destroy(&feeds);
    (void)put_file("program", 0755, "#!/bin/sh\nprintf 'time,value\\n2026-11-21T07:00:00Z,%s\\n' \"$1\"\n");
    open_feeds("{signal: carbon, source: exec, command: [@DIR/program, \"77; rm -rf /\"]}");
    assert_true(turn_until(has_note)); /* arguments are no shell's */
    assert_non_null(strstr(notes, "line 2: the number is none"));
    helio_feeds_destroy(&feeds);
    open_feeds("{signal: carbon, source: exec, command: [@DIR/program, \"77\"]}");
    answered();
    assert_true(near(carbon()->values.items[0], 77) &&
                helio_text_is(carbon()->source, "exec, built-in forecast"));
    helio_feeds_destroy(&feeds);
    (void)put_file("program", 0755,
                   "#!/bin/sh\necho '{\"now\":{\"at\":\"2026-11-21T07:00:00Z\",\"g\":81}}'\n");
    open_feeds("{signal: carbon, source: exec, json: true, command: [@DIR/program], fields: {list: now, "
               "time: at, value: g}}");
    answered();
    assert_true(near(carbon()->values.items[0], 81));
}

static void feeds__programs_that_fail_or_hang_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *program, *note;
    } cases[] = {{"#!/bin/sh\necho quota exceeded >&2\nexit 3\n", "failed (exit 3): quota exceeded"},
                 {"#!/bin/sh\nexec tail -f /dev/null\n", "took too long"},
                 {"#!/bin/sh\nexec yes\n", "printed too much"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        (void)put_file("program", 0755, cases[i].program);
        open_feeds("{signal: carbon, source: exec, timeout: 3s, command: [@DIR/program]}");
        bool told = turn_until(has_note);
        if (!told || !strstr(notes, cases[i].note))
            fail_msg("case %zu: %s", i, notes);
        helio_feeds_destroy(&feeds);
        notes[0] = '\0';
        note_count = 0;
    }
    open_feeds("{signal: carbon, source: csv, path: @DIR/nosuch.csv}");
    assert_true(turn_until(has_note));
    assert_non_null(strstr(notes, "No such file"));
}

static void feeds__what_was_learnt_survives_a_restart(void **state)
{
    (void)state;
    say("/past", 200,
        "{\"data\":[{\"t\":\"2026-11-21T06:00:00Z\",\"v\":410},{\"t\":\"2026-11-21T07:00:00Z\",\"v\":420}]}",
        NULL);
    open_feeds(JSON_FEED(""));
    answered();
    helio_feeds_destroy(&feeds);
    say("/past", 500, "", NULL);
    move(H);
    open_feeds(JSON_FEED(""));
    const helio_series_t *series = carbon(); /* before any answer */
    assert_true(near(series->values.items[0], 415) &&
                helio_text_is(series->source, "grid, built-in forecast"));
    helio_feeds_destroy(&feeds);
    (void)put_file("feeds.history", 0600, "not what it was");
    open_feeds(JSON_FEED(""));
    assert_non_null(strstr(notes, "damaged"));
    assert_true(helio_text_is(carbon()->source, "static"));
}

static void feeds__after_failures_it_waits_ever_longer_up_to_its_rhythm(void **state)
{
    (void)state;
    static const int64_t minutes[] = {1, 2, 4, 8, 15}; /* a further one would be behind the next hour */
    say("/past", 500, "", NULL);
    open_feeds(JSON_FEED(""));
    (void)carbon();
    for (size_t i = 0; i < sizeof minutes / sizeof minutes[0]; i++) {
        assert_true(i > 0 || turn_until(has_note));
        /* the round is over when the next one is what is waited for */
        int64_t began = helio_clock_boot_ms();
        while (helio_feeds_next_ms(feeds) - boot < 50000 && helio_clock_boot_ms() - began < PATIENCE_MS) {
            struct pollfd fd = {.fd = helio_feeds_fd(feeds), .events = POLLIN};
            (void)poll(&fd, 1, 5);
            helio_feeds_process(feeds, boot, wall);
            if (helio_feeds_news(feeds, wall))
                (void)carbon();
        }
        int64_t wait = helio_feeds_next_ms(feeds) - boot;
        if (wait < minutes[i] * 60000 - 5000 || wait > minutes[i] * 60000)
            fail_msg("after failure %zu it waits %lld ms", i + 1, (long long)wait);
        move(wait);
        (void)carbon();
        helio_feeds_process(feeds, boot, wall);
    }
    assert_int_equal(note_count, 1);
}

static void feeds__a_time_zone_that_is_needed_must_be_there(void **state)
{
    (void)state;
    site_file_t *site = read_site(
        "name: a\ntimezone: Europe/Nowhere\npools: [{name: p, gpu: A, nodes: 1, gpus_per_node: 8}]\n"
        "windows: [{pool: p, reserve_gpus: 1}]\n",
        arena);
    helio_feeds_options_t options = {
        .settings = &site->feeds, .profile = &site->site, .now_boot_ms = boot, .wall_ms = wall};
    helio_error_t err = {0};
    assert_int_equal(helio_feeds_new(&options, &feeds, &err), HELIO_NOT_FOUND);
    assert_non_null(strstr(err.text, "Europe/Nowhere"));
    site->feeds.windows.count = 0; /* nobody needs it */
    assert_int_equal(helio_feeds_new(&options, &feeds, &err), HELIO_OK);
    helio_feeds_process(feeds, boot, wall);
    (void)carbon();
    assert_true(helio_feeds_next_ms(feeds) - boot == 12 * H); /* nothing changes by the hour */
    helio_feeds_destroy(&feeds);
    site->site.timezone = HELIO_TEXT("UTC");
    site->feeds.windows.count = 1;
    options.zones = "/nonexistent";
    assert_int_equal(helio_feeds_new(&options, &feeds, &err), HELIO_OK); /* UTC needs no data */
}

static void url__placeholders_are_filled_in_and_nothing_else_is(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *region, *url; /* NULL: refused */
    } cases[] = {
        {"https://x/{region}?a={now}&b={hour}", "DE", "https://x/DE?a=2026-11-21T07:00Z&b=2026-11-21T07:00Z"},
        {"https://x/{day_ago}/{in_48h}", "DE", "https://x/2026-11-20T07:00Z/2026-11-23T07:00Z"},
        {"https://x/{region}", "a/../b?c&d\r\n", "https://x/a%2F..%2Fb%3Fc%26d%0D%0A"},
        {"https://x/{token}", "DE", NULL},
        {"https://x/{region", "DE", NULL},
        {"https://x/{}", "DE", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
        helio_error_t err;
        helio_rc rc = helio_fetch_url(helio_text_of(cases[i].pattern), helio_text_of(cases[i].region), wall,
                                      &out, &err);
        if ((rc == HELIO_OK) != (cases[i].url != NULL) ||
            (cases[i].url && strcmp(out.data, cases[i].url) != 0))
            fail_msg("%s: %s", cases[i].pattern, out.data);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(feeds__a_source_is_asked_and_what_it_says_is_published),
        TEST(feeds__the_documented_services_are_asked_as_they_want_to_be),
        TEST(feeds__a_token_that_would_be_more_than_one_header_is_refused),
        TEST(feeds__a_token_in_a_file_goes_along_and_nowhere_else),
        TEST(feeds__a_secret_that_others_may_read_is_not_sent),
        TEST(feeds__a_dead_source_is_told_once_and_its_last_day_stands),
        TEST(feeds__bad_answers_are_told_and_change_nothing),
        TEST(feeds__an_answer_without_end_or_at_all_is_cut),
        TEST(feeds__files_and_programs_are_sources_too),
        TEST(feeds__programs_that_fail_or_hang_are_told),
        TEST(feeds__what_was_learnt_survives_a_restart),
        TEST(feeds__after_failures_it_waits_ever_longer_up_to_its_rhythm),
        TEST(feeds__a_time_zone_that_is_needed_must_be_there),
        TEST(url__placeholders_are_filled_in_and_nothing_else_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
