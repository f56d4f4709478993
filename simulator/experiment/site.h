/*  site.h -- a site as the broker's core sees it: nodes, attempts, reports, and the series that an agent would publish.
 *  Deterministic; what it publishes comes from the past of the series alone, unless its policy may know the truth. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_SITE_H
#define HELIO_SIMULATOR_EXPERIMENT_SITE_H

#include "broker/model/effects.h"
#include "broker/model/events.h"
#include "federation/base/heap.h"
#include "federation/energy/foretold.h"
#include "simulator/experiment/instances.h"
#include "simulator/experiment/policies.h"
#include "simulator/experiment/result.h"

typedef struct exp_attempt exp_attempt_t;
struct exp_attempt {
    helio_heap_item_t item;     /* of those that run, by their end */
    exp_attempt_t *prev, *next; /* those of its site */
    uint64_t number;            /* in the order of their starts */
    uint32_t job, site, pool;
    bool exempt; /* it may use what is reserved: of a critical queue, or of the site's own users */
    bool local;  /* `job` counts in the jobs of the site's own users, and there is no key */
    helio_job_key_t key;
    uint32_t epoch;
    int64_t started_ms, ends_ms;
    int64_t works_ms; /* its work begins, after transfer and restart */
    int64_t limit_ms; /* it ends by then, as far as the site knows */
    uint32_t gpus_per_node, node_count;
    uint32_t nodes[];
};

/*  An attempt that ended in an outage. */
typedef struct exp_dead {
    helio_job_key_t key;
    uint32_t epoch, gpus;
    int64_t started_ms, ended_ms;
} exp_dead_t;

/*  Where a site has the hours ahead of a signal from. */
typedef struct exp_source {
    const exp_forecast_t *forecast; /* NULL: the site has only its own */
    helio_foretold_t *foretold;     /* what was foretold until now; NULL: nothing was taken yet */
    uint32_t issues_taken;          /* into that */
} exp_source_t;

typedef struct exp_site {
    helio_site_profile_t profile;
    exp_nodes_t *pools;
    exp_instances_t **instances;        /* of each pool; NULL = its nodes are always there */
    const exp_series_t **rents;         /* of each pool, likewise: no series has its rent */
    helio_pool_t *mean_pools;           /* the profile's own, if they have mean rents; else NULL */
    exp_local_queue_t *queues;          /* of its own users, for each pool */
    const exp_series_t *carbon, *price; /* NULL: it publishes none */
    exp_source_t carbon_source, price_source;
    exp_knows_t knows;
    const exp_reserves_t *reserves; /* NULL: nothing is reserved */
    uint32_t index;                 /* in the fleet */
    uint32_t *exempt_gpus;          /* of each pool: that jobs hold which may use what is reserved */
    exp_attempt_t *attempts;        /* that run */
    uint32_t running;
    uint64_t dispatch_seen, summary_seq, report_seq;
    helio_report_t *reports; /* not sent yet */
    uint32_t report_count, report_capacity;
    bool changed; /* since its last summary */
    bool down;
    uint32_t outages_over;
} exp_site_t;

/*  EXP_KNOWS_MEAN: its profile has last year's mean, as of at_ms, and no series follow. */
void exp_site_init(exp_site_t *self, const exp_world_t *world, uint32_t index, exp_knows_t knows, int64_t at_ms);
void exp_site_clear(exp_site_t *self);

/*  Starts the attempt of an order, or refuses it (NULL). The caller sets its job, site and end, and frees it. */
exp_attempt_t *exp_site_start(exp_site_t *self, const helio_order_t *order, int64_t wall_ms);
/*  The attempt may use what is reserved. */
void exp_site_exempt(exp_site_t *self, exp_attempt_t *attempt);
/*  GPUs that are reserved in the running hour but held by jobs that may not; *ret_served: those that inference has. */
uint32_t exp_site_shortfall(const exp_site_t *self, uint32_t pool, uint32_t reserved, uint32_t *ret_served);
/*  Frees its nodes and reports its end: ENDED, or STOPPED. */
void exp_site_end(exp_site_t *self, exp_attempt_t *attempt, uint32_t kind, int64_t wall_ms);
/*  The provider takes a node of it away: it stops, as the agent stops it. */
void exp_site_take_away(exp_site_t *self, exp_attempt_t *attempt, int64_t wall_ms);
/*  It ended in an outage: its nodes are free again, and nothing is reported. */
void exp_site_drop(exp_site_t *self, exp_attempt_t *attempt);
/*  The report of such an end, once the broker asks for it. */
void exp_site_report_stopped(exp_site_t *self, const exp_dead_t *dead);

/*  A job of its own users enters the queue of its pool. */
void exp_site_queue_local(exp_site_t *self, const exp_local_job_t *job, uint32_t number);
/*  Starts the first job of a queue that has room for it; NULL: no queue has. The caller sets site and end, and frees it. */
exp_attempt_t *exp_site_start_local(exp_site_t *self, const exp_local_trace_t *trace, int64_t wall_ms);

/*  The summary that is due: capacity, and the series at full hours. Its lists live in the arena. */
helio_site_summary_t exp_site_summary(exp_site_t *self, int64_t wall_ms, bool with_series, helio_arena_t *arena);

#endif
