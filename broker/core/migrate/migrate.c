/*  migrate.c -- running jobs that are moved to where the rest of their run does better.
 *
 *  Looked at in passes over those who may be moved: when an hour begins, when a site or a series changed,
 * when one has stayed long enough, and when room changed and one of them had none; no pass within seconds of
 * the last, and each in pieces. What a class could be moved to is kept while it stands; a job costs some
 * arithmetic for each such pool.
 *
 *  Only room that nobody who waits could take is taken: after the turns, where nobody has a reservation, an
 * eviction under way, a promise for an hour to come, and nobody waits for such GPUs. Nobody is evicted for a
 * move.
 */
#include "broker/core/migrate/migrate.h"

#include <stdlib.h>
#include <utlist.h>

#include "broker/core/decide/evaluate.h"
#include "broker/core/decide/placement.h"
#include "broker/core/holds/migrations.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/migrate/records.h"
#include "broker/core/migrate/targets.h"
#include "broker/core/state/core.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/option.h"

enum {
    PASS_MS = 10000, /* from the begin of a pass to the next */
    JUDGED_MAX = 64, /* in one round; the pass goes on soon after */
    JUDGED_AGAIN_MS = 100,
    BEGUN_MAX = 8,     /* moves of one round: what the others see of it is looked at first */
    HELD_MAX = 256     /* under way at once */
};

/* ---- a pass -------------------------------------------------------------------------------------------- */

static void begin(helio_broker_core_t *self, mover_t *mover, const spots_t *spots, const spot_t *spot,
                  const helio_move_t *move)
{
    job_t *job = mover->job;
    const char *reason = core_moved_text(self, job, spot, move);
    (void)helio_text_copy(helio_text_of(core_job_site(job)), mover->from, sizeof mover->from);
    mover->move = *move;
    mover->transfer = spot->of.transfer;
    mover->decision_id = core_moved_write(self, job, spots, spot, reason);
    core_moves_hold(self, mover, spot->site, spot->pool, spot->gpus_per_node);
    job->moving = mover->told = true;
    mover->told_ms = self->now_ms;
    job->moves++;
    mover->gone_ms = core_evict_job(self, job, HELIO_EVICT_WHY_MOVE, NULL, reason);
}

/*  The best of those that are worth it and have room. True: it was told to leave. */
static bool judge(helio_broker_core_t *self, mover_t *mover)
{
    job_t *job = mover->job;
    if (job->state != HELIO_JOB_RUNNING || !job->pool || job->moves >= HELIO_MOVE_TIMES_MAX)
        return false;
    uint64_t stays_ms = core_moves_stays_ms(self, job);
    if (stays_ms) {
        core_moves_note_due(self, self->wall_ms + (int64_t)stays_ms);
        return false;
    }
    const spots_t *spots = core_moves_spots(self, job->submission->class);
    const spot_t *best = NULL;
    helio_move_t best_move = {.saves_micro_usd = 0};
    for (uint32_t i = 0; i < spots->count; i++) {
        const spot_t *spot = &spots->items[i];
        const char *detail;
        if (!core_moves_is_apt(spots, job, spot))
            continue;
        helio_move_t move = core_moves_weigh(self, job, spot);
        if (!helio_move_is_worth(&move) || (best && move.saves_micro_usd <= best_move.saves_micro_usd))
            continue;
        if (core_moves_obstacle(self, job, spot, &detail) != HELIO_REJECTION_NONE) {
            self->moves->blocked = true;
            continue;
        }
        best = spot;
        best_move = move;
    }
    if (best)
        begin(self, mover, spots, best, &best_move);
    return best != NULL;
}

static bool is_due(const helio_broker_core_t *self)
{
    const moves_t *moves = self->moves;
    return moves->facts != self->facts_version || moves->hour_ms != helio_hour_of(self->wall_ms) ||
           (moves->blocked && moves->capacity != self->capacity_version) || self->wall_ms >= moves->due_ms;
}

