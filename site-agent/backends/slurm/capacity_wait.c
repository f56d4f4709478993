/*  capacity_wait.c -- when whole nodes become free. A gang starts when enough of them are free at the same time, and
 *  stay free for an hour. */
#include <stdlib.h>

#include "site-agent/backends/slurm/capacity_internal.h"

/*  How long a node must stay free to count. The gang's duration is not known here; shorter gaps before other jobs help
 *  few gangs. */
enum { GAP_S = 3600, SIZES_MAX = 16 };

typedef struct change {
    int64_t at_s;
    int64_t nodes;
} change_t;

typedef struct span {
    int64_t start_s, end_s;
} span_t;

typedef struct forecast {
    const helio_slurm_picture_t *picture;
    const helio_slurm_members_t *members;
    change_t *changes;
    uint32_t count;
    span_t *spans; /* of one node, in order */
} forecast_t;

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/*  The time at which all that run on the node now have left it. */
static int64_t left_at(const forecast_t *self, const helio_slurm_place_t *place)
{
    int64_t now_s = self->picture->now_s, at = now_s;
    bool gpus_count = helio_slurm_has_gpus(self->members) && place->node->cpus > place->node->cpus_allocated;
    bool any = false, used = helio_slurm_used(self->members, place);
    uint32_t rest = 0;
    int64_t until = helio_slurm_rest_until(self->members, self->picture, place, &rest);
    if (place->node->idle_off)
        at += (int64_t)(self->members->pool->provision_ms / 1000 & INT32_MAX);
    for (const helio_slurm_hold_t *hold = place->holds; hold; hold = hold->next) {
        bool waits = hold->kind == HELIO_SLURM_HOLD_WAITING;
        if (!waits && hold->kind != HELIO_SLURM_HOLD_RUNS)
            continue;
        any = true;
        uint32_t gpus = helio_slurm_hold_gpus(self->members, self->picture, hold);
        if (waits || !gpus_count || (used && gpus && gpus != HELIO_SLURM_UNKNOWN))
            at = later(at, hold->end_s);
    }
    if (gpus_count && rest)
        at = later(at, until);
    if (!gpus_count && place->node->cpus_allocated && !any)
        at = HELIO_SLURM_FOREVER;
    return at;
}

static int by_start(const void *a, const void *b)
{
    const span_t *x = a, *y = b;
    return x->start_s < y->start_s ? -1 : x->start_s > y->start_s;
}

static int by_time(const void *a, const void *b)
{
    const change_t *x = a, *y = b;
    return x->at_s < y->at_s ? -1 : x->at_s > y->at_s;
}

/*  The node is free in [from, to): a gang can start on it until an hour before the end. */
static void add_gap(forecast_t *self, int64_t from_s, int64_t to_s)
{
    if (from_s == HELIO_SLURM_FOREVER || to_s - from_s < GAP_S)
        return;
    self->changes[self->count++] = (change_t){from_s, 1};
    if (to_s != HELIO_SLURM_FOREVER)
        self->changes[self->count++] = (change_t){to_s - GAP_S + 1, -1};
}

static void add_place(forecast_t *self, const helio_slurm_place_t *place)
{
    int64_t now_s = self->picture->now_s, from = left_at(self, place);
    uint32_t count = 0;
    bool explained = false;
    for (const helio_slurm_hold_t *hold = place->holds; hold; hold = hold->next) {
        bool part = hold->kind == HELIO_SLURM_HOLD_PART && hold->gpus;
        bool whole = hold->kind == HELIO_SLURM_HOLD_RESERVED;
        if (!part && !whole && hold->kind != HELIO_SLURM_HOLD_EXPECTED)
            continue;
        if (hold->kind == HELIO_SLURM_HOLD_EXPECTED && helio_slurm_has_gpus(self->members) &&
            !helio_slurm_hold_gpus(self->members, self->picture, hold))
            continue;
        explained = explained || (whole && hold->start_s <= now_s && hold->end_s > now_s);
        self->spans[count++] = (span_t){hold->start_s, hold->end_s};
    }
    if (place->reserved && !explained) /* until an unknown time */
        return;
    if (count)
        qsort(self->spans, count, sizeof *self->spans, by_start);
    for (uint32_t i = 0; i < count; i++) {
        add_gap(self, from, self->spans[i].start_s);
        from = later(from, self->spans[i].end_s);
    }
    add_gap(self, from, HELIO_SLURM_FOREVER);
}

