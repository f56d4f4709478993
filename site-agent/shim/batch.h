/*  batch.h -- what an adapter of the backend `exec` tells a shim in its environment. */
#ifndef HELIO_SHIM_BATCH_H
#define HELIO_SHIM_BATCH_H

#include "site-agent/shim/environment.h"

/*  HELIO_BATCH_ID: the engine's own name of the job; "" if it is not set. */
const char *helio_batch_job_id(char *const *environ_list);

/*  Adds the variables of the one rank to those of its attempt: HELIO_HOSTS, HELIO_NODES, HELIO_NODE_RANK, HELIO_GPUS and
 *  CUDA_VISIBLE_DEVICES. An engine that assigns devices sets CUDA_VISIBLE_DEVICES. Of one that only counts them,
 *  HELIO_BATCH_GPUS is their number, and the job gets no CUDA_VISIBLE_DEVICES. Existing variables stay. */
void helio_batch_rank_environment(char *const *environ_list, helio_environment_t *env);

#endif