static void begin_pass(helio_broker_core_t *self)
{
    moves_t *moves = self->moves;
    moves->at = moves->movers;
    moves->facts = self->facts_version;
    moves->capacity = self->capacity_version;
    moves->hour_ms = helio_hour_of(self->wall_ms);
    moves->next_ms = self->now_ms + PASS_MS;
    moves->due_ms = INT64_MAX;
    moves->blocked = false;
}

/*  When there is next something to do; a change of a site wants a round by itself. */
static int64_t look_ms(const helio_broker_core_t *self)
{
    const moves_t *moves = self->moves;
    if (moves->at)
        return self->wall_ms + JUDGED_AGAIN_MS;
    if (is_due(self))
        return self->wall_ms + (moves->next_ms > self->now_ms ? moves->next_ms - self->now_ms : 0);
    int64_t at_ms = moves->hour_ms + HELIO_HOUR_MS;
    at_ms = moves->due_ms < at_ms ? moves->due_ms : at_ms;
    const mover_t *mover;
    DL_FOREACH2(moves->held, mover, held_next)
    {
        at_ms = mover->gone_ms + MIGRATION_OVERDUE_MS < at_ms ? mover->gone_ms + MIGRATION_OVERDUE_MS : at_ms;
    }
    return at_ms;
}

void core_moves_judge(helio_broker_core_t *self)
{
    moves_t *moves = self->moves;
    uint32_t judged = 0, begun = 0;
    moves->look_ms = INT64_MAX;
    if (!moves->movers)
        return;
    int64_t unheard_ms = core_evict_unheard_ms(self);
    if (unheard_ms) { /* it cannot be told apart from what the last leader began */
        moves->look_ms = self->wall_ms + unheard_ms;
        return;
    }
    if (!moves->at && is_due(self) && self->now_ms >= moves->next_ms)
        begin_pass(self);
    while (moves->at && judged < JUDGED_MAX && begun < BEGUN_MAX && moves->held_count < HELD_MAX) {
        mover_t *mover = moves->at;
        moves->at = mover->next;
        begun += judge(self, mover);
        judged++;
    }
    moves->look_ms = look_ms(self);
}

/* ---- it has left --------------------------------------------------------------------------------------- */

static void place(helio_broker_core_t *self, mover_t *mover)
{
    job_t *job = mover->job;
    job_class_t *class = job->submission->class;
    const helio_move_t *move = &mover->move;
    spot_t spot = {.site = mover->to, .pool = mover->to_pool, .gpus_per_node = mover->gpus_per_node};
    const char *detail;
    core_moves_release(self, job);
    int64_t end_ms = self->wall_ms + (int64_t)(mover->transfer.ms + move->run_high_ms);
    bool late = class->want.deadline_wall_ms && end_ms > class->want.deadline_wall_ms;
    helio_candidate_t now = helio_choice_filter(&class->want, &spot.site->profile, &spot.pool->info);
    if (late || now.rejection != HELIO_REJECTION_NONE || now.gpus_per_node != spot.gpus_per_node ||
        core_moves_obstacle(self, job, &spot, &detail) != HELIO_REJECTION_NONE)
        return; /* the usual way */
    option_t option = {
        .site = spot.site,
        .pool = spot.pool,
        .c = {.gpus_per_node = spot.gpus_per_node,
              .run_ms = move->run_ms,
              .run_high_ms = move->run_high_ms,
              .now = move->run,
              .transfer = mover->transfer},
    };
    evaluation_t e = {.class = class, .decision_id = mover->decision_id, .moved_from = mover->from};
    core_place(self, &e, job, &option);
}

uint32_t core_moves_place(helio_broker_core_t *self)
{
    uint32_t placed = 0;
    mover_t *mover, *next;
    DL_FOREACH_SAFE2(self->moves->held, mover, next, held_next)
    {
        if (mover->job->state != HELIO_JOB_QUEUED || !mover->job->fed)
            continue;
        place(self, mover);
        placed++;
    }
    return placed;
}
