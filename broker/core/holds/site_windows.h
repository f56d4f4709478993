/*  site_windows.h -- site reservation windows: GPUs that sites reserve by the clock, for critical queues and for work
 *  outside the federation. */
#ifndef HELIO_BROKER_CORE_HOLDS_SITE_WINDOWS_H
#define HELIO_BROKER_CORE_HOLDS_SITE_WINDOWS_H

#include "broker/core/state/nouns.h"
#include "federation/model/site.h"
#include "federation/reason/detail.h"

/*  From at_ms on, work that is not critical can hold room_gpus of a pool, and is expected to hold held_gpus. */
typedef struct site_window_edge {
    int64_t at_ms; /* wall clock */
    uint64_t room_gpus;
    uint64_t held_gpus;        /* by the time limits; for now, also of jobs that are being stopped */
    uint64_t best_effort_gpus; /* part of held_gpus, later than now: of best-effort jobs, which leave first */
} site_window_edge_t;

enum { SITE_WINDOW_EDGES_MAX = 64 };

/*  What a site reserves of a pool, as one round sees it (site_windows.c). */
typedef struct site_window {
    const helio_series_t *series;                    /* NULL = nothing is reserved; valid only within a round */
    site_window_edge_t edges[SITE_WINDOW_EDGES_MAX]; /* now, and each time at which more is reserved */
    uint32_t count;
    uint64_t room_gpus;  /* in the round before */
    uint64_t short_gpus; /* reserved, but used by other work since short_ms */
    int64_t short_ms;    /* monotonic */
} site_window_t;

/*  What other jobs return if they are ordered to stop now. */
typedef struct freed_gpus {
    uint64_t gpus;
    uint64_t best_effort_gpus; /* part of gpus */
} freed_gpus_t;

site_windows_t *core_site_windows_new(void);
void core_site_windows_destroy(site_windows_t **self_p);

int64_t core_site_window_review_ms(const helio_broker_core_t *self); /* next review (wall clock); INT64_MAX = none */
void core_site_window_review(
    helio_broker_core_t *self); /* at the start of a round: preempts jobs whose GPUs will be needed */
/*  Whether a job of the class can take that much now, once others have returned `back`. */
bool core_site_window_allows(const helio_broker_core_t *self, const job_class_t *class, const pool_t *pool,
                             uint32_t gpus_per_node, freed_gpus_t back);
/*  Whether it could not start there even without any other job. */
bool core_site_window_excludes(const job_class_t *class, const pool_t *pool, uint32_t gpus_per_node);
/*  After a placement: counts the job's GPUs at the edges at which it will hold them. */
void core_site_window_placed(helio_broker_core_t *self, const job_t *job);
/*  Why core_site_window_allows is false (code NONE: it is true), and when less is reserved (wall clock; 0 =
 *  unknown). */
helio_detail_t core_site_window_detail(helio_broker_core_t *self, const job_class_t *class, const site_t *site,
                                       const pool_t *pool, uint32_t gpus_per_node, int64_t *ret_until_ms);

#endif
