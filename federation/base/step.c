/*  step.c -- the list of effects that a step emits. */
#include "federation/base/step.h"

#include <stdlib.h>
#include <string.h>

helio_effects_t *helio_effects_new(void)
{
    helio_effects_t *self = helio_new(1, sizeof *self);
    self->arena = helio_arena_new();
    self->wake_ms = INT64_MAX;
    return self;
}

void helio_effects_destroy(helio_effects_t **self_p)
{
    if (!*self_p)
        return;
    helio_arena_destroy(&(*self_p)->arena);
    free((*self_p)->items);
    free(*self_p);
    *self_p = NULL;
}

void helio_effects_reset(helio_effects_t *self)
{
    helio_arena_reset(self->arena);
    self->count = 0;
    self->wake_ms = INT64_MAX;
}

void *helio_effects_add(helio_effects_t *self, uint32_t kind, const helio_step_kind_t *kinds, uint64_t batch,
                        const void *record)
{
    if (self->count == self->capacity) {
        self->capacity = self->capacity ? self->capacity * 2 : 64;
        self->items = helio_grow(self->items, self->capacity, sizeof *self->items);
    }
    void *payload = helio_arena_alloc(self->arena, 1, kinds[kind].type->size);
    memcpy(payload, record, kinds[kind].type->size);
    self->items[self->count++] = (helio_effect_t){kind, kinds[kind].release, batch, payload};
    return payload;
}
