/*  refusals.h -- the line that the broker logs when a site refused a job, for operators who watch logs rather than
 *  jobs. At most ten a second: one broken site refuses all that it is offered. */
#ifndef HELIO_BROKER_ENGINE_REFUSALS_H
#define HELIO_BROKER_ENGINE_REFUSALS_H

#include "broker/model/rows_job.h"
#include "federation/base/log.h"

/*  Logs `site_refused` when that is what the transition is about; any other transition logs nothing. */
void helio_refusal_log(helio_log_t *log, helio_log_limit_t *limit, const helio_row_transition_t *transition);

#endif
