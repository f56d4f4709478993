/*  agent.c -- the agent's shell in the virtual world: carries out the effects of the real core, and loses its journal's
 *  open batch in a crash. */
#include "simulator/daemons/agent.h"

#include <stdlib.h>
#include <string.h>

#include "simulator/daemons/journal.h"
#include "simulator/daemons/life.h"
#include "site-agent/core/patience.h"

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
    sim_journal_t *journal; /* outlives the core */
    sim_journal_t *copy;    /* of it; NULL = none */
    bool has_forgotten;
    helio_agent_core_t *core; /* of one life */
    sim_life_t life;
    bool damaged; /* its journal, and no life has begun since */
    bool gives_up;
    uint64_t former_life, admitted_life; /* the last one in session before this life; the last one in session */
    int64_t silence_ms, heard_by_ms;     /* the broker is given up when nothing was heard by then */
    bool open;                           /* the session is */
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
                          .gives_up = setup->gives_up,
                          .script = setup->script,
                          .script_arg = setup->script_arg,
                          .journal = sim_journal_new(setup->engine)};
    return self;
}

static void end_life(sim_agent_t *self)
{
    helio_agent_core_destroy(&self->core);
    sim_life_end(&self->life);
}

void sim_agent_destroy(sim_agent_t **self_p)
{
    sim_agent_t *self = *self_p;
    if (!self)
        return;
    end_life(self);
    sim_journal_destroy(&self->journal);
    sim_journal_destroy(&self->copy);
    free(self);
    *self_p = NULL;
}

/* ---- effects ------------------------------------------------------------------------------------------- */

static void up(sim_agent_t *self, uint32_t event, const void *payload)
{
    sim_network_up(self->network, self->site, event, helio_broker_events[event].type, payload);
}

