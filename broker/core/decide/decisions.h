/*  decisions.h -- what is written of an evaluation, and why the class waits. */
#ifndef HELIO_BROKER_CORE_DECIDE_DECISIONS_H
#define HELIO_BROKER_CORE_DECIDE_DECISIONS_H

#include "broker/core/decide/evaluate.h"
#include "broker/core/state/nouns.h"
#include "broker/model/effects.h"
#include "federation/policy/choice.h"

void core_decision_write(helio_broker_core_t *self, evaluation_t *e, helio_reason_t reason,
                         const helio_details_t *details);
/*  The rows that this would write, but not into the database: of a plan. */
void core_decision_preview(helio_broker_core_t *self, const evaluation_t *e, helio_reason_t reason,
                        const helio_details_t *details, helio_planned_t *plan);
/*  The dominant reason why its head waits, and its details; with the time at which that is expected to end, 0 = not
 * foreseen. */
helio_reason_t core_decision_reason(helio_broker_core_t *self, const evaluation_t *e, helio_details_t *ret_details,
                                    int64_t *ret_expected_ms);
void core_class_write(helio_broker_core_t *self, job_class_t *class, helio_reason_t reason,
                      const helio_details_t *details, int64_t expected_ms);

#endif
