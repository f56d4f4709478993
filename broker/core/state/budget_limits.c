/*  budget_limits.c -- the budgets of one account. */
#include "broker/core/state/budget_limits.h"

#include <string.h>

#include "broker/core/state/budgets.h"
#include "broker/core/state/core.h"

static void weigh(spending_t *spending)
{
    spending->any = false;
    for (uint32_t kind = 0; kind < HELIO_BUDGET_KINDS; kind++)
        spending->any = spending->any || spending->budgets[kind].period;
}

void core_spending_set(spending_t *spending, uint32_t kind, helio_budget_t budget, bool own)
{
    spending->budgets[kind] = budget;
    spending->own[kind] = own;
    weigh(spending);
}

void core_budget_each(const queue_t *queue, spending_t *spending)
{
    memcpy(spending->budgets, queue->each_budgets, sizeof spending->budgets);
    weigh(spending);
}
