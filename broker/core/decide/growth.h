/*  growth.h -- which elastic pool grows for a class that finds no capacity.
 *
 *  The class has one demand at a time: at the pool where it would start at the least cost, the wait for a new node
 *  included, unless the wait for capacity that comes free by itself costs less. What that demand is in nodes, and when
 *  the site hears of it: holds/wanted_nodes.h and sites/demand.h. A pool that has all its nodes can have the demand, too:
 *  then the class waits for one of them.
 */
#ifndef HELIO_BROKER_CORE_DECIDE_GROWTH_H
#define HELIO_BROKER_CORE_DECIDE_GROWTH_H

#include "broker/core/decide/evaluate.h"

/*  For a head that does not start now, after core_decide. Sets the class's demand, or drops it. */
void core_growth_choose(helio_broker_core_t *self, const evaluation_t *e);

#endif
