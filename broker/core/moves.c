/*  moves.c -- running jobs that are moved to where the rest of their run does better.
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
#include <stdlib.h>
#include <string.h>

#include "broker/core/evaluation.h"

enum {
    PASS_MS = 10000, /* from the begin of a pass to the next */
    JUDGED_MAX = 64, /* in one round; the pass goes on soon after */
    JUDGED_AGAIN_MS = 100,
    BEGUN_MAX = 8,     /* moves of one round: what the others see of it is looked at first */
    HELD_MAX = 256,    /* under way at once */
    OVERDUE_MS = 60000 /* past its grace, and it is there yet */
};

static bool may_be_moved(const submission_t *submission)
{
    return submission->better_site && (submission->signalled || submission->checkpoint_every_ms);
}

static uint32_t gpus_of(const job_t *job, uint32_t gpus_per_node)
{
    return gpus_per_node * job->submission->class->want.nodes;
}

/*  A copy of its class, alone in line, so that nothing of the class changes. */
static job_class_t class_of(const job_t *job, job_t *ret_alone)
{
    job_class_t class = *job->submission->class;
    *ret_alone = *job;
    ret_alone->prev = ret_alone->next = NULL;
    class.waiting = ret_alone;
    class.waiting_count = 1;
    class.options = NULL;
    class.refs = 0;
    class.evictions = 0;
    class.expected_gpus = 0;
    class.level = 0;
    return class;
}

/* ---- room that is held -----------------------------------------------------------------------------------
 */

static void hold(helio_broker_core_t *self, mover_t *mover, const spot_t *spot)
{
    const helio_requirement_t *want = &mover->job->submission->class->want;
    mover->to = spot->site;
    mover->to_pool = spot->pool;
    mover->gpus_per_node = spot->gpus_per_node;
    mover->counted =
        core_pool_take(spot->pool, want->nodes, spot->gpus_per_node, want->cpus, want->memory_bytes);
#ifdef HELIO_MUTANT_move_holds_nothing
    core_pool_give(spot->pool, want->nodes, spot->gpus_per_node, want->cpus, want->memory_bytes);
    mover->counted = false;
#endif
    DL_APPEND2(self->moves.held, mover, held_prev, held_next);
    self->moves.held_count++;
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
    DL_DELETE2(self->moves.held, mover, held_prev, held_next);
    self->moves.held_count--;
    self->capacity_version++;
    self->round_wanted = true;
}

void core_moves_release(helio_broker_core_t *self, job_t *job)
{
    if (job->mover)
        let_go(self, job->mover);
}

void core_moves_site_drop(helio_broker_core_t *self, const site_t *site)
{
    mover_t *mover, *next;
    DL_FOREACH_SAFE2(self->moves.held, mover, next, held_next)
    {
        if (mover->to == site)
            let_go(self, mover);
    }
}

void core_moves_rebase(helio_broker_core_t *self, const site_t *site)
{
    mover_t *mover;
    DL_FOREACH2(self->moves.held, mover, held_next)
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
    DL_FOREACH_SAFE2(self->moves.held, mover, next, held_next)
    {
        const site_t *site = mover->to;
        if (!mover->counted || site->state != HELIO_SITE_STATE_READY || !site->inventory_closed ||
            site->draining || self->wall_ms >= mover->gone_ms + OVERDUE_MS)
            let_go(self, mover);
    }
}

uint64_t core_moves_held_gpus(const helio_broker_core_t *self, const pool_t *pool, int64_t at_ms)
{
    uint64_t gpus = 0;
    const mover_t *mover;
    DL_FOREACH2(self->moves.held, mover, held_next)
    {
        const job_t *job = mover->job;
        if (mover->to_pool == pool && mover->counted && job->state != HELIO_JOB_QUEUED &&
            job->submission->queue->tier != HELIO_TIER_CRITICAL &&
            at_ms - self->wall_ms < (int64_t)job->submission->row.time_limit_ms)
            gpus += gpus_of(job, mover->gpus_per_node);
    }
    return gpus;
}

/* ---- who may be moved ------------------------------------------------------------------------------------
 */

