/*  feed_round.c -- asks one source once, request by request, and reports its points. */
#include "site-agent/feeds/feed_round.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "site-agent/feeds/secret.h"
#include "site-agent/feeds/url.h"

typedef enum step { IDLE, LOGIN, PAST, AHEAD, PROGRAM } step_t;

struct helio_round {
    helio_round_parts_t parts;
    step_t step;
    int64_t wall_ms;
    helio_arena_t *arena; /* of the round */
    helio_text_t token;
    helio_points_t points;
    char complaint[700];
};

helio_round_t *helio_round_new(const helio_round_parts_t *parts)
{
    helio_round_t *self = helio_new(1, sizeof *self);
    self->parts = *parts;
    self->arena = helio_arena_new_sized(4096);
    return self;
}

void helio_round_destroy(helio_round_t **self_p)
{
    helio_round_t *self = *self_p;
    if (!self)
        return;
    helio_arena_destroy(&self->arena);
    free(self);
    *self_p = NULL;
}

bool helio_round_runs(const helio_round_t *self)
{
    return self->step != IDLE;
}

static void complain(helio_round_t *self, const char *where, const char *text)
{
    if (!self->complaint[0]) /* the first error explains the rest */
        (void)snprintf(self->complaint, sizeof self->complaint, "%s%s", where, text);
}

static void end(helio_round_t *self)
{
    helio_points_t points = self->points;
    self->step = IDLE;
    if (self->token.size)
        explicit_bzero((void *)(uintptr_t)self->token.data, self->token.size);
    self->token = (helio_text_t){0};
    self->points = (helio_points_t){0};
    self->parts.done(self->parts.arg, &points, self->complaint);
    helio_arena_destroy(&self->arena); /* a response may have been large */
    self->arena = helio_arena_new_sized(4096);
}

static void add(helio_round_t *self, const helio_points_t *more)
{
    helio_point_t *all = helio_arena_alloc(self->arena, (size_t)self->points.count + more->count, sizeof *all);
    if (self->points.count)
        memcpy(all, self->points.items, self->points.count * sizeof *all);
    if (more->count)
        memcpy(all + self->points.count, more->items, more->count * sizeof *all);
    self->points = (helio_points_t){all, self->points.count + more->count};
}

/*  ---- http --------------------------------------------------------------------------------------------------- */

static void on_reply(void *arg, const helio_fetch_result_t *result);

enum { HEADERS_MAX = HELIO_FEED_HEADERS_MAX * 2 + 1, HEADER_SIZE = HELIO_SECRET_MAX + 512 };

typedef struct headers {
    const char *items[HEADERS_MAX + 1];
    char texts[HEADERS_MAX][HEADER_SIZE];
    uint32_t count;
} headers_t;

static void put_header(headers_t *self, helio_text_t name, const char *value)
{
    (void)snprintf(self->texts[self->count], HEADER_SIZE, "%.*s: %s", HELIO_TEXT_ARGS(name), value);
    self->items[self->count] = self->texts[self->count];
    self->count++;
}

static helio_rc put_headers(const helio_round_t *self, headers_t *headers, helio_error_t *err)
{
    const helio_feed_t *feed = self->parts.feed;
    char value[HELIO_SECRET_MAX];
    helio_rc rc = HELIO_OK;
    for (uint32_t i = 0; i < feed->headers.count; i++) {
        (void)helio_text_copy(feed->headers.items[i].value, value, sizeof value);
        put_header(headers, feed->headers.items[i].name, value);
    }
    for (uint32_t i = 0; i < feed->secrets.count && rc == HELIO_OK; i++) {
        rc = helio_secret_read(feed->secrets.items[i].value.data, value, err);
        if (rc == HELIO_OK)
            put_header(headers, feed->secrets.items[i].name, value);
    }
    if (rc == HELIO_OK && self->token.size) {
        (void)snprintf(value, sizeof value, "Bearer %.*s", HELIO_TEXT_ARGS(self->token));
        put_header(headers, HELIO_TEXT("Authorization"), value);
    }
    explicit_bzero(value, sizeof value);
    return rc;
}

/*  The file is read each time, so that a new password needs no restart. */
static helio_rc put_login(const helio_round_t *self, helio_fetch_t *fetch, char password[HELIO_SECRET_MAX],
                          helio_error_t *err)
{
    const helio_feed_login_t *login = &self->parts.feed->login;
    helio_rc rc = helio_secret_read(login->password_file.data, password, err);
    fetch->user = helio_arena_string(self->arena, login->user);
    fetch->password = password;
    return rc;
}

static helio_rc ask(helio_round_t *self, helio_text_t pattern, helio_error_t *err)
{
    const helio_feed_t *feed = self->parts.feed;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t url = {0};
    char password[HELIO_SECRET_MAX] = "";
    headers_t *headers = helio_new(1, sizeof *headers);
    helio_fetch_t fetch = {.headers = headers->items,
                           .timeout_ms = feed->timeout_ms,
                           .max_bytes = HELIO_ANSWER_BYTES_MAX,
                           .done = on_reply,
                           .arg = self};
    helio_rc rc = helio_fetch_url(pattern, feed->region, self->wall_ms, &url, err);
    fetch.url = url.data;
    if (rc == HELIO_OK)
        rc = self->step == LOGIN ? put_login(self, &fetch, password, err) : put_headers(self, headers, err);
    if (rc == HELIO_OK)
        rc = helio_fetcher_get(self->parts.fetcher, &fetch, err);
    explicit_bzero(headers, sizeof *headers);
    explicit_bzero(password, sizeof password);
    free(headers);
    return rc;
}

