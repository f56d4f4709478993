/*  expected_ends.c -- the jobs of a pool in the order in which their time limits, and the graces that they ask for, end them. */
#include "broker/core/holds/expected_ends.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "broker/core/state/core.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/preemptible.h"
#include "broker/core/state/sites.h"
#include "federation/base/number.h"

/*  Jobs in ascending order of a key. */
typedef struct keyed_job {
    int64_t key;
    job_t *job;
    uint64_t gpus_until;     /* of all items up to this one */
    returned_room_t returns; /* kept here: a walk passes hundreds of jobs */
} keyed_job_t;

typedef struct run {
    keyed_job_t *items;
    uint32_t count, capacity;
    uint32_t summed; /* so many of the first items have the right gpus_until */
} run_t;

struct expected_ends {
    run_t begun;                        /* by start + longest run, the wall clock at their end */
    run_t others;                       /* by longest run */
    uint32_t by_tier[HELIO_TIER_COUNT]; /* jobs, those that are stopping as best-effort ones */
    int64_t from_ms; /* wall clock of the last look. If it is set back, jobs that have begun can be ahead of it;
                       * INT64_MAX = the jobs have to be found again */
    uint64_t version;
    int64_t begin_ms; /* the first start among the others that the site's clock, which is ahead, says to be over then */
};

static int by_key(const void *a_, const void *b_)
{
    const keyed_job_t *a = a_, *b = b_;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return core_job_by_age(a->job, b->job);
}

