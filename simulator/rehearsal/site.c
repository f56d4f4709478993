/*  site.c -- nodes, attempts, reports and summaries of a site. */
#include "simulator/rehearsal/site.h"

#include <stdlib.h>

#include <utlist.h>

#include "federation/policy/pool_forecast.h"
#include "federation/reason/codes.h"

void reh_site_init(reh_site_t *self, const reh_site_copy_t *copy, bool up, helio_arena_t *arena)
{
    uint32_t count = copy->profile.pools.count;
    *self = (reh_site_t){
        .copy = copy, .profile = copy->profile, .up = up, .back_ms = INT64_MAX, .report_seq = copy->row->memory_mark};
    self->profile.pools.items = helio_arena_alloc(arena, count ? count : 1, sizeof *self->profile.pools.items);
    for (uint32_t i = 0; i < count; i++) {
        helio_pool_t *pool = &self->profile.pools.items[i];
        const helio_row_capacity_t *capacity = copy->capacities[i];
        *pool = copy->profile.pools.items[i];
        pool->nodes = capacity && capacity->nodes_up < pool->nodes ? capacity->nodes_up : pool->nodes;
    }
    self->capacity = helio_capacity_new(&self->profile);
}

void reh_site_clear(reh_site_t *self)
{
    reh_attempt_t *attempt, *next;
    DL_FOREACH_SAFE(self->attempts, attempt, next)
    {
        free(attempt->slots);
        free(attempt);
    }
    helio_capacity_destroy(&self->capacity);
    free(self->lost);
    free(self->reports);
}

/*  ---- attempts ---- */

static helio_report_t *report(reh_site_t *self, helio_job_key_t key, uint32_t epoch, uint32_t kind, int64_t wall_ms)
{
    self->reports = helio_grow(self->reports, self->report_count + 1, sizeof *self->reports);
    helio_report_t *report = &self->reports[self->report_count++];
    *report = (helio_report_t){.seq = ++self->report_seq, .key = key, .epoch = epoch, .kind = kind, .wall_ms = wall_ms};
    return report;
}

static reh_attempt_t *take(reh_site_t *self, const helio_order_t *order, int64_t started_ms)
{
    helio_error_t err = {0};
    reh_attempt_t *attempt = helio_new(1, sizeof *attempt);
    if (helio_capacity_take(self->capacity, order, &attempt->slots, &attempt->slot_count, &err) != HELIO_OK) {
        free(attempt);
        return NULL;
    }
    attempt->order = *order;
    attempt->started_ms = attempt->works_ms = started_ms;
    DL_APPEND(self->attempts, attempt);
    self->running++;
    self->changed = true;
    return attempt;
}

static helio_report_t *report_end(reh_site_t *self, const helio_order_t *order, uint32_t kind, int64_t started_ms,
                                  int64_t wall_ms)
{
    helio_report_t *end = report(self, order->key, order->epoch, kind, wall_ms);
    end->started_wall_ms = started_ms;
    end->ended_wall_ms = wall_ms;
    end->run_ms = (uint64_t)(wall_ms - started_ms);
    end->gpu_ms = end->run_ms * order->nodes * order->gpus_per_node;
    return end;
}

/*  Its journal has it until the broker has the report. */
static void lose(reh_site_t *self, const helio_order_t *order, uint32_t cause, int64_t started_ms, int64_t wall_ms)
{
    self->lost = helio_grow(self->lost, self->lost_count + 1, sizeof *self->lost);
    self->lost[self->lost_count++] =
        (helio_holding_t){.key = order->key, .epoch = order->epoch, .state = HELIO_JOB_RUNNING};
    report_end(self, order, HELIO_REPORT_KIND_LOST, started_ms, wall_ms)->cause = cause;
}

reh_attempt_t *reh_site_adopt(reh_site_t *self, const helio_order_t *order, int64_t started_ms, int64_t wall_ms)
{
    reh_attempt_t *attempt = take(self, order, started_ms);
    if (!attempt)
        lose(self, order, HELIO_CAUSE_NODE_FAILED, started_ms, wall_ms);
    return attempt;
}

