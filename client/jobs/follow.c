/*  follow.c -- requests the states of jobs whenever the event stream, or the clock, says that they may have changed. */
#include "client/jobs/follow.h"

#include <stdlib.h>
#include <string.h>

#include "client/invocation/settings.h"
#include "client/transport/response.h"
#include "client/transport/retry.h"
#include "client/transport/events.h"
#include "federation/base/clock.h"
#include "federation/model/attempt.h"

/*  In units of the client's patience (250 ms). */
enum {
    STREAM_IDLE_S = 45,     /* the broker's heartbeat comes every 15 s */
    HEAD_START = 8,         /* the stream's time to open before the first request, so that no change is missed */
    POLL_WITH_STREAM = 240, /* a minute */
    POLL_WITHOUT = 8,
    ARRAY_PAUSE = 4 /* a large array sends thousands of events */
};

struct helio_follow {
    const helio_client_t *client;
    helio_follow_fn *on_change;
    void *arg;
    helio_followed_t *jobs;
    uint32_t count;
    helio_events_t *events;
    helio_stream_t *stream;
    bool stream_was_open;
    uint32_t stream_failures;
    int64_t stream_at_ms; /* time at which it was opened, or is to be opened */
    uint32_t failures;    /* unanswered requests in a row */
    int64_t ask_at_ms;
    int64_t poll_at_ms;
    bool reached;
    int64_t give_up_ms; /* until the broker is reached */
    bool lost;          /* the user was told */
};

static bool event_concerns(const helio_followed_t *job, const char *id)
{
    size_t size = strlen(job->id);
    return !id[0] || !size || (strncmp(id, job->id, size) == 0 && (id[size] == '\0' || id[size] == '.'));
}

static void on_event(void *arg, const helio_event_t *event)
{
    helio_follow_t *self = arg;
    json_t *json = json_loads(event->data, 0, NULL);
    const char *id = helio_output_string(json, "id|job_id|job");
    for (uint32_t i = 0; i < self->count; i++)
        if (event_concerns(&self->jobs[i], id))
            self->jobs[i].dirty = true;
    json_decref(json);
}

static void on_data(void *arg, const char *bytes, size_t size)
{
    helio_follow_t *self = arg;
    helio_events_feed(self->events, bytes, size);
}

static int64_t units_ms(const helio_follow_t *self, uint32_t units)
{
    return (int64_t)self->client->io->patience_ms * units;
}

helio_follow_t *helio_follow_new(const helio_client_t *client, bool reached, helio_follow_fn *on_change, void *arg)
{
    helio_follow_t *self = helio_new(1, sizeof *self);
    self->client = client;
    self->reached = reached;
    self->on_change = on_change;
    self->arg = arg;
    self->events = helio_events_new(on_event, self);
    self->give_up_ms = helio_clock_boot_ms() + units_ms(self, HELIO_REMOTE_PATIENCE);
    return self;
}

void helio_follow_destroy(helio_follow_t **self_p)
{
    helio_follow_t *self = *self_p;
    if (!self)
        return;
    helio_stream_destroy(&self->stream);
    helio_events_destroy(&self->events);
    for (uint32_t i = 0; i < self->count; i++)
        json_decref(self->jobs[i].reply);
    free(self->jobs);
    free(self);
    *self_p = NULL;
}

void helio_follow_add(helio_follow_t *self, const char *id)
{
    self->jobs = helio_grow(self->jobs, (size_t)self->count + 1, sizeof *self->jobs);
    self->jobs[self->count++] = (helio_followed_t){.asked = id, .dirty = true};
}

static void all_dirty(helio_follow_t *self)
{
    for (uint32_t i = 0; i < self->count; i++)
        self->jobs[i].dirty = true;
}

/*  ---- the event stream ---- */

