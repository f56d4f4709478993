/*  rate.c -- two token buckets. What was used is counted in microseconds of earning, so that no fraction is lost. */
#include "federation/net/rate.h"

enum { SAVED_US = 4 * 1000000 };

static int64_t earned(int64_t used_us, int64_t us)
{
    return used_us > us ? used_us - us : 0;
}

bool helio_rate_allows(helio_rate_t *self, int64_t now_ms)
{
    int64_t us = (now_ms - self->at_ms) * 1000;
    self->messages_used_us = earned(self->messages_used_us, us);
    self->bytes_used_us = earned(self->bytes_used_us, us);
    self->at_ms = now_ms;
    return self->messages_used_us < SAVED_US && self->bytes_used_us < SAVED_US;
}

void helio_rate_spend(helio_rate_t *self, const helio_rate_limit_t *limit, size_t bytes)
{
    if (limit->messages_per_s)
        self->messages_used_us += 1000000 / limit->messages_per_s;
    if (limit->bytes_per_s)
        self->bytes_used_us += (int64_t)bytes * 1000000 / limit->bytes_per_s;
}
