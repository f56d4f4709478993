/*  book_inner.h -- what the book holds and keeps on disk. */
#ifndef HELIO_TELEMETRY_BOOK_INNER_H
#define HELIO_TELEMETRY_BOOK_INNER_H

#include <math.h>

#include "site-agent/telemetry/book.h"

typedef struct book_hour {
    int64_t hour; /* since 1970; 0 = none */
    double joules[HELIO_BOOK_METER];
    int32_t covered_ms[HELIO_BOOK_METER];
    bool estimated;
} book_hour_t;

typedef struct book_use {
    bool known;
    uint32_t total, ours, others;
} book_use_t;

typedef struct book_pool {
    char name[33];
    book_use_t use;
    book_hour_t hours[HELIO_BOOK_HOURS]; /* by hour modulo */
} book_pool_t;

typedef struct book_gpu {
    char holder[HELIO_BOOK_NAME_SIZE]; /* "" = nobody of the federation */
    bool known, busy;
    uint64_t mj;   /* last read, or when it was taken */
    int64_t at_ms; /* 0 = never */
} book_gpu_t;

typedef struct book_meter {
    bool known, cumulative, news;
    char source[65];
    helio_book_reading_t last;
} book_meter_t;

struct helio_book {
    const helio_site_profile_t *profile;
    const helio_nvml_t *nvml;
    char *state_dir;
    double pue;
    int64_t began_ms, tick_ms;
    int64_t told_hour;
    book_gpu_t gpus[HELIO_NVML_GPUS_MAX];
    uint32_t gpu_count;
    book_meter_t meter; /* its hours are the first part of pools[profile->pools.count] */
    book_pool_t *pools;
};

static inline bool helio_book_is_pue(double pue)
{
    return isfinite(pue) && pue >= 1 && pue <= 10;
}

/*  book_keep.c: the book as its file has it, where there is one that holds. */
void helio_book_load(helio_book_t *self, int64_t wall_ms);

#endif
