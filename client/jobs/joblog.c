/*  joblog.c -- streams the logs of a job's attempts, one after another. */
#include "client/jobs/joblog.h"

#include <stdlib.h>

#include "client/transport/response.h"
#include "federation/base/clock.h"

enum {
    TRIES_AFTER_END = 8, /* to get the rest of a log when the attempt is over */
    /* In units of the client's patience (250 ms): how long an open stream can be silent after the attempt is over. If
     * a site is gone, the rest of its attempt's log may never come, and must not delay the log of the next attempt. */
    SILENCE_AFTER_MOVE = 20,
    SILENCE_AFTER_END = 240
};

struct helio_joblog {
    const helio_client_t *client;
    const char *id;
    bool from_first;
    uint32_t epoch;  /* being printed */
    uint32_t headed; /* the last one whose output began */
    uint32_t next_epoch;
    bool started, over;
    bool done, cut;
    uint64_t tail; /* lines to begin with; 0 = it has begun */
    uint64_t offset;
    uint64_t bytes;
    helio_safe_stream_t printed;
    helio_stream_t *stream;
    uint64_t stream_offset; /* its offset at the start: tells whether it brought anything */
    uint32_t failures;
    int64_t open_at_ms;
    int64_t heard_ms; /* time of the last byte, of its opening, or of the attempt's end */
};

helio_joblog_t *helio_joblog_new(const helio_client_t *client, const char *id, bool from_first)
{
    helio_joblog_t *self = helio_new(1, sizeof *self);
    self->client = client;
    self->id = id;
    self->from_first = from_first;
    return self;
}

void helio_joblog_tail(helio_joblog_t *self, uint64_t lines)
{
    self->tail = lines;
}

void helio_joblog_destroy(helio_joblog_t **self_p)
{
    helio_joblog_t *self = *self_p;
    if (!self)
        return;
    helio_stream_destroy(&self->stream);
    free(self);
    *self_p = NULL;
}

void helio_joblog_update(helio_joblog_t *self, uint32_t epoch, bool started, bool over)
{
    if (self->next_epoch != epoch || self->over != over)
        self->heard_ms = helio_clock_boot_ms();
    self->next_epoch = epoch;
    self->started |= started && epoch > 0;
    self->over = over;
    self->done |= over && !(self->started && epoch > 0);
}

static void on_data(void *arg, const char *bytes, size_t size)
{
    helio_joblog_t *self = arg;
    if (self->headed != self->epoch && self->epoch > 1)
        helio_client_say(self->client, "-- attempt %u --", self->epoch);
    self->headed = self->epoch;
    if (self->tail)
        self->offset = helio_stream_log_offset(self->stream);
    self->tail = 0;
    helio_client_print_foreign(self->client, &self->printed, bytes, size);
    (void)fflush(self->client->io->out);
    self->offset += size;
    self->bytes += size;
    self->heard_ms = helio_clock_boot_ms();
}

static void open_stream(helio_joblog_t *self)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t after = {0};
    helio_buffer_printf(&after, "/logs?follow=1&epoch=%u&%s=%llu", self->epoch, self->tail ? "tail" : "offset",
                        (unsigned long long)(self->tail ? self->tail : self->offset));
    self->stream =
        helio_stream_new(self->client->remote,
                         &(helio_stream_options_t){.path = helio_path(self->client, "/v1/jobs/", self->id, after.data),
                                                   .accept = "text/plain",
                                                   .on_data = on_data,
                                                   .arg = self});
    self->stream_offset = self->offset;
    self->heard_ms = helio_clock_boot_ms();
}

/*  The attempt's log is complete, or will not come. An attempt that began and ended between two turns is printed,
 *  too. */
static void close_epoch(helio_joblog_t *self)
{
    if (self->next_epoch > self->epoch) {
        self->epoch++;
        self->offset = self->tail = 0;
        self->failures = 0;
        self->open_at_ms = 0;
    } else if (self->over) {
        self->done = true;
    }
}

static bool attempt_is_over(const helio_joblog_t *self)
{
    return self->over || self->next_epoch != self->epoch;
}

static void give_up(helio_joblog_t *self)
{
    self->cut = true;
    helio_client_say(self->client, "could not read the end of the output; `helio logs --epoch %u %s` tries again",
                     self->epoch, self->id);
    close_epoch(self);
}

static void stream_ended(helio_joblog_t *self)
{
    long status = helio_stream_status(self->stream);
    bool whole = helio_stream_is_whole(self->stream);
    bool missing = status == 404 || status == 409 || status == 410;
    bool moved = self->offset > self->stream_offset;
    helio_stream_destroy(&self->stream);
    self->failures = moved ? 0 : self->failures + 1;
    self->open_at_ms = helio_clock_boot_ms() + helio_remote_backoff_ms(self->client->remote, self->failures);
    if (attempt_is_over(self) && (whole || missing))
        close_epoch(self);
    else if (attempt_is_over(self) && self->failures >= TRIES_AFTER_END)
        give_up(self);
}

static bool is_silent(const helio_joblog_t *self)
{
    int64_t units = self->next_epoch != self->epoch ? SILENCE_AFTER_MOVE : SILENCE_AFTER_END;
    return attempt_is_over(self) && helio_clock_boot_ms() > self->heard_ms + units * self->client->io->patience_ms;
}

void helio_joblog_turn(helio_joblog_t *self)
{
    if (self->done || !self->started)
        return;
    if (self->epoch == 0)
        self->epoch = self->from_first ? 1 : self->next_epoch;
    if (self->stream && helio_stream_is_over(self->stream))
        stream_ended(self);
    if (self->stream && is_silent(self)) {
        helio_stream_destroy(&self->stream);
        give_up(self);
    }
    if (!self->stream && !self->done && helio_clock_boot_ms() >= self->open_at_ms)
        open_stream(self);
}

bool helio_joblog_is_done(const helio_joblog_t *self)
{
    return self->done;
}

bool helio_joblog_is_cut(const helio_joblog_t *self)
{
    return self->cut;
}

uint64_t helio_joblog_bytes(const helio_joblog_t *self)
{
    return self->bytes;
}
