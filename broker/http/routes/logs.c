/*  logs.c -- GET /v1/jobs/{id}/logs: what an attempt printed, from the site that has it. With follow=1 until the job is
 *  over, across attempts and sites. A broker that follows asks the leader piece by piece, with this same request, and
 *  does the rest itself. The site is polled, with growing pauses while nothing is new, because logs are not
 *  sent as messages. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "broker/http/request/waiting_requests.h"
#include "broker/http/routes/job_command.h"
#include "broker/http/routes/log_tail.h"
#include "broker/http/routes/routes.h"
#include "federation/base/clock.h"
#include "federation/spec/value.h"

enum {
    PIECE_BYTES = 64 << 10,
    PAUSE_LEAST_MS = 200,
    PAUSE_MOST_MS = 2000,
    LOOK_MS = 5000 /* how often to check where the job is while its site has nothing new */
};

/*  The position of a reader in a job's logs. */
typedef struct log_stream {
    char job[HELIO_JOB_WORD_MAX + 1];
    char site[HELIO_SITE_NAME_MAX + 1]; /* "" = not placed yet */
    helio_job_key_t key;
    uint32_t epoch;
    uint64_t offset;
    uint32_t tail; /* it begins with the last lines; 0 when it has begun */
    bool fixed_epoch;
    bool follow;
    bool over;         /* the job's state is terminal */
    int64_t silent_ms; /* since when the site has not been heard of; 0 = it has */
    uint32_t pause_ms; /* back-off */
    int64_t look_ms;   /* when to check again where the job is */
} log_stream_t;

static log_stream_t *stream_of(helio_request_context_t *self)
{
    return helio_request_context_state(self, sizeof(log_stream_t));
}

static void want(helio_request_context_t *self);
static void on_piece(helio_request_context_t *self, const helio_result_t *result);
static void on_where(helio_request_context_t *self, const helio_result_t *result);

static void pause_more(log_stream_t *stream)
{
    stream->pause_ms = stream->pause_ms ? stream->pause_ms * 2 : PAUSE_LEAST_MS;
    if (stream->pause_ms > PAUSE_MOST_MS)
        stream->pause_ms = PAUSE_MOST_MS;
}

static void look(helio_request_context_t *self)
{
    log_stream_t *stream = stream_of(self);
    char epoch[12];
    (void)snprintf(epoch, sizeof epoch, "%u", stream->epoch);
    stream->look_ms = helio_clock_boot_ms() + LOOK_MS;
    helio_await_read(self, on_where, stream->fixed_epoch ? "read_attempt_where" : "read_job_where",
                     stream->fixed_epoch ? 3 : 2,
                     (const char *[]){stream->job, helio_request_context_tenant(self), epoch});
}

static void read_piece(helio_request_context_t *self)
{
    const log_stream_t *stream = stream_of(self);
    uint64_t offset = stream->tail ? HELIO_LOG_TAIL_BYTES : stream->offset;
    uint32_t most = stream->tail ? HELIO_LOG_TAIL_BYTES : PIECE_BYTES;
    helio_await_log(self, on_piece,
                    (helio_log_place_t){stream->site, stream->key, stream->epoch, offset, most, stream->tail});
}

static void idle(helio_request_context_t *self)
{
    log_stream_t *stream = stream_of(self);
    pause_more(stream);
    helio_await_idle(self, helio_clock_boot_ms() + stream->pause_ms, true);
}

/*  Sends the headers: from here on a failure can only end the stream. */
static void begin_stream(helio_request_context_t *self)
{
    log_stream_t *stream = stream_of(self);
    char text[24];
    if (self->want)
        return;
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)stream->offset);
    helio_request_context_header(self, "X-Helio-Log-Offset", text);
    (void)snprintf(text, sizeof text, "%u", stream->epoch);
    helio_request_context_header(self, "X-Helio-Log-Epoch", text);
    helio_response_stream(self, "text/plain; charset=utf-8", want);
}

