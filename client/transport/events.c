/*  events.c -- the parser of server-sent events. */
#include "client/transport/events.h"

#include <stdlib.h>
#include <string.h>

struct helio_events {
    helio_event_fn *on_event;
    void *arg;
    helio_buffer_t line;
    helio_buffer_t data;
    char type[64];
    char next_id[HELIO_EVENT_ID_SIZE]; /* becomes last_id at dispatch: an incomplete event must be sent again */
    char last_id[HELIO_EVENT_ID_SIZE];
    bool has_data;
    bool after_cr;
    bool too_big;
    bool started; /* after a byte order mark */
    uint64_t lost;
    uint64_t comments;
};

helio_events_t *helio_events_new(helio_event_fn *on_event, void *arg)
{
    helio_events_t *self = helio_new(1, sizeof *self);
    self->on_event = on_event;
    self->arg = arg;
    self->line.max = HELIO_EVENT_MAX;
    self->data.max = HELIO_EVENT_MAX;
    return self;
}

void helio_events_destroy(helio_events_t **self_p)
{
    helio_events_t *self = *self_p;
    if (!self)
        return;
    helio_buffer_clear(&self->line);
    helio_buffer_clear(&self->data);
    free(self);
    *self_p = NULL;
}

static void event_reset(helio_events_t *self)
{
    helio_buffer_reset(&self->data);
    self->type[0] = '\0';
    self->has_data = self->too_big = false;
    memcpy(self->next_id, self->last_id, sizeof self->next_id);
}

void helio_events_restart(helio_events_t *self)
{
    helio_buffer_reset(&self->line);
    self->after_cr = self->started = false;
    event_reset(self);
}

static void dispatch(helio_events_t *self)
{
    memcpy(self->last_id, self->next_id, sizeof self->last_id);
    if (self->too_big || self->data.overflow) {
        self->lost++;
    } else if (self->has_data) {
        helio_event_t event = {.type = self->type[0] ? self->type : "message",
                               .data = self->data.data ? self->data.data : "",
                               .id = self->last_id};
        self->on_event(self->arg, &event);
    }
    event_reset(self);
}

static void field(helio_events_t *self, helio_text_t name, helio_text_t value)
{
    if (helio_text_is(name, "data")) {
        if (self->has_data)
            helio_buffer_text(&self->data, "\n");
        helio_buffer_append(&self->data, value.data, value.size);
        self->has_data = true;
    } else if (helio_text_is(name, "event")) {
        (void)helio_text_copy(value, self->type, sizeof self->type);
    } else if (helio_text_is(name, "id") && value.size < sizeof self->next_id &&
               (!value.size || !memchr(value.data, '\0', value.size))) {
        (void)helio_text_copy(value, self->next_id, sizeof self->next_id);
    }
}

static void line_end(helio_events_t *self)
{
    helio_text_t line = helio_buffer_view(&self->line);
    if (self->line.overflow) {
        self->too_big = true;
    } else if (line.size == 0) {
        dispatch(self);
    } else if (line.data[0] == ':') {
        self->comments++;
    } else {
        const char *colon = memchr(line.data, ':', line.size);
        uint32_t size = colon ? (uint32_t)(colon - line.data) : line.size;
        helio_text_t value = {line.data + line.size, 0};
        if (colon) {
            value = (helio_text_t){colon + 1, line.size - size - 1};
            if (value.size && value.data[0] == ' ')
                value = (helio_text_t){value.data + 1, value.size - 1};
        }
        field(self, (helio_text_t){line.data, size}, value);
    }
    helio_buffer_reset(&self->line);
}

void helio_events_feed(helio_events_t *self, const char *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        if (self->after_cr && bytes[at] == '\n') {
            self->after_cr = false;
            at++;
            continue;
        }
        self->after_cr = false;
        size_t end = at;
        while (end < size && bytes[end] != '\n' && bytes[end] != '\r')
            end++;
        helio_buffer_append(&self->line, bytes + at, end - at);
        at = end;
        if (at == size)
            break;
        if (!self->started && self->line.size >= 3 && memcmp(self->line.data, "\xEF\xBB\xBF", 3) == 0) {
            self->line.size -= 3;
            memmove(self->line.data, self->line.data + 3, self->line.size + 1);
        }
        self->started = true;
        self->after_cr = bytes[at] == '\r';
        line_end(self);
        at++;
    }
}

const char *helio_events_last_id(const helio_events_t *self)
{
    return self->last_id;
}

uint64_t helio_events_lost(const helio_events_t *self)
{
    return self->lost;
}

uint64_t helio_events_comments(const helio_events_t *self)
{
    return self->comments;
}
