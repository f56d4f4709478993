/*  batch.h -- what an adapter of the backend `exec` tells a shim in its environment. */
#ifndef HELIO_SHIM_BATCH_H
#define HELIO_SHIM_BATCH_H

#include "site-agent/shim/environment.h"

/*  HELIO_BATCH_ID: the engine's own name of the job; "" if it is not set. */
const char *helio_batch_job_id(char *const *environ_list);

/*  HELIO_BATCH_RANK: the rank that a shim is one of several nodes. False: it says none. */
bool helio_batch_node_rank(char *const *environ_list, uint32_t *ret_rank);

/*  The command of a head: HELIO_BATCH_LAUNCH, a line for /bin/sh, followed by the shim's own command line as a rank. It
 *  runs that on each node of the job, with HELIO_BATCH_RANK, carries the output, and ends with the largest exit code.
 *  NOT_FOUND: the adapter says none. *ret_env: all of the shim's own environment, as the engine made it. */
HELIO_MUST_CHECK helio_rc helio_batch_launch(char *const *environ_list, const char *program, const char *folder,
                                             helio_arena_t *arena, char ***ret_argv, helio_environment_t *ret_env,
                                             helio_error_t *err);

/*  Adds the variables of a rank to those of its attempt: HELIO_HOSTS, HELIO_NODES, HELIO_NODE_RANK, HELIO_GPUS and
 *  CUDA_VISIBLE_DEVICES. One of several nodes finds the hosts in HELIO_BATCH_HOSTS. An engine that assigns devices sets CUDA_VISIBLE_DEVICES. Of one that only counts them,
 *  HELIO_BATCH_GPUS is their number, and the job gets no CUDA_VISIBLE_DEVICES. Existing variables stay. */
void helio_batch_rank_environment(char *const *environ_list, uint32_t nodes, uint32_t rank, helio_environment_t *env);

#endif
