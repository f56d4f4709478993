/*  preemptible.h -- whether a running job can be preempted, and what it would lose. */
#ifndef HELIO_BROKER_CORE_STATE_PREEMPTIBLE_H
#define HELIO_BROKER_CORE_STATE_PREEMPTIBLE_H

#include "broker/core/state/nouns.h"

/*  A running job that can be preempted; of a pool, in one round. */
struct preemptible {
    job_t *job;
    int64_t protected_until_ms; /* wall clock: end of its minimum-runtime protection */
    uint64_t lost_gpu_ms;
};

bool core_preempt_is_immune(const job_t *job); /* it was preempted too often */
/*  It runs, its tier can be preempted, and it is not immune. protected_too: also while minimum-runtime protection
 *  applies. */
bool core_preempt_can(const helio_broker_core_t *self, const job_t *job, bool protected_too);
uint64_t core_preempt_lost_ms(const helio_broker_core_t *self, const job_t *job); /* run time lost if it leaves now */
uint64_t core_preempt_ran_ms(const helio_broker_core_t *self, const job_t *job);  /* run time of its current attempt */
uint32_t core_preempt_tier(const job_t *job);                                     /* its queue's */
helio_stop_mode_t core_preempt_mode(const job_t *job);                            /* of a job that is being stopped */

#endif
