/*  capacity.c -- bit masks of free GPUs, one for each node: a site that the agent allocates is small enough to be
 *  scanned. */
#include "site-agent/core/capacity.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct helio_node {
    uint64_t free_gpus; /* bit g: no attempt holds GPU g */
    uint64_t others;    /* bit g: but others use it */
    int64_t cpus_used;
    int64_t memory_used;
} helio_node_t;

typedef struct helio_node_pool {
    const helio_pool_t *profile;
    helio_node_t *nodes;
} helio_node_pool_t;

struct helio_capacity {
    const helio_site_profile_t *site;
    helio_node_pool_t *pools;
};

static uint64_t all_gpus(const helio_pool_t *pool)
{
    return pool->gpus_per_node >= 64 ? UINT64_MAX : (UINT64_C(1) << pool->gpus_per_node) - 1;
}

static uint64_t offered(const helio_node_t *node)
{
#ifdef HELIO_MUTANT_others_ignored
    return node->free_gpus;
#endif
    return node->free_gpus & ~node->others;
}

static uint32_t count_bits(uint64_t mask)
{
    return (uint32_t)__builtin_popcountll(mask);
}

helio_capacity_t *helio_capacity_new(const helio_site_profile_t *profile)
{
    helio_capacity_t *self = helio_new(1, sizeof *self);
    self->site = profile;
    self->pools = helio_new(profile->pools.count, sizeof *self->pools);
    for (uint32_t p = 0; p < profile->pools.count; p++) {
        const helio_pool_t *pool = &profile->pools.items[p];
        self->pools[p].profile = pool;
        self->pools[p].nodes = helio_new(pool->nodes, sizeof *self->pools[p].nodes);
        for (uint32_t n = 0; n < pool->nodes; n++)
            self->pools[p].nodes[n].free_gpus = all_gpus(pool);
    }
    return self;
}

void helio_capacity_destroy(helio_capacity_t **self_p)
{
    helio_capacity_t *self = *self_p;
    if (!self)
        return;
    for (uint32_t p = 0; p < self->site->pools.count; p++)
        free(self->pools[p].nodes);
    free(self->pools);
    free(self);
    *self_p = NULL;
}

uint32_t helio_site_pool_index(const helio_site_profile_t *profile, helio_text_t name)
{
    for (uint32_t p = 0; p < profile->pools.count; p++)
        if (helio_text_equal(profile->pools.items[p].name, name))
            return p;
    return UINT32_MAX;
}

helio_slot_t *helio_slots_copy(const helio_slot_t *slots, uint32_t count)
{
    size_t gpus = 0;
    for (uint32_t i = 0; i < count; i++)
        gpus += slots[i].gpus.count;
    if (count == 0)
        return NULL;
    helio_slot_t *copy = helio_new(1, count * sizeof *copy + gpus * sizeof(uint32_t));
    uint32_t *list = (uint32_t *)(void *)(copy + count);
    for (uint32_t i = 0; i < count; i++) {
        copy[i] = slots[i];
        copy[i].gpus.items = list;
        if (slots[i].gpus.count)
            memcpy(list, slots[i].gpus.items, slots[i].gpus.count * sizeof *list);
        list += slots[i].gpus.count;
    }
    return copy;
}

static bool node_fits(const helio_pool_t *pool, const helio_node_t *node, const helio_order_t *order)
{
    if (count_bits(offered(node)) < order->gpus_per_node)
        return false;
    if (pool->cpus_per_node && node->cpus_used + (int64_t)order->cpus_per_node > (int64_t)pool->cpus_per_node)
        return false;
    if (!pool->memory_bytes_per_node || !order->memory_bytes_per_node)
        return true;
    uint64_t used = node->memory_used > 0 ? (uint64_t)node->memory_used : 0;
    return used <= pool->memory_bytes_per_node && order->memory_bytes_per_node <= pool->memory_bytes_per_node - used;
}

