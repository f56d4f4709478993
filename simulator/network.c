/*  network.c -- ordered streams that break: what is in flight is lost, both ends notice later, a new one is made. */
#include "simulator/internal.h"

uint32_t network_site_of(const world_t *self, uint64_t peer)
{
    for (uint32_t i = 0; i < self->site_count; i++)
        if (self->agents[i].connected && self->agents[i].connection == peer)
            return i;
    return WORLD_SITES_MAX;
}

static void on_connect(world_t *self, happening_t *item)
{
    agent_node_t *agent = &self->agents[item->node];
    if (agent->connected || !agent->up || item->generation != agent->life)
        return;
    if (!self->broker.up || agent->cut) {
        network_connect_later(self, item->node, world_between(self, 100, 3000));
        return;
    }
    agent->connected = true;
    agent->connection = ++self->next_connection;
    agent->last_up_ms = agent->last_down_ms = self->now_ms;
    helio_aev_nothing_t nothing = {0};
    agent_step(self, item->node, HELIO_AGENT_EV_CONNECTED, &nothing);
}

void network_connect_later(world_t *self, uint32_t site, int64_t delay_ms)
{
    happening_t *item = world_later(self, delay_ms, on_connect);
    item->node = site;
    item->generation = self->agents[site].life;
}

static void on_agent_notices(world_t *self, happening_t *item)
{
    agent_node_t *agent = &self->agents[item->node];
    if (!agent->up || item->generation != agent->life || agent->connected)
        return;
    helio_aev_nothing_t nothing = {0};
    agent_step(self, item->node, HELIO_AGENT_EV_DISCONNECTED, &nothing);
    network_connect_later(self, item->node, world_between(self, 50, 2000));
}

static void on_broker_notices(world_t *self, happening_t *item)
{
    if (!self->broker.up || item->generation != self->broker.life)
        return;
    helio_ev_site_gone_t gone = {item->number, HELIO_TEXT("the connection ended")};
    broker_step(self, HELIO_BROKER_EV_SITE_GONE, &gone);
}

void network_break(world_t *self, uint32_t site)
{
    agent_node_t *agent = &self->agents[site];
    if (!agent->connected)
        return;
    agent->connected = false;
    happening_t *item = world_later(self, world_between(self, 0, 15000), on_agent_notices);
    item->node = site;
    item->generation = agent->life;
    if (world_chance(self, 0.7)) { /* or it never does: the next HELLO replaces the session */
        item = world_later(self, world_between(self, 0, 15000), on_broker_notices);
        item->number = agent->connection;
        item->generation = self->broker.life;
    }
}

void network_cut(world_t *self, uint32_t site, bool cut)
{
    self->agents[site].cut = cut;
    if (cut)
        network_break(self, site);
}

static bool passes(const world_t *self, const happening_t *item)
{
    const agent_node_t *agent = &self->agents[item->node];
    return agent->connected && agent->connection == item->generation && self->broker.up;
}

static void on_up(world_t *self, happening_t *item)
{
    if (passes(self, item))
        broker_step(self, item->kind, item->payload);
}

void network_up(world_t *self, uint32_t site, uint32_t broker_event, const helio_record_type_t *type,
                const void *payload)
{
    agent_node_t *agent = &self->agents[site];
    if (!agent->connected)
        return;
    int64_t at = self->now_ms + world_between(self, 1, 40);
    agent->last_up_ms = at > agent->last_up_ms ? at : agent->last_up_ms;
    happening_t *item = world_later(self, agent->last_up_ms - self->now_ms, on_up);
    item->node = site;
    item->generation = agent->connection;
    item->kind = broker_event;
    item->payload = world_copy(self, type, payload);
}

static void on_down(world_t *self, happening_t *item)
{
    const agent_node_t *agent = &self->agents[item->node];
    if (!passes(self, item) || !agent->up)
        return;
    if (agent->paused_until_ms > self->now_ms) { /* the stream waits for its reader, in order */
        happening_t *again = world_later(self, agent->paused_until_ms - self->now_ms, on_down);
        again->node = item->node;
        again->generation = item->generation;
        again->kind = item->kind;
        again->payload = item->payload;
        return;
    }
    agent_step(self, item->node, item->kind, item->payload);
}

void network_down(world_t *self, uint64_t peer, uint32_t agent_event, const helio_record_type_t *type,
                  const void *payload)
{
    uint32_t site = network_site_of(self, peer);
    if (site == WORLD_SITES_MAX)
        return;
    agent_node_t *agent = &self->agents[site];
    int64_t at = self->now_ms + world_between(self, 1, 40);
    agent->last_down_ms = at > agent->last_down_ms ? at : agent->last_down_ms;
    happening_t *item = world_later(self, agent->last_down_ms - self->now_ms, on_down);
    item->node = site;
    item->generation = peer;
    item->kind = agent_event;
    item->payload = world_copy(self, type, payload);
}
