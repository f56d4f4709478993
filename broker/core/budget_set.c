/*  budget_set.c -- budgets as operators set them, and as a new leader finds them. */
#include <string.h>

#include "broker/core/internal.h"

bool core_budget_read(helio_broker_core_t *self, const helio_ev_quota_t *event, helio_budget_ask_t *ret_asks,
                      uint32_t *ret_count)
{
    for (uint32_t i = 0; i < event->budgets.count; i++) {
        helio_error_t err = {0};
        if (helio_budget_parse(event->budgets.items[i].text, &ret_asks[i], &err) != HELIO_OK) {
            core_answer(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID, "%s", err.text);
            return false;
        }
        for (uint32_t k = 0; k < i; k++)
            if (ret_asks[k].kind == ret_asks[i].kind && ret_asks[i].kind < HELIO_BUDGET_KINDS) {
                core_answer(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
                            "there is one budget of each kind, and of %s these are two",
                            helio_budget_kind_word(ret_asks[i].kind));
                return false;
            }
    }
    *ret_count = event->budgets.count;
    return true;
}

const char *core_budget_words(helio_broker_core_t *self, const helio_budget_t budgets[HELIO_BUDGET_KINDS])
{
    const char *words = "";
    for (uint32_t kind = 0; kind < HELIO_BUDGET_KINDS; kind++) {
        char text[HELIO_BUDGET_TEXT_SIZE];
        if (!budgets[kind].period)
            continue;
        helio_budget_text(kind, budgets[kind], text);
        words = core_printf(self, "%s%s%s", words, words[0] ? " and " : ", budget ", text);
    }
    return words;
}

/* ---- setting them -------------------------------------------------------------------------------------- */

static void weigh(spending_t *spending)
{
    spending->any = false;
    for (uint32_t kind = 0; kind < HELIO_BUDGET_KINDS; kind++)
        spending->any = spending->any || spending->budgets[kind].period;
}

static void set(spending_t *spending, uint32_t kind, helio_budget_t budget, bool own)
{
    spending->budgets[kind] = budget;
    spending->own[kind] = own;
    weigh(spending);
}

static void set_each(helio_broker_core_t *self, queue_t *queue, uint32_t kind, helio_budget_t budget)
{
    queue->each_budgets[kind] = budget;
    for (tenant_t *tenant = self->tenants; tenant; tenant = tenant->hh.next)
        for (account_t *account = tenant->accounts; account; account = account->hh.next)
            if (account->queue == queue && !account->spends.own[kind])
                set(&account->spends, kind, budget, false);
}

void core_budget_each(const queue_t *queue, spending_t *spending)
{
    memcpy(spending->budgets, queue->each_budgets, sizeof spending->budgets);
    weigh(spending);
}

static void take_over(helio_broker_core_t *self, tenant_t *tenant, queue_t *queue, uint32_t kind,
                      helio_budget_t budget)
{
    if (!tenant)
        set_each(self, queue, kind, budget);
    else if (!queue)
        set(&tenant->spends, kind, budget, true);
    else
        set(&core_account_get(tenant, queue)->spends, kind, budget, true);
    self->calendar.any = false;
    for (const tenant_t *t = self->tenants; t; t = t->hh.next) {
        self->calendar.any = self->calendar.any || t->spends.any;
        for (const account_t *account = t->accounts; account; account = account->hh.next)
            self->calendar.any = self->calendar.any || account->spends.any;
    }
    for (const queue_t *q = self->queues; q; q = q->hh.next)
        for (uint32_t of = 0; of < HELIO_BUDGET_KINDS; of++)
            self->calendar.any = self->calendar.any || q->each_budgets[of].period;
}

void core_budget_set(helio_broker_core_t *self, const helio_ev_quota_t *event, tenant_t *tenant,
                     queue_t *queue, const helio_budget_ask_t *asks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t kind = 0; kind < HELIO_BUDGET_KINDS; kind++) {
            if (asks[i].kind != kind && asks[i].kind != HELIO_BUDGET_KINDS)
                continue;
            take_over(self, tenant, queue, kind, asks[i].budget);
            helio_row_budget_t row = {
                .tenant = event->tenant,
                .queue = event->queue,
                .kind = kind,
                .amount = asks[i].budget.limit,
                .period = asks[i].budget.period,
                .at_ms = self->wall_ms,
            };
            core_emit(self, HELIO_BROKER_FX_ROW_BUDGET, &row);
        }
    core_budgets_recount(self);
    self->capacity_version++;
    self->round_wanted = true;
}

/*  Of a tenant or queue that is gone, nothing. */
void core_budget_load(helio_broker_core_t *self, const helio_row_budget_t *row)
{
    tenant_t *tenant;
    queue_t *queue = row->queue.size ? core_queue_find(self, row->queue) : NULL;
    bool each = helio_text_is(row->tenant, "*");
    HASH_FIND(hh, self->tenants, row->tenant.data, row->tenant.size, tenant);
    if ((!tenant && !each) || (row->queue.size && !queue) || (each && !queue))
        return;
    take_over(self, each ? NULL : tenant, queue, row->kind, (helio_budget_t){row->amount, row->period});
}