/*  New at every start; life 0 = of none. */
static helio_uuid_t boot_id_of(const sim_agent_t *self, uint64_t life)
{
    helio_uuid_t id = {{life > 0}};
    if (life)
        memcpy(id.bytes + 1, &self->site, sizeof self->site);
    memcpy(id.bytes + 8, &life, sizeof life);
    return id;
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
        sim_backend_lease(self->backend, self->site, effect->payload);
        break;
    case HELIO_AGENT_FX_SEND_HELLO: {
        const helio_afx_hello_t *fx = effect->payload;
        helio_ev_site_hello_t hello = {.site = self->profile->name,
                                       .peer = peer,
                                       .agent_version = HELIO_TEXT("sim"),
                                       .protocol = 8,
                                       .incarnation_seen = fx->incarnation_seen,
                                       .broker_epoch_seen = fx->broker_epoch_seen,
                                       .reconcile_only = fx->reconcile_only,
                                       .memory_since_ms = fx->memory_since_ms,
                                       .memory_mark = fx->memory_mark,
                                       .boot_id = boot_id_of(self, self->host->life),
                                       .former_boot_id = boot_id_of(self, self->former_life),
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
    if (!sim_life_wants(&self->life, self->host, item))
        return;
    if (self->host->paused_until_ms > sim_now_ms(self->engine)) {
        sim_again(self->engine, item, self->host->paused_until_ms - sim_now_ms(self->engine));
        return;
    }
    helio_aev_nothing_t nothing = {0};
    self->life.wake_ms = INT64_MAX;
    sim_agent_take(self, HELIO_AGENT_EV_TICK, &nothing);
}

static void step(void *arg, uint32_t kind, const void *payload)
{
    sim_agent_t *self = arg;
    helio_event_t event = {kind, sim_boot_ms(self->engine, &self->host->clock),
                           sim_wall_ms(self->engine, &self->host->clock), payload};
    sim_record(self->engine, self->profile->name.data, helio_agent_events[kind].name, helio_agent_events[kind].type,
               payload);
    helio_agent_core_step(self->core, &event, self->life.effects);
    helio_agent_core_check(self->core);
    for (uint32_t i = 0; i < self->life.effects->count; i++) {
        const helio_effect_t *effect = &self->life.effects->items[i];
        if (effect->release == HELIO_RELEASE_ROW)
            sim_journal_append(self->journal, effect);
        else if (effect->release == HELIO_RELEASE_HELD)
            helio_release_queue_hold(self->life.release, effect);
        else
            send(self, effect);
    }
    sim_life_set_wake(&self->life, self->engine, self->host, on_tick, self);
}

static void turn(sim_agent_t *self);

static void on_committed(void *arg, sim_happening_t *item)
{
    sim_agent_t *self = arg;
    if (!sim_host_lives(self->host, item))
        return;
    sim_journal_commit(self->journal);
    self->life.committed = item->number;
    turn(self);
}

/*  Seals the open batch when none is in flight, and releases the effects that have become durable. */
static void turn(sim_agent_t *self)
{
    if (!sim_journal_in_flight(self->journal) && sim_journal_open_rows(self->journal)) {
        sim_journal_seal(self->journal);
        int64_t sync_ms =
            sim_chance(self->engine, 0.03) ? sim_between(self->engine, 100, 5000) : sim_between(self->engine, 0, 5);
        helio_aev_sealed_t sealed = {sim_life_seal(&self->life, self->engine, self->host, sync_ms, on_committed, self)};
        step(self, HELIO_AGENT_EV_SEALED, &sealed);
    }
    sim_life_release(&self->life, sim_journal_open_rows(self->journal), on_released, self);
}

void sim_agent_take(sim_agent_t *self, uint32_t event, const void *payload)
{
    step(self, event, payload);
    turn(self);
}

/* ---- its broker ----------------------------------------------------------------------------------------- */

static void on_watch(void *arg, sim_happening_t *item)
{
    sim_agent_t *self = arg;
    int64_t now_ms = sim_now_ms(self->engine);
    if (!sim_host_lives(self->host, item) || item->number != sim_network_peer(self->network, self->site))
        return;
    int64_t until_ms = self->host->paused_until_ms >= now_ms ? self->host->paused_until_ms + 1 : self->heard_by_ms;
    if (until_ms > now_ms) {
        sim_again(self->engine, item, until_ms - now_ms);
        return;
    }
    sim_fault_count(self->faults, self->engine, SIM_FAULT_GIVEN_UP);
    sim_network_give_up(self->network, self->site);
}

void sim_agent_connected(sim_agent_t *self)
{
    helio_aev_nothing_t nothing = {0};
    self->open = false;
    self->heard_by_ms = sim_now_ms(self->engine) + HELIO_PATIENCE_SESSION_MS;
    if (self->gives_up) {
        sim_happening_t *watch = sim_later(self->engine, HELIO_PATIENCE_SESSION_MS, on_watch, self);
        watch->generation = self->host->life;
        watch->number = sim_network_peer(self->network, self->site);
    }
    sim_agent_take(self, HELIO_AGENT_EV_CONNECTED, &nothing);
}

void sim_agent_hear(sim_agent_t *self, uint32_t event, const void *payload)
{
    if (event == HELIO_AGENT_EV_WELCOME) {
        self->admitted_life = self->host->life;
        self->silence_ms = helio_patience_silence_ms(((const helio_aev_welcome_t *)payload)->renew_ms);
    }
    if (event == HELIO_AGENT_EV_VERDICTS && ((const helio_aev_verdicts_t *)payload)->last) {
        self->open = true;
        sim_network_accepted(self->network, self->site);
    }
    if (self->open)
        self->heard_by_ms = sim_now_ms(self->engine) + self->silence_ms;
    sim_agent_take(self, event, payload);
}

/* ---- a life -------------------------------------------------------------------------------------------- */

void sim_agent_start(sim_agent_t *self)
{
    helio_agent_options_t options = {.allocates = true, .attempts_max = 1000, .kill_margin_ms = 60000};
    self->host->life++;
    self->former_life = self->admitted_life;
    self->host->up = true;
    self->core = helio_agent_core_new(options, self->profile);
    sim_life_begin(&self->life, helio_agent_effects);
    sim_journal_load(self->journal, step, self);
    helio_aev_loaded_t loaded = {.damaged = self->damaged};
    sim_agent_take(self, HELIO_AGENT_EV_LOADED, &loaded);
    if (self->has_forgotten) /* the real one looks at every start; before, its journal held all that it would find */
        sim_backend_survey(self->backend, self->site);
    static const helio_aev_nothing_t nothing = {0};
    step(self, HELIO_AGENT_EV_SURVEYED, &nothing);
    self->damaged = false;
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

void sim_agent_damage(sim_agent_t *self)
{
    sim_agent_crash(self);
    sim_journal_wipe(self->journal);
    self->damaged = true;
    self->has_forgotten = true;
}

bool sim_agent_is_idle(const sim_agent_t *self)
{
    helio_agent_figures_t figures;
    if (!self->host->up)
        return false;
    helio_agent_core_figures(self->core, &figures);
    return figures.attempts == 0 && figures.reports_pending == 0;
}

void sim_agent_keep_copy(sim_agent_t *self)
{
    sim_journal_destroy(&self->copy);
    self->copy = sim_journal_copy(self->journal);
}

void sim_agent_forget(sim_agent_t *self, bool blind)
{
    if (self->host->up)
        return;
    sim_fault_count(self->faults, self->engine, self->copy ? SIM_FAULT_JOURNAL_OLD : SIM_FAULT_JOURNAL_GONE);
    sim_journal_restore(self->journal, self->copy);
    self->has_forgotten = true;
    if (blind && !self->copy)
        sim_backend_orphan_all(self->backend, self->site);
}

bool sim_agent_has_forgotten(const sim_agent_t *self)
{
    return self->has_forgotten;
}
