/*  site.c -- nodes, attempts and reports of a site, and the hours that it publishes. */
#include "simulator/experiment/site.h"

#include <math.h>
#include <stdlib.h>

#include <utlist.h>

#include "federation/policy/pool_forecast.h"
#include "simulator/experiment/scales.h"

enum {
    PUBLISHED_HOURS = 48,
    FORETOLD_HOURS_MAX = 96, /* published where a forecast has them */
    TRUE_HOURS = 72,
    YEAR_H = 8766
};

/*  Over the year before, as far as the series goes back; without any past its first value. */
static double mean_before(const exp_series_t *series, int64_t at_ms)
{
    int64_t first_ms = series->first_hour * HELIO_HOUR_MS, from_ms = at_ms - (int64_t)YEAR_H * HELIO_HOUR_MS;
    from_ms = from_ms > first_ms ? from_ms : first_ms;
    if (from_ms >= at_ms)
        return series->first;
    return exp_series_integral(series, from_ms, at_ms) * HELIO_HOUR_MS / (double)(at_ms - from_ms);
}

static void init_pools(exp_site_t *self, const exp_world_t *world, int64_t at_ms)
{
    const exp_fleet_site_t *info = &world->fleet->items[self->index];
    uint32_t count = info->profile.pools.count;
    self->pools = helio_new(count, sizeof *self->pools);
    self->queues = helio_new(count, sizeof *self->queues);
    self->exempt_gpus = helio_new(count, sizeof *self->exempt_gpus);
    self->instances = helio_new(count, sizeof *self->instances);
    self->rents = helio_new(count, sizeof *self->rents);
    for (uint32_t i = 0; i < count; i++) {
        const helio_pool_t *pool = &info->profile.pools.items[i];
        helio_rng_t rng = {world->seed + exp_fleet_pool_number(world->fleet, self->index, i)};
        exp_nodes_init(&self->pools[i], helio_pool_nodes_most(pool), pool->gpus_per_node);
        self->instances[i] =
            exp_instances_new(pool, exp_scales_rule(info, i), helio_rng_next(&rng), &self->pools[i], at_ms);
        self->rents[i] = exp_world_rent(world, self->index, i);
    }
}

/*  Of pools whose rent a series has. */
static void set_mean_rents(exp_site_t *self, int64_t at_ms)
{
    uint32_t count = self->profile.pools.count;
    self->mean_pools = helio_new(count, sizeof *self->mean_pools);
    for (uint32_t i = 0; i < count; i++) {
        helio_pool_t *pool = &self->mean_pools[i];
        *pool = self->profile.pools.items[i];
        if (self->rents[i])
            *(pool->spot ? &pool->spot_usd_per_gpu_h : &pool->price_usd_per_gpu_h) = mean_before(self->rents[i], at_ms);
        self->rents[i] = NULL;
    }
    self->profile.pools.items = self->mean_pools;
}

void exp_site_init(exp_site_t *self, const exp_world_t *world, uint32_t index, exp_knows_t knows, int64_t at_ms)
{
    const exp_fleet_site_t *info = &world->fleet->items[index];
    *self = (exp_site_t){.profile = info->profile,
                         .carbon = exp_series_find(world->carbon, info->profile.region),
                         .price = exp_series_find(world->price, info->price_region),
                         .carbon_source = {.forecast = exp_forecast_find(world->forecast, info->forecast_region)},
                         .price_source = {.forecast = exp_forecast_find(world->price_forecast, info->price_region)},
                         .knows = knows,
                         .reserves = world->reserves,
                         .index = index};
    self->profile.leases = self->profile.leases || world->site_loss != HELIO_SITE_LOSS_STRICT;
    init_pools(self, world, at_ms);
    if (knows != EXP_KNOWS_MEAN)
        return;
    set_mean_rents(self, at_ms);
    self->profile.carbon_g_per_kwh = mean_before(self->carbon, at_ms);
    if (self->price)
        self->profile.electricity_usd_per_kwh = mean_before(self->price, at_ms);
    self->carbon = self->price = NULL;
}

void exp_site_clear(exp_site_t *self)
{
    for (uint32_t i = 0; i < self->profile.pools.count; i++) {
        exp_nodes_clear(&self->pools[i]);
        exp_local_queue_clear(&self->queues[i]);
        exp_instances_destroy(&self->instances[i]);
    }
    free(self->pools);
    free(self->queues);
    free(self->instances);
    free(self->rents);
    free(self->mean_pools);
    free(self->exempt_gpus);
    free(self->reports);
    free(self->carbon_source.foretold);
    free(self->price_source.foretold);
}

