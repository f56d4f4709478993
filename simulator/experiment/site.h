/*  site.h -- a site as the broker's core sees it: nodes, attempts, reports, and the series that an agent would publish.
 *  Deterministic; what it publishes comes from the past of the series alone. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_SITE_H
#define HELIO_SIMULATOR_EXPERIMENT_SITE_H

#include "broker/model/effects.h"
#include "broker/model/events.h"
#include "federation/base/heap.h"
#include "simulator/experiment/nodes.h"
#include "simulator/experiment/result.h"

typedef struct exp_attempt {
    helio_heap_item_t item; /* of those that run, by their end */
    uint64_t number;        /* in the order of their starts */
    uint32_t job, site, pool;
    helio_job_key_t key;
    uint32_t epoch;
    int64_t started_ms, ends_ms;
    uint32_t gpus_per_node, node_count;
    uint32_t nodes[];
} exp_attempt_t;

typedef struct exp_site {
    helio_site_profile_t profile;
    exp_nodes_t *pools;
    const exp_series_t *carbon, *price; /* NULL: it publishes none */
    const exp_forecast_t *forecast;     /* of its carbon intensity; NULL: it has only its own */
    uint32_t running;
    uint64_t dispatch_seen, summary_seq, report_seq;
    helio_report_t *reports; /* not sent yet */
    uint32_t report_count, report_capacity;
    bool changed; /* since its last summary */
} exp_site_t;

/*  publishes_static: its profile has last year's mean, as of at_ms, and no series follow. */
void exp_site_init(exp_site_t *self, const exp_world_t *world, uint32_t index, bool publishes_static, int64_t at_ms);
void exp_site_clear(exp_site_t *self);

/*  Starts the attempt of an order, or refuses it (NULL). The caller sets its job, site and end, and frees it. */
exp_attempt_t *exp_site_start(exp_site_t *self, const helio_order_t *order, int64_t wall_ms);
/*  Frees its nodes and reports its end: ENDED, or STOPPED. */
void exp_site_end(exp_site_t *self, const exp_attempt_t *attempt, uint32_t kind, int64_t wall_ms);

/*  The summary that is due: capacity, and the series at full hours. Its lists live in the arena. */
helio_site_summary_t exp_site_summary(exp_site_t *self, int64_t wall_ms, bool with_series, helio_arena_t *arena);

#endif
