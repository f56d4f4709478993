/*  broker.c -- the broker's shell in the virtual world: carries out the effects of the real core, and fails over. */
#include "simulator/daemons/broker.h"

#include <stdlib.h>

#include "simulator/daemons/life.h"
#include "site-agent/core/agent_core.h"

struct sim_broker {
    sim_broker_setup_t setup;
    sim_engine_t *engine;
    sim_network_t *network;
    sim_host_t *host;
    sim_store_t *store;
    helio_broker_core_t *core; /* of one leadership; NULL = it does not lead */
    sim_life_t life;
};

static const sim_store_ends_t ends;

sim_broker_t *sim_broker_new(const sim_broker_setup_t *setup)
{
    sim_broker_t *self = helio_new(1, sizeof *self);
    *self = (sim_broker_t){.setup = *setup, .engine = setup->engine, .network = setup->network, .host = setup->host};
    sim_store_setup_t store = {.engine = setup->engine,
                               .database = setup->database,
                               .host = setup->host,
                               .faults = setup->faults,
                               .breaks = setup->stands_by,
                               .lease_ms = setup->options.lease_ms,
                               .ends = &ends,
                               .arg = self};
    self->store = sim_store_new(&store);
    return self;
}

static void end_life(sim_broker_t *self)
{
    helio_broker_core_destroy(&self->core);
    sim_life_end(&self->life);
}

void sim_broker_destroy(sim_broker_t **self_p)
{
    if (!*self_p)
        return;
    end_life(*self_p);
    sim_store_destroy(&(*self_p)->store);
    free(*self_p);
    *self_p = NULL;
}

bool sim_broker_leads(const sim_broker_t *self)
{
    return self->core != NULL;
}

bool sim_broker_is_newest(const sim_broker_t *self)
{
    return self->core && sim_writer_is_newest(sim_store_writer(self->store));
}

uint64_t sim_broker_epoch(const sim_broker_t *self)
{
    return sim_writer_epoch(sim_store_writer(self->store));
}

int64_t sim_broker_boot_ms(const sim_broker_t *self)
{
    return sim_boot_ms(self->engine, &self->host->clock);
}

int64_t sim_broker_wall_ms(const sim_broker_t *self)
{
    return sim_wall_ms(self->engine, &self->host->clock);
}

const helio_broker_core_t *sim_broker_core(const sim_broker_t *self)
{
    return self->core;
}

const helio_broker_options_t *sim_broker_options(const sim_broker_t *self)
{
    return &self->setup.options;
}

