/*  quotas.c -- quotas, as operators set them. */
#include "broker/core/requests/quotas.h"

#include "broker/core/requests/budgets.h"
#include "broker/core/requests/warnings.h"
#include "broker/core/state/accounts.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/queues.h"
#include "broker/core/state/why.h"

helio_detail_t core_quota_weight_fault(helio_broker_core_t *self)
{
    return CORE_DETAIL(self, HELIO_DETAIL_OUT_OF_RANGE, helio_value_string("weight"), helio_value_number(1),
                       helio_value_number(HELIO_QUOTA_WEIGHT_MAX), helio_value_string(""));
}

/*  Why the quota cannot be set; NONE = it can. */
static helio_detail_t fault_of(helio_broker_core_t *self, const helio_ev_quota_t *event, const helio_quota_t *quota)
{
    if (event->queue.size && event->weight_given)
        return HELIO_DETAIL0(HELIO_DETAIL_QUOTA_WEIGHT_OF_QUEUE);
    if (quota->guaranteed_gpus > HELIO_QUOTA_GPUS_MAX)
        return core_out_of_range(self, "guaranteed", 0, HELIO_QUOTA_GPUS_MAX, "GPUs");
    if (quota->burst_gpus > HELIO_QUOTA_GPUS_MAX && quota->burst_gpus != HELIO_QUOTA_UNLIMITED)
        return core_out_of_range(self, "burst", 0, HELIO_QUOTA_GPUS_MAX, "GPUs");
    if (!quota->weight_milli || quota->weight_milli > HELIO_QUOTA_WEIGHT_MAX)
        return core_quota_weight_fault(self);
    if (quota->guaranteed_gpus > quota->burst_gpus)
        return CORE_DETAIL(self, HELIO_DETAIL_QUOTA_GUARANTEE_ABOVE_BURST, helio_value_number(quota->guaranteed_gpus),
                           helio_value_number(quota->burst_gpus));
    return CORE_NO_DETAIL;
}

static const char *words_of(helio_broker_core_t *self, const helio_quota_t *quota,
                            const helio_budget_t budgets[HELIO_BUDGET_KINDS])
{
    const char *burst =
        quota->burst_gpus == HELIO_QUOTA_UNLIMITED ? "none" : core_printf(self, "%u", quota->burst_gpus);
    helio_value_t names = core_budget_names(self, budgets);
    return core_printf(self, "guaranteed %u, burst %s, weight %u.%03u%s%.*s", quota->guaranteed_gpus, burst,
                       quota->weight_milli / 1000, quota->weight_milli % 1000, names.number ? ", budget " : "",
                       HELIO_TEXT_ARGS(names.text));
}

static helio_detail_t set_detail(helio_broker_core_t *self, const helio_quota_t *quota,
                                 const helio_budget_t budgets[HELIO_BUDGET_KINDS])
{
    helio_value_t guaranteed = helio_value_number(quota->guaranteed_gpus),
                  weight = helio_value_number(quota->weight_milli), names = core_budget_names(self, budgets);
    return quota->burst_gpus == HELIO_QUOTA_UNLIMITED
               ? CORE_DETAIL(self, HELIO_DETAIL_QUOTA_SET_UNLIMITED, guaranteed, weight, names)
               : CORE_DETAIL(self, HELIO_DETAIL_QUOTA_SET, guaranteed, helio_value_number(quota->burst_gpus), weight,
                             names);
}

static void keep(helio_broker_core_t *self, helio_text_t tenant, helio_text_t queue, helio_holdings_t *holds,
                 const helio_quota_t *quota)
{
    holds->quota = *quota;
    core_capacity_changed(self);
    helio_row_quota_t row = {
        .tenant = tenant,
        .queue = queue,
        .guaranteed_gpus = quota->guaranteed_gpus,
        .burst_gpus = quota->burst_gpus,
        .weight_milli = quota->weight_milli,
        .at_ms = self->wall_ms,
    };
    core_emit(self, HELIO_BROKER_FX_ROW_QUOTA, &row);
}

void core_quota_weigh(helio_broker_core_t *self, tenant_t *tenant, uint32_t weight_milli)
{
    helio_quota_t quota = tenant->holds.quota;
    quota.weight_milli = weight_milli;
    keep(self, helio_text_of(tenant->name), (helio_text_t){0}, &tenant->holds, &quota);
}

