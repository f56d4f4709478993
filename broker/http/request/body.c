/*  body.c -- appending to, moving and clearing a request's body. */
#include "broker/http/request/body.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SMALLEST = 256 };

static bool has_pages(const helio_body_t *self)
{
    return self->capacity > HELIO_BODY_SMALL_MAX;
}

static void release(helio_body_t *self)
{
    if (has_pages(self))
        (void)munmap(self->data, self->capacity);
    else
        free(self->data);
    self->data = NULL;
    self->size = self->capacity = 0;
}

/*  Only pages that were written take memory, so it costs nothing to double them. */
static void take_pages(helio_body_t *self, size_t capacity)
{
    void *pages = has_pages(self) ? mremap(self->data, self->capacity, capacity, MREMAP_MAYMOVE)
                                  : mmap(NULL, capacity, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
        abort();
    if (!has_pages(self) && self->size)
        memcpy(pages, self->data, self->size);
    if (!has_pages(self))
        free(self->data);
    self->data = pages;
}

static void make_room(helio_body_t *self, size_t need)
{
    size_t capacity = self->capacity ? self->capacity : SMALLEST;
    while (capacity < need)
        capacity *= 2;
    if (capacity == self->capacity)
        return;
    if (capacity > HELIO_BODY_SMALL_MAX)
        take_pages(self, capacity);
    else
        self->data = helio_grow(self->data, capacity, 1);
    self->capacity = capacity;
}

static bool fits(helio_body_t *self, size_t size, const helio_body_bounds_t *bounds)
{
    uint64_t held = atomic_fetch_add_explicit(self->held, size, memory_order_relaxed) + size;
    self->share += size;
    size_t total = self->size + size;
    if (held > bounds->held_max)
        return false;
    return total <= HELIO_BODY_SMALL_MAX || helio_lots_take(bounds->lots, &self->lot, bounds->tenant, total);
}

helio_rc helio_body_append(helio_body_t *self, const void *bytes, size_t size, const helio_body_bounds_t *bounds)
{
    if (size > bounds->size_max || self->size > bounds->size_max - size)
        return HELIO_TOO_BIG;
    if (!fits(self, size, bounds))
        return HELIO_BUSY;
    make_room(self, self->size + size + 1);
    if (size)
        memcpy(self->data + self->size, bytes, size);
    self->size += size;
    self->data[self->size] = '\0';
    return HELIO_OK;
}

void helio_body_move(helio_body_t *to, helio_body_t *from)
{
    assert(!to->data && !to->share);
    *to = *from;
    *from = (helio_body_t){.held = to->held};
}

void helio_body_clear(helio_body_t *self)
{
    if (self->share)
        (void)atomic_fetch_sub_explicit(self->held, self->share, memory_order_relaxed);
    self->share = 0;
    helio_lots_give_back(&self->lot);
    release(self);
}

helio_text_t helio_body_view(const helio_body_t *self)
{
    return (helio_text_t){self->data, (uint32_t)self->size};
}
