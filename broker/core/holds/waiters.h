/*  waiters.h -- which holds wait for a job, found by its key. */
#ifndef HELIO_BROKER_CORE_HOLDS_WAITERS_H
#define HELIO_BROKER_CORE_HOLDS_WAITERS_H

#include "broker/core/holds/dependencies.h"

/*  all: a table. NULL: nothing waits for that. */
waited_t *core_waited_find(waited_t *all, helio_job_key_t on, uint32_t after);
void core_waiter_add(waited_t **all_p, dependency_hold_t *hold, helio_job_key_t on, uint32_t after);
void core_waiter_remove(waited_t **all_p, waiter_t *waiter);

#endif
