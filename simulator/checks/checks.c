#include "simulator/checks/checks.h"

#include <stdlib.h>

#include "simulator/checks/internal.h"

sim_checks_t *sim_checks_new(const sim_federation_t *federation, const sim_workload_t *workload)
{
    sim_checks_t *self = helio_new(1, sizeof *self);
    self->federation = federation;
    self->workload = workload;
    self->engine = federation->engine;
    self->broker = federation->broker;
    self->vdb = federation->vdb;
    return self;
}

void sim_checks_destroy(sim_checks_t **self_p)
{
    if (!*self_p)
        return;
    checks_evictions_free(*self_p);
    checks_moves_free(*self_p);
    free(*self_p);
    *self_p = NULL;
}

void sim_checks_decided(sim_checks_t *self, uint32_t event_kind, const helio_effect_t *effect, int64_t wall_ms)
{
    bool looks = event_kind == HELIO_BROKER_EV_PLAN || event_kind == HELIO_BROKER_EV_EXPLAIN;
    if (looks && effect->kind != HELIO_BROKER_FX_REPLY)
        sim_violate(self->engine, "a look changed something");
    if (effect->kind == HELIO_BROKER_FX_ROW_TRANSITION) {
        const helio_row_transition_t *row = effect->payload;
        self->sights.attested += event_kind == HELIO_BROKER_EV_ATTEST && row->from == HELIO_JOB_SUSPECT;
        checks_eviction_transition(self, effect->payload);
        checks_move_transition(self, effect->payload);
    } else if (effect->kind == HELIO_BROKER_FX_ROW_STATE) {
        checks_eviction_state(self, effect->payload);
        checks_move_state(self, effect->payload);
    } else if (effect->kind == HELIO_BROKER_FX_ROW_PLACEMENT) {
        checks_eviction_placement(self, effect->payload);
        checks_placement(self, effect->payload, wall_ms);
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

void sim_checks_taken_over(sim_checks_t *self)
{
    checks_edits(self);
}

void sim_checks_step(sim_checks_t *self)
{
    if (helio_vdb_violation(self->vdb)[0])
        sim_violate(self->engine, "%s", helio_vdb_violation(self->vdb));
    checks_eviction_step(self);
    checks_running(self);
}

void sim_checks_at_rest(sim_checks_t *self)
{
    checks_rest(self);
}

sim_sights_t sim_checks_sights(const sim_checks_t *self)
{
    return self->sights;
}
