/*  lease.c -- how long attempts under `lease` and `eager` can run without a renewal from the broker.
 *
 *  The lease counts from our own sending, on CLOCK_BOOTTIME, so it ends here before the broker declares it
 * ended. The caller of helio_lease_due stops the attempts.
 */
#include "site-agent/core/lease.h"

#include <assert.h>

enum { STAGE_VALID, STAGE_STOPPED, STAGE_KILLED };

/*  Short leases keep three quarters of their length. */
static int64_t margin_ms(const helio_agent_core_t *self)
{
    uint64_t quarter = self->meta.lease_ms / 4;
    return (int64_t)(self->options.kill_margin_ms < quarter ? self->options.kill_margin_ms : quarter);
}

static int64_t stop_at_ms(const helio_agent_core_t *self)
{
    return self->meta.lease_boot_ms - margin_ms(self);
}

static int64_t kill_at_ms(const helio_agent_core_t *self)
{
    return self->meta.lease_boot_ms - margin_ms(self) / 4;
}

bool helio_lease_is_valid(const helio_agent_core_t *self)
{
    return self->meta.lease_boot_ms && self->event->now_ms < stop_at_ms(self);
}

void helio_lease_grant(helio_agent_core_t *self, int64_t from_boot_ms, uint64_t lease_ms)
{
    if (lease_ms == 0 || lease_ms > (uint64_t)INT32_MAX * 1000)
        return;
    int64_t until = from_boot_ms + (int64_t)lease_ms;
    if (from_boot_ms > self->event->now_ms || until <= self->meta.lease_boot_ms)
        return;
    assert(self->loaded);
    self->meta.lease_boot_ms = until;
    self->meta.lease_wall_ms = self->event->wall_ms + (until - self->event->now_ms);
    self->meta.lease_ms = lease_ms;
    self->lease_stage = STAGE_VALID;
    if (self->attempts.leased)
        self->meta_changed = true; /* without such attempts a restart has nothing to count for */
    helio_afx_lease_t lease = {stop_at_ms(self)};
    helio_agent_emit(self, HELIO_AGENT_FX_LEASE, &lease);
}

/*  The earlier of the two clocks' counts: CLOCK_BOOTTIME starts over with the machine, the wall clock may be
 * set. */
void helio_lease_loaded(helio_agent_core_t *self)
{
    if (!self->meta.lease_boot_ms)
        return;
    int64_t by_wall = self->event->now_ms + (self->meta.lease_wall_ms - self->event->wall_ms);
    if (by_wall < self->meta.lease_boot_ms)
        self->meta.lease_boot_ms = by_wall;
    if (self->meta.lease_boot_ms <= 0)
        self->meta.lease_boot_ms = 1; /* ended before this machine started: 0 would say that there was none */
}

bool helio_lease_due(helio_agent_core_t *self, uint32_t *ret_mode)
{
    if (!self->meta.lease_boot_ms)
        return false;
    if (self->lease_stage == STAGE_VALID && self->event->now_ms >= stop_at_ms(self)) {
        self->lease_stage = STAGE_STOPPED;
        *ret_mode = HELIO_STOP_MODE_GRACE;
        return true;
    }
    if (self->lease_stage == STAGE_STOPPED && self->event->now_ms >= kill_at_ms(self)) {
        self->lease_stage = STAGE_KILLED;
        *ret_mode = HELIO_STOP_MODE_KILL;
        return true;
    }
    return false;
}

int64_t helio_lease_wake_ms(const helio_agent_core_t *self)
{
    if (!self->meta.lease_boot_ms || self->lease_stage == STAGE_KILLED || !self->attempts.leased)
        return INT64_MAX;
    return self->lease_stage == STAGE_VALID ? stop_at_ms(self) : kill_at_ms(self);
}
