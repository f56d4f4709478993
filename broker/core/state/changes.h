/*  changes.h -- the kinds of change after which waiting classes are considered again. Each makes a round due.
 *
 *  A class that found nothing is not asked again until something changes that its answer depends on, and the result of
 *  its last evaluation stays valid until then. So code that changes one of these things calls its function here. */
#ifndef HELIO_BROKER_CORE_STATE_CHANGES_H
#define HELIO_BROKER_CORE_STATE_CHANGES_H

#include "broker/core/state/nouns.h"

/*  A round can act on something: a job arrived, or a time has come. */
void core_round_due(helio_broker_core_t *self);
/*  What is free, or who can have it: capacity, quotas, budgets, the scheduling order. */
void core_capacity_changed(helio_broker_core_t *self);
/*  The same within a round, before it asks any class: that round sees it, so no further one is due. */
void core_capacity_changed_in_round(helio_broker_core_t *self);
/*  Discards what was found of pools within a round (expected ends, preemptible jobs), because a question is asked
 *  between two rounds. */
void core_findings_expire(helio_broker_core_t *self);
/*  What scores of a site's pools depend on: its profile, its series, whether it accepts offers. NULL = of all sites:
 *  data, links, the wall clock. */
void core_facts_changed(helio_broker_core_t *self, site_t *site);
/*  Which pools exist, or which of them a class can use at all: all earlier verdicts expire. */
void core_pools_changed(helio_broker_core_t *self);

#endif