/*  The fullest nodes first, so that whole nodes stay free as they do at a site. */
static void leave(reh_site_t *self, uint32_t pool, uint32_t gpus)
{
    const helio_pool_t *info = &self->profile.pools.items[pool];
    uint32_t all[HELIO_JOB_GPUS_PER_NODE_MAX];
    for (uint32_t i = 0; i < HELIO_JOB_GPUS_PER_NODE_MAX; i++)
        all[i] = i;
    for (uint32_t node = info->nodes; node-- && gpus;) {
        helio_slot_t busy = {.node = node, .gpus = {all, info->gpus_per_node}};
        uint32_t freed = helio_capacity_leave_to_others(self->capacity, pool, &busy);
        if (freed > gpus) { /* only as many as they hold: those with the lowest numbers are held already */
            busy.gpus.items = all + (info->gpus_per_node - gpus);
            busy.gpus.count = gpus;
            freed = helio_capacity_leave_to_others(self->capacity, pool, &busy);
        }
        gpus -= freed < gpus ? freed : gpus;
    }
}

void reh_site_leave_to_others(reh_site_t *self)
{
    helio_arena_t *arena = helio_arena_new();
    for (uint32_t i = 0; i < self->profile.pools.count; i++) {
        const helio_row_capacity_t *said = self->copy->capacities[i];
        helio_pool_capacity_t now;
        helio_capacity_pool(self->capacity, i, arena, &now);
        uint32_t ours = now.gpus_allocated;
        uint32_t offered = said && said->gpus_total > said->gpus_free ? said->gpus_total - said->gpus_free : 0;
        if (offered > ours)
            leave(self, i, offered - ours);
    }
    helio_arena_destroy(&arena);
}

reh_attempt_t *reh_site_start(reh_site_t *self, const helio_order_t *order, int64_t wall_ms)
{
    reh_attempt_t *attempt = take(self, order, wall_ms);
    self->dispatch_seen = order->dispatch_seq;
    if (!attempt) {
        report(self, order->key, order->epoch, HELIO_REPORT_KIND_REFUSED, wall_ms)->cause = HELIO_CAUSE_NO_CAPACITY;
        self->changed = true;
        return NULL;
    }
    (void)report(self, order->key, order->epoch, HELIO_REPORT_KIND_ACCEPTED, wall_ms);
    (void)report(self, order->key, order->epoch, HELIO_REPORT_KIND_STARTING, wall_ms);
    report(self, order->key, order->epoch, HELIO_REPORT_KIND_RUNNING, wall_ms)->started_wall_ms = wall_ms;
    return attempt;
}

/*  Frees its nodes. */
static void drop(reh_site_t *self, reh_attempt_t *attempt)
{
    helio_capacity_give_back(self->capacity, &attempt->order, attempt->slots, attempt->slot_count);
    DL_DELETE(self->attempts, attempt);
    self->running--;
    self->changed = true;
    free(attempt->slots);
    free(attempt);
}

void reh_site_end(reh_site_t *self, reh_attempt_t *attempt, int64_t wall_ms)
{
    (void)report_end(self, &attempt->order, HELIO_REPORT_KIND_ENDED, attempt->started_ms, wall_ms);
    drop(self, attempt);
}

void reh_site_stop(reh_site_t *self, reh_attempt_t *attempt, uint64_t saved_ms, int64_t wall_ms)
{
    helio_report_t *end = report_end(self, &attempt->order, HELIO_REPORT_KIND_STOPPED, attempt->started_ms, wall_ms);
    end->saved_run_ms = saved_ms;
    end->cause = HELIO_CAUSE_STOPPED;
    drop(self, attempt);
}

void reh_site_kill(reh_site_t *self, reh_attempt_t *attempt, int64_t wall_ms)
{
    lose(self, &attempt->order, HELIO_CAUSE_VANISHED, attempt->started_ms, wall_ms);
    drop(self, attempt);
}

void reh_site_report_gone(reh_site_t *self, const helio_stop_t *stop, int64_t wall_ms)
{
    report(self, stop->key, stop->epoch, HELIO_REPORT_KIND_STOPPED, wall_ms)->cause = HELIO_CAUSE_NOT_HERE;
}

