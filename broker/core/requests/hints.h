/*  hints.h -- changes that would let a job start sooner. */
#ifndef HELIO_BROKER_CORE_REQUESTS_HINTS_H
#define HELIO_BROKER_CORE_REQUESTS_HINTS_H

#include "broker/core/decide/evaluate.h"
#include "broker/core/state/nouns.h"
#include "broker/model/effects.h"
#include "federation/policy/choice.h"

/*  Adds hints to the estimate. Afterwards the evaluation's options are no longer valid. */
void core_hints(helio_broker_core_t *self, const evaluation_t *e, helio_reason_t reason, int64_t expected_ms,
                helio_start_estimate_t *ret_estimate);

#endif
