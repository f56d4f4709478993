/*  budgets.c -- budgets, as operators set them. */
#include "broker/core/requests/budgets.h"

#include "broker/core/state/budgets.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/why.h"

bool core_budget_read(helio_broker_core_t *self, const helio_ev_quota_t *event, helio_budget_ask_t *ret_asks,
                      uint32_t *ret_count)
{
    for (uint32_t i = 0; i < event->budgets.count; i++) {
        helio_error_t err = {0};
        if (helio_budget_parse(event->budgets.items[i].text, &ret_asks[i], &err) != HELIO_OK) {
            core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
                       core_input_invalid(self, "budgets", err.text));
            return false;
        }
        for (uint32_t k = 0; k < i; k++)
            if (ret_asks[k].kind == ret_asks[i].kind && ret_asks[i].kind < HELIO_BUDGET_KINDS) {
                core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
                           CORE_DETAIL(self, HELIO_DETAIL_BUDGET_TWICE,
                                       helio_value_string(helio_budget_kind_name(ret_asks[i].kind))));
                return false;
            }
    }
    *ret_count = event->budgets.count;
    return true;
}

helio_value_t core_budget_names(helio_broker_core_t *self, const helio_budget_t budgets[HELIO_BUDGET_KINDS])
{
    const char *names = "";
    uint32_t count = 0;
    for (uint32_t kind = 0; kind < HELIO_BUDGET_KINDS; kind++) {
        char text[HELIO_BUDGET_TEXT_SIZE];
        if (!budgets[kind].period)
            continue;
        helio_budget_text(kind, budgets[kind], text);
        names = core_printf(self, "%s%s%s", names, count++ ? "," : "", text);
    }
    return (helio_value_t){.text = helio_text_of(names), .number = count};
}

void core_budget_set(helio_broker_core_t *self, const helio_ev_quota_t *event, tenant_t *tenant, queue_t *queue,
                     const helio_budget_ask_t *asks, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t kind = 0; kind < HELIO_BUDGET_KINDS; kind++) {
            if (asks[i].kind != kind && asks[i].kind != HELIO_BUDGET_KINDS)
                continue;
            core_budget_assign(self, tenant, queue, kind, asks[i].budget);
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
    core_capacity_changed(self);
}
