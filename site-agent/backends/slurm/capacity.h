/*  capacity.h -- what a cluster can offer, from what its commands say. Pure.
 *
 *  Free GPUs are those of nodes that are up and not closed, are not allocated, and are not spoken for by our
 * own attempts that have been handed in but hold no GPUs yet (they are placed best fit, as Slurm will). So
 * figures never promise twice what an order in flight will take.
 */
#ifndef HELIO_BACKENDS_SLURM_CAPACITY_H
#define HELIO_BACKENDS_SLURM_CAPACITY_H

#include "site-agent/core/agent_core.h"
#include "site-agent/backends/slurm/listing/listing.h"
#include "site-agent/backends/slurm/slurm.h"

/*  An attempt of ours that was handed in and does not hold its nodes yet. */
typedef struct helio_slurm_waiting {
    helio_text_t pool;
    uint32_t nodes, gpus_per_node;
    uint32_t cpus_per_node; /* 0 = not said: one */
    uint64_t memory_bytes_per_node;
    uint64_t time_limit_ms; /* 0 = not said: without end */
} helio_slurm_waiting_t;

typedef struct helio_slurm_view {
    const helio_site_profile_t *site;
    const helio_slurm_settings_t *settings;
    const helio_slurm_nodes_t *nodes;
    const helio_slurm_partitions_t *partitions;
    const helio_slurm_reservations_t *reservations;
    const helio_slurm_jobs_t *jobs;
    const helio_slurm_waiting_t *waiting;
    uint32_t waiting_count;
    int64_t wall_ms;
} helio_slurm_view_t;

/*  Capacity of each pool of the site, in its order; in the arena. Of a view without nodes: zeroes. NULL
 * stands for an empty list of partitions (then all are up), reservations or jobs.
 *
 *  nodes_up, gpus_total: nodes that can run jobs, closed ones too, and those that are powered down and would
 * be started. gpus_allocated: in use, or taken for `waiting`. gpus_reserved: those not in use that a
 * reservation keeps now. free_nodes: only nodes on which something can start: not closed, not reserved, with
 * a CPU (and memory) left, in a partition that is up. So it sums to at most nodes_up, and sum of k *
 * free_nodes[k] <= total - allocated - reserved. jobs_running: everybody's that hold a node of the pool.
 * jobs_queued: everybody's that wait for its partition and could take its type of GPU. expected_wait_s: after
 * how long a gang of 1, 2, 4, … whole nodes (all GPUs; of a pool without GPUs: no job) could start and keep
 * them for an hour: from the ends that running jobs were given, the starts and nodes that Slurm expects of
 * pending ones, and reservations. As many entries as sizes that the pool has nodes for. */
void helio_slurm_capacity(const helio_slurm_view_t *view, helio_arena_t *arena,
                          helio_aev_capacity_t *ret_capacity);

/*  FREE_GPUS of each pool with GPUs for the next hours (at most HELIO_SERIES_POINTS_MAX), one point an hour
 * from the running hour on: what is up, less what runs until its limit, less what is expected to start, less
 * reservations; of each hour what is free during all of it. In the arena. */
void helio_slurm_free_series(const helio_slurm_view_t *view, uint32_t hours, helio_arena_t *arena,
                             helio_aev_series_t *ret_series);

#endif
