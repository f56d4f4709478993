/*  intake.c -- the event stream, and a short queue of events whose jobs are asked for. */
#include "client/notify/intake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/notify/ask.h"
#include "client/transport/events.h"
#include "client/transport/retry.h"
#include "federation/base/clock.h"
#include "federation/spec/value.h"

enum {
    SILENCE_S = 45,     /* a heartbeat comes every 15 s */
    PENDING_MAX = 2000, /* events: then the stream is left */
    ASKED_AT_ONCE = 8,
    PAGE_MAX = 50,       /* of a thousand jobs each, after `resync` */
    OVERLAP_MS = 120000, /* clocks differ, and events become durable later than they happen */
};
/*  Beyond every event: the broker answers with the number of the last one. */
#define BEYOND_ALL "9223372036854775807"

typedef struct pending {
    struct pending *next;
    uint64_t last; /* the number up to which all is taken when this one is */
    int64_t seen_ms;
    bool resync;
    helio_happening_t happening;
    helio_ask_t ask;
    bool ready;
} pending_t;

struct helio_intake {
    helio_remote_t *remote;
    const helio_notify_settings_t *settings;
    helio_intake_hooks_t hooks;
    helio_log_t *log;
    helio_notify_cursor_t cursor;
    helio_events_t *events;
    helio_stream_t *stream;
    int64_t again_ms;
    uint32_t failures;
    bool reached, lost;
    pending_t *first, *last;
    uint32_t count;
    uint64_t newest; /* the number of the last event that was read */
    /* after `resync` */
    helio_ask_t page;
    uint32_t pages;
};

/* ---- events ------------------------------------------------------------------------------------------------- */

static pending_t *append(helio_intake_t *self, uint64_t last, int64_t seen_ms)
{
    pending_t *added = helio_new(1, sizeof *added);
    added->last = last;
    added->seen_ms = seen_ms;
    if (self->last)
        self->last->next = added;
    else
        self->first = added;
    self->last = added;
    self->count++;
    return added;
}

static void release(pending_t *pending)
{
    helio_happening_clear(&pending->happening);
    helio_ask_clear(&pending->ask);
    free(pending);
}

/*  An event that nobody wants counts as read with the last of those that wait, or at once if none waits. */
static void pass(helio_intake_t *self, uint64_t number, int64_t seen_ms)
{
    pending_t *last = self->last;
    if (last) {
        last->last = number;
        last->seen_ms = seen_ms > last->seen_ms ? seen_ms : last->seen_ms;
        return;
    }
    self->cursor.last = number;
    self->cursor.seen_ms = seen_ms > self->cursor.seen_ms ? seen_ms : self->cursor.seen_ms;
}

static bool somebody_may_want(const helio_intake_t *self, const helio_happening_t *happening)
{
    helio_notify_subject_t subject = helio_happening_subject(happening);
    for (uint32_t i = 0; i < self->settings->targets.count; i++)
        if (helio_notify_might_want(&self->settings->targets.items[i], happening->event, &subject))
            return true;
    return false;
}

static void take_transition(helio_intake_t *self, uint64_t number, const char *data)
{
    json_t *transition = json_loads(data, 0, NULL);
    helio_happening_t happening = {0};
    int64_t seen_ms = self->cursor.seen_ms;
    const char *time = json_string_value(json_object_get(transition, "time"));
    (void)(helio_rfc3339_parse(helio_text_of(time), &seen_ms) == HELIO_OK);
    self->hooks.seen(self->hooks.arg, transition);
    if (helio_happening_of_transition(transition, &happening) && somebody_may_want(self, &happening)) {
        append(self, number, seen_ms)->happening = happening;
    } else {
        helio_happening_clear(&happening);
        pass(self, number, seen_ms);
    }
    json_decref(transition);
}

static void on_event(void *arg, const helio_event_t *event)
{
    helio_intake_t *self = arg;
    uint64_t number;
    if (helio_u64_parse(helio_text_of(event->id), &number) != HELIO_OK || number > INT64_MAX)
        return;
    self->newest = number;
    if (strcmp(event->type, "transition") == 0) {
        take_transition(self, number, event->data);
    } else if (strcmp(event->type, "resync") == 0 && !self->cursor.known) {
        self->cursor = (helio_notify_cursor_t){.known = true, .last = number, .seen_ms = helio_clock_wall_ms()};
        helio_log(self->log, HELIO_INFO, "begins", "event=%llu", (unsigned long long)number);
    } else if (strcmp(event->type, "resync") == 0) {
        append(self, number, helio_clock_wall_ms())->resync = true;
    }
}

