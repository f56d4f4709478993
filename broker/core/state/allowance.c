/*  allowance.c -- how often a site may change what it says of one kind. */
#include "broker/core/state/allowance.h"

enum { EARNED_MS = 300000, SETS_SAVED = 2 };

static void earn(allowance_t *self, int64_t now_ms, uint32_t set)
{
    int64_t earned = (now_ms - self->at_ms) * set / EARNED_MS;
    if (!earned)
        return;
    self->used = self->used > earned ? self->used - earned : 0;
    self->at_ms = now_ms;
}

bool core_allowance_take_all(allowance_t *self, int64_t now_ms, uint32_t set, uint32_t count)
{
    earn(self, now_ms, set);
    bool fits = self->used + count <= (int64_t)SETS_SAVED * set;
    self->shed = self->shed || !fits;
    self->used += fits ? count : 0;
    return fits;
}

bool core_allowance_take(allowance_t *self, int64_t now_ms, uint32_t set)
{
    return core_allowance_take_all(self, now_ms, set, 1);
}

bool core_allowance_is_back(allowance_t *self, int64_t now_ms, uint32_t set)
{
    earn(self, now_ms, set);
    bool back = self->shed && self->used <= set;
    if (back)
        self->shed = false;
    return back;
}