static void tend_stream(helio_follow_t *self, int64_t now_ms)
{
    if (self->stream && helio_stream_is_open(self->stream) && !self->stream_was_open) {
        self->stream_was_open = true;
        self->stream_failures = 0;
        all_dirty(self); /* changes before the stream was open */
    }
    if (self->stream && helio_stream_is_over(self->stream)) {
        long status = helio_stream_status(self->stream);
        if (status >= 200 && status < 300) {
            all_dirty(self); /* also when it opened and broke since the last turn */
            self->stream_failures = 0;
        }
        helio_stream_destroy(&self->stream);
        self->stream_at_ms = now_ms + helio_remote_backoff_ms(self->client->remote, ++self->stream_failures);
        self->poll_at_ms = now_ms + units_ms(self, POLL_WITHOUT);
    }
    if (!self->stream && now_ms >= self->stream_at_ms) {
        helio_events_restart(self->events);
        self->stream = helio_stream_new(self->client->remote, &(helio_stream_options_t){.path = "/v1/events",
                                                                                        .accept = "text/event-stream",
                                                                                        .idle_timeout_s = STREAM_IDLE_S,
                                                                                        .on_data = on_data,
                                                                                        .arg = self});
        self->stream_was_open = false;
        self->stream_at_ms = now_ms;
    }
}

/*  ---- requests ---- */

static void copy_string(const json_t *reply, const char *key, char *ret_text, size_t size)
{
    (void)helio_text_copy(helio_text_of(helio_output_string(reply, key)), ret_text, size);
}

/*  Consumes the reply. False when it is not a job. */
static bool take_answer(helio_follow_t *self, helio_followed_t *job, json_t *reply)
{
    helio_followed_t before = *job;
    uint32_t state;
    copy_string(reply, "state", job->state, sizeof job->state);
    if (!json_is_object(reply) || helio_job_state_of(helio_text_of(job->state), &state) != HELIO_OK) {
        json_decref(reply);
        return false;
    }
    json_decref(job->reply);
    job->reply = reply;
    copy_string(reply, "id", job->id, sizeof job->id);
    copy_string(reply, "site", job->site, sizeof job->site);
    job->epoch = (uint32_t)json_integer_value(json_object_get(reply, "epoch"));
    job->is_array = json_object_get(reply, "tasks_total") != NULL;
    job->over = helio_job_state_is_terminal(state);
    const json_t *code = json_object_get(reply, "exit_code");
    job->exit_code = helio_exit_of_job(job->state, json_is_integer(code) ? (int)json_integer_value(code) : -1);
    job->dirty = false;
    if (strcmp(before.state, job->state) != 0 || strcmp(before.site, job->site) != 0 || before.epoch != job->epoch)
        self->on_change(self->arg, job);
    return true;
}

static int put_off(helio_follow_t *self, const char *why)
{
    const helio_client_t *client = self->client;
    if (!self->lost)
        helio_client_say(client, "%s; retrying %s (jobs are not affected)", why,
                         self->reached ? "until it answers" : "for up to a minute");
    self->lost = true;
    self->ask_at_ms = helio_clock_boot_ms() + helio_remote_backoff_ms(client->remote, self->failures++);
    return HELIO_EXIT_OK;
}

static int ask(helio_follow_t *self, helio_followed_t *job)
{
    const helio_client_t *client = self->client;
    HELIO_AUTO(helio_response_clear) helio_response_t response = {0};
    helio_error_t err;
    helio_request_t request = {.path = helio_path(client, "/v1/jobs/", job->id[0] ? job->id : job->asked, ""),
                               .once = true};
    helio_rc rc = helio_remote_call(client->remote, &request, &response, &err);
    bool waits = self->reached || helio_clock_boot_ms() < self->give_up_ms;
    if (rc == HELIO_BUSY)
        return HELIO_EXIT_OK; /* Ctrl-C: the caller decides what it means */
    if (rc != HELIO_OK)
        return self->reached || (waits && (rc == HELIO_UNAVAILABLE || rc == HELIO_TIMEOUT))
                   ? put_off(self, err.text)
                   : helio_response_print_rc(client, rc, &err);
    if (response.status == 429 || response.status >= 500) {
        char why[96];
        (void)snprintf(why, sizeof why, "the broker is not ready (%ld)", response.status);
        if (waits && (self->reached || helio_status_is_transient(response.status)))
            return put_off(self, why);
    }
    if (response.status < 200 || response.status > 299)
        return helio_response_print_error(client, response.status, helio_buffer_view(&response.body),
                                          response.retry_after_ms);
    if (self->lost)
        helio_client_say(client, "the broker at %s answers again", client->settings->broker);
    self->lost = false;
    self->reached = true;
    self->failures = 0;
    job->asked_ms = helio_clock_boot_ms();
    json_t *reply = json_loadb(response.body.data ? response.body.data : "", response.body.size, 0, NULL);
    if (!take_answer(self, job, reply))
        return helio_client_fail(client, HELIO_EXIT_OWN,
                                 "the broker's answer for %s is not a job; do the versions of helio and the broker "
                                 "differ?",
                                 job->asked);
    return HELIO_EXIT_OK;
}

