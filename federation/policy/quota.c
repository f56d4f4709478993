/*  quota.c -- the arithmetic of quotas. */
#include "federation/policy/quota.h"

#include <assert.h>

helio_quota_t helio_quota_default(void)
{
    return (helio_quota_t){0, HELIO_QUOTA_UNLIMITED, HELIO_QUOTA_WEIGHT_DEFAULT};
}

helio_quota_t helio_quota_default_in(bool critical)
{
    helio_quota_t quota = helio_quota_default();
    if (critical)
        quota.burst_gpus = HELIO_QUOTA_CRITICAL_GPUS;
    return quota;
}

uint32_t helio_quota_left(const helio_holdings_t *self)
{
    if (self->quota.burst_gpus == HELIO_QUOTA_UNLIMITED)
        return HELIO_QUOTA_UNLIMITED;
    return self->gpus < self->quota.burst_gpus ? self->quota.burst_gpus - (uint32_t)self->gpus : 0;
}

bool helio_quota_is_below_guarantee(const helio_holdings_t *self)
{
    return self->gpus < self->quota.guaranteed_gpus;
}

void helio_quota_take(helio_holdings_t *self, uint32_t gpus)
{
    self->gpus += gpus;
}

void helio_quota_give(helio_holdings_t *self, uint32_t gpus)
{
    assert(self->gpus >= gpus);
    self->gpus -= gpus;
}
