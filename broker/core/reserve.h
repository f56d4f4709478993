/*  reserve.h -- room that is spoken for: by the gang at the head, by those that wait for a window (reserve.c). */
#ifndef HELIO_BROKER_CORE_RESERVE_H
#define HELIO_BROKER_CORE_RESERVE_H

#include "broker/core/capacity.h"
#include "broker/core/nouns.h"

enum {
    PROMISE_HOURS = 128, /* the hours ahead that a window can take: its start within 48, and 48 of its run */
    PROMISE_RUN_HOURS_MAX = 48
};

/*  A gang at the head of its turn waits for nodes of this pool: others may pass only if they do not delay it. */
typedef struct reservation {
    job_class_t *class; /* NULL = none */
    const site_t *site;
    int64_t at_ms;      /* wall clock, when enough is expected to be free */
    bool known; /* what comes back until then suffices; else the site's own word has it, and nothing can be spared */
    uint32_t gpus_per_node;
    room_t back; /* until at_ms */
} reservation_t;

/*  When a job of ours that is there now is over at the latest. */
typedef struct release {
    int64_t end_ms;
    const job_t *job;
} release_t;

/*  May a job of the class take so much of the pool now, without delaying the gang that has a reservation there? */
bool core_reserve_allows(helio_broker_core_t *self, const job_class_t *class, const pool_t *pool,
                         uint32_t gpus_per_node);
void core_reserve_placed(helio_broker_core_t *self, const job_t *job); /* it was: its room comes back at its end */
/*  When the class is expected to find room at the pool; 0 = not foreseen. The reservation that it would be. */
int64_t core_reserve_expect(helio_broker_core_t *self, const job_class_t *class, const site_t *site, pool_t *pool,
                            uint32_t gpus_per_node, reservation_t *ret_reservation);
/*  When a job that is at a site is over at the latest, by its limit. */
int64_t core_job_end_ms(const helio_broker_core_t *self, const job_t *job);
void core_reserve(job_class_t *class, pool_t *pool, const reservation_t *reservation);
void core_reserve_drop(job_class_t *class);
/*  How many jobs of the class can be expected to find room at the pool from start_ms on, beside those promised
 *  before. */
uint32_t core_window_room(helio_broker_core_t *self, const job_class_t *class, const site_t *site, pool_t *pool,
                          uint32_t gpus_per_node, int64_t start_ms);
void core_window_set(job_class_t *class, site_t *site, pool_t *pool, int64_t start_ms, uint32_t gpus);
void core_window_clear(job_class_t *class);

#endif
