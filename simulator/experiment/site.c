/*  site.c -- nodes, attempts and reports of a site, and the hours that it publishes. */
#include "simulator/experiment/site.h"

#include <math.h>
#include <stdlib.h>

#include "federation/policy/pool_forecast.h"

enum { PUBLISHED_HOURS = 48, YEAR_H = 8766 };

/*  Over the year before, as far as the series goes back; without any past its first value. */
static double mean_before(const exp_series_t *series, int64_t at_ms)
{
    int64_t first_ms = series->first_hour * HELIO_HOUR_MS, from_ms = at_ms - (int64_t)YEAR_H * HELIO_HOUR_MS;
    from_ms = from_ms > first_ms ? from_ms : first_ms;
    if (from_ms >= at_ms)
        return series->first;
    return exp_series_integral(series, from_ms, at_ms) * HELIO_HOUR_MS / (double)(at_ms - from_ms);
}

void exp_site_init(exp_site_t *self, const exp_world_t *world, uint32_t index, bool publishes_static, int64_t at_ms)
{
    const exp_fleet_site_t *info = &world->fleet->items[index];
    *self = (exp_site_t){.profile = info->profile,
                         .carbon = exp_series_find(world->carbon, info->profile.region),
                         .price = exp_series_find(world->price, info->price_region),
                         .forecast = exp_forecast_find(world->forecast, info->forecast_region)};
    self->pools = helio_new(info->profile.pools.count, sizeof *self->pools);
    for (uint32_t i = 0; i < info->profile.pools.count; i++)
        exp_nodes_init(&self->pools[i], info->profile.pools.items[i].nodes, info->profile.pools.items[i].gpus_per_node);
    if (!publishes_static)
        return;
    self->profile.carbon_g_per_kwh = mean_before(self->carbon, at_ms);
    if (self->price)
        self->profile.electricity_usd_per_kwh = mean_before(self->price, at_ms);
    self->carbon = self->price = NULL;
}

void exp_site_clear(exp_site_t *self)
{
    for (uint32_t i = 0; i < self->profile.pools.count; i++)
        exp_nodes_clear(&self->pools[i]);
    free(self->pools);
    free(self->reports);
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

static uint32_t pool_of(const exp_site_t *self, helio_text_t name)
{
    uint32_t i = 0;
    while (i < self->profile.pools.count && !helio_text_equal(self->profile.pools.items[i].name, name))
        i++;
    return i;
}

exp_attempt_t *exp_site_start(exp_site_t *self, const helio_order_t *order, int64_t wall_ms)
{
    uint32_t pool = pool_of(self, order->pool);
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
    attempt->started_ms = wall_ms;
    attempt->gpus_per_node = order->gpus_per_node;
    attempt->node_count = order->nodes;
    self->running++;
    (void)report(self, order->key, order->epoch, HELIO_REPORT_KIND_ACCEPTED, wall_ms);
    (void)report(self, order->key, order->epoch, HELIO_REPORT_KIND_STARTING, wall_ms);
    report(self, order->key, order->epoch, HELIO_REPORT_KIND_RUNNING, wall_ms)->started_wall_ms = wall_ms;
    return attempt;
}

void exp_site_end(exp_site_t *self, const exp_attempt_t *attempt, uint32_t kind, int64_t wall_ms)
{
    exp_nodes_give(&self->pools[attempt->pool], attempt->nodes, attempt->node_count, attempt->gpus_per_node);
    helio_report_t *end = report(self, attempt->key, attempt->epoch, kind, wall_ms);
    end->started_wall_ms = attempt->started_ms;
    end->ended_wall_ms = wall_ms;
    end->run_ms = (uint64_t)(wall_ms - attempt->started_ms);
    end->gpu_ms = end->run_ms * attempt->node_count * attempt->gpus_per_node;
    self->running--;
    self->changed = true;
}

/* ---- summaries ----------------------------------------------------------------------------------------- */

static void fill_pool(const exp_site_t *self, uint32_t index, helio_arena_t *arena, helio_pool_capacity_t *ret_pool)
{
    const helio_pool_t *info = &self->profile.pools.items[index];
    const exp_nodes_t *nodes = &self->pools[index];
    *ret_pool = (helio_pool_capacity_t){
        .pool = info->name,
        .nodes_up = nodes->count,
        .gpus_total = nodes->count * nodes->gpus_per_node,
        .gpus_allocated = exp_nodes_allocated(nodes),
        .cpus_free = info->cpus_per_node * nodes->count,
        .memory_free_bytes = info->memory_bytes_per_node * nodes->count,
        .jobs_running = self->running,
    };
    ret_pool->free_nodes.count = nodes->gpus_per_node + 1;
    ret_pool->free_nodes.items = helio_arena_alloc(arena, ret_pool->free_nodes.count, sizeof(uint32_t));
    for (uint32_t k = 0; k <= nodes->gpus_per_node; k++)
        ret_pool->free_nodes.items[k] = nodes->by_gpus[k];
}

/*  The running hour as measured, and the others as issued, or else by the built-in forecast. */
static void add_series(const exp_series_t *series, const exp_forecast_t *forecast, uint32_t signal, int64_t wall_ms,
                       helio_arena_t *arena, helio_site_summary_t *summary)
{
    if (!series)
        return;
    double least = signal == HELIO_SIGNAL_CARBON ? 0 : -INFINITY;
    int64_t hour_ms = helio_hour_of(wall_ms), hour = hour_ms / HELIO_HOUR_MS;
    helio_hours_t known = exp_series_known(series, hour);
    helio_forecast_t ahead = {0};
    helio_forecast_points(&known, hour + 1, PUBLISHED_HOURS - 1, least, arena, &ahead);
    if (ahead.method == HELIO_FORECAST_NONE)
        return;
    helio_hours_t issued = forecast ? exp_forecast_known(forecast, hour) : (helio_hours_t){.first_hour = hour};
    double *values = helio_arena_alloc(arena, PUBLISHED_HOURS, sizeof *values);
    for (uint32_t i = 0; i < PUBLISHED_HOURS; i++) {
        values[i] = helio_hours_at(i ? &issued : &known, hour + i);
        if (isnan(values[i]))
            values[i] = ahead.values[i ? i - 1 : 0];
    }
    summary->series.items[summary->series.count++] = (helio_series_t){
        .signal = signal,
        .kind = signal == HELIO_SIGNAL_CARBON ? HELIO_TEXT("average") : (helio_text_t){0},
        .factor = signal == HELIO_SIGNAL_CARBON ? HELIO_TEXT("lifecycle") : (helio_text_t){0},
        .source = HELIO_TEXT("simulation"),
        .issued_wall_ms = hour_ms,
        .start_wall_ms = hour_ms,
        .step_s = HELIO_HOUR_MS / 1000,
        .values = {values, PUBLISHED_HOURS},
    };
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
    summary.series.items = helio_arena_alloc(arena, 2, sizeof *summary.series.items);
    if (with_series) {
        add_series(self->carbon, self->forecast, HELIO_SIGNAL_CARBON, wall_ms, arena, &summary);
        add_series(self->price, NULL, HELIO_SIGNAL_ELECTRICITY, wall_ms, arena, &summary);
    }
    self->changed = false;
    return summary;
}