static helio_report_t *report(exp_site_t *self, helio_job_key_t key, uint32_t epoch, uint32_t kind, int64_t wall_ms)
{
    if (self->report_count == self->report_capacity) {
        self->report_capacity = self->report_capacity ? 2 * self->report_capacity : 16;
        self->reports = helio_grow(self->reports, self->report_capacity, sizeof *self->reports);
    }
    helio_report_t *report = &self->reports[self->report_count++];
    *report = (helio_report_t){.seq = ++self->report_seq, .key = key, .epoch = epoch, .kind = kind, .wall_ms = wall_ms};
    return report;
}

static void add(exp_site_t *self, exp_attempt_t *attempt)
{
    DL_APPEND(self->attempts, attempt);
    self->running++;
}

exp_attempt_t *exp_site_start(exp_site_t *self, const helio_order_t *order, int64_t wall_ms)
{
    uint32_t pool = exp_fleet_find_pool(&self->profile, order->pool);
    exp_attempt_t *attempt = helio_new(1, sizeof *attempt + order->nodes * sizeof attempt->nodes[0]);
    self->dispatch_seen = order->dispatch_seq;
    if (pool == self->profile.pools.count ||
        !exp_nodes_take(&self->pools[pool], order->nodes, order->gpus_per_node, attempt->nodes)) {
        free(attempt);
        report(self, order->key, order->epoch, HELIO_REPORT_KIND_REFUSED, wall_ms)->cause = HELIO_CAUSE_NO_CAPACITY;
        self->changed = true;
        return NULL;
    }
    attempt->pool = pool;
    attempt->key = order->key;
    attempt->epoch = order->epoch;
    attempt->started_ms = attempt->works_ms = wall_ms;
    attempt->limit_ms = wall_ms + (int64_t)order->time_limit_ms;
    attempt->gpus_per_node = order->gpus_per_node;
    attempt->node_count = order->nodes;
    add(self, attempt);
    (void)report(self, order->key, order->epoch, HELIO_REPORT_KIND_ACCEPTED, wall_ms);
    (void)report(self, order->key, order->epoch, HELIO_REPORT_KIND_STARTING, wall_ms);
    report(self, order->key, order->epoch, HELIO_REPORT_KIND_RUNNING, wall_ms)->started_wall_ms = wall_ms;
    return attempt;
}

void exp_site_exempt(exp_site_t *self, exp_attempt_t *attempt)
{
    attempt->exempt = true;
    self->exempt_gpus[attempt->pool] += attempt->node_count * attempt->gpus_per_node;
}

uint32_t exp_site_shortfall(const exp_site_t *self, uint32_t pool, uint32_t reserved, uint32_t *ret_served)
{
    uint32_t all = self->pools[pool].count * self->pools[pool].gpus_per_node;
    uint32_t allocated = exp_nodes_allocated(&self->pools[pool]), held = allocated - self->exempt_gpus[pool];
    uint32_t room = all > reserved ? all - reserved : 0;
    *ret_served = all - allocated < reserved ? all - allocated : reserved;
    return held > room ? held - room : 0;
}

void exp_site_drop(exp_site_t *self, exp_attempt_t *attempt)
{
    exp_nodes_give(&self->pools[attempt->pool], attempt->nodes, attempt->node_count, attempt->gpus_per_node);
    self->exempt_gpus[attempt->pool] -= attempt->exempt ? attempt->node_count * attempt->gpus_per_node : 0;
    DL_DELETE(self->attempts, attempt);
    self->running--;
    self->changed = true;
}

static helio_report_t *report_end(exp_site_t *self, const exp_attempt_t *attempt, uint32_t kind, int64_t ended_ms)
{
    helio_report_t *end = report(self, attempt->key, attempt->epoch, kind, ended_ms);
    end->started_wall_ms = attempt->started_ms;
    end->ended_wall_ms = ended_ms;
    end->run_ms = (uint64_t)(ended_ms - attempt->started_ms);
    end->gpu_ms = end->run_ms * attempt->node_count * attempt->gpus_per_node;
    return end;
}

void exp_site_end(exp_site_t *self, exp_attempt_t *attempt, uint32_t kind, int64_t wall_ms)
{
    exp_site_drop(self, attempt);
    if (!attempt->local)
        (void)report_end(self, attempt, kind, wall_ms);
}

void exp_site_take_away(exp_site_t *self, exp_attempt_t *attempt, int64_t wall_ms)
{
    exp_site_drop(self, attempt);
    report_end(self, attempt, HELIO_REPORT_KIND_STOPPED, wall_ms)->cause = HELIO_CAUSE_PREEMPTED;
}

