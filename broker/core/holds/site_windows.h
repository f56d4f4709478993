/*  site_windows.h -- GPUs that sites reserve by the clock, for critical queues and for work outside the federation. */
#ifndef HELIO_BROKER_CORE_HOLDS_SITE_WINDOWS_H
#define HELIO_BROKER_CORE_HOLDS_SITE_WINDOWS_H

#include "broker/core/state/nouns.h"
#include "federation/model/site.h"
#include "federation/reason/detail.h"

/*  From a time on other than critical work may hold so many GPUs of a pool, and is expected to hold so many. */
typedef struct site_window_edge {
    int64_t at_ms; /* wall clock */
    uint64_t room_gpus;
    uint64_t held_gpus; /* by their limits; of now, those that are being stopped too */
    uint64_t best_effort_gpus; /* of those, after now, by work that is the first to leave */
} site_window_edge_t;

enum { SITE_WINDOW_EDGES_MAX = 64 };

/*  What a site keeps of a pool by the clock, as one round sees it (site_windows.c). */
typedef struct site_window {
    const helio_series_t *series; /* NULL = nothing is kept; only within a round */
    site_window_edge_t edges[SITE_WINDOW_EDGES_MAX]; /* now, and each time at which more is kept */
    uint32_t count;
    uint64_t room_gpus;   /* in the round before */
    uint64_t short_gpus;  /* kept, but held by others, since short_ms */
    int64_t short_ms;     /* monotonic */
} site_window_t;

/*  What others give back, were they told to leave now. */
typedef struct freed_gpus {
    uint64_t gpus;
    uint64_t best_effort_gpus; /* of those */
} freed_gpus_t;

site_windows_t *core_site_windows_new(void);
void core_site_windows_destroy(site_windows_t **self_p);

int64_t
core_site_window_review_ms(const helio_broker_core_t *self); /* wall clock: the next review is due; INT64_MAX = none */
void core_site_window_review(
    helio_broker_core_t *self); /* begin of a round: tells those to leave whose GPUs will be needed */
/*  May a job of the class take so much now, once others gave so much back? */
bool core_site_window_allows(const helio_broker_core_t *self, const job_class_t *class, const pool_t *pool,
                      uint32_t gpus_per_node, freed_gpus_t back);
/*  Not even if nothing else ran there. */
bool core_site_window_excludes(const job_class_t *class, const pool_t *pool, uint32_t gpus_per_node);
void core_site_window_placed(helio_broker_core_t *self, const job_t *job);
/*  Why core_site_window_allows says no (code NONE: it does not), and when less is kept (0 = not foreseen). */
helio_detail_t core_site_window_detail(helio_broker_core_t *self, const job_class_t *class, const site_t *site,
                                       const pool_t *pool, uint32_t gpus_per_node, int64_t *ret_until_ms);

#endif
