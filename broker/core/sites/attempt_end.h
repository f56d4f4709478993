/*  attempt_end.h -- what the end of a job's current attempt adds to the ledger, and to what the job has used. */
#ifndef HELIO_BROKER_CORE_SITES_ATTEMPT_END_H
#define HELIO_BROKER_CORE_SITES_ATTEMPT_END_H

#include "broker/core/state/nouns.h"
#include "federation/model/attempt.h"

/*  Notes the first start, as the site reports it: each job has one wait in /metrics. */
void core_attempt_has_run(helio_broker_core_t *self, job_t *job, int64_t started_ms);
/*  The end of the current attempt: writes its rows and adds to what the job has used. */
void core_attempt_account(helio_broker_core_t *self, site_t *site, job_t *job, const helio_report_t *report,
                          bool completes);
/*  The job leaves it behind without a report of its end: what it used is estimated, up to the last sign of life that
 *  the broker had of it, and charged like a fenced attempt's, until its site reports the end. One that nobody saw run
 *  costs nothing until then (estimates.h). */
void core_attempt_give_up(helio_broker_core_t *self, job_t *job);

#endif
