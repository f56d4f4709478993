/*  prices.c -- looks up the prices of goals and jobs. */
#include "federation/policy/prices.h"

static const helio_prices_t prices[HELIO_GOAL_COUNT] = {
#define X(NAME, usd_per_t, wait, scarcity) [HELIO_GOAL_##NAME] = {(int64_t)usd_per_t * 1000000, wait, scarcity},
    HELIO_PRICES_TABLE(X)
#undef X
};

static int64_t bounded(int64_t price)
{
    return price < 0 ? 0 : price > HELIO_PRICE_MAX_MICRO_USD ? HELIO_PRICE_MAX_MICRO_USD : price;
}

helio_prices_t helio_prices_of_goal(uint32_t goal)
{
    return prices[goal < HELIO_GOAL_COUNT ? goal : HELIO_GOAL_BALANCED];
}

helio_prices_t helio_prices_of(const helio_job_spec_t *spec)
{
    if (!spec->prices_set)
        return helio_prices_of_goal(spec->goal);
    return (helio_prices_t){bounded(spec->carbon_price_micro_usd_per_t), bounded(spec->wait_price_micro_usd_per_gpu_h),
                            0};
}