static void note_due(helio_broker_core_t *self, int64_t at_ms)
{
    moves_t *moves = &self->moves;
    moves->due_ms = at_ms < moves->due_ms ? at_ms : moves->due_ms;
    self->look_ms = at_ms < self->look_ms ? at_ms : self->look_ms;
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
    DL_APPEND(self->moves.movers, job->mover);
}

void core_moves_follow(helio_broker_core_t *self, job_t *job)
{
    bool live = helio_job_state_is_live(job->state), runs = job->state == HELIO_JOB_RUNNING;
    job->moving = job->moving && job->state == HELIO_JOB_STOPPING;
    if (runs && !job->mover && may_be_moved(job->submission))
        watch(self, job);
    if (runs && job->mover)
        note_due(self, self->wall_ms + (int64_t)core_moves_stays_ms(self, job));
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
    if (self->moves.at == mover)
        self->moves.at = mover->next;
    DL_DELETE(self->moves.movers, mover);
    free(mover);
    job->mover = NULL;
}

/* ---- where to --------------------------------------------------------------------------------------------
 */

static spot_t spot_of(helio_broker_core_t *self, const job_class_t *class, const option_t *option)
{
    const helio_candidate_t *c = &option->c;
    helio_rejection_t rejection = c->rejection;
    bool passes = helio_rejection_group(rejection) == HELIO_REASON_WAITING_FOR_CAPACITY,
         bound = helio_rejection_group(rejection) == HELIO_REASON_POLICY_CAP;
    if (rejection != HELIO_REJECTION_OVERFLOW && passes)
        rejection = HELIO_REJECTION_NONE; /* what a site is doing now is asked of the site */
    if (bound) /* of a whole run; that the group's price would be kept was not asked */
        rejection = class->overflow ? HELIO_REJECTION_OVERFLOW : HELIO_REJECTION_NONE;
    return (spot_t){
        .site = option->site,
        .pool = option->pool,
        .rejection = rejection,
        .ask = c->ask,
        .gpus_per_node = c->gpus_per_node,
        .step = option->step,
        .of = {.outlook = core_pool_outlook(self, option->site, option->pool),
               .gpus = core_option_gpus(class, option),
               .run_ms = c->run_ms,
               .run_high_ms = c->run_high_ms,
               .transfer = c->transfer},
    };
}

const spots_t *core_moves_spots(helio_broker_core_t *self, job_class_t *class)
{
    spots_t *spots = class->spots;
    int64_t hour_ms = helio_hour_of(self->wall_ms);
    if (spots && spots->facts == self->facts_version && spots->pools == self->pools_version &&
        spots->hour_ms == hour_ms)
        return spots;
    job_class_t alone = *class;
    alone.options = NULL;
    alone.refs = 0;
    alone.yielded = 0;
    evaluation_t e = core_evaluate(self, &alone);
    free(spots);
    spots = class->spots = helio_grow(NULL, 1, sizeof *spots + e.count * sizeof(spot_t));
    *spots = (spots_t){
        .facts = self->facts_version, .pools = self->pools_version, .hour_ms = hour_ms, .count = e.count};
    for (uint32_t i = 0; i < e.count; i++)
        spots->items[i] = spot_of(self, &alone, &e.options[i]);
    return spots;
}

static const spot_t *spot_at(const spots_t *spots, const pool_t *pool)
{
    for (uint32_t i = 0; i < spots->count; i++)
        if (spots->items[i].pool == pool)
            return &spots->items[i];
    return NULL;
}

helio_move_t core_moves_weigh(helio_broker_core_t *self, const job_t *job, const spot_t *spot)
{
    const submission_t *submission = job->submission;
    const helio_requirement_t *want = &submission->class->want;
    bool killed = core_evict_tier(job) == HELIO_TIER_BEST_EFFORT && !submission->signalled;
    uint64_t gpus = gpus_of(job, job->gpus_per_node);
    helio_mover_t mover = {
        .prices = {want->carbon_price_micro_usd_per_t, want->wait_price_micro_usd_per_gpu_h, 0},
        .now_ms = self->wall_ms,
        .ran_ms = core_evict_ran_ms(self, job),
        .before_ms = gpus ? job->used.gpu_ms / gpus : 0,
        .limit_ms = want->time_limit_ms,
        .leave_ms = killed ? 0 : submission->grace_ms,
        .every_ms = submission->checkpoint_every_ms,
        .signalled = submission->signalled,
        .times = job->moves,
        .deadline_wall_ms = want->deadline_wall_ms,
        .max_cost_micro_usd = want->max_cost_micro_usd,
        .max_carbon_mg_per_kwh = want->max_carbon_mg_per_kwh,
    };
    helio_spot_t here = {.outlook = core_pool_outlook(self, job->site, job->pool),
                         .gpus = gpus,
                         .run_ms = helio_requirement_run_ms(want, job->pool->info.gpu),
                         .run_high_ms = helio_requirement_run_high_ms(want, job->pool->info.gpu)};
    return helio_move_weigh(&mover, &here, &spot->of);
}

