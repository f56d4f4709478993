/*  channel.c -- the requests of a channel: at most one of each kind is under way. */
#include "client/jobs/channel.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "client/transport/response.h"
#include "client/transport/retry.h"
#include "federation/base/clock.h"

enum {
    POLL_WAIT_S = 20,
    POLL_DEAD_S = 40,       /* a long poll without a byte for so long is dead */
    WRITE_BYTES = 64 << 10, /* of one request */
    GIVE_UP_MS = 60000,     /* a broker that says nothing for so long has forgotten the channel */
    CLOSE_MS = 3000,
    FRAME_HEAD = 5,
    ID_SIZE = 33
};

/*  One request under way: its answer comes into `body`. */
typedef struct exchange {
    helio_stream_t *stream; /* NULL = none is under way */
    helio_buffer_t body;
    helio_buffer_t sent; /* its own body */
} exchange_t;

struct helio_channel {
    const helio_client_t *client;
    char *job;
    helio_channel_fn *on_output;
    void *arg;
    char id[ID_SIZE];
    exchange_t reader, writer, sizer;
    uint64_t received;    /* bytes of output */
    uint64_t written;     /* bytes of input that the broker has */
    helio_buffer_t input; /* after those */
    bool end_wanted, end_sent;
    uint32_t rows, columns;
    bool size_due;
    bool paused, opened, over;
    int exit_code; /* of the command; -1 = it has none */
    char why[520]; /* "" = it ended by itself */
    uint32_t failures;
    int64_t retry_ms;    /* no request before */
    int64_t answered_ms; /* the last time that the broker answered */
};

static void on_data(void *arg, const char *bytes, size_t size)
{
    exchange_t *self = arg;
    helio_buffer_append(&self->body, bytes, size);
}

static void begin(helio_channel_t *self, exchange_t *exchange, const char *method, const char *type, const char *path)
{
    helio_buffer_reset(&exchange->body);
    exchange->stream =
        helio_stream_new(self->client->remote, &(helio_stream_options_t){.path = path,
                                                                         .method = method,
                                                                         .content_type = type,
                                                                         .body = helio_buffer_view(&exchange->sent),
                                                                         .idle_timeout_s = POLL_DEAD_S,
                                                                         .on_data = on_data,
                                                                         .arg = exchange});
}

static void finish(exchange_t *self)
{
    helio_stream_destroy(&self->stream);
    helio_buffer_reset(&self->sent);
}

int helio_channel_open(const helio_client_t *client, const char *job, json_t *ask, helio_channel_fn *on_output,
                       void *arg, helio_channel_t **ret_channel)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    *ret_channel = NULL;
    int code = helio_ask_post(client, helio_path(client, "/v1/jobs/", job, "/channels"), ask, &reply);
    if (code != HELIO_EXIT_OK)
        return code;
    const char *id = helio_output_string(reply, "channel");
    if (strlen(id) != ID_SIZE - 1)
        return helio_client_fail(
            client, HELIO_EXIT_OWN,
            "the broker's answer names no channel; do the versions of helio and the broker differ?");
    helio_channel_t *self = helio_new(1, sizeof *self);
    self->client = client;
    self->job = helio_strdup(job);
    self->on_output = on_output;
    self->arg = arg;
    self->exit_code = -1;
    self->answered_ms = helio_clock_boot_ms();
    (void)snprintf(self->id, sizeof self->id, "%s", id);
    *ret_channel = self;
    return HELIO_EXIT_OK;
}

static void clear(exchange_t *self)
{
    helio_stream_destroy(&self->stream);
    helio_buffer_clear(&self->body);
    helio_buffer_clear(&self->sent);
}

/*  The broker would notice a client that vanished, but only after a minute. */
static void close_channel(helio_channel_t *self)
{
    HELIO_AUTO(helio_response_clear) helio_response_t response = {0};
    helio_error_t err;
    helio_request_t request = {.method = "DELETE",
                               .path = helio_path(self->client, "/v1/channels/", self->id, ""),
                               .once = true,
                               .within_ms = CLOSE_MS};
    helio_rc rc = helio_remote_call(self->client->remote, &request, &response, &err);
    (void)rc;
}

