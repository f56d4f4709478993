/*  reservations.c -- reserved capacity.
 *
 *  A gang at the head of its class would never find its nodes free at the same time while smaller jobs start before it.
 *  So it gets a reservation: a pool, and the time at which enough is expected to be free there, by the time limits of
 *  the federation's jobs or by the site's own estimate. A later job can start if its limit ends before that time, or if
 *  the gang still fits beside it then. The estimates use time limits, so a reservation is never later than it says.
 *
 *  A window is weaker: capacity that one class is expected to take in a later hour is not counted for the next
 *  class. */
#include "broker/core/holds/reservations.h"

#include <stdlib.h>
#include <utlist.h>

#include "broker/core/forecast/pool_forecast.h"
#include "broker/core/holds/expected_ends.h"
#include "broker/core/state/classes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/order.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/why.h"

enum { PROMISE_RUN_HOURS_MAX = 48 };

/*  Whether it surely fits at a time when this much has come back: that may be on other nodes than what is free, so
 *  parts of nodes do not add up. */
static bool surely_fits_then(const pool_t *pool, const free_nodes_t *free_now, const room_t *back,
                             const helio_requirement_t *want, uint32_t gpus_per_node)
{
    free_nodes_t then = *free_now;
    for (uint32_t k = 1; k <= pool->info.gpus_per_node; k++)
        then.by_gpus[k] += back->nodes_by_gpus[k];
    then.cpus += back->cpus;
    then.memory_bytes += back->memory_bytes;
    return core_room_fits(pool, &then, want->nodes, gpus_per_node, want->cpus, want->memory_bytes);
}

void core_reserve(job_class_t *class, pool_t *pool, const reservation_t *reservation)
{
    core_reserve_drop(class);
    pool->reservation = *reservation;
    pool->reservation.class = class;
    class->reserved = pool;
}

void core_reserve_drop(job_class_t *class)
{
    if (class->reserved)
        class->reserved->reservation.class = NULL;
    class->reserved = NULL;
}

bool core_reserve_allows(helio_broker_core_t *self, const job_class_t *class, const pool_t *pool,
                         uint32_t gpus_per_node)
{
    const reservation_t *held = &pool->reservation;
#ifdef HELIO_MUTANT_reservation_ignored
    return true;
#endif
    if (!held->class || held->class->id == class->id || !held->class->waiting ||
        core_class_compare_at(class, held->class, held->site) < 0 ||
        self->wall_ms + (int64_t)helio_requirement_longest_ms(&class->want) <= held->at_ms)
        return true;
    free_nodes_t after = pool->free;
    return held->known &&
           core_room_take(pool, &after, class->want.nodes, gpus_per_node, class->want.cpus, class->want.memory_bytes) &&
           surely_fits_then(pool, &after, &held->back, &held->class->want, held->gpus_per_node);
}

void core_reserve_placed(helio_broker_core_t *self, const job_t *job)
{
    reservation_t *held = &job->pool->reservation;
    const helio_requirement_t *want = &job->submission->class->want;
    if (held->class && core_job_end_ms(self, job) <= held->at_ms)
        core_room_add(&held->back, want->nodes, job->gpus_per_node, want);
}

/* ---- windows ------------------------------------------------------------------------------------------- */

static uint32_t *promise(pool_t *pool, int64_t ms)
{
    return &pool->promised_gpus[(uint64_t)(ms / HELIO_HOUR_MS) % PROMISE_HOURS];
}

uint64_t core_reserved_gpus(const pool_t *pool, int64_t at_ms)
{
    uint64_t gpus = pool->promised_gpus[(uint64_t)(at_ms / HELIO_HOUR_MS) % PROMISE_HOURS];
    const reservation_t *held = &pool->reservation;
    const job_class_t *class = held->class;
    if (!class || !class->waiting || class->grows.pool == pool || at_ms < held->at_ms ||
        at_ms >= held->at_ms + (int64_t)helio_requirement_longest_ms(&class->want))
        return gpus;
    return gpus + (uint64_t)held->gpus_per_node * class->want.nodes;
}

void core_window_clear(job_class_t *class)
{
    window_t *window = &class->window;
    for (uint32_t h = 0; window->pool && h < window->hours; h++)
        *promise(window->pool, window->start_ms + (int64_t)h * HELIO_HOUR_MS) -= window->gpus;
    *window = (window_t){0};
}

