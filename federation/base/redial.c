/*  redial.c -- targets that take turns, and a delay that doubles. */
#include "federation/base/redial.h"

enum { DOUBLINGS_MAX = 20 };

int64_t helio_redial_next(helio_redial_t *self, helio_rng_t *rng)
{
    int64_t delay_ms = self->least_ms;
    for (uint32_t i = 0; i < self->failures && i < DOUBLINGS_MAX && delay_ms < self->most_ms; i++)
        delay_ms *= 2;
    if (delay_ms > self->most_ms)
        delay_ms = self->most_ms;
    self->target = (self->target + 1) % self->target_count;
    self->failures++;
    return delay_ms / 2 + (int64_t)helio_rng_below(rng, (uint64_t)(delay_ms / 2) + 1);
}

void helio_redial_heard(helio_redial_t *self)
{
    self->failures = 0;
}

void helio_redial_refused(helio_redial_t *self, uint32_t times)
{
    if (times && self->failures < times - 1)
        self->failures = times - 1;
}
