/*  round.h -- a scheduling round. */
#ifndef HELIO_BROKER_CORE_ROUND_ROUND_H
#define HELIO_BROKER_CORE_ROUND_ROUND_H

#include "broker/core/state/nouns.h"

void core_round(helio_broker_core_t *self);
void core_recheck_classes(helio_broker_core_t *self); /* at the clock: what classes wait for may be due */

#endif
