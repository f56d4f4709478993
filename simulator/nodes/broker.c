#include "simulator/nodes/broker.h"

#include <stdlib.h>

#include "broker/release/release.h"
#include "site-agent/core/agent_core.h"

enum { DATABASE_RETRY_MS = 200 };

struct sim_broker {
    sim_engine_t *engine;
    sim_network_t *network;
    helio_vdb_t *vdb;
    sim_faults_t *faults;
    sim_host_t *host;
    const sim_script_t *script;
    void *script_arg;
    const sim_moments_t *moments;
    void *moments_arg;
    bool database_up;
    helio_broker_core_t *core; /* this and the rest: of one life */
    helio_effects_t *effects;
    helio_release_queue_t *release;
    uint64_t open_batch, committed;
    int64_t wake_ms; /* by the boot clock */
};

sim_broker_t *sim_broker_new(const sim_broker_setup_t *setup)
{
    sim_broker_t *self = helio_new(1, sizeof *self);
    *self = (sim_broker_t){.engine = setup->engine,
                           .network = setup->network,
                           .vdb = setup->vdb,
                           .faults = setup->faults,
                           .host = setup->host,
                           .script = setup->script,
                           .script_arg = setup->script_arg,
                           .moments = setup->moments,
                           .moments_arg = setup->moments_arg,
                           .database_up = true};
    return self;
}

static void end_life(sim_broker_t *self)
{
    helio_broker_core_destroy(&self->core);
    helio_effects_destroy(&self->effects);
    helio_release_queue_destroy(&self->release);
}

void sim_broker_destroy(sim_broker_t **self_p)
{
    if (!*self_p)
        return;
    end_life(*self_p);
    free(*self_p);
    *self_p = NULL;
}

bool sim_broker_is_up(const sim_broker_t *self)
{
    return self->host->up;
}

uint64_t sim_broker_life(const sim_broker_t *self)
{
    return self->host->life;
}

int64_t sim_broker_boot_ms(const sim_broker_t *self)
{
    return sim_boot_ms(self->engine, &self->host->clock);
}

const helio_broker_core_t *sim_broker_core(const sim_broker_t *self)
{
    return self->core;
}

void sim_broker_set_database(sim_broker_t *self, bool up)
{
    self->database_up = up;
}

/* ---- effects ------------------------------------------------------------------------------------------- */

static void down(sim_broker_t *self, uint64_t peer, uint32_t event, const void *payload)
{
    sim_network_down(self->network, peer, event, helio_agent_events[event].type, payload);
}

static void send(sim_broker_t *self, const helio_effect_t *effect)
{
    switch (effect->kind) {
    case HELIO_BROKER_FX_REPLY:
        self->moments->answered(self->moments_arg, effect->payload);
        break;
    case HELIO_BROKER_FX_ORDER: {
        const helio_fx_order_t *fx = effect->payload;
        helio_order_t one = fx->order;
        helio_aev_orders_t orders = {.incarnation = fx->incarnation, .orders = {&one, 1}};
        self->moments->order_left(self->moments_arg, &fx->order);
        down(self, fx->peer, HELIO_AGENT_EV_ORDERS, &orders);
        break;
    }
    case HELIO_BROKER_FX_STOP: {
        const helio_fx_stop_t *fx = effect->payload;
        helio_stop_t one = fx->stop;
        helio_aev_stops_t stops = {.stops = {&one, 1}};
        down(self, fx->peer, HELIO_AGENT_EV_STOPS, &stops);
        break;
    }
    case HELIO_BROKER_FX_VERDICT: {
        const helio_fx_verdict_t *fx = effect->payload;
        helio_attempt_verdict_t one = fx->attempt_verdict;
        helio_aev_verdicts_t verdicts = {.verdicts = {&one, 1}};
        down(self, fx->peer, HELIO_AGENT_EV_VERDICTS, &verdicts);
        break;
    }
    case HELIO_BROKER_FX_VERDICTS_DONE: {
        const helio_fx_peer_t *fx = effect->payload;
        helio_aev_verdicts_t verdicts = {.last = true};
        down(self, fx->peer, HELIO_AGENT_EV_VERDICTS, &verdicts);
        break;
    }
    case HELIO_BROKER_FX_REPORTS_ACK: {
        const helio_fx_reports_ack_t *fx = effect->payload;
        helio_aev_ack_t ack = {fx->seq};
        down(self, fx->peer, HELIO_AGENT_EV_REPORTS_ACK, &ack);
        break;
    }
    case HELIO_BROKER_FX_WELCOME: {
        const helio_fx_welcome_t *fx = effect->payload;
        helio_aev_welcome_t welcome = {fx->incarnation, fx->broker_epoch, fx->lease_ms, fx->renew_ms, fx->summary_ms};
        down(self, fx->peer, HELIO_AGENT_EV_WELCOME, &welcome);
        break;
    }
    case HELIO_BROKER_FX_RENEWED: {
        const helio_fx_renewed_t *fx = effect->payload;
        helio_aev_renewed_t renewed = {fx->sent_boot_ms, fx->lease_ms};
        down(self, fx->peer, HELIO_AGENT_EV_RENEWED, &renewed);
        break;
    }
    case HELIO_BROKER_FX_RESYNC: {
        const helio_fx_peer_t *fx = effect->payload;
        helio_aev_nothing_t nothing = {0};
        down(self, fx->peer, HELIO_AGENT_EV_RESYNC, &nothing);
        break;
    }
    case HELIO_BROKER_FX_REFUSAL: {
        uint32_t site;
        if (sim_network_site_of(self->network, ((const helio_fx_peer_t *)effect->payload)->peer, &site))
            sim_network_break(self->network, site);
        break;
    }
    default:
        sim_violate(self->engine, "an effect of kind %u left the broker", effect->kind);
    }
}

