/*  events.c -- GET /v1/events: transitions as server-sent events.
 *
 *  The database is the buffer. The engine only notifies that something has become durable, and each subscriber reads
 *  what is new to it and visible to it. So a slow subscriber costs no memory, and the engine never waits for one. A
 *  subscriber that is too far behind gets `resync` (read the state itself) instead of the events. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "broker/http/request/waiting_requests.h"
#include "broker/http/routes/routes.h"
#include "federation/base/clock.h"
#include "federation/base/json.h"
#include "federation/spec/value.h"

enum {
    PAGE = 500,
    BEHIND_MAX = 100000,  /* events: older ones are not replayed */
    HEARTBEAT_MS = 15000, /* then it also reads without a notification, because another broker can be the leader */
    PAUSE_MS = 100,       /* between two reads of one subscriber */
    RETRY_MS = 1000       /* after a failed read */
};

/*  The state of one subscriber. */
typedef struct subscription {
    uint64_t after;      /* the last seq that was sent or skipped */
    uint64_t asked_upto; /* known to be durable when the current read was posted */
    int64_t not_before_ms;
    int64_t heartbeat_ms; /* when the next one is due */
} subscription_t;

static subscription_t *subscription_of(helio_request_context_t *self)
{
    return helio_request_context_state(self, sizeof(subscription_t));
}

static void want(helio_request_context_t *self);

static void heartbeat(helio_request_context_t *self, int64_t now_ms)
{
    subscription_t *stream = subscription_of(self);
    if (now_ms < stream->heartbeat_ms)
        return;
    if (!self->response.size)
        helio_buffer_text(&self->response, ": heartbeat\n\n");
    stream->heartbeat_ms = now_ms + HEARTBEAT_MS;
}

static void append_event(helio_request_context_t *self, const json_t *event)
{
    json_int_t seq = json_integer_value(json_object_get(event, "seq"));
    char *data = json_dumps(event, JSON_COMPACT | JSON_PRESERVE_ORDER);
    if (data && seq > 0) {
        helio_buffer_printf(&self->response, "id: %lld\nevent: transition\ndata: ", (long long)seq);
        helio_buffer_text(&self->response, data);
        helio_buffer_text(&self->response, "\n\n");
        subscription_of(self)->after = (uint64_t)seq;
    }
    free(data);
}

static void on_events(helio_request_context_t *self, const helio_result_t *result)
{
    subscription_t *stream = subscription_of(self);
    int64_t now_ms = helio_clock_boot_ms();
    json_t *events = result->rc == HELIO_OK ? json_loadb(result->data.data, result->data.size, 0, NULL) : NULL;
    size_t index;
    const json_t *event;
    json_array_foreach(events, index, event) append_event(self, event);
    heartbeat(self, now_ms);
    if (!json_is_array(events)) {
        stream->not_before_ms = now_ms + RETRY_MS;
    } else if (json_array_size(events) < PAGE) {
        stream->not_before_ms = now_ms + PAUSE_MS;
        if (stream->asked_upto > stream->after)
            stream->after = stream->asked_upto; /* what lies between belongs to other tenants */
    } else {
        stream->not_before_ms = stream->heartbeat_ms = now_ms; /* more events exist, with or without a notification */
    }
    json_decref(events);
    helio_await_idle(self, stream->not_before_ms, false);
}

static void read_more(helio_request_context_t *self, uint64_t upto)
{
    char after[24], page[12];
    subscription_t *stream = subscription_of(self);
    stream->asked_upto = upto;
    (void)snprintf(after, sizeof after, "%llu", (unsigned long long)stream->after);
    (void)snprintf(page, sizeof page, "%d", PAGE);
    helio_await_read(self, on_events, "read_events", 3,
                     (const char *[]){after, helio_request_context_tenant(self), page});
}

static void want(helio_request_context_t *self)
{
    subscription_t *stream = subscription_of(self);
    int64_t now_ms = helio_clock_boot_ms();
    uint64_t upto = helio_waiting_requests_seq(self->http->waiting_requests);
    bool beat = now_ms >= stream->heartbeat_ms;
    if (!helio_token_in_force(self->token, helio_clock_wall_ms()))
        self->ended = true;
    else if (now_ms < stream->not_before_ms)
        helio_await_idle(self, stream->not_before_ms, false);
    else if (upto > stream->after || beat)
        read_more(self, upto);
    else
        helio_await_idle(self, stream->heartbeat_ms, true);
}

static void on_last(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK) {
        helio_response_failure(self, result, NULL);
        return;
    }
    json_t *last = json_loadb(result->data.data, result->data.size, 0, NULL);
    uint64_t seq = (uint64_t)json_integer_value(json_object_get(last, "seq")), after = seq;
    json_decref(last);
    if (self->last_event_id[0] && helio_u64_parse(helio_text_of(self->last_event_id), &after) != HELIO_OK)
        after = seq;
    /* an id beyond the last one is of an earlier copy of this database */
    bool resync = after > seq || seq - after > BEHIND_MAX;
    int64_t now_ms = helio_clock_boot_ms();
    *subscription_of(self) = (subscription_t){.after = resync ? seq : after,
                                              .heartbeat_ms = !resync && seq > after ? now_ms : now_ms + HEARTBEAT_MS};
    helio_response_stream(self, "text/event-stream", want);
    helio_buffer_text(&self->response, "retry: 2000\n");
    if (!resync) {
        helio_buffer_printf(&self->response, ": after %llu\n\n", (unsigned long long)after);
        return;
    }
    helio_buffer_printf(&self->response, "id: %llu\nevent: resync\ndata: ", (unsigned long long)seq);
    helio_json_writer_t json = helio_json_into(&self->response);
    helio_json_begin_object(&json, NULL);
    helio_json_put_u64(&json, "seq", seq);
    helio_json_end(&json);
    helio_buffer_text(&self->response, "\n\n");
}

void helio_events_follow(helio_request_context_t *self)
{
    uint64_t after;
    if (self->last_event_id[0] && helio_u64_parse(helio_text_of(self->last_event_id), &after) != HELIO_OK) {
        HELIO_PROBLEM0(self, 400, EVENT_ID_INVALID);
        return;
    }
    if (helio_request_context_take_place(self))
        helio_await_read(self, on_last, "read_last_event", 0, NULL);
}
