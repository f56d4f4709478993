/*  watch.h -- a watch's stream: pieces of any size become events, a line each. Pure.
 *
 *  The stream begins with 200 even if its version is compacted; then its only event is an ERROR with the code 410.
 */
#ifndef HELIO_BACKENDS_KUBERNETES_WATCH_H
#define HELIO_BACKENDS_KUBERNETES_WATCH_H

#include <jansson.h>

#include "federation/base/memory.h"

enum { HELIO_KUBE_LINE_MAX = 4 << 20 }; /* bytes of one event; the API stores objects of at most 1.5 MiB */

typedef enum helio_kube_change {
    HELIO_KUBE_ADDED,
    HELIO_KUBE_MODIFIED,
    HELIO_KUBE_DELETED,
    HELIO_KUBE_BOOKMARK, /* nothing but a version to go on from */
    HELIO_KUBE_STALE,    /* 410: list again */
    HELIO_KUBE_TROUBLE   /* another error: watch again */
} helio_kube_change_t;

typedef struct helio_kube_event {
    helio_kube_change_t change;
    const json_t *object; /* of STALE and TROUBLE: a Status */
    helio_text_t version; /* to go on from; "" for errors */
} helio_kube_event_t;

/*  The bytes of a line that is not complete yet. Zero-initialised is an empty one. */
typedef struct helio_kube_stream {
    helio_buffer_t line;
} helio_kube_stream_t;

typedef void helio_kube_event_fn(void *arg, const helio_kube_event_t *event);

/*  Calls `each` for every event that the piece completes; views live for the call. INVALID: a line that is no event, and
 *  TOO_BIG: one without an end. After either, and after STALE or TROUBLE, the stream is of no use any more. */
HELIO_MUST_CHECK helio_rc helio_kube_stream_take(helio_kube_stream_t *self, helio_text_t piece,
                                                 helio_kube_event_fn *each, void *arg, helio_error_t *err);
void helio_kube_stream_clear(helio_kube_stream_t *self);

#endif
