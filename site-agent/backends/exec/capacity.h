/*  capacity.h -- what is free, from an inventory's nodes and the attempts that wait for them. Pure. */
#ifndef HELIO_BACKENDS_EXEC_CAPACITY_H
#define HELIO_BACKENDS_EXEC_CAPACITY_H

#include "site-agent/backends/exec/answer.h"

/*  An attempt that was submitted and that the nodes' figures do not contain yet. */
typedef struct helio_exec_waiting {
    helio_text_t pool;
    uint32_t nodes, gpus, cpus; /* of each node, but for nodes */
    uint64_t memory_bytes;
} helio_exec_waiting_t;

/*  What waits takes, for each of its nodes, the fullest node that has room for it, as a packing scheduler would; what fits nowhere takes what
 *  the pool has. */
void helio_exec_capacity(const helio_site_profile_t *site, const helio_exec_answer_t *inventory,
                         const helio_exec_waiting_t *waiting, uint32_t waiting_count, helio_arena_t *arena,
                         helio_aev_capacity_t *ret_capacity);

#endif
