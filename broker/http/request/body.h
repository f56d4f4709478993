/*  body.h -- a request's body, and its share of the memory that all bodies together can use.
 *
 *  A body has one owner at a time: the request while it arrives, then perhaps the operation whose payload points into
 *  it (helio_await_body). A move leaves the bytes where they are. Clearing returns the share, so destroying the owner
 *  is enough. */
#ifndef HELIO_BROKER_HTTP_REQUEST_BODY_H
#define HELIO_BROKER_HTTP_REQUEST_BODY_H

#include <stdatomic.h>

#include "federation/base/memory.h"

typedef struct helio_body {
    helio_buffer_t bytes;
    _Atomic uint64_t *held; /* bytes of all bodies; any thread */
    uint64_t share;         /* bytes of this one in it */
} helio_body_t;

/*  HELIO_TOO_BIG: the body would exceed size_max bytes. HELIO_BUSY: all bodies together would exceed held_max. In both
 *  cases the caller clears the body. */
HELIO_MUST_CHECK helio_rc helio_body_append(helio_body_t *self, const void *bytes, size_t size, size_t size_max,
                                            uint64_t held_max);
void helio_body_move(helio_body_t *to, helio_body_t *from); /* `to` must be empty, `from` becomes empty */
void helio_body_clear(helio_body_t *self);

#endif