/*  Pending jobs with an expected start but without expected nodes take as many nodes as they request. */
static void add_unplaced(forecast_t *self)
{
    const helio_slurm_jobs_t *jobs = self->picture->view->jobs;
    for (uint32_t i = 0; self->picture->unplaced && i < jobs->count; i++) {
        const helio_slurm_job_t *job = &jobs->items[i];
        if (job->state != HELIO_SLURM_PENDING || !job->start_s || self->picture->of_job[i] ||
            (self->members->partition.size && !helio_slurm_in_list(job->partition, self->members->partition)) ||
            !helio_slurm_fits_type(self->members, job->gpu_type))
            continue;
        int64_t nodes = job->nodes ? job->nodes : 1;
        self->changes[self->count++] = (change_t){job->start_s - GAP_S + 1, -nodes};
        if (job->end_s > job->start_s)
            self->changes[self->count++] = (change_t){job->end_s, nodes};
    }
}

static uint32_t changes_most(const helio_slurm_picture_t *self, const helio_slurm_members_t *members)
{
    uint64_t most = 2 + 2 * (uint64_t)self->unplaced;
    for (uint32_t i = 0; i < members->count; i++) {
        most += 2;
        for (const helio_slurm_hold_t *hold = self->places[members->places[i]].holds; hold; hold = hold->next)
            most += 2;
    }
    return most > UINT32_MAX ? UINT32_MAX : (uint32_t)most;
}

/*  The sizes ascend, so the next size is reached at the first time at which enough nodes are free. */
static void sweep(forecast_t *self, uint32_t sizes, uint32_t *waits_s)
{
    int64_t now_s = self->picture->now_s, nodes = 0;
    uint32_t next = 0;
    qsort(self->changes, self->count, sizeof *self->changes, by_time);
    for (uint32_t i = 0; i < self->count && next < sizes;) {
        int64_t at = self->changes[i].at_s;
        while (i < self->count && self->changes[i].at_s == at)
            nodes += self->changes[i++].nodes;
        for (; next < sizes && nodes >= (int64_t)1 << next; next++)
            waits_s[next] = at <= now_s ? 0 : at - now_s < UINT32_MAX ? (uint32_t)(at - now_s) : UINT32_MAX;
    }
}

void helio_slurm_expected_wait(const helio_slurm_picture_t *self, const helio_slurm_members_t *members,
                               helio_u32s_t *ret_wait_s)
{
    uint32_t sizes = 0;
    while (sizes < SIZES_MAX && UINT32_C(1) << sizes <= members->count)
        sizes++;
    uint32_t *waits_s = helio_arena_alloc(self->arena, sizes + 1, sizeof *waits_s);
    for (uint32_t i = 0; i < sizes; i++)
        waits_s[i] = UINT32_MAX;
    *ret_wait_s = (helio_u32s_t){.items = waits_s, .count = sizes};
    if (!members->partition_up || !sizes)
        return;
    forecast_t forecast = {.picture = self, .members = members};
    forecast.changes = helio_arena_alloc(self->arena, changes_most(self, members), sizeof *forecast.changes);
    forecast.spans = helio_arena_alloc(self->arena, self->holds_most + 1, sizeof *forecast.spans);
    for (uint32_t i = 0; i < members->count; i++) {
        const helio_slurm_place_t *place = &self->places[members->places[i]];
        if (place->ready && !place->node->closed)
            add_place(&forecast, place);
    }
    add_unplaced(&forecast);
    uint32_t allowed = 0;
    while (allowed < sizes && (!members->max_nodes || UINT32_C(1) << allowed <= members->max_nodes))
        allowed++;
    sweep(&forecast, allowed, waits_s);
}
