/*  ring.c -- a bounded lock-free queue with an eventfd. */
#include "federation/base/ring.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "federation/base/memory.h"

typedef struct ring_cell {
    atomic_size_t sequence;
    void *item;
} ring_cell_t;

struct helio_ring {
    ring_cell_t *cells;
    size_t mask;
    int fd;
    _Alignas(64) atomic_size_t tail;
    _Alignas(64) size_t head;
};

helio_ring_t *helio_ring_new(size_t capacity)
{
    assert(capacity >= 2 && (capacity & (capacity - 1)) == 0);
    helio_ring_t *self = aligned_alloc(64, (sizeof *self + 63) / 64 * 64);
    if (!self)
        abort();
    self->cells = helio_new(capacity, sizeof *self->cells);
    self->mask = capacity - 1;
    self->head = 0;
    atomic_init(&self->tail, 0);
    for (size_t i = 0; i < capacity; i++)
        atomic_init(&self->cells[i].sequence, i);
    self->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (self->fd < 0)
        abort();
    return self;
}

void helio_ring_destroy(helio_ring_t **self_p)
{
    if (!*self_p)
        return;
    (void)close((*self_p)->fd);
    free((*self_p)->cells);
    free(*self_p);
    *self_p = NULL;
}

helio_rc helio_ring_push(helio_ring_t *self, void *item)
{
    size_t at = atomic_load_explicit(&self->tail, memory_order_relaxed);
    ring_cell_t *cell;
    for (;;) {
        cell = &self->cells[at & self->mask];
        size_t sequence = atomic_load_explicit(&cell->sequence, memory_order_acquire);
        if (sequence == at) {
            if (atomic_compare_exchange_weak_explicit(&self->tail, &at, at + 1, memory_order_relaxed,
                                                      memory_order_relaxed))
                break;
        } else if ((intptr_t)(sequence - at) < 0) {
            return HELIO_BUSY;
        } else {
            at = atomic_load_explicit(&self->tail, memory_order_relaxed);
        }
    }
    cell->item = item;
    atomic_store_explicit(&cell->sequence, at + 1, memory_order_release);
    uint64_t one = 1;
    ssize_t written = write(self->fd, &one, sizeof one);
    (void)written; /* fails only if the counter is saturated, and then the reader is awake anyway */
    return HELIO_OK;
}

void *helio_ring_pop(helio_ring_t *self)
{
    ring_cell_t *cell = &self->cells[self->head & self->mask];
    if (atomic_load_explicit(&cell->sequence, memory_order_acquire) != self->head + 1)
        return NULL;
    void *item = cell->item;
    atomic_store_explicit(&cell->sequence, self->head + self->mask + 1, memory_order_release);
    self->head++;
    return item;
}

int helio_ring_fd(const helio_ring_t *self)
{
    return self->fd;
}

void helio_ring_drain_wakeups(helio_ring_t *self)
{
    uint64_t count;
    ssize_t got = read(self->fd, &count, sizeof count);
    (void)got; /* EAGAIN: nothing to drain */
}