void helio_channel_destroy(helio_channel_t **self_p)
{
    helio_channel_t *self = *self_p;
    if (!self)
        return;
    if (!self->over)
        close_channel(self);
    clear(&self->reader);
    clear(&self->writer);
    clear(&self->sizer);
    helio_buffer_clear(&self->input);
    free(self->job);
    free(self);
    *self_p = NULL;
}

/* ---- answers ----------------------------------------------------------------------------------------------- */

static void end_with(helio_channel_t *self, const char *why)
{
    self->over = true;
    self->opened = false;
    (void)snprintf(self->why, sizeof self->why, "%s", why);
}

/*  True: it is whole. Otherwise it is asked again later, or the channel is over. */
static bool is_answered(helio_channel_t *self, exchange_t *exchange)
{
    long status = helio_stream_status(exchange->stream);
    if (helio_stream_is_whole(exchange->stream)) {
        self->failures = 0;
        self->answered_ms = helio_clock_boot_ms();
        return true;
    }
    bool again = !status || (status >= 200 && status < 300) || helio_status_is_transient(status);
    if (!again && status == 404)
        end_with(self, "the broker does not know the channel any more: another broker leads, or it was closed");
    else if (!again)
        end_with(self, "the broker refused a request of the channel");
    else if (helio_clock_boot_ms() - self->answered_ms > GIVE_UP_MS)
        end_with(self, "the broker has not answered for a minute");
    self->retry_ms = helio_clock_boot_ms() + helio_remote_backoff_ms(self->client->remote, self->failures++);
    return false;
}

static void take_state(helio_channel_t *self, helio_text_t text)
{
    json_t *state = json_loadb(text.data, text.size, 0, NULL);
    const json_t *code = json_object_get(state, "exit_code");
    self->opened |= json_is_true(json_object_get(state, "opened"));
    if (json_is_true(json_object_get(state, "ended"))) {
        end_with(self, helio_output_string(state, "why"));
        if (json_is_integer(code))
            self->exit_code = (int)json_integer_value(code);
        else if (!self->why[0])
            (void)snprintf(self->why, sizeof self->why, "it failed at the site (%.32s)",
                           helio_output_string(state, "outcome"));
    }
    json_decref(state);
}

/*  Frames: [stream, 1 byte][size, 4 bytes, big-endian][bytes]. */
static void take_frames(helio_channel_t *self)
{
    const uint8_t *at = (const uint8_t *)self->reader.body.data;
    size_t left = self->reader.body.size;
    while (left >= FRAME_HEAD) {
        uint32_t size = (uint32_t)at[1] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 8 | at[4];
        if (size > left - FRAME_HEAD)
            break;
        const char *bytes = (const char *)at + FRAME_HEAD;
        if (at[0] == 0) {
            take_state(self, (helio_text_t){bytes, size});
        } else {
            self->on_output(self->arg, at[0], bytes, size);
            self->received += size;
        }
        at += FRAME_HEAD + size;
        left -= FRAME_HEAD + size;
    }
    if (left)
        end_with(self, "the broker's answer is not the output of a channel");
}

static void harvest_writer(helio_channel_t *self)
{
    if (!is_answered(self, &self->writer))
        return;
    json_t *reply = json_loadb(self->writer.body.data ? self->writer.body.data : "", self->writer.body.size, 0, NULL);
    uint64_t offset = (uint64_t)json_integer_value(json_object_get(reply, "offset"));
    bool is_over = json_is_true(json_object_get(reply, "ended"));
    json_decref(reply);
    if (is_over) { /* the reader learns why */
        helio_buffer_reset(&self->input);
        self->end_wanted = false;
        return;
    }
    if (offset < self->written || offset - self->written > self->input.size) {
        end_with(self, "the broker has lost count of the input");
        return;
    }
    size_t taken = (size_t)(offset - self->written);
    if (taken)
        memmove(self->input.data, self->input.data + taken, self->input.size - taken);
    self->input.size -= taken;
    self->written = offset;
    if (self->end_sent && !self->input.size)
        self->end_wanted = false;
}