/*  ---- what it says ---- */

helio_ev_site_inventory_t reh_site_inventory(const reh_site_t *self, helio_arena_t *arena)
{
    helio_ev_site_inventory_t inventory = {.last = true};
    const reh_attempt_t *attempt;
    inventory.holdings.items =
        helio_arena_alloc(arena, self->running + self->lost_count + 1, sizeof *inventory.holdings.items);
    DL_FOREACH(self->attempts, attempt)
    {
        inventory.holdings.items[inventory.holdings.count++] =
            (helio_holding_t){.key = attempt->order.key, .epoch = attempt->order.epoch, .state = HELIO_JOB_RUNNING};
    }
    for (uint32_t i = 0; i < self->lost_count; i++)
        inventory.holdings.items[inventory.holdings.count++] = self->lost[i];
    return inventory;
}

/*  From the running step on. False: the series is over. */
static bool go_on(const helio_row_series_t *row, int64_t wall_ms, helio_series_t *ret_series)
{
    int64_t step_ms = (int64_t)row->step_s * 1000;
    int64_t steps = wall_ms > row->start_ms ? (wall_ms - row->start_ms) / step_ms : 0;
    if (steps >= row->values.count)
        return false;
    uint32_t skip = (uint32_t)steps;
    *ret_series = (helio_series_t){.signal = row->signal,
                                   .pool = row->pool,
                                   .kind = row->kind,
                                   .factor = row->factor,
                                   .source = row->source,
                                   .estimated = row->estimated,
                                   .issued_wall_ms = skip ? helio_hour_of(wall_ms) : row->issued_ms,
                                   .start_wall_ms = row->start_ms + steps * step_ms,
                                   .step_s = row->step_s,
                                   .values = {row->values.items + skip, row->values.count - skip},
                                   .feed_state = row->feed_state,
                                   .last_value_ms = row->last_value_ms};
    if (row->p10.count == row->values.count)
        ret_series->p10 = (helio_f64s_t){row->p10.items + skip, row->p10.count - skip};
    if (row->p90.count == row->values.count)
        ret_series->p90 = (helio_f64s_t){row->p90.items + skip, row->p90.count - skip};
    return true;
}

static bool is_one_series(const helio_row_series_t *a, const helio_row_series_t *b)
{
    return a->signal == b->signal && helio_text_equal(a->pool, b->pool) && helio_text_equal(a->kind, b->kind);
}

/*  Of several issues of one series, the newest one by then; the first one before that. */
static bool is_in_effect(const reh_site_copy_t *copy, uint32_t i, int64_t wall_ms)
{
    const helio_row_series_t *row = copy->series[i];
    bool has_next = i + 1 < copy->series_count && is_one_series(row, copy->series[i + 1]);
    bool is_first = !i || !is_one_series(row, copy->series[i - 1]);
    return (is_first || row->issued_ms <= wall_ms) && !(has_next && copy->series[i + 1]->issued_ms <= wall_ms);
}

helio_site_summary_t reh_site_summary(reh_site_t *self, int64_t wall_ms, bool with_series, helio_arena_t *arena)
{
    uint32_t pools = self->profile.pools.count;
    helio_site_summary_t summary = {
        .seq = ++self->summary_seq, .wall_ms = wall_ms, .dispatch_seen = self->dispatch_seen, .power_w = -1};
    summary.pools.items = helio_arena_alloc(arena, pools + 1, sizeof *summary.pools.items);
    summary.pools.count = pools;
    for (uint32_t i = 0; i < pools; i++)
        helio_capacity_pool(self->capacity, i, arena, &summary.pools.items[i]);
    summary.series.items = helio_arena_alloc(arena, self->copy->series_count + 1, sizeof *summary.series.items);
    for (uint32_t i = 0; with_series && i < self->copy->series_count; i++)
        if (is_in_effect(self->copy, i, wall_ms) &&
            go_on(self->copy->series[i], wall_ms, &summary.series.items[summary.series.count]))
            summary.series.count++;
    self->changed = false;
    return summary;
}