static bool may_ask(const helio_follow_t *self, int64_t now_ms)
{
    if (now_ms < self->ask_at_ms)
        return false;
    bool settled = !self->stream || self->stream_was_open || helio_stream_is_over(self->stream);
    return settled || now_ms >= self->stream_at_ms + units_ms(self, HEAD_START);
}

static int ask_dirty(helio_follow_t *self)
{
    int interrupts = helio_client_interrupts(self->client->io);
    for (uint32_t i = 0; i < self->count; i++) {
        helio_followed_t *job = &self->jobs[i];
        int64_t now_ms = helio_clock_boot_ms();
        if (!job->dirty || job->over || (job->is_array && now_ms < job->asked_ms + units_ms(self, ARRAY_PAUSE)))
            continue;
        if (now_ms < self->ask_at_ms || helio_client_interrupts(self->client->io) != interrupts)
            return HELIO_EXIT_OK;
        int code = ask(self, job);
        if (code != HELIO_EXIT_OK)
            return code;
    }
    return HELIO_EXIT_OK;
}

/*  The time until something is due: the longest wait. */
static uint32_t idle_ms(const helio_follow_t *self, int64_t now_ms, uint32_t wait_ms)
{
    int64_t next_ms = self->poll_at_ms;
    bool dirty = false;
    for (uint32_t i = 0; i < self->count && !dirty; i++)
        dirty = self->jobs[i].dirty && !self->jobs[i].over;
    if (!self->stream && self->stream_at_ms < next_ms)
        next_ms = self->stream_at_ms;
    if (dirty) {
        int64_t ask_ms = now_ms + units_ms(self, 1);
        if (self->ask_at_ms > now_ms)
            ask_ms = self->ask_at_ms;
        next_ms = ask_ms < next_ms ? ask_ms : next_ms;
    }
    int64_t idle = next_ms > now_ms ? next_ms - now_ms : 1;
    return idle < wait_ms ? (uint32_t)idle : wait_ms;
}

int helio_follow_turn(helio_follow_t *self, uint32_t wait_ms)
{
    int64_t now_ms = helio_clock_boot_ms();
    tend_stream(self, now_ms);
    if (now_ms >= self->poll_at_ms) {
        all_dirty(self);
        self->poll_at_ms = now_ms + units_ms(self, self->stream_was_open ? POLL_WITH_STREAM : POLL_WITHOUT);
    }
    int code = may_ask(self, now_ms) ? ask_dirty(self) : HELIO_EXIT_OK;
    if (code == HELIO_EXIT_OK && !helio_follow_is_done(self))
        helio_remote_pump(self->client->remote, idle_ms(self, helio_clock_boot_ms(), wait_ms));
    return code;
}

uint32_t helio_follow_count(const helio_follow_t *self)
{
    return self->count;
}

const helio_followed_t *helio_follow_job(const helio_follow_t *self, uint32_t index)
{
    return &self->jobs[index];
}

bool helio_follow_is_done(const helio_follow_t *self)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (!self->jobs[i].over)
            return false;
    return true;
}

const helio_followed_t *helio_follow_held(const helio_follow_t *self)
{
    const helio_followed_t *held = NULL;
    for (uint32_t i = 0; i < self->count; i++) {
        const helio_followed_t *job = &self->jobs[i];
        if (!job->over && strcmp(job->state, "held") != 0)
            return NULL;
        if (!job->over && !held)
            held = job;
    }
    return held;
}

int helio_follow_exit(const helio_follow_t *self)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (self->jobs[i].exit_code != HELIO_EXIT_OK)
            return self->jobs[i].exit_code;
    return HELIO_EXIT_OK;
}
