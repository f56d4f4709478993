/*  capacity.c -- what is free. */
#include "site-agent/backends/exec/capacity.h"

/*  What is left of one node. */
typedef struct room {
    const helio_exec_node_t *node;
    uint32_t gpus, cpus;
    uint64_t memory_bytes;
    const helio_exec_waiting_t *taken_by; /* the last that took a part of it: a gang has each node once */
} room_t;

static uint64_t less(uint64_t all, uint64_t used)
{
    return used < all ? all - used : 0;
}

static bool is_of(const helio_exec_node_t *node, const helio_site_profile_t *site, const helio_pool_t *pool)
{
    return node->pool.size ? helio_text_equal(node->pool, pool->name) : site->pools.count == 1;
}

/*  Figures that an engine does not give bound nothing. */
static bool fits(const room_t *room, const helio_exec_waiting_t *waiting)
{
    return room->gpus >= waiting->gpus && (!room->node->cpus || room->cpus >= waiting->cpus) &&
           (!room->node->memory_bytes || room->memory_bytes >= waiting->memory_bytes);
}

static void take(room_t *room, const helio_exec_waiting_t *waiting)
{
    room->gpus = (uint32_t)less(room->gpus, waiting->gpus);
    room->cpus = (uint32_t)less(room->cpus, waiting->cpus);
    room->memory_bytes = less(room->memory_bytes, waiting->memory_bytes);
    room->taken_by = waiting;
}

static void place(room_t *rooms, uint32_t count, const helio_exec_waiting_t *waiting)
{
    room_t *best = NULL, *widest = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (rooms[i].taken_by == waiting)
            continue;
        if (fits(&rooms[i], waiting) && (!best || rooms[i].gpus < best->gpus))
            best = &rooms[i];
        if (!widest || rooms[i].gpus > widest->gpus)
            widest = &rooms[i];
    }
    if (best || widest)
        take(best ? best : widest, waiting);
}

static uint32_t rooms_of(const helio_site_profile_t *site, const helio_pool_t *pool,
                         const helio_exec_answer_t *inventory, room_t *rooms)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < inventory->node_count; i++) {
        const helio_exec_node_t *node = &inventory->nodes[i];
        if (node->up && is_of(node, site, pool))
            rooms[count++] = (room_t){.node = node,
                                      .gpus = (uint32_t)less(node->gpus, node->gpus_used),
                                      .cpus = (uint32_t)less(node->cpus, node->cpus_used),
                                      .memory_bytes = less(node->memory_bytes, node->memory_used_bytes)};
    }
    return count;
}

/*  cpus_free and memory_free 0 mean none: an engine that does not tell is taken at the site file's word. */
static void sum(const helio_pool_t *pool, const room_t *rooms, uint32_t count, helio_arena_t *arena,
                helio_pool_capacity_t *ret)
{
    ret->pool = pool->name;
    ret->nodes_up = count;
    ret->free_nodes.count = HELIO_JOB_GPUS_PER_NODE_MAX + 1;
    ret->free_nodes.items = helio_arena_alloc(arena, ret->free_nodes.count, sizeof *ret->free_nodes.items);
    uint32_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        const room_t *room = &rooms[i];
        ret->gpus_total += room->node->gpus;
        ret->gpus_allocated += room->node->gpus - room->gpus;
        ret->cpus_free += room->node->cpus ? room->cpus : pool->cpus_per_node;
        ret->memory_free_bytes += room->node->memory_bytes ? room->memory_bytes : pool->memory_bytes_per_node;
        ret->free_nodes.items[room->gpus]++;
        most = room->gpus > most ? room->gpus : most;
    }
    ret->free_nodes.count = most + 1;
    ret->options.items = pool->options.items;
    ret->options.count = pool->options.count;
}

/*  A job runs on one node, so there is a figure for one alone. */
static void add_wait(const helio_exec_end_t *end, helio_arena_t *arena, helio_pool_capacity_t *ret)
{
    for (uint32_t i = 0; i < end->queue_count; i++) {
        if (!helio_text_equal(end->queues[i].pool, ret->pool))
            continue;
        ret->expected_wait_s.items = helio_arena_alloc(arena, 1, sizeof *ret->expected_wait_s.items);
        ret->expected_wait_s.items[0] = end->queues[i].wait_s;
        ret->expected_wait_s.count = 1;
    }
}

static void count_jobs(const helio_exec_answer_t *inventory, helio_pool_capacity_t *first)
{
    for (uint32_t i = 0; i < inventory->attempt_count; i++) {
        first->jobs_running += inventory->attempts[i].state == HELIO_EXEC_RUNNING;
        first->jobs_queued += inventory->attempts[i].state == HELIO_EXEC_WAITING;
    }
}

void helio_exec_capacity(const helio_site_profile_t *site, const helio_exec_answer_t *inventory,
                         const helio_exec_waiting_t *waiting, uint32_t waiting_count, helio_arena_t *arena,
                         helio_aev_capacity_t *ret_capacity)
{
    helio_aev_capacity_t capacity = {0};
    capacity.pools.count = site->pools.count;
    capacity.pools.items = helio_arena_alloc(arena, site->pools.count + 1, sizeof *capacity.pools.items);
    room_t *rooms = helio_arena_alloc(arena, inventory->node_count + 1, sizeof *rooms);
    for (uint32_t p = 0; p < site->pools.count; p++) {
        const helio_pool_t *pool = &site->pools.items[p];
        uint32_t count = rooms_of(site, pool, inventory, rooms);
        for (uint32_t i = 0; i < waiting_count; i++)
            if (helio_text_equal(waiting[i].pool, pool->name))
                for (uint32_t n = 0; n < waiting[i].nodes; n++)
                    place(rooms, count, &waiting[i]);
        sum(pool, rooms, count, arena, &capacity.pools.items[p]);
        add_wait(&inventory->end, arena, &capacity.pools.items[p]);
    }
    if (site->pools.count)
        count_jobs(inventory, &capacity.pools.items[0]);
    *ret_capacity = capacity;
}
