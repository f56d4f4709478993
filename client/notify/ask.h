/*  ask.h -- one GET from the broker that is repeated until it is answered, beside everything else. */
#ifndef HELIO_CLIENT_NOTIFY_ASK_H
#define HELIO_CLIENT_NOTIFY_ASK_H

#include <jansson.h>

#include "client/transport/remote.h"

typedef struct helio_ask {
    helio_stream_t *stream; /* NULL = between two attempts */
    helio_buffer_t path;    /* empty = nothing is asked */
    helio_buffer_t body;
    int64_t again_ms;
    uint32_t failures; /* in a row */
} helio_ask_t;

/*  before and after: parts of the path; component between them is escaped (NULL = none). */
void helio_ask_begin(helio_ask_t *self, const char *before, const char *component, const char *after);
bool helio_ask_is_begun(const helio_ask_t *self);
void helio_ask_clear(helio_ask_t *self); /* before its remote */

/*  True when there is an answer: *ret_reply is its document, which the caller owns, or NULL if the broker refuses to
 *  give one, because there is none. Then nothing is asked any more. */
HELIO_MUST_CHECK bool helio_ask_turn(helio_ask_t *self, helio_remote_t *remote, int64_t now_ms, json_t **ret_reply);
/*  When to turn again even if nothing came; INT64_MAX = never. */
int64_t helio_ask_due_ms(const helio_ask_t *self);

#endif
