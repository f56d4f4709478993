/*  expected_starts.h -- when a full pool is expected to have room for a job, by the time limits of the jobs there or by
 *  the site's own estimate.
 *
 *  Many waiting classes ask this of the same pools in one round, and most of them want the same of a pool: the same
 *  number of nodes, GPUs, CPUs and bytes. So a pool keeps its last answers while nothing changes there. */
#ifndef HELIO_BROKER_CORE_HOLDS_EXPECTED_STARTS_H
#define HELIO_BROKER_CORE_HOLDS_EXPECTED_STARTS_H

#include "broker/core/state/nouns.h"
#include "broker/core/state/pools.h"

/*  When the class is expected to find capacity at the pool (wall clock); 0 = unknown, or not before before_ms, beyond
 *  which the caller has no use for it. Unless 0 is returned, *ret_reservation is the reservation that it would get;
 *  NULL: not wanted. */
int64_t core_reserve_expect(helio_broker_core_t *self, const job_class_t *class, const site_t *site, pool_t *pool,
                            uint32_t gpus_per_node, int64_t before_ms, reservation_t *ret_reservation);
void core_expected_starts_destroy(expected_starts_t **self_p);
/*  Asserts that what is kept is what would be found now. */
void core_expected_starts_check(const helio_broker_core_t *self, const pool_t *pool);

#endif
