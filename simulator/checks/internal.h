/*  internal.h -- the checks and what they remember. Only simulator/checks includes it. */
#ifndef HELIO_SIMULATOR_CHECKS_INTERNAL_H
#define HELIO_SIMULATOR_CHECKS_INTERNAL_H

#include "simulator/checks/checks.h"

typedef struct checks_eviction checks_eviction_t; /* preemptions.c */
typedef struct checks_move checks_move_t;         /* migrations.c */

struct sim_checks {
    const sim_federation_t *federation;
    const sim_workload_t *workload;
    sim_engine_t *engine;
    const sim_broker_t *broker;
    helio_vdb_t *vdb;
    sim_sights_t sights;
    checks_eviction_t *preemptions;
    const checks_eviction_t *returned; /* placed again in this step; the job that it left for was not yet */
    checks_move_t *migrations;
    uint64_t gpus_held[SIM_QUOTA_SCOPES]; /* at the last commit */
    int64_t budget_held; /* since the budget is durable: it, or what was there before; 0 = it is not */
};

/*  running.c: what runs at the sites now. */
void checks_running(sim_checks_t *self);

/*  placements.c: when a placement is decided, by the clock of the leader that decides; when its order leaves. */
void checks_placement(sim_checks_t *self, const helio_row_placement_t *row, int64_t wall_ms);
void checks_order(sim_checks_t *self, const helio_order_t *order);
/*  True: as it wished, the job that it waits for has ended. */
bool checks_has_come(const sim_checks_t *self, const sim_after_t *after);

/*  rest.c: when every job is over. */
void checks_rest(sim_checks_t *self);

/*  limits.c: quotas and budgets, after every commit. */
void checks_limits(sim_checks_t *self);

/*  edits.c: what a new leader knows of them. */
void checks_edits(sim_checks_t *self);

/*  preemptions.c and migrations.c: rows that a leader writes, in order. */
void checks_eviction_transition(sim_checks_t *self, const helio_row_transition_t *row);
void checks_eviction_state(sim_checks_t *self, const helio_row_state_t *row);
void checks_eviction_placement(sim_checks_t *self, const helio_row_placement_t *row);
void checks_eviction_step(sim_checks_t *self); /* after every step */
void checks_evictions_free(sim_checks_t *self);
void checks_move_transition(sim_checks_t *self, const helio_row_transition_t *row);
void checks_move_state(sim_checks_t *self, const helio_row_state_t *row);
void checks_moves_free(sim_checks_t *self);

#endif
