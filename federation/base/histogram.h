/*  histogram.h -- how often a figure fell between fixed bounds, and the sum of all: what a scrape needs to show
 * quantiles over any window. A value; no allocation, no locks. */
#ifndef HELIO_BASE_HISTOGRAM_H
#define HELIO_BASE_HISTOGRAM_H

#include <stdint.h>

enum { HELIO_HISTOGRAM_BOUNDS_MAX = 12 };

/*  Upper bounds, ascending, each within its bucket. Constant data of whoever counts. */
typedef struct helio_bounds {
    uint32_t count; /* at most HELIO_HISTOGRAM_BOUNDS_MAX */
    uint64_t at[HELIO_HISTOGRAM_BOUNDS_MAX];
} helio_bounds_t;

typedef struct helio_histogram {
    uint64_t counts[HELIO_HISTOGRAM_BOUNDS_MAX + 1]; /* not cumulative; that of index bounds->count: beyond them all */
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
