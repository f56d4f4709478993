/*  bound.h -- how little the jobs could have emitted and cost: what the rows are measured against. Two bounds:
 *
 *  least       of any schedule at all: every GPU-hour may wait as long as it likes, until the last job of the rows has
 *              ended, and be split and moved at will. One for all rows. It counts the work of each job once: a policy
 *              that repeats lost work pays more, unless the price of electricity is negative then.
 *  same_hours  of the row's own work, hour by hour as it ran, at the best pools of each hour: what was left to gain by
 *              places alone. No more than the row itself.
 *
 *  Both know the room of each pool in each hour, outages, which pools a job could run at, and the true series; neither
 *  knows nodes, gangs, quotas, windows, or the sites' own users. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_BOUND_H
#define HELIO_SIMULATOR_EXPERIMENT_BOUND_H

#include "simulator/experiment/result.h"

/*  Fills in the bounds of the results. The world has classes. */
void exp_bounds_find(const exp_world_t *world, exp_result_t *results, uint32_t count);

/*  What rows are compared with: least-wait, else the first of them. */
const exp_result_t *exp_result_base(const exp_result_t *results, uint32_t count);

/*  The part of what places alone could save under `base` that the row saves; above 1 by hours, too. NAN: nothing could
 *  be saved, or the row did not finish the jobs that base finished. */
double exp_bound_reached(const exp_result_t *self, const exp_result_t *base, bool money);

/*  What the bounds of these rows are and mean, in two sentences. */
void exp_bounds_text(const exp_result_t *results, uint32_t count, const exp_world_t *world, helio_buffer_t *out);

#endif
