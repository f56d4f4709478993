#include "simulator/nodes/agent.h"

#include <stdlib.h>

#include "broker/release/release.h"
#include "simulator/nodes/journal.h"

struct sim_agent {
    sim_engine_t *engine;
    sim_network_t *network;
    sim_backend_t *backend;
    sim_faults_t *faults;
    sim_host_t *host;
    uint32_t site;
    const helio_site_profile_t *profile;
    const sim_script_t *script;
    void *script_arg;
    sim_journal_t *journal;   /* outlives the core */
    helio_agent_core_t *core; /* this and the rest: of one life */
    helio_effects_t *effects;
    helio_release_queue_t *release;
    uint64_t open_batch, committed;
    int64_t wake_ms; /* by the boot clock */
};

sim_agent_t *sim_agent_new(const sim_agent_setup_t *setup)
{
    sim_agent_t *self = helio_new(1, sizeof *self);
    *self = (sim_agent_t){.engine = setup->engine,
                          .network = setup->network,
                          .backend = setup->backend,
                          .faults = setup->faults,
                          .host = setup->host,
                          .site = setup->site,
                          .profile = setup->profile,
                          .script = setup->script,
                          .script_arg = setup->script_arg,
                          .journal = sim_journal_new(setup->engine)};
    return self;
}

static void end_life(sim_agent_t *self)
{
    helio_agent_core_destroy(&self->core);
    helio_effects_destroy(&self->effects);
    helio_release_queue_destroy(&self->release);
}

void sim_agent_destroy(sim_agent_t **self_p)
{
    sim_agent_t *self = *self_p;
    if (!self)
        return;
    end_life(self);
    sim_journal_destroy(&self->journal);
    free(self);
    *self_p = NULL;
}

/* ---- effects ------------------------------------------------------------------------------------------- */

static void up(sim_agent_t *self, uint32_t event, const void *payload)
{
    sim_network_up(self->network, self->site, event, helio_broker_events[event].type, payload);
}

static void send(sim_agent_t *self, const helio_effect_t *effect)
{
    uint64_t peer = sim_network_peer(self->network, self->site);
    switch (effect->kind) {
    case HELIO_AGENT_FX_START:
        sim_backend_start(self->backend, self->site, effect->payload);
        break;
    case HELIO_AGENT_FX_ADOPT:
        sim_backend_adopt(self->backend, self->site, effect->payload);
        break;
    case HELIO_AGENT_FX_STOP:
        sim_backend_stop(self->backend, self->site, effect->payload);
        break;
    case HELIO_AGENT_FX_FORGET:
        sim_backend_forget(self->backend, effect->payload);
        break;
    case HELIO_AGENT_FX_LEASE:
        sim_backend_lease(self->backend, self->site, ((const helio_afx_lease_t *)effect->payload)->deadline_boot_ms);
        break;
    case HELIO_AGENT_FX_SEND_HELLO: {
        const helio_afx_hello_t *fx = effect->payload;
        helio_ev_site_hello_t hello = {.site = self->profile->name,
                                       .peer = peer,
                                       .agent_version = HELIO_TEXT("sim"),
                                       .incarnation_seen = fx->incarnation_seen,
                                       .reconcile_only = fx->reconcile_only,
                                       .profile = *self->profile};
        up(self, HELIO_BROKER_EV_SITE_HELLO, &hello);
        break;
    }
    case HELIO_AGENT_FX_SEND_INVENTORY: {
        const helio_afx_inventory_t *fx = effect->payload;
        helio_ev_site_inventory_t inventory = {.peer = peer, .last = fx->last};
        inventory.holdings.items = fx->holdings.items;
        inventory.holdings.count = fx->holdings.count;
        up(self, HELIO_BROKER_EV_SITE_INVENTORY, &inventory);
        break;
    }
    case HELIO_AGENT_FX_SEND_SUMMARY: {
        helio_ev_site_summary_t summary = {peer, *(const helio_site_summary_t *)effect->payload};
        self->script->feeds(self->script_arg, self->site, sim_wall_ms(self->engine, &self->host->clock),
                            &summary.summary);
        up(self, HELIO_BROKER_EV_SITE_SUMMARY, &summary);
        break;
    }
    case HELIO_AGENT_FX_SEND_REPORT: {
        helio_report_t one = *(const helio_report_t *)effect->payload;
        helio_ev_site_reports_t reports = {.peer = peer, .reports = {&one, 1}};
        up(self, HELIO_BROKER_EV_SITE_REPORTS, &reports);
        break;
    }
    case HELIO_AGENT_FX_SEND_RENEW: {
        helio_ev_site_renew_t renew = {peer, ((const helio_afx_renew_t *)effect->payload)->sent_boot_ms};
        up(self, HELIO_BROKER_EV_SITE_RENEW, &renew);
        break;
    }
    default:
        sim_violate(self->engine, "an effect of kind %u left an agent", effect->kind);
    }
}