static void on_data(void *arg, const char *bytes, size_t size)
{
    helio_intake_t *self = arg;
    helio_events_feed(self->events, bytes, size);
}

/* ---- the stream --------------------------------------------------------------------------------------------- */

static void open_stream(helio_intake_t *self)
{
    char after[24];
    (void)snprintf(after, sizeof after, "%llu", (unsigned long long)self->newest);
    helio_events_restart(self->events);
    self->stream = helio_stream_new(self->remote,
                                    &(helio_stream_options_t){.path = "/v1/events",
                                                              .accept = "text/event-stream",
                                                              .last_event_id = self->cursor.known ? after : BEYOND_ALL,
                                                              .idle_timeout_s = SILENCE_S,
                                                              .on_data = on_data,
                                                              .arg = self});
}

static void log_loss(helio_intake_t *self, long status)
{
    char why[160];
    const char *error = helio_stream_error(self->stream);
    if (!self->lost)
        helio_log(self->log, HELIO_WARN, "broker_lost", "status=%ld error=%s", status,
                  helio_log_quote(helio_text_of(error), why, sizeof why));
    self->lost = true;
}

static helio_rc end_stream(helio_intake_t *self, int64_t now_ms, helio_error_t *err)
{
    long status = helio_stream_status(self->stream);
    if (status >= 300 && !helio_status_is_transient(status) && !self->reached)
        return helio_fail(err, HELIO_FORBIDDEN, "the broker refuses its events with status %ld", status);
    if (status >= 200 && status < 300)
        self->failures = 0;
    log_loss(self, status);
    self->again_ms = now_ms + helio_remote_backoff_ms(self->remote, self->failures++);
    helio_stream_destroy(&self->stream);
    return HELIO_OK;
}

static helio_rc turn_stream(helio_intake_t *self, int64_t now_ms, helio_error_t *err)
{
    if (!self->stream) {
        if (now_ms >= self->again_ms && self->count < PENDING_MAX / 2)
            open_stream(self);
        return HELIO_OK;
    }
    long status = helio_stream_status(self->stream);
    bool answered = status >= 200 && status < 300;
    self->reached = self->reached || answered;
    if (helio_stream_is_over(self->stream))
        return end_stream(self, now_ms, err);
    if (answered && self->lost)
        helio_log(self->log, HELIO_INFO, "broker_back", "after=%llu", (unsigned long long)self->newest);
    self->lost = self->lost && !answered;
    if (self->count >= PENDING_MAX) {
        helio_stream_destroy(&self->stream);
        self->again_ms = now_ms;
    }
    return HELIO_OK;
}

/* ---- taking ------------------------------------------------------------------------------------------------- */

static helio_rc take(helio_intake_t *self, const helio_happening_t *happening, helio_error_t *err)
{
    return self->hooks.take(self->hooks.arg, happening, err);
}

static void begin_page(helio_intake_t *self, const char *cursor)
{
    static const char first[] = "/v1/jobs?limit=1000&state=queued,held,offered,accepted,starting,running,suspended,"
                                "stopping,suspect,succeeded,failed,timeout,cancelled,lost";
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t path = {0};
    helio_buffer_printf(&path, "%s%s", first, cursor ? "&cursor=" : "");
    helio_ask_begin(&self->page, path.data, cursor, "");
}

/*  One page of the jobs after `resync`; *ret_done: it was the last one. */
static helio_rc turn_page(helio_intake_t *self, int64_t now_ms, bool *ret_done, helio_error_t *err)
{
    json_t *reply = NULL, *job;
    size_t i;
    helio_rc rc = HELIO_OK;
    if (!helio_ask_is_begun(&self->page)) {
        helio_log(self->log, HELIO_WARN, "events_missed", "after=%llu", (unsigned long long)self->cursor.last);
        begin_page(self, NULL);
        self->pages = 0;
    }
    if (!helio_ask_turn(&self->page, self->remote, now_ms, &reply))
        return HELIO_OK;
    json_array_foreach(json_object_get(reply, "jobs"), i, job)
    {
        helio_happening_t happening;
        if (rc != HELIO_OK || !helio_happening_of_job(job, self->cursor.seen_ms - OVERLAP_MS, &happening))
            continue;
        rc = take(self, &happening, err);
        helio_happening_clear(&happening);
    }
    const char *next = json_string_value(json_object_get(reply, "next"));
    *ret_done = !next || ++self->pages >= PAGE_MAX;
    if (next && *ret_done)
        helio_log(self->log, HELIO_WARN, "events_missed_for_good", "jobs_read=%d", PAGE_MAX * 1000);
    if (!*ret_done)
        begin_page(self, next);
    json_decref(reply);
    return rc;
}

