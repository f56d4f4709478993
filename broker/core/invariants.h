/*  invariants.h -- the invariants of the core between any two steps, as assertions. */
#ifndef HELIO_BROKER_CORE_INVARIANTS_H
#define HELIO_BROKER_CORE_INVARIANTS_H

#include "broker/core/state/nouns.h"

/*  Walks all jobs, classes, accounts, sites and pools. */
void core_assert_invariants(const helio_broker_core_t *self);

#endif
