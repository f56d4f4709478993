/*  body.h -- a request's body and its share of the memory that all bodies together may take.
 *
 *  It has one owner at a time: the exchange while it arrives, then perhaps the operation whose payload points into it
 *  (helio_await_body). Moving leaves the bytes where they are. Clearing gives the share back, so the owner's destruction
 *  is all that it takes.
 */
#ifndef HELIO_BROKER_HTTP_REQUEST_BODY_H
#define HELIO_BROKER_HTTP_REQUEST_BODY_H

#include <stdatomic.h>

#include "federation/base/memory.h"

typedef struct helio_body {
    helio_buffer_t bytes;
    _Atomic uint64_t *held; /* by all bodies; any thread */
    uint64_t share;         /* of it */
} helio_body_t;

/*  HELIO_TOO_BIG: it would have more than size_max bytes; HELIO_BUSY: all together would have more than held_max. The body is
 *  to be cleared then. */
HELIO_MUST_CHECK helio_rc helio_body_append(helio_body_t *self, const void *bytes, size_t size, size_t size_max,
                                            uint64_t held_max);
void helio_body_move(helio_body_t *to, helio_body_t *from); /* `to` is empty, `from` will be */
void helio_body_clear(helio_body_t *self);

#endif
