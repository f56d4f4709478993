/*  internal.h -- the checks and what they remember. Only simulator/checks includes it. */
#ifndef HELIO_SIMULATOR_CHECKS_INTERNAL_H
#define HELIO_SIMULATOR_CHECKS_INTERNAL_H

#include "simulator/checks/checks.h"

typedef struct checks_preemption checks_preemption_t; /* preemptions.c */
typedef struct checks_migration checks_migration_t;   /* migrations.c */
typedef struct checks_restarts checks_restarts_t;     /* restarts.c */

struct sim_checks {
    const sim_federation_t *federation;
    const sim_workload_t *workload;
    sim_engine_t *engine;
    sim_database_t *database;
    sim_seen_t seen;
    int64_t latest_wall_ms; /* that the newest leader's clock has shown: it can be set back, and holds stay ended */
    checks_preemption_t *preemptions;
    const checks_preemption_t *returned; /* placed again in this step before the job that preempted it */
    checks_migration_t *migrations;
    checks_restarts_t *restarts;          /* NULL = no broker has taken over yet */
    uint64_t gpus_held[SIM_QUOTA_SCOPES]; /* at the last commit */
    int64_t seen_wall_ms[SIM_SITES_MAX];  /* as the rows of the sites have it; heard_ms: the true time of such a row */
    int64_t heard_ms[SIM_SITES_MAX];
    int64_t taken_over_boot_ms[SIM_SITES_MAX]; /* by the sites' clocks: when the newest leader began */
    int64_t budget_held; /* since the budget is durable: its limit, or the use at that time if larger */
};

/*  The newest leader: what it decides is checked. What an older one decides comes to nothing. */
static inline const sim_broker_t *checks_leader(const sim_checks_t *self)
{
    return sim_federation_leader(self->federation);
}

/*  running.c: what runs at the sites now. */
void checks_running(sim_checks_t *self);

/*  placements.c: when a placement is decided, by the clock of the leader that decides; when its order leaves. */
void checks_placement(sim_checks_t *self, const helio_row_placement_t *row, int64_t wall_ms);
void checks_hold(sim_checks_t *self, const helio_row_dependency_hold_t *row); /* at its end */
void checks_order(sim_checks_t *self, const helio_order_t *order);
/*  True: the job that it depends on has ended as the dependency demands. */
bool checks_has_come(const sim_checks_t *self, const sim_after_t *after, int32_t task); /* for that task */

/*  stops.c: when a leader decides to tell a site to stop an attempt. */
void checks_stop(sim_checks_t *self, const helio_stop_t *stop);

/*  leases.c: leases that an older leader grants. */
void checks_lease(sim_checks_t *self, uint32_t site, int64_t sent_boot_ms, bool newest);
void checks_lease_takeover(sim_checks_t *self);

/*  attested.c: what is charged when a site is attested. */
void checks_attested_site(sim_checks_t *self, const helio_row_site_t *row);
void checks_attested_attempt(sim_checks_t *self, const helio_row_attempt_t *row);

/*  whole_run.c: checks at the end, when every job is over. */
void checks_rest(sim_checks_t *self);

/*  limits.c: quotas and budgets, after every commit. */
void checks_limits(sim_checks_t *self);

/*  edits.c: checks of the edits that a new leader has loaded. */
void checks_edits(sim_checks_t *self);

/*  preemptions.c and migrations.c: rows that a leader writes, in order. */
void checks_preemption_transition(sim_checks_t *self, const helio_row_transition_t *row);
void checks_preemption_state(sim_checks_t *self, const helio_row_state_t *row);
void checks_preemption_placement(sim_checks_t *self, const helio_row_placement_t *row);
void checks_preemption_class(sim_checks_t *self, const helio_row_class_t *row);
void checks_preemption_inventory(sim_checks_t *self); /* after the step that took one */
void checks_preemption_takeover(sim_checks_t *self);
void checks_preemption_step(sim_checks_t *self); /* after every step */
void checks_preemptions_free(sim_checks_t *self);
void checks_migration_transition(sim_checks_t *self, const helio_row_transition_t *row);
void checks_migration_state(sim_checks_t *self, const helio_row_state_t *row);
void checks_migrations_free(sim_checks_t *self);

/*  restarts.c: what a new leader finds in the database, and what it decides before all sites are back. */
void checks_restart_takeover(sim_checks_t *self);
void checks_restart_site(sim_checks_t *self, const helio_row_site_t *row);
void checks_restart_capacity(sim_checks_t *self, const helio_row_capacity_t *row);
void checks_restart_quota(sim_checks_t *self);
void checks_restart_decision(sim_checks_t *self, const helio_row_decision_t *row);
void checks_restart_placement(sim_checks_t *self, const helio_row_placement_t *row, int64_t wall_ms);
void checks_restarts_free(sim_checks_t *self);

#endif
