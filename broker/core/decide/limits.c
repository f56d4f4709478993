/*  limits.c -- quotas and budgets that keep a job waiting, in words. */
#include "broker/core/decide/limits.h"

#include <string.h>

#include "broker/core/state/budgets.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/text.h"

/*  Which quota leaves the least: of the tenant in the queue, or of the tenant. */
static bool is_of_queue(const account_t *account)
{
    return helio_quota_left(&account->holds) < helio_quota_left(&account->tenant->holds);
}

const char *core_quota_remedy(helio_broker_core_t *self, const job_class_t *class, uint32_t gpus)
{
    const account_t *account = class->account;
    bool of_queue = is_of_queue(account);
    const helio_holdings_t *holds = of_queue ? &account->holds : &account->tenant->holds;
    return core_printf(self, "a larger quota, by an operator: `helio quota set %s%s%s --burst %llu`",
                       account->tenant->name, of_queue ? " --queue " : "", of_queue ? account->queue->name : "",
                       (unsigned long long)holds->gpus + gpus);
}

const char *core_quota_text(helio_broker_core_t *self, const job_class_t *class, uint32_t gpus)
{
    const account_t *account = class->account;
    bool of_queue = is_of_queue(account);
    const helio_holdings_t *holds = of_queue ? &account->holds : &account->tenant->holds;
    const char *whose = of_queue
                            ? core_printf(self, "quota of %s in %s", account->tenant->name, account->queue->name)
                            : core_printf(self, "quota of %s", account->tenant->name);
    bool of_tier = of_queue && !account->own && !account->queue->each_given;
    const char *remedy =
        of_tier ? core_printf(self,
                              "; an operator grants more critical work: `helio quota set %s --queue %s --burst N`",
                              account->tenant->name, account->queue->name)
                : "";
    if (gpus > holds->quota.burst_gpus)
        return core_printf(self, "%s: at most %u GPUs at once, it needs %u%s", whose, holds->quota.burst_gpus, gpus,
                           remedy);
    return core_printf(self, "%s: %llu of %u GPUs in use, it needs %u%s", whose, (unsigned long long)holds->gpus,
                       holds->quota.burst_gpus, gpus, remedy);
}

const char *core_budget_text(helio_broker_core_t *self, const job_class_t *class, const shortage_t *shortage)
{
    const account_t *account = class->account;
    const char *tenant = account->tenant->name, *queue = account->queue->name;
    uint32_t kind = shortage->kind;
    const helio_budget_t *budget = &shortage->of->budgets[kind];
    const int64_t *begins = &self->calendar.begins[budget->period][shortage->budget_period];
    char gone[HELIO_BUDGET_TEXT_SIZE], limit[HELIO_BUDGET_TEXT_SIZE], needs[HELIO_BUDGET_TEXT_SIZE],
        period[HELIO_BUDGET_TEXT_SIZE], as_set[HELIO_BUDGET_TEXT_SIZE];
    helio_budget_figure(kind, budget->limit,
                        budget->limit - core_spending_left(shortage->of, kind, shortage->budget_period), gone);
    helio_budget_figure(kind, budget->limit, budget->limit, limit);
    helio_budget_figure(kind, budget->limit, shortage->needs, needs);
    helio_period_text(budget->period, begins[0], period);
    helio_budget_text(kind, *budget, as_set);
    const char *unit = helio_budget_unit(kind, budget->limit);
    const char *whose = shortage->of_queue ? core_printf(self, "%s in %s", tenant, queue) : tenant;
    const char *remedy = core_printf(self, "more: `helio quota set %s%s%s --budget '%s'`", tenant,
                                     shortage->of_queue ? " --queue " : "", shortage->of_queue ? queue : "",
                                     core_printf(self, "N%s", strchr(as_set, ' ')));
    if (shortage->alone)
        return core_printf(self, "budget of %s: it needs %s %s, and a whole %s has %s; %s", whose, needs,
                           unit, helio_period_name(budget->period), limit, remedy);
    return core_printf(self,
                       "budget of %s: %s of %s %s of %s used or committed, it needs %s; begins again %s; %s",
                       whose, gone, limit, unit, period, needs, core_minute_text(self, begins[1]), remedy);
}
