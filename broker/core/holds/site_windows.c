/*  site_windows.c -- GPUs that a site reserves by the clock: `windows` of its file, reported as its series
 *  reserved_gpus.
 *
 *  They are reserved for critical queues and for work outside the federation. All other work together can hold the pool
 *  less what is reserved, on whichever nodes, because the broker does not know nodes. So a window limits that work; how
 *  much of the reserved GPUs is in use does not matter.
 *
 *  Before more is reserved, the jobs whose GPUs will be needed are preempted, each by its grace and a margin ahead, so
 *  that they have left by then. Jobs that cannot be preempted are waited for, and counted. */
#include "broker/core/holds/site_windows.h"

#include <math.h>
#include <stdlib.h>
#include <utlist.h>

#include "broker/core/holds/migrations.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/preemptible.h"
#include "broker/core/state/why.h"
#include "federation/base/clock.h"

struct site_windows {
    int64_t review_ms; /* wall clock: next check of what sites reserve; INT64_MAX = no site reserves anything */
};

site_windows_t *core_site_windows_new(void)
{
    site_windows_t *self = helio_new(1, sizeof *self);
    self->review_ms = INT64_MAX;
    return self;
}

void core_site_windows_destroy(site_windows_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

int64_t core_site_window_review_ms(const helio_broker_core_t *self)
{
    return self->site_windows->review_ms;
}

enum {
    MARGIN_MS = 30000, /* between the last grace and the window: the report of an end takes time */
    AGAIN_MS = 5000    /* some jobs in the way have not started yet, and cannot be preempted before */
};

/* ---- what is reserved, and what jobs hold ------------------------------------------------------------------ */

static bool is_critical(const queue_t *queue)
{
    return queue->tier == HELIO_TIER_CRITICAL;
}

/*  The value at a point of the series. After the last point, its value; before the first, nothing is reserved. */
static uint64_t point_of(const helio_series_t *series, int64_t at)
{
    int64_t last = (int64_t)series->values.count - 1;
    double gpus = at < 0 ? 0 : series->values.items[at > last ? last : at];
    return isnan(gpus) || gpus <= 0 ? 0 : gpus > 1e6 ? 1000000 : (uint64_t)ceil(gpus - 1e-9);
}

/*  A series begins with the step in which it was made. If it begins later than that, the site's clock is ahead by
 *  hours, which must not preempt anything. */
static int64_t index_of(const helio_series_t *series, int64_t wall_ms)
{
    int64_t step_ms = INT64_C(1000) * series->step_s, since_ms = wall_ms - series->start_wall_ms;
    return since_ms >= 0 ? since_ms / step_ms : since_ms > -step_ms ? 0 : -1;
}

static int64_t begin_of(const helio_series_t *series, int64_t at)
{
    return series->start_wall_ms + at * INT64_C(1000) * series->step_s;
}

/*  The first time after from_ms at which less is reserved than at from_ms; 0 = unknown. */
static int64_t until_of(const helio_series_t *series, int64_t from_ms)
{
    int64_t first = index_of(series, from_ms);
    for (int64_t i = first + 1; i < (int64_t)series->values.count; i++)
        if (point_of(series, i) < point_of(series, first))
            return begin_of(series, i);
    return 0;
}

static uint64_t room_of(const pool_t *pool, uint64_t window_gpus)
{
    uint64_t all =
        pool->last.gpus_total ? pool->last.gpus_total : (uint64_t)pool->info.nodes * pool->info.gpus_per_node;
    return all > window_gpus ? all - window_gpus : 0;
}

static void wake(helio_broker_core_t *self, int64_t at_ms)
{
    self->site_windows->review_ms = at_ms < self->site_windows->review_ms ? at_ms : self->site_windows->review_ms;
}

static void find_edges(helio_broker_core_t *self, pool_t *pool)
{
    site_window_t *site_window = pool->site_window;
    const helio_series_t *series = site_window->series;
    int64_t first = index_of(series, self->wall_ms);
    bool woken = false;
    site_window->edges[0] = (site_window_edge_t){self->wall_ms, room_of(pool, point_of(series, first)), 0, 0};
    site_window->count = 1;
    for (int64_t i = first + 1; i < (int64_t)series->values.count; i++) {
        uint64_t before = point_of(series, i - 1), then = point_of(series, i);
        if (before != then && !woken) {
            wake(self, begin_of(series, i));
            woken = true;
        }
        if (then > before && site_window->count < SITE_WINDOW_EDGES_MAX)
            site_window->edges[site_window->count++] =
                (site_window_edge_t){begin_of(series, i), room_of(pool, then), 0, 0};
    }
}

/*  Whether the job is expected to hold its GPUs at that time. */
static bool holds_at(const helio_broker_core_t *self, const job_t *job, const site_window_edge_t *edge)
{
    return job->state != HELIO_JOB_STOPPING &&
           (edge->at_ms <= self->wall_ms || core_job_end_ms(self, job) > edge->at_ms);
}

static void add_held(const helio_broker_core_t *self, site_window_t *site_window, const job_t *job)
{
    for (uint32_t i = 0; i < site_window->count; i++)
        if (i == 0 || holds_at(self, job, &site_window->edges[i])) {
            site_window->edges[i].held_gpus += core_job_gpus(job);
            if (i && job->submission->queue->tier == HELIO_TIER_BEST_EFFORT)
                site_window->edges[i].best_effort_gpus += core_job_gpus(job);
        }
}

static void find_held(const helio_broker_core_t *self, const site_t *site, const pool_t *pool)
{
    const job_t *job;
    for (uint32_t i = 0; i < pool->site_window->count; i++) {
        pool->site_window->edges[i].held_gpus =
            core_migrations_held_gpus(self, pool, i ? pool->site_window->edges[i].at_ms : 0);
        pool->site_window->edges[i].best_effort_gpus = 0;
    }
    DL_FOREACH(site->live, job)
    {
        if (job->pool == pool && !is_critical(job->submission->queue))
            add_held(self, pool->site_window, job);
    }
}

static int64_t lead_ms(const submission_t *submission)
{
    bool killed = submission->queue->tier == HELIO_TIER_BEST_EFFORT;
    return MARGIN_MS + (killed ? 0 : (int64_t)submission->grace_ms);
}

/*  Nothing else can happen until the job has to leave, so the check at that time is set here. */
void core_site_window_placed(helio_broker_core_t *self, const job_t *job)
{
    site_window_t *site_window = job->pool->site_window;
    if (!site_window || is_critical(job->submission->queue))
        return;
    add_held(self, site_window, job);
    for (uint32_t i = 1; i < site_window->count; i++)
        if (site_window->edges[i].held_gpus > site_window->edges[i].room_gpus)
            wake(self, site_window->edges[i].at_ms - lead_ms(job->submission));
}

/* ---- preemption for a window ------------------------------------------------------------------------------- */

typedef struct leaver {
    job_t *job;
    uint32_t tier;
    uint64_t gpus;
    uint64_t lost_ms; /* run time lost if it leaves now */
    bool stays;
} leaver_t;

/*  Best-effort jobs first, then those that lose least, then the youngest. */
static int by_loss(const void *a_, const void *b_)
{
    const leaver_t *a = a_, *b = b_;
    if (a->tier != b->tier)
        return a->tier < b->tier ? -1 : 1;
    if (a->lost_ms != b->lost_ms)
        return a->lost_ms < b->lost_ms ? -1 : 1;
    return core_job_by_age(b->job, a->job);
}

/*  Jobs that can be preempted and hold GPUs at the time of an edge. */
typedef struct leavers {
    leaver_t *items;
    uint32_t count;
    uint64_t wanted;    /* GPUs that have to come back */
    int64_t longest_ms; /* the longest time that a job which holds GPUs then needs to leave */
} leavers_t;

static leavers_t find_leavers(const helio_broker_core_t *self, const site_t *site, const pool_t *pool,
                              const site_window_edge_t *edge)
{
    uint32_t capacity = 0;
    uint64_t held = 0;
    leavers_t found = {0};
    job_t *job;
    DL_FOREACH(site->live, job)
    {
        if (job->pool != pool || is_critical(job->submission->queue) || !holds_at(self, job, edge))
            continue;
        held += core_job_gpus(job);
        found.longest_ms = lead_ms(job->submission) > found.longest_ms ? lead_ms(job->submission) : found.longest_ms;
        if (!core_job_gpus(job) || !core_preempt_can(self, job, true))
            continue;
        if (found.count == capacity) {
            capacity = capacity ? capacity * 2 : 32;
            found.items = helio_grow(found.items, capacity, sizeof *found.items);
        }
        found.items[found.count++] = (leaver_t){.job = job};
    }
    found.wanted = held > edge->room_gpus ? held - edge->room_gpus : 0;
    return found;
}

/*  Leaves those that return enough, or all that is possible: false. */
static bool choose_leavers(helio_broker_core_t *self, leavers_t *leavers)
{
    uint64_t back = 0;
    uint32_t taken = 0;
    for (uint32_t i = 0; i < leavers->count; i++) {
        job_t *job = leavers->items[i].job;
        leavers->items[i] =
            (leaver_t){job, job->submission->queue->tier, core_job_gpus(job), core_preempt_lost_ms(self, job), false};
    }
    if (leavers->count)
        qsort(leavers->items, leavers->count, sizeof *leavers->items, by_loss);
    while (taken < leavers->count && back < leavers->wanted)
        back += leavers->items[taken++].gpus;
    leavers->count = taken;
    if (back < leavers->wanted)
        return false;
    for (uint32_t i = taken; i-- > 0;) /* enough without it; the most expensive first */
        if (back - leavers->items[i].gpus >= leavers->wanted) {
            back -= leavers->items[i].gpus;
            leavers->items[i].stays = true;
        }
    return true;
}

/*  True: some have been told to leave. */
static bool tell(helio_broker_core_t *self, const site_t *site, const pool_t *pool, const site_window_edge_t *edge,
                 const leavers_t *leavers)
{
    bool told = false;
    const helio_details_t reason =
        CORE_WHY(self, HELIO_DETAIL_PREEMPTED_FOR_RESERVATION, helio_value_string(site->name),
                 helio_value_text(pool->info.name), helio_value_number(edge->at_ms));
    for (uint32_t i = 0; i < leavers->count; i++) {
        int64_t due_ms = edge->at_ms - lead_ms(leavers->items[i].job->submission);
        if (leavers->items[i].stays)
            continue;
        if (due_ms > self->wall_ms) {
            wake(self, due_ms);
            continue;
        }
        (void)core_preempt_job(self, leavers->items[i].job, HELIO_PREEMPT_CAUSE_WINDOW, NULL, &reason);
        told = true;
    }
    return told;
}

static void make_way(helio_broker_core_t *self, const site_t *site, pool_t *pool, site_window_edge_t edge)
{
    leavers_t leavers = find_leavers(self, site, pool, &edge);
    int64_t first_ms = edge.at_ms - leavers.longest_ms; /* before it, some jobs end, and others start */
    if (leavers.wanted && first_ms > self->wall_ms) {
        wake(self, first_ms);
    } else if (leavers.wanted) {
        bool enough = choose_leavers(self, &leavers), told = tell(self, site, pool, &edge, &leavers);
        if (!enough)
            wake(self, self->wall_ms + AGAIN_MS);
        if (told)
            find_held(self, site, pool);
    }
    free(leavers.items);
}

/* ---- a round --------------------------------------------------------------------------------------------- */

/*  Adds the time since the last round in which reserved GPUs were used by other work. */
static void count_shortfall(helio_broker_core_t *self, site_window_t *site_window)
{
    if (site_window->short_gpus)
        self->figures.reserve_shortfall_gpu_ms +=
            site_window->short_gpus * (uint64_t)(self->now_ms - site_window->short_ms);
    const site_window_edge_t *now = &site_window->edges[0];
    site_window->short_gpus =
        site_window->count && now->held_gpus > now->room_gpus ? now->held_gpus - now->room_gpus : 0;
    site_window->short_ms = self->now_ms;
}

static void review_pool(helio_broker_core_t *self, const site_t *site, pool_t *pool, const helio_series_t *series)
{
    if (!pool->site_window && !series)
        return;
    if (!pool->site_window)
        pool->site_window = helio_new(1, sizeof *pool->site_window);
    site_window_t *site_window = pool->site_window;
    site_window->series = series;
    site_window->count = 0;
    if (series) {
        find_edges(self, pool);
        find_held(self, site, pool);
        for (uint32_t i = 0; i < site_window->count; i++)
            if (site_window->edges[i].held_gpus > site_window->edges[i].room_gpus)
                make_way(self, site, pool, site_window->edges[i]);
    }
    uint64_t room = series ? site_window->edges[0].room_gpus : UINT64_MAX;
    if (room != site_window->room_gpus)
        core_capacity_changed_in_round(self); /* classes that found no capacity can find some now */
    site_window->room_gpus = room;
    count_shortfall(self, site_window);
}

static const helio_series_t *series_of(const site_t *site, const pool_t *pool)
{
    bool there = site->state == HELIO_SITE_STATE_READY && site->inventory_closed && site->capacity_known;
    for (uint32_t i = 0; there && i < site->series_count; i++) {
        const helio_series_t *series = &site->series[i];
        if (series->signal == HELIO_SIGNAL_RESERVED && series->values.count &&
            helio_text_equal(series->pool, pool->info.name))
            return series;
    }
    return NULL;
}

void core_site_window_review(helio_broker_core_t *self)
{
    self->site_windows->review_ms = INT64_MAX;
    for (site_t *site = self->has_site_windows ? self->sites : NULL; site; site = site->hh.next)
        for (uint32_t i = 0; i < site->pool_count; i++)
            review_pool(self, site, &site->pools[i], series_of(site, &site->pools[i]));
}

/* ---- whether a job can start ------------------------------------------------------------------------------- */

/*  Whether it would run for a while, can save its work, and leaves in time. */
static bool gives_way(const helio_broker_core_t *self, const job_class_t *class, int64_t at_ms)
{
    const job_t *head = class->waiting;
    if (!head || core_preempt_is_immune(head))
        return false;
    const submission_t *submission = head->submission;
    uint32_t tier = class->queue->tier;
    bool saves = tier == HELIO_TIER_BEST_EFFORT || submission->signalled || submission->checkpoint_every_ms;
    return saves && at_ms - self->wall_ms > lead_ms(submission) + helio_preempt_protection_ms(tier);
}

/*  What is held at that time once all preemptions under way there are over and the jobs that they are for have started.
 *  One of the class's own is what it asks for. *ret_others: some of those jobs are of another class. */
static uint64_t held_after(const helio_broker_core_t *self, const job_class_t *class, const pool_t *pool,
                           const site_window_edge_t *edge, uint64_t held_gpus, bool *ret_others)
{
    uint64_t back = 0, expected = 0;
    bool own = false;
    const preemption_t *preemption;
    DL_FOREACH(core_preempt_first(self), preemption)
    {
        const job_class_t *other = preemption->class;
        if (preemption->pool != pool)
            continue;
        for (uint32_t k = 1; edge == pool->site_window->edges && k <= HELIO_JOB_GPUS_PER_NODE_MAX; k++)
            back += (uint64_t)k * preemption->back.nodes_by_gpus[k]; /* at later edges the victims are not counted */
        bool mine = other->id == class->id && !own;
        own = own || mine;
        bool leaves_first = edge != pool->site_window->edges && other->queue->tier < class->queue->tier;
        if (mine || leaves_first || is_critical(other->queue) ||
            edge->at_ms - self->wall_ms >= (int64_t)helio_requirement_longest_ms(&other->want))
            continue;
        expected += (uint64_t)preemption->gpus_per_node * other->want.nodes;
        *ret_others = *ret_others || other->id != class->id;
    }
    return (held_gpus > back ? held_gpus - back : 0) + expected;
}

/*  The first time at which it would be in the way; NULL = it can start. What best-effort work holds later is in the way
 *  of best-effort work only, because it leaves first. A job that gives way in time can start, unless other jobs are
 *  leaving the pool for another class, which would preempt it again. */
static const site_window_edge_t *pending_rejection(const helio_broker_core_t *self, const job_class_t *class,
                                                   const pool_t *pool, uint32_t gpus_per_node, freed_gpus_t back)
{
    const site_window_t *site_window = pool->site_window;
    uint64_t gpus = (uint64_t)gpus_per_node * class->want.nodes;
    bool leaves_first = class->queue->tier == HELIO_TIER_BEST_EFFORT;
    for (uint32_t i = 0; site_window && gpus && i < site_window->count && !is_critical(class->queue); i++) {
        const site_window_edge_t *edge = &site_window->edges[i];
        if (i && edge->at_ms - self->wall_ms >= (int64_t)helio_requirement_longest_ms(&class->want))
            break;
        bool firm = i && !leaves_first; /* only what does not leave before it counts */
        uint64_t held = edge->held_gpus - (firm ? edge->best_effort_gpus : 0),
                 given = back.gpus - (firm ? back.best_effort_gpus : 0);
        held = held > given ? held - given : 0;
        bool others = false;
        uint64_t after = pool->preemptions ? held_after(self, class, pool, edge, held, &others) : 0;
        bool awaited = others && !leaves_first;
        held = after > held ? after : held;
        if (held + gpus > edge->room_gpus && (i == 0 || awaited || !gives_way(self, class, edge->at_ms)))
            return edge;
    }
    return NULL;
}

bool core_site_window_allows(const helio_broker_core_t *self, const job_class_t *class, const pool_t *pool,
                             uint32_t gpus_per_node, freed_gpus_t back)
{
    return !pending_rejection(self, class, pool, gpus_per_node, back);
}

bool core_site_window_excludes(const job_class_t *class, const pool_t *pool, uint32_t gpus_per_node)
{
    return pool->site_window && pool->site_window->count && !is_critical(class->queue) &&
           (uint64_t)gpus_per_node * class->want.nodes > pool->site_window->edges[0].room_gpus;
}

helio_detail_t core_site_window_detail(helio_broker_core_t *self, const job_class_t *class, const site_t *site,
                                       const pool_t *pool, uint32_t gpus_per_node, int64_t *ret_until_ms)
{
    const site_window_edge_t *edge = pending_rejection(self, class, pool, gpus_per_node, (freed_gpus_t){0});
    const helio_series_t *series = edge ? series_of(site, pool) : NULL;
    if (!series)
        return (helio_detail_t){0};
    uint64_t gpus = (uint64_t)point_of(series, index_of(series, edge->at_ms));
    bool later = edge != pool->site_window->edges;
    *ret_until_ms = until_of(series, edge->at_ms);
    if (!gpus) /* other work uses all of it: nothing is reserved before that ends */
        return CORE_DETAIL(self, HELIO_DETAIL_NO_ROOM_AT, helio_value_string(site->name),
                           helio_value_text(pool->info.name));
    return CORE_DETAIL(self, HELIO_DETAIL_RESERVED_BY_SITE, helio_value_number((int64_t)gpus),
                       helio_value_string(site->name), helio_value_text(pool->info.name),
                       helio_value_number(later ? edge->at_ms : 0), helio_value_number(*ret_until_ms));
}
