/*  counters.c -- counts a request under its route, status code and latency. */
#include "broker/http/request/counters.h"

const double helio_metrics_bucket_s[HELIO_METRICS_BUCKETS] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                              0.1,   0.25,   0.5,   1,    2.5,   10};

void helio_metrics_request(helio_metrics_t *self, uint32_t route, uint32_t status, uint64_t duration_us)
{
    helio_route_counters_t *counters = &self->routes[route];
    (void)atomic_fetch_add_explicit(&counters->codes[helio_status_index(status)], 1, memory_order_relaxed);
    if (duration_us == UINT64_MAX) /* a stream: its duration is no latency */
        return;
    uint32_t bucket = 0;
    while (bucket < HELIO_METRICS_BUCKETS && (double)duration_us > helio_metrics_bucket_s[bucket] * 1e6)
        bucket++;
    (void)atomic_fetch_add_explicit(&counters->buckets[bucket], 1, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&counters->us_sum, duration_us, memory_order_relaxed);
}