/*  Somebody in line could use GPUs of it, and waits for nothing else. */
static bool is_waited_for(helio_broker_core_t *self, const site_t *site, pool_t *pool)
{
    if (pool->waited_round == self->rounds)
        return pool->waited_for;
    pool->waited_round = self->rounds;
    pool->waited_for = false;
    for (const job_class_t *class = self->classes; class && !pool->waited_for; class = class->hh.next)
        pool->waited_for =
            class->waiting &&
            (class->reason == HELIO_REASON_WAITING_FOR_CAPACITY || class->reason == HELIO_REASON_NONE ||
             class->reason == HELIO_REASON_QUEUED) &&
            helio_choice_filter(&class->want, &site->profile, &pool->info).rejection == HELIO_REJECTION_NONE;
    return pool->waited_for;
}

/*  Those who wait for an hour to come find the room that they were promised, by the limits. */
static bool is_promised(const helio_broker_core_t *self, const pool_t *pool, uint32_t gpus, uint64_t limit_ms)
{
    uint64_t hours = limit_ms / HELIO_HOUR_MS + 1;
    uint32_t free_gpus = core_pool_gpus_free(pool);
    for (uint64_t h = 0; h <= hours && h < PROMISE_HOURS; h++) {
        uint64_t hour = (uint64_t)(self->wall_ms / HELIO_HOUR_MS) + h;
        if (gpus && pool->promised_gpus[hour % PROMISE_HOURS] + gpus > free_gpus)
            return pool->promised_gpus[hour % PROMISE_HOURS] > 0;
    }
    return false;
}

/*  leaves: it is not decided yet, and there is no haste. */
static bool is_taking(const helio_broker_core_t *self, const spot_t *spot, bool leaves)
{
    const site_t *site = spot->site;
    if (leaves && (site->stale || self->now_ms < spot->pool->doubtful_until_ms))
        return false;
    return site->state == HELIO_SITE_STATE_READY && site->inventory_closed && site->capacity_known &&
           self->now_ms >= spot->pool->penalty_until_ms &&
           site->unanswered < self->options.offers_unanswered_max;
}

helio_rejection_t core_moves_obstacle(helio_broker_core_t *self, const job_t *job, const spot_t *spot,
                                      const char **ret_detail)
{
    job_t alone;
    job_class_t class = class_of(job, &alone);
    const helio_requirement_t *want = &class.want;
    const pool_t *pool = spot->pool;
    uint32_t gpus = gpus_of(job, spot->gpus_per_node), has = gpus_of(job, job->gpus_per_node);
    bool leaves = job->site != NULL; /* its own GPUs come back */
    int64_t until_ms;
    *ret_detail = "";
    if (spot->site->draining)
        return HELIO_REJECTION_DRAINING;
    if (!is_taking(self, spot, leaves))
        return HELIO_REJECTION_SITE_SILENT;
    if (gpus > (leaves ? has : 0) && gpus - (leaves ? has : 0) > core_quota_left(&class)) {
        *ret_detail = core_quota_text(self, &class, gpus);
        return HELIO_REJECTION_QUOTA;
    }
    if (!core_room_fits(pool, &pool->free, want->nodes, spot->gpus_per_node, want->cpus,
                        want->memory_bytes)) {
        *ret_detail = core_printf(self, "%u GPUs free", core_pool_gpus_free(pool));
        return HELIO_REJECTION_NO_CAPACITY;
    }
    if (!core_kept_allows(self, &class, pool, spot->gpus_per_node, 0))
        *ret_detail = core_kept_text(self, &class, spot->site, pool, spot->gpus_per_node, &until_ms);
    else if (!leaves)
        return HELIO_REJECTION_NONE;
    else if (pool->reservation.class && pool->reservation.class->waiting)
        *ret_detail = "kept for a gang that waits";
    else if (pool->evictions)
        *ret_detail = "kept for a job for which others leave";
    else if (is_promised(self, pool, gpus, want->time_limit_ms))
        *ret_detail = "kept for jobs that wait for an hour to come";
    else if (is_waited_for(self, spot->site, spot->pool))
        *ret_detail = "jobs wait for GPUs there";
    else
        return HELIO_REJECTION_NONE;
    return HELIO_REJECTION_NO_CAPACITY;
}

