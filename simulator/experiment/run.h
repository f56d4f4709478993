/*  run.h -- one policy over all jobs: the broker's core in virtual time (docs/decisions/0007-simulate.md). */
#ifndef HELIO_SIMULATOR_EXPERIMENT_RUN_H
#define HELIO_SIMULATOR_EXPERIMENT_RUN_H

#include "simulator/experiment/policies.h"
#include "simulator/experiment/result.h"

/*  Called now and then with how many of the jobs are over. */
typedef void exp_progress_fn(void *arg, const char *policy, uint32_t over, uint32_t jobs);

/*  *ret_result is for exp_result_clear. wall_s is the caller's to set. */
void exp_run(const exp_world_t *world, const exp_policy_t *policy, exp_progress_fn *progress, void *arg,
             exp_result_t *ret_result);

#endif