static void reply_set(helio_broker_core_t *self, const helio_ev_quota_t *event, const helio_quota_t *quota,
                      const helio_budget_t budgets[HELIO_BUDGET_KINDS])
{
    const char *object = event->queue.size ? core_printf(self, "%.*s/%.*s", HELIO_TEXT_ARGS(event->tenant),
                                                         HELIO_TEXT_ARGS(event->queue))
                                           : core_printf(self, "%.*s", HELIO_TEXT_ARGS(event->tenant));
    const char *words = words_of(self, quota, budgets);
    core_audit(self, event->actor, "quota-set", helio_text_of(object), helio_text_of(words));
    core_reply(self, event->call, HELIO_OK, HELIO_REASON_NONE, set_detail(self, quota, budgets));
}

static bool gives_quota(const helio_ev_quota_t *event)
{
    return event->guaranteed_given || event->burst_given || event->weight_given;
}

static void on_quota_of_each(helio_broker_core_t *self, const helio_ev_quota_t *event, queue_t *queue)
{
    helio_budget_ask_t asks[HELIO_BUDGETS_GIVEN_MAX];
    uint32_t count = 0;
    if (!queue || event->guaranteed_given || event->weight_given || (!event->burst_given && !event->budgets.count)) {
        core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID, HELIO_DETAIL0(HELIO_DETAIL_QUOTA_OF_EACH));
        return;
    }
    helio_holdings_t holds = {0};
    helio_quota_t quota = queue->each;
    if (event->burst_given) {
        quota = helio_quota_default();
        quota.burst_gpus = event->burst_gpus;
    }
    helio_detail_t fault = fault_of(self, event, &quota);
    if (fault.code) {
        core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID, fault);
        return;
    }
    if (!core_budget_read(self, event, asks, &count))
        return;
    if (event->burst_given) {
        keep(self, event->tenant, event->queue, &holds, &quota);
        queue->each_given = true;
        core_quota_set_each(self, queue, &quota);
    }
    if (count)
        core_budget_set(self, event, NULL, queue, asks, count);
    reply_set(self, event, &quota, queue->each_budgets);
}

static void on_quota_of(helio_broker_core_t *self, const helio_ev_quota_t *event, tenant_t *tenant, queue_t *queue)
{
    account_t *account = queue ? core_account_get(tenant, queue) : NULL;
    helio_holdings_t *holds = account ? &account->holds : &tenant->holds;
    helio_budget_ask_t asks[HELIO_BUDGETS_GIVEN_MAX];
    uint32_t count = 0;
    helio_quota_t quota = holds->quota;
    if (event->guaranteed_given)
        quota.guaranteed_gpus = event->guaranteed_gpus;
    if (event->burst_given)
        quota.burst_gpus = event->burst_gpus;
    if (event->weight_given)
        quota.weight_milli = event->weight_milli;
    helio_detail_t fault = fault_of(self, event, &quota);
    if (fault.code) {
        core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID, fault);
        return;
    }
    if (!core_budget_read(self, event, asks, &count))
        return;
    if (gives_quota(event) || !count) {
        keep(self, event->tenant, event->queue, holds, &quota);
        if (account)
            account->own = true;
    }
    if (count)
        core_budget_set(self, event, tenant, queue, asks, count);
    reply_set(self, event, &quota, (account ? &account->spends : &tenant->spends)->budgets);
}

void core_on_quota(helio_broker_core_t *self, const helio_ev_quota_t *event)
{
    tenant_t *tenant;
    queue_t *queue = event->queue.size ? core_queue_find(self, event->queue) : NULL;
    bool each = core_quota_is_each(event->tenant);
    HASH_FIND(hh, self->tenants, event->tenant.data, event->tenant.size, tenant);
    if (event->role < HELIO_ROLE_OPERATOR) {
        core_reply(self, event->call, HELIO_FORBIDDEN, HELIO_REASON_FORBIDDEN,
                   CORE_DETAIL(self, HELIO_DETAIL_NEEDS_OPERATOR, helio_value_string("quota set")));
        return;
    }
    if ((!tenant && !each) || (event->queue.size && !queue)) {
        core_reply(
            self, event->call, HELIO_NOT_FOUND, HELIO_REASON_NONE,
            tenant || each ? core_unknown_queue(self, event->queue, 0) : core_unknown_tenant(self, event->tenant));
        return;
    }
    if (each) {
        on_quota_of_each(self, event, queue);
        return;
    }
    on_quota_of(self, event, tenant, queue);
}
