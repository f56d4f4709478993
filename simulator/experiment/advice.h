/*  advice.h -- what an operator could change: where one more node would help, which teams ask for more than they use,
 *  and how often jobs should save where runs were interrupted.
 *
 *  The worth of a node is the difference of two whole runs of the policy, with and without it. A placement more or less
 *  early on changes all later ones, so small differences mean nothing. As a measure of that, the run without it is
 *  repeated with the same jobs, each submitted up to a minute later. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_ADVICE_H
#define HELIO_SIMULATOR_EXPERIMENT_ADVICE_H

#include "simulator/experiment/run.h"

/*  With the change, less without it. */
typedef struct exp_gain {
    uint32_t site, pool; /* one node was added */
    int64_t finished, deadline_misses;
    double gpu_hours_waited, usd, kg;
    double worth_usd; /* what that saves at the prices of carbon and waiting */
} exp_gain_t;

enum { EXP_CHANCES = 3 };

struct exp_advice {
    int64_t checkpoint_takes_ms;
    int64_t carbon_micro_usd_per_t, wait_micro_usd_per_gpu_h;
    double by_chance_usd[EXP_CHANCES]; /* the worth of later submissions; ascending */
    exp_gain_t *nodes;                 /* each pool that has nodes; the most worth first */
    uint32_t node_count;
};

/*  Called before each run. */
typedef void exp_advice_progress_fn(void *arg, const char *policy, uint32_t runs, uint32_t of);

/*  own: the policy's result on the fleet as it is. *ret_advice is for exp_advice_clear. Runs the policy once for each
 *  pool, and EXP_CHANCES times more. */
void exp_advice_find(const exp_world_t *world, const exp_policy_t *policy, const exp_result_t *own,
                     int64_t checkpoint_takes_ms, exp_advice_progress_fn *progress, void *arg,
                     exp_advice_t *ret_advice);
void exp_advice_clear(exp_advice_t *self);

#endif
