/*  counters.h -- what the server counts: one relaxed atomic addition for each, from any thread. */
#ifndef HELIO_BROKER_HTTP_REQUEST_COUNTERS_H
#define HELIO_BROKER_HTTP_REQUEST_COUNTERS_H

#include <stdatomic.h>

#include "broker/http/request/problem.h"
#include "federation/model/attempt.h"

enum { HELIO_METRICS_ROUTES_MAX = 72, HELIO_METRICS_BUCKETS = 12 };

extern const double helio_metrics_bucket_s[HELIO_METRICS_BUCKETS]; /* upper bounds of latencies */

typedef struct helio_route_counters {
    _Atomic uint64_t codes[HELIO_STATUS_COUNT];
    _Atomic uint64_t buckets[HELIO_METRICS_BUCKETS + 1]; /* the last is +Inf */
    _Atomic uint64_t us_sum;
} helio_route_counters_t;

typedef struct helio_metrics {
    helio_route_counters_t
        routes[HELIO_METRICS_ROUTES_MAX]; /* by index in the table; the one after the last route: no route */
    _Atomic uint64_t transitions[HELIO_JOB_STATE_COUNT]; /* by the new state */
    _Atomic uint64_t jobs_submitted;
    _Atomic uint64_t jobs_rejected; /* requests whose documents did not parse */
    _Atomic int64_t waiting;        /* requests suspended now */
    _Atomic int64_t streams;        /* event and log streams now */
    _Atomic int64_t operations;     /* calls and reads that are not answered yet */
    _Atomic uint64_t bodies_bytes;  /* held now */
    _Atomic uint64_t timeouts;
    _Atomic int64_t audit_verified_ms; /* wall clock: when the audit was last verified through this broker; 0 = never */
    atomic_bool audit_broken;          /* as it was found then */
} helio_metrics_t;

/*  Counts a request. route: index in the table; duration_us UINT64_MAX = a stream, which has no latency. */
void helio_metrics_request(helio_metrics_t *self, uint32_t route, uint32_t status, uint64_t duration_us);

#endif