sim_store_t *sim_broker_store(const sim_broker_t *self)
{
    return self->store;
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
    case HELIO_BROKER_FX_ANSWER:
        self->setup.moments->answered(self->setup.moments_arg, effect->payload, sim_broker_is_newest(self));
        break;
    case HELIO_BROKER_FX_ORDER: {
        const helio_fx_order_t *fx = effect->payload;
        helio_order_t one = fx->order;
        helio_aev_orders_t orders = {.incarnation = fx->incarnation, .orders = {&one, 1}};
        self->setup.moments->order_left(self->setup.moments_arg, &fx->order);
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
    case HELIO_BROKER_FX_SIGNAL: {
        const helio_fx_signal_t *fx = effect->payload;
        helio_attempt_signal_t one = fx->signal;
        helio_aev_signals_t signals = {.signals = {&one, 1}};
        down(self, fx->peer, HELIO_AGENT_EV_SIGNALS, &signals);
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
        helio_aev_welcome_t welcome = {fx->incarnation, fx->broker_epoch, fx->lease_ms,
                                       fx->renew_ms,    fx->summary_ms,   fx->memory_mark};
        down(self, fx->peer, HELIO_AGENT_EV_WELCOME, &welcome);
        break;
    }
    case HELIO_BROKER_FX_RENEWED: {
        const helio_fx_renewed_t *fx = effect->payload;
        helio_aev_renewed_t renewed = {fx->sent_boot_ms, fx->lease_ms};
        uint32_t site;
        if (sim_network_site_of(self->network, fx->peer, &site))
            self->setup.moments->granted(self->setup.moments_arg, site, fx->sent_boot_ms, sim_broker_is_newest(self));
        down(self, fx->peer, HELIO_AGENT_EV_RENEWED, &renewed);
        break;
    }
    case HELIO_BROKER_FX_RESYNC: {
        const helio_fx_peer_t *fx = effect->payload;
        helio_aev_nothing_t nothing = {0};
        down(self, fx->peer, HELIO_AGENT_EV_RESYNC, &nothing);
        break;
    }
    case HELIO_BROKER_FX_DEMAND: /* no simulated site has elastic pools */
        break;
    case HELIO_BROKER_FX_REFUSAL: {
        const helio_fx_peer_t *fx = effect->payload;
        sim_network_refuse(self->network, fx->peer, fx->rc == HELIO_FENCED || fx->rc == HELIO_CONFLICT);
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
    if (!self->core || !sim_life_wants(&self->life, self->host, item))
        return;
    int64_t paused_ms = self->host->paused_until_ms - sim_now_ms(self->engine);
    if (paused_ms > 0) {
        sim_again(self->engine, item, paused_ms);
        return;
    }
    helio_ev_nothing_t nothing = {0};
    self->life.wake_ms = INT64_MAX;
    sim_broker_take(self, HELIO_BROKER_EV_TICK, &nothing);
}

static void carry_out(sim_broker_t *self, uint32_t event, int64_t wall_ms)
{
    bool newest = sim_broker_is_newest(self); /* what an older leader decides comes to nothing, and it may not know */
    for (uint32_t i = 0; i < self->life.effects->count; i++) {
        const helio_effect_t *effect = &self->life.effects->items[i];
        const helio_step_kind_t *kind = &helio_broker_effects[effect->kind];
        sim_note(self->engine, self->setup.name, kind->name, kind->type, effect->payload);
        if (newest)
            self->setup.moments->decided(self->setup.moments_arg, event, effect, wall_ms);
        if (effect->release == HELIO_RELEASE_ROW)
            sim_writer_append(sim_store_writer(self->store), effect);
        else if (effect->release == HELIO_RELEASE_HELD)
            helio_release_queue_hold(self->life.release, effect);
        else
            send(self, effect);
    }
}

static void step(void *arg, uint32_t kind, const void *payload)
{
    sim_broker_t *self = arg;
    helio_event_t event = {kind, sim_broker_boot_ms(self), sim_broker_wall_ms(self), payload};
    sim_record(self->engine, self->setup.name, helio_broker_events[kind].name, helio_broker_events[kind].type, payload);
    helio_broker_core_step(self->core, &event, self->life.effects);
    helio_broker_core_check(self->core);
    carry_out(self, kind, event.wall_ms);
    sim_life_set_wake(&self->life, self->engine, self->host, on_tick, self);
}

/*  Seals the open batch when none is in flight, and releases the effects that have become durable. */
static void turn(sim_broker_t *self)
{
    sim_writer_t *writer = sim_store_writer(self->store);
    if (sim_store_is_ready(self->store) && !sim_writer_in_flight(writer) && sim_writer_open_rows(writer)) {
        helio_ev_sealed_t sealed = {self->life.open_batch++};
        sim_writer_seal(writer, helio_broker_core_open_from(self->core));
        sim_store_send(self->store, sealed.batch);
        step(self, HELIO_BROKER_EV_SEALED, &sealed);
    }
    sim_life_release(&self->life, sim_writer_open_rows(writer), on_released, self);
}

void sim_broker_take(sim_broker_t *self, uint32_t event, const void *payload)
{
    if (!self->core)
        return;
    step(self, event, payload);
    turn(self);
}

/* ---- what the database says ------------------------------------------------------------------------------ */

static void on_parse(void *arg, helio_text_t source, helio_job_spec_t *ret_spec)
{
    const sim_broker_t *self = arg;
    self->setup.script->spec(self->setup.script_arg, source, ret_spec);
}

static void on_leads(void *arg)
{
    sim_broker_t *self = arg;
    self->core = helio_broker_core_new(self->setup.options);
    sim_life_begin(&self->life, helio_broker_effects);
    self->setup.moments->takeover_began(self->setup.moments_arg);
    sim_database_load(self->setup.database, sim_next(self->engine), on_parse, step, self);
    helio_ev_nothing_t nothing = {0};
    sim_broker_take(self, HELIO_BROKER_EV_LOADED, &nothing);
    self->setup.moments->takeover_ended(self->setup.moments_arg);
    if (!self->setup.stands_by)
        sim_network_dial_all(self->network, 10, 3000);
}

static void on_committed(void *arg)
{
    const sim_broker_t *self = arg;
    self->setup.moments->committed(self->setup.moments_arg);
}

static void on_answered(void *arg, uint64_t batch)
{
    sim_broker_t *self = arg;
    self->life.committed = batch;
    turn(self);
}

static void on_database(void *arg, bool is_connected)
{
    helio_ev_database_t database = {is_connected};
    sim_broker_take(arg, HELIO_BROKER_EV_DATABASE, &database);
}

/* ---- a life -------------------------------------------------------------------------------------------- */

static void die(sim_broker_t *self, bool arrived, bool silently)
{
    sim_store_crash(self->store, arrived, silently);
    self->host->up = false;
    end_life(self);
    sim_network_break_all(self->network, self->setup.index);
}

static void on_restart(void *arg, sim_happening_t *item)
{
    sim_broker_t *self = arg;
    if (self->host->life == item->generation)
        sim_broker_start(self);
}

static void on_fenced(void *arg)
{
    enum { RESTART_LEAST_MS = 1000, RESTART_MOST_MS = 5000 };
    sim_broker_t *self = arg;
    die(self, false, false);
    int64_t after_ms = sim_between(self->engine, RESTART_LEAST_MS, RESTART_MOST_MS);
    sim_later(self->engine, after_ms, on_restart, self)->generation = self->host->life;
}

static const sim_store_ends_t ends = {on_leads, on_committed, on_answered, on_database, on_fenced};

void sim_broker_start(sim_broker_t *self)
{
    if (self->host->up)
        return;
    if (self->host->life++) /* the next leader may be another machine, whose clock is behind */
        self->host->clock.wall_skew_ms = sim_between(self->engine, -60000, 60000);
    self->host->up = true;
    self->host->paused_until_ms = 0;
    sim_store_seek(self->store);
}

void sim_broker_crash(sim_broker_t *self, bool silently)
{
    if (!self->host->up)
        return;
    bool arrived = sim_chance(self->engine, 0.5);
    if (sim_writer_in_flight(sim_store_writer(self->store)))
        sim_fault_count(self->setup.faults, self->engine, arrived ? SIM_FAULT_COMMIT_ARRIVED : SIM_FAULT_COMMIT_LOST);
    die(self, arrived, silently);
}

bool sim_broker_pause(sim_broker_t *self, int64_t until_ms)
{
    if (!self->host->up || self->host->paused_until_ms > sim_now_ms(self->engine))
        return false;
    self->host->paused_until_ms = until_ms;
    sim_store_paused(self->store);
    sim_network_paused(self->network, self->setup.index);
    return true;
}
