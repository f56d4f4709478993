/*  budgets.c -- a tenant with a daily budget of GPU hours, in a third of the worlds. The budget is removed when the
 *  faults end, so that every job ends. Half of these worlds cross midnight, when a new budget period begins. */
#include <stdio.h>

#include "simulator/workload/internal.h"

enum {
    LEAST_GPU_H = 2 * SIM_GPUS_PER_NODE, /* every job fits into it: each is expected to take an hour at most */
    RETRY_MS = 2000
};

const char sim_budget_tenant[] = "red";

bool sim_has_budgets(uint64_t seed)
{
    return seed % 3 == 1;
}

static void say(sim_workload_t *self, const char *budget, uint64_t number)
{
    helio_string_t word = {helio_text_of(budget)};
    helio_ev_quota_t event = {
        .call = BUDGETS_CALL + number,
        .actor = HELIO_TEXT("user:ops/operator"),
        .role = HELIO_ROLE_OPERATOR,
        .tenant = helio_text_of(sim_budget_tenant),
        .budgets = {.items = &word, .count = 1},
    };
    if (workload_broker(self))
        sim_broker_take(workload_broker(self), HELIO_BROKER_EV_QUOTA, &event);
}

/*  Repeated until it is durable. */
static void on_say(void *arg, sim_happening_t *item)
{
    sim_workload_t *self = arg;
    bool ends = item->number;
    char text[48];
    int64_t limit;
    if (sim_database_budget(self->database, sim_budget_tenant, &limit) != ends)
        return;
    (void)snprintf(text, sizeof text, "%lld gpu-h/day",
                   (long long)(LEAST_GPU_H + (int64_t)(sim_draw(self->engine, 41, 0) % 8)));
    sim_later(self->engine, RETRY_MS, on_say, self)->number = item->number;
    say(self, ends ? "none" : text, item->number);
}

void workload_budgets_begin(sim_workload_t *self)
{
    if (!sim_has_budgets(sim_seed(self->engine)))
        return;
    (void)sim_later(self->engine, 0, on_say, self);
    sim_later(self->engine, self->faults_ms, on_say, self)->number = 1;
}

void workload_budgets_answered(sim_workload_t *self, const helio_fx_reply_t *reply)
{
    if (reply->rc != HELIO_OK)
        workload_refused(self, reply, "a good budget was refused");
}
