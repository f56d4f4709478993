/*  clock.h -- the time of a step, and whether somebody set the clock. */
#ifndef HELIO_BROKER_CORE_CLOCK_H
#define HELIO_BROKER_CORE_CLOCK_H

#include "broker/core/state/nouns.h"
#include "federation/base/step.h"

void core_clock_read(helio_broker_core_t *self, const helio_event_t *event);

#endif
