/*  spot.h -- spot capacity: which jobs may use it, and what its interruptions are expected to cost. Pure.
 *
 *  A node of a spot pool is taken away `interruptions_per_h` times in an hour, on average. Each time the job does some
 *  work again, and restarts (HELIO_SPOT_RESTART_MS). The work is
 *
 *      its grace, if it saves on a signal: the notice comes in time, and what it does meanwhile is assumed to be lost;
 *      half of `checkpoint.every` otherwise: the mean time since the last checkpoint;
 *      half of the run, if it saves nothing, and never more than that.
 *
 *  So of each hour of the run a share is done again: interruptions in an hour, of all nodes of the job, × that time in
 *  hours. The expected loss is this share of all that the run costs: its money and carbon, and its wait price × GPUs ×
 *  run time, since the job ends later by as much. (To the first order: interruptions of the work that is done again
 *  do not count.)
 */
#ifndef HELIO_POLICY_SPOT_H
#define HELIO_POLICY_SPOT_H

#include "federation/model/site.h"
#include "federation/policy/requirement.h"

enum {
    HELIO_SPOT_RESTART_MS = 60000 /* as after a migration */
};

/*  Whether the job may run there, as far as interruptions go. */
bool helio_spot_allows(const helio_requirement_t *want, const helio_pool_t *pool);
/*  The job's own terms: whether it consents, and the mean work that an interruption loses (0: half of its run). */
bool helio_spot_consents(const helio_job_spec_t *spec);
uint64_t helio_spot_lost_ms(const helio_job_spec_t *spec);

/*  The share of a run of that length which is done again, in millionths; 0 = no spot pool. */
uint64_t helio_spot_redo_ppm(const helio_requirement_t *want, const helio_pool_t *pool, uint64_t run_ms);

#endif
