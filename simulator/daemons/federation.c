/*  federation.c -- builds a virtual federation from its parts and connects them. */
#include "simulator/daemons/federation.h"

#include <stdlib.h>

#include "site-agent/core/patience.h"

/* ---- the ends of the network --------------------------------------------------------------------------- */

static void on_connected(void *arg, uint32_t site)
{
    sim_federation_t *self = arg;
    sim_agent_connected(self->agents[site]);
}

static void on_disconnected(void *arg, uint32_t site)
{
    sim_federation_t *self = arg;
    helio_aev_nothing_t nothing = {0};
    sim_agent_take(self->agents[site], HELIO_AGENT_EV_DISCONNECTED, &nothing);
}

static void on_gone(void *arg, uint32_t broker, uint64_t peer)
{
    sim_federation_t *self = arg;
    helio_ev_site_gone_t gone = {.peer = peer, .reason = HELIO_TEXT("the connection ended")};
    sim_broker_take(self->brokers[broker], HELIO_BROKER_EV_SITE_GONE, &gone);
}

static bool on_admits(void *arg, uint32_t broker)
{
    const sim_federation_t *self = arg;
    return sim_broker_leads(self->brokers[broker]);
}

static void on_broker_message(void *arg, uint32_t broker, uint32_t kind, const void *message)
{
    sim_federation_t *self = arg;
    sim_broker_take(self->brokers[broker], kind, message);
}

static void on_agent_message(void *arg, uint32_t site, uint32_t kind, const void *message)
{
    sim_federation_t *self = arg;
    sim_agent_hear(self->agents[site], kind, message);
}

static const sim_ends_t ends = {on_connected, on_disconnected, on_gone, on_admits, on_broker_message, on_agent_message};

static void on_backend(void *arg, uint32_t site, const helio_aev_backend_t *event)
{
    sim_federation_t *self = arg;
    sim_agent_take(self->agents[site], HELIO_AGENT_EV_BACKEND, event);
}

/* ---- the parts ----------------------------------------------------------------------------------------- */

static bool has_standby(const sim_federation_t *self)
{
    return self->broker_count > 1;
}

static sim_broker_t *make_broker(sim_federation_t *self, uint32_t index, const sim_federation_setup_t *setup)
{
    static const char *const names[SIM_BROKERS_MAX] = {"broker", "second"};
    sim_broker_setup_t broker = {.engine = self->engine,
                                 .network = self->network,
                                 .database = self->database,
                                 .faults = &self->faults,
                                 .host = &self->broker_hosts[index],
                                 .index = index,
                                 .name = names[index],
                                 .stands_by = has_standby(self),
                                 .options = setup->options[index],
                                 .script = setup->script,
                                 .script_arg = setup->arg,
                                 .moments = setup->moments,
                                 .moments_arg = setup->arg};
    if (!broker.options.lease_ms)
        broker.options = helio_broker_options_default();
    return sim_broker_new(&broker);
}

static void make_network(sim_federation_t *self)
{
    sim_network_setup_t network = {
        .engine = self->engine,
        .brokers = self->broker_views,
        .sites = self->host_views,
        .broker_count = self->broker_count,
        .site_count = self->site_count,
        .redial_least_ms = has_standby(self) ? HELIO_PATIENCE_REDIAL_LEAST_MS : 0,
        .redial_most_ms = has_standby(self) ? helio_patience_redial_most_ms(self->broker_count) : 0,
        .ends = &ends,
        .arg = self};
    self->network = sim_network_new(&network);
}

static void make_backend(sim_federation_t *self, const sim_federation_setup_t *setup)
{
    sim_backend_setup_t backend = {.engine = self->engine,
                                   .hosts = self->host_views,
                                   .site_count = self->site_count,
                                   .options = setup->backend,
                                   .faults = &self->faults,
                                   .script = setup->script,
                                   .script_arg = setup->arg,
                                   .tell = on_backend,
                                   .tell_arg = self};
    self->backend = sim_backend_new(&backend);
}

