/*  migrations.c -- jobs that can be migrated, and the capacity that is held for those under way. */
#include "broker/core/holds/migrations.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "broker/core/state/changes.h"
#include "broker/core/state/checks.h"
#include "broker/core/state/core.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/preemptible.h"

moves_t *core_moves_new(void)
{
    moves_t *self = helio_new(1, sizeof *self);
    self->due_ms = self->look_ms = INT64_MAX;
    return self;
}

void core_moves_destroy(moves_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

bool core_moved_is(helio_text_t reason)
{
    static const char begin[] = CORE_MOVED_FROM;
    return reason.size >= sizeof begin - 1 && memcmp(reason.data, begin, sizeof begin - 1) == 0;
}

static bool may_be_moved(const submission_t *submission)
{
    return submission->better_site && (submission->signalled || submission->checkpoint_every_ms);
}

void core_moves_move_by(helio_broker_core_t *self, int64_t by_ms)
{
    mover_t *mover;
    DL_FOREACH2(self->moves->held, mover, held_next)
    {
        mover->gone_ms += by_ms;
    }
}

/* ---- room that is held --------------------------------------------------------------------------------- */

void core_moves_hold(helio_broker_core_t *self, mover_t *mover, site_t *site, pool_t *pool, uint32_t gpus_per_node)
{
    const helio_requirement_t *want = &mover->job->submission->class->want;
    mover->to = site;
    mover->to_pool = pool;
    mover->gpus_per_node = gpus_per_node;
    mover->counted =
        core_pool_take(pool, want->nodes, gpus_per_node, want->cpus, want->memory_bytes);
#ifdef HELIO_MUTANT_move_holds_nothing
    core_pool_give(pool, want->nodes, gpus_per_node, want->cpus, want->memory_bytes);
    mover->counted = false;
#endif
    DL_APPEND2(self->moves->held, mover, held_prev, held_next);
    self->moves->held_count++;
}

static void let_go(helio_broker_core_t *self, mover_t *mover)
{
    const helio_requirement_t *want = &mover->job->submission->class->want;
    if (!mover->to)
        return;
    if (mover->counted)
        core_pool_give(mover->to_pool, want->nodes, mover->gpus_per_node, want->cpus, want->memory_bytes);
    mover->to = NULL;
    mover->to_pool = NULL;
    mover->counted = false;
    DL_DELETE2(self->moves->held, mover, held_prev, held_next);
    self->moves->held_count--;
    core_capacity_changed(self);
}

void core_moves_release(helio_broker_core_t *self, job_t *job)
{
    if (job->mover)
        let_go(self, job->mover);
}

void core_moves_site_drop(helio_broker_core_t *self, const site_t *site)
{
    mover_t *mover, *next;
    DL_FOREACH_SAFE2(self->moves->held, mover, next, held_next)
    {
        if (mover->to == site)
            let_go(self, mover);
    }
}

void core_moves_rebase(helio_broker_core_t *self, const site_t *site)
{
    mover_t *mover;
    DL_FOREACH2(self->moves->held, mover, held_next)
    {
        const helio_requirement_t *want = &mover->job->submission->class->want;
        if (mover->to == site && mover->counted)
            mover->counted = core_pool_take(mover->to_pool, want->nodes, mover->gpus_per_node, want->cpus,
                                            want->memory_bytes);
    }
}

void core_moves_review(helio_broker_core_t *self)
{
    mover_t *mover, *next;
    DL_FOREACH_SAFE2(self->moves->held, mover, next, held_next)
    {
        const site_t *site = mover->to;
        if (!mover->counted || site->state != HELIO_SITE_STATE_READY || !site->inventory_closed ||
            site->draining || self->wall_ms >= mover->gone_ms + MIGRATION_OVERDUE_MS)
            let_go(self, mover);
    }
}

uint64_t core_moves_held_gpus(const helio_broker_core_t *self, const pool_t *pool, int64_t at_ms)
{
    uint64_t gpus = 0;
    const mover_t *mover;
    DL_FOREACH2(self->moves->held, mover, held_next)
    {
        const job_t *job = mover->job;
        if (mover->to_pool == pool && mover->counted && job->state != HELIO_JOB_QUEUED &&
            job->submission->queue->tier != HELIO_TIER_CRITICAL &&
            at_ms - self->wall_ms < (int64_t)job->submission->row.time_limit_ms)
            gpus += core_moves_gpus(job, mover->gpus_per_node);
    }
    return gpus;
}

/* ---- who may be moved ---------------------------------------------------------------------------------- */

void core_moves_note_due(helio_broker_core_t *self, int64_t at_ms)
{
    moves_t *moves = self->moves;
    moves->due_ms = at_ms < moves->due_ms ? at_ms : moves->due_ms;
    core_check_by(self, CORE_CHECK_CLASSES, at_ms);
}

/*  By the site's clock since it began, and by one's own since it was told. */
uint64_t core_moves_stays_ms(const helio_broker_core_t *self, const job_t *job)
{
    uint64_t young_ms = (uint64_t)helio_evict_young_ms(core_evict_tier(job));
#ifdef HELIO_MUTANT_moves_at_once
    return helio_move_stays_ms(0, core_evict_ran_ms(self, job), young_ms);
#endif
    uint64_t stays_ms = helio_move_stays_ms(job->moves, core_evict_ran_ms(self, job), young_ms);
    if (!job->mover || !job->mover->told)
        return stays_ms;
    uint64_t told_ms =
        helio_move_stays_ms(job->moves, (uint64_t)(self->now_ms - job->mover->told_ms), young_ms);
    return told_ms > stays_ms ? told_ms : stays_ms;
}

static void watch(helio_broker_core_t *self, job_t *job)
{
    job->mover = helio_new(1, sizeof *job->mover);
    job->mover->job = job;
    DL_APPEND(self->moves->movers, job->mover);
}

void core_moves_follow(helio_broker_core_t *self, job_t *job)
{
    bool live = helio_job_state_is_live(job->state), runs = job->state == HELIO_JOB_RUNNING;
    job->moving = job->moving && job->state == HELIO_JOB_STOPPING;
    if (runs && !job->mover && may_be_moved(job->submission))
        watch(self, job);
    if (runs && job->mover)
        core_moves_note_due(self, self->wall_ms + (int64_t)core_moves_stays_ms(self, job));
    if (job->mover && ((live && !job->moving) || (!live && job->state != HELIO_JOB_QUEUED)))
        let_go(self, job->mover);
}

void core_moves_load(helio_broker_core_t *self, job_t *job)
{
    job->moving = job->state == HELIO_JOB_STOPPING && job->intent == HELIO_INTENT_PREEMPT &&
                  core_moved_is(helio_text_of(job->reason));
    if (!job->mover && may_be_moved(job->submission))
        watch(self, job);
}

void core_moves_forget(helio_broker_core_t *self, job_t *job)
{
    mover_t *mover = job->mover;
    if (!mover)
        return;
    let_go(self, mover);
    if (self->moves->at == mover)
        self->moves->at = mover->next;
    DL_DELETE(self->moves->movers, mover);
    free(mover);
    job->mover = NULL;
}
