/*  slurm.h -- what Slurm tells a shim in its environment, and how a shim calls srun. */
#ifndef HELIO_SHIM_SLURM_H
#define HELIO_SHIM_SLURM_H

#include "site-agent/shim/environment.h"
#include "site-agent/shim/plan.h"

/*  "" if Slurm did not set it. */
const char *helio_slurm_job_id(char *const *environ_list);
/*  The index of this node in the allocation; false: Slurm did not set it. */
bool helio_slurm_node_rank(char *const *environ_list, uint32_t *ret_rank);

/*  Adds the variables of a rank under Slurm to those of its attempt: SLURM_*, Slurm's variables for the GPUs,
 *  HELIO_HOSTS, HELIO_NODES, HELIO_NODE_RANK and HELIO_GPUS. Existing variables stay. INVALID: the list of nodes. */
HELIO_MUST_CHECK helio_rc helio_slurm_rank_environment(const helio_plan_t *plan, char *const *environ_list,
                                                       uint32_t rank, helio_environment_t *env, helio_error_t *err);
/*  The environment of srun itself: Slurm's variables and nothing of the job's. */
void helio_slurm_own_environment(char *const *environ_list, helio_environment_t *env);

/*  The command that starts `program --rank folder` once on each node. NOT_FOUND: no srun. */
HELIO_MUST_CHECK helio_rc helio_slurm_srun(const helio_plan_t *plan, char *const *environ_list, const char *program,
                                           const char *folder, helio_arena_t *arena, char ***ret_argv,
                                           helio_error_t *err);

#endif
