/*  capacity.h -- what a cluster can offer, computed from the output of its commands. Pure.
 *
 *  A GPU is free if its node is up and open, no job has it, and no attempt of the federation that is submitted and has
 *  not started will need it. Such attempts are assigned to nodes by best fit, as Slurm does. So the figures do not
 *  offer the same GPU to a second job.
 */
#ifndef HELIO_BACKENDS_SLURM_CAPACITY_H
#define HELIO_BACKENDS_SLURM_CAPACITY_H

#include "site-agent/core/agent_core.h"
#include "site-agent/backends/slurm/listing/listing.h"
#include "site-agent/backends/slurm/slurm.h"

/*  An attempt of the federation that was submitted and does not hold its nodes yet. */
typedef struct helio_slurm_waiting {
    helio_text_t pool;
    uint32_t nodes, gpus_per_node;
    uint32_t cpus_per_node; /* 0 = not given: one */
    uint64_t memory_bytes_per_node;
    uint64_t time_limit_ms; /* 0 = not given: no end */
} helio_slurm_waiting_t;

/*  Nodes on which attempts of the federation are expected to leave that much within moments. */
typedef struct helio_slurm_ahead {
    helio_text_t pool;
    uint32_t nodes, gpus_per_node;
    uint32_t cpus_per_node;
    uint64_t memory_bytes_per_node;
    uint32_t turns; /* how many can follow one another on a GPU within moments, at least 1; nodes has them all */
} helio_slurm_ahead_t;

typedef struct helio_slurm_view {
    const helio_site_profile_t *site;
    const helio_slurm_settings_t *settings;
    const helio_slurm_nodes_t *nodes;
    const helio_slurm_partitions_t *partitions;
    const helio_slurm_reservations_t *reservations;
    const helio_slurm_jobs_t *jobs;
    const helio_slurm_waiting_t *waiting;
    uint32_t waiting_count;
    const helio_job_rules_t *rules;                 /* NULL: limits of accounts are not looked at */
    const helio_slurm_associations_t *associations; /* NULL: likewise */
    const helio_slurm_all_qos_t *qos;               /* NULL: none */
    const helio_slurm_ahead_t *ahead;
    uint32_t ahead_count;
    int64_t wall_ms;
} helio_slurm_view_t;

/*  The capacity of each pool of the site, in the site's order; in the arena. All zero for a view without nodes. NULL
 *  stands for an empty list of partitions (then all are up), reservations or jobs.
 *
 *  nodes_up, gpus_total: nodes that can run jobs, closed ones included, and those that are powered down and would be
 *  started. gpus_allocated: in use, or taken for `waiting`. gpus_reserved: GPUs not in use that a reservation now
 *  holds. free_nodes: only nodes on which something can start: not closed, not reserved, with a CPU (and memory) left,
 *  in a partition that is up. So it sums to at most nodes_up, and the sum of k * free_nodes[k] <= total - allocated -
 *  reserved. jobs_running: jobs of any user that hold a node of the pool. jobs_queued: jobs of any user that wait for
 *  its partition and could take its type of GPU. expected_wait_s: after how long a gang of 1, 2, 4, … whole nodes (all
 *  GPUs; in a pool without GPUs: nodes without jobs) could start and keep them for an hour. It is computed from the
 *  ends of running jobs, the starts and nodes that Slurm expects of pending ones, and reservations. There is one entry
 *  for each of these sizes up to the number of nodes of the pool.
 *
 *  Limits of accounts and QOS lower all of that: no more is offered than what the users of the site's rules may still
 *  take, those of the line that may take most. `withheld` says if it is nothing, or if the partition starts no jobs.
 *
 *  What is expected to become free (`ahead`) counts in free_nodes, cpus_free and memory_free_bytes beside that, less what
 *  waits for it already, and at most what is in use on open nodes. Where a job of somebody else waits for the pool's
 *  nodes, nothing does: Slurm would start that one first.
 */
void helio_slurm_capacity(const helio_slurm_view_t *view, helio_arena_t *arena, helio_aev_capacity_t *ret_capacity);

/*  FREE_GPUS of each pool with GPUs for the next hours (at most HELIO_SERIES_POINTS_MAX), one point an hour from the
 *  current hour on: GPUs that are up, less those of jobs that run until their limit, less those of jobs that are
 *  expected to start, less reservations. Each point counts the GPUs that are free during the whole hour. In the
 *  arena. */
void helio_slurm_free_series(const helio_slurm_view_t *view, uint32_t hours, helio_arena_t *arena,
                             helio_aev_series_t *ret_series);

#endif
