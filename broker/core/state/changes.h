/*  changes.h -- kinds of change after which classes that wait are asked again. Each makes a round due.
 *
 *  A class that found nothing is not asked again before something changed that its answer rests on; what is kept of its
 *  last evaluation stands for as long as that does. So whoever changes one of these things says which, here.
 */
#ifndef HELIO_BROKER_CORE_STATE_CHANGES_H
#define HELIO_BROKER_CORE_STATE_CHANGES_H

#include "broker/core/state/nouns.h"

/*  Something waits that a round can act on: a job came, or a time has come. */
void core_round_due(helio_broker_core_t *self);
/*  What is free, or who may have it: capacity, quotas, budgets, the scheduling order. */
void core_capacity_changed(helio_broker_core_t *self);
/*  The same, by the round under way, before it asks any class: no further round is due for it. */
void core_capacity_changed_in_round(helio_broker_core_t *self);
/*  What was found of pools within a round (what comes back when, whom one could preempt) is found anew: a question is
 *  asked between two rounds. */
void core_findings_expire(helio_broker_core_t *self);
/*  What scores of a site's pools rest on: its profile, its series, whether it can be offered anything. NULL = of all
 *  sites: data, links, the wall clock. */
void core_facts_changed(helio_broker_core_t *self, site_t *site);
/*  Which pools there are, or which of them a class can use at all: no verdict stands. */
void core_pools_changed(helio_broker_core_t *self);

#endif
