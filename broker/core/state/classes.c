/*  classes.c -- classes come with the first job that asks for what they stand for, and go with the last. */
#include "broker/core/state/classes.h"

#include <assert.h>
#include <stdlib.h>

#include "broker/core/state/accounts.h"
#include "broker/core/state/core.h"
#include "broker/core/state/moments.h"

static bool is_of(const job_class_t *class, const helio_requirement_t *want, int32_t priority)
{
    return class->priority == priority && helio_record_equal(&helio_requirement_type, &class->want, want);
}

job_class_t *core_class_get(helio_broker_core_t *self, const helio_requirement_t *want, int32_t priority,
                            tenant_t *tenant, queue_t *queue)
{
    job_class_t *class = self->newest_class;
    if (class && is_of(class, want, priority)) {
        class->refs++;
        return class;
    }
    uint64_t id = helio_record_hash(&helio_requirement_type, want, HELIO_HASH_SEED);
    id = (priority ? helio_hash(id, &priority, sizeof priority) : id) >> 1; /* fits a bigint */
    for (;; id++) { /* a collision of hashes takes the next free id */
        HASH_FIND(hh, self->classes, &id, sizeof id, class);
        if (!class || is_of(class, want, priority))
            break;
    }
    if (!class) {
        class = helio_new(1, sizeof *class);
        class->id = id;
        class->arena = helio_arena_new();
        class->queue = queue;
        class->account = core_account_get(tenant, queue);
        class->priority = priority;
        helio_record_copy(&helio_requirement_type, class->arena, want, &class->want);
        class->summary = helio_requirement_text(&class->want, class->arena);
        HASH_ADD(hh, self->classes, id, sizeof class->id, class);
    }
    class->refs++;
    self->newest_class = class;
    return class;
}

void core_class_unref(helio_broker_core_t *self, job_class_t *class)
{
    if (--class->refs)
        return;
    assert(!class->waiting);
    if (self->newest_class == class)
        self->newest_class = NULL;
    HASH_DEL(self->classes, class);
    self->moments->class_gone(self, class);
    free(class->options);
    free(class->targets);
    free(class->why);
    helio_arena_destroy(&class->arena);
    free(class);
}
