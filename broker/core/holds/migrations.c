/*  migrations.c -- jobs that can be migrated, and the capacity that is held for migrations under way. */
#include "broker/core/holds/migrations.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "broker/core/holds/awaited_sites.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/checks.h"
#include "broker/core/state/core.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/preemptible.h"
#include "broker/core/state/why.h"

struct migrations {
    migrant_t *migrants;
    migrant_t *held; /* those for which capacity is held */
    uint32_t held_count;
    migrant_t **changed; /* scratch of a sort */
    uint32_t changed_capacity;
    migrant_t *at;  /* the next to be judged in the open pass; NULL = no pass is open */
    int64_t due_ms; /* wall clock: when the first of them has stayed long enough; INT64_MAX = none */
};

migrations_t *core_migrations_new(void)
{
    migrations_t *self = helio_new(1, sizeof *self);
    self->due_ms = INT64_MAX;
    return self;
}

void core_migrations_destroy(migrations_t **self_p)
{
    free((*self_p)->changed);
    free(*self_p);
    *self_p = NULL;
}

static bool may_be_migrated(const submission_t *submission)
{
    return submission->better_site && (submission->signalled || submission->checkpoint_every_ms);
}

void core_migrations_move_by(helio_broker_core_t *self, int64_t by_ms)
{
    migrant_t *migrant;
    DL_FOREACH2(self->migrations->held, migrant, held_next)
    {
        migrant->gone_ms += by_ms;
    }
    DL_FOREACH(self->migrations->migrants, migrant)
    {
        migrant->saves_ms += migrant->saves_ms ? by_ms : 0;
    }
}

/* ---- held capacity ----------------------------------------------------------------------------------------- */

void core_migrations_hold(helio_broker_core_t *self, migrant_t *migrant, site_t *site, pool_t *pool,
                          uint32_t gpus_per_node)
{
    const helio_requirement_t *want = &migrant->job->submission->class->want;
    migrant->to = site;
    migrant->to_pool = pool;
    migrant->gpus_per_node = gpus_per_node;
    migrant->counted = core_pool_take(pool, want->nodes, gpus_per_node, want->cpus, want->memory_bytes);
#ifdef HELIO_MUTANT_migration_holds_nothing
    core_pool_give(pool, want->nodes, gpus_per_node, want->cpus, want->memory_bytes);
    migrant->counted = false;
#endif
    DL_APPEND2(self->migrations->held, migrant, held_prev, held_next);
    self->migrations->held_count++;
}

static void let_go(helio_broker_core_t *self, migrant_t *migrant)
{
    const helio_requirement_t *want = &migrant->job->submission->class->want;
    if (!migrant->to)
        return;
    if (migrant->counted)
        core_pool_give(migrant->to_pool, want->nodes, migrant->gpus_per_node, want->cpus, want->memory_bytes);
    migrant->to = NULL;
    migrant->to_pool = NULL;
    migrant->counted = false;
    DL_DELETE2(self->migrations->held, migrant, held_prev, held_next);
    self->migrations->held_count--;
    core_capacity_changed(self);
}

void core_migrations_unhold(helio_broker_core_t *self, job_t *job)
{
    if (job->migrant)
        let_go(self, job->migrant);
}

void core_migrations_site_drop(helio_broker_core_t *self, const site_t *site)
{
    migrant_t *migrant, *next;
    DL_FOREACH_SAFE2(self->migrations->held, migrant, next, held_next)
    {
        if (migrant->to == site)
            let_go(self, migrant);
    }
}

void core_migrations_rebase(helio_broker_core_t *self, const site_t *site)
{
    migrant_t *migrant;
    DL_FOREACH2(self->migrations->held, migrant, held_next)
    {
        const helio_requirement_t *want = &migrant->job->submission->class->want;
        if (migrant->to == site && migrant->counted)
            migrant->counted =
                core_pool_take(migrant->to_pool, want->nodes, migrant->gpus_per_node, want->cpus, want->memory_bytes);
    }
}

void core_migrations_review(helio_broker_core_t *self)
{
    migrant_t *migrant, *next;
    DL_FOREACH_SAFE2(self->migrations->held, migrant, next, held_next)
    {
        const site_t *site = migrant->to;
        if (!migrant->counted || site->state != HELIO_SITE_STATE_READY ||
            !(site->inventory_closed || core_site_is_away(self, site)) || site->draining ||
            self->wall_ms >= migrant->gone_ms + MIGRATION_OVERDUE_MS)
            let_go(self, migrant);
    }
}

uint64_t core_migrations_held_gpus(const helio_broker_core_t *self, const pool_t *pool, int64_t at_ms)
{
    uint64_t gpus = 0;
    const migrant_t *migrant;
    DL_FOREACH2(self->migrations->held, migrant, held_next)
    {
        const job_t *job = migrant->job;
        if (migrant->to_pool == pool && migrant->counted && job->state != HELIO_JOB_QUEUED &&
            job->submission->queue->tier != HELIO_TIER_CRITICAL &&
            at_ms - self->wall_ms < (int64_t)helio_requirement_longest_ms(&job->submission->class->want))
            gpus += core_migration_target_gpus(job, migrant->gpus_per_node);
    }
    return gpus;
}

migrant_t *core_migrations_first_held(const helio_broker_core_t *self)
{
    return self->migrations->held;
}

uint32_t core_migrations_held_count(const helio_broker_core_t *self)
{
    return self->migrations->held_count;
}

/* ---- passes over those that can be migrated ------------------------------------------------------------ */

bool core_migrations_any(const helio_broker_core_t *self)
{
    return self->migrations->migrants != NULL;
}

