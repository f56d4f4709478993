/*  pools.c -- what is free at a site, as counts of nodes: the last summary, less what was placed since.
 *
 *  A placement is deducted at once. A summary has the number of the last dispatch that it includes. So placements up to
 *  there are not counted twice, and later ones are deducted again. */
#include "broker/core/state/pools.h"

#include <math.h>

#include "broker/core/state/core.h"

bool core_pool_grows(const pool_t *pool)
{
    return pool->info.elastic && pool->last.nodes_up < pool->info.max_nodes;
}

uint32_t core_pool_gpus_free(const pool_t *pool)
{
    uint32_t gpus = 0;
    for (uint32_t k = 1; k <= HELIO_JOB_GPUS_PER_NODE_MAX; k++)
        gpus += k * pool->free.by_gpus[k];
    return gpus;
}

uint32_t core_site_window_gpus(const helio_broker_core_t *self, const site_t *site, const pool_t *pool)
{
    const helio_series_t *series = NULL;
    for (uint32_t i = 0; self->has_site_windows && i < site->series_count; i++)
        if (site->series[i].signal == HELIO_SIGNAL_RESERVED && site->series[i].values.count &&
            helio_text_equal(site->series[i].pool, pool->info.name))
            series = &site->series[i];
    if (!series)
        return 0;
    int64_t at = (self->wall_ms - series->start_wall_ms) / (INT64_C(1000) * series->step_s),
            last = (int64_t)series->values.count - 1;
    double gpus = series->values.items[at < 0 ? 0 : at > last ? last : at];
    uint32_t up = pool->last.gpus_total;
    return isnan(gpus) || gpus <= 0 ? 0 : gpus >= up ? up : (uint32_t)ceil(gpus - 1e-9);
}

static bool bounded_by_cpus(const pool_t *pool)
{
    return pool->info.cpus_per_node > 0;
}

static bool bounded_by_memory(const pool_t *pool)
{
    return pool->info.memory_bytes_per_node > 0;
}

bool core_room_fits(const pool_t *pool, const free_nodes_t *free_now, uint32_t nodes, uint32_t gpus, uint64_t cpus,
                    uint64_t memory_bytes)
{
    uint64_t fitting = 0;
    for (uint32_t k = gpus; k <= pool->info.gpus_per_node; k++)
        fitting += free_now->by_gpus[k];
    return fitting >= nodes && (!bounded_by_cpus(pool) || free_now->cpus >= cpus * nodes) &&
           (!bounded_by_memory(pool) || free_now->memory_bytes >= memory_bytes * nodes);
}

/*  Best fit: the nodes with the fewest free GPUs that still have `gpus`. All or nothing. */
bool core_room_take(const pool_t *pool, free_nodes_t *free_now, uint32_t nodes, uint32_t gpus, uint64_t cpus,
                    uint64_t memory_bytes)
{
    if (!core_room_fits(pool, free_now, nodes, gpus, cpus, memory_bytes))
        return false;
#ifdef HELIO_MUTANT_room_given_twice
    return true;
#endif
    uint32_t left = nodes;
    for (uint32_t k = gpus; gpus && k <= pool->info.gpus_per_node && left; k++) {
        uint32_t n = free_now->by_gpus[k] < left ? free_now->by_gpus[k] : left;
        free_now->by_gpus[k] -= n;
        free_now->by_gpus[k - gpus] += n;
        left -= n;
    }
    free_now->cpus -= bounded_by_cpus(pool) ? cpus * nodes : 0;
    free_now->memory_bytes -= bounded_by_memory(pool) ? memory_bytes * nodes : 0;
    return true;
}

/*  For GPUs that no single node can have held by these counts, which are a guess after many returns: nodes give them
 *  back one by one, so that none is lost. When all jobs of a pool are over, all its nodes are whole. */
static void give_in_parts(const pool_t *pool, free_nodes_t *free_now, uint64_t gpus)
{
    for (uint32_t k = 0; k < pool->info.gpus_per_node && gpus; k++) {
        uint32_t n = free_now->by_gpus[k] < gpus ? free_now->by_gpus[k] : (uint32_t)gpus;
        free_now->by_gpus[k] -= n;
        free_now->by_gpus[k + 1] += n;
        gpus -= n;
    }
}

/*  Which node becomes free is unknown here. The fullest node that can have held it is assumed, and the next summary
 *  corrects it. */
void core_room_give(const pool_t *pool, free_nodes_t *free_now, uint32_t nodes, uint32_t gpus, uint64_t cpus,
                    uint64_t memory_bytes)
{
    uint32_t left = gpus ? nodes : 0;
    for (uint32_t k = 0; k + gpus <= pool->info.gpus_per_node && left; k++) {
        uint32_t n = free_now->by_gpus[k] < left ? free_now->by_gpus[k] : left;
        free_now->by_gpus[k] -= n;
        free_now->by_gpus[k + gpus] += n;
        left -= n;
    }
    give_in_parts(pool, free_now, (uint64_t)left * gpus);
    free_now->cpus += bounded_by_cpus(pool) ? cpus * nodes : 0;
    free_now->memory_bytes += bounded_by_memory(pool) ? memory_bytes * nodes : 0;
}

bool core_pool_take(pool_t *pool, uint32_t nodes, uint32_t gpus, uint64_t cpus, uint64_t memory_bytes)
{
    return core_room_take(pool, &pool->free, nodes, gpus, cpus, memory_bytes);
}

void core_pool_give(pool_t *pool, uint32_t nodes, uint32_t gpus, uint64_t cpus, uint64_t memory_bytes)
{
    core_room_give(pool, &pool->free, nodes, gpus, cpus, memory_bytes);
}

void core_room_add(room_t *room, uint32_t nodes, uint32_t gpus, const helio_requirement_t *want)
{
    room->nodes_by_gpus[gpus <= HELIO_JOB_GPUS_PER_NODE_MAX ? gpus : 0] += nodes;
    room->cpus += (uint64_t)want->cpus * nodes;
    room->memory_bytes += want->memory_bytes * nodes;
}

void core_room_return(const pool_t *pool, free_nodes_t *free_now, const room_t *room)
{
    for (uint32_t gpus = pool->info.gpus_per_node; gpus > 0; gpus--) /* a larger job can have held none of its nodes */
        if (room->nodes_by_gpus[gpus])
            core_room_give(pool, free_now, room->nodes_by_gpus[gpus], gpus, 0, 0);
    free_now->cpus += pool->info.cpus_per_node ? room->cpus : 0;
    free_now->memory_bytes += pool->info.memory_bytes_per_node ? room->memory_bytes : 0;
}

pool_t *core_pool_find(site_t *site, helio_text_t name)
{
    for (uint32_t i = 0; i < site->pool_count; i++)
        if (helio_text_equal(site->pools[i].info.name, name))
            return &site->pools[i];
    return NULL;
}

bool core_pool_is_of(const pool_t *pool, const site_t *site)
{
    return site->pool_count && pool >= site->pools && pool < site->pools + site->pool_count;
}
