/*  reservations.h -- capacity that is spoken for: by the gang at the head, by classes that wait for a window. */
#ifndef HELIO_BROKER_CORE_HOLDS_RESERVATIONS_H
#define HELIO_BROKER_CORE_HOLDS_RESERVATIONS_H

#include "broker/core/state/nouns.h"
#include "broker/core/state/pools.h"

/*  When a job of ours that is there now is over at the latest. */
typedef struct expected_end {
    int64_t end_ms;
    const job_t *job;
} expected_end_t;

/*  May a job of the class take so much of the pool now, without delaying the gang that has a reservation there? */
bool core_reserve_allows(helio_broker_core_t *self, const job_class_t *class, const pool_t *pool,
                         uint32_t gpus_per_node);
void core_reserve_placed(helio_broker_core_t *self, const job_t *job); /* it was: its room comes back at its end */
/*  When the class is expected to find room at the pool; 0 = not foreseen. The reservation that it would be. */
int64_t core_reserve_expect(helio_broker_core_t *self, const job_class_t *class, const site_t *site, pool_t *pool,
                            uint32_t gpus_per_node, reservation_t *ret_reservation);
void core_reserve(job_class_t *class, pool_t *pool, const reservation_t *reservation);
void core_reserve_drop(job_class_t *class);
/*  How many jobs of the class can be expected to find room at the pool from start_ms on, beside those promised
 *  before. */
uint32_t core_window_room(helio_broker_core_t *self, const job_class_t *class, const site_t *site, pool_t *pool,
                          uint32_t gpus_per_node, int64_t start_ms);
void core_window_set(job_class_t *class, site_t *site, pool_t *pool, int64_t start_ms, uint32_t gpus);
void core_window_clear(job_class_t *class);

#endif
