#include "simulator/faults/faults.h"

#include <stdlib.h>

struct sim_storm {
    sim_federation_t *federation;
    sim_engine_t *engine;
    int64_t until_ms;
};

sim_storm_t *sim_storm_new(sim_federation_t *federation, int64_t until_ms)
{
    sim_storm_t *self = helio_new(1, sizeof *self);
    *self = (sim_storm_t){federation, federation->engine, until_ms};
    return self;
}

void sim_storm_destroy(sim_storm_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

/* ---- what heals ---------------------------------------------------------------------------------------- */

static void on_broker_up(void *arg, sim_happening_t *item)
{
    sim_storm_t *self = arg;
    (void)item;
    sim_broker_start(self->federation->broker);
}

static void on_agent_up(void *arg, sim_happening_t *item)
{
    sim_storm_t *self = arg;
    const sim_host_t *host = &self->federation->hosts[item->site];
    if (!host->up && !host->off)
        sim_agent_start(self->federation->agents[item->site]);
}

static void on_database_up(void *arg, sim_happening_t *item)
{
    sim_storm_t *self = arg;
    (void)item;
    sim_broker_set_database(self->federation->broker, true);
}

static void on_heal(void *arg, sim_happening_t *item)
{
    sim_storm_t *self = arg;
    sim_network_cut(self->federation->network, item->site, false);
}

/* ---- what strikes -------------------------------------------------------------------------------------- */

static void crash_broker(sim_storm_t *self, uint32_t site)
{
    (void)site;
    sim_broker_crash(self->federation->broker);
    (void)sim_later(self->engine, sim_between(self->engine, 10, 20000), on_broker_up, self);
}

static void stop_database(sim_storm_t *self, uint32_t site)
{
    (void)site;
    sim_broker_set_database(self->federation->broker, false);
    (void)sim_later(self->engine, sim_between(self->engine, 100, 30000), on_database_up, self);
}

static void crash_agent(sim_storm_t *self, uint32_t site)
{
    sim_agent_crash(self->federation->agents[site]);
    sim_later(self->engine, sim_between(self->engine, 10, 30000), on_agent_up, self)->site = site;
}

static void break_connection(sim_storm_t *self, uint32_t site)
{
    sim_network_break(self->federation->network, site);
}

static void cut(sim_storm_t *self, uint32_t site, int64_t ms)
{
    sim_network_cut(self->federation->network, site, true);
    sim_later(self->engine, ms, on_heal, self)->site = site;
}

static void cut_site(sim_storm_t *self, uint32_t site)
{
    cut(self, site, sim_between(self->engine, 500, 120000));
}

static void cut_beyond_lease(sim_storm_t *self, uint32_t site)
{
    cut(self, site, sim_between(self->engine, 1000000, 1500000));
}

static void pause_agent(sim_storm_t *self, uint32_t site)
{
    self->federation->hosts[site].paused_until_ms = sim_now_ms(self->engine) + sim_between(self->engine, 500, 60000);
}

static void jump_wall_clock(sim_storm_t *self, uint32_t site)
{
    self->federation->hosts[site].clock.wall_skew_ms += sim_between(self->engine, -3600000, 3600000);
}

static void lose_attempt(sim_storm_t *self, uint32_t site)
{
    sim_backend_lose_one(self->federation->backend, site);
}

/* clang-format off */
/*  A strike counts itself, but for the loss of an attempt: none may run. */
static const struct {
    sim_fault_t fault;
    uint32_t weight;
    void (*strike)(sim_storm_t *self, uint32_t site);
    bool may_miss;
} strikes[] = {
    {SIM_FAULT_BROKER_CRASH, 20, crash_broker, false},
    {SIM_FAULT_DATABASE_OUTAGE, 8, stop_database, false},
    {SIM_FAULT_AGENT_CRASH, 20, crash_agent, false},
    {SIM_FAULT_CONNECTION_LOST, 20, break_connection, false},
    {SIM_FAULT_PARTITION, 12, cut_site, false},
    {SIM_FAULT_LONG_SILENCE, 1, cut_beyond_lease, false},
    {SIM_FAULT_AGENT_PAUSED, 8, pause_agent, false},
    {SIM_FAULT_WALL_JUMP, 4, jump_wall_clock, false},
    {SIM_FAULT_ATTEMPT_LOST, 3, lose_attempt, true},
};
/* clang-format on */
enum { STRIKES = sizeof strikes / sizeof strikes[0] };

static void on_strike(void *arg, sim_happening_t *item)
{
    sim_storm_t *self = arg;
    if (sim_now_ms(self->engine) >= self->until_ms)
        return;
    uint32_t total = 0, at = 0;
    for (uint32_t i = 0; i < STRIKES; i++)
        total += strikes[i].weight;
    for (uint32_t draw = (uint32_t)sim_between(self->engine, 0, total - 1); draw >= strikes[at].weight; at++)
        draw -= strikes[at].weight;
    uint32_t site = (uint32_t)sim_between(self->engine, 0, self->federation->site_count - 1);
    if (!strikes[at].may_miss)
        sim_fault_count(&self->federation->faults, self->engine, strikes[at].fault);
    strikes[at].strike(self, site);
    sim_again(self->engine, item, sim_between(self->engine, 100, 15000));
}

/* ---- what strikes in some worlds only ------------------------------------------------------------------ */

enum { SUSPENSIONS_DRAW = 50, SUSPENSIONS = 40, DEATHS_DRAW = 52, DEATHS = 2, CONGESTION_DRAW = 55, SLOW_ONE_IN = 10 };

static void on_suspend(void *arg, sim_happening_t *item)
{
    sim_storm_t *self = arg;
    uint64_t draw = sim_draw(self->engine, SUSPENSIONS_DRAW, item->number) >> 16;
    uint32_t site = (uint32_t)(draw % self->federation->site_count);
    sim_backend_suspend(self->federation->backend, site, draw / 64 % 64, 1 + (int64_t)(draw / 4096 % 90000));
}

static void on_power(void *arg, sim_happening_t *item)
{
    sim_storm_t *self = arg;
    self->federation->hosts[item->site].off = false;
    on_agent_up(arg, item);
}

/*  A site loses its power: the agent and all processes end, and nothing of it is heard for minutes. */
static void on_death(void *arg, sim_happening_t *item)
{
    sim_storm_t *self = arg;
    uint64_t draw = sim_draw(self->engine, DEATHS_DRAW, item->number) >> 16;
    uint32_t site = (uint32_t)(draw % self->federation->site_count);
    if (self->federation->hosts[site].off)
        return;
    sim_fault_count(&self->federation->faults, self->engine, SIM_FAULT_SITE_DIED);
    sim_agent_crash(self->federation->agents[site]);
    self->federation->hosts[site].off = true;
    sim_backend_lose_all(self->federation->backend, site);
    sim_later(self->engine, 60000 + (int64_t)(draw / 64 % 240000), on_power, self)->site = site;
}

static void on_clear(void *arg, sim_happening_t *item)
{
    sim_storm_t *self = arg;
    (void)item;
    sim_network_congest(self->federation->network, 0);
}

static void begin_some(sim_storm_t *self, uint64_t draws, uint32_t count, sim_happening_fn *fn)
{
    for (uint32_t i = 0; i < count; i++) {
        int64_t at_ms = (int64_t)(sim_draw(self->engine, draws + 1, i) % (uint64_t)(self->until_ms + 1));
        sim_later(self->engine, at_ms, fn, self)->number = i;
    }
}

void sim_storm_begin_some(sim_storm_t *self)
{
    if (sim_one_in(self->engine, 3, SUSPENSIONS_DRAW))
        begin_some(self, SUSPENSIONS_DRAW, SUSPENSIONS, on_suspend);
    if (sim_one_in(self->engine, 4, DEATHS_DRAW))
        begin_some(self, DEATHS_DRAW, DEATHS, on_death);
    if (sim_one_in(self->engine, 3, CONGESTION_DRAW)) {
        sim_network_congest(self->federation->network, SLOW_ONE_IN);
        (void)sim_later(self->engine, self->until_ms, on_clear, self);
    }
}

void sim_storm_begin(sim_storm_t *self)
{
    (void)sim_later(self->engine, sim_between(self->engine, 1000, 8000), on_strike, self);
}
