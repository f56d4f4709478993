/*  capacity.h -- how much larger the fleet would have to be without a policy: the GPUs of the fleet over those of the
 *  smallest fleet on which the policy makes jobs wait no longer than `isolated` does on the whole one. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_CAPACITY_H
#define HELIO_SIMULATOR_EXPERIMENT_CAPACITY_H

#include "simulator/experiment/run.h"

/*  `own`: the policy's result on the whole fleet; `isolated`: that of isolated. The 95th percentile of the wait is
 *  compared. NAN: even four times the fleet is too small. Runs the policy several times. */
double exp_capacity_ratio(const exp_world_t *world, const exp_policy_t *policy, const exp_result_t *own,
                          const exp_result_t *isolated);

#endif
