/*  explain.h -- when a job that has not started can start. */
#ifndef HELIO_BROKER_CORE_REQUESTS_EXPLAIN_H
#define HELIO_BROKER_CORE_REQUESTS_EXPLAIN_H

#include "broker/core/decide/evaluate.h"
#include "broker/core/state/nouns.h"
#include "broker/model/effects.h"
#include "broker/model/events.h"
#include "federation/policy/choice.h"

/*  When it may start, from an evaluation that was decided and the reason that it gave; ahead is filled in already. */
void core_start_estimate_expect(helio_broker_core_t *self, const evaluation_t *e, helio_reason_t reason,
                                int64_t expected_ms, helio_start_estimate_t *ret_estimate);
void core_on_explain(helio_broker_core_t *self, const helio_ev_command_t *event);

#endif
