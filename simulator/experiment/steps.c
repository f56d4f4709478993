/*  steps.c -- events to the core, and the orders and stops that come back. */
#include "simulator/experiment/internal.h"

enum { BOOT_MS = 1000000 };

int64_t exp_now_ms(const exp_run_t *self)
{
    return BOOT_MS + self->wall_ms - self->began_ms;
}

/*  What waiting jobs want of a site's elastic pools. */
static void hear_demand(exp_run_t *self, const helio_fx_demand_t *fx)
{
    const exp_site_t *site = &self->sites[fx->peer - 1];
    for (uint32_t i = 0; i < fx->pools.count; i++) {
        uint32_t pool = exp_fleet_find_pool(&site->profile, fx->pools.items[i].pool);
        if (pool < site->profile.pools.count && site->instances[pool])
            exp_instances_demand(site->instances[pool], fx->pools.items[i].nodes, self->wall_ms);
    }
}

void exp_step(exp_run_t *self, uint32_t kind, const void *payload)
{
    helio_event_t event = {kind, exp_now_ms(self), self->wall_ms, payload};
    helio_broker_core_step(self->core, &event, self->effects);
    for (uint32_t i = 0; i < self->effects->count; i++) {
        const helio_effect_t *effect = &self->effects->items[i];
        if (effect->kind == HELIO_BROKER_FX_ORDER) {
            self->orders = helio_grow(self->orders, self->order_count + 1, sizeof *self->orders);
            helio_record_copy(&helio_fx_order_type, self->pending, effect->payload, &self->orders[self->order_count++]);
        } else if (effect->kind == HELIO_BROKER_FX_STOP) {
            self->stops = helio_grow(self->stops, self->stop_count + 1, sizeof *self->stops);
            helio_record_copy(&helio_fx_stop_type, self->pending, effect->payload, &self->stops[self->stop_count++]);
        } else if (effect->kind == HELIO_BROKER_FX_DEMAND) {
            hear_demand(self, effect->payload);
        }
    }
}

void exp_send_reports(exp_run_t *self, uint32_t index)
{
    exp_site_t *site = &self->sites[index];
    if (site->down)
        return;
    for (uint32_t sent = 0; sent < site->report_count; sent += 1000) {
        uint32_t count = site->report_count - sent < 1000 ? site->report_count - sent : 1000;
        helio_ev_site_reports_t event = {.peer = index + 1, .reports = {site->reports + sent, count}};
        exp_step(self, HELIO_BROKER_EV_SITE_REPORTS, &event);
    }
    site->report_count = 0;
}

void exp_send_summary(exp_run_t *self, uint32_t index, bool with_series)
{
    if (self->sites[index].down)
        return;
    helio_arena_reset(self->arena);
    helio_ev_site_summary_t event = {
        .peer = index + 1, .summary = exp_site_summary(&self->sites[index], self->wall_ms, with_series, self->arena)};
    exp_step(self, HELIO_BROKER_EV_SITE_SUMMARY, &event);
}

void exp_send_hello(exp_run_t *self, uint32_t index)
{
    const exp_site_t *site = &self->sites[index];
    helio_ev_site_hello_t hello = {.site = site->profile.name,
                                   .peer = index + 1,
                                   .agent_version = HELIO_TEXT(HELIO_PROGRAM_VERSION),
                                   .profile = site->profile};
    helio_ev_site_inventory_t inventory = {.peer = index + 1, .last = true};
    exp_step(self, HELIO_BROKER_EV_SITE_HELLO, &hello);
    exp_step(self, HELIO_BROKER_EV_SITE_INVENTORY, &inventory);
    exp_send_summary(self, index, true);
}