void exp_site_report_stopped(exp_site_t *self, const exp_dead_t *dead)
{
    const exp_attempt_t attempt = {.key = dead->key,
                                   .epoch = dead->epoch,
                                   .started_ms = dead->started_ms,
                                   .node_count = 1,
                                   .gpus_per_node = dead->gpus};
    (void)report_end(self, &attempt, HELIO_REPORT_KIND_STOPPED, dead->ended_ms);
}

/* ---- its own users ------------------------------------------------------------------------------------- */

void exp_site_queue_local(exp_site_t *self, const exp_local_job_t *job, uint32_t number)
{
    exp_local_put(&self->queues[job->pool], number);
    self->changed = true;
}

/*  A pool that was scaled down has fewer nodes than the trace was written for: then a job gets all of them. */
static exp_attempt_t *start_first(exp_site_t *self, uint32_t pool, const exp_local_trace_t *trace, int64_t wall_ms)
{
    uint32_t number = exp_local_first(&self->queues[pool]);
    const exp_local_job_t *job = &trace->jobs[number];
    uint32_t nodes = job->nodes < self->pools[pool].count ? job->nodes : self->pools[pool].count;
    exp_attempt_t *attempt = helio_new(1, sizeof *attempt + nodes * sizeof attempt->nodes[0]);
    if (!exp_nodes_take(&self->pools[pool], nodes, job->gpus_per_node, attempt->nodes)) {
        free(attempt);
        return NULL;
    }
    exp_local_drop_first(&self->queues[pool]);
    attempt->local = true;
    attempt->job = number;
    attempt->pool = pool;
    attempt->started_ms = attempt->works_ms = wall_ms;
    attempt->limit_ms = wall_ms + job->duration_ms;
    attempt->gpus_per_node = job->gpus_per_node;
    attempt->node_count = nodes;
    add(self, attempt);
    exp_site_exempt(self, attempt);
    self->changed = true;
    return attempt;
}

exp_attempt_t *exp_site_start_local(exp_site_t *self, const exp_local_trace_t *trace, int64_t wall_ms)
{
    exp_attempt_t *attempt = NULL;
    for (uint32_t i = 0; !attempt && i < self->profile.pools.count; i++)
        attempt = self->queues[i].count ? start_first(self, i, trace, wall_ms) : NULL;
    return attempt;
}

/* ---- summaries ----------------------------------------------------------------------------------------- */

static void fill_pool(const exp_site_t *self, uint32_t index, helio_arena_t *arena, helio_pool_capacity_t *ret_pool)
{
    const helio_pool_t *info = &self->profile.pools.items[index];
    const exp_nodes_t *nodes = &self->pools[index];
    *ret_pool = (helio_pool_capacity_t){
        .pool = info->name,
        .nodes_up = nodes->offered,
        .gpus_total = nodes->offered * nodes->gpus_per_node,
        .gpus_allocated = exp_nodes_allocated(nodes),
        .cpus_free = info->cpus_per_node * nodes->offered,
        .memory_free_bytes = info->memory_bytes_per_node * nodes->offered,
        .jobs_running = self->running,
    };
    ret_pool->free_nodes.count = nodes->gpus_per_node + 1;
    ret_pool->free_nodes.items = helio_arena_alloc(arena, ret_pool->free_nodes.count, sizeof(uint32_t));
    for (uint32_t k = 0; k <= nodes->gpus_per_node; k++)
        ret_pool->free_nodes.items[k] = nodes->by_gpus[k];
    ret_pool->jobs_queued = self->queues[index].count;
    if (!self->queues[index].count)
        return;
    /* what is idle is for those who wait here already */
    ret_pool->gpus_allocated = ret_pool->gpus_total;
    for (uint32_t k = 0; k <= nodes->gpus_per_node; k++)
        ret_pool->free_nodes.items[k] = k ? 0 : nodes->count;
}

static helio_series_t series_of(uint32_t signal, int64_t hour_ms, double *values, uint32_t count)
{
    return (helio_series_t){
        .signal = signal,
        .kind = signal == HELIO_SIGNAL_CARBON ? HELIO_TEXT("average") : (helio_text_t){0},
        .factor = signal == HELIO_SIGNAL_CARBON ? HELIO_TEXT("lifecycle") : (helio_text_t){0},
        .source = HELIO_TEXT("simulation"),
        .issued_wall_ms = hour_ms,
        .start_wall_ms = hour_ms,
        .step_s = HELIO_HOUR_MS / 1000,
        .values = {values, count},
    };
}

