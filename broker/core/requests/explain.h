/*  explain.h -- the start estimate of a job that has not started. */
#ifndef HELIO_BROKER_CORE_REQUESTS_EXPLAIN_H
#define HELIO_BROKER_CORE_REQUESTS_EXPLAIN_H

#include "broker/core/decide/evaluate.h"
#include "broker/core/state/nouns.h"
#include "broker/model/effects.h"
#include "broker/model/events.h"
#include "federation/policy/choice.h"

/*  Fills in the jobs ahead, if others keep the job waiting, and the expected start, from an evaluation that was decided
 *  and the reason that it gave. Names of other tenants than `reader` are left out; empty = none is. */
void core_start_estimate_expect(helio_broker_core_t *self, const evaluation_t *e, const job_t *job, helio_text_t reader,
                                helio_reason_t reason, int64_t expected_ms, helio_start_estimate_t *ret_estimate);
/*  Whether the reason keeps it from every start that can be foreseen, until it or a limit is changed. */
bool core_start_estimate_is_forbidden(const evaluation_t *e, helio_reason_t reason, int64_t expected_ms);
/*  For a job with a dependency hold, whose end would not let it start: adds that reason to what the estimate rests on,
 *  makes the time unknown, and adds what would help, if the class is judged for the end of the hold. */
void core_start_estimate_forbid(helio_broker_core_t *self, const evaluation_t *e, helio_reason_t reason,
                                helio_start_estimate_t *estimate);
/*  Whether nothing is decided for the class before sites have spoken; if so, fills in the expected start. After a
 *  restore and after a takeover all classes wait for a moment, and after a takeover those that may wait do so for
 *  longer. */
bool core_start_estimate_awaits(helio_broker_core_t *self, const job_class_t *class,
                                helio_start_estimate_t *ret_estimate);
void core_on_explain(helio_broker_core_t *self, const helio_ev_command_t *event);

#endif
