#include "simulator/nodes/federation.h"

#include <stdlib.h>

/* ---- the ends of the network --------------------------------------------------------------------------- */

static void on_connected(void *arg, uint32_t site)
{
    sim_federation_t *self = arg;
    helio_aev_nothing_t nothing = {0};
    sim_agent_take(self->agents[site], HELIO_AGENT_EV_CONNECTED, &nothing);
}

static void on_disconnected(void *arg, uint32_t site)
{
    sim_federation_t *self = arg;
    helio_aev_nothing_t nothing = {0};
    sim_agent_take(self->agents[site], HELIO_AGENT_EV_DISCONNECTED, &nothing);
}

static void on_gone(void *arg, uint64_t peer)
{
    sim_federation_t *self = arg;
    helio_ev_site_gone_t gone = {peer, HELIO_TEXT("the connection ended")};
    sim_broker_take(self->broker, HELIO_BROKER_EV_SITE_GONE, &gone);
}

static void on_broker_message(void *arg, uint32_t kind, const void *message)
{
    sim_federation_t *self = arg;
    sim_broker_take(self->broker, kind, message);
}

static void on_agent_message(void *arg, uint32_t site, uint32_t kind, const void *message)
{
    sim_federation_t *self = arg;
    sim_agent_take(self->agents[site], kind, message);
}

static const sim_ends_t ends = {on_connected, on_disconnected, on_gone, on_broker_message, on_agent_message};

static void on_backend(void *arg, uint32_t site, const helio_aev_backend_t *event)
{
    sim_federation_t *self = arg;
    sim_agent_take(self->agents[site], HELIO_AGENT_EV_BACKEND, event);
}

/* ---- the parts ----------------------------------------------------------------------------------------- */

static void make_broker(sim_federation_t *self, const sim_federation_setup_t *setup)
{
    sim_broker_setup_t broker = {.engine = self->engine,
                                 .network = self->network,
                                 .vdb = self->vdb,
                                 .faults = &self->faults,
                                 .host = &self->broker_host,
                                 .script = setup->script,
                                 .script_arg = setup->arg,
                                 .moments = setup->moments,
                                 .moments_arg = setup->arg};
    self->broker = sim_broker_new(&broker);
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
    self->broker_host.clock = sim_clock_of(self->engine);
    for (uint32_t i = 0; i < self->site_count; i++) {
        self->hosts[i].clock = sim_clock_of(self->engine);
        self->host_views[i] = &self->hosts[i];
    }
    self->vdb = helio_vdb_new(&setup->preset);
    self->network = sim_network_new(self->engine, &self->broker_host, self->host_views, self->site_count, &ends, self);
    make_broker(self, setup);
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
    sim_broker_destroy(&self->broker);
    sim_backend_destroy(&self->backend);
    sim_network_destroy(&self->network);
    helio_vdb_destroy(&self->vdb);
    free(self->agents);
    free(self->host_views);
    free(self->hosts);
    free(self);
    *self_p = NULL;
}

void sim_federation_start(sim_federation_t *self)
{
    sim_broker_start(self->broker);
    for (uint32_t i = 0; i < self->site_count; i++)
        sim_agent_start(self->agents[i]);
}

bool sim_federation_is_idle(const sim_federation_t *self)
{
    for (uint32_t i = 0; i < self->site_count; i++)
        if (!sim_agent_is_idle(self->agents[i]))
            return false;
    return true;
}
