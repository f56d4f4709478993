/*  leave.h -- a job that leaves its site gives back what it held there. */
#ifndef HELIO_BROKER_CORE_HOLDS_LEAVE_H
#define HELIO_BROKER_CORE_HOLDS_LEAVE_H

#include "broker/core/state/nouns.h"

/*  To the pool, which it has left or which is drawn up anew. */
void core_job_give_back(helio_broker_core_t *self, job_t *job, pool_t *pool);

#endif