/* ---- turns --------------------------------------------------------------------------------------------------- */

static void read_on(helio_channel_t *self)
{
    char after[64];
    (void)snprintf(after, sizeof after, "/output?offset=%" PRIu64 "&wait=%d", self->received, POLL_WAIT_S);
    begin(self, &self->reader, "GET", NULL, helio_path(self->client, "/v1/channels/", self->id, after));
}

static void write_on(helio_channel_t *self)
{
    char after[64];
    size_t size = self->input.size < WRITE_BYTES ? self->input.size : WRITE_BYTES;
    bool end = self->end_wanted && size == self->input.size;
    (void)snprintf(after, sizeof after, "/input?offset=%" PRIu64 "%s", self->written, end ? "&end=1" : "");
    helio_buffer_reset(&self->writer.sent);
    helio_buffer_append(&self->writer.sent, self->input.data, size);
    self->end_sent = end;
    begin(self, &self->writer, "POST", "application/octet-stream",
          helio_path(self->client, "/v1/channels/", self->id, after));
}

static void send_size(helio_channel_t *self)
{
    self->size_due = false;
    helio_buffer_reset(&self->sizer.sent);
    helio_buffer_printf(&self->sizer.sent, "{\"rows\":%u,\"columns\":%u}", self->rows, self->columns);
    begin(self, &self->sizer, "PUT", "application/json", helio_path(self->client, "/v1/channels/", self->id, "/size"));
}

static bool is_done(const exchange_t *self)
{
    return self->stream && helio_stream_is_over(self->stream);
}

static void harvest(helio_channel_t *self)
{
    if (is_done(&self->writer)) {
        harvest_writer(self);
        finish(&self->writer);
    }
    if (is_done(&self->sizer))
        finish(&self->sizer); /* one that is lost is no harm */
    if (is_done(&self->reader)) {
        if (is_answered(self, &self->reader))
            take_frames(self);
        finish(&self->reader);
    }
}

void helio_channel_turn(helio_channel_t *self)
{
    harvest(self);
    if (self->over || helio_clock_boot_ms() < self->retry_ms)
        return;
    if (!self->reader.stream && !self->paused)
        read_on(self);
    if (!self->writer.stream && (self->input.size || self->end_wanted))
        write_on(self);
    if (!self->sizer.stream && self->size_due)
        send_size(self);
}

uint32_t helio_channel_wait_ms(const helio_channel_t *self)
{
    int64_t left_ms = self->retry_ms - helio_clock_boot_ms();
    return left_ms > 0 ? (uint32_t)left_ms : 1000;
}

void helio_channel_pause(helio_channel_t *self, bool paused)
{
    self->paused = paused;
}

size_t helio_channel_room(const helio_channel_t *self)
{
    return self->over || self->input.size >= HELIO_CHANNEL_INPUT_MAX ? 0 : HELIO_CHANNEL_INPUT_MAX - self->input.size;
}

void helio_channel_write(helio_channel_t *self, const char *bytes, size_t size)
{
    helio_buffer_append(&self->input, bytes, size);
}

void helio_channel_write_end(helio_channel_t *self)
{
    self->end_wanted = true;
}

void helio_channel_resize(helio_channel_t *self, uint32_t rows, uint32_t columns)
{
    self->rows = rows;
    self->columns = columns;
    self->size_due = rows && columns;
}

bool helio_channel_is_open(const helio_channel_t *self)
{
    return self->opened;
}

bool helio_channel_is_over(const helio_channel_t *self)
{
    return self->over;
}

int helio_channel_exit(const helio_channel_t *self)
{
    if (self->why[0])
        (void)helio_client_fail(self->client, HELIO_EXIT_OWN, "the channel to %.64s ended: %.500s", self->job,
                                self->why);
    return self->exit_code >= 0 ? self->exit_code : HELIO_EXIT_OWN;
}
