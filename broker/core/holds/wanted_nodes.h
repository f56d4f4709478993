/*  wanted_nodes.h -- nodes of elastic pools that waiting jobs want, now and in the hours ahead.
 *
 *  An instance that nothing can use is paid for all the same. So classes are asked in the scheduling order, those of all
 *  sites, and each wants no more than quotas and budgets allow beside what those before it want; and jobs of several
 *  classes share nodes. Which pool a class wants nodes of: decide/growth.h.
 */
#ifndef HELIO_BROKER_CORE_HOLDS_WANTED_NODES_H
#define HELIO_BROKER_CORE_HOLDS_WANTED_NODES_H

#include "broker/core/state/nouns.h"

/*  Counts nodes for all these jobs at once: what elastic pools are asked for. Both functions count anew in
 *  pool->wanted, which is valid within the step. */
void core_wanted_now(helio_broker_core_t *self);

/*  Nodes of an elastic pool that are left for waiting jobs at that time. */
typedef uint32_t core_wanted_room_fn(helio_broker_core_t *self, const site_t *site, pool_t *pool, int64_t at_ms);
/*  Counts them for each of these times, which ascend from now: jobs start where the room allows it, in the scheduling
 *  order, and run to their limits; those that start first have to wait for their node. */
void core_wanted_ahead(helio_broker_core_t *self, const int64_t *times_ms, uint32_t count, core_wanted_room_fn *room);

/*  As counted last; now is 0. At most what the pool can have. */
uint32_t core_wanted_nodes(const pool_t *pool, uint32_t time);

#endif
