/*  number.h -- the lesser of two numbers, and quotients rounded down. Pure. */
#ifndef HELIO_BASE_NUMBER_H
#define HELIO_BASE_NUMBER_H

#include <stdint.h>

static inline uint64_t helio_lesser_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline int64_t helio_lesser_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/*  Also for times before 1970: -1 ms is in second -1. by > 0. */
static inline int64_t helio_floor(int64_t value, int64_t by)
{
    return value / by - (value % by < 0);
}

#endif