static void on_released(void *arg, const helio_effect_t *effect)
{
    send(arg, effect);
}

/* ---- steps --------------------------------------------------------------------------------------------- */

static void on_tick(void *arg, sim_happening_t *item)
{
    sim_broker_t *self = arg;
    if (!sim_host_lives(self->host, item) || (int64_t)item->number != self->wake_ms)
        return;
    helio_ev_nothing_t nothing = {0};
    self->wake_ms = INT64_MAX;
    sim_broker_take(self, HELIO_BROKER_EV_TICK, &nothing);
}

static void set_wake(sim_broker_t *self)
{
    if (self->effects->wake_ms == INT64_MAX || self->effects->wake_ms == self->wake_ms)
        return;
    self->wake_ms = self->effects->wake_ms;
    int64_t delay_ms = sim_delay_ms(self->engine, &self->host->clock, self->wake_ms);
    sim_happening_t *tick = sim_later(self->engine, delay_ms, on_tick, self);
    tick->generation = self->host->life;
    tick->number = (uint64_t)self->wake_ms;
}

static void step(void *arg, uint32_t kind, const void *payload)
{
    sim_broker_t *self = arg;
    helio_event_t event = {kind, sim_boot_ms(self->engine, &self->host->clock),
                           sim_wall_ms(self->engine, &self->host->clock), payload};
    sim_record(self->engine, "broker", helio_broker_events[kind].name, helio_broker_events[kind].type, payload);
    helio_broker_core_step(self->core, &event, self->effects);
    helio_broker_core_check(self->core);
    for (uint32_t i = 0; i < self->effects->count; i++) {
        const helio_effect_t *effect = &self->effects->items[i];
        self->moments->decided(self->moments_arg, kind, effect, event.wall_ms);
        if (effect->release == HELIO_RELEASE_ROW)
            helio_vdb_append(self->vdb, effect);
        else if (effect->release == HELIO_RELEASE_HELD)
            helio_release_queue_hold(self->release, effect);
        else
            send(self, effect);
    }
    set_wake(self);
}

static void turn(sim_broker_t *self);

static void on_committed(void *arg, sim_happening_t *item)
{
    sim_broker_t *self = arg;
    if (!sim_host_lives(self->host, item))
        return;
    if (!self->database_up) { /* the answer comes when it is back; the batch is in flight until then */
        sim_again(self->engine, item, DATABASE_RETRY_MS);
        return;
    }
    helio_vdb_commit(self->vdb);
    self->moments->committed(self->moments_arg);
    self->committed = item->number;
    turn(self);
}

/*  Seals when nothing is in flight and something waits; lets go what has become durable. */
static void turn(sim_broker_t *self)
{
    if (!helio_vdb_in_flight(self->vdb) && helio_vdb_open_rows(self->vdb)) {
        helio_vdb_seal(self->vdb, helio_broker_core_open_from(self->core));
        sim_happening_t *done = sim_later(self->engine, sim_between(self->engine, 1, 30), on_committed, self);
        done->generation = self->host->life;
        done->number = self->open_batch;
        helio_ev_sealed_t sealed = {self->open_batch++};
        step(self, HELIO_BROKER_EV_SEALED, &sealed);
    }
    uint64_t durable = helio_release_durable(self->committed, self->open_batch, helio_vdb_open_rows(self->vdb));
    (void)helio_release_queue_release(self->release, durable, on_released, self);
}

void sim_broker_take(sim_broker_t *self, uint32_t event, const void *payload)
{
    step(self, event, payload);
    turn(self);
}

/* ---- a life -------------------------------------------------------------------------------------------- */

static void on_parse(void *arg, helio_text_t source, helio_job_spec_t *ret_spec)
{
    const sim_broker_t *self = arg;
    self->script->spec(self->script_arg, source, ret_spec);
}

void sim_broker_start(sim_broker_t *self)
{
    if (self->host->up)
        return;
    if (self->host->life++) /* the next leader may be another machine, whose clock shows less */
        self->host->clock.wall_skew_ms = sim_between(self->engine, -60000, 60000);
    self->host->up = true;
    self->core = helio_broker_core_new(helio_broker_options_default());
    self->effects = helio_effects_new();
    self->release = helio_release_queue_new(helio_broker_effects);
    self->open_batch = 1;
    self->committed = 0;
    self->wake_ms = INT64_MAX;
    self->moments->takeover_began(self->moments_arg);
    helio_vdb_load(self->vdb, sim_next(self->engine), on_parse, step, self);
    helio_ev_nothing_t nothing = {0};
    sim_broker_take(self, HELIO_BROKER_EV_LOADED, &nothing);
    self->moments->takeover_ended(self->moments_arg);
    sim_network_dial_all(self->network, 10, 3000);
}

void sim_broker_crash(sim_broker_t *self)
{
    if (!self->host->up)
        return;
    bool arrived = sim_chance(self->engine, 0.5);
    if (helio_vdb_in_flight(self->vdb))
        sim_fault_count(self->faults, self->engine, arrived ? SIM_FAULT_COMMIT_ARRIVED : SIM_FAULT_COMMIT_LOST);
    helio_vdb_crash(self->vdb, arrived);
    self->moments->committed(self->moments_arg);
    self->host->up = false;
    end_life(self);
    sim_network_break_all(self->network);
}