static helio_rc check_shape(const helio_pool_t *pool, const helio_order_t *order, helio_error_t *err)
{
    if (order->nodes == 0 || order->nodes > pool->nodes)
        return helio_fail(err, HELIO_INFEASIBLE, "%u nodes requested, but the pool has %u", order->nodes, pool->nodes);
    if (order->gpus_per_node > pool->gpus_per_node)
        return helio_fail(err, HELIO_INFEASIBLE, "%u GPUs per node requested, but the pool's nodes have %u",
                          order->gpus_per_node, pool->gpus_per_node);
    if (pool->cpus_per_node && order->cpus_per_node > pool->cpus_per_node)
        return helio_fail(err, HELIO_INFEASIBLE, "%u CPUs per node requested, but the pool's nodes have %u",
                          order->cpus_per_node, pool->cpus_per_node);
    if (pool->memory_bytes_per_node && order->memory_bytes_per_node > pool->memory_bytes_per_node)
        return helio_fail(err, HELIO_INFEASIBLE, "more memory per node requested than the pool's nodes have");
    return HELIO_OK;
}

static void take_node(helio_node_t *node, const helio_order_t *order, uint32_t index, helio_slot_t *slot,
                      uint32_t *list)
{
    *slot = (helio_slot_t){.node = index, .gpus = {list, order->gpus_per_node}};
    for (uint32_t i = 0; i < order->gpus_per_node; i++) {
        list[i] = (uint32_t)__builtin_ctzll(offered(node));
        node->free_gpus &= ~(UINT64_C(1) << list[i]);
    }
    node->cpus_used += order->cpus_per_node;
    node->memory_used += (int64_t)(order->memory_bytes_per_node & INT64_MAX);
}

helio_rc helio_capacity_take(helio_capacity_t *self, const helio_order_t *order, helio_slot_t **ret_slots,
                             uint32_t *ret_count, helio_error_t *err)
{
    uint32_t p = helio_site_pool_index(self->site, order->pool);
    if (p == UINT32_MAX)
        return helio_fail(err, HELIO_NOT_FOUND, "no pool '%.*s'", HELIO_TEXT_ARGS(order->pool));
    helio_node_pool_t *pool = &self->pools[p];
    helio_rc rc = check_shape(pool->profile, order, err);
    if (rc != HELIO_OK)
        return rc;
    /* How many nodes fit, by the number of their free GPUs: the fullest nodes are taken first. */
    uint32_t fitting[HELIO_JOB_GPUS_PER_NODE_MAX + 1] = {0}, total = 0;
    for (uint32_t n = 0; n < pool->profile->nodes; n++)
        if (node_fits(pool->profile, &pool->nodes[n], order)) {
            fitting[count_bits(offered(&pool->nodes[n]))]++;
            total++;
        }
    if (total < order->nodes)
        return helio_fail(err, HELIO_BUSY, "%u of %u nodes are free enough for %u GPUs each", total, order->nodes,
                          order->gpus_per_node);
    uint32_t wanted[HELIO_JOB_GPUS_PER_NODE_MAX + 1] = {0}, missing = order->nodes;
    for (uint32_t k = 0; k <= HELIO_JOB_GPUS_PER_NODE_MAX && missing; k++) {
        wanted[k] = fitting[k] < missing ? fitting[k] : missing;
        missing -= wanted[k];
    }
    helio_slot_t *slots = helio_new(1, order->nodes * (sizeof *slots + order->gpus_per_node * sizeof(uint32_t)));
    uint32_t *list = (uint32_t *)(void *)(slots + order->nodes), count = 0;
    for (uint32_t n = 0; n < pool->profile->nodes && count < order->nodes; n++) {
        helio_node_t *node = &pool->nodes[n];
        uint32_t k = count_bits(offered(node));
        if (!wanted[k] || !node_fits(pool->profile, node, order))
            continue;
        wanted[k]--;
        take_node(node, order, n, &slots[count], list + (size_t)count * order->gpus_per_node);
        count++;
    }
    assert(count == order->nodes);
    *ret_slots = slots;
    *ret_count = count;
    return HELIO_OK;
}

/*  Of the GPUs that the slot names, those that the pool has. */
static uint64_t mask_of(const helio_pool_t *pool, const helio_slot_t *slot)
{
    uint64_t mask = 0;
    for (uint32_t g = 0; g < slot->gpus.count; g++)
        if (slot->gpus.items[g] < pool->gpus_per_node)
            mask |= UINT64_C(1) << slot->gpus.items[g];
    return mask;
}

