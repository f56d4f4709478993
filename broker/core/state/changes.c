/*  changes.c -- the kinds of change after which waiting classes are asked again. */
#include "broker/core/state/changes.h"

#include "broker/core/state/core.h"

void core_round_due(helio_broker_core_t *self)
{
    self->round_wanted = true;
}

void core_capacity_changed_in_round(helio_broker_core_t *self)
{
    self->capacity_version++;
}

void core_capacity_changed(helio_broker_core_t *self)
{
    core_capacity_changed_in_round(self);
    core_round_due(self);
}

void core_findings_expire(helio_broker_core_t *self)
{
    self->rounds++;
}

void core_facts_changed(helio_broker_core_t *self, site_t *site)
{
    self->facts_version++;
    if (site)
        site->facts = self->facts_version;
    core_capacity_changed(self);
}

void core_pools_changed(helio_broker_core_t *self)
{
    self->pools_version++;
    core_capacity_changed(self);
}
