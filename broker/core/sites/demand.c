/*  demand.c -- what waiting jobs need of a site's elastic pools. */
#include "broker/core/sites/demand.h"

#include <string.h>

#include "broker/core/state/accounts.h"
#include "broker/core/state/classes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/sites.h"

enum { REPEAT_MS = 30000 };

/*  How many jobs of the class a node takes. */
static uint64_t jobs_on_a_node(const job_class_t *class, const pool_t *pool)
{
    const helio_requirement_t *want = &class->want;
    uint64_t most = UINT32_MAX;
    if (class->grows.gpus_per_node)
        most = pool->info.gpus_per_node / class->grows.gpus_per_node;
    if (want->cpus && pool->info.cpus_per_node && pool->info.cpus_per_node / want->cpus < most)
        most = pool->info.cpus_per_node / want->cpus;
    if (want->memory_bytes && pool->info.memory_bytes_per_node &&
        pool->info.memory_bytes_per_node / want->memory_bytes < most)
        most = pool->info.memory_bytes_per_node / want->memory_bytes;
    return most == UINT32_MAX || !most ? 1 : most;
}

static uint64_t nodes_for(const job_class_t *class, const pool_t *pool)
{
    uint64_t gpus = (uint64_t) class->grows.gpus_per_node * class->want.nodes, jobs = class->waiting_count;
    uint64_t allowed = gpus ? core_quota_left(class) / gpus : jobs;
    jobs = jobs < allowed ? jobs : allowed;
    if (class->want.nodes > 1)
        return jobs * class->want.nodes;
    uint64_t each = jobs_on_a_node(class, pool);
    return (jobs + each - 1) / each;
}

static uint32_t demand_of(const helio_broker_core_t *self, const site_t *site, const pool_t *pool)
{
    uint64_t nodes = 0, most = helio_pool_nodes_most(&pool->info);
    for (const job_class_t *class = self->classes; class && nodes < most; class = class->hh.next)
        if (class->waiting && class->grows.site == site && class->grows.pool == pool)
            nodes += nodes_for(class, pool);
    return (uint32_t)(nodes < most ? nodes : most);
}

void core_demand_tell(helio_broker_core_t *self, site_t *site)
{
    helio_fx_demand_t demand = {.peer = site->peer};
    bool changed = false;
    demand.pools.items = helio_arena_alloc(self->effects->arena, site->pool_count + 1, sizeof *demand.pools.items);
    for (uint32_t i = 0; i < site->pool_count; i++) {
        pool_t *pool = &site->pools[i];
        if (!pool->info.elastic)
            continue;
        uint32_t nodes = demand_of(self, site, pool);
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
