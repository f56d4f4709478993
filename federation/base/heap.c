/*  heap.c -- an intrusive binary heap. */
#include "federation/base/heap.h"

#include <assert.h>
#include <stdlib.h>

#include "federation/base/memory.h"

enum { CAPACITY_MIN = 16 };

static void set(helio_heap_t *self, size_t at, helio_heap_item_t *item)
{
    self->items[at] = item;
    item->slot = at + 1;
}

/*  Moves the item at this index up or down to its place. */
static void settle(helio_heap_t *self, size_t at)
{
    helio_heap_item_t *item = self->items[at];
    for (; at && self->before(item, self->items[(at - 1) / 2]); at = (at - 1) / 2)
        set(self, at, self->items[(at - 1) / 2]);
    for (size_t child = 2 * at + 1; child < self->count; child = 2 * at + 1) {
        if (child + 1 < self->count && self->before(self->items[child + 1], self->items[child]))
            child++;
        if (!self->before(self->items[child], item))
            break;
        set(self, at, self->items[child]);
        at = child;
    }
    set(self, at, item);
}

void helio_heap_put(helio_heap_t *self, helio_heap_item_t *item)
{
    assert(!item->slot);
    if (self->count == self->capacity) {
        self->capacity = self->capacity ? 2 * self->capacity : CAPACITY_MIN;
        self->items = helio_grow(self->items, self->capacity, sizeof(helio_heap_item_t *));
    }
    set(self, self->count++, item);
    settle(self, self->count - 1);
}

helio_heap_item_t *helio_heap_first(const helio_heap_t *self)
{
    return self->count ? self->items[0] : NULL;
}

helio_heap_item_t *helio_heap_take(helio_heap_t *self)
{
    helio_heap_item_t *first = helio_heap_first(self);
    if (first)
        helio_heap_remove(self, first);
    return first;
}

void helio_heap_remove(helio_heap_t *self, helio_heap_item_t *item)
{
    if (!item->slot)
        return;
    size_t at = item->slot - 1;
    assert(at < self->count && self->items[at] == item);
    helio_heap_item_t *last = self->items[--self->count];
    item->slot = 0;
    if (last == item)
        return;
    set(self, at, last);
    settle(self, at);
}

void helio_heap_reorder(helio_heap_t *self, helio_heap_item_t *item)
{
    assert(item->slot && item->slot <= self->count && self->items[item->slot - 1] == item);
    settle(self, item->slot - 1);
}

void helio_heap_clear(helio_heap_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        self->items[i]->slot = 0;
    free(self->items);
    self->items = NULL;
    self->count = self->capacity = 0;
}
