/*  fleet.h -- a cluster's nodes, and what pods request of them, kept as sums. Pure; one owner.
 *
 *  A change of a node or of a pod moves the sums of one node. So figures take as many steps as there are nodes, however
 *  many pods there are. Nodes and pods can come in any order, since each kind has a watch of its own.
 *
 *  A pool takes the Ready nodes whose label names its GPU and that have its resource (resource.h); a CPU pool, those
 *  without any GPU. Used is what pods request that are bound and have not ended, of any namespace, if the agent can list
 *  them; else only the federation's own are known, and others' use is not seen.
 */
#ifndef HELIO_BACKENDS_KUBERNETES_FLEET_H
#define HELIO_BACKENDS_KUBERNETES_FLEET_H

#include <jansson.h>
#include <uthash.h>

#include "site-agent/backends/kubernetes/resource.h"

/*  The most that a node can plausibly have. More is a mistake or a lie in its status: it counts as nothing,
 *  since what is offered there would draw jobs from all sites that can run them. */
enum {
    HELIO_KUBE_NODE_GPUS_MAX = 4096,  /* 16 GPUs, each of them shared by 256 */
    HELIO_KUBE_NODE_CPUS_MAX = 65536, /* some thirty times what the largest machines have */
    HELIO_KUBE_REMARK_SIZE = 400
};
#define HELIO_KUBE_NODE_MEMORY_MAX (UINT64_C(1) << 50) /* bytes: some thirty times what the largest machines have */

/*  The sum of any number of 64-bit quantities; what is added can be taken back. */
__extension__ typedef unsigned __int128 helio_kube_sum_t;

typedef struct helio_kube_taken {
    helio_kube_sum_t gpus;
    uint32_t pods; /* that request the resource */
} helio_kube_taken_t;

typedef struct helio_kube_facts {
    bool open; /* for new pods of the federation */
    uint64_t cpu_milli, memory_bytes;
    uint64_t serves; /* pools, by bits */
    uint64_t gpus[HELIO_SITE_POOLS_MAX];
    uint32_t absurd; /* quantities that count as nothing */
} helio_kube_facts_t;

typedef struct helio_kube_node {
    UT_hash_handle hh;
    char *name;
    bool listed; /* else only pods name it */
    helio_kube_facts_t facts;
    helio_kube_sum_t cpu_milli, memory_bytes; /* requested */
    helio_kube_taken_t *taken;                /* by resource */
    uint32_t pods;                            /* that have not ended */
    uint32_t named;                           /* by pods, ended ones included */
} helio_kube_node_t;

typedef struct helio_kube_pod helio_kube_pod_t;
typedef struct helio_kube_owner helio_kube_owner_t;

typedef struct helio_kube_fleet {
    const helio_site_profile_t *site;
    const char *const *tolerated;
    uint32_t tolerated_count;
    helio_kube_node_t *nodes;
    helio_kube_pod_t *pods;
    helio_kube_owner_t *owners;
    char resources[HELIO_SITE_POOLS_MAX][HELIO_KUBE_RESOURCE_SIZE]; /* of GPUs, each once */
    uint32_t resource_count;
    uint32_t resource_of[HELIO_SITE_POOLS_MAX]; /* by pool; UINT32_MAX = none */
    uint32_t queued[HELIO_SITE_POOLS_MAX];      /* pods without a node, by resource */
    uint32_t serving[HELIO_SITE_POOLS_MAX];     /* nodes, by pool */
    uint32_t absurd;                            /* nodes with quantities that count as nothing */
    char remark[HELIO_KUBE_REMARK_SIZE];        /* the last of these: which node and which quantity */
    uint64_t steps;                             /* nodes, pods and containers that were looked at, ever */
} helio_kube_fleet_t;

/*  `site` and the keys of taints that the federation's pods tolerate are borrowed. */
helio_kube_fleet_t *helio_kube_fleet_new(const helio_site_profile_t *site, const char *const *tolerated,
                                         uint32_t tolerated_count);
void helio_kube_fleet_destroy(helio_kube_fleet_t **self_p);

/*  A node came, changed or went. True: figures can differ from now on. */
bool helio_kube_fleet_node(helio_kube_fleet_t *self, const json_t *node, bool gone);
/*  The same for a pod. `owner`: the attempt that it is of; "" = of no attempt. */
bool helio_kube_fleet_pod(helio_kube_fleet_t *self, const json_t *pod, helio_text_t owner, bool gone);
/*  How many pods of an attempt are on nodes. */
uint32_t helio_kube_fleet_bound(const helio_kube_fleet_t *self, helio_text_t owner);

/*  At most UINT64_MAX. */
uint64_t helio_kube_sum(helio_kube_sum_t sum);

#endif
