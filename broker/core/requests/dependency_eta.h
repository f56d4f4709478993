/*  dependency_eta.h -- when the dependencies of a job will be satisfied, as far as time limits tell. */
#ifndef HELIO_BROKER_CORE_REQUESTS_DEPENDENCY_ETA_H
#define HELIO_BROKER_CORE_REQUESTS_DEPENDENCY_ETA_H

#include "broker/core/state/nouns.h"
#include "broker/model/effects.h"
#include "broker/model/events.h"

/*  For a document that is not stored: when its dependency hold would end. Wall clock. */
typedef struct dependency_eta {
    int64_t earliest_ms; /* 0 = any time */
    int64_t latest_ms;   /* 0 = unknown */
    helio_details_t why; /* what it waits for; empty = nothing */
} dependency_eta_t;

/*  Fills in when the dependency holds of a stored job end, as far as that is known. Returns the latest end; 0 =
 *  unknown. */
int64_t core_dependencies_expect(helio_broker_core_t *self, const job_t *job, helio_start_estimate_t *ret_estimate);
/*  The same for a submitted document: its own dependencies and begin time. */
dependency_eta_t core_dependencies_eta(helio_broker_core_t *self, const helio_submission_t *job);

#endif
