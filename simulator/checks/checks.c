/*  checks.c -- passes the moments of the federation to the checks, and counts what the checks saw. */
#include "simulator/checks/checks.h"

#include <stdlib.h>

#include "simulator/checks/internal.h"

sim_checks_t *sim_checks_new(const sim_federation_t *federation, const sim_workload_t *workload)
{
    sim_checks_t *self = helio_new(1, sizeof *self);
    self->federation = federation;
    self->workload = workload;
    self->engine = federation->engine;
    self->database = federation->database;
    return self;
}

void sim_checks_destroy(sim_checks_t **self_p)
{
    if (!*self_p)
        return;
    checks_preemptions_free(*self_p);
    checks_migrations_free(*self_p);
    checks_restarts_free(*self_p);
    free(*self_p);
    *self_p = NULL;
}

void sim_checks_decided(sim_checks_t *self, uint32_t event_kind, const helio_effect_t *effect, int64_t wall_ms)
{
    self->latest_wall_ms = wall_ms > self->latest_wall_ms ? wall_ms : self->latest_wall_ms;
    bool is_query = event_kind == HELIO_BROKER_EV_PLAN || event_kind == HELIO_BROKER_EV_EXPLAIN ||
                    event_kind == HELIO_BROKER_EV_DESIRED || event_kind == HELIO_BROKER_EV_QUEUE_ORDER;
    if (is_query && effect->kind != HELIO_BROKER_FX_REPLY && effect->kind != HELIO_BROKER_FX_ANSWER)
        sim_violate(self->engine,
                    "a plan, an explanation or a look at the GPUs wanted or at the order changed something");
    if (effect->kind == HELIO_BROKER_FX_ROW_TRANSITION) {
        const helio_row_transition_t *row = effect->payload;
        self->seen.attested += event_kind == HELIO_BROKER_EV_ATTEST && row->from == HELIO_JOB_SUSPECT;
        self->seen.curtailed += helio_details_find(&row->why, HELIO_DETAIL_STOPPED_FOR_CURTAILMENT) != NULL &&
                                row->to == HELIO_JOB_STOPPING;
        checks_preemption_transition(self, effect->payload);
        checks_migration_transition(self, effect->payload);
    } else if (effect->kind == HELIO_BROKER_FX_ROW_STATE) {
        checks_preemption_state(self, effect->payload);
        checks_migration_state(self, effect->payload);
    } else if (effect->kind == HELIO_BROKER_FX_ROW_PLACEMENT) {
        checks_preemption_placement(self, effect->payload);
        checks_placement(self, effect->payload, wall_ms);
        checks_restart_placement(self, effect->payload, wall_ms);
    } else if (effect->kind == HELIO_BROKER_FX_STOP) {
        checks_stop(self, &((const helio_fx_stop_t *)effect->payload)->stop);
    } else if (effect->kind == HELIO_BROKER_FX_ROW_DEPENDENCY_HOLD) {
        checks_hold(self, effect->payload);
    } else if (effect->kind == HELIO_BROKER_FX_ROW_CLASS) {
        checks_preemption_class(self, effect->payload);
    } else if (effect->kind == HELIO_BROKER_FX_ROW_DECISION) {
        checks_restart_decision(self, effect->payload);
    } else if (effect->kind == HELIO_BROKER_FX_ROW_CAPACITY) {
        checks_restart_capacity(self, effect->payload);
    } else if (effect->kind == HELIO_BROKER_FX_ROW_QUOTA) {
        checks_restart_quota(self);
    } else if (effect->kind == HELIO_BROKER_FX_ROW_SITE) {
        checks_restart_site(self, effect->payload);
        checks_attested_site(self, effect->payload);
    } else if (effect->kind == HELIO_BROKER_FX_ROW_ATTEMPT) {
        checks_attested_attempt(self, effect->payload);
    } else if (effect->kind == HELIO_BROKER_FX_VERDICTS_DONE) {
        checks_preemption_inventory(self);
    }
}

void sim_checks_committed(sim_checks_t *self)
{
    checks_limits(self);
}

void sim_checks_order_left(sim_checks_t *self, const helio_order_t *order)
{
    checks_order(self, order);
}

void sim_checks_granted(sim_checks_t *self, uint32_t site, int64_t sent_boot_ms, bool newest)
{
    checks_lease(self, site, sent_boot_ms, newest);
}

void sim_checks_taken_over(sim_checks_t *self)
{
    checks_lease_takeover(self);
    self->latest_wall_ms = sim_broker_wall_ms(checks_leader(self));
    checks_edits(self);
    checks_preemption_takeover(self);
    checks_restart_takeover(self);
}

void sim_checks_step(sim_checks_t *self)
{
    if (sim_database_violation(self->database)[0])
        sim_violate(self->engine, "%s", sim_database_violation(self->database));
    checks_preemption_step(self);
    checks_running(self);
}

void sim_checks_at_rest(sim_checks_t *self)
{
    checks_rest(self);
}

sim_seen_t sim_checks_seen(const sim_checks_t *self)
{
    return self->seen;
}
