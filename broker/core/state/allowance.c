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

bool core_allowance_take(allowance_t *self, int64_t now_ms, uint32_t set)
{
    earn(self, now_ms, set);
    self->shed = self->shed || self->used >= (int64_t)SETS_SAVED * set;
    if (self->used >= (int64_t)SETS_SAVED * set)
        return false;
    self->used++;
    return true;
}

bool core_allowance_is_back(allowance_t *self, int64_t now_ms, uint32_t set)
{
    earn(self, now_ms, set);
    bool back = self->shed && self->used <= set;
    if (back)
        self->shed = false;
    return back;
}