/*  What was issued until the hour, corrected as the agent corrects it. Before the first issue nothing is. */
static helio_issue_t issue_of(exp_source_t *self, const helio_hours_t *known, int64_t hour)
{
    uint32_t issues = exp_forecast_known(self->forecast, hour);
    if (!self->foretold) {
        self->foretold = helio_new(1, sizeof *self->foretold);
        helio_foretold_begin(self->foretold, hour);
    }
    helio_issue_t issue = {self->foretold, *known, {.first_hour = hour}, hour};
    for (; self->issues_taken < issues; self->issues_taken++) {
        helio_hours_t hours = exp_forecast_hours(self->forecast, self->issues_taken);
        helio_foretold_take(self->foretold, self->forecast->issues[self->issues_taken].from_hour, &hours);
    }
    if (issues) {
        issue.issued = exp_forecast_hours(self->forecast, issues - 1);
        issue.issue_hour = self->forecast->issues[issues - 1].from_hour;
    }
    return issue;
}

/*  The running hour as measured, and the others as issued and corrected, or else by the built-in forecast. Returns how many
 *  hours are published; 0: nothing is known. */
static uint32_t foresee(exp_source_t *source, const exp_series_t *series, double least, int64_t hour,
                        helio_arena_t *arena, double ret_values[FORETOLD_HOURS_MAX])
{
    helio_hours_t known = exp_series_known(series, hour);
    helio_issue_t issue = {.issued = {.first_hour = hour}};
    if (source->forecast)
        issue = issue_of(source, &known, hour);
    uint32_t count = FORETOLD_HOURS_MAX;
    while (count > PUBLISHED_HOURS && isnan(helio_hours_at(&issue.issued, hour + count - 1)))
        count--;
    helio_forecast_t ahead = {0};
    helio_forecast_points(&known, hour + 1, count - 1, least, arena, &ahead);
    if (ahead.method == HELIO_FORECAST_NONE)
        return 0;
    for (uint32_t i = 0; i < count; i++) {
        ret_values[i] = helio_hours_at(i ? &issue.issued : &known, hour + i);
        if (isnan(ret_values[i]))
            ret_values[i] = ahead.values[i ? i - 1 : 0];
    }
    if (issue.foretold)
        (void)helio_foretold_correct(&issue, hour + 1, count - 1, least, ret_values + 1);
    return count;
}

static void add_series(exp_site_t *self, const exp_series_t *series, uint32_t signal, int64_t wall_ms,
                       helio_arena_t *arena, helio_site_summary_t *summary)
{
    if (!series)
        return;
    int64_t hour_ms = helio_hour_of(wall_ms), hour = hour_ms / HELIO_HOUR_MS;
    double *values = helio_arena_alloc(arena, FORETOLD_HOURS_MAX, sizeof *values);
    uint32_t count = TRUE_HOURS;
    if (self->knows != EXP_KNOWS_TRUTH)
        count = signal == HELIO_SIGNAL_CARBON ? foresee(&self->carbon_source, series, 0, hour, arena, values)
                                              : foresee(&self->price_source, series, -INFINITY, hour, arena, values);
    else
        for (uint32_t i = 0; i < count; i++)
            values[i] = exp_series_at(series, hour + i);
    if (count)
        summary->series.items[summary->series.count++] = series_of(signal, hour_ms, values, count);
}

/*  What the provider will ask for is foreseen like a price of electricity. */
static void add_rent(exp_site_t *self, uint32_t pool, int64_t wall_ms, helio_arena_t *arena,
                     helio_site_summary_t *summary)
{
    const exp_series_t *series = self->rents[pool];
    if (!series)
        return;
    int64_t hour_ms = helio_hour_of(wall_ms), hour = hour_ms / HELIO_HOUR_MS;
    double *values = helio_arena_alloc(arena, FORETOLD_HOURS_MAX, sizeof *values);
    exp_source_t none = {.forecast = NULL};
    uint32_t count = TRUE_HOURS;
    if (self->knows != EXP_KNOWS_TRUTH)
        count = foresee(&none, series, 0, hour, arena, values);
    else
        for (uint32_t i = 0; i < count; i++)
            values[i] = exp_series_at(series, hour + i);
    if (!count)
        return;
    helio_series_t rent = series_of(HELIO_SIGNAL_PRICE, hour_ms, values, count);
    rent.pool = self->profile.pools.items[pool].name;
    summary->series.items[summary->series.count++] = rent;
}

