#include "simulator/experiment/advice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/rng.h"
#include "federation/policy/prices.h"

enum { LATER_MS = 60000 };
static const double SECONDS_PER_HOUR = 3600;

/* ---- one more node ---------------------------------------------------------------------------------------- */

static exp_gain_t gain_of(const exp_advice_t *advice, const exp_result_t *with, const exp_result_t *without)
{
    exp_gain_t gain = {
        .finished = (int64_t)with->finished - (int64_t)without->finished,
        .deadline_misses = (int64_t)with->deadline_misses - (int64_t)without->deadline_misses,
        .gpu_hours_waited = (with->wait_gpu_s - without->wait_gpu_s) / SECONDS_PER_HOUR,
        .usd = with->usd - without->usd,
        .kg = (with->grams - without->grams) / 1000,
    };
    gain.worth_usd = 0 - gain.usd - gain.kg / 1000 * (double)advice->carbon_micro_usd_per_t / 1e6 -
                     gain.gpu_hours_waited * (double)advice->wait_micro_usd_per_gpu_h / 1e6;
    return gain;
}

static exp_gain_t gain_on(const exp_world_t *world, const exp_policy_t *policy, const exp_result_t *own,
                          const exp_advice_t *advice)
{
    exp_result_t result;
    exp_world_t plain = *world;
    plain.detailed = false;
    plain.classes = NULL;
    exp_run(&plain, policy, NULL, NULL, &result);
    exp_gain_t gain = gain_of(advice, &result, own);
    exp_result_clear(&result);
    return gain;
}

static exp_gain_t gain_of_node(const exp_world_t *world, const exp_policy_t *policy, const exp_result_t *own,
                               const exp_advice_t *advice, uint32_t site, uint32_t pool)
{
    helio_arena_t *arena = helio_arena_new();
    exp_fleet_t fleet = exp_fleet_copy(world->fleet, arena);
    helio_pool_t *larger = &fleet.items[site].profile.pools.items[pool];
    exp_world_t changed = *world;
    changed.fleet = &fleet;
    larger->nodes++;
    larger->max_nodes += larger->max_nodes ? 1 : 0;
    exp_gain_t gain = gain_on(&changed, policy, own, advice);
    gain.site = site;
    gain.pool = pool;
    helio_arena_destroy(&arena);
    return gain;
}

static int by_submission(const void *a_, const void *b_)
{
    const exp_job_t *a = a_, *b = b_;
    return (a->submit_ms > b->submit_ms) - (a->submit_ms < b->submit_ms);
}

/*  The same jobs, up to a minute later. */
static double worth_by_chance(const exp_world_t *world, const exp_policy_t *policy, const exp_result_t *own,
                              const exp_advice_t *advice, uint64_t seed)
{
    exp_trace_t later = *world->trace;
    exp_world_t changed = *world;
    helio_rng_t rng = {seed};
    later.jobs = helio_new(later.count, sizeof *later.jobs);
    memcpy(later.jobs, world->trace->jobs, later.count * sizeof *later.jobs);
    for (uint32_t i = 0; i < later.count; i++)
        later.jobs[i].submit_ms += (int64_t)helio_rng_below(&rng, LATER_MS);
    qsort(later.jobs, later.count, sizeof *later.jobs, by_submission);
    changed.trace = &later;
    exp_gain_t gain = gain_on(&changed, policy, own, advice);
    free(later.jobs);
    return gain.worth_usd;
}

static int by_value(const void *a_, const void *b_)
{
    double a = *(const double *)a_, b = *(const double *)b_;
    return (a > b) - (a < b);
}

static int by_worth(const void *a_, const void *b_)
{
    const exp_gain_t *a = a_, *b = b_;
    if (a->worth_usd != b->worth_usd)
        return a->worth_usd > b->worth_usd ? -1 : 1;
    return a->site != b->site ? (a->site > b->site) - (a->site < b->site) : (a->pool > b->pool) - (a->pool < b->pool);
}

static bool can_grow(const helio_pool_t *pool)
{
    return pool->nodes && pool->nodes < HELIO_JOB_NODES_MAX;
}

static uint32_t pools_to_try(const exp_fleet_t *fleet)
{
    uint32_t count = 0;
    for (uint32_t site = 0; site < fleet->count; site++)
        for (uint32_t pool = 0; pool < fleet->items[site].profile.pools.count; pool++)
            count += can_grow(&fleet->items[site].profile.pools.items[pool]);
    return count;
}

static void find_prices(exp_advice_t *self, const exp_world_t *world)
{
    const helio_prices_t prices = helio_prices_of_goal(HELIO_GOAL_BALANCED);
    self->carbon_micro_usd_per_t =
        world->carbon_price_given ? world->carbon_price_micro_usd_per_t : prices.carbon_micro_usd_per_t;
    self->wait_micro_usd_per_gpu_h =
        world->wait_price_given ? world->wait_price_micro_usd_per_gpu_h : prices.wait_micro_usd_per_gpu_h;
}

typedef struct search {
    const exp_world_t *world;
    const exp_policy_t *policy;
    const exp_result_t *own;
    exp_advice_progress_fn *progress;
    void *arg;
    uint32_t runs, of;
} search_t;

static void note_run(search_t *self)
{
    if (self->progress)
        self->progress(self->arg, self->policy->name, self->runs, self->of);
    self->runs++;
}

static void find_chances(search_t *self, exp_advice_t *advice)
{
    for (uint32_t i = 0; i < EXP_CHANCES; i++) {
        note_run(self);
        advice->by_chance_usd[i] = worth_by_chance(self->world, self->policy, self->own, advice, self->world->seed + i);
    }
    qsort(advice->by_chance_usd, EXP_CHANCES, sizeof *advice->by_chance_usd, by_value);
}

static void find_nodes(search_t *self, exp_advice_t *advice)
{
    const exp_fleet_t *fleet = self->world->fleet;
    for (uint32_t site = 0; site < fleet->count; site++) {
        for (uint32_t pool = 0; pool < fleet->items[site].profile.pools.count; pool++) {
            if (!can_grow(&fleet->items[site].profile.pools.items[pool]))
                continue;
            note_run(self);
            advice->nodes[advice->node_count++] =
                gain_of_node(self->world, self->policy, self->own, advice, site, pool);
        }
    }
    qsort(advice->nodes, advice->node_count, sizeof *advice->nodes, by_worth);
}

void exp_advice_find(const exp_world_t *world, const exp_policy_t *policy, const exp_result_t *own,
                     int64_t checkpoint_takes_ms, exp_advice_progress_fn *progress, void *arg, exp_advice_t *ret_advice)
{
    uint32_t count = pools_to_try(world->fleet);
    search_t search = {world, policy, own, progress, arg, 0, count + EXP_CHANCES};
    *ret_advice = (exp_advice_t){.checkpoint_takes_ms = checkpoint_takes_ms};
    find_prices(ret_advice, world);
    ret_advice->nodes = helio_new(count ? count : 1, sizeof *ret_advice->nodes);
    find_chances(&search, ret_advice);
    find_nodes(&search, ret_advice);
}

void exp_advice_clear(exp_advice_t *self)
{
    free(self->nodes);
    *self = (exp_advice_t){0};
}
