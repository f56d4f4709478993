/*  scaling.c -- the elastic pools of the site: what the scaler hears, and what the log says of it. */
#include <stdio.h>

#include "federation/base/clock.h"
#include "site-agent/agent/internal.h"

static void on_note(void *arg, const helio_scale_note_t *note)
{
    const helio_agent_t *self = arg;
    char quoted[800];
    (void)helio_log_quote(helio_text_of(note->text), quoted, sizeof quoted);
    switch (note->word) {
    case HELIO_SCALE_GROWS:
        helio_log(self->parts.log, HELIO_INFO, "pool_grows", "pool=%.*s instances=%u wanted=%u",
                  HELIO_TEXT_ARGS(note->pool), note->count, note->wanted);
        break;
    case HELIO_SCALE_SHRINKS:
        helio_log(self->parts.log, HELIO_INFO, "pool_shrinks", "pool=%.*s instance=%s", HELIO_TEXT_ARGS(note->pool),
                  quoted);
        break;
    case HELIO_SCALE_FAILED:
        helio_log(self->parts.log, HELIO_WARN, "scale_failed", "pool=%.*s text=%s", HELIO_TEXT_ARGS(note->pool),
                  quoted);
        break;
    case HELIO_SCALE_WELL:
        helio_log(self->parts.log, HELIO_INFO, "scale_well", "pool=%.*s", HELIO_TEXT_ARGS(note->pool));
        break;
    case HELIO_SCALE_TAKEN:
        helio_log(
            self->parts.log, HELIO_WARN, "instance_interrupted",
            "pool=%.*s instance=%s text=\"the provider takes it away: what runs there stops and is placed again\"",
            HELIO_TEXT_ARGS(note->pool), quoted);
        break;
    case HELIO_SCALE_IGNORED:
        helio_log(self->parts.log, HELIO_WARN, "notices_ignored", "pool=%.*s text=%s", HELIO_TEXT_ARGS(note->pool),
                  quoted);
        break;
    }
}

static void process(void *arg)
{
    helio_agent_t *self = arg;
    helio_scaler_process(self->scaler, helio_clock_boot_ms());
}

helio_rc agent_open_scaler(helio_agent_t *self, helio_error_t *err)
{
    const helio_agent_settings_t *settings = self->parts.settings;
    helio_scaler_options_t options = {
        .rules = &settings->scale, .site = &settings->site, .on_note = on_note, .arg = self};
    if (!settings->scale.count)
        return HELIO_OK;
    helio_rc rc = helio_scaler_new(&options, &self->scaler, err);
    if (rc != HELIO_OK)
        return rc;
    self->scaler_timer = helio_timer_new(self->parts.loop, process, self);
    self->scaler_source =
        helio_source_new(self->parts.loop, helio_scaler_fd(self->scaler), HELIO_LOOP_IN, process, self);
    return HELIO_OK;
}

void agent_close_scaler(helio_agent_t *self)
{
    helio_source_destroy(&self->scaler_source);
    helio_timer_destroy(&self->scaler_timer);
    helio_scaler_destroy(&self->scaler);
}

void agent_on_demand(void *arg, const helio_msg_demand_t *demand)
{
    helio_agent_t *self = arg;
    if (self->scaler)
        helio_scaler_demand(self->scaler, demand->pools.items, demand->pools.count, helio_clock_boot_ms());
}

void agent_on_waiting(void *arg, helio_text_t pool, uint32_t gpus)
{
    helio_agent_t *self = arg;
    if (self->scaler)
        helio_scaler_waiting(self->scaler, pool, gpus);
}

/*  With each inventory again: what came there meanwhile stops, too. */
static void stop_on(helio_agent_t *self, const helio_backend_node_t *node)
{
    char text[65];
    (void)snprintf(text, sizeof text, "the provider takes %.*s away", HELIO_TEXT_ARGS(node->name));
    helio_aev_taken_t taken = {.explanation = helio_text_of(text)};
    taken.attempts.items = node->attempts;
    taken.attempts.count = node->attempt_count;
    agent_step(self, HELIO_AGENT_EV_TAKEN, &taken);
}

void agent_on_nodes(void *arg, const helio_backend_node_t *nodes, uint32_t count)
{
    helio_agent_t *self = arg;
    if (!self->scaler)
        return;
    helio_scaler_nodes(self->scaler, nodes, count, helio_clock_boot_ms());
    for (uint32_t i = 0; i < count; i++)
        if (nodes[i].attempt_count && helio_scaler_takes(self->scaler, &nodes[i]))
            stop_on(self, &nodes[i]);
}

void agent_scale_orders(helio_agent_t *self, const helio_aev_orders_t *orders)
{
    for (uint32_t i = 0; self->scaler && i < orders->orders.count; i++)
        helio_scaler_order(self->scaler, orders->orders.items[i].pool, helio_clock_boot_ms());
}

void agent_tell_capacity(helio_agent_t *self, const helio_aev_capacity_t *capacity)
{
    if (!self->scaler) {
        agent_step(self, HELIO_AGENT_EV_CAPACITY, capacity);
        return;
    }
    helio_arena_t *arena = helio_arena_new();
    helio_aev_capacity_t without;
    helio_record_copy(&helio_aev_capacity_type, arena, capacity, &without);
    for (uint32_t i = 0; i < without.pools.count; i++)
        helio_scaler_withhold(self->scaler, &without.pools.items[i]);
    agent_step(self, HELIO_AGENT_EV_CAPACITY, &without);
    helio_arena_destroy(&arena);
}
