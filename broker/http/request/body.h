/*  body.h -- a request's body, and its share of the memory that all bodies together can use.
 *
 *  A body has one owner at a time: the request while it arrives, then perhaps the operation whose payload points into
 *  it (helio_await_body). A move leaves the bytes where they are. Clearing returns the share, so destroying the owner
 *  is enough.
 *
 *  A large body (lots.h) has pages of its own, which go back to the kernel with it. In a heap that many threads use,
 *  hundreds of them leave holes that nothing else fills. */
#ifndef HELIO_BROKER_HTTP_REQUEST_BODY_H
#define HELIO_BROKER_HTTP_REQUEST_BODY_H

#include <stdatomic.h>

#include "broker/http/request/lots.h"
#include "federation/base/memory.h"

enum { HELIO_BODY_SMALL_MAX = 64 << 10 }; /* of a command, and of a document that one person writes */

typedef struct helio_body {
    char *data; /* followed by a NUL that does not count; NULL = nothing so far */
    size_t size;
    size_t capacity;        /* above HELIO_BODY_SMALL_MAX: pages of its own */
    _Atomic uint64_t *held; /* bytes of all bodies; any thread */
    uint64_t share;         /* bytes of this one in it */
    helio_lot_t lot;        /* of a large body, its share of the memory for those */
} helio_body_t;

/*  What a body may use. */
typedef struct helio_body_bounds {
    size_t size_max;    /* of this one */
    uint64_t held_max;  /* of all */
    helio_lots_t *lots; /* of all large ones */
    const char *tenant; /* whose it is; it outlives the body */
} helio_body_bounds_t;

/*  HELIO_TOO_BIG: the body would exceed size_max bytes. HELIO_BUSY: all bodies together would exceed their bound, or the
 *  large ones of its tenant theirs. In both cases the caller clears the body. */
HELIO_MUST_CHECK helio_rc helio_body_append(helio_body_t *self, const void *bytes, size_t size,
                                            const helio_body_bounds_t *bounds);
void helio_body_move(helio_body_t *to, helio_body_t *from); /* `to` must be empty, `from` becomes empty */
void helio_body_clear(helio_body_t *self);
helio_text_t helio_body_view(const helio_body_t *self);

#endif
