/*  preemptible.h -- whether a running job can be preempted, and what it would lose. */
#ifndef HELIO_BROKER_CORE_STATE_PREEMPTIBLE_H
#define HELIO_BROKER_CORE_STATE_PREEMPTIBLE_H

#include "broker/core/state/nouns.h"

bool core_preempt_is_immune(const job_t *job); /* it was preempted too often */
/*  It runs, is of a tier that may be preempted, and is not immune. young too: not begun a moment ago. */
bool core_preempt_can(const helio_broker_core_t *self, const job_t *job, bool protected_too);
uint64_t core_preempt_lost_ms(const helio_broker_core_t *self, const job_t *job); /* run in vain, if it leaves now */
uint64_t core_preempt_ran_ms(const helio_broker_core_t *self, const job_t *job); /* its current attempt */
uint32_t core_preempt_tier(const job_t *job);                                     /* its queue's */
helio_stop_mode_t core_preempt_mode(const job_t *job); /* of a job that is being stopped */

#endif
