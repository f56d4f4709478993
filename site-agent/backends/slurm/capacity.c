/*  capacity.c -- what each pool offers now, and in the hours ahead. */
#include "site-agent/backends/slurm/capacity_internal.h"

/* ---- what waits ---------------------------------------------------------------------------------------- */

enum { FREE_MAX = HELIO_JOB_GPUS_PER_NODE_MAX };

static uint32_t offered(const helio_slurm_members_t *members, const helio_slurm_place_t *place)
{
    uint32_t free_gpus = helio_slurm_free(members, place);
    free_gpus = free_gpus > place->part ? free_gpus - place->part : 0;
    return free_gpus < FREE_MAX ? free_gpus : FREE_MAX;
}

static bool fits(const helio_slurm_members_t *members, const helio_slurm_place_t *place,
                 const helio_slurm_waiting_t *waiting)
{
    return helio_slurm_open(members, place) && offered(members, place) >= waiting->gpus_per_node &&
           place->cpus >= waiting->cpus_per_node && place->memory_bytes >= waiting->memory_bytes_per_node;
}

static void take(helio_slurm_picture_t *self, const helio_slurm_members_t *members, uint32_t at,
                 const helio_slurm_waiting_t *waiting)
{
    helio_slurm_place_t *place = &self->places[at];
    helio_slurm_hold_t *hold = helio_arena_alloc(self->arena, 1, sizeof *hold);
    int64_t limit_s = (int64_t)(waiting->time_limit_ms / 1000 & UINT32_MAX);
    *hold = (helio_slurm_hold_t){.next = place->holds,
                                 .kind = HELIO_SLURM_HOLD_WAITING,
                                 .node = at,
                                 .gpus = waiting->gpus_per_node,
                                 .start_s = self->now_s,
                                 .end_s = limit_s ? self->now_s + limit_s : HELIO_SLURM_FOREVER};
    uint32_t missing = waiting->gpus_per_node * members->units;
    for (uint32_t i = 0; i < place->node->gpu_kinds && missing; i++) {
        if (!helio_slurm_has_kind(members, place->node->gpus[i].type) || !place->free[i])
            continue;
        uint32_t taken = place->free[i] < missing ? place->free[i] : missing;
        place->free[i] -= taken;
        missing -= taken;
        hold->kinds |= UINT32_C(1) << i;
    }
    uint32_t cpus = waiting->cpus_per_node ? waiting->cpus_per_node : 1;
    place->cpus -= cpus < place->cpus ? cpus : place->cpus;
    place->memory_bytes -= waiting->memory_bytes_per_node;
    place->holds = hold;
}

/*  Best fit: the nodes with the fewest free GPUs that still fit, as Slurm packs them. All or nothing: what does not fit
 *  now waits in Slurm's queue and holds nothing. */
static bool take_gang(helio_slurm_picture_t *self, const helio_slurm_members_t *members,
                      const helio_slurm_waiting_t *waiting)
{
    uint32_t fitting[FREE_MAX + 1] = {0}, wanted[FREE_MAX + 1] = {0}, total = 0;
    for (uint32_t i = 0; i < members->count; i++) {
        const helio_slurm_place_t *place = &self->places[members->places[i]];
        if (fits(members, place, waiting)) {
            fitting[offered(members, place)]++;
            total++;
        }
    }
    uint32_t missing = waiting->nodes ? waiting->nodes : 1;
    if (total < missing)
        return false;
    for (uint32_t k = 0; k <= FREE_MAX && missing; k++) {
        wanted[k] = fitting[k] < missing ? fitting[k] : missing;
        missing -= wanted[k];
    }
    for (uint32_t i = 0; i < members->count; i++) {
        const helio_slurm_place_t *place = &self->places[members->places[i]];
        uint32_t k = offered(members, place);
        if (!wanted[k] || !fits(members, place, waiting))
            continue;
        wanted[k]--;
        take(self, members, members->places[i], waiting);
    }
    return true;
}

