/*  queue_wait.c -- how long a start waits in the site's own queue. */
#include "broker/core/forecast/queue_wait.h"

#include "broker/core/state/pools.h"
#include "federation/base/number.h"

enum { MINUTE_MS = 60000, SHORT_MS = 10 * MINUTE_MS };

int64_t core_queue_reported_ms(const pool_t *pool, uint32_t nodes)
{
    uint32_t i = 0;
    while (i < 31 && (UINT32_C(1) << i) < nodes)
        i++;
    if (i >= pool->wait_count || pool->waits_s[i] == UINT32_MAX || !pool->waits_s[i])
        return 0;
    return pool->waits_told_ms + (int64_t)pool->waits_s[i] * 1000;
}

static int64_t in_steps(int64_t wait_ms)
{
    int64_t step = wait_ms > SHORT_MS ? 5 * MINUTE_MS : MINUTE_MS;
    return (wait_ms + step - 1) / step * step;
}

static bool fits(const pool_t *pool, const free_nodes_t *free_nodes, const helio_requirement_t *want,
                 uint32_t gpus_per_node)
{
    return core_room_fits(pool, free_nodes, want->nodes, gpus_per_node, want->cpus, want->memory_bytes);
}

int64_t core_queue_wait_ms(const pool_t *pool, const helio_requirement_t *want, uint32_t gpus_per_node, int64_t wall_ms)
{
    int64_t at_ms = core_queue_reported_ms(pool, want->nodes), most = QUEUE_WAIT_MAX_MS;
    if (core_pool_grows(pool) && !fits(pool, &pool->free, want, gpus_per_node)) {
        int64_t provision_ms = (int64_t)helio_lesser_u64(pool->info.provision_ms, QUEUE_WAIT_MAX_MS);
        return in_steps(provision_ms);
    }
    if (at_ms <= wall_ms)
        return 0;
    if (fits(pool, &pool->free, want, gpus_per_node)) {
        bool whole = want->nodes > 1 || (gpus_per_node && gpus_per_node == pool->info.gpus_per_node);
        if (!whole || !fits(pool, &pool->figured, want, gpus_per_node))
            return 0; /* the figures are of whole nodes, and older than what came free since */
        most = QUEUE_WAIT_MAX_IF_FREE_MS;
    }
    int64_t wait_ms = in_steps(at_ms - wall_ms);
    return wait_ms < most ? wait_ms : most;
}
