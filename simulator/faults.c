/*  faults.c -- what goes wrong, drawn from the seed until options.faults_ms; then everything heals. */
#include "simulator/internal.h"

static void on_broker_up(world_t *self, happening_t *item)
{
    (void)item;
    if (!self->broker.up)
        broker_start(self);
}

static void on_agent_up(world_t *self, happening_t *item)
{
    if (!self->agents[item->node].up)
        agent_start(self, item->node);
}

static void on_database_up(world_t *self, happening_t *item)
{
    (void)item;
    self->broker.database_up = true;
}

static void on_heal(world_t *self, happening_t *item)
{
    network_cut(self, item->node, false);
}

static void cut(world_t *self, uint32_t site, int64_t ms)
{
    network_cut(self, site, true);
    world_later(self, ms, on_heal)->node = site;
}

static void strike(world_t *self, world_fault_t fault)
{
    uint32_t site = (uint32_t)world_between(self, 0, self->site_count - 1);
    agent_node_t *agent = &self->agents[site];
    if (fault != WORLD_FAULT_ATTEMPT_LOST)
        world_fault(self, fault);
    if (fault == WORLD_FAULT_BROKER_CRASH) {
        broker_crash(self);
        (void)world_later(self, world_between(self, 10, 20000), on_broker_up);
    } else if (fault == WORLD_FAULT_DATABASE_OUTAGE) {
        self->broker.database_up = false;
        (void)world_later(self, world_between(self, 100, 30000), on_database_up);
    } else if (fault == WORLD_FAULT_AGENT_CRASH) {
        agent_crash(self, site);
        world_later(self, world_between(self, 10, 30000), on_agent_up)->node = site;
    } else if (fault == WORLD_FAULT_CONNECTION_LOST) {
        network_break(self, site);
    } else if (fault == WORLD_FAULT_PARTITION) {
        cut(self, site, world_between(self, 500, 120000));
    } else if (fault == WORLD_FAULT_LONG_SILENCE) {
        cut(self, site, world_between(self, 1000000, 1500000));
    } else if (fault == WORLD_FAULT_AGENT_PAUSED) {
        agent->paused_until_ms = self->now_ms + world_between(self, 500, 60000);
    } else if (fault == WORLD_FAULT_WALL_JUMP) {
        agent->clock.wall_skew_ms += world_between(self, -3600000, 3600000);
    } else if (fault == WORLD_FAULT_ATTEMPT_LOST) {
        backend_lose_one(self, site);
    }
}

static void on_strike(world_t *self, happening_t *item)
{
    (void)item;
    if (self->now_ms >= self->options.faults_ms)
        return;
    static const struct {
        world_fault_t fault;
        uint32_t weight;
    } table[] = {{WORLD_FAULT_BROKER_CRASH, 20}, {WORLD_FAULT_DATABASE_OUTAGE, 8},  {WORLD_FAULT_AGENT_CRASH, 20},
                 {WORLD_FAULT_CONNECTION_LOST, 20}, {WORLD_FAULT_PARTITION, 12},    {WORLD_FAULT_LONG_SILENCE, 1},
                 {WORLD_FAULT_AGENT_PAUSED, 8},  {WORLD_FAULT_WALL_JUMP, 4},        {WORLD_FAULT_ATTEMPT_LOST, 3}};
    uint32_t total = 0;
    for (uint32_t i = 0; i < sizeof table / sizeof table[0]; i++)
        total += table[i].weight;
    uint32_t draw = (uint32_t)world_between(self, 0, total - 1), at = 0;
    for (; draw >= table[at].weight; at++)
        draw -= table[at].weight;
    strike(self, table[at].fault);
    (void)world_later(self, world_between(self, 100, 15000), on_strike);
}

/*  After the faults an operator looks at what is held, now and then. */
static void on_operator(world_t *self, happening_t *item)
{
    (void)item;
    workload_release_held(self);
    (void)world_later(self, 120000, on_operator);
}

void faults_begin(world_t *self)
{
    (void)world_later(self, world_between(self, 1000, 8000), on_strike);
    (void)world_later(self, self->options.faults_ms + 60000, on_operator);
}