static void want(helio_request_context_t *self)
{
    log_stream_t *stream = stream_of(self);
    int64_t now_ms = helio_clock_boot_ms();
    if (!helio_token_in_force(self->token, helio_clock_wall_ms()))
        self->ended = true;
    else if (self->wake_ms > now_ms) /* after a notification, or when the client has read everything: not yet */
        helio_await_idle(self, self->wake_ms, true);
    else if (!stream->site[0] || now_ms >= stream->look_ms)
        look(self);
    else
        read_piece(self);
}

/*  The site has nothing to read, now or for good. */
static void on_no_piece(helio_request_context_t *self, const helio_result_t *result)
{
    log_stream_t *stream = stream_of(self);
    bool once = !stream->follow || result->rc == HELIO_VERSION;
    if (!self->want && once && (result->rc != HELIO_NOT_FOUND || stream->over)) {
        if (result->rc == HELIO_NOT_FOUND)
            HELIO_PROBLEM(self, 404, LOG_MISSING, helio_value_string(stream->site), helio_value_string(stream->job),
                          helio_value_number(stream->epoch));
        else if (result->rc == HELIO_VERSION)
            HELIO_PROBLEM(self, 409, LOG_TAIL_UNKNOWN, helio_value_string(stream->site));
        else if (result->details.items.count)
            helio_response_failure(self, result, NULL); /* the broker says why */
        else if (stream->silent_ms)
            HELIO_PROBLEM(self, 503, LOG_AT_SILENT_SITE, helio_value_string(stream->site),
                          helio_value_number(stream->silent_ms));
        else if (result->rc == HELIO_UNAVAILABLE)
            HELIO_PROBLEM(self, 503, LOG_SITE_AWAY, helio_value_string(stream->site));
        else
            helio_response_failure(self, result, NULL);
        return;
    }
    begin_stream(self);
    if (!stream->follow || stream->over)
        self->ended = true;
    else
        idle(self);
}

static void on_piece(helio_request_context_t *self, const helio_result_t *result)
{
    log_stream_t *stream = stream_of(self);
    if (result->rc != HELIO_OK) {
        on_no_piece(self, result);
        return;
    }
    helio_text_t data = helio_buffer_view(&result->data);
    uint32_t skipped = stream->tail ? helio_log_tail(data, result->offset == 0, stream->tail) : 0;
    stream->tail = 0;
    stream->offset = result->offset + skipped;
    if (self->from_broker && !self->want) /* one piece; that broker asks for the next */
        helio_request_context_header(
            self, HELIO_LOG_PIECE_HEADER,
            helio_arena_printf(self->arena, "%llu %d", (unsigned long long)stream->offset, result->end).data);
    begin_stream(self);
    helio_buffer_append(&self->response, data.data + skipped, data.size - skipped);
    stream->offset = result->offset + data.size;
    bool last = result->end || (!result->data.size && (!stream->follow || stream->over));
    if (self->from_broker || (last && (!stream->follow || stream->fixed_epoch || stream->over))) {
        self->ended = true;
    } else if (result->end) {
        stream->look_ms = 0; /* the attempt is over: the job is over, too, or is elsewhere */
        idle(self);
    } else if (result->data.size) {
        stream->pause_ms = 0;
        helio_await_idle(self, 0, false);
    } else {
        idle(self);
    }
}

static bool refuse(helio_request_context_t *self, uint32_t status, helio_detail_t detail)
{
    if (self->want) /* too late for a status */
        self->ended = true;
    else
        helio_response_problem(self, status, NULL, detail);
    return false;
}

/*  Reads {id, array, site, epoch, state, newest (of one attempt)}. False: it is unusable, and a problem was answered or
 *  the stream ended. */
