/*  expected_ends.h -- when the federation's jobs at a pool are over at the latest, by their time limits; and their lowest
 *  tier.
 *
 *  Every round asks for the first of these ends, and pools hold thousands of jobs. So a pool keeps its jobs in order: a
 *  job that begins, moves or leaves changes its own place only. The end of a job that runs is fixed; that of a job that
 *  has not begun recedes with the clock. */
#ifndef HELIO_BROKER_CORE_HOLDS_EXPECTED_ENDS_H
#define HELIO_BROKER_CORE_HOLDS_EXPECTED_ENDS_H

#include "broker/core/state/nouns.h"

/*  What a job leaves when it is over; GPUs, CPUs and memory of each of its nodes. */
typedef struct returned_room {
    uint32_t nodes, gpus, cpus;
    uint64_t memory_bytes;
} returned_room_t;

/*  When a job that is there now is over at the latest (core_job_end_ms). */
typedef struct expected_end {
    int64_t end_ms;
    const job_t *job;               /* NULL = no more; then end_ms is INT64_MAX */
    const returned_room_t *returns; /* valid as long as the walk */
} expected_end_t;

/*  One walk over the ends of a pool, ascending. No job may begin, move or leave meanwhile. */
typedef struct ends_walk {
    const expected_ends_t *ends;
    int64_t wall_ms;
    uint32_t overdue, overdue_count, begun, others; /* how many of each it has passed */
} ends_walk_t;

/*  GPUs of jobs that are over by a time, and of those that are not. */
typedef struct expected_gpus {
    uint64_t back, held;
} expected_gpus_t;

expected_gpus_t core_expected_gpus(helio_broker_core_t *self, const site_t *site, pool_t *pool, int64_t at_ms);
ends_walk_t core_expected_ends(helio_broker_core_t *self, const site_t *site, pool_t *pool);
expected_end_t core_expected_ends_next(ends_walk_t *walk);
ends_walk_t core_expected_ends_again(const ends_walk_t *walk); /* the same from its start */
bool core_expected_ends_any(const ends_walk_t *walk);          /* of a walk that has passed none */
/*  Another one after each change of the jobs or of the times. With the same clock, equal versions are equal walks. */
uint64_t core_expected_ends_version(const ends_walk_t *walk);
/*  The lowest tier of the jobs there; best-effort if one is stopping, HELIO_TIER_COUNT if there is none. If it becomes
 *  another one anywhere, self->tiers_version rises. */
uint32_t core_pool_lowest_tier(helio_broker_core_t *self, const site_t *site, pool_t *pool);
void core_expected_end_moved(helio_broker_core_t *self, job_t *job);              /* its state is another one */
void core_expected_end_left(helio_broker_core_t *self, job_t *job, pool_t *pool); /* NULL = from no known pool */
void core_expected_ends_forget_all(helio_broker_core_t *self); /* of all pools: tiers of queues changed */
void core_expected_ends_destroy(expected_ends_t **self_p);
/*  Asserts that the order that is kept is that of the jobs. */
void core_expected_ends_check(const helio_broker_core_t *self, const site_t *site, const pool_t *pool);

#endif