static bool at_least(const helio_slurm_waiting_t *a, const helio_slurm_waiting_t *b)
{
    return a->nodes >= b->nodes && a->gpus_per_node >= b->gpus_per_node && a->cpus_per_node >= b->cpus_per_node &&
           a->memory_bytes_per_node >= b->memory_bytes_per_node;
}

void helio_slurm_set_aside(helio_slurm_picture_t *self, const helio_slurm_members_t *all)
{
    const helio_slurm_view_t *view = self->view;
    uint32_t pools = view->site->pools.count;
    /* Once an attempt did not fit into a pool, those that need at least as much are skipped: a thousand equal ones
     * cost one search. */
    const helio_slurm_waiting_t **too_large = helio_arena_alloc(self->arena, pools + 1, sizeof *too_large);
    self->unplaced_nodes = helio_arena_alloc(self->arena, (size_t)pools * HELIO_SLURM_LEVELS + 1, sizeof(uint32_t));
    for (uint32_t i = 0; i < view->waiting_count; i++) {
        const helio_slurm_waiting_t *waiting = &view->waiting[i];
        uint32_t p = helio_site_pool_index(view->site, waiting->pool);
        if (p == HELIO_SLURM_NONE)
            continue;
        bool large = too_large[p] && at_least(waiting, too_large[p]);
        if (!large && take_gang(self, &all[p], waiting))
            continue;
        if (!large)
            too_large[p] = waiting;
        if (waiting->gpus_per_node < HELIO_SLURM_LEVELS)
            self->unplaced_nodes[p * HELIO_SLURM_LEVELS + waiting->gpus_per_node] += waiting->nodes;
    }
}

static helio_slurm_members_t *prepare(const helio_slurm_view_t *view, helio_arena_t *arena,
                                      helio_slurm_picture_t *ret_picture)
{
    helio_slurm_picture(view, arena, ret_picture);
    helio_slurm_members_t *all = helio_slurm_members_of_all(ret_picture);
    helio_slurm_set_aside(ret_picture, all); /* what waits takes any node of its pool, whichever pool offers it */
    helio_slurm_share_out(ret_picture, all);
    return all;
}

/* ---- now ---------------------------------------------------------------------------------------------------- */

static uint32_t levels(const helio_slurm_picture_t *self, const helio_slurm_members_t *members)
{
    uint32_t most = members->pool->gpus_per_node;
    for (uint32_t i = 0; !members->pool->gpus_per_node && i < members->count; i++) {
        uint32_t total = helio_slurm_total(members, &self->places[members->places[i]]);
        most = total > most ? total : most;
    }
    return (most < FREE_MAX ? most : FREE_MAX) + 1;
}

static void add_node(const helio_slurm_members_t *members, const helio_slurm_place_t *place,
                     helio_pool_capacity_t *capacity)
{
    if (!place->ready)
        return;
    uint32_t total = helio_slurm_total(members, place), idle = helio_slurm_free(members, place);
    capacity->nodes_up++;
    capacity->gpus_total += total;
    capacity->gpus_allocated += total - idle;
    capacity->gpus_reserved += place->reserved || place->part > idle ? idle : place->part;
    if (!helio_slurm_open(members, place))
        return;
    uint32_t k = offered(members, place), top = capacity->free_nodes.count - 1;
    capacity->free_nodes.items[k < top ? k : top]++;
    capacity->cpus_free += place->cpus;
    capacity->memory_free_bytes += place->memory_bytes;
}

static void count_jobs(const helio_slurm_picture_t *self, const helio_slurm_members_t *members,
                       helio_pool_capacity_t *capacity)
{
    const helio_slurm_jobs_t *jobs = self->view->jobs;
    bool *inside = helio_arena_alloc(self->arena, self->count + 1, sizeof *inside);
    for (uint32_t i = 0; i < members->count; i++)
        inside[members->places[i]] = true;
    for (uint32_t i = 0; jobs && i < jobs->count; i++) {
        const helio_slurm_job_t *job = &jobs->items[i];
        if (helio_slurm_state_is_over(job->state))
            continue;
        if (!job->node_list.size) {
            capacity->jobs_queued +=
                (!members->partition.size || helio_slurm_in_list(job->partition, members->partition)) &&
                helio_slurm_fits_type(members, job->gpu_type);
            continue;
        }
        const helio_slurm_hold_t *hold = self->of_job[i];
        while (hold && !inside[hold->node])
            hold = hold->sibling;
        capacity->jobs_running += hold != NULL;
    }
}

