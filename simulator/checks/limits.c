/*  limits.c -- the promises on quotas and budgets, checked after every commit. */
#include "simulator/checks/internal.h"
#include "simulator/workload/hours.h"

static const int64_t DAY_MS = 86400000;

/*  What a tenant holds never grows beyond its limit. After a limit is lowered, the tenant may keep what it holds, and
 *  no more. */
static void check_quotas(sim_checks_t *self)
{
    for (uint32_t i = 0; i < SIM_QUOTA_SCOPES; i++) {
        const sim_quota_scope_t *scope = &sim_quota_scopes[i];
        uint64_t held = sim_database_gpus(self->database, scope->tenant, scope->queue);
        uint32_t burst = sim_database_burst(self->database, scope->tenant, scope->queue);
        if (held > burst && held > self->gpus_held[i])
            sim_violate(self->engine, "%s holds %llu GPUs in %s queue, its limit is %u", scope->tenant,
                        (unsigned long long)held, scope->queue[0] ? scope->queue : "every", burst);
        self->gpus_held[i] = held;
    }
}

/*  Charged and committed GPU time together never exceed the budget, except by what single runs took beyond their
 *  estimate and what jobs had run before they migrated. The period is the current day, or the day that begins while
 *  faults still strike. Jobs that were placed before the budget was durable may exceed it. */
static void check_budget(sim_checks_t *self)
{
    int64_t limit, day_ms = SIM_HOUR_WALL_MS - SIM_HOUR_WALL_MS % DAY_MS;
    if (!sim_has_budgets(sim_seed(self->engine)) || !sim_database_budget(self->database, sim_budget_tenant, &limit)) {
        self->budget_held = 0;
        return;
    }
    int64_t held = sim_database_spends(self->database, sim_budget_tenant, day_ms);
    if (!self->budget_held)
        self->budget_held = held > limit ? held : limit;
    if (held > self->budget_held)
        sim_violate(self->engine, "%s has %lld GPU-seconds charged and committed in one day, its budget is %lld",
                    sim_budget_tenant, (long long)(held / 1000), (long long)(limit / 1000));
}

void checks_limits(sim_checks_t *self)
{
    check_quotas(self);
    check_budget(self);
}
