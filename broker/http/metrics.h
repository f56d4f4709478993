/*  metrics.h -- counters of this room, and the Prometheus text of everything the broker knows about itself.
 *
 *  Counting is one relaxed atomic addition, from any thread. Names: prefix helio_, base units, labels only
 * from closed sets (routes, states, status codes) and sites.
 */
#ifndef HELIO_BROKER_HTTP_METRICS_H
#define HELIO_BROKER_HTTP_METRICS_H

#include <stdatomic.h>

#include "broker/engine/engine.h"
#include "broker/http/problem.h"

enum { HELIO_METRICS_ROUTES_MAX = 64, HELIO_METRICS_BUCKETS = 12 };

typedef struct helio_route_counters {
    _Atomic uint64_t codes[HELIO_STATUS_COUNT];
    _Atomic uint64_t buckets[HELIO_METRICS_BUCKETS + 1]; /* the last: +Inf */
    _Atomic uint64_t us_sum;
} helio_route_counters_t;

typedef struct helio_metrics {
    helio_route_counters_t
        routes[HELIO_METRICS_ROUTES_MAX]; /* by place in the table; the one after it: no route */
    _Atomic uint64_t transitions[HELIO_JOB_STATE_COUNT]; /* by the state moved to */
    _Atomic uint64_t jobs_submitted;
    _Atomic uint64_t jobs_rejected; /* documents that did not parse */
    _Atomic int64_t waiting;        /* requests suspended now */
    _Atomic int64_t streams;        /* event and log streams now */
    _Atomic int64_t operations;     /* calls and reads without an answer yet */
    _Atomic uint64_t bodies_bytes;  /* held now */
    _Atomic uint64_t timeouts;
} helio_metrics_t;

void helio_metrics_request(helio_metrics_t *self, uint32_t route, uint32_t status, uint64_t duration_us);

/*  What /metrics shows beside this room's own counters. */
typedef struct helio_metrics_sources {
    const helio_engine_figures_t *engine; /* NULL: it did not answer */
    /* answers of the queries of those names; {NULL, 0}: not known */
    helio_text_t sites_json, balance_json,
        forecasts_json, retention_json; /* read_sites, read_balance_now, read_forecasts_now, read_retention */
} helio_metrics_sources_t;
void helio_metrics_text(const helio_metrics_t *self, const helio_metrics_sources_t *sources,
                        helio_buffer_t *out);

/*  Its parts: metrics_engine.c, metrics_sites.c */
void helio_metrics_engine(const helio_engine_figures_t *engine, helio_buffer_t *out);
void helio_metrics_sites(helio_text_t json, helio_buffer_t *out);
void helio_metrics_balance(helio_text_t json, helio_buffer_t *out);
void helio_metrics_forecasts(helio_text_t json, helio_buffer_t *out);
void helio_metrics_retention(helio_text_t json, helio_buffer_t *out);

#endif
