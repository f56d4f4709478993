/*  agent_node.c -- an agent's shell in the virtual world, with a journal that may lose what was not committed. */
#include <stdlib.h>
#include <string.h>

#include "simulator/internal.h"

static void turn(world_t *self, uint32_t site);

/* ---- the journal --------------------------------------------------------------------------------------- */

static void journal_attempt(world_t *self, agent_node_t *agent, const helio_jrow_attempt_t *row)
{
    uint32_t at = 0, unused = UINT32_MAX;
    for (; at < agent->attempt_count; at++) {
        if (!agent->attempts[at].used)
            unused = at;
        else if (agent->attempts[at].row.order.epoch == row->order.epoch &&
                 helio_job_key_equal(agent->attempts[at].row.order.key, row->order.key))
            break;
    }
    bool found = at < agent->attempt_count;
    if (row->state == HELIO_JOB_QUEUED) {
        if (found)
            agent->attempts[at].used = false;
        return;
    }
    if (!found && unused != UINT32_MAX)
        at = unused;
    if (at == agent->attempt_count) {
        agent->attempts = helio_grow(agent->attempts, ++agent->attempt_count, sizeof *agent->attempts);
    }
    agent->attempts[at].used = true;
    helio_record_copy(&helio_jrow_attempt_type, self->arena, row, &agent->attempts[at].row);
}

static void journal_acked(agent_node_t *agent, uint64_t seq)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < agent->report_count; i++)
        if (agent->reports[i].seq > seq)
            agent->reports[kept++] = agent->reports[i];
    agent->report_count = kept;
}

static void journal_seen(agent_node_t *agent, const helio_jrow_seen_t *row)
{
    struct jseen *seen;
    HASH_FIND(hh, agent->seen, &row->key, sizeof row->key, seen);
    if (!seen) {
        seen = helio_new(1, sizeof *seen);
        seen->key = row->key;
        HASH_ADD(hh, agent->seen, key, sizeof seen->key, seen);
    }
    seen->row = *row;
}

static void journal_apply(world_t *self, agent_node_t *agent, const helio_effect_t *row)
{
    if (row->kind == HELIO_AGENT_FX_ROW_META) {
        agent->meta = *(const helio_jrow_meta_t *)row->payload;
        agent->has_meta = true;
    } else if (row->kind == HELIO_AGENT_FX_ROW_SEEN) {
        journal_seen(agent, row->payload);
    } else if (row->kind == HELIO_AGENT_FX_ROW_ATTEMPT) {
        journal_attempt(self, agent, row->payload);
    } else if (row->kind == HELIO_AGENT_FX_ROW_REPORT) {
        agent->reports = helio_grow(agent->reports, agent->report_count + 1, sizeof *agent->reports);
        helio_record_copy(&helio_report_type, self->arena, row->payload, &agent->reports[agent->report_count++]);
    } else if (row->kind == HELIO_AGENT_FX_ROW_ACKED) {
        journal_acked(agent, ((const helio_jrow_acked_t *)row->payload)->seq);
    }
}

static void journal_commit(world_t *self, agent_node_t *agent)
{
    for (uint32_t i = 0; i < agent->flight_count; i++)
        journal_apply(self, agent, &agent->flight[i]);
    agent->flight_count = 0;
    agent->in_flight = false;
}

/* ---- the shell ----------------------------------------------------------------------------------------- */

static void append(world_t *self, agent_node_t *agent, const helio_effect_t *effect)
{
    if (agent->open_count == agent->open_capacity) {
        agent->open_capacity = agent->open_capacity ? agent->open_capacity * 2 : 32;
        agent->open = helio_grow(agent->open, agent->open_capacity, sizeof *agent->open);
    }
    agent->open[agent->open_count] = *effect;
    agent->open[agent->open_count++].payload =
        world_copy(self, helio_agent_effects[effect->kind].type, effect->payload);
}

static void on_committed(world_t *self, happening_t *item)
{
    agent_node_t *agent = &self->agents[item->node];
    if (!agent->up || item->generation != agent->life)
        return;
    journal_commit(self, agent);
    agent->committed = item->number;
    turn(self, item->node);
}

typedef struct release_arg {
    world_t *world;
    uint32_t site;
} release_arg_t;

