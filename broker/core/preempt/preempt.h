/*  preempt.h -- a class that finds no capacity preempts other work. */
#ifndef HELIO_BROKER_CORE_PREEMPT_PREEMPT_H
#define HELIO_BROKER_CORE_PREEMPT_PREEMPT_H

#include "broker/core/decide/evaluate.h"
#include "broker/core/state/nouns.h"

/*  Whom core_preempt would tell to leave for one more job of a class that was decided and has no room; tells nobody.
 *  False: nobody. Fills in preempts, loss_micro_usd, preempts_at_ms and preempts_details. Of those that have just begun it is foreseen when they may be told. */
bool core_preempt_expect(helio_broker_core_t *self, evaluation_t *e);
/*  For a class whose turn found no capacity: preempts for as many of its jobs as possible. True when something was
 *  preempted; fills in e->preempts, e->loss_micro_usd. */
bool core_preempt(helio_broker_core_t *self, evaluation_t *e);

#endif
