/*  capacity.c -- nodes and pods become pools. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "site-agent/backends/kubernetes/capacity.h"
#include "site-agent/backends/kubernetes/document.h"

#define GPU "nvidia.com/gpu"

/*  A node as one pool sees it. */
typedef struct helio_kube_seat {
    helio_text_t name;
    bool open;
    uint64_t gpus, gpus_used;
    uint64_t cpu_milli, memory_milli; /* not requested yet */
} helio_kube_seat_t;

typedef struct helio_kube_seats {
    helio_kube_seat_t *items;
    uint32_t count;
} helio_kube_seats_t;

void helio_kube_resource(const helio_pool_t *pool, char ret_name[HELIO_KUBE_RESOURCE_SIZE])
{
    helio_text_t slice = helio_gpu_slice(pool->gpu);
    ret_name[0] = '\0';
    if (!pool->gpu.size)
        return;
    if (slice.size)
        (void)snprintf(ret_name, HELIO_KUBE_RESOURCE_SIZE, "nvidia.com/mig-%.*s", HELIO_TEXT_ARGS(slice));
    else
        (void)snprintf(
            ret_name, HELIO_KUBE_RESOURCE_SIZE, "%s",
            pool->sharing == HELIO_SHARING_MPS || pool->sharing == HELIO_SHARING_TIMESLICE ? GPU ".shared" : GPU);
}

bool helio_kube_is_product(helio_text_t product, helio_text_t gpu)
{
    helio_text_t model = helio_gpu_model(gpu);
    for (uint32_t at = 0; model.size && at + model.size <= product.size; at++) {
        bool begins = at == 0 || product.data[at - 1] == '-';
        bool ends = at + model.size == product.size || product.data[at + model.size] == '-';
        if (begins && ends && strncasecmp(product.data + at, model.data, model.size) == 0)
            return true;
    }
    return false;
}

static bool is_tolerated(const helio_kube_view_t *view, helio_text_t key)
{
    for (uint32_t i = 0; i < view->tolerated_count; i++)
        if (helio_text_is(key, view->tolerated[i]))
            return true;
    return false;
}

/*  Whether a new pod of the federation can go there. */
static bool is_open(const helio_kube_view_t *view, const json_t *node)
{
    if (json_is_true(HELIO_KUBE_AT(node, "spec", "unschedulable")))
        return false;
    const json_t *taints = HELIO_KUBE_AT(node, "spec", "taints");
    for (size_t i = 0; i < json_array_size(taints); i++) {
        const json_t *taint = json_array_get(taints, i);
        if (!helio_text_is(helio_kube_text(json_object_get(taint, "effect")), "PreferNoSchedule") &&
            !is_tolerated(view, helio_kube_text(json_object_get(taint, "key"))))
            return false;
    }
    return true;
}

static bool has_gpus(json_t *allocatable)
{
    const char *name;
    json_t *value;
    json_object_foreach(allocatable, name, value) if (strncmp(name, "nvidia.com/", sizeof "nvidia.com/" - 1) == 0 &&
                                                      helio_kube_units(value)) return true;
    return false;
}

/*  A node serves a pool of GPUs if it has the product and the resource; a CPU pool, if it has no GPU at all. */
static bool serves(const json_t *node, const helio_pool_t *pool, const char *resource)
{
    json_t *allocatable = HELIO_KUBE_AT(node, "status", "allocatable");
    if (!helio_kube_condition(node, "Ready"))
        return false;
    if (!resource[0])
        return !has_gpus(allocatable);
    return helio_kube_units(json_object_get(allocatable, resource)) &&
           helio_kube_is_product(helio_kube_text(HELIO_KUBE_AT(node, "metadata", "labels", GPU ".product")), pool->gpu);
}

static bool has_ended(const json_t *pod)
{
    helio_text_t phase = helio_kube_text(HELIO_KUBE_AT(pod, "status", "phase"));
    return helio_text_is(phase, "Succeeded") || helio_text_is(phase, "Failed");
}

/*  What a pod's containers request together; one of its init containers can need more than all of them. */
static uint64_t requested_milli(const json_t *pod, const char *resource)
{
    const json_t *containers = HELIO_KUBE_AT(pod, "spec", "containers");
    const json_t *before = HELIO_KUBE_AT(pod, "spec", "initContainers");
    uint64_t sum = 0, most = 0;
    for (size_t i = 0; i < json_array_size(containers); i++)
        sum += helio_kube_milli(HELIO_KUBE_AT(json_array_get(containers, i), "resources", "requests", resource));
    for (size_t i = 0; i < json_array_size(before); i++) {
        uint64_t one = helio_kube_milli(HELIO_KUBE_AT(json_array_get(before, i), "resources", "requests", resource));
        most = one > most ? one : most;
    }
    return sum > most ? sum : most;
}

static uint64_t less(uint64_t from, uint64_t by)
{
    return from > by ? from - by : 0;
}

