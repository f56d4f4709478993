/*  leave.h -- returns what a job held at its site when it leaves. */
#ifndef HELIO_BROKER_CORE_HOLDS_LEAVE_H
#define HELIO_BROKER_CORE_HOLDS_LEAVE_H

#include "broker/core/state/nouns.h"

/*  To the pool that it has left, or whose figures are rebuilt. */
void core_job_give_back(helio_broker_core_t *self, job_t *job, pool_t *pool);

#endif
