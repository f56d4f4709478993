/*  recent_ends.h -- how the jobs ended that the core has forgotten last.
 *
 *  A submission names jobs that were looked up in the database a moment ago. Some of them can have ended since, and with
 *  thousands of them some always have: to look up again would never come to an end. An end is final, so what is
 *  remembered here is true however old it is; only the newest are kept, to bound the memory. Their rows precede those
 *  of the submission, so what follows from an end is never durable without it. */
#ifndef HELIO_BROKER_CORE_HOLDS_RECENT_ENDS_H
#define HELIO_BROKER_CORE_HOLDS_RECENT_ENDS_H

#include "broker/core/state/nouns.h"
#include "broker/model/rows_job.h"
#include "federation/base/id.h"
#include "federation/model/job.h"

/*  Of jobs, tasks and whole arrays: more than one submission can name (HELIO_DEPENDS_WORDS_MAX). */
enum { CORE_RECENT_ENDS_MAX = 1 << 16 };

/*  how: OK or NOT_OK. Only the first end of a job counts. */
void core_recent_ends_add(helio_broker_core_t *self, helio_job_key_t on, helio_found_t how);
/*  OPEN: it is not over, or its end is not remembered. */
helio_found_t core_recent_end(const helio_broker_core_t *self, helio_job_key_t on);
void core_recent_ends_free(helio_broker_core_t *self);

#endif