void core_window_set(job_class_t *class, site_t *site, pool_t *pool, int64_t start_ms, uint32_t gpus)
{
    core_window_clear(class);
    uint64_t hours = (class->want.time_limit_ms + HELIO_HOUR_MS - 1) / HELIO_HOUR_MS;
    class->window =
        (window_t){site, pool, start_ms, gpus, hours < PROMISE_RUN_HOURS_MAX ? (uint32_t)hours : PROMISE_RUN_HOURS_MAX};
    for (uint32_t h = 0; h < class->window.hours; h++)
        *promise(pool, start_ms + (int64_t)h * HELIO_HOUR_MS) += gpus;
}

/*  GPUs expected to be free then: by the site's forecast, but at most what the federation's jobs leave by their limits.
 *  Without a forecast: what is free now, and what those jobs return. */
static uint64_t free_then(helio_broker_core_t *self, const site_t *site, pool_t *pool, int64_t start_ms)
{
    const helio_pool_forecast_t *pool_forecast = core_pool_forecast(self, site, pool);
    int64_t reported = pool_forecast->free_gpus[helio_pool_forecast_hour(pool_forecast, start_ms)];
    uint64_t all = (uint64_t)pool->info.nodes * pool->info.gpus_per_node;
    expected_gpus_t gpus = core_expected_gpus(self, site, pool, start_ms);
    if (reported < 0)
        return core_pool_gpus_free(pool) + gpus.back;
    uint64_t left = all > gpus.held ? all - gpus.held : 0;
    return (uint64_t)reported < left ? (uint64_t)reported : left;
}

uint32_t core_window_room(helio_broker_core_t *self, const job_class_t *class, const site_t *site, pool_t *pool,
                          uint32_t gpus_per_node, int64_t start_ms)
{
    uint64_t each = (uint64_t)gpus_per_node * class->want.nodes, promised = *promise(pool, start_ms);
    if (!each) /* CPU jobs are not counted ahead */
        return class->waiting_count;
    const window_t *own = &class->window;
    if (own->pool == pool && start_ms >= own->start_ms &&
        start_ms < own->start_ms + (int64_t)own->hours * HELIO_HOUR_MS)
        promised -= own->gpus;
    uint64_t free_gpus = free_then(self, site, pool, start_ms),
             jobs = free_gpus > promised ? (free_gpus - promised) / each : 0;
    return jobs < class->waiting_count ? (uint32_t)jobs : class->waiting_count;
}

helio_detail_t core_window_detail(helio_broker_core_t *self, const site_t *site, const pool_t *pool, int64_t start_ms)
{
    return CORE_DETAIL(self, HELIO_DETAIL_WINDOW_AT, helio_value_string(site->name), helio_value_text(pool->info.name),
                       helio_value_number(start_ms));
}

void core_window_load(helio_broker_core_t *self, const helio_row_class_t *row)
{
    job_class_t *class = core_class_find(self, row->class_id);
    const helio_detail_t *at = helio_details_find(&row->details, HELIO_DETAIL_WINDOW_AT);
    if (!class || !at || at->values.count < 2 || !row->expected_ms)
        return;
    site_t *site = core_site_find(self, at->values.items[0].text);
    pool_t *pool = site ? core_pool_find(site, at->values.items[1].text) : NULL;
    if (pool)
        core_window_set(class, site, pool, row->expected_ms, 0);
}

/*  No column has the number of jobs that found room in the window: all that wait are assumed. */
void core_windows_loaded(helio_broker_core_t *self)
{
    for (job_class_t *class = self->classes; class; class = class->hh.next) {
        const window_t window = class->window;
        if (!window.pool)
            continue;
        if (!class->waiting) {
            core_window_clear(class);
            continue;
        }
        const helio_requirement_t *want = &class->want;
        uint64_t each = (uint64_t)helio_choice_filter(want, &window.site->profile, &window.pool->info).gpus_per_node *
                        want->nodes,
                 all = (uint64_t)window.pool->info.nodes * window.pool->info.gpus_per_node,
                 gpus = class->waiting_count * each;
        core_window_set(class, window.site, window.pool, window.start_ms, (uint32_t)(gpus < all ? gpus : all));
    }
}
