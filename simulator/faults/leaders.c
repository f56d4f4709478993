/*  leaders.c -- what goes wrong with two brokers: pauses, broken ways to the database and to the sites, restarts of the
 *  server. */
#include "simulator/faults/internal.h"

static sim_broker_t *broker_of(const sim_storm_t *self, uint32_t index)
{
    return self->federation->brokers[index];
}

static int64_t after(const sim_storm_t *self, int64_t low_ms, int64_t high_ms)
{
    return sim_now_ms(self->engine) + sim_between(self->engine, low_ms, high_ms);
}

static uint32_t any_site(const sim_storm_t *self)
{
    return (uint32_t)sim_between(self->engine, 0, self->federation->site_count - 1);
}

static bool vanish(sim_storm_t *self, uint32_t broker)
{
    bool had_session = sim_store_has_session(sim_broker_store(broker_of(self, broker)));
    sim_broker_crash(broker_of(self, broker), true);
    storm_start_broker(self, broker, sim_between(self->engine, 1000, 40000));
    return had_session;
}

static bool pause_shortly(sim_storm_t *self, uint32_t broker)
{
    return sim_broker_pause(broker_of(self, broker), after(self, 500, 12000));
}

static bool pause_for_long(sim_storm_t *self, uint32_t broker)
{
    return sim_broker_pause(broker_of(self, broker), after(self, 13000, 90000));
}

static bool cut_from_database(sim_storm_t *self, uint32_t broker)
{
    bool led = sim_broker_leads(broker_of(self, broker));
    sim_store_cut(sim_broker_store(broker_of(self, broker)), SIM_TO_SERVER | SIM_FROM_SERVER, after(self, 1000, 90000));
    return led;
}

static bool make_deaf(sim_storm_t *self, uint32_t broker)
{
    bool led = sim_broker_leads(broker_of(self, broker));
    sim_store_cut(sim_broker_store(broker_of(self, broker)), SIM_FROM_SERVER, after(self, 1000, 60000));
    return led;
}

static bool make_mute(sim_storm_t *self, uint32_t broker)
{
    bool led = sim_broker_leads(broker_of(self, broker));
    sim_store_cut(sim_broker_store(broker_of(self, broker)), SIM_TO_SERVER, after(self, 1000, 60000));
    return led;
}

static bool lose_lock(sim_storm_t *self, uint32_t broker)
{
    return sim_store_lose_lock(sim_broker_store(broker_of(self, broker)));
}

static void restart(sim_storm_t *self, int64_t until_ms)
{
    bool arrived = sim_chance(self->engine, 0.5);
    for (uint32_t i = 0; i < self->federation->broker_count; i++)
        sim_store_restart(sim_broker_store(broker_of(self, i)), arrived, until_ms);
}

static bool restart_database(sim_storm_t *self, uint32_t broker)
{
    (void)broker;
    restart(self, after(self, 100, 8000));
    return true;
}

static bool take_database_away(sim_storm_t *self, uint32_t broker)
{
    (void)broker;
    restart(self, after(self, 60000, 240000));
    return true;
}

static bool cut_site_from(sim_storm_t *self, uint32_t broker)
{
    sim_network_cut(self->federation->network, any_site(self), broker, SIM_WAY_BOTH, after(self, 1000, 120000));
    return true;
}

/*  From one broker or from both: the link of the site itself. */
static bool cut_one_way(sim_storm_t *self, uint32_t broker, sim_way_t way)
{
    broker = sim_chance(self->engine, 0.5) ? SIM_EVERY_BROKER : broker;
    sim_network_cut(self->federation->network, any_site(self), broker, way, after(self, 500, 60000));
    return true;
}

static bool cut_up(sim_storm_t *self, uint32_t broker)
{
    return cut_one_way(self, broker, SIM_WAY_UP);
}

static bool cut_down(sim_storm_t *self, uint32_t broker)
{
    return cut_one_way(self, broker, SIM_WAY_DOWN);
}

static bool jump_wall_clock(sim_storm_t *self, uint32_t broker)
{
    self->federation->broker_hosts[broker].clock.wall_skew_ms = sim_between(self->engine, -60000, 60000);
    return true;
}

static const storm_strike_t strikes[] = {
    {SIM_FAULT_BROKER_VANISHED, 6, vanish},
    {SIM_FAULT_BROKER_PAUSED, 10, pause_shortly},
    {SIM_FAULT_LEADER_PAUSED, 12, pause_for_long},
    {SIM_FAULT_LEADER_CUT, 8, cut_from_database},
    {SIM_FAULT_LEADER_DEAF, 6, make_deaf},
    {SIM_FAULT_LEADER_MUTE, 6, make_mute},
    {SIM_FAULT_LOCK_LOST, 4, lose_lock},
    {SIM_FAULT_DATABASE_RESTART, 8, restart_database},
    {SIM_FAULT_DATABASE_AWAY, 1, take_database_away},
    {SIM_FAULT_CUT_FROM_ONE, 8, cut_site_from},
    {SIM_FAULT_CUT_UP, 8, cut_up},
    {SIM_FAULT_CUT_DOWN, 8, cut_down},
    {SIM_FAULT_BROKER_WALL_JUMP, 3, jump_wall_clock},
};
/*  Mostly the newest leader, since a follower has nothing to lose. */
static uint32_t draw_broker(const sim_storm_t *self)
{
    enum { LEADER_OF_4 = 3 };
    uint32_t broker = (uint32_t)sim_between(self->engine, 0, self->federation->broker_count - 1);
    if (sim_between(self->engine, 0, 3) >= LEADER_OF_4)
        return broker;
    for (uint32_t i = 0; i < self->federation->broker_count; i++)
        if (broker_of(self, i) == sim_federation_leader(self->federation))
            broker = i;
    return broker;
}

static void on_strike(void *arg, sim_happening_t *item)
{
    sim_storm_t *self = arg;
    if (storm_strike(self, strikes, sizeof strikes / sizeof strikes[0], draw_broker))
        sim_again(self->engine, item, sim_between(self->engine, 100, 25000));
}

void sim_storm_begin_leaders(sim_storm_t *self)
{
    (void)sim_later(self->engine, sim_between(self->engine, 1000, 20000), on_strike, self);
}