/*  Whole nodes that are about to be free are offered although their jobs' limits end much later: a job that takes one
 *  does not wait for these limits. */
static void expect_ahead(uint32_t whole_before, helio_pool_capacity_t *pool)
{
    uint32_t whole = pool->free_nodes.items[pool->free_nodes.count - 1];
    for (uint32_t i = 0; i < pool->expected_wait_s.count && whole > whole_before && UINT32_C(1) << i <= whole; i++)
        pool->expected_wait_s.items[i] = 0;
}

void helio_slurm_capacity(const helio_slurm_view_t *view, helio_arena_t *arena, helio_aev_capacity_t *ret_capacity)
{
    helio_slurm_picture_t picture;
    const helio_slurm_members_t *all = prepare(view, arena, &picture);
    helio_aev_capacity_t capacity = {0};
    capacity.pools.count = view->site->pools.count;
    capacity.pools.items = helio_arena_alloc(arena, capacity.pools.count + 1, sizeof *capacity.pools.items);
    for (uint32_t p = 0; p < capacity.pools.count; p++) {
        helio_pool_capacity_t *pool = &capacity.pools.items[p];
        pool->pool = all[p].pool->name;
        pool->free_nodes.count = levels(&picture, &all[p]);
        pool->free_nodes.items = helio_arena_alloc(arena, pool->free_nodes.count, sizeof(uint32_t));
        for (uint32_t i = 0; i < all[p].count; i++)
            add_node(&all[p], &picture.places[all[p].places[i]], pool);
        uint32_t whole = pool->free_nodes.items[pool->free_nodes.count - 1];
        helio_slurm_add_ahead(&picture, &all[p], p, pool);
        helio_slurm_apply_limits(view, &all[p], pool);
        count_jobs(&picture, &all[p], pool);
        helio_slurm_pool_options_t options;
        helio_slurm_pool_options(&picture, &all[p], arena, &options);
        pool->options.items = options.items;
        pool->options.count = options.count;
        helio_slurm_expected_wait(&picture, &all[p], &pool->expected_wait_s);
        expect_ahead(whole, pool);
    }
    *ret_capacity = capacity;
}

/* ---- the hours ahead ---------------------------------------------------------------------------------------- */

enum { HOUR_S = 3600 };

typedef struct hours {
    int64_t start_s;
    int64_t now_s;
    uint32_t count;
    int64_t busy[HELIO_SERIES_POINTS_MAX + 1]; /* of one node: changes, hour by hour */
} hours_t;

/*  `gpus` GPUs are not free in [from, to): in each hour that overlaps it. */
static void keep_busy(hours_t *hours, int64_t from_s, int64_t to_s, int64_t gpus)
{
    int64_t end_s = hours->start_s + (int64_t)hours->count * HOUR_S;
    from_s = from_s > hours->now_s ? from_s : hours->now_s;
    to_s = to_s > from_s ? to_s : from_s + 1; /* a job that is over its time limit and still there holds its GPUs now */
    if (from_s >= end_s)
        return;
    to_s = to_s < end_s ? to_s : end_s;
    hours->busy[(from_s - hours->start_s) / HOUR_S] += gpus;
    hours->busy[(to_s - 1 - hours->start_s) / HOUR_S + 1] -= gpus;
}

