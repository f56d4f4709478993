/*  reservations.h -- capacity that is reserved: for the gang at the head of the scheduling order, and for classes that
 *  wait for a window. Which gang gets a reservation, and at which pool: decide/gangs.h. */
#ifndef HELIO_BROKER_CORE_HOLDS_RESERVATIONS_H
#define HELIO_BROKER_CORE_HOLDS_RESERVATIONS_H

#include "broker/core/state/nouns.h"
#include "broker/core/state/pools.h"
#include "federation/reason/detail.h"

/*  Whether a job of the class can take that much of the pool now without delaying the gang that has a reservation
 *  there. */
bool core_reserve_allows(helio_broker_core_t *self, const job_class_t *class, const pool_t *pool,
                         uint32_t gpus_per_node);
/*  After a placement in this round: the job's capacity comes back at its end. */
void core_reserve_placed(helio_broker_core_t *self, const job_t *job);
/*  Reserves the pool for the class, in place of its former reservation. */
void core_reserve(job_class_t *class, pool_t *pool, const reservation_t *reservation);
void core_reserve_drop(job_class_t *class);
/*  How many jobs of the class are expected to find capacity at the pool from start_ms on, besides those promised
 *  before. */
uint32_t core_window_room(helio_broker_core_t *self, const job_class_t *class, const site_t *site, pool_t *pool,
                          uint32_t gpus_per_node, int64_t start_ms);
/*  Promises GPUs of the pool to the class from start_ms (wall clock, the start of an hour) for its run, in place of its
 *  former window. */
void core_window_set(job_class_t *class, site_t *site, pool_t *pool, int64_t start_ms, uint32_t gpus);
void core_window_clear(job_class_t *class);
helio_detail_t core_window_detail(helio_broker_core_t *self, const site_t *site, const pool_t *pool, int64_t start_ms);
/*  GPUs of the pool for starts that are set: promised to windows in that hour (wall clock), and those of the gang that has
 *  the reservation, from its start to its limit. */
uint64_t core_reserved_gpus(const pool_t *pool, int64_t at_ms);
/*  The window of a class under the last leader, from the class's row; at LOADED, those of classes without a waiting job
 *  are dropped, and the others get what was promised to them. */
void core_window_load(helio_broker_core_t *self, const helio_row_class_t *row);
void core_windows_loaded(helio_broker_core_t *self);

#endif