static sim_agent_t *make_agent(sim_federation_t *self, uint32_t site, const sim_federation_setup_t *setup)
{
    sim_agent_setup_t agent = {.engine = self->engine,
                               .network = self->network,
                               .backend = self->backend,
                               .faults = &self->faults,
                               .host = &self->hosts[site],
                               .site = site,
                               .profile = &self->profiles[site],
                               .gives_up = has_standby(self),
                               .script = setup->script,
                               .script_arg = setup->arg};
    return sim_agent_new(&agent);
}

sim_federation_t *sim_federation_new(const sim_federation_setup_t *setup)
{
    sim_federation_t *self = helio_new(1, sizeof *self);
    self->engine = setup->engine;
    self->profiles = setup->profiles;
    self->site_count = setup->site_count;
    self->hosts = helio_new(self->site_count, sizeof *self->hosts);
    self->host_views = helio_new(self->site_count, sizeof(sim_host_t *));
    self->agents = helio_new(self->site_count, sizeof(sim_agent_t *));
    self->broker_count = setup->broker_count ? setup->broker_count : 1;
    for (uint32_t i = 0; i < self->broker_count; i++) {
        self->broker_hosts[i].clock = sim_clock_of(self->engine);
        self->broker_views[i] = &self->broker_hosts[i];
    }
    for (uint32_t i = 0; i < self->site_count; i++) {
        self->hosts[i].clock = sim_clock_of(self->engine);
        self->host_views[i] = &self->hosts[i];
    }
    self->database = sim_database_new(&setup->preset);
    make_network(self);
    for (uint32_t i = 0; i < self->broker_count; i++)
        self->brokers[i] = make_broker(self, i, setup);
    make_backend(self, setup);
    for (uint32_t i = 0; i < self->site_count; i++)
        self->agents[i] = make_agent(self, i, setup);
    return self;
}

void sim_federation_destroy(sim_federation_t **self_p)
{
    sim_federation_t *self = *self_p;
    if (!self)
        return;
    for (uint32_t i = 0; i < self->site_count; i++)
        sim_agent_destroy(&self->agents[i]);
    for (uint32_t i = 0; i < self->broker_count; i++)
        sim_broker_destroy(&self->brokers[i]);
    sim_backend_destroy(&self->backend);
    sim_network_destroy(&self->network);
    sim_database_destroy(&self->database);
    free(self->agents);
    free(self->host_views);
    free(self->hosts);
    free(self);
    *self_p = NULL;
}

void sim_federation_start(sim_federation_t *self)
{
    for (uint32_t i = 0; i < self->broker_count; i++)
        sim_broker_start(self->brokers[i]);
    for (uint32_t i = 0; i < self->site_count; i++)
        sim_agent_start(self->agents[i]);
}

void sim_federation_restore(sim_federation_t *self, uint64_t draw)
{
    for (uint32_t i = 0; i < self->broker_count; i++)
        sim_broker_crash(self->brokers[i], false);
    sim_database_restore(self->database, draw, sim_broker_wall_ms(self->brokers[0]));
}

sim_broker_t *sim_federation_leader(const sim_federation_t *self)
{
    uint32_t newest = 0;
    for (uint32_t i = 1; i < self->broker_count; i++)
        if (sim_broker_epoch(self->brokers[i]) > sim_broker_epoch(self->brokers[newest]))
            newest = i;
    return self->brokers[newest];
}

sim_broker_t *sim_federation_door(const sim_federation_t *self)
{
    enum { DOOR_DRAW = 62 };
    int64_t now_ms = sim_now_ms(self->engine);
    sim_broker_t *open[SIM_BROKERS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->broker_count; i++)
        if (sim_broker_leads(self->brokers[i]) && self->broker_hosts[i].paused_until_ms <= now_ms)
            open[count++] = self->brokers[i];
    return count ? open[(sim_draw(self->engine, DOOR_DRAW, (uint64_t)now_ms) >> 16) % count] : NULL;
}

bool sim_federation_is_idle(const sim_federation_t *self)
{
    for (uint32_t i = 0; i < self->site_count; i++)
        if (!sim_agent_is_idle(self->agents[i]))
            return false;
    return true;
}