/* ---- a pass ----------------------------------------------------------------------------------------------
 */

bool core_moves_is_apt(const spots_t *spots, const job_t *job, const spot_t *spot)
{
    const spot_t *here = spot_at(spots, job->pool);
    bool further = here && (spot->step > here->step || (!job->submission->class->want.gpus_any &&
                                                        spot->step == here->step && spot->ask > here->ask));
    return spot->pool != job->pool && spot->rejection == HELIO_REJECTION_NONE && !further &&
           spot->pool != job->submission->class->doubtful;
}

static void begin(helio_broker_core_t *self, mover_t *mover, const spots_t *spots, const spot_t *spot,
                  const helio_move_t *move)
{
    job_t *job = mover->job;
    const char *reason = core_moved_text(self, job, spot, move);
    (void)helio_text_copy(helio_text_of(core_job_site(job)), mover->from, sizeof mover->from);
    mover->move = *move;
    mover->transfer = spot->of.transfer;
    mover->decision_id = core_moved_write(self, job, spots, spot, reason);
    hold(self, mover, spot);
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
        note_due(self, self->wall_ms + (int64_t)stays_ms);
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
            self->moves.blocked = true;
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
    const moves_t *moves = &self->moves;
    return moves->facts != self->facts_version || moves->hour_ms != helio_hour_of(self->wall_ms) ||
           (moves->blocked && moves->capacity != self->capacity_version) || self->wall_ms >= moves->due_ms;
}

static void begin_pass(helio_broker_core_t *self)
{
    moves_t *moves = &self->moves;
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
    const moves_t *moves = &self->moves;
    if (moves->at)
        return self->wall_ms + JUDGED_AGAIN_MS;
    if (is_due(self))
        return self->wall_ms + (moves->next_ms > self->now_ms ? moves->next_ms - self->now_ms : 0);
    int64_t at_ms = moves->hour_ms + HELIO_HOUR_MS;
    at_ms = moves->due_ms < at_ms ? moves->due_ms : at_ms;
    const mover_t *mover;
    DL_FOREACH2(moves->held, mover, held_next)
    {
        at_ms = mover->gone_ms + OVERDUE_MS < at_ms ? mover->gone_ms + OVERDUE_MS : at_ms;
    }
    return at_ms;
}

void core_moves_judge(helio_broker_core_t *self)
{
    moves_t *moves = &self->moves;
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

/* ---- it has left -----------------------------------------------------------------------------------------
 */

static void place(helio_broker_core_t *self, mover_t *mover)
{
    job_t *job = mover->job;
    job_class_t *class = job->submission->class;
    const helio_move_t *move = &mover->move;
    spot_t spot = {.site = mover->to, .pool = mover->to_pool, .gpus_per_node = mover->gpus_per_node};
    const char *detail;
    let_go(self, mover);
    int64_t end_ms = self->wall_ms + (int64_t)(mover->transfer.ms + move->run_high_ms);
    if (core_moves_obstacle(self, job, &spot, &detail) != HELIO_REJECTION_NONE ||
        (class->want.deadline_wall_ms && end_ms > class->want.deadline_wall_ms))
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
    DL_FOREACH_SAFE2(self->moves.held, mover, next, held_next)
    {
        if (mover->job->state != HELIO_JOB_QUEUED || !mover->job->fed)
            continue;
        place(self, mover);
        placed++;
    }
    return placed;
}
