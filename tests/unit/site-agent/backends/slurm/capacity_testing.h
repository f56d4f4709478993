/*  capacity_testing.h -- a cluster by hand: pools, nodes, jobs and reservations.
 *
 *  What a cluster can offer: cases by hand, and properties that hold for any cluster.
 */
#ifndef HELIO_TESTS_SITE_AGENT_BACKENDS_SLURM_CAPACITY_TESTING_H
#define HELIO_TESTS_SITE_AGENT_BACKENDS_SLURM_CAPACITY_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "federation/base/clock.h"
#include "federation/base/rng.h"
#include "federation/reason/detail.h"
#include "site-agent/backends/slurm/capacity.h"

enum { NOW_S = 1795245000, HOUR = 3600 }; /* ten minutes before a full hour */

enum { NODES_MAX = 64, JOBS_MAX = 256, RESERVATIONS_MAX = 8, POOLS_MAX = 6, WAITING_MAX = 32 };

static helio_arena_t *arena;

static struct world {
    helio_pool_t pool_items[POOLS_MAX];
    helio_slurm_pool_t mappings[POOLS_MAX];
    helio_slurm_node_t node_items[NODES_MAX];
    helio_slurm_job_t job_items[JOBS_MAX];
    helio_slurm_reservation_t reservation_items[RESERVATIONS_MAX];
    helio_slurm_partition_t partition_items[3];
    helio_slurm_waiting_t waiting[WAITING_MAX];
    helio_site_profile_t site;
    helio_slurm_settings_t settings;
    helio_slurm_nodes_t nodes;
    helio_slurm_jobs_t jobs;
    helio_slurm_reservations_t reservations;
    helio_slurm_partitions_t partitions;
    helio_slurm_view_t view;
    helio_aev_capacity_t capacity;
    helio_aev_series_t series;
} w;

static inline int begin(void **state)
{
    (void)state;
    arena = helio_arena_new();
    memset(&w, 0, sizeof w);
    w.site.pools.items = w.pool_items;
    w.settings.pools.items = w.mappings;
    w.nodes.items = w.node_items;
    w.jobs.items = w.job_items;
    w.reservations.items = w.reservation_items;
    w.partitions.items = w.partition_items;
    w.partition_items[0] = (helio_slurm_partition_t){.name = HELIO_TEXT("main"), .is_default = true, .up = true};
    w.partition_items[1] = (helio_slurm_partition_t){.name = HELIO_TEXT("urgent"), .up = true};
    w.partition_items[2] = (helio_slurm_partition_t){.name = HELIO_TEXT("shut")};
    w.partitions.count = 3;
    w.view = (helio_slurm_view_t){.site = &w.site,
                                  .settings = &w.settings,
                                  .nodes = &w.nodes,
                                  .partitions = &w.partitions,
                                  .reservations = &w.reservations,
                                  .jobs = &w.jobs,
                                  .waiting = w.waiting,
                                  .wall_ms = (int64_t)NOW_S * 1000};
    return 0;
}

static inline int end(void **state)
{
    (void)state;
    helio_arena_destroy(&arena);
    return 0;
}

static inline helio_pool_t *add_pool(const char *name, const char *gpu, uint32_t gpus_per_node)
{
    helio_pool_t *pool = &w.pool_items[w.site.pools.count++];
    *pool = (helio_pool_t){.name = helio_text_of(name), .gpu = helio_text_of(gpu), .gpus_per_node = gpus_per_node};
    return pool;
}

static inline void map_pool(const char *pool, const char *partition, const char *gres)
{
    w.mappings[w.settings.pools.count++] = (helio_slurm_pool_t){
        .pool = helio_text_of(pool), .partition = helio_text_of(partition), .gres = helio_text_of(gres)};
}

static inline helio_slurm_node_t *add_node(const char *name, const char *type, uint32_t gpus, uint32_t used)
{
    helio_slurm_node_t *node = &w.node_items[w.nodes.count++];
    *node = (helio_slurm_node_t){.name = helio_text_of(name),
                                 .partitions = HELIO_TEXT("main,urgent"),
                                 .gpus = {{helio_text_of(type), gpus, used, 0}},
                                 .gpu_kinds = 1,
                                 .cpus = 64,
                                 .cpus_allocated = used,
                                 .memory_bytes = 1000,
                                 .up = true};
    return node;
}

static inline helio_slurm_job_t *add_running(const char *nodes, uint32_t gpus_per_node, int64_t end_s)
{
    helio_slurm_job_t *job = &w.job_items[w.jobs.count++];
    *job = (helio_slurm_job_t){.id = HELIO_TEXT("1"),
                               .state = HELIO_SLURM_RUNNING,
                               .partition = HELIO_TEXT("main"),
                               .nodes = 1,
                               .gpus_per_node = gpus_per_node,
                               .gpus = gpus_per_node,
                               .start_s = NOW_S - 100,
                               .end_s = end_s,
                               .node_list = helio_text_of(nodes)};
    return job;
}

static inline helio_slurm_job_t *add_pending(uint32_t nodes, uint32_t gpus_per_node, const char *planned,
                                             int64_t start_s, int64_t end_s)
{
    helio_slurm_job_t *job = add_running("", gpus_per_node, end_s);
    job->state = HELIO_SLURM_PENDING;
    job->nodes = nodes;
    job->gpus = nodes * gpus_per_node;
    job->planned = helio_text_of(planned);
    job->start_s = start_s;
    return job;
}

static inline helio_slurm_reservation_t *reserve(const char *nodes, int64_t start_s, int64_t end_s)
{
    helio_slurm_reservation_t *one = &w.reservation_items[w.reservations.count++];
    *one = (helio_slurm_reservation_t){HELIO_TEXT("r"), start_s, end_s, helio_text_of(nodes), false, 0, 0};
    return one;
}

static inline void hand_in(const char *pool, uint32_t nodes, uint32_t gpus)
{
    w.waiting[w.view.waiting_count++] =
        (helio_slurm_waiting_t){.pool = helio_text_of(pool), .nodes = nodes, .gpus_per_node = gpus};
}

static const helio_pool_capacity_t *look(uint32_t pool)
{
    helio_slurm_capacity(&w.view, arena, &w.capacity);
    assert_int_equal(w.capacity.pools.count, w.site.pools.count);
    return &w.capacity.pools.items[pool];
}

static inline uint32_t free_gpus(const helio_pool_capacity_t *pool)
{
    uint32_t sum = 0;
    for (uint32_t k = 0; k < pool->free_nodes.count; k++)
        sum += k * pool->free_nodes.items[k];
    return sum;
}

static inline void two_nodes(void)
{
    add_pool("p", "H100", 8);
    add_node("n1", "h100", 8, 0);
    add_node("n2", "h100", 8, 6);
}

#endif