static bool learn(helio_request_context_t *self, const json_t *where)
{
    log_stream_t *stream = stream_of(self);
    const char *id = json_string_value(json_object_get(where, "id"));
    const char *site = json_string_value(json_object_get(where, "site"));
    const char *state = json_string_value(json_object_get(where, "state"));
    uint32_t epoch = (uint32_t)json_integer_value(json_object_get(where, "epoch")), known;
    if (!id || !state || helio_job_key_parse(helio_text_of(id), &stream->key) != HELIO_OK ||
        helio_job_state_of(helio_text_of(state), &known) != HELIO_OK) {
        return refuse(self, 500, HELIO_DETAIL0(HELIO_DETAIL_DATABASE_REPLY));
    }
    if (json_is_true(json_object_get(where, "array")) && stream->key.task == HELIO_NO_TASK) {
        int64_t first = json_integer_value(json_object_get(where, "first"));
        return refuse(self, 409, HELIO_DETAIL(self->arena, HELIO_DETAIL_LOG_OF_ARRAY, helio_value_number(first)));
    }
    (void)helio_text_copy(helio_text_of(id), stream->job, sizeof stream->job);
    (void)helio_text_copy(helio_text_of(site), stream->site, sizeof stream->site);
    stream->silent_ms = (int64_t)(json_number_value(json_object_get(where, "silent_s")) * 1000);
    bool past = (uint32_t)json_integer_value(json_object_get(where, "newest")) > stream->epoch;
    stream->over = helio_job_state_is_terminal(known) || (stream->fixed_epoch && past);
    if (!stream->fixed_epoch && epoch != stream->epoch) {
        if (self->want) { /* the log of a new attempt starts at 0 */
            stream->offset = 0;
            stream->tail = 0;
        }
        stream->epoch = epoch;
        stream->pause_ms = 0;
    }
    return true;
}

static void on_where(helio_request_context_t *self, const helio_result_t *result)
{
    log_stream_t *stream = stream_of(self);
    if (result->rc != HELIO_OK) {
        if (self->want)
            idle(self);
        else
            helio_response_failure(self, result, "job");
        return;
    }
    helio_text_t json = helio_buffer_view(&result->data);
    if (!self->want && helio_response_ambiguous(self, json))
        return;
    json_t *where = json_loadb(json.data, json.size, 0, NULL);
    uint32_t epoch = stream->epoch;
    bool first = !self->want, learned = learn(self, where);
    json_decref(where);
    if (!learned)
        return;
    if (!stream->site[0] && first && !stream->follow) {
        if (stream->fixed_epoch)
            HELIO_PROBLEM(self, 404, LOG_NO_ATTEMPT, helio_value_string(stream->job),
                          helio_value_number(stream->epoch));
        else
            HELIO_PROBLEM(self, 404, LOG_NEVER_PLACED, helio_value_string(stream->job));
    } else if (!stream->site[0]) { /* never placed, so nothing was printed */
        begin_stream(self);
        if (!stream->follow || stream->over)
            self->ended = true;
        else
            idle(self);
    } else if (first || epoch != stream->epoch || stream->over) {
        read_piece(self);
    } else {
        idle(self);
    }
}

void helio_jobs_logs(helio_request_context_t *self)
{
    log_stream_t *stream = stream_of(self);
    const helio_query_bounds_t offsets = {0, INT64_MAX, 0}, epochs = {0, INT32_MAX, 0},
                               tails = {0, HELIO_LOG_TAIL_LINES, 0};
    uint64_t epoch, tail;
    stream->fixed_epoch = helio_request_context_query(self, "epoch") != NULL;
    if (!helio_job_id_check(self) || !helio_request_context_flag(self, "follow", &stream->follow) ||
        !helio_request_context_number(self, "offset", offsets, &stream->offset) ||
        !helio_request_context_number(self, "tail", tails, &tail) ||
        !helio_request_context_number(self, "epoch", epochs, &epoch) || !helio_request_context_take_place(self))
        return;
    stream->epoch = (uint32_t)epoch;
    stream->tail = (uint32_t)tail;
    (void)helio_text_copy(helio_text_of(self->parameter), stream->job, sizeof stream->job);
    look(self);
}
