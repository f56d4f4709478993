/*  histogram.h -- counts of a figure between fixed bounds, and its sum: enough for a monitoring system to compute
 *  quantiles over any window. A plain value; no allocation, no locks. */
#ifndef HELIO_BASE_HISTOGRAM_H
#define HELIO_BASE_HISTOGRAM_H

#include <stdint.h>

enum { HELIO_HISTOGRAM_BOUNDS_MAX = 12 };

/*  Upper bounds, ascending, each included in its bucket. Constant data of the caller. */
typedef struct helio_bounds {
    uint32_t count; /* at most HELIO_HISTOGRAM_BOUNDS_MAX */
    uint64_t at[HELIO_HISTOGRAM_BOUNDS_MAX];
} helio_bounds_t;

typedef struct helio_histogram {
    uint64_t counts[HELIO_HISTOGRAM_BOUNDS_MAX + 1]; /* not cumulative; index bounds->count is beyond all bounds */
    uint64_t sum;                                    /* in the figure's own unit */
} helio_histogram_t;

static inline void helio_histogram_add(helio_histogram_t *self, const helio_bounds_t *bounds, uint64_t figure)
{
    uint32_t bucket = 0;
    while (bucket < bounds->count && figure > bounds->at[bucket])
        bucket++;
    self->counts[bucket]++;
    self->sum += figure;
}

#endif
