/*  heap.h -- a binary heap of nodes that their owners embed: the first is at hand, and any can be taken out.
 *
 *  Ownership: the heap has an array of pointers and nothing else; a node that is freed must be taken out before. Cost:
 *  put and remove O(log n), first O(1). Equal nodes come in no order: an owner that needs one compares to the end.
 *
 *      typedef struct alarm { helio_heap_node_t node; int64_t at_ms; } alarm_t;
 */
#ifndef HELIO_BASE_HEAP_H
#define HELIO_BASE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

/*  Zeroed before its first use. */
typedef struct helio_heap_node {
    uint32_t slot; /* in the heap's array; 0 = in no heap */
} helio_heap_node_t;

typedef bool helio_heap_before_fn(const helio_heap_node_t *a, const helio_heap_node_t *b); /* a comes before b */

typedef struct helio_heap {
    helio_heap_before_fn *is_before;
    helio_heap_node_t **nodes; /* [0] is unused, the first is [1] */
    uint32_t count, capacity;
} helio_heap_t;

void helio_heap_init(helio_heap_t *self, helio_heap_before_fn *is_before);
/*  Its memory; the nodes stay their owners'. */
void helio_heap_clear(helio_heap_t *self);
/*  Into the heap; of one that is in it already: to its new place, after what it is compared by has changed. */
void helio_heap_put(helio_heap_t *self, helio_heap_node_t *node);
/*  Out of the heap; nothing happens to one that is not in it. */
void helio_heap_remove(helio_heap_t *self, helio_heap_node_t *node);

static inline helio_heap_node_t *helio_heap_first(const helio_heap_t *self)
{
    return self->count ? self->nodes[1] : (helio_heap_node_t *)0;
}

#endif
