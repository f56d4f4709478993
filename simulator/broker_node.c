/*  broker_node.c -- the broker's shell in the virtual world: the same order of things as broker/engine. */
#include <stdlib.h>
#include <string.h>

#include "simulator/internal.h"

static void turn(world_t *self);

static bool stale(const world_t *self, const happening_t *item)
{
    return !self->broker.up || item->generation != self->broker.life;
}

static void on_committed(world_t *self, happening_t *item)
{
    if (stale(self, item))
        return;
    if (!self->broker.database_up) { /* the answer comes when it is back; the batch is in flight until then */
        happening_t *again = world_later(self, 200, on_committed);
        again->generation = item->generation;
        again->number = item->number;
        return;
    }
    helio_vdb_commit(self->vdb);
    quotas_check(self);
    budgets_check(self);
    self->broker.committed = item->number;
    turn(self);
}

static void send(world_t *self, const helio_effect_t *effect)
{
    switch (effect->kind) {
    case HELIO_BROKER_FX_ANSWER:
        workload_answer(self, effect->payload);
        break;
    case HELIO_BROKER_FX_ORDER: {
        const helio_fx_order_t *fx = effect->payload;
        helio_order_t one = fx->order;
        helio_aev_orders_t orders = {.incarnation = fx->incarnation, .orders = {&one, 1}};
        invariants_order(self, &fx->order);
        network_down(self, fx->peer, HELIO_AGENT_EV_ORDERS, &helio_aev_orders_type, &orders);
        break;
    }
    case HELIO_BROKER_FX_STOP: {
        const helio_fx_stop_t *fx = effect->payload;
        helio_stop_t one = fx->stop;
        helio_aev_stops_t stops = {.stops = {&one, 1}};
        network_down(self, fx->peer, HELIO_AGENT_EV_STOPS, &helio_aev_stops_type, &stops);
        break;
    }
    case HELIO_BROKER_FX_RULING: {
        const helio_fx_ruling_t *fx = effect->payload;
        helio_ruling_t one = fx->ruling;
        helio_aev_rulings_t rulings = {.rulings = {&one, 1}};
        network_down(self, fx->peer, HELIO_AGENT_EV_RULINGS, &helio_aev_rulings_type, &rulings);
        break;
    }
    case HELIO_BROKER_FX_RULINGS_DONE: {
        const helio_fx_peer_t *fx = effect->payload;
        helio_aev_rulings_t rulings = {.last = true};
        network_down(self, fx->peer, HELIO_AGENT_EV_RULINGS, &helio_aev_rulings_type, &rulings);
        break;
    }
    case HELIO_BROKER_FX_REPORTS_ACK: {
        const helio_fx_reports_ack_t *fx = effect->payload;
        helio_aev_ack_t ack = {fx->seq};
        network_down(self, fx->peer, HELIO_AGENT_EV_REPORTS_ACK, &helio_aev_ack_type, &ack);
        break;
    }
    case HELIO_BROKER_FX_WELCOME: {
        const helio_fx_welcome_t *fx = effect->payload;
        helio_aev_welcome_t welcome = {fx->incarnation, fx->broker_epoch, fx->lease_ms, fx->renew_ms, fx->summary_ms};
        network_down(self, fx->peer, HELIO_AGENT_EV_WELCOME, &helio_aev_welcome_type, &welcome);
        break;
    }
    case HELIO_BROKER_FX_RENEWED: {
        const helio_fx_renewed_t *fx = effect->payload;
        helio_aev_renewed_t renewed = {fx->sent_boot_ms, fx->lease_ms};
        network_down(self, fx->peer, HELIO_AGENT_EV_RENEWED, &helio_aev_renewed_type, &renewed);
        break;
    }
    case HELIO_BROKER_FX_RESYNC: {
        const helio_fx_peer_t *fx = effect->payload;
        helio_aev_nothing_t nothing = {0};
        network_down(self, fx->peer, HELIO_AGENT_EV_RESYNC, &helio_aev_nothing_type, &nothing);
        break;
    }
    case HELIO_BROKER_FX_REFUSAL: {
        uint32_t site = network_site_of(self, ((const helio_fx_peer_t *)effect->payload)->peer);
        if (site < self->site_count)
            network_break(self, site);
        break;
    }
    default:
        world_violate(self, "an effect of kind %u left the broker", effect->kind);
    }
}

static void on_released(void *arg, const helio_effect_t *effect)
{
    send(arg, effect);
}

static void on_tick(world_t *self, happening_t *item)
{
    if (stale(self, item) || (int64_t)item->number != self->broker.wake_ms)
        return;
    helio_ev_nothing_t nothing = {0};
    self->broker.wake_ms = INT64_MAX;
    broker_step(self, HELIO_BROKER_EV_TICK, &nothing);
}