static void send(world_t *self, uint32_t site, const helio_effect_t *effect)
{
    agent_node_t *agent = &self->agents[site];
    switch (effect->kind) {
    case HELIO_AGENT_FX_START:
        backend_start(self, site, effect->payload);
        break;
    case HELIO_AGENT_FX_ADOPT:
        backend_adopt(self, site, effect->payload);
        break;
    case HELIO_AGENT_FX_STOP:
        backend_stop(self, site, effect->payload);
        break;
    case HELIO_AGENT_FX_FORGET:
        backend_forget(self, site, effect->payload);
        break;
    case HELIO_AGENT_FX_LEASE:
        backend_lease(self, site, ((const helio_afx_lease_t *)effect->payload)->deadline_boot_ms);
        break;
    case HELIO_AGENT_FX_SEND_HELLO: {
        const helio_afx_hello_t *fx = effect->payload;
        helio_ev_site_hello_t hello = {.site = self->profiles[site].name,
                                       .peer = agent->connection,
                                       .agent_version = HELIO_TEXT("sim"),
                                       .incarnation_seen = fx->incarnation_seen,
                                       .reconcile_only = fx->reconcile_only,
                                       .profile = self->profiles[site]};
        network_up(self, site, HELIO_BROKER_EV_SITE_HELLO, &helio_ev_site_hello_type, &hello);
        break;
    }
    case HELIO_AGENT_FX_SEND_INVENTORY: {
        const helio_afx_inventory_t *fx = effect->payload;
        helio_ev_site_inventory_t inventory = {.peer = agent->connection, .last = fx->last};
        inventory.holdings.items = fx->holdings.items;
        inventory.holdings.count = fx->holdings.count;
        network_up(self, site, HELIO_BROKER_EV_SITE_INVENTORY, &helio_ev_site_inventory_type, &inventory);
        break;
    }
    case HELIO_AGENT_FX_SEND_SUMMARY: {
        helio_ev_site_summary_t summary = {agent->connection, *(const helio_site_summary_t *)effect->payload};
        if (world_has_windows(self)) {
            int64_t wall_ms = world_wall_ms(self, &agent->clock);
            helio_series_t *told = helio_arena_alloc(self->arena, 2, sizeof *told);
            told[0] = *world_forecast(self, site, wall_ms);
            told[1] = *world_reserved(self, site, wall_ms);
            summary.summary.series.items = told;
            summary.summary.series.count = 2;
        }
        network_up(self, site, HELIO_BROKER_EV_SITE_SUMMARY, &helio_ev_site_summary_type, &summary);
        break;
    }
    case HELIO_AGENT_FX_SEND_REPORT: {
        helio_report_t one = *(const helio_report_t *)effect->payload;
        helio_ev_site_reports_t reports = {.peer = agent->connection, .reports = {&one, 1}};
        network_up(self, site, HELIO_BROKER_EV_SITE_REPORTS, &helio_ev_site_reports_type, &reports);
        break;
    }
    case HELIO_AGENT_FX_SEND_RENEW: {
        helio_ev_site_renew_t renew = {agent->connection, ((const helio_afx_renew_t *)effect->payload)->sent_boot_ms};
        network_up(self, site, HELIO_BROKER_EV_SITE_RENEW, &helio_ev_site_renew_type, &renew);
        break;
    }
    default:
        world_violate(self, "an effect of kind %u left an agent", effect->kind);
    }
}

static void on_released(void *arg, const helio_effect_t *effect)
{
    release_arg_t *released = arg;
    send(released->world, released->site, effect);
}

static void on_tick(world_t *self, happening_t *item)
{
    agent_node_t *agent = &self->agents[item->node];
    if (!agent->up || item->generation != agent->life || (int64_t)item->number != agent->wake_ms)
        return;
    if (agent->paused_until_ms > self->now_ms) {
        happening_t *again = world_later(self, agent->paused_until_ms - self->now_ms, on_tick);
        again->node = item->node;
        again->generation = item->generation;
        again->number = item->number;
        return;
    }
    helio_aev_nothing_t nothing = {0};
    agent->wake_ms = INT64_MAX;
    agent_step(self, item->node, HELIO_AGENT_EV_TICK, &nothing);
}

