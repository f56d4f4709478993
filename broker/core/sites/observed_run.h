/*  observed_run.h -- what the broker itself has observed of a run, for ends whose report does not say how long the
 *  attempt ran or on how many GPUs. What ran is charged: an unknown use is estimated, and never zero. */
#ifndef HELIO_BROKER_CORE_SITES_OBSERVED_RUN_H
#define HELIO_BROKER_CORE_SITES_OBSERVED_RUN_H

#include "broker/core/state/nouns.h"
#include "federation/model/attempt.h"

/*  The site has the current attempt, which runs: by a report, or by the inventory of its session. */
void core_run_observe(const helio_broker_core_t *self, job_t *job);
/*  It does, by a report. */
void core_run_observe_suspension(const helio_broker_core_t *self, job_t *job, bool suspended);
/*  The site begins a new session: the last message of the former one is the last proof of life of what ran in it. */
void core_runs_leave_session(site_t *site);
/*  A new leader: the last message that the former one noted. */
void core_observed_run_load(const helio_broker_core_t *self, job_t *job);

/*  Wall clock: when the current attempt was last known to run; now, if it was not seen to. */
int64_t core_run_proof_wall_ms(const helio_broker_core_t *self, const job_t *job);

/*  For how long the current attempt has been seen to run, without its suspensions; 0 = it was not. */
uint64_t core_run_seen_ms(const helio_broker_core_t *self, const job_t *job);

/*  Completes the use in the report of an end from its own times, from the placement and from what was seen. current:
 *  the report is of the job's current attempt. job NULL = it is over: only the site's figures are known. Sets
 *  report->estimated if the use is not what the site measured. */
void core_run_complete(const helio_broker_core_t *self, const site_t *site, const job_t *job, bool current,
                       helio_report_t *report);

#endif