static void mark(helio_capacity_t *self, const helio_order_t *order, const helio_slot_t *slots, uint32_t count,
                 bool free_again)
{
    uint32_t p = helio_site_pool_index(self->site, order->pool);
    if (p == UINT32_MAX)
        return;
    helio_node_pool_t *pool = &self->pools[p];
    int64_t sign = free_again ? -1 : 1;
    for (uint32_t i = 0; i < count; i++) {
        if (slots[i].node >= pool->profile->nodes)
            continue;
        helio_node_t *node = &pool->nodes[slots[i].node];
        uint64_t mask = mask_of(pool->profile, &slots[i]);
        node->free_gpus = free_again ? node->free_gpus | mask : node->free_gpus & ~mask;
        node->cpus_used += sign * order->cpus_per_node;
        node->memory_used += sign * (int64_t)(order->memory_bytes_per_node & INT64_MAX);
    }
}

uint32_t helio_capacity_leave_to_others(helio_capacity_t *self, uint32_t pool, const helio_slot_t *busy)
{
    helio_node_t *node = &self->pools[pool].nodes[busy->node];
    node->others = mask_of(self->pools[pool].profile, busy) & node->free_gpus;
    return count_bits(node->others);
}

uint32_t helio_capacity_of_others(const helio_capacity_t *self, uint32_t pool)
{
    uint32_t count = 0;
    for (uint32_t n = 0; n < self->pools[pool].profile->nodes; n++)
        count += count_bits(self->pools[pool].nodes[n].others);
    return count;
}

void helio_capacity_retake(helio_capacity_t *self, const helio_order_t *order, const helio_slot_t *slots,
                           uint32_t count)
{
    mark(self, order, slots, count, false);
}

void helio_capacity_give_back(helio_capacity_t *self, const helio_order_t *order, const helio_slot_t *slots,
                              uint32_t count)
{
    mark(self, order, slots, count, true);
}

bool helio_capacity_holds(const helio_capacity_t *self, const helio_order_t *order, const helio_slot_t *slots,
                          uint32_t count)
{
    uint32_t p = helio_site_pool_index(self->site, order->pool);
    if (p == UINT32_MAX)
        return true;
    const helio_node_pool_t *pool = &self->pools[p];
    for (uint32_t i = 0; i < count; i++)
        if (slots[i].node < pool->profile->nodes &&
            pool->nodes[slots[i].node].free_gpus & mask_of(pool->profile, &slots[i]))
            return false;
    return true;
}

void helio_capacity_pool(const helio_capacity_t *self, uint32_t index, helio_arena_t *arena,
                         helio_pool_capacity_t *ret_capacity)
{
    assert(index < self->site->pools.count);
    const helio_node_pool_t *pool = &self->pools[index];
    const helio_pool_t *profile = pool->profile;
    helio_pool_capacity_t capacity = {.pool = profile->name, .nodes_up = profile->nodes};
    capacity.free_nodes.count = profile->gpus_per_node + 1;
    capacity.free_nodes.items = helio_arena_alloc(arena, capacity.free_nodes.count, sizeof(uint32_t));
    capacity.gpus_total = profile->nodes * profile->gpus_per_node;
    uint32_t free_gpus = 0;
    for (uint32_t n = 0; n < profile->nodes; n++) {
        const helio_node_t *node = &pool->nodes[n];
        uint32_t k = count_bits(offered(node));
        capacity.free_nodes.items[k]++;
        free_gpus += k;
        int64_t cpus = (int64_t)profile->cpus_per_node - node->cpus_used;
        capacity.cpus_free += cpus > 0 ? (uint32_t)cpus : 0;
        int64_t memory = (int64_t)(profile->memory_bytes_per_node & INT64_MAX) - node->memory_used;
        capacity.memory_free_bytes += memory > 0 ? (uint64_t)memory : 0;
    }
    capacity.gpus_allocated = capacity.gpus_total - free_gpus;
    *ret_capacity = capacity;
}
