/*  overflows.h -- overflow groups, as operators set them. */
#ifndef HELIO_BROKER_CORE_REQUESTS_OVERFLOWS_H
#define HELIO_BROKER_CORE_REQUESTS_OVERFLOWS_H

#include "broker/core/state/nouns.h"
#include "broker/model/events.h"

void core_on_overflow(helio_broker_core_t *self, const helio_ev_overflow_t *event);

#endif
