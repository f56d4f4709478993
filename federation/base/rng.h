/*  rng.h -- a seeded generator (splitmix64, Steele et al. 2014) for cores and tests. Not for secrets. */
#ifndef HELIO_BASE_RNG_H
#define HELIO_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

typedef struct helio_rng {
    uint64_t state;
} helio_rng_t;

uint64_t helio_rng_next(helio_rng_t *self);
/*  Uniform in [0, bound); bound > 0. The bias of the multiply-shift reduction is below bound / 2^64. */
uint64_t helio_rng_below(helio_rng_t *self, uint64_t bound);
double helio_rng_unit(helio_rng_t *self); /* [0, 1) */
void helio_rng_bytes(helio_rng_t *self, uint8_t *ret_bytes, size_t size);

#endif
