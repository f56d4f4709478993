/*  candidates.h -- the candidates of a decision as rows. */
#ifndef HELIO_BROKER_CORE_DECIDE_CANDIDATES_H
#define HELIO_BROKER_CORE_DECIDE_CANDIDATES_H

#include "broker/core/decide/evaluate.h"
#include "broker/core/state/nouns.h"
#include "broker/model/effects.h"
#include "federation/reason/detail.h"

/*  A row for each option, in the arena; the chosen one comes first. */
helio_row_candidate_t *core_candidate_rows(helio_broker_core_t *self, const evaluation_t *e);
/*  Appends how far the job is from its own `max_cost` and `max_carbon`, at the pool that comes nearest. The figures
 *  change with every hour, so no row has them. */
void core_bounds_details(helio_broker_core_t *self, const evaluation_t *e, helio_details_t *why);

#endif
