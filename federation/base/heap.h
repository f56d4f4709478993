/*  heap.h -- a binary heap of items that know their own place in it, so that any item can be removed or moved.
 *
 *  An item is a member of the caller's struct (intrusive). The heap owns its array of pointers and nothing else: the
 *  caller allocates and frees the items, and must not free an item that is in a heap. Not thread-safe.
 *
 *  Items that are equal under `before` leave in no particular order; a caller that needs one makes the order total, for
 *  example by a number that counts insertions. Zero-initialised is valid except for `before`.
 */
#ifndef HELIO_BASE_HEAP_H
#define HELIO_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>

typedef struct helio_heap_item {
    size_t slot; /* from 1; 0 = in no heap */
} helio_heap_item_t;

/*  True when a must leave the heap before b. */
typedef bool helio_heap_before_fn(helio_heap_item_t *a, helio_heap_item_t *b);

typedef struct helio_heap {
    helio_heap_before_fn *before;
    helio_heap_item_t **items; /* items[0] is the first */
    size_t count, capacity;
} helio_heap_t;

/*  The struct that holds this item as its member. */
#define HELIO_HEAP_OWNER(item, type, member) ((type *)(void *)((char *)(item)-offsetof(type, member)))

void helio_heap_put(helio_heap_t *self, helio_heap_item_t *item);     /* the item is in no heap */
helio_heap_item_t *helio_heap_first(const helio_heap_t *self);        /* NULL = the heap is empty */
helio_heap_item_t *helio_heap_take(helio_heap_t *self);               /* removes the first; NULL = the heap is empty */
void helio_heap_remove(helio_heap_t *self, helio_heap_item_t *item);  /* has no effect if it is in no heap */
void helio_heap_reorder(helio_heap_t *self, helio_heap_item_t *item); /* its key has changed */
void helio_heap_clear(helio_heap_t *self);                            /* removes all items and frees the array */

#endif
