/*  capacity.h -- what a cluster offers, by its nodes and what pods take of them (fleet.h). Pure. */
#ifndef HELIO_BACKENDS_KUBERNETES_CAPACITY_H
#define HELIO_BACKENDS_KUBERNETES_CAPACITY_H

#include "site-agent/backends/kubernetes/fleet.h"
#include "site-agent/core/agent_core.h"

/*  An attempt that was created and has no pods on nodes yet. */
typedef struct helio_kube_waiting {
    helio_text_t pool;
    uint32_t nodes, gpus_per_node;
    uint32_t cpus_per_node;
    uint64_t memory_bytes_per_node;
} helio_kube_waiting_t;

/*  The capacity of each pool, in the site's order; in the arena. Sums that a figure cannot hold are the most it can.
 *
 *  nodes_up, gpus_total: Ready nodes, cordoned and tainted ones included. gpus_allocated: requested, or taken for
 *  `waiting` by best fit; unused GPUs of closed nodes count as reserved. free_nodes: open nodes with CPU and
 *  memory left. jobs_running, jobs_queued: pods with the pool's resource that are bound, or not. */
void helio_kube_capacity(helio_kube_fleet_t *fleet, const helio_kube_waiting_t *waiting, uint32_t waiting_count,
                         helio_arena_t *arena, helio_aev_capacity_t *ret_capacity);

#endif
