/*  faults.c -- draws the faults of a world, injects them, and heals them. */
#include <stdlib.h>

#include "simulator/faults/internal.h"

sim_storm_t *sim_storm_new(sim_federation_t *federation, int64_t until_ms)
{
    sim_storm_t *self = helio_new(1, sizeof *self);
    *self = (sim_storm_t){.federation = federation, .engine = federation->engine, .until_ms = until_ms};
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
    sim_broker_start(self->federation->brokers[item->site]);
}

static void on_agent_up(void *arg, sim_happening_t *item)
{
    sim_storm_t *self = arg;
    const sim_host_t *host = &self->federation->hosts[item->site];
    if (!host->up && !host->off)
        sim_agent_start(self->federation->agents[item->site]);
}

static void set_database(const sim_storm_t *self, bool up)
{
    for (uint32_t i = 0; i < self->federation->broker_count; i++)
        sim_store_set_database(sim_broker_store(self->federation->brokers[i]), up);
}

static void on_database_up(void *arg, sim_happening_t *item)
{
    (void)item;
    set_database(arg, true);
}

void storm_start_broker(sim_storm_t *self, uint32_t broker, int64_t delay_ms)
{
    sim_later(self->engine, delay_ms, on_broker_up, self)->site = broker;
}

void storm_start_agent(sim_storm_t *self, uint32_t site, int64_t delay_ms)
{
    sim_later(self->engine, delay_ms, on_agent_up, self)->site = site;
}

/* ---- what strikes -------------------------------------------------------------------------------------- */

static bool crash_broker(sim_storm_t *self, uint32_t site)
{
    uint32_t broker = site % self->federation->broker_count;
    sim_broker_crash(self->federation->brokers[broker], false);
    storm_start_broker(self, broker, sim_between(self->engine, 10, 20000));
    return true;
}

static bool stop_database(sim_storm_t *self, uint32_t site)
{
    (void)site;
    set_database(self, false);
    (void)sim_later(self->engine, sim_between(self->engine, 100, 30000), on_database_up, self);
    return true;
}

static bool crash_agent(sim_storm_t *self, uint32_t site)
{
    sim_agent_crash(self->federation->agents[site]);
    storm_start_agent(self, site, sim_between(self->engine, 10, 30000));
    return true;
}

static bool break_connection(sim_storm_t *self, uint32_t site)
{
    sim_network_break(self->federation->network, site);
    return true;
}

static bool cut(sim_storm_t *self, uint32_t site, int64_t ms)
{
    sim_network_cut(self->federation->network, site, SIM_EVERY_BROKER, SIM_WAY_BOTH, sim_now_ms(self->engine) + ms);
    return true;
}

static bool cut_site(sim_storm_t *self, uint32_t site)
{
    return cut(self, site, sim_between(self->engine, 500, 120000));
}

static bool cut_beyond_lease(sim_storm_t *self, uint32_t site)
{
    int64_t lease_ms = 0;
    for (uint32_t i = 0; i < self->federation->broker_count; i++) {
        int64_t one_ms = (int64_t)sim_broker_options(self->federation->brokers[i])->lease_ms;
        lease_ms = one_ms > lease_ms ? one_ms : lease_ms;
    }
    return cut(self, site, lease_ms + sim_between(self->engine, 100000, 600000));
}

static bool pause_agent(sim_storm_t *self, uint32_t site)
{
    self->federation->hosts[site].paused_until_ms = sim_now_ms(self->engine) + sim_between(self->engine, 500, 60000);
    return true;
}

static bool jump_wall_clock(sim_storm_t *self, uint32_t site)
{
    self->federation->hosts[site].clock.wall_skew_ms += sim_between(self->engine, -3600000, 3600000);
    return true;
}

static bool lose_attempt(sim_storm_t *self, uint32_t site)
{
    sim_backend_lose_one(self->federation->backend, site);
    return false;
}

static uint32_t draw_site(const sim_storm_t *self)
{
    return (uint32_t)sim_between(self->engine, 0, self->federation->site_count - 1);
}

/* clang-format off */
static const storm_strike_t strikes[] = {
    {SIM_FAULT_BROKER_CRASH, 20, crash_broker},
    {SIM_FAULT_DATABASE_OUTAGE, 8, stop_database},
    {SIM_FAULT_AGENT_CRASH, 20, crash_agent},
    {SIM_FAULT_CONNECTION_LOST, 20, break_connection},
    {SIM_FAULT_PARTITION, 12, cut_site},
    {SIM_FAULT_LONG_SILENCE, 1, cut_beyond_lease},
    {SIM_FAULT_AGENT_PAUSED, 8, pause_agent},
    {SIM_FAULT_WALL_JUMP, 4, jump_wall_clock},
    {SIM_FAULT_ATTEMPT_LOST, 3, lose_attempt},
};
/* clang-format on */

bool storm_strike(sim_storm_t *self, const storm_strike_t *kinds, uint32_t count, storm_draw_fn *draw_target)
{
    if (sim_now_ms(self->engine) >= self->until_ms)
        return false;
    uint32_t total = 0, at = 0;
    for (uint32_t i = 0; i < count; i++)
        total += kinds[i].weight;
    for (uint32_t draw = (uint32_t)sim_between(self->engine, 0, total - 1); draw >= kinds[at].weight; at++)
        draw -= kinds[at].weight;
    if (kinds[at].strike(self, draw_target(self)))
        sim_fault_count(&self->federation->faults, self->engine, kinds[at].fault);
    return true;
}

