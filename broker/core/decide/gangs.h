/*  gangs.h -- which jobs need a reservation, and the pool where a gang gets one.
 *
 *  A gang is reserved in three steps. core_decide asks here where the gang of a class would start first. The round
 *  gives it that reservation (core_reserve). core_reserve_allows then keeps later jobs from delaying it
 *  (holds/reservations.h).
 */
#ifndef HELIO_BROKER_CORE_DECIDE_GANGS_H
#define HELIO_BROKER_CORE_DECIDE_GANGS_H

#include "broker/core/decide/evaluate.h"
#include "broker/core/state/nouns.h"

/*  Whether it would never find its capacity while smaller jobs start before it: several nodes, or a whole one, or more
 *  than one GPU for a tenant below its guarantee. */
bool core_is_gang(const job_class_t *class, const option_t *option);
/*  The first gang in the scheduling order for a pool gets a reservation where it is expected to start first. Fills in
 *  reserved and reservation; changes nothing else. */
void core_gang_find_reservation(helio_broker_core_t *self, evaluation_t *e);

#endif
