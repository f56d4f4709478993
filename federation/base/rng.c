/*  rng.c -- splitmix64. */
#include "federation/base/rng.h"

#include <assert.h>

__extension__ typedef unsigned __int128 helio_u128_t;

uint64_t helio_rng_next(helio_rng_t *self)
{
    uint64_t z = self->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

uint64_t helio_rng_below(helio_rng_t *self, uint64_t bound)
{
    assert(bound > 0);
    return (uint64_t)((helio_u128_t)helio_rng_next(self) * bound >> 64);
}

double helio_rng_unit(helio_rng_t *self)
{
    return (double)(helio_rng_next(self) >> 11) * 0x1.0p-53;
}

void helio_rng_bytes(helio_rng_t *self, uint8_t *ret_bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ret_bytes[i] = (uint8_t)(helio_rng_next(self) >> 56);
}
