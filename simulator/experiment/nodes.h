/*  nodes.h -- the nodes of one pool. A gang takes the same number of GPUs on each of its nodes, and of the nodes that
 *  suffice those with the fewest free GPUs, as the broker assumes (broker/core/state/pools.c). */
#ifndef HELIO_SIMULATOR_EXPERIMENT_NODES_H
#define HELIO_SIMULATOR_EXPERIMENT_NODES_H

#include "federation/model/job.h"

typedef struct exp_nodes {
    uint32_t count, gpus_per_node;
    uint32_t offered;                                  /* nodes that are there for jobs: all but those withdrawn */
    uint32_t by_gpus[HELIO_JOB_GPUS_PER_NODE_MAX + 1]; /* nodes with exactly k free GPUs */
    uint32_t *free_gpus;                               /* of each node */
    bool *withdrawn;                                   /* each node: it takes no jobs, and is not counted */
    uint32_t *next, *before;                           /* rings of the nodes with as many free GPUs, and their heads */
} exp_nodes_t;

void exp_nodes_init(exp_nodes_t *self, uint32_t count, uint32_t gpus_per_node);
void exp_nodes_clear(exp_nodes_t *self);
/*  All or nothing. ret_nodes has room for `nodes`. */
HELIO_MUST_CHECK bool exp_nodes_take(exp_nodes_t *self, uint32_t nodes, uint32_t gpus, uint32_t *ret_nodes);
void exp_nodes_give(exp_nodes_t *self, const uint32_t *nodes, uint32_t count, uint32_t gpus);
/*  Of a node without jobs: instances of a cloud come and go. One that is withdrawn, or offered, already stays so. */
void exp_nodes_withdraw(exp_nodes_t *self, uint32_t node);
void exp_nodes_offer(exp_nodes_t *self, uint32_t node);
uint32_t exp_nodes_allocated(const exp_nodes_t *self); /* GPUs */

#endif
