/*  portion.c -- what one batch of the store takes of changes of many jobs at once. */
#include "broker/core/state/portion.h"

#include "broker/core/state/core.h"

bool core_portion_has_room(helio_broker_core_t *self)
{
#ifdef HELIO_MUTANT_bulk_at_once
    return true;
#endif
    portion_t *portion = &self->portion;
    if (portion->batch != self->open_batch || self->now_ms - portion->since_ms >= CORE_PORTION_PAUSE_MS)
        *portion = (portion_t){self->open_batch, self->now_ms, 0};
    return portion->count < CORE_PORTION_MAX;
}

void core_portion_take(helio_broker_core_t *self)
{
    self->portion.count++;
}
