/*  demand.c -- tells sites what waiting jobs need of their elastic pools. */
#include "broker/core/sites/demand.h"

#include "broker/core/holds/wanted_nodes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/sites.h"

enum { REPEAT_MS = 30000 };

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
    core_wanted_now(self);
    demand.pools.items = helio_arena_alloc(self->effects->arena, site->pool_count, sizeof *demand.pools.items);
    for (uint32_t i = 0; i < site->pool_count; i++) {
        pool_t *pool = &site->pools[i];
        if (!pool->info.elastic)
            continue;
        uint32_t nodes = core_wanted_nodes(pool, 0);
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
