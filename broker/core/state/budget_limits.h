/*  budget_limits.h -- the budgets of one account. */
#ifndef HELIO_BROKER_CORE_STATE_BUDGET_LIMITS_H
#define HELIO_BROKER_CORE_STATE_BUDGET_LIMITS_H

#include "broker/core/state/budgets.h"
#include "broker/core/state/nouns.h"
#include "federation/policy/budget.h"

void core_budget_each(const queue_t *queue, spending_t *spending); /* of a tenant with a new account there */
void core_spending_set(spending_t *spending, uint32_t kind, helio_budget_t budget, bool own);

#endif
