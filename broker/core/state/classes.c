/*  classes.c -- a class is created with the first job that asks for it, and freed with the last. */
#include "broker/core/state/classes.h"

#include <assert.h>
#include <stdlib.h>

#include "broker/core/state/accounts.h"
#include "broker/core/state/core.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/moments.h"
#include "broker/core/state/pools.h"

static bool is_of(const job_class_t *class, const helio_requirement_t *want, int32_t priority)
{
    return class->priority == priority && helio_record_equal(&helio_requirement_type, &class->want, want);
}

job_class_t *core_class_find(const helio_broker_core_t *self, uint64_t id)
{
    job_class_t *class;
    HASH_FIND(hh_id, self->classes_by_id, &id, sizeof id, class);
    return class;
}

static uint64_t hash_of(const helio_broker_core_t *self, const helio_requirement_t *want, int32_t priority)
{
    uint64_t hash = helio_record_keyed_hash(&helio_requirement_type, want, &self->secret);
    helio_hash_key_t chained = {{self->secret.words[0] ^ hash, self->secret.words[1]}};
    return priority ? helio_keyed_hash(&chained, &priority, sizeof priority) : hash;
}

job_class_t *core_class_get(helio_broker_core_t *self, const helio_requirement_t *want, int32_t priority,
                            tenant_t *tenant, queue_t *queue, uint64_t stored_id)
{
    job_class_t *class = self->newest_class;
    if (class && is_of(class, want, priority)) {
        class->refs++;
        return class;
    }
    uint64_t hash = hash_of(self, want, priority);
    for (;; hash++) { /* if hashes collide, it gets the next free one */
        HASH_FIND(hh, self->classes, &hash, sizeof hash, class);
        if (!class || is_of(class, want, priority))
            break;
    }
    if (!class) {
        class = helio_new(1, sizeof *class);
        class->hash = hash;
        class->id = stored_id ? stored_id : hash >> 1; /* fits a bigint */
        while (core_class_find(self, class->id))
            class->id = (class->id + 1) & INT64_MAX;
        class->arena = helio_arena_new();
        class->queue = queue;
        class->account = core_account_get(tenant, queue);
        class->priority = priority;
        helio_record_copy(&helio_requirement_type, class->arena, want, &class->want);
        class->summary = helio_requirement_text(&class->want, class->arena);
        HASH_ADD(hh, self->classes, hash, sizeof class->hash, class);
        HASH_ADD(hh_id, self->classes_by_id, id, sizeof class->id, class);
    }
    class->refs++;
    self->newest_class = class;
    return class;
}

static int by_age(const job_class_t *a, const job_class_t *b)
{
    int age = helio_uuid_compare(a->waiting->key.job, b->waiting->key.job);
    return age ? age : (a->id > b->id) - (a->id < b->id);
}

/*  The priority of a job orders the jobs of one tenant in one queue only, because it is the tenant's own choice. */
int core_class_by_place(const job_class_t *a, const job_class_t *b)
{
    if (a->account == b->account && a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    return by_age(a, b);
}

void core_class_unref(helio_broker_core_t *self, job_class_t *class)
{
    if (--class->refs)
        return;
    assert(!class->waiting);
    if (self->newest_class == class)
        self->newest_class = NULL;
    HASH_DEL(self->classes, class);
    HASH_DELETE(hh_id, self->classes_by_id, class);
    self->moments->class_gone(self, class);
    free(class->options);
    free(class->targets);
    free(class->why);
    helio_arena_destroy(&class->arena);
    free(class);
}

bool core_class_doubts(const job_class_t *class, const pool_t *pool, int64_t now_ms)
{
    for (uint32_t i = 0; i < CLASS_DOUBTS_MAX; i++)
        if (class->doubts[i].pool == pool && now_ms < class->doubts[i].until_ms)
            return true;
    return false;
}

void core_class_doubt(job_class_t *class, const pool_t *pool, int64_t until_ms)
{
    for (uint32_t i = 0; i < CLASS_DOUBTS_MAX; i++)
        if (class->doubts[i].pool == pool) {
            if (class->doubts[i].until_ms < until_ms)
                class->doubts[i].until_ms = until_ms;
            return;
        }
    class->doubts[class->next_doubt] = (doubt_t){pool, until_ms};
    class->next_doubt = (class->next_doubt + 1) % CLASS_DOUBTS_MAX;
}

/*  Of more pools than CLASS_DOUBTS_MAX the class does not remember the first ones. */
static bool may_start(const job_class_t *class, const job_t *job, const pool_t *pool, int64_t now_ms)
{
#ifdef HELIO_MUTANT_placed_without_pause
    return true;
#endif
    return job->paused_until_ms <= now_ms ||
           (job->quick_losses <= CLASS_DOUBTS_MAX && !core_class_doubts(class, pool, now_ms));
}

job_t *core_class_next(const job_class_t *class, const pool_t *pool, int64_t now_ms)
{
    job_t *job = class->waiting;
    for (uint32_t i = 0; job && i < CLASS_PAUSED_MAX; i++, job = job->next)
        if (may_start(class, job, pool, now_ms))
            return job;
    return NULL;
}

int64_t core_class_paused_until_ms(const job_class_t *class, int64_t now_ms)
{
    int64_t first_ms = 0;
    const job_t *job = class->waiting;
    for (uint32_t i = 0; job && i < CLASS_PAUSED_MAX; i++, job = job->next) {
        if (job->paused_until_ms <= now_ms)
            return 0;
        if (!first_ms || job->paused_until_ms < first_ms)
            first_ms = job->paused_until_ms;
    }
    return first_ms;
}

void core_class_forget_doubts(job_class_t *class, const site_t *site)
{
#ifdef HELIO_MUTANT_doubts_outlive_their_pools
    return;
#endif
    for (uint32_t i = 0; i < CLASS_DOUBTS_MAX; i++)
        if (core_pool_is_of(class->doubts[i].pool, site))
            class->doubts[i] = (doubt_t){.pool = NULL};
}