static void on_strike(void *arg, sim_happening_t *item)
{
    sim_storm_t *self = arg;
    if (storm_strike(self, strikes, sizeof strikes / sizeof strikes[0], draw_site))
        sim_again(self->engine, item, sim_between(self->engine, 100, 15000));
}

/* ---- what strikes in some worlds only ------------------------------------------------------------------ */

enum {
    SUSPENSIONS_DRAW = 50,
    SUSPENSIONS = 40,
    DEATHS_DRAW = 52,
    DEATHS = 2,
    CONGESTION_DRAW = 55,
    SLOW_ONE_IN = 10,
    JOURNALS_DRAW = 57,
    JOURNALS = 2
};

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

/*  A site loses its power: the agent and all processes end, and the site stays silent for minutes. */
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

static void on_journal(void *arg, sim_happening_t *item)
{
    sim_storm_t *self = arg;
    uint64_t draw = sim_draw(self->engine, JOURNALS_DRAW, item->number) >> 16;
    uint32_t site = (uint32_t)(draw % self->federation->site_count);
    sim_fault_count(&self->federation->faults, self->engine, SIM_FAULT_JOURNAL_DAMAGED);
    sim_agent_damage(self->federation->agents[site]);
    storm_start_agent(self, site, 10 + (int64_t)(draw / 64 % 30000));
}

static void on_clear(void *arg, sim_happening_t *item)
{
    sim_storm_t *self = arg;
    (void)item;
    sim_network_congest(self->federation->network, 0);
}

void storm_scatter(sim_storm_t *self, uint64_t draws, uint32_t count, sim_happening_fn *fn)
{
    for (uint32_t i = 0; i < count; i++) {
        int64_t at_ms = (int64_t)(sim_draw(self->engine, draws + 1, i) % (uint64_t)(self->until_ms + 1));
        sim_later(self->engine, at_ms, fn, self)->number = i;
    }
}

void sim_storm_begin_some(sim_storm_t *self)
{
    if (sim_one_in(self->engine, 3, SUSPENSIONS_DRAW))
        storm_scatter(self, SUSPENSIONS_DRAW, SUSPENSIONS, on_suspend);
    if (sim_one_in(self->engine, 4, DEATHS_DRAW))
        storm_scatter(self, DEATHS_DRAW, DEATHS, on_death);
    if (sim_one_in(self->engine, 4, JOURNALS_DRAW))
        storm_scatter(self, JOURNALS_DRAW, JOURNALS, on_journal);
    if (sim_one_in(self->engine, 3, CONGESTION_DRAW)) {
        sim_network_congest(self->federation->network, SLOW_ONE_IN);
        (void)sim_later(self->engine, self->until_ms, on_clear, self);
    }
}

enum { LOSSES_DRAW = 58, LOSSES = 6, COPY_AGE_MS = 120000 };

static void on_copy(void *arg, sim_happening_t *item)
{
    sim_storm_t *self = arg;
    sim_agent_keep_copy(self->federation->agents[item->site]);
}

/*  The agent ends; before the next one starts, its journal is another. */
static void on_loss(void *arg, sim_happening_t *item)
{
    sim_storm_t *self = arg;
    sim_agent_crash(self->federation->agents[item->site]);
    sim_agent_forget(self->federation->agents[item->site], item->number % 3 == 0);
    storm_start_agent(self, item->site, 1000 + (int64_t)(item->number % 20000));
}

void sim_storm_begin_losses(sim_storm_t *self)
{
    if (!sim_one_in(self->engine, 3, LOSSES_DRAW))
        return;
    for (uint32_t i = 0; i < LOSSES; i++) {
        uint64_t draw = sim_draw(self->engine, LOSSES_DRAW + 1, i) >> 16;
        uint32_t site = (uint32_t)(draw % self->federation->site_count);
        int64_t at_ms = (int64_t)(draw / 64 % (uint64_t)(self->until_ms + 1));
        int64_t copy_ms = at_ms - (int64_t)(draw / 4096 % COPY_AGE_MS);
        if (i % 2 && copy_ms > 0)
            sim_later(self->engine, copy_ms, on_copy, self)->site = site;
        sim_happening_t *loss = sim_later(self->engine, at_ms, on_loss, self);
        loss->site = site;
        loss->number = draw / 64;
    }
}

enum { RESTORES_DRAW = 60, RESTORES = 2, AWAY_MOST_MS = 180000 };

static void on_restore(void *arg, sim_happening_t *item)
{
    sim_storm_t *self = arg;
    uint64_t draw = sim_draw(self->engine, RESTORES_DRAW, item->number) >> 16;
    sim_fault_count(&self->federation->faults, self->engine, SIM_FAULT_RESTORED);
    sim_federation_restore(self->federation, draw);
    for (uint32_t i = 0; i < self->federation->broker_count; i++)
        storm_start_broker(self, i, 10 + (int64_t)(draw / 4096 % 20000));
    if (draw % 2)
        cut(self, (uint32_t)(draw / 2 % self->federation->site_count), (int64_t)(draw / 64 % AWAY_MOST_MS));
}

void sim_storm_begin_restores(sim_storm_t *self)
{
    if (sim_one_in(self->engine, 3, RESTORES_DRAW))
        storm_scatter(self, RESTORES_DRAW, RESTORES, on_restore);
}

void sim_storm_begin(sim_storm_t *self)
{
    (void)sim_later(self->engine, sim_between(self->engine, 1000, 8000), on_strike, self);
}