/*  Where the first item is that has this key or a later one. */
static uint32_t find(const run_t *run, int64_t key)
{
    uint32_t low = 0, high = run->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (run->items[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void changed_from(run_t *run, uint32_t at)
{
    run->summed = at < run->summed ? at : run->summed;
}

/*  Of the first `count` items. */
static uint64_t gpus_of(run_t *run, uint32_t count)
{
    for (; run->summed < count; run->summed++) {
        keyed_job_t *item = &run->items[run->summed];
        item->gpus_until = (uint64_t)item->returns.nodes * item->returns.gpus + (run->summed ? item[-1].gpus_until : 0);
    }
    return count ? run->items[count - 1].gpus_until : 0;
}

static void make_room(run_t *run)
{
    if (run->count < run->capacity)
        return;
    run->capacity = run->capacity ? run->capacity * 2 : 64;
    run->items = helio_grow(run->items, run->capacity, sizeof *run->items);
}

static bool is_started(const job_t *job)
{
    return job->started_ms && job->state >= HELIO_JOB_RUNNING;
}

static void await_begin(expected_ends_t *ends, const job_t *job)
{
    if (is_started(job))
        ends->begin_ms = helio_lesser_i64(ends->begin_ms, job->started_ms);
}

static uint32_t tier_of(const job_t *job)
{
    return job->state == HELIO_JOB_STOPPING ? HELIO_TIER_BEST_EFFORT : core_preempt_tier(job);
}

/*  The caller sorts the run, or moves the last item to its place. */
static run_t *append(helio_broker_core_t *self, expected_ends_t *ends, job_t *job)
{
    bool begun = is_started(job) && job->started_ms <= self->wall_ms;
    run_t *run = begun ? &ends->begun : &ends->others;
    last_placement_t *last = job->last;
    last->end_begun = begun;
    last->end_key =
        (int64_t)helio_requirement_longest_ms(&job->submission->class->want) + (begun ? job->started_ms : 0);
    make_room(run);
    const helio_requirement_t *want = &job->submission->class->want;
    run->items[run->count++] =
        (keyed_job_t){last->end_key, job, 0, {want->nodes, job->gpus_per_node, want->cpus, want->memory_bytes}};
    if (!begun)
        await_begin(ends, job);
    return run;
}

static void insert(helio_broker_core_t *self, expected_ends_t *ends, job_t *job)
{
    run_t *run = append(self, ends, job);
    keyed_job_t item = run->items[--run->count];
    uint32_t at = find(run, item.key);
    memmove(&run->items[at + 1], &run->items[at], (run->count++ - at) * sizeof item);
    run->items[at] = item;
    changed_from(run, at);
    ends->version++;
}

static void put(helio_broker_core_t *self, expected_ends_t *ends, job_t *job)
{
    insert(self, ends, job);
    job->last->end_tier = tier_of(job);
    if (!ends->by_tier[job->last->end_tier]++)
        self->tiers_version++;
}

/*  Does nothing if it is not there. */
static void take_out(helio_broker_core_t *self, expected_ends_t *ends, const job_t *job)
{
    const last_placement_t *last = job->last;
    run_t *run = last->end_begun ? &ends->begun : &ends->others;
    uint32_t at = find(run, last->end_key);
    while (at < run->count && run->items[at].key == last->end_key && run->items[at].job != job)
        at++;
    if (at == run->count || run->items[at].job != job)
        return;
    memmove(&run->items[at], &run->items[at + 1], (--run->count - at) * sizeof *run->items);
    changed_from(run, at);
    ends->version++;
    if (!--ends->by_tier[last->end_tier])
        self->tiers_version++;
}

/*  Whether it knows the jobs, and the clock was not set back. */
static bool is_known(const helio_broker_core_t *self, const expected_ends_t *ends)
{
    return ends && self->wall_ms >= ends->from_ms;
}

/*  The clock has reached the start of some of the others. */
static void begin_some(helio_broker_core_t *self, expected_ends_t *ends)
{
    run_t *others = &ends->others;
    uint32_t kept = 0;
    ends->begin_ms = INT64_MAX;
    for (uint32_t i = 0; i < others->count; i++) {
        job_t *job = others->items[i].job;
        if (is_started(job) && job->started_ms <= self->wall_ms) {
            insert(self, ends, job);
        } else {
            others->items[kept++] = others->items[i];
            await_begin(ends, job);
        }
    }
    others->count = kept;
    changed_from(others, 0);
    ends->version++;
}

static void sort(run_t *run)
{
    changed_from(run, 0);
    if (run->count)
        qsort(run->items, run->count, sizeof *run->items, by_key);
}

static void find_all(helio_broker_core_t *self, const site_t *site, pool_t *pool)
{
    job_t *job;
    if (!pool->expected_ends)
        pool->expected_ends = helio_new(1, sizeof *pool->expected_ends);
    expected_ends_t *ends = pool->expected_ends;
    ends->begun.count = ends->others.count = 0;
    memset(ends->by_tier, 0, sizeof ends->by_tier);
    ends->begin_ms = INT64_MAX;
    DL_FOREACH(site->live, job)
    {
        if (job->pool != pool)
            continue;
        (void)append(self, ends, job);
        job->last->end_tier = tier_of(job);
        ends->by_tier[job->last->end_tier]++;
    }
    sort(&ends->begun);
    sort(&ends->others);
    ends->version++;
}

static expected_ends_t *known(helio_broker_core_t *self, const site_t *site, pool_t *pool)
{
    if (!is_known(self, pool->expected_ends))
        find_all(self, site, pool);
    expected_ends_t *ends = pool->expected_ends;
    if (self->wall_ms >= ends->begin_ms)
        begin_some(self, ends);
    ends->from_ms = self->wall_ms;
    return ends;
}

static ends_walk_t walk_of(const helio_broker_core_t *self, const expected_ends_t *ends)
{
    return (ends_walk_t){
        .ends = ends, .wall_ms = self->wall_ms, .overdue_count = find(&ends->begun, self->wall_ms + 1)};
}

ends_walk_t core_expected_ends(helio_broker_core_t *self, const site_t *site, pool_t *pool)
{
    return walk_of(self, known(self, site, pool));
}

expected_gpus_t core_expected_gpus(helio_broker_core_t *self, const site_t *site, pool_t *pool, int64_t at_ms)
{
    expected_ends_t *ends = known(self, site, pool);
    run_t *begun = &ends->begun, *others = &ends->others;
    uint64_t all = gpus_of(begun, begun->count) + gpus_of(others, others->count);
    uint32_t overdue = find(begun, self->wall_ms + 1), over = find(begun, at_ms + 1);
    uint64_t back = at_ms >= self->wall_ms + CORE_JOB_OVERDUE_MS ? gpus_of(begun, overdue) : 0;
    if (over > overdue)
        back += gpus_of(begun, over) - gpus_of(begun, overdue);
    back += gpus_of(others, find(others, at_ms - self->wall_ms + 1));
    return (expected_gpus_t){back, all - back};
}

uint32_t core_pool_lowest_tier(helio_broker_core_t *self, const site_t *site, pool_t *pool)
{
    const expected_ends_t *ends = known(self, site, pool);
    uint32_t tier = 0;
    while (tier < HELIO_TIER_COUNT && !ends->by_tier[tier])
        tier++;
    return tier;
}

ends_walk_t core_expected_ends_again(const ends_walk_t *walk)
{
    return (ends_walk_t){.ends = walk->ends, .wall_ms = walk->wall_ms, .overdue_count = walk->overdue_count};
}

bool core_expected_ends_any(const ends_walk_t *walk)
{
    return walk->ends->begun.count || walk->ends->others.count;
}

uint64_t core_expected_ends_version(const ends_walk_t *walk)
{
    return walk->ends->version;
}

expected_end_t core_expected_ends_next(ends_walk_t *walk)
{
    const run_t *begun = &walk->ends->begun, *others = &walk->ends->others;
    uint32_t at = walk->overdue_count + walk->begun, *passed = NULL;
    int64_t first_ms = INT64_MAX;
    const keyed_job_t *first = NULL;
    if (walk->overdue < walk->overdue_count) {
        first_ms = walk->wall_ms + CORE_JOB_OVERDUE_MS;
        first = &begun->items[walk->overdue];
        passed = &walk->overdue;
    }
    if (at < begun->count && begun->items[at].key < first_ms) {
        first_ms = begun->items[at].key;
        first = &begun->items[at];
        passed = &walk->begun;
    }
    if (walk->others < others->count && walk->wall_ms + others->items[walk->others].key < first_ms) {
        first_ms = walk->wall_ms + others->items[walk->others].key;
        first = &others->items[walk->others];
        passed = &walk->others;
    }
    if (!first)
        return (expected_end_t){INT64_MAX, NULL, NULL};
    ++*passed;
    return (expected_end_t){first_ms, first->job, &first->returns};
}

/*  Its jobs have to be found again. */
static void forget(helio_broker_core_t *self, pool_t *pool)
{
    self->tiers_version++;
    if (pool->expected_ends)
        pool->expected_ends->from_ms = INT64_MAX;
}

void core_expected_end_moved(helio_broker_core_t *self, job_t *job)
{
    expected_ends_t *ends = job->pool ? job->pool->expected_ends : NULL;
    if (!ends)
        return; /* they are found when they are asked for */
    if (!is_known(self, ends)) {
        forget(self, job->pool);
        return;
    }
    ends->from_ms = self->wall_ms;
    take_out(self, ends, job);
    put(self, ends, job);
}

void core_expected_end_left(helio_broker_core_t *self, job_t *job, pool_t *pool)
{
    if (pool && pool->expected_ends)
        take_out(self, pool->expected_ends, job);
}

void core_expected_ends_forget_all(helio_broker_core_t *self)
{
    for (site_t *site = self->sites; site; site = site->hh.next)
        for (uint32_t i = 0; i < site->pool_count; i++)
            forget(self, &site->pools[i]);
}

void core_expected_ends_destroy(expected_ends_t **self_p)
{
    expected_ends_t *self = *self_p;
    *self_p = NULL;
    if (!self)
        return;
    free(self->begun.items);
    free(self->others.items);
    free(self);
}

static void run_check(const run_t *run)
{
    uint64_t gpus = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        const job_t *job = run->items[i].job;
        const helio_requirement_t *want = &job->submission->class->want;
        const returned_room_t *returns = &run->items[i].returns;
        assert(returns->nodes == want->nodes && returns->gpus == job->gpus_per_node);
        assert(returns->cpus == want->cpus && returns->memory_bytes == want->memory_bytes);
        gpus += core_job_gpus(job);
        assert(run->items[i].job->last->end_key == run->items[i].key);
        assert(i >= run->summed || run->items[i].gpus_until == gpus);
    }
    assert(run->summed <= run->count);
}

void core_expected_ends_check(const helio_broker_core_t *self, const site_t *site, const pool_t *pool)
{
    if (!is_known(self, pool->expected_ends) || self->wall_ms >= pool->expected_ends->begin_ms)
        return;
    const job_t *job;
    uint32_t by_tier[HELIO_TIER_COUNT] = {0}, there = 0, walked = 0;
    DL_FOREACH(site->live, job)
    {
        if (job->pool != pool)
            continue;
        there++;
        by_tier[tier_of(job)]++;
    }
    assert(memcmp(by_tier, pool->expected_ends->by_tier, sizeof by_tier) == 0);
    ends_walk_t walk = walk_of(self, pool->expected_ends);
    int64_t before_ms = INT64_MIN;
    for (expected_end_t end = core_expected_ends_next(&walk); end.job; end = core_expected_ends_next(&walk)) {
        assert(end.job->pool == pool && end.end_ms == core_job_end_ms(self, end.job) && end.end_ms >= before_ms);
        before_ms = end.end_ms;
        walked++;
    }
    assert(walked == there);
    run_check(&pool->expected_ends->begun);
    run_check(&pool->expected_ends->others);
}