static void on_released(void *arg, const helio_effect_t *effect)
{
    send(arg, effect);
}

/* ---- steps --------------------------------------------------------------------------------------------- */

static void on_tick(void *arg, sim_happening_t *item)
{
    sim_agent_t *self = arg;
    if (!sim_host_lives(self->host, item) || (int64_t)item->number != self->wake_ms)
        return;
    if (self->host->paused_until_ms > sim_now_ms(self->engine)) {
        sim_again(self->engine, item, self->host->paused_until_ms - sim_now_ms(self->engine));
        return;
    }
    helio_aev_nothing_t nothing = {0};
    self->wake_ms = INT64_MAX;
    sim_agent_take(self, HELIO_AGENT_EV_TICK, &nothing);
}

static void set_wake(sim_agent_t *self)
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
    sim_agent_t *self = arg;
    helio_event_t event = {kind, sim_boot_ms(self->engine, &self->host->clock),
                           sim_wall_ms(self->engine, &self->host->clock), payload};
    sim_record(self->engine, self->profile->name.data, helio_agent_events[kind].name, helio_agent_events[kind].type,
               payload);
    helio_agent_core_step(self->core, &event, self->effects);
    helio_agent_core_check(self->core);
    for (uint32_t i = 0; i < self->effects->count; i++) {
        const helio_effect_t *effect = &self->effects->items[i];
        if (effect->release == HELIO_RELEASE_ROW)
            sim_journal_append(self->journal, effect);
        else if (effect->release == HELIO_RELEASE_HELD)
            helio_release_queue_hold(self->release, effect);
        else
            send(self, effect);
    }
    set_wake(self);
}

static void turn(sim_agent_t *self);

static void on_committed(void *arg, sim_happening_t *item)
{
    sim_agent_t *self = arg;
    if (!sim_host_lives(self->host, item))
        return;
    sim_journal_commit(self->journal);
    self->committed = item->number;
    turn(self);
}

/*  Seals when nothing is in flight and something waits; lets go what has become durable. */
static void turn(sim_agent_t *self)
{
    if (!sim_journal_in_flight(self->journal) && sim_journal_open_rows(self->journal)) {
        sim_journal_seal(self->journal);
        int64_t sync_ms =
            sim_chance(self->engine, 0.03) ? sim_between(self->engine, 100, 5000) : sim_between(self->engine, 0, 5);
        sim_happening_t *done = sim_later(self->engine, sync_ms, on_committed, self);
        done->generation = self->host->life;
        done->number = self->open_batch;
        helio_aev_sealed_t sealed = {self->open_batch++};
        step(self, HELIO_AGENT_EV_SEALED, &sealed);
    }
    uint64_t durable = helio_release_durable(self->committed, self->open_batch, sim_journal_open_rows(self->journal));
    (void)helio_release_queue_release(self->release, durable, on_released, self);
}

void sim_agent_take(sim_agent_t *self, uint32_t event, const void *payload)
{
    step(self, event, payload);
    turn(self);
}

/* ---- a life -------------------------------------------------------------------------------------------- */

void sim_agent_start(sim_agent_t *self)
{
    helio_agent_options_t options = {.allocates = true, .attempts_max = 1000, .kill_margin_ms = 60000};
    self->host->life++;
    self->host->up = true;
    self->core = helio_agent_core_new(options, self->profile);
    self->effects = helio_effects_new();
    self->release = helio_release_queue_new(helio_agent_effects);
    self->open_batch = 1;
    self->committed = 0;
    self->wake_ms = INT64_MAX;
    sim_journal_load(self->journal, step, self);
    helio_aev_loaded_t loaded = {0};
    sim_agent_take(self, HELIO_AGENT_EV_LOADED, &loaded);
    sim_network_dial(self->network, self->site, sim_between(self->engine, 10, 1000));
}

void sim_agent_crash(sim_agent_t *self)
{
    if (!self->host->up)
        return;
    sim_network_break(self->network, self->site);
    bool in_flight = sim_journal_in_flight(self->journal);
    bool arrived = in_flight && sim_chance(self->engine, 0.5);
    if (in_flight && !arrived)
        sim_fault_count(self->faults, self->engine, SIM_FAULT_JOURNAL_LOST);
    sim_journal_crash(self->journal, arrived);
    self->host->up = false;
    end_life(self);
}

bool sim_agent_is_idle(const sim_agent_t *self)
{
    helio_agent_figures_t figures;
    if (!self->host->up)
        return false;
    helio_agent_core_figures(self->core, &figures);
    return figures.attempts == 0 && figures.reports_pending == 0;
}
