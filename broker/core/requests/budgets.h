/*  budgets.h -- budgets, as operators set them. */
#ifndef HELIO_BROKER_CORE_REQUESTS_BUDGETS_H
#define HELIO_BROKER_CORE_REQUESTS_BUDGETS_H

#include "broker/core/state/nouns.h"
#include "broker/model/events.h"
#include "federation/policy/budget.h"
#include "federation/reason/detail.h"

/*  Parses the budgets of the event. False: it replied with the fault. */
bool core_budget_read(helio_broker_core_t *self, const helio_ev_quota_t *event, helio_budget_ask_t *ret_asks,
                      uint32_t *ret_count);
/*  Sets budgets: of a tenant in all its queues (queue NULL), of a tenant in a queue, or of each tenant in a queue
 *  (tenant NULL). */
void core_budget_set(helio_broker_core_t *self, const helio_ev_quota_t *event, tenant_t *tenant, queue_t *queue,
                     const helio_budget_ask_t *asks, uint32_t count);
/*  The budgets as the names of a detail: "5000 gpu-h/month,20000 USD/month". */
helio_value_t core_budget_names(helio_broker_core_t *self, const helio_budget_t budgets[HELIO_BUDGET_KINDS]);

#endif
