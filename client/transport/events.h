/*  events.h -- server-sent events: bytes in, events out. Pure; the grammar is that of the HTML standard, section 9.2.
 *
 *  Bytes may be split anywhere. Lines end in LF, CR or CRLF. An event that exceeds the bound is dropped as a whole and
 *  counted as lost, so that the caller can request the state itself.
 */
#ifndef HELIO_CLIENT_EVENTS_H
#define HELIO_CLIENT_EVENTS_H

#include "federation/base/memory.h"

enum { HELIO_EVENT_MAX = 1 << 20, HELIO_EVENT_ID_SIZE = 64 };

typedef struct helio_event {
    const char *type; /* "message" if the stream names none */
    const char *data; /* lines joined with LF */
    const char *id;   /* the last id seen, "" = none so far: the value for Last-Event-ID */
} helio_event_t;

typedef struct helio_events helio_events_t;
/*  The event is borrowed for the call. */
typedef void helio_event_fn(void *arg, const helio_event_t *event);

helio_events_t *helio_events_new(helio_event_fn *on_event, void *arg);
void helio_events_destroy(helio_events_t **self_p);
void helio_events_feed(helio_events_t *self, const char *bytes, size_t size);
/*  A new connection: drops a half-received event; keeps the last id. */
void helio_events_restart(helio_events_t *self);

const char *helio_events_last_id(const helio_events_t *self); /* "" = none; borrowed until the next feed */
uint64_t helio_events_lost(const helio_events_t *self);       /* dropped for their size */
uint64_t helio_events_comments(const helio_events_t *self);   /* heartbeats and the like */

#endif
