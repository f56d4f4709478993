/*  quota.h -- what Kueue still admits for a LocalQueue: its ClusterQueue's nominal quota less what is reserved of it. Pure.
 *
 *  A flavor counts for a pool unless its node labels name another GPU. What a cohort lends is not counted, since it can be
 *  taken back; nor is a share that several LocalQueues have of one ClusterQueue, since Kueue gives them none.
 */
#ifndef HELIO_BACKENDS_KUBERNETES_QUOTA_H
#define HELIO_BACKENDS_KUBERNETES_QUOTA_H

#include <jansson.h>

#include "site-agent/backends/kubernetes/resource.h"

/*  Of a pool; UINT64_MAX: no quota limits it. */
typedef struct helio_kube_left {
    uint64_t gpus, cpu_milli, memory_bytes;
} helio_kube_left_t;

typedef struct helio_kube_quota {
    bool known; /* else nothing is limited: there is no queue, or the agent may not read it */
    helio_kube_left_t pools[HELIO_SITE_POOLS_MAX];
} helio_kube_quota_t;

/*  Whether a flavor is one of the pool's: unless its node labels, which the LocalQueue's status has, name another GPU. */
bool helio_kube_flavor_is_of(const json_t *local, const char *flavor, const helio_pool_t *pool);

/*  By the LocalQueue and its ClusterQueue; NULL for a queue that does not exist. A queue that does not exist or is stopped
 *  admits nothing, nor does a ClusterQueue that has no quota of a pool's GPU. */
void helio_kube_quota_read(const json_t *local, const json_t *cluster, const helio_site_profile_t *site,
                           helio_kube_quota_t *ret_quota);

/*  Leaves of a pool's figures what the quota leaves, less `waiting_gpus` of attempts that it does not contain yet: first
 *  the nodes with the most free GPUs. What is free beyond it counts as reserved. */
void helio_kube_quota_limit(const helio_kube_left_t *left, uint64_t waiting_gpus, helio_pool_capacity_t *pool);

#endif
