/*  round.h -- a scheduling round. */
#ifndef HELIO_BROKER_CORE_ROUND_ROUND_H
#define HELIO_BROKER_CORE_ROUND_ROUND_H

#include "broker/core/state/nouns.h"

/*  Asks the waiting classes in the scheduling order and places their jobs. */
void core_round(helio_broker_core_t *self);
void core_recheck_classes(helio_broker_core_t *self); /* at a check: what classes wait for can be due */

#endif
