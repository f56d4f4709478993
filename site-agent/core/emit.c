/*  emit.c -- how the files of the core emit effects. */
#include <assert.h>

#include "site-agent/core/internal.h"

void helio_agent_emit(helio_agent_core_t *self, uint32_t kind, const void *record)
{
    assert(self->effects && kind < HELIO_AGENT_EFFECT_COUNT);
    (void)helio_effects_add(self->effects, kind, helio_agent_effects, self->open_batch, record);
}
