/*  load.h -- rebuilds the core's state from the database, at takeover. */
#ifndef HELIO_BROKER_CORE_LOAD_H
#define HELIO_BROKER_CORE_LOAD_H

#include "broker/core/state/nouns.h"
#include "federation/base/step.h"

/*  Handles LOAD_* and LOADED. */
void core_on_load(helio_broker_core_t *self, const helio_event_t *event);

#endif
