/*  reservations.c -- room that is spoken for.
 *
 *  A gang that waits at the head of its turn would never find its nodes free together while smaller jobs pass
 * it. So it gets a reservation: a pool, and the time at which enough is expected to be free there, by the
 * limits of our own jobs or by the word of the site's scheduler. Whoever comes after it may pass if his limit
 * ends before, or if the gang still fits at that time beside him. Estimates are by time limits, so a
 * reservation only ever comes sooner than it says.
 *
 *  A window is milder: room that a class is expected to take at an hour to come is not counted on by the next
 * one.
 */
#include "broker/core/holds/reservations.h"

#include <stdlib.h>
#include <utlist.h>

#include "broker/core/forecast/pool_forecast.h"
#include "broker/core/state/classes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/order.h"
#include "broker/core/state/pools.h"

enum { PROMISE_RUN_HOURS_MAX = 48 };

static int by_end(const void *a_, const void *b_)
{
    const expected_end_t *a = a_, *b = b_;
    if (a->end_ms != b->end_ms)
        return a->end_ms < b->end_ms ? -1 : 1;
    return core_job_by_age(a->job, b->job);
}

static void make_room(pool_t *pool)
{
    if (pool->expected_end_count < pool->expected_end_capacity)
        return;
    pool->expected_end_capacity = pool->expected_end_capacity ? pool->expected_end_capacity * 2 : 64;
    pool->expected_ends = helio_grow(pool->expected_ends, pool->expected_end_capacity, sizeof *pool->expected_ends);
}

/*  Of jobs that are there now, in this round: those placed in it are counted as they come
 * (core_reserve_placed). */
static void find_expected_ends(helio_broker_core_t *self, const site_t *site, pool_t *pool)
{
    if (pool->expected_ends_round == self->rounds)
        return;
    pool->expected_ends_round = self->rounds;
    pool->expected_end_count = 0;
    const job_t *job;
    DL_FOREACH(site->live, job)
    {
        if (job->pool != pool)
            continue;
        make_room(pool);
        pool->expected_ends[pool->expected_end_count++] = (expected_end_t){core_job_end_ms(self, job), job};
    }
    if (pool->expected_end_count)
        qsort(pool->expected_ends, pool->expected_end_count, sizeof *pool->expected_ends, by_end);
}

/*  What is free at a time when this much has come back. */
static bool fits_then(const pool_t *pool, const free_nodes_t *free_now, const room_t *back,
                      const helio_requirement_t *want, uint32_t gpus_per_node)
{
    free_nodes_t then = *free_now;
    core_room_return(pool, &then, back);
    return core_room_fits(pool, &then, want->nodes, gpus_per_node, want->cpus, want->memory_bytes);
}

/*  The site's own word on a gang of so many nodes; 0 = it has none, or does not see it coming. */
static int64_t reported_ms(const helio_broker_core_t *self, const pool_t *pool, uint32_t nodes)
{
    uint32_t i = 0;
    while (i < 31 && (UINT32_C(1) << i) < nodes)
        i++;
    if (i >= pool->wait_count || pool->waits_s[i] == UINT32_MAX || !pool->waits_s[i])
        return 0;
    return self->wall_ms + (int64_t)pool->waits_s[i] * 1000;
}

int64_t core_reserve_expect(helio_broker_core_t *self, const job_class_t *class, const site_t *site,
                            pool_t *pool, uint32_t gpus_per_node, reservation_t *ret_reservation)
{
    const helio_requirement_t *want = &class->want;
    find_expected_ends(self, site, pool);
    if (!pool->expected_end_count && !pool->wait_count)
        return 0;
    reservation_t found = {.site = site, .at_ms = reported_ms(self, pool, want->nodes), .gpus_per_node = gpus_per_node};
    bool reported = found.at_ms != 0;
    for (uint32_t i = 0; i < pool->expected_end_count; i++) {
        const expected_end_t *expected_end = &pool->expected_ends[i];
        if (reported ? expected_end->end_ms > found.at_ms : found.known)
            break;
        core_room_add(&found.back, expected_end->job->submission->class->want.nodes, expected_end->job->gpus_per_node,
                 &expected_end->job->submission->class->want);
        bool last_of_its_time =
            i + 1 == pool->expected_end_count || pool->expected_ends[i + 1].end_ms != expected_end->end_ms;
        if (!reported && last_of_its_time && fits_then(pool, &pool->free, &found.back, want, gpus_per_node)) {
            found.at_ms = expected_end->end_ms;
            found.known = true;
        }
    }
    if (reported)
        found.known = fits_then(pool, &pool->free, &found.back, want, gpus_per_node);
    if (ret_reservation)
        *ret_reservation = found;
    return found.at_ms;
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
        self->wall_ms + (int64_t) class->want.time_limit_ms <= held->at_ms)
        return true;
    free_nodes_t after = pool->free;
    return held->known &&
           core_room_take(pool, &after, class->want.nodes, gpus_per_node, class->want.cpus,
                          class->want.memory_bytes) &&
           fits_then(pool, &after, &held->back, &held->class->want, held->gpus_per_node);
}

