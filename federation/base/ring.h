/*  ring.h -- a bounded queue of pointers between two actors: many producers, one consumer, no locks.
 *
 *  Ownership of the pointed-to item passes with it. A full ring refuses (HELIO_BUSY) and the producer keeps the item;
 *  each producer documents what it then does (usually 429 or 503 to a caller). The consumer waits on helio_ring_fd (an
 *  eventfd; level-triggered, readable while the ring may have items). Method: D. Vyukov's bounded MPMC queue (sequence
 *  number per cell), used here with a single consumer.
 */
#ifndef HELIO_BASE_RING_H
#define HELIO_BASE_RING_H

#include <stddef.h>

#include "federation/base/error.h"

typedef struct helio_ring helio_ring_t;

helio_ring_t *helio_ring_new(size_t capacity);                             /* a power of two, at least 2 */
void helio_ring_destroy(helio_ring_t **self_p);                            /* must be empty: items are not freed */
HELIO_MUST_CHECK helio_rc helio_ring_push(helio_ring_t *self, void *item); /* any thread */
void *helio_ring_pop(helio_ring_t *self);                                  /* consumer only; NULL when empty */
int helio_ring_fd(const helio_ring_t *self);
/*  Consumer: call when the fd is readable and before popping, so that no wake-up is lost. */
void helio_ring_drain_wakeups(helio_ring_t *self);

#endif
