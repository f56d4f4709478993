/*  desired.h -- how many GPUs each pool should have now and in the hours ahead, and why: for autoscalers. */
#ifndef HELIO_BROKER_CORE_REQUESTS_DESIRED_H
#define HELIO_BROKER_CORE_REQUESTS_DESIRED_H

#include "broker/core/state/nouns.h"

/*  Changes nothing. The answer is at most a second old. */
void core_on_desired(helio_broker_core_t *self, const helio_ev_desired_t *event);
void core_desired_forget(helio_broker_core_t *self); /* the table of a second ago */

#endif
