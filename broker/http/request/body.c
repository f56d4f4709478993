/*  body.c -- appending to, moving and clearing a request's body. */
#include "broker/http/request/body.h"

#include <assert.h>

helio_rc helio_body_append(helio_body_t *self, const void *bytes, size_t size, size_t size_max, uint64_t held_max)
{
    if (size > size_max || self->bytes.size > size_max - size)
        return HELIO_TOO_BIG;
    uint64_t held = atomic_fetch_add_explicit(self->held, size, memory_order_relaxed) + size;
    self->share += size;
    if (held > held_max)
        return HELIO_BUSY;
    self->bytes.max = size_max;
    helio_buffer_append(&self->bytes, bytes, size);
    return HELIO_OK;
}

void helio_body_move(helio_body_t *to, helio_body_t *from)
{
    assert(!to->bytes.data && !to->share);
    *to = *from;
    *from = (helio_body_t){.held = to->held};
}

void helio_body_clear(helio_body_t *self)
{
    if (self->share)
        (void)atomic_fetch_sub_explicit(self->held, self->share, memory_order_relaxed);
    self->share = 0;
    helio_buffer_clear(&self->bytes);
}