static void seat_nodes(const helio_kube_view_t *view, const helio_pool_t *pool, const char *resource,
                       helio_kube_seats_t *seats)
{
    for (size_t i = 0; i < json_array_size(view->nodes); i++) {
        const json_t *node = json_array_get(view->nodes, i);
        const json_t *allocatable = HELIO_KUBE_AT(node, "status", "allocatable");
        if (!serves(node, pool, resource))
            continue;
        seats->items[seats->count++] = (helio_kube_seat_t){
            .name = helio_kube_text(HELIO_KUBE_AT(node, "metadata", "name")),
            .open = is_open(view, node),
            .gpus = resource[0] ? helio_kube_units(json_object_get(allocatable, resource)) : 0,
            .cpu_milli = helio_kube_milli(json_object_get(allocatable, "cpu")),
            .memory_milli = helio_kube_milli(json_object_get(allocatable, "memory")),
        };
    }
}

static void seat_pods(const helio_kube_view_t *view, const char *resource, helio_kube_seats_t *seats,
                      helio_pool_capacity_t *pool)
{
    for (size_t i = 0; i < json_array_size(view->pods); i++) {
        const json_t *pod = json_array_get(view->pods, i);
        helio_text_t node = helio_kube_text(HELIO_KUBE_AT(pod, "spec", "nodeName"));
        uint64_t gpus = resource[0] ? (requested_milli(pod, resource) + 999) / 1000 : 0;
        if (has_ended(pod))
            continue;
        pool->jobs_queued += gpus && !node.size;
        for (uint32_t n = 0; node.size && n < seats->count; n++) {
            helio_kube_seat_t *seat = &seats->items[n];
            if (!helio_text_equal(seat->name, node))
                continue;
            seat->gpus_used += gpus;
            seat->cpu_milli = less(seat->cpu_milli, requested_milli(pod, "cpu"));
            seat->memory_milli = less(seat->memory_milli, requested_milli(pod, "memory"));
            pool->jobs_running += gpus || !resource[0];
        }
    }
}

static bool fits(const helio_kube_seat_t *seat, const helio_kube_waiting_t *attempt)
{
    return seat->open && less(seat->gpus, seat->gpus_used) >= attempt->gpus_per_node &&
           seat->cpu_milli >= attempt->cpus_per_node * 1000ull &&
           seat->memory_milli / 1000 >= attempt->memory_bytes_per_node;
}

/*  Takes, for each node of a gang, the node with the fewest GPUs left that can hold it; a node is taken once. */
static void seat_waiting(const helio_kube_waiting_t *attempt, helio_kube_seats_t *seats, uint8_t *taken)
{
    memset(taken, 0, seats->count);
    for (uint32_t part = 0; part < attempt->nodes; part++) {
        helio_kube_seat_t *best = NULL;
        for (uint32_t n = 0; n < seats->count; n++) {
            helio_kube_seat_t *seat = &seats->items[n];
            if (!taken[n] && fits(seat, attempt) &&
                (!best || less(seat->gpus, seat->gpus_used) < less(best->gpus, best->gpus_used)))
                best = seat;
        }
        if (!best)
            return;
        taken[best - seats->items] = 1;
        best->gpus_used += attempt->gpus_per_node;
        best->cpu_milli -= attempt->cpus_per_node * 1000ull;
        best->memory_milli -= attempt->memory_bytes_per_node * 1000;
    }
}

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
        bool room = seat->cpu_milli >= 1000 && seat->memory_milli;
        pool->nodes_up++;
        pool->gpus_total += (uint32_t)seat->gpus;
        pool->gpus_allocated += (uint32_t)used;
        pool->gpus_reserved += seat->open ? 0 : (uint32_t)left;
        if (!seat->open || !room)
            continue;
        pool->free_nodes.items[left > most ? most : left]++;
        pool->cpus_free += (uint32_t)(seat->cpu_milli / 1000);
        pool->memory_free_bytes += seat->memory_milli / 1000;
    }
}

void helio_kube_capacity(const helio_kube_view_t *view, helio_arena_t *arena, helio_aev_capacity_t *ret_capacity)
{
    size_t nodes = json_array_size(view->nodes);
    uint8_t *taken = helio_arena_alloc(arena, nodes + 1, 1);
    *ret_capacity = (helio_aev_capacity_t){0};
    ret_capacity->pools.count = view->site->pools.count;
    ret_capacity->pools.items = helio_arena_alloc(arena, view->site->pools.count, sizeof(helio_pool_capacity_t));
    for (uint32_t i = 0; i < view->site->pools.count; i++) {
        const helio_pool_t *pool = &view->site->pools.items[i];
        helio_pool_capacity_t *figures = &ret_capacity->pools.items[i];
        helio_kube_seats_t seats = {helio_arena_alloc(arena, nodes + 1, sizeof(helio_kube_seat_t)), 0};
        char resource[HELIO_KUBE_RESOURCE_SIZE];
        figures->pool = pool->name;
        helio_kube_resource(pool, resource);
        seat_nodes(view, pool, resource, &seats);
        seat_pods(view, resource, &seats, figures);
        for (uint32_t w = 0; w < view->waiting_count; w++)
            if (helio_text_equal(view->waiting[w].pool, pool->name))
                seat_waiting(&view->waiting[w], &seats, taken);
        sum_up(&seats, arena, figures);
    }
}
