/*  demand.c -- what waiting jobs need of a site's elastic pools.
 *
 *  An instance that nothing can use is paid for all the same. So classes are asked in the scheduling order, those of all
 *  sites, and each wants no more than quotas and budgets allow beside what those before it want; and jobs of several
 *  classes share nodes. The work grows with the classes that want nodes, not with their jobs. */
#include "broker/core/sites/demand.h"

#include "broker/core/state/accounts.h"
#include "broker/core/state/budget_starts.h"
#include "broker/core/state/classes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/order.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/tenants.h"

enum { REPEAT_MS = 30000 };

/*  What a node has for jobs; UINT64_MAX = more than is ever asked for. */
typedef struct node_room {
    uint64_t gpus, cpus, memory_bytes;
} node_room_t;

/*  Of one pool: the nodes that jobs want, and what these jobs leave of the last of them. */
typedef struct tally {
    uint64_t nodes;
    node_room_t left;
} tally_t;

/* ---- nodes of jobs --------------------------------------------------------------------------------------------- */

static node_room_t node_of(const pool_t *pool)
{
    const helio_pool_t *info = &pool->info;
    return (node_room_t){info->gpus_per_node, info->cpus_per_node ? info->cpus_per_node : UINT64_MAX,
                         info->memory_bytes_per_node ? info->memory_bytes_per_node : UINT64_MAX};
}

static uint64_t fit(uint64_t most, uint64_t has, uint64_t each)
{
    return each && has / each < most ? has / each : most;
}

/*  How many jobs of the class that room takes. One that asks for nothing that is counted takes all of it. */
static uint64_t jobs_in(const job_class_t *class, const node_room_t *room)
{
    uint64_t most = fit(UINT64_MAX, room->gpus, class->grows.gpus_per_node);
    if (room->cpus != UINT64_MAX)
        most = fit(most, room->cpus, class->want.cpus);
    if (room->memory_bytes != UINT64_MAX)
        most = fit(most, room->memory_bytes, class->want.memory_bytes);
    return most == UINT64_MAX ? 0 : most;
}

static uint64_t less(uint64_t has, uint64_t jobs, uint64_t each)
{
    return has == UINT64_MAX ? has : has / jobs < each ? 0 : has - jobs * each;
}

static void take(node_room_t *room, const job_class_t *class, uint64_t jobs)
{
    *room = jobs ? (node_room_t){less(room->gpus, jobs, class->grows.gpus_per_node),
                                 less(room->cpus, jobs, class->want.cpus),
                                 less(room->memory_bytes, jobs, class->want.memory_bytes)}
                 : *room;
}

/*  First what is left of the last node, then new ones. */
static void add(tally_t *tally, const pool_t *pool, const job_class_t *class, uint64_t jobs)
{
    node_room_t node = node_of(pool);
    uint64_t each = jobs_in(class, &node), there = tally->nodes ? jobs_in(class, &tally->left) : 0;
    if (class->want.nodes > 1) {
        tally->nodes += jobs * class->want.nodes;
        tally->left = (node_room_t){0};
        return;
    }
    there = there < jobs ? there : jobs;
    take(&tally->left, class, there);
    jobs -= there;
    if (!jobs)
        return;
    uint64_t nodes = each ? (jobs + each - 1) / each : jobs;
    tally->nodes += nodes;
    tally->left = each ? node : (node_room_t){0};
    take(&tally->left, class, each ? jobs - (nodes - 1) * each : 0);
}

/* ---- jobs that may run ----------------------------------------------------------------------------------------- */

static void forget_claims(const job_class_t *class)
{
    class->account->claims = class->account->tenant->claims = (claims_t){0};
}

/*  How many of its jobs may run beside those of the classes before it, which it claims. */
static uint32_t claim_jobs(helio_broker_core_t *self, const job_class_t *class)
{
#ifdef HELIO_MUTANT_demand_of_each_class
    forget_claims(class);
#endif
    uint64_t gpus = (uint64_t) class->grows.gpus_per_node * class->want.nodes;
    uint32_t jobs = (uint32_t)fit(class->waiting_count, core_quota_left_unclaimed(class), gpus);
    helio_spend_t spend = class->grows.spend;
    spend.start_ms = spend.start_ms > self->wall_ms ? spend.start_ms : self->wall_ms;
#ifndef HELIO_MUTANT_demand_beyond_budgets
    jobs = core_budget_room_unclaimed(self, class, &spend, jobs);
#endif
    core_budget_claim(self, class, &spend, jobs);
    class->account->claims.gpus += jobs * gpus;
    class->account->tenant->claims.gpus += jobs * gpus;
    return jobs;
}

static bool wants_nodes(const job_class_t *class)
{
    return class->waiting && class->grows.site;
}

/*  Of each pool of the site, by its place there. */
static tally_t *count_nodes(helio_broker_core_t *self, const site_t *site)
{
    uint32_t count = 0, at = 0;
    tally_t *tallies = helio_arena_alloc(self->effects->arena, site->pool_count, sizeof *tallies);
    for (const job_class_t *class = self->classes; class; class = class->hh.next)
        count += wants_nodes(class);
    const job_class_t **classes = helio_arena_alloc(self->effects->arena, count, sizeof *classes);
    for (const job_class_t *class = self->classes; class; class = class->hh.next)
        if (wants_nodes(class)) {
            forget_claims(class);
            classes[at++] = class;
        }
    core_scheduling_sort(classes, count);
    for (uint32_t i = 0; i < count; i++) {
        const growth_t *grows = &classes[i]->grows;
        uint32_t jobs = claim_jobs(self, classes[i]);
        if (grows->site == site && core_pool_is_of(grows->pool, site))
            add(&tallies[grows->pool - site->pools], grows->pool, classes[i], jobs);
    }
    return tallies;
}

static bool has_elastic_pool(const site_t *site)
{
    bool any = false;
    for (uint32_t i = 0; i < site->pool_count; i++)
        any = any || site->pools[i].info.elastic;
    return any;
}

void core_demand_tell(helio_broker_core_t *self, site_t *site)
{
    helio_fx_demand_t demand = {.peer = site->peer};
    bool changed = false;
    if (!has_elastic_pool(site))
        return;
    const tally_t *tallies = count_nodes(self, site);
    demand.pools.items = helio_arena_alloc(self->effects->arena, site->pool_count, sizeof *demand.pools.items);
    for (uint32_t i = 0; i < site->pool_count; i++) {
        pool_t *pool = &site->pools[i];
        if (!pool->info.elastic)
            continue;
        uint64_t most = helio_pool_nodes_most(&pool->info);
        uint32_t nodes = (uint32_t)(tallies[i].nodes < most ? tallies[i].nodes : most);
        changed = changed || nodes != pool->demand_told;
        pool->demand_told = nodes;
        demand.pools.items[demand.pools.count++] = (helio_pool_demand_t){pool->info.name, nodes};
    }
    bool repeat = site->demand_session != site->session || self->now_ms - site->demand_told_ms >= REPEAT_MS;
    if (!demand.pools.count || (!changed && !repeat))
        return;
    site->demand_session = site->session;
    site->demand_told_ms = self->now_ms;
    core_emit(self, HELIO_BROKER_FX_DEMAND, &demand);
}
