/*  lease.c -- how long attempts under `lease` and `eager` can run without a renewal from the broker.
 *
 *  The lease counts from the agent's own sending, on CLOCK_BOOTTIME, so it ends here before the broker declares it
 *  ended. The caller of helio_lease_due stops the attempts.
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
    if (lease_ms == 0 || lease_ms > (uint64_t)INT32_MAX * 1000 || from_boot_ms > self->event->now_ms)
        return;
    int64_t until = from_boot_ms + (int64_t)lease_ms;
    if (until <= self->meta.lease_boot_ms)
        return;
    assert(self->loaded);
    self->meta.lease_boot_ms = until;
    self->meta.lease_wall_ms = self->event->wall_ms + (until - self->event->now_ms);
    self->meta.lease_ms = lease_ms;
    self->lease_stage = STAGE_VALID;
    if (self->attempts.leased)
        self->meta_changed = true; /* without such attempts no count is needed after a restart */
    self->lease_changed = true;
}

/*  A copy that this journal does not know has no owner: the broker can place its job again when the lease of that time
 *  is over. Of what was found, only what the broker has kept is prolonged. */
static bool is_prolonged(const helio_attempt_t *attempt)
{
#ifdef HELIO_MUTANT_unkept_is_prolonged
    if (attempt->found)
        return true;
#endif
    return !attempt->over && !attempt->fenced && (helio_attempt_leased(attempt) || attempt->kept);
}

void helio_lease_tell(helio_agent_core_t *self)
{
    if (!self->lease_changed)
        return;
    self->lease_changed = false;
    helio_afx_lease_t lease = {.deadline_boot_ms = stop_at_ms(self)};
    lease.attempts.items =
        helio_arena_alloc(self->effects->arena, self->attempts.count + 1, sizeof *lease.attempts.items);
    for (const helio_attempt_t *attempt = self->attempts.first; attempt; attempt = attempt->next)
        if (is_prolonged(attempt) && lease.attempts.count < HELIO_LEASED_MAX)
            lease.attempts.items[lease.attempts.count++] =
                (helio_attempt_ref_t){attempt->order.key, attempt->order.epoch};
    helio_agent_emit(self, HELIO_AGENT_FX_LEASE, &lease);
}

/*  The earlier by two clocks: CLOCK_BOOTTIME starts anew with the machine, and the wall clock can be set. */
void helio_lease_loaded(helio_agent_core_t *self)
{
    if (!self->meta.lease_boot_ms)
        return;
    int64_t by_wall = self->event->now_ms + (self->meta.lease_wall_ms - self->event->wall_ms);
    if (by_wall < self->meta.lease_boot_ms)
        self->meta.lease_boot_ms = by_wall;
    if (self->meta.lease_boot_ms <= 0)
        self->meta.lease_boot_ms = 1; /* it ended before this machine started; 0 would mean that no lease exists */
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