/*  Asks for the jobs of the first few. */
static void turn_asks(helio_intake_t *self, int64_t now_ms)
{
    uint32_t asked = 0;
    for (pending_t *at = self->first; at && asked < ASKED_AT_ONCE; at = at->next, asked++) {
        json_t *job = NULL;
        if (at->resync || at->ready)
            continue;
        if (!helio_ask_is_begun(&at->ask))
            helio_ask_begin(&at->ask, "/v1/jobs/", json_string_value(json_object_get(at->happening.job, "id")), "");
        if (!helio_ask_turn(&at->ask, self->remote, now_ms, &job) &&
            (at->ask.stream || !helio_ask_turn(&at->ask, self->remote, now_ms, &job)))
            continue;
        helio_happening_add_job(&at->happening, job);
        json_decref(job);
        at->ready = true;
    }
}

static void pop(helio_intake_t *self)
{
    pending_t *first = self->first;
    self->cursor.last = first->last;
    if (first->seen_ms > self->cursor.seen_ms)
        self->cursor.seen_ms = first->seen_ms;
    self->first = first->next;
    if (!self->first)
        self->last = NULL;
    self->count--;
    release(first);
}

helio_rc helio_intake_turn(helio_intake_t *self, int64_t now_ms, helio_error_t *err)
{
    helio_rc rc = turn_stream(self, now_ms, err);
    turn_asks(self, now_ms);
    while (rc == HELIO_OK && self->first) {
        bool done = self->first->ready;
        if (self->first->resync)
            rc = turn_page(self, now_ms, &done, err);
        else if (done)
            rc = take(self, &self->first->happening, err);
        if (!done)
            break;
        pop(self);
    }
    return rc;
}

/* ---- the intake --------------------------------------------------------------------------------------------- */

helio_intake_t *helio_intake_new(helio_remote_t *remote, const helio_notify_settings_t *settings,
                                 const helio_notify_cursor_t *cursor, const helio_intake_hooks_t *hooks,
                                 helio_log_t *log)
{
    helio_intake_t *self = helio_new(1, sizeof *self);
    *self = (helio_intake_t){.remote = remote, .settings = settings, .hooks = *hooks, .log = log, .cursor = *cursor};
    self->newest = cursor->last;
    self->events = helio_events_new(on_event, self);
    return self;
}

void helio_intake_destroy(helio_intake_t **self_p)
{
    helio_intake_t *self = *self_p;
    if (!self)
        return;
    helio_stream_destroy(&self->stream);
    helio_ask_clear(&self->page);
    while (self->first)
        pop(self);
    helio_events_destroy(&self->events);
    free(self);
    *self_p = NULL;
}

int64_t helio_intake_due_ms(const helio_intake_t *self)
{
    int64_t due_ms = self->stream ? (helio_stream_is_over(self->stream) ? 0 : INT64_MAX) : self->again_ms;
    if (!self->stream && self->count >= PENDING_MAX / 2)
        due_ms = INT64_MAX; /* when some are taken */
    uint32_t asked = 0;
    for (const pending_t *at = self->first; at && asked < ASKED_AT_ONCE; at = at->next, asked++) {
        int64_t ask_ms = at->resync || at->ready        ? INT64_MAX
                         : helio_ask_is_begun(&at->ask) ? helio_ask_due_ms(&at->ask)
                                                        : 0;
        due_ms = ask_ms < due_ms ? ask_ms : due_ms;
    }
    int64_t page_ms =
        self->first && self->first->resync && !helio_ask_is_begun(&self->page) ? 0 : helio_ask_due_ms(&self->page);
    return page_ms < due_ms ? page_ms : due_ms;
}

const helio_stream_t *helio_intake_refusal(const helio_intake_t *self)
{
    return self->stream;
}

helio_notify_cursor_t helio_intake_cursor(const helio_intake_t *self)
{
    return self->cursor;
}
