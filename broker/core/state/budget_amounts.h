/*  budget_amounts.h -- amounts of budgets: bounded, so that sums of them do not overflow. */
#ifndef HELIO_BROKER_CORE_STATE_BUDGET_AMOUNTS_H
#define HELIO_BROKER_CORE_STATE_BUDGET_AMOUNTS_H

#include "federation/policy/budget.h"

static inline int64_t core_amount_bounded(int64_t amount)
{
    return amount < 0 ? 0 : amount < HELIO_SPEND_MAX ? amount : HELIO_SPEND_MAX;
}

static inline int64_t core_amount_product(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) || product > INT64_MAX ? HELIO_SPEND_MAX
                                                                         : core_amount_bounded((int64_t)product);
}

static inline int64_t core_amount_of(uint64_t amount)
{
    return amount > INT64_MAX ? INT64_MAX : (int64_t)amount;
}

static inline void core_amount_add(int64_t *sum, int64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum) || *sum == INT64_MIN) /* which has no negative */
        *sum = more < 0 ? -INT64_MAX : INT64_MAX;
}

/*  The use of a run that ends at its limit, or as late as it counts already. limit_ms: helio_requirement_longest_ms. */
static inline helio_spend_t core_spend_until_limit(const helio_spend_t *spend, uint64_t limit_ms)
{
    helio_spend_t at_limit = *spend;
    at_limit.last_ms = spend->last_ms > limit_ms ? spend->last_ms : limit_ms;
    return at_limit;
}

#endif