static void keep_holds(const helio_slurm_picture_t *self, const helio_slurm_members_t *members,
                       const helio_slurm_place_t *place, uint32_t total, hours_t *hours)
{
    int64_t last_end_s = 0;
    bool used = helio_slurm_used(members, place);
    for (const helio_slurm_hold_t *hold = place->holds; hold; hold = hold->next) {
        bool runs = hold->kind == HELIO_SLURM_HOLD_RUNS, whole = hold->kind == HELIO_SLURM_HOLD_RESERVED;
        uint32_t gpus = whole ? total : helio_slurm_hold_gpus(members, self, hold);
        if (runs && hold->end_s > last_end_s)
            last_end_s = hold->end_s;
        if (hold->kind == HELIO_SLURM_HOLD_EXPECTED && gpus == HELIO_SLURM_UNKNOWN)
            gpus = hold->job->nodes ? (hold->job->gpus + hold->job->nodes - 1) / hold->job->nodes : hold->job->gpus;
        if (gpus == HELIO_SLURM_UNKNOWN || (runs ? !used : hold->end_s <= hours->now_s))
            continue; /* GPUs of running jobs whose number is unknown: handled as the rest, below */
        keep_busy(hours, hold->start_s, hold->end_s, gpus < total ? gpus : total);
    }
    uint32_t rest;
    int64_t until_s = helio_slurm_rest_until(members, self, place, &rest);
    if (rest)
        keep_busy(hours, hours->now_s, until_s, rest);
    if (!place->cpus ||
        (!place->memory_bytes && place->node->memory_bytes)) /* GPUs that have no free CPU on their node */
        keep_busy(hours, hours->now_s, last_end_s ? last_end_s : HELIO_SLURM_FOREVER, total);
}

static void add_hours(const helio_slurm_picture_t *self, const helio_slurm_members_t *members,
                      const helio_slurm_place_t *place, hours_t *hours, double *values)
{
    bool unexplained = place->reserved;
    for (const helio_slurm_hold_t *hold = place->holds; hold; hold = hold->next)
        if (hold->kind == HELIO_SLURM_HOLD_RESERVED && hold->start_s <= hours->now_s && hold->end_s > hours->now_s)
            unexplained = false;
    if (!members->partition_up || !place->ready || place->node->closed || unexplained)
        return;
    uint32_t total = helio_slurm_total(members, place);
    for (uint32_t h = 0; h <= hours->count; h++)
        hours->busy[h] = 0;
    keep_holds(self, members, place, total, hours);
    int64_t busy = 0;
    for (uint32_t h = 0; h < hours->count; h++) {
        busy += hours->busy[h];
        values[h] += busy < (int64_t)total ? (double)((int64_t)total - busy) : 0;
    }
}

void helio_slurm_free_series(const helio_slurm_view_t *view, uint32_t hours, helio_arena_t *arena,
                             helio_aev_series_t *ret_series)
{
    helio_slurm_picture_t picture;
    const helio_slurm_members_t *all = prepare(view, arena, &picture);
    helio_aev_series_t out = {.power_w = -1};
    hours_t span = {.start_s = picture.now_s - picture.now_s % HOUR_S, .now_s = picture.now_s};
    span.count = hours < HELIO_SERIES_POINTS_MAX ? hours : HELIO_SERIES_POINTS_MAX;
    out.series.items = helio_arena_alloc(arena, view->site->pools.count + 1, sizeof *out.series.items);
    for (uint32_t p = 0; p < view->site->pools.count; p++) {
        if (!helio_slurm_has_gpus(&all[p]))
            continue;
        helio_series_t *series = &out.series.items[out.series.count++];
        *series = (helio_series_t){.signal = HELIO_SIGNAL_FREE_GPUS,
                                   .pool = all[p].pool->name,
                                   .source = HELIO_TEXT("slurm"),
                                   .estimated = true,
                                   .issued_wall_ms = view->wall_ms,
                                   .start_wall_ms = span.start_s * 1000,
                                   .step_s = HOUR_S};
        series->values.items = helio_arena_alloc(arena, span.count + 1, sizeof(double));
        series->values.count = span.count;
        for (uint32_t i = 0; i < all[p].count; i++)
            add_hours(&picture, &all[p], &picture.places[all[p].places[i]], &span, series->values.items);
    }
    *ret_series = out;
}
