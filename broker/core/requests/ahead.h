/*  ahead.h -- the jobs that are ahead of a job in the scheduling order. */
#ifndef HELIO_BROKER_CORE_REQUESTS_AHEAD_H
#define HELIO_BROKER_CORE_REQUESTS_AHEAD_H

#include "broker/core/state/nouns.h"
#include "broker/model/effects.h"
#include "federation/base/memory.h"

/*  Fills in *ret_estimate's fields about the jobs ahead of the job of that class. reader: the tenant whose jobs are
 *  named ("" = all). */
void core_start_estimate_ahead(helio_broker_core_t *self, const job_class_t *class, const job_t *job,
                               helio_text_t reader, helio_start_estimate_t *ret_estimate);

#endif