/*  The next request, or the end. */
static void go_on(helio_round_t *self, step_t step)
{
    const helio_feed_t *feed = self->parts.feed;
    helio_error_t err = {0};
    for (;; step++) {
        self->step = step;
        if (step > AHEAD || (step == AHEAD && !feed->forecast_url.size)) {
            end(self);
            return;
        }
        if (step == LOGIN && !feed->login.user.size)
            continue;
        helio_text_t pattern = step == LOGIN ? feed->login.url : step == PAST ? feed->url : feed->forecast_url;
        if (ask(self, pattern, &err) == HELIO_OK)
            return;
        complain(self, "", err.text);
        if (step == LOGIN)
            step = AHEAD; /* without it every further request would be refused */
    }
}

static void on_login(helio_round_t *self, const helio_fetch_result_t *result)
{
    helio_error_t err = {0};
    if (!result->ok)
        complain(self, "login: ", result->complaint);
    else if (helio_json_text(result->body, self->parts.feed->login.token, self->arena, &self->token, &err) != HELIO_OK)
        complain(self, "login: ", err.text);
    bool in = self->token.size && self->token.size < HELIO_SECRET_MAX - 16;
    for (uint32_t i = 0; i < self->token.size; i++)
        in &= (unsigned char)self->token.data[i] > ' ' && (unsigned char)self->token.data[i] < 0x7f;
    if (!in)
        complain(self, "login: ", "the token is not valid text");
    if (in)
        go_on(self, PAST);
    else
        end(self);
}

static void on_reply(void *arg, const helio_fetch_result_t *result)
{
    helio_round_t *self = arg;
    helio_points_t points = {0};
    helio_error_t err = {0};
    bool ahead = self->step == AHEAD;
    const char *where = ahead ? "forecast: " : "";
    if (self->step == LOGIN) {
        on_login(self, result);
        return;
    }
    if (!result->ok)
        complain(self, where, result->complaint);
    else if (helio_points_json(self->parts.feed, result->body, ahead, self->arena, &points, &err) != HELIO_OK)
        complain(self, where, err.text);
    else if (points.count == 0)
        complain(self, where, "the answer contains no value");
    add(self, &points);
    go_on(self, ahead ? AHEAD + 1 : AHEAD);
}

/* ---- programs and files -------------------------------------------------------------------------------- */

static void on_program(void *arg, const helio_command_result_t *result)
{
    helio_round_t *self = arg;
    const helio_feed_t *feed = self->parts.feed;
    helio_points_t points = {0};
    helio_error_t err = {0};
    char text[600];
    if (!result->spawned || result->timed_out || result->truncated || result->exit_code != 0) {
        uint32_t size = result->complaint.size < 300 ? result->complaint.size : 300;
        (void)snprintf(text, sizeof text, "%s (exit %d)%s%.*s",
                       !result->spawned    ? "cannot be run"
                       : result->truncated ? "printed too much"
                       : result->timed_out ? "took too long"
                                           : "failed",
                       result->exit_code, size ? ": " : "", (int)size, size ? result->complaint.data : "");
        complain(self, "", text);
    } else if ((feed->source == HELIO_SOURCE_EXEC && feed->json
                    ? helio_points_json(feed, result->out, false, self->arena, &points, &err)
                    : helio_points_csv(feed, result->out, self->arena, &points, &err)) != HELIO_OK) {
        complain(self, "", err.text);
    } else if (points.count == 0) {
        complain(self, "", "no value for this region");
    }
    self->points = points;
    end(self);
}

/*  `cat` reads the file: if a file system hangs, a child hangs, and the agent goes on. */
static void begin_program(helio_round_t *self)
{
    const helio_feed_t *feed = self->parts.feed;
    bool csv = feed->source == HELIO_SOURCE_CSV;
    const char **argv = helio_arena_alloc(self->arena, (size_t)feed->command.count + 4, sizeof *argv);
    if (csv) {
        argv[0] = "/bin/cat";
        argv[1] = "--";
        argv[2] = feed->path.data;
    }
    for (uint32_t i = 0; !csv && i < feed->command.count; i++)
        argv[i] = helio_arena_string(self->arena, feed->command.items[i].text);
    helio_command_t command = {.argv = argv,
                               .timeout_ms = feed->timeout_ms,
                               .max_bytes = HELIO_ANSWER_BYTES_MAX,
                               .done = on_program,
                               .arg = self};
    helio_error_t err = {0};
    self->step = PROGRAM;
    if (helio_commands_run(self->parts.commands, &command, false, &err) != HELIO_OK) {
        complain(self, "", err.text);
        end(self);
    }
}

void helio_round_begin(helio_round_t *self, int64_t wall_ms)
{
    self->wall_ms = wall_ms;
    self->complaint[0] = '\0';
    if (self->parts.feed->source == HELIO_SOURCE_HTTP_JSON)
        go_on(self, LOGIN);
    else
        begin_program(self);
}