void core_reserve_placed(helio_broker_core_t *self, const job_t *job)
{
    pool_t *pool = job->pool;
    reservation_t *held = &pool->reservation;
    expected_end_t expected_end = {core_job_end_ms(self, job), job};
    if (held->class && expected_end.end_ms <= held->at_ms)
        core_room_add(&held->back, job->submission->class->want.nodes, job->gpus_per_node,
                 &job->submission->class->want);
    if (pool->expected_ends_round != self->rounds)
        return; /* nobody has asked yet */
    make_room(pool);
    uint32_t at = pool->expected_end_count++;
    for (; at > 0 && by_end(&expected_end, &pool->expected_ends[at - 1]) < 0; at--)
        pool->expected_ends[at] = pool->expected_ends[at - 1];
    pool->expected_ends[at] = expected_end;
}

/* ---- windows ------------------------------------------------------------------------------------------- */

static uint32_t *promise(pool_t *pool, int64_t ms)
{
    return &pool->promised_gpus[(uint64_t)(ms / HELIO_HOUR_MS) % PROMISE_HOURS];
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
    class->window = (window_t){site, pool, start_ms, gpus,
                               hours < PROMISE_RUN_HOURS_MAX ? (uint32_t)hours : PROMISE_RUN_HOURS_MAX};
    for (uint32_t h = 0; h < class->window.hours; h++)
        *promise(pool, start_ms + (int64_t)h * HELIO_HOUR_MS) += gpus;
}

/*  GPUs expected to be free then: as the site forecasts, but never more than our own jobs leave, by their limits;
 *  without a forecast, what is free now and what those jobs give back. */
static uint64_t free_then(helio_broker_core_t *self, const site_t *site, pool_t *pool, int64_t start_ms)
{
    const helio_pool_forecast_t *pool_forecast = core_pool_forecast(self, site, pool);
    int64_t reported = pool_forecast->free_gpus[helio_pool_forecast_hour(pool_forecast, start_ms)];
    uint64_t back = 0, held = 0, all = (uint64_t)pool->info.nodes * pool->info.gpus_per_node;
    find_expected_ends(self, site, pool);
    for (uint32_t i = 0; i < pool->expected_end_count; i++) {
        const job_t *job = pool->expected_ends[i].job;
        uint64_t gpus = core_job_gpus(job);
        *(pool->expected_ends[i].end_ms <= start_ms ? &back : &held) += gpus;
    }
    if (reported < 0)
        return core_pool_gpus_free(pool) + back;
    uint64_t left = all > held ? all - held : 0;
    return (uint64_t)reported < left ? (uint64_t)reported : left;
}

uint32_t core_window_room(helio_broker_core_t *self, const job_class_t *class, const site_t *site,
                          pool_t *pool, uint32_t gpus_per_node, int64_t start_ms)
{
    uint64_t each = (uint64_t)gpus_per_node * class->want.nodes, promised = *promise(pool, start_ms);
    if (!each) /* CPU jobs: not counted ahead */
        return class->waiting_count;
    const window_t *own = &class->window;
    if (own->pool == pool && start_ms >= own->start_ms &&
        start_ms < own->start_ms + (int64_t)own->hours * HELIO_HOUR_MS)
        promised -= own->gpus;
    uint64_t free_gpus = free_then(self, site, pool, start_ms),
             jobs = free_gpus > promised ? (free_gpus - promised) / each : 0;
    return jobs < class->waiting_count ? (uint32_t)jobs : class->waiting_count;
}
