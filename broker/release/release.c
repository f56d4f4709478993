/*  release.c -- effects by batch, each batch with an arena of its own. */
#include "broker/release/release.h"

#include <assert.h>
#include <stdlib.h>

/*  The effects of one batch and their memory, which is freed as a whole because they leave as a whole. */
typedef struct release_batch {
    struct release_batch *next;
    uint64_t number;
    helio_arena_t *arena;
    helio_effect_t *items;
    uint32_t count;
    uint32_t capacity;
} release_batch_t;

struct helio_release_queue {
    const helio_step_kind_t *kinds;
    release_batch_t *first; /* waiting, ascending */
    release_batch_t *last;
    release_batch_t *spent; /* they left; still valid for the visitor */
    release_batch_t *spare; /* one batch for reuse, because batches follow each other all day */
    uint64_t count;
};

static void batch_destroy(release_batch_t **self_p)
{
    if (!*self_p)
        return;
    helio_arena_destroy(&(*self_p)->arena);
    free((*self_p)->items);
    free(*self_p);
    *self_p = NULL;
}

static release_batch_t *batch_new(helio_release_queue_t *queue, uint64_t number)
{
    release_batch_t *self = queue->spare;
    queue->spare = NULL;
    if (!self) {
        self = helio_new(1, sizeof *self);
        self->arena = helio_arena_new();
    }
    self->number = number;
    return self;
}

static void batches_destroy(release_batch_t *list)
{
    while (list) {
        release_batch_t *next = list->next;
        batch_destroy(&list);
        list = next;
    }
}

helio_release_queue_t *helio_release_queue_new(const helio_step_kind_t *kinds)
{
    helio_release_queue_t *self = helio_new(1, sizeof *self);
    self->kinds = kinds;
    return self;
}

void helio_release_queue_destroy(helio_release_queue_t **self_p)
{
    if (!*self_p)
        return;
    batches_destroy((*self_p)->first);
    batches_destroy((*self_p)->spent);
    batch_destroy(&(*self_p)->spare);
    free(*self_p);
    *self_p = NULL;
}

void helio_release_queue_hold(helio_release_queue_t *self, const helio_effect_t *effect)
{
    assert(!self->last || self->last->number <= effect->batch);
    if (!self->last || self->last->number != effect->batch) {
        release_batch_t *batch = batch_new(self, effect->batch);
        if (self->last)
            self->last->next = batch;
        else
            self->first = batch;
        self->last = batch;
    }
    release_batch_t *batch = self->last;
    if (batch->count == batch->capacity) {
        batch->capacity = batch->capacity ? batch->capacity * 2 : 64;
        batch->items = helio_grow(batch->items, batch->capacity, sizeof *batch->items);
    }
    const helio_record_type_t *type = self->kinds[effect->kind].type;
    helio_effect_t *item = &batch->items[batch->count++];
    *item = *effect;
    item->payload = helio_arena_alloc(batch->arena, 1, type->size);
    helio_record_copy(type, batch->arena, effect->payload, item->payload);
    self->count++;
}

/*  Frees what earlier calls handed over, except the memory of one batch. */
static void forget_spent(helio_release_queue_t *self)
{
    if (self->spent && !self->spare) {
        release_batch_t *batch = self->spent;
        self->spent = batch->next;
        batch->next = NULL;
        batch->count = 0;
        helio_arena_reset(batch->arena);
        self->spare = batch;
    }
    batches_destroy(self->spent);
    self->spent = NULL;
}

uint64_t helio_release_queue_release(helio_release_queue_t *self, uint64_t durable, helio_release_fn *visit, void *arg)
{
    forget_spent(self);
#ifdef HELIO_MUTANT_reply_before_commit
    durable = UINT64_MAX;
#endif
    uint64_t left = 0;
    while (self->first && self->first->number <= durable) {
        /* Removed before the visits: if the visitor holds more effects, they go into a new batch. */
        release_batch_t *batch = self->first;
        self->first = batch->next;
        if (!self->first)
            self->last = NULL;
        batch->next = self->spent;
        self->spent = batch;
        self->count -= batch->count;
        left += batch->count;
        for (uint32_t i = 0; i < batch->count; i++)
            visit(arg, &batch->items[i]);
    }
    return left;
}

uint64_t helio_release_queue_count(const helio_release_queue_t *self)
{
    return self->count;
}

uint64_t helio_release_durable(uint64_t committed_batch, uint64_t open_batch, uint64_t open_rows)
{
    assert(committed_batch < open_batch);
    return open_rows == 0 && committed_batch + 1 == open_batch ? open_batch : committed_batch;
}
