/*  capacity.h -- what is free, by counts of nodes (capacity.c). */
#ifndef HELIO_BROKER_CORE_CAPACITY_H
#define HELIO_BROKER_CORE_CAPACITY_H

#include "broker/core/nouns.h"

enum {
    CAPACITY_ROW_MS = 5000, /* an unchanged pool is written so often */
    REPORTS_PENDING_MAX = 1000000000, /* a site that says more says no more than that */
    CAPACITY_SAMPLE_MS = 60000
};

/*  What is believed free now: the last summary, less what was placed since. */
typedef struct free_nodes {
    uint32_t by_gpus[HELIO_JOB_GPUS_PER_NODE_MAX + 1]; /* nodes with exactly k GPUs free */
    uint64_t cpus;
    uint64_t memory_bytes;
} free_nodes_t;

/*  Room that comes back: nodes by the number of GPUs that are given back on each. */
typedef struct room {
    uint32_t nodes_by_gpus[HELIO_JOB_GPUS_PER_NODE_MAX + 1];
    uint64_t cpus;
    uint64_t memory_bytes;
} room_t;

void core_on_summary(helio_broker_core_t *self, const helio_ev_site_summary_t *event);
bool core_pool_take(pool_t *pool, uint32_t nodes, uint32_t gpus, uint64_t cpus, uint64_t memory_bytes);
void core_pool_give(pool_t *pool, uint32_t nodes, uint32_t gpus, uint64_t cpus, uint64_t memory_bytes);
void core_job_give_back(helio_broker_core_t *self, job_t *job);
uint32_t core_pool_gpus_free(const pool_t *pool);
/*  GPUs that windows of the site keep there at present: at most those that are up. */
uint32_t core_site_kept_gpus(const helio_broker_core_t *self, const site_t *site, const pool_t *pool);
/*  The same on figures that need not be the pool's own. */
bool core_room_fits(const pool_t *pool, const free_nodes_t *free_now, uint32_t nodes, uint32_t gpus, uint64_t cpus,
                    uint64_t memory_bytes);
bool core_room_take(const pool_t *pool, free_nodes_t *free_now, uint32_t nodes, uint32_t gpus, uint64_t cpus,
                    uint64_t memory_bytes);
void core_room_give(const pool_t *pool, free_nodes_t *free_now, uint32_t nodes, uint32_t gpus, uint64_t cpus,
                    uint64_t memory_bytes);

void core_room_add(room_t *room, uint32_t nodes, uint32_t gpus, const helio_requirement_t *want);
void core_room_return(const pool_t *pool, free_nodes_t *free_now, const room_t *room); /* to the fullest nodes */

#endif
