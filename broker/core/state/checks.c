/*  checks.c -- the times of the next checks. */
#include "broker/core/state/checks.h"

#include "broker/core/state/core.h"
#include "federation/base/number.h"

void core_check_at(helio_broker_core_t *self, core_check_t check, int64_t at_ms)
{
    self->next_check_ms[check] = at_ms;
}

void core_check_by(helio_broker_core_t *self, core_check_t check, int64_t at_ms)
{
    if (at_ms < self->next_check_ms[check])
        self->next_check_ms[check] = at_ms;
}

bool core_check_is_due(const helio_broker_core_t *self, core_check_t check)
{
    return (check <= CORE_CHECK_DATABASE ? self->now_ms : self->wall_ms) >= self->next_check_ms[check];
}

int64_t core_checks_wake_ms(const helio_broker_core_t *self)
{
    int64_t wake_ms = helio_lesser_i64(self->next_check_ms[CORE_CHECK_SITES], self->next_check_ms[CORE_CHECK_DATABASE]);
    for (uint32_t check = CORE_CHECK_DATABASE + 1; check < CORE_CHECKS; check++) {
        int64_t at_ms = self->next_check_ms[check];
        if (at_ms == INT64_MAX)
            continue;
        int64_t left_ms = at_ms > self->wall_ms ? at_ms - self->wall_ms : 0;
        if (left_ms < wake_ms - self->now_ms)
            wake_ms = self->now_ms + left_ms;
    }
    return wake_ms;
}
