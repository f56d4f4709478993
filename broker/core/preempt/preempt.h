/*  preempt.h -- preemption: a class that finds no capacity has other jobs stopped. */
#ifndef HELIO_BROKER_CORE_PREEMPT_PREEMPT_H
#define HELIO_BROKER_CORE_PREEMPT_PREEMPT_H

#include "broker/core/decide/evaluate.h"
#include "broker/core/state/nouns.h"

/*  The preemption that core_preempt would begin for one more job of a class that was decided and has no capacity;
 *  begins nothing. False: none. Fills in preempts, loss_micro_usd, preempts_at_ms and preempts_details. Jobs under
 *  minimum-runtime protection count from the time at which it ends. */
bool core_preempt_expect(helio_broker_core_t *self, evaluation_t *e);
/*  For a class that found no capacity in this round: preempts for as many of its jobs as possible. Returns whether
 *  anything was preempted. Fills in e->preempts and e->loss_micro_usd. */
bool core_preempt(helio_broker_core_t *self, evaluation_t *e);

#endif
