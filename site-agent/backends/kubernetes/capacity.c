/*  capacity.c -- nodes and what is taken of them become pools. */
#include "site-agent/backends/kubernetes/capacity.h"

/*  A node as one pool sees it. */
typedef struct helio_kube_seat {
    bool open;
    uint64_t gpus, gpus_used;
    uint64_t cpu_milli, memory_bytes; /* not requested yet */
} helio_kube_seat_t;

typedef struct helio_kube_seats {
    helio_kube_seat_t *items;
    uint32_t count;
} helio_kube_seats_t;

static uint64_t less(uint64_t from, uint64_t by)
{
    return from > by ? from - by : 0;
}

static void add(uint32_t *sum, uint64_t by)
{
    *sum = by > UINT32_MAX - *sum ? UINT32_MAX : *sum + (uint32_t)by;
}

/* ---- seats --------------------------------------------------------------------------------------------- */

static void seat_node(const helio_kube_fleet_t *fleet, const helio_kube_node_t *node, uint32_t p,
                      helio_kube_seats_t *seats, helio_pool_capacity_t *pool)
{
    uint32_t resource = fleet->resource_of[p];
    const helio_kube_taken_t *taken = resource == UINT32_MAX ? NULL : &node->taken[resource];
    seats->items[seats->count++] = (helio_kube_seat_t){
        .open = node->facts.open,
        .gpus = node->facts.gpus[p],
        .gpus_used = taken ? helio_kube_sum(taken->gpus) : 0,
        .cpu_milli = less(node->facts.cpu_milli, helio_kube_sum(node->cpu_milli)),
        .memory_bytes = less(node->facts.memory_bytes, helio_kube_sum(node->memory_bytes)),
    };
    add(&pool->jobs_running, taken ? taken->pods : node->pods);
}

static void seat_nodes(helio_kube_fleet_t *fleet, helio_kube_seats_t *seats, helio_aev_capacity_t *capacity)
{
    for (const helio_kube_node_t *node = fleet->nodes; node; node = node->hh.next) {
        fleet->steps++;
        for (uint64_t left = node->facts.serves; left; left &= left - 1) {
            uint32_t p = (uint32_t)__builtin_ctzll(left);
            fleet->steps++;
            seat_node(fleet, node, p, &seats[p], &capacity->pools.items[p]);
        }
    }
}

/* ---- attempts without nodes ---------------------------------------------------------------------------- */

static bool fits(const helio_kube_seat_t *seat, const helio_kube_waiting_t *attempt)
{
    return seat->open && less(seat->gpus, seat->gpus_used) >= attempt->gpus_per_node &&
           seat->cpu_milli >= attempt->cpus_per_node * 1000ull && seat->memory_bytes >= attempt->memory_bytes_per_node;
}

/*  Free GPUs of a seat; those with more than a job can ask for count alike. */
static uint32_t free_of(const helio_kube_seat_t *seat)
{
    uint64_t left = less(seat->gpus, seat->gpus_used);
    return left > HELIO_JOB_GPUS_PER_NODE_MAX ? HELIO_JOB_GPUS_PER_NODE_MAX : (uint32_t)left;
}

/*  Takes for a gang the nodes with the fewest GPUs left that can hold a part of it, each once, in two passes: what one
 *  part takes changes nothing for the others. */
static void seat_waiting(helio_kube_fleet_t *fleet, const helio_kube_waiting_t *attempt, helio_kube_seats_t *seats)
{
    uint32_t parts[HELIO_JOB_GPUS_PER_NODE_MAX + 1] = {0}, left = attempt->nodes; /* by free GPUs of the node */
    fleet->steps += 2ull * seats->count;
    for (uint32_t n = 0; n < seats->count; n++)
        parts[free_of(&seats->items[n])] += fits(&seats->items[n], attempt);
    for (uint32_t k = 0; k <= HELIO_JOB_GPUS_PER_NODE_MAX; k++) {
        parts[k] = parts[k] < left ? parts[k] : left;
        left -= parts[k];
    }
    for (uint32_t n = 0; n < seats->count; n++) {
        helio_kube_seat_t *seat = &seats->items[n];
        uint32_t k = free_of(seat);
        if (!parts[k] || !fits(seat, attempt))
            continue;
        parts[k]--;
        seat->gpus_used += attempt->gpus_per_node;
        seat->cpu_milli -= attempt->cpus_per_node * 1000ull;
        seat->memory_bytes -= attempt->memory_bytes_per_node;
    }
}

/* ---- figures ------------------------------------------------------------------------------------------- */

static void sum_up(const helio_kube_seats_t *seats, helio_arena_t *arena, helio_pool_capacity_t *pool)
{
    uint64_t most = 0;
    for (uint32_t n = 0; n < seats->count; n++)
        most = seats->items[n].gpus > most ? seats->items[n].gpus : most;
    most = most > HELIO_JOB_GPUS_PER_NODE_MAX ? HELIO_JOB_GPUS_PER_NODE_MAX : most;
    pool->free_nodes.count = (uint32_t)most + 1;
    pool->free_nodes.items = helio_arena_alloc(arena, most + 1, sizeof pool->free_nodes.items[0]);
    for (uint32_t n = 0; n < seats->count; n++) {
        const helio_kube_seat_t *seat = &seats->items[n];
        uint64_t used = seat->gpus_used < seat->gpus ? seat->gpus_used : seat->gpus, left = seat->gpus - used;
        bool room = seat->cpu_milli >= 1000 && seat->memory_bytes;
        pool->nodes_up++;
        add(&pool->gpus_total, seat->gpus);
        add(&pool->gpus_allocated, used);
        add(&pool->gpus_reserved, seat->open ? 0 : left);
        if (!seat->open || !room)
            continue;
        pool->free_nodes.items[left > most ? most : left]++;
        add(&pool->cpus_free, seat->cpu_milli / 1000);
        bool fits_in = seat->memory_bytes <= UINT64_MAX - pool->memory_free_bytes;
        pool->memory_free_bytes = fits_in ? pool->memory_free_bytes + seat->memory_bytes : UINT64_MAX;
    }
}

void helio_kube_capacity(helio_kube_fleet_t *fleet, const helio_kube_waiting_t *waiting, uint32_t waiting_count,
                         helio_arena_t *arena, helio_aev_capacity_t *ret_capacity)
{
    const helio_site_profile_t *site = fleet->site;
    helio_kube_seats_t *seats = helio_arena_alloc(arena, site->pools.count + 1, sizeof *seats);
    *ret_capacity = (helio_aev_capacity_t){0};
    ret_capacity->pools.count = site->pools.count;
    ret_capacity->pools.items = helio_arena_alloc(arena, site->pools.count, sizeof(helio_pool_capacity_t));
    for (uint32_t p = 0; p < site->pools.count; p++)
        seats[p].items = helio_arena_alloc(arena, fleet->serving[p] + 1, sizeof *seats[p].items);
    seat_nodes(fleet, seats, ret_capacity);
    for (uint32_t p = 0; p < site->pools.count; p++) {
        helio_pool_capacity_t *figures = &ret_capacity->pools.items[p];
        figures->pool = site->pools.items[p].name;
        figures->jobs_queued = fleet->resource_of[p] == UINT32_MAX ? 0 : fleet->queued[fleet->resource_of[p]];
        for (uint32_t w = 0; w < waiting_count; w++)
            if (helio_text_equal(waiting[w].pool, figures->pool))
                seat_waiting(fleet, &waiting[w], &seats[p]);
        fleet->steps += seats[p].count;
        sum_up(&seats[p], arena, figures);
    }
}
