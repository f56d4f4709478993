/*  aimed.c -- faults that strike when they are least welcome: in the midst of what a leader has begun, several at once.
 *
 *      a leader                                        what strikes, soon after that
 *      tells a job to leave, for another one or        the leader ends, and its successor misses a site
 *          to migrate
 *      leads                                           it ends together with the agents of some sites
 *
 *  They draw with sim_draw alone. */
#include "simulator/faults/internal.h"

enum {
    AMID_DRAW = 70,
    AMIDS = 4, /* of one world */
    TOGETHER_DRAW = 72,
    TOGETHERS = 3,
    SUDDEN_MS = 4000,
    BROKER_BACK_MS = 20000,
    AGENT_BACK_MS = 30000,
    MISSED_MS = 90000
};

static uint32_t index_of_leader(const sim_storm_t *self)
{
    uint32_t broker = 0;
    while (self->federation->brokers[broker] != sim_federation_leader(self->federation))
        broker++;
    return broker;
}

static void end_leader(sim_storm_t *self, uint64_t draw)
{
    uint32_t broker = index_of_leader(self);
    sim_broker_crash(self->federation->brokers[broker], draw % 2);
    storm_start_broker(self, broker, 1000 + (int64_t)(draw / 2 % BROKER_BACK_MS));
}

/* ---- amid a preemption or a migration ------------------------------------------------------------------ */

/*  Most jobs leave for others when the storm is over, and everything runs. These few strikes come then as well. */
static void on_amid(void *arg, sim_happening_t *item)
{
    sim_storm_t *self = arg;
    uint64_t draw = sim_draw(self->engine, AMID_DRAW + 1, item->number) >> 16;
    uint32_t missed = (uint32_t)(draw % self->federation->site_count);
    int64_t until_ms = sim_now_ms(self->engine) + (int64_t)(draw / 8 % MISSED_MS);
    if (!sim_broker_leads(sim_federation_leader(self->federation)))
        return;
    sim_fault_count(&self->federation->faults, self->engine, SIM_FAULT_LEADER_AMID);
    end_leader(self, draw / 4096);
    sim_network_cut(self->federation->network, missed, SIM_EVERY_BROKER, SIM_WAY_BOTH, until_ms);
}

static bool leaves_for_another(const helio_effect_t *effect)
{
    if (effect->kind != HELIO_BROKER_FX_ROW_TRANSITION)
        return false;
    const helio_row_transition_t *row = effect->payload;
    return row->to == HELIO_JOB_STOPPING && (helio_details_find(&row->why, HELIO_DETAIL_PREEMPTED_BY) ||
                                             helio_details_find(&row->why, HELIO_DETAIL_MIGRATED));
}

void sim_storm_decided(sim_storm_t *self, const helio_effect_t *effect)
{
    if (!self->aims || self->amids == AMIDS || !sim_one_in(self->engine, 3, AMID_DRAW) || !leaves_for_another(effect))
        return;
    int64_t after_ms = (int64_t)(sim_draw(self->engine, AMID_DRAW, self->amids) >> 16) % SUDDEN_MS;
    sim_later(self->engine, after_ms, on_amid, self)->number = self->amids++;
}

/* ---- with the leader ----------------------------------------------------------------------------------- */

static void on_together(void *arg, sim_happening_t *item)
{
    sim_storm_t *self = arg;
    uint64_t draw = sim_draw(self->engine, TOGETHER_DRAW, item->number) >> 16;
    if (!sim_broker_leads(sim_federation_leader(self->federation)))
        return;
    sim_fault_count(&self->federation->faults, self->engine, SIM_FAULT_SITES_WITH_LEADER);
    end_leader(self, draw / 16);
    for (uint32_t i = 0; i < self->federation->site_count; i++) {
        if (!(draw >> i & 1))
            continue;
        sim_agent_crash(self->federation->agents[i]);
        storm_start_agent(self, i, 10 + (int64_t)(draw / 64 % AGENT_BACK_MS));
    }
}

void sim_storm_begin_aimed(sim_storm_t *self)
{
    self->aims = true;
    if (sim_one_in(self->engine, 3, TOGETHER_DRAW))
        storm_scatter(self, TOGETHER_DRAW, TOGETHERS, on_together);
}
