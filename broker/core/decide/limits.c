/*  limits.c -- the details of quotas and budgets that keep a job waiting. */
#include "broker/core/decide/limits.h"

#include <string.h>

#include "broker/core/state/budget_starts.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/why.h"

/*  Whether the quota of the tenant in the queue leaves less than that of the tenant. */
static bool is_of_queue(const account_t *account)
{
    return helio_quota_left(&account->holds) < helio_quota_left(&account->tenant->holds);
}

static const helio_holdings_t *limiting(const account_t *account)
{
    return is_of_queue(account) ? &account->holds : &account->tenant->holds;
}

/*  What others use now counts only if the quota has room for the job without them: they end, and the quota stays. */
static uint32_t in_use_besides(const helio_holdings_t *holds, uint32_t gpus)
{
    return gpus > holds->quota.burst_gpus ? 0 : (uint32_t)holds->gpus;
}

bool core_quota_is_too_small(const job_class_t *class, uint32_t gpus)
{
    return gpus > limiting(class->account)->quota.burst_gpus;
}

helio_detail_t core_quota_remedy(helio_broker_core_t *self, const job_class_t *class, uint32_t gpus)
{
    const account_t *account = class->account;
    bool of_queue = is_of_queue(account);
    const helio_holdings_t *holds = limiting(account);
    return CORE_DETAIL(self, HELIO_DETAIL_TRY_QUOTA, helio_value_string(account->tenant->name),
                       helio_value_string(of_queue ? account->queue->name : ""),
                       helio_value_number((int64_t)in_use_besides(holds, gpus) + gpus));
}

helio_details_t core_quota_room(helio_broker_core_t *self, const job_class_t *class, uint32_t gpus)
{
    const helio_holdings_t *holds = limiting(class->account);
    return CORE_WHY(self, HELIO_DETAIL_QUOTA_WOULD_LEAVE, helio_value_number(gpus),
                    helio_value_number(in_use_besides(holds, gpus)));
}

helio_details_t core_quota_details(helio_broker_core_t *self, const job_class_t *class, uint32_t gpus)
{
    const account_t *account = class->account;
    bool of_queue = is_of_queue(account);
    const helio_holdings_t *holds = limiting(account);
    bool of_tier = of_queue && !account->own && !account->queue->each_given;
    helio_value_t tenant = helio_value_string(account->tenant->name),
                  queue = helio_value_string(of_queue ? account->queue->name : ""),
                  limit = helio_value_number(holds->quota.burst_gpus), needed = helio_value_number(gpus);
    helio_details_t why = core_quota_is_too_small(class, gpus)
                              ? CORE_WHY(self, HELIO_DETAIL_QUOTA_TOO_SMALL, tenant, queue, limit, needed)
                              : CORE_WHY(self, HELIO_DETAIL_QUOTA_IN_USE, tenant, queue,
                                         helio_value_number((int64_t)holds->gpus), limit, needed);
    if (of_tier)
        core_why_add(self, &why, CORE_DETAIL(self, HELIO_DETAIL_QUOTA_REMEDY, tenant, queue));
    return why;
}

_Static_assert(BUDGET_AT_LIMITS_MOST == 3, "the sentences say three");

/*  It is within the budget as estimated, but jobs can run as long as their limits allow. */
static helio_details_t limits_details(helio_broker_core_t *self, const shortage_t *shortage, helio_value_t tenant,
                                      helio_value_t queue)
{
    uint32_t kind = shortage->kind;
    const helio_budget_t *budget = &shortage->of->budgets[kind];
    const int64_t *begins = &self->calendar.begins[budget->period][shortage->turn];
    int64_t used = shortage->of->at_limits[budget->period][shortage->turn][kind],
            most = used + core_spending_left_at_limits(shortage->of, kind, shortage->turn);
    char period[HELIO_BUDGET_TEXT_SIZE];
    helio_period_text(budget->period, begins[0], period);
    helio_value_t unit = helio_value_string(helio_budget_unit(kind, budget->limit)),
                  needed = helio_value_number(helio_budget_milli(kind, budget->limit, shortage->needs));
    helio_details_t why = shortage->alone
                              ? CORE_WHY(self, HELIO_DETAIL_BUDGET_LIMIT_TOO_LONG, tenant, queue, needed, unit,
                                         helio_value_string(helio_period_name(budget->period)),
                                         helio_value_number(helio_budget_milli(kind, budget->limit, budget->limit)))
                              : CORE_WHY(self, HELIO_DETAIL_BUDGET_LIMITS_USED, tenant, queue,
                                         helio_value_number(helio_budget_milli(kind, budget->limit, used)),
                                         helio_value_number(helio_budget_milli(kind, budget->limit, most)), unit,
                                         helio_value_string(period), needed, helio_value_number(begins[1]));
    core_why_add(self, &why, HELIO_DETAIL0(HELIO_DETAIL_BUDGET_REMEDY_TIME));
    return why;
}

static helio_details_t estimate_details(helio_broker_core_t *self, const shortage_t *shortage, helio_value_t tenant,
                                        helio_value_t queue)
{
    uint32_t kind = shortage->kind;
    const helio_budget_t *budget = &shortage->of->budgets[kind];
    const int64_t *begins = &self->calendar.begins[budget->period][shortage->turn], limit = budget->limit;
    char period[HELIO_BUDGET_TEXT_SIZE];
    helio_period_text(budget->period, begins[0], period);
    int64_t used = limit - core_spending_left(shortage->of, kind, shortage->turn);
    helio_value_t unit = helio_value_string(helio_budget_unit(kind, limit)),
                  whole = helio_value_number(helio_budget_milli(kind, limit, limit)),
                  needed = helio_value_number(helio_budget_milli(kind, limit, shortage->needs));
    return shortage->alone ? CORE_WHY(self, HELIO_DETAIL_BUDGET_TOO_SMALL, tenant, queue, needed, unit,
                                      helio_value_string(helio_period_name(budget->period)), whole)
                           : CORE_WHY(self, HELIO_DETAIL_BUDGET_USED, tenant, queue,
                                      helio_value_number(helio_budget_milli(kind, limit, used)), whole, unit,
                                      helio_value_string(period), needed, helio_value_number(begins[1]));
}

helio_details_t core_budget_details(helio_broker_core_t *self, const job_class_t *class, const shortage_t *shortage)
{
    const account_t *account = class->account;
    char as_set[HELIO_BUDGET_TEXT_SIZE];
    helio_budget_text(shortage->kind, shortage->of->budgets[shortage->kind], as_set);
    helio_value_t tenant = helio_value_string(account->tenant->name),
                  queue = helio_value_string(shortage->of_queue ? account->queue->name : "");
    helio_details_t why = shortage->at_limits ? limits_details(self, shortage, tenant, queue)
                                              : estimate_details(self, shortage, tenant, queue);
    const char *larger = core_printf(self, "N%s", strchr(as_set, ' '));
    core_why_add(self, &why, CORE_DETAIL(self, HELIO_DETAIL_BUDGET_REMEDY, tenant, queue, helio_value_string(larger)));
    return why;
}