/*  What is reserved of a pool, as the agent publishes it; and what that leaves free, where nothing better is known. */
static void add_reserved(const exp_site_t *self, uint32_t pool, int64_t wall_ms, helio_arena_t *arena,
                         helio_site_summary_t *summary)
{
    int64_t hour_ms = helio_hour_of(wall_ms);
    uint32_t count = self->knows == EXP_KNOWS_TRUTH ? TRUE_HOURS : PUBLISHED_HOURS;
    double all = (double)self->pools[pool].count * self->pools[pool].gpus_per_node;
    double *values = helio_arena_alloc(arena, count, sizeof *values),
           *left = helio_arena_alloc(arena, count, sizeof *left);
    exp_reserves_publish(self->reserves, self->index, pool, hour_ms / HELIO_HOUR_MS, count,
                         self->knows == EXP_KNOWS_TRUTH, arena, values);
    for (uint32_t i = 0; i < count; i++)
        left[i] = fmax(all - values[i], 0);
    helio_series_t reserved = series_of(HELIO_SIGNAL_RESERVED, hour_ms, values, count),
                   unused = series_of(HELIO_SIGNAL_FREE_GPUS, hour_ms, left, count);
    reserved.pool = unused.pool = self->profile.pools.items[pool].name;
    summary->series.items[summary->series.count++] = reserved;
    if (self->knows != EXP_KNOWS_FREE)
        summary->series.items[summary->series.count++] = unused;
}

/*  As a batch system tells it: what runs keeps its GPUs until its limit, and nothing else comes; less what is reserved. */
static void add_free(const exp_site_t *self, uint32_t pool, int64_t wall_ms, helio_arena_t *arena,
                     helio_site_summary_t *summary)
{
    int64_t hour_ms = helio_hour_of(wall_ms);
    double *values = helio_arena_alloc(arena, PUBLISHED_HOURS, sizeof *values);
    if (self->reserves)
        exp_reserves_publish(self->reserves, self->index, pool, hour_ms / HELIO_HOUR_MS, PUBLISHED_HOURS, false, arena,
                             values);
    for (uint32_t i = 0; i < PUBLISHED_HOURS; i++)
        values[i] = fmax((double)self->pools[pool].count * self->pools[pool].gpus_per_node - values[i], 0);
    for (const exp_attempt_t *attempt = self->attempts; attempt; attempt = attempt->next)
        for (uint32_t i = 0; attempt->pool == pool && i < PUBLISHED_HOURS; i++)
            if (!i || attempt->limit_ms > hour_ms + (int64_t)i * HELIO_HOUR_MS)
                values[i] = fmax(values[i] - attempt->node_count * attempt->gpus_per_node, 0);
    helio_series_t series = series_of(HELIO_SIGNAL_FREE_GPUS, hour_ms, values, PUBLISHED_HOURS);
    series.pool = self->profile.pools.items[pool].name;
    summary->series.items[summary->series.count++] = series;
}

helio_site_summary_t exp_site_summary(exp_site_t *self, int64_t wall_ms, bool with_series, helio_arena_t *arena)
{
    uint32_t pools = self->profile.pools.count;
    helio_site_summary_t summary = {
        .seq = ++self->summary_seq, .wall_ms = wall_ms, .dispatch_seen = self->dispatch_seen, .power_w = -1};
    summary.pools.items = helio_arena_alloc(arena, pools, sizeof *summary.pools.items);
    summary.pools.count = pools;
    for (uint32_t i = 0; i < pools; i++)
        fill_pool(self, i, arena, &summary.pools.items[i]);
    summary.series.items = helio_arena_alloc(arena, 2 + 3 * pools, sizeof *summary.series.items);
    if (with_series) {
        add_series(self, self->carbon, HELIO_SIGNAL_CARBON, wall_ms, arena, &summary);
        add_series(self, self->price, HELIO_SIGNAL_ELECTRICITY, wall_ms, arena, &summary);
    }
    for (uint32_t i = 0; with_series && i < pools; i++)
        add_rent(self, i, wall_ms, arena, &summary);
    for (uint32_t i = 0; with_series && i < pools; i++)
        if (exp_reserves_has(self->reserves, self->index, i))
            add_reserved(self, i, wall_ms, arena, &summary);
    for (uint32_t i = 0; with_series && self->knows == EXP_KNOWS_FREE && i < pools; i++)
        if (!self->profile.pools.items[i].elastic)
            add_free(self, i, wall_ms, arena, &summary);
    self->changed = false;
    return summary;
}
