/*  clock.h -- the clocks of a step, and whether the wall clock was set. */
#ifndef HELIO_BROKER_CORE_CLOCK_H
#define HELIO_BROKER_CORE_CLOCK_H

#include "broker/core/state/nouns.h"
#include "federation/base/step.h"

/*  Sets the core's times from the event. If the wall clock was set since the last step, moves the plans with it. */
void core_clock_read(helio_broker_core_t *self, const helio_event_t *event);

#endif
