/*  plan.h -- a dry run: what would happen to a job if it were submitted now. */
#ifndef HELIO_BROKER_CORE_REQUESTS_PLAN_H
#define HELIO_BROKER_CORE_REQUESTS_PLAN_H

#include "broker/core/state/nouns.h"
#include "broker/model/events.h"

void core_on_plan(helio_broker_core_t *self, const helio_ev_submit_t *event);

#endif
