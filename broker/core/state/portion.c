/*  portion.c -- what one batch of the store takes of changes of many jobs at once. */
#include "broker/core/state/portion.h"

#include "broker/core/state/core.h"

static portion_t *renewed(helio_broker_core_t *self)
{
    portion_t *portion = &self->portion;
    if (portion->batch != self->open_batch || self->now_ms - portion->since_ms >= CORE_PORTION_PAUSE_MS)
        *portion = (portion_t){self->open_batch, self->now_ms, 0, !portion->holds_first};
    return portion;
}

bool core_portion_has_room(helio_broker_core_t *self)
{
#ifdef HELIO_MUTANT_bulk_at_once
    return true;
#endif
    return renewed(self)->count < CORE_PORTION_MAX;
}

void core_portion_take(helio_broker_core_t *self)
{
    renewed(self)->count++;
}

bool core_portion_is_for_holds(helio_broker_core_t *self)
{
#ifdef HELIO_MUTANT_commands_before_holds
    return false;
#endif
    return renewed(self)->holds_first;
}
