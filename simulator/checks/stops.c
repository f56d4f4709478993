/*  stops.c -- what people ask of a job's stop is not forgotten. */
#include "simulator/checks/internal.h"

void checks_stop(sim_checks_t *self, const helio_stop_t *stop)
{
    const sim_database_state_t known = sim_database_state(self->database, stop->key);
    if (known.row.haste != HELIO_HASTE_NOW || known.row.epoch != stop->epoch)
        return;
    self->seen.hastened++;
    if (stop->mode != HELIO_STOP_MODE_KILL)
        sim_violate(self->engine, "a job that was to end at once was given its grace");
}
