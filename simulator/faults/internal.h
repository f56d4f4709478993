/*  internal.h -- what draws and injects faults. Only simulator/faults includes it. */
#ifndef HELIO_SIMULATOR_FAULTS_INTERNAL_H
#define HELIO_SIMULATOR_FAULTS_INTERNAL_H

#include "simulator/faults/faults.h"

struct sim_storm {
    sim_federation_t *federation;
    sim_engine_t *engine;
    int64_t until_ms;
    bool aims;      /* aimed.c */
    uint32_t amids; /* leaders that were or will be struck amid what they had begun */
};

/*  A kind of fault, and what it strikes: a site or a broker. False: it had no effect, or counted itself. */
typedef struct storm_strike {
    sim_fault_t fault;
    uint32_t weight; /* how often it is drawn, compared with the others of its table */
    bool (*strike)(sim_storm_t *self, uint32_t target);
} storm_strike_t;
typedef uint32_t storm_draw_fn(const sim_storm_t *self);

/*  Draws a kind and its target, and strikes. False: the time of faults is over. */
bool storm_strike(sim_storm_t *self, const storm_strike_t *kinds, uint32_t count, storm_draw_fn *draw_target);
void storm_start_broker(sim_storm_t *self, uint32_t broker, int64_t delay_ms);
void storm_start_agent(sim_storm_t *self, uint32_t site, int64_t delay_ms);
/*  fn happens that many times until the faults end, numbered from 0; the times are drawn with `draws` + 1. */
void storm_scatter(sim_storm_t *self, uint64_t draws, uint32_t count, sim_happening_fn *fn);

#endif