static void step(world_t *self, uint32_t site, uint32_t kind, const void *payload)
{
    agent_node_t *agent = &self->agents[site];
    helio_event_t event = {kind, world_boot_ms(self, &agent->clock), world_wall_ms(self, &agent->clock), payload};
    world_trace(self, self->profiles[site].name.data, helio_agent_events[kind].name, helio_agent_events[kind].type,
                payload);
    helio_agent_core_step(agent->core, &event, agent->effects);
    helio_agent_core_check(agent->core);
    for (uint32_t i = 0; i < agent->effects->count; i++) {
        const helio_effect_t *effect = &agent->effects->items[i];
        if (effect->release == HELIO_RELEASE_ROW)
            append(self, agent, effect);
        else if (effect->release == HELIO_RELEASE_HELD)
            helio_release_queue_hold(agent->release, effect);
        else
            send(self, site, effect);
    }
    if (agent->effects->wake_ms < INT64_MAX && agent->effects->wake_ms != agent->wake_ms) {
        agent->wake_ms = agent->effects->wake_ms;
        int64_t at = world_true_ms(self, &agent->clock, agent->wake_ms);
        happening_t *tick = world_later(self, at - self->now_ms, on_tick);
        tick->node = site;
        tick->generation = agent->life;
        tick->number = (uint64_t)agent->wake_ms;
    }
}

static void turn(world_t *self, uint32_t site)
{
    agent_node_t *agent = &self->agents[site];
    if (!agent->in_flight && agent->open_count) {
        helio_effect_t *items = agent->flight;
        uint32_t capacity = agent->flight_capacity;
        agent->flight = agent->open;
        agent->flight_count = agent->open_count;
        agent->flight_capacity = agent->open_capacity;
        agent->open = items;
        agent->open_count = 0;
        agent->open_capacity = capacity;
        agent->in_flight = true;
        int64_t sync_ms = world_chance(self, 0.03) ? world_between(self, 100, 5000) : world_between(self, 0, 5);
        happening_t *done = world_later(self, sync_ms, on_committed);
        done->node = site;
        done->generation = agent->life;
        done->number = agent->open_batch;
        helio_aev_sealed_t sealed = {agent->open_batch++};
        step(self, site, HELIO_AGENT_EV_SEALED, &sealed);
    }
    release_arg_t arg = {self, site};
    uint64_t durable = helio_release_durable(agent->committed, agent->open_batch, agent->open_count);
    (void)helio_release_queue_release(agent->release, durable, on_released, &arg);
}

void agent_step(world_t *self, uint32_t site, uint32_t kind, const void *payload)
{
    step(self, site, kind, payload);
    turn(self, site);
}

void agent_start(world_t *self, uint32_t site)
{
    agent_node_t *agent = &self->agents[site];
    helio_agent_options_t options = {.allocates = true, .attempts_max = 1000, .kill_margin_ms = 60000};
    agent->life++;
    agent->up = true;
    agent->core = helio_agent_core_new(options, &self->profiles[site]);
    agent->effects = helio_effects_new();
    agent->release = helio_release_queue_new(helio_agent_effects);
    agent->open_batch = 1;
    agent->committed = 0;
    agent->wake_ms = INT64_MAX;
    if (agent->has_meta)
        step(self, site, HELIO_AGENT_EV_LOAD_META, &agent->meta);
    for (struct jseen *seen = agent->seen; seen; seen = seen->hh.next)
        step(self, site, HELIO_AGENT_EV_LOAD_SEEN, &seen->row);
    for (uint32_t i = 0; i < agent->attempt_count; i++)
        if (agent->attempts[i].used)
            step(self, site, HELIO_AGENT_EV_LOAD_ATTEMPT, &agent->attempts[i].row);
    for (uint32_t i = 0; i < agent->report_count; i++)
        step(self, site, HELIO_AGENT_EV_LOAD_REPORT, &agent->reports[i]);
    helio_aev_loaded_t loaded = {0};
    agent_step(self, site, HELIO_AGENT_EV_LOADED, &loaded);
    network_connect_later(self, site, world_between(self, 10, 1000));
}

void agent_crash(world_t *self, uint32_t site)
{
    agent_node_t *agent = &self->agents[site];
    if (!agent->up)
        return;
    network_break(self, site);
    if (agent->in_flight && world_chance(self, 0.5))
        journal_commit(self, agent);
    else if (agent->in_flight)
        world_fault(self, WORLD_FAULT_JOURNAL_LOST);
    agent->flight_count = agent->open_count = 0;
    agent->in_flight = false;
    agent->up = false;
    helio_agent_core_destroy(&agent->core);
    helio_effects_destroy(&agent->effects);
    helio_release_queue_destroy(&agent->release);
}
