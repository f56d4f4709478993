/*  capacity.h -- what a cluster can offer, computed from its lists of nodes and pods. Pure.
 *
 *  A pool's GPU is a resource of a node: nvidia.com/gpu, nvidia.com/mig-<profile> for a slice, nvidia.com/gpu.shared for
 *  a GPU that several share (mps, timeslice). A pool takes the nodes whose label nvidia.com/gpu.product names its model.
 *  Used is what pods request that are bound and have not ended, of any namespace, if the agent can list them; else
 *  `pods` has only the federation's own, and others' use is not seen.
 */
#ifndef HELIO_BACKENDS_KUBERNETES_CAPACITY_H
#define HELIO_BACKENDS_KUBERNETES_CAPACITY_H

#include <jansson.h>

#include "site-agent/core/agent_core.h"

enum { HELIO_KUBE_RESOURCE_SIZE = 64 };

/*  An attempt that was created and has no pods on nodes yet. */
typedef struct helio_kube_waiting {
    helio_text_t pool;
    uint32_t nodes, gpus_per_node;
    uint32_t cpus_per_node;
    uint64_t memory_bytes_per_node;
} helio_kube_waiting_t;

typedef struct helio_kube_view {
    const helio_site_profile_t *site;
    const json_t *nodes; /* items of a NodeList */
    const json_t *pods;  /* items of a PodList; NULL = none */
    const helio_kube_waiting_t *waiting;
    uint32_t waiting_count;
    const char *const *tolerated; /* keys of taints that the federation's pods tolerate */
    uint32_t tolerated_count;
} helio_kube_view_t;

/*  The name of the resource that a pool's jobs request; "" for a CPU pool. */
void helio_kube_resource(const helio_pool_t *pool, char ret_name[HELIO_KUBE_RESOURCE_SIZE]);
/*  Whether a label nvidia.com/gpu.product ("NVIDIA-H100-80GB-HBM3") names a pool's GPU ("H100"). */
bool helio_kube_is_product(helio_text_t product, helio_text_t gpu);

/*  The capacity of each pool, in the site's order; in the arena.
 *
 *  nodes_up, gpus_total: Ready nodes, cordoned and tainted ones included. gpus_allocated: requested, or taken for
 *  `waiting` by best fit; those of closed nodes that nobody uses count as reserved. free_nodes: open nodes with CPU and
 *  memory left. jobs_running, jobs_queued: pods with the pool's resource that are bound, or not. */
void helio_kube_capacity(const helio_kube_view_t *view, helio_arena_t *arena, helio_aev_capacity_t *ret_capacity);

#endif
