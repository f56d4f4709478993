/*  metrics_desired.c -- the metric of the GPUs that pools should have. Of the hours ahead, a few: each is a series for each pool. */
#include <inttypes.h>

#include "broker/http/metrics/exposition.h"
#include "broker/http/metrics/metrics.h"

static void sample(const helio_desired_pool_t *pool, uint32_t hour, helio_buffer_t *out)
{
    helio_buffer_text(out, "helio_desired_gpus{site=\"");
    helio_metrics_label(pool->site, out);
    helio_buffer_text(out, "\",pool=\"");
    helio_metrics_label(pool->pool, out);
    helio_buffer_printf(out, "\",hours_ahead=\"%" PRIu32 "\"} %" PRIu64 "\n", hour,
                        pool->hours.items[hour].desired_gpus);
}

void helio_metrics_desired(const helio_desired_pool_t *pools, uint32_t count, helio_buffer_t *out)
{
    static const uint32_t hours[] = {0, 1, 2, 4, 8, HELIO_DESIRED_HOURS};
    if (count)
        helio_metric_head(
            out, "desired_gpus", "gauge",
            "GPUs that the pool should have at the beginning of that hour (0: now), in whole nodes, for the jobs "
            "that run, wait or are planned. Of the leader alone.");
    for (uint32_t i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof hours / sizeof hours[0]; k++)
            if (hours[k] < pools[i].hours.count)
                sample(&pools[i], hours[k], out);
}