static void step(world_t *self, uint32_t kind, const void *payload)
{
    broker_node_t *broker = &self->broker;
    helio_event_t event = {kind, world_boot_ms(self, &broker->clock), world_wall_ms(self, &broker->clock), payload};
    world_trace(self, "broker", helio_broker_events[kind].name, helio_broker_events[kind].type, payload);
    helio_broker_core_step(broker->core, &event, broker->effects);
    helio_broker_core_check(broker->core);
    for (uint32_t i = 0; i < broker->effects->count; i++) {
        const helio_effect_t *effect = &broker->effects->items[i];
        looks_effect(self, kind, effect);
        if (effect->kind == HELIO_BROKER_FX_ROW_JOB)
            workload_of(self, ((const helio_row_job_t *)effect->payload)->source)->given =
                ((const helio_row_job_t *)effect->payload)->job;
        if (effect->kind == HELIO_BROKER_FX_ROW_EDIT)
            edits_row(self, effect->payload);
        if (effect->kind == HELIO_BROKER_FX_ROW_TRANSITION) {
            evictions_transition(self, effect->payload);
            moves_transition(self, effect->payload);
        }
        if (effect->kind == HELIO_BROKER_FX_ROW_STATE) {
            evictions_state(self, effect->payload);
            moves_state(self, effect->payload);
        }
        if (effect->kind == HELIO_BROKER_FX_ROW_PLACEMENT) {
            evictions_placement(self, effect->payload);
            invariants_placement(self, effect->payload, event.wall_ms);
        }
        if (effect->release == HELIO_RELEASE_ROW)
            helio_vdb_append(self->vdb, effect);
        else if (effect->release == HELIO_RELEASE_HELD)
            helio_release_queue_hold(broker->release, effect);
        else
            send(self, effect);
    }
    if (broker->effects->wake_ms < INT64_MAX && broker->effects->wake_ms != broker->wake_ms) {
        broker->wake_ms = broker->effects->wake_ms;
        int64_t at = world_true_ms(self, &broker->clock, broker->wake_ms);
        happening_t *tick = world_later(self, at - self->now_ms, on_tick);
        tick->generation = broker->life;
        tick->number = (uint64_t)broker->wake_ms;
    }
}

/*  Seals when nothing is in flight and something waits; lets go what has become durable. */
static void turn(world_t *self)
{
    broker_node_t *broker = &self->broker;
    if (!helio_vdb_in_flight(self->vdb) && helio_vdb_open_rows(self->vdb)) {
        helio_vdb_seal(self->vdb, helio_broker_core_open_from(broker->core));
        happening_t *done = world_later(self, world_between(self, 1, 30), on_committed);
        done->generation = broker->life;
        done->number = broker->open_batch;
        helio_ev_sealed_t sealed = {broker->open_batch++};
        step(self, HELIO_BROKER_EV_SEALED, &sealed);
    }
    uint64_t durable = helio_release_durable(broker->committed, broker->open_batch, helio_vdb_open_rows(self->vdb));
    (void)helio_release_queue_release(broker->release, durable, on_released, self);
}

void broker_step(world_t *self, uint32_t kind, const void *payload)
{
    step(self, kind, payload);
    turn(self);
}

static void on_load(void *arg, uint32_t kind, const void *payload)
{
    step(arg, kind, payload);
}

static void on_parse(void *arg, helio_text_t source, helio_job_spec_t *ret_spec)
{
    workload_parse(arg, source, ret_spec);
}

void broker_start(world_t *self)
{
    broker_node_t *broker = &self->broker;
    helio_broker_options_t options = helio_broker_options_default();
    if (broker->life++) /* who leads next may be another machine, whose clock shows less */
        broker->clock.wall_skew_ms = world_between(self, -60000, 60000);
    broker->up = true;
    broker->core = helio_broker_core_new(options);
    broker->effects = helio_effects_new();
    broker->release = helio_release_queue_new(helio_broker_effects);
    broker->open_batch = 1;
    broker->committed = 0;
    broker->wake_ms = INT64_MAX;
    edits_before_load(self);
    helio_vdb_load(self->vdb, helio_rng_next(&self->rng), on_parse, on_load, self);
    helio_ev_nothing_t nothing = {0};
    broker_step(self, HELIO_BROKER_EV_LOADED, &nothing);
    edits_after_load(self);
    for (uint32_t i = 0; i < self->site_count; i++)
        if (!self->agents[i].connected)
            network_connect_later(self, i, world_between(self, 10, 3000));
}

void broker_crash(world_t *self)
{
    broker_node_t *broker = &self->broker;
    if (!broker->up)
        return;
    bool arrived = world_chance(self, 0.5);
    if (helio_vdb_in_flight(self->vdb))
        world_fault(self, arrived ? WORLD_FAULT_COMMIT_ARRIVED : WORLD_FAULT_COMMIT_LOST);
    helio_vdb_crash(self->vdb, arrived);
    quotas_check(self);
    budgets_check(self);
    broker->up = false;
    helio_broker_core_destroy(&broker->core);
    helio_effects_destroy(&broker->effects);
    helio_release_queue_destroy(&broker->release);
    for (uint32_t i = 0; i < self->site_count; i++)
        network_break(self, i);
}
