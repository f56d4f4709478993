/*  placement.h -- places one job at one pool. */
#ifndef HELIO_BROKER_CORE_DECIDE_PLACEMENT_H
#define HELIO_BROKER_CORE_DECIDE_PLACEMENT_H

#include "broker/core/decide/evaluate.h"
#include "broker/core/state/nouns.h"
#include "broker/core/state/option.h"

/*  Places a job of the evaluated class at an option: charges quota and budget, takes the capacity, writes decision and
 *  placement, and sends the order. */
void core_place(helio_broker_core_t *self, evaluation_t *e, job_t *job, const option_t *option);
/*  Where a job of the class could start first; NULL = nowhere now. */
const option_t *core_least_wait(helio_broker_core_t *self, evaluation_t *e);

#endif
