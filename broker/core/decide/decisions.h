/*  decisions.h -- what is stored about an evaluation, and why the class waits. */
#ifndef HELIO_BROKER_CORE_DECIDE_DECISIONS_H
#define HELIO_BROKER_CORE_DECIDE_DECISIONS_H

#include "broker/core/decide/evaluate.h"
#include "broker/core/state/nouns.h"
#include "broker/model/effects.h"
#include "federation/policy/choice.h"

/*  Writes the decision and its candidates, unless the last one of the class is the same and less than a minute old.
 *  Sets e->decision_id. */
void core_decision_write(helio_broker_core_t *self, evaluation_t *e, helio_reason_t reason,
                         const helio_details_t *details);
/*  The rows that core_decision_write would write, as part of a plan. Writes nothing. */
void core_decision_preview(helio_broker_core_t *self, const evaluation_t *e, helio_reason_t reason,
                           const helio_details_t *details, helio_planned_t *plan);
/*  The dominant reason why its head waits, with its details; *ret_expected_ms: when that is expected to end (wall
 *  clock), 0 = unknown. */
helio_reason_t core_decision_reason(helio_broker_core_t *self, const evaluation_t *e, helio_details_t *ret_details,
                                    int64_t *ret_expected_ms);
/*  Writes the row of the class if its reason, details or expected start (wall clock, 0 = unknown) has changed. */
void core_class_write(helio_broker_core_t *self, job_class_t *class, helio_reason_t reason,
                      const helio_details_t *details, int64_t expected_ms);

#endif