/*  Those that gain most go first, since room is scarce where it is worth most; those of equal gain keep their order. */
static bool is_before(const migrant_t *a, const migrant_t *b)
{
    return a->gain != b->gain ? a->gain > b->gain : a->place < b->place;
}

static int by_gain(const void *a_, const void *b_)
{
    migrant_t *const *a = a_, *const *b = b_;
    return is_before(*b, *a) - is_before(*a, *b);
}

/*  Takes out those whose gain is another one than at the last sort, and returns their number. */
static uint32_t take_changed(migrations_t *self)
{
    migrant_t *migrant, *next;
    uint32_t place = 0, count = 0;
    DL_FOREACH_SAFE(self->migrants, migrant, next)
    {
        migrant->place = place++;
        if (migrant->gain == migrant->sorted_gain)
            continue;
        migrant->sorted_gain = migrant->gain;
        DL_DELETE(self->migrants, migrant);
        if (count == self->changed_capacity) {
            self->changed_capacity = count ? count * 2 : 64;
            self->changed = helio_grow(self->changed, self->changed_capacity, sizeof(migrant_t *));
        }
        self->changed[count++] = migrant;
    }
    return count;
}

/*  The list was sorted when the last pass began, and between two passes few gains change. */
static void sort_by_gain(migrations_t *self)
{
    uint32_t count = take_changed(self);
    migrant_t *next = self->migrants;
    if (count)
        qsort(self->changed, count, sizeof(migrant_t *), by_gain);
    for (uint32_t i = 0; i < count; i++) {
        while (next && is_before(next, self->changed[i]))
            next = next->next;
        if (next)
            DL_PREPEND_ELEM(self->migrants, next, self->changed[i]);
        else
            DL_APPEND(self->migrants, self->changed[i]);
    }
}

void core_migrations_begin_pass(helio_broker_core_t *self)
{
#ifdef HELIO_MUTANT_room_to_the_first
    (void)sort_by_gain;
#else
    sort_by_gain(self->migrations);
#endif
    self->migrations->at = self->migrations->migrants;
    self->migrations->due_ms = INT64_MAX;
}

bool core_migrations_pass_is_open(const helio_broker_core_t *self)
{
    return self->migrations->at != NULL;
}

migrant_t *core_migrations_next(helio_broker_core_t *self)
{
    migrant_t *migrant = self->migrations->at;
    self->migrations->at = migrant->next;
    return migrant;
}

int64_t core_migrations_due_ms(const helio_broker_core_t *self)
{
    return self->migrations->due_ms;
}

/* ---- jobs that can be migrated ------------------------------------------------------------------------- */

void core_migrations_note_due(helio_broker_core_t *self, migrant_t *migrant, int64_t at_ms)
{
    migrations_t *migrations = self->migrations;
    migrant->due_ms = at_ms;
    migrations->due_ms = at_ms < migrations->due_ms ? at_ms : migrations->due_ms;
    core_check_by(self, CORE_CHECK_CLASSES, at_ms);
}

/*  By the site's clock since the run began, and by this broker's clock since it learnt of that. */
uint64_t core_migrations_residence_ms(const helio_broker_core_t *self, const job_t *job)
{
    uint64_t protection_ms = (uint64_t)helio_preempt_protection_ms(core_preempt_tier(job));
#ifdef HELIO_MUTANT_migrations_at_once
    return helio_migration_residence_ms(0, core_preempt_ran_ms(self, job), protection_ms);
#endif
    uint64_t stays_ms = helio_migration_residence_ms(job->migrations, core_preempt_ran_ms(self, job), protection_ms);
    if (!job->migrant || !job->migrant->notified)
        return stays_ms;
    uint64_t notified_ms = helio_migration_residence_ms(
        job->migrations, (uint64_t)(self->now_ms - job->migrant->notified_ms), protection_ms);
    return notified_ms > stays_ms ? notified_ms : stays_ms;
}

static void watch(helio_broker_core_t *self, job_t *job)
{
    job->migrant = helio_new(1, sizeof *job->migrant);
    job->migrant->job = job;
    DL_APPEND(self->migrations->migrants, job->migrant);
}

void core_migrations_state_changed(helio_broker_core_t *self, job_t *job)
{
    bool live = helio_job_state_is_live(job->state), runs = job->state == HELIO_JOB_RUNNING;
    job->migrating = job->migrating && job->state == HELIO_JOB_STOPPING;
    if (runs && !job->migrant && may_be_migrated(job->submission))
        watch(self, job);
    if (runs && job->migrant) {
        job->migrant->facts = 0; /* it may run elsewhere now */
        job->migrant->saves_ms = 0;
        core_migrations_note_due(self, job->migrant, self->wall_ms + (int64_t)core_migrations_residence_ms(self, job));
    }
    if (job->migrant && ((live && !job->migrating) || (!live && job->state != HELIO_JOB_QUEUED)))
        let_go(self, job->migrant);
}

void core_migrations_load(helio_broker_core_t *self, job_t *job)
{
    job->migrating = job->state == HELIO_JOB_STOPPING && job->intent == HELIO_INTENT_PREEMPT &&
                     core_why_has(job->why, HELIO_DETAIL_MIGRATED);
    if (!job->migrant && may_be_migrated(job->submission))
        watch(self, job);
}

void core_migrations_forget(helio_broker_core_t *self, job_t *job)
{
    migrant_t *migrant = job->migrant;
    if (!migrant)
        return;
    let_go(self, migrant);
    if (self->migrations->at == migrant)
        self->migrations->at = migrant->next;
    DL_DELETE(self->migrations->migrants, migrant);
    free(migrant);
    job->migrant = NULL;
}
