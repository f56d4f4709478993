/*  heap.c -- a binary heap of nodes that their owners embed. */
#include "federation/base/heap.h"

#include <assert.h>
#include <stdlib.h>

#include "federation/base/memory.h"

void helio_heap_init(helio_heap_t *self, helio_heap_before_fn *is_before)
{
    *self = (helio_heap_t){.is_before = is_before};
}

void helio_heap_clear(helio_heap_t *self)
{
    free(self->nodes);
    *self = (helio_heap_t){.is_before = self->is_before};
}

static void set(helio_heap_t *self, uint32_t slot, helio_heap_node_t *node)
{
    self->nodes[slot] = node;
    node->slot = slot;
}

/*  To its place, from a slot that is free or its own. */
static void settle(helio_heap_t *self, uint32_t slot, helio_heap_node_t *node)
{
    for (; slot > 1 && self->is_before(node, self->nodes[slot / 2]); slot /= 2)
        set(self, slot, self->nodes[slot / 2]);
    for (;;) {
        uint32_t child = 2 * slot;
        if (child < self->count && self->is_before(self->nodes[child + 1], self->nodes[child]))
            child++;
        if (child > self->count || !self->is_before(self->nodes[child], node))
            break;
        set(self, slot, self->nodes[child]);
        slot = child;
    }
    set(self, slot, node);
}

void helio_heap_put(helio_heap_t *self, helio_heap_node_t *node)
{
    if (!node->slot) {
        if (self->count + 1 >= self->capacity) {
            self->capacity = self->capacity ? 2 * self->capacity : 16;
            self->nodes = helio_grow(self->nodes, self->capacity, sizeof(helio_heap_node_t *));
        }
        node->slot = ++self->count;
        self->nodes[node->slot] = node;
    }
    assert(node->slot <= self->count && self->nodes[node->slot] == node);
    settle(self, node->slot, node);
}

void helio_heap_remove(helio_heap_t *self, helio_heap_node_t *node)
{
    uint32_t slot = node->slot;
    if (!slot)
        return;
    assert(slot <= self->count && self->nodes[slot] == node);
    node->slot = 0;
    helio_heap_node_t *last = self->nodes[self->count--];
    if (last != node)
        settle(self, slot, last);
}
