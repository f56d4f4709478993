/*  lease_watch.c -- the deadline that a lease file proves, on this machine's boot clock. */
#include "federation/base/number.h"
#include "site-agent/shim/lease_watch.h"

#include <string.h>

void helio_lease_watch_see(helio_lease_watch_t *self, const helio_lease_t *lease, int64_t asked_boot_ms,
                           int64_t now_boot_ms, int64_t now_wall_ms)
{
    if (lease->boot_id[0] && strcmp(lease->boot_id, self->boot_id) == 0) {
        self->stop_boot_ms = lease->stop_boot_ms;
        self->kill_boot_ms = lease->kill_boot_ms;
        return;
    }
    if (!lease->number || lease->number < self->number)
        return;
    /* By the two wall clocks, at every read, since this machine's clock can be corrected meanwhile. The earliest result
     * counts. */
    int64_t since_ms = now_boot_ms - now_wall_ms + lease->written_wall_ms - (int64_t)self->tolerance_ms;
    int64_t stop_ms = since_ms + lease->stop_in_ms, kill_ms = since_ms + lease->kill_in_ms;
    if (lease->number == self->number) {
        stop_ms = helio_lesser_i64(stop_ms, self->stop_boot_ms);
        kill_ms = helio_lesser_i64(kill_ms, self->kill_boot_ms);
#ifndef HELIO_MUTANT_lease_by_clock
    } else if (self->number) { /* by the boot clock alone: the lease was written after the former number was read */
        stop_ms = helio_lesser_i64(stop_ms, self->looked_at_ms + lease->stop_in_ms);
        kill_ms = helio_lesser_i64(kill_ms, self->looked_at_ms + lease->kill_in_ms);
#endif
    }
    self->number = lease->number;
    self->looked_at_ms = asked_boot_ms;
    self->stop_boot_ms = stop_ms;
    self->kill_boot_ms = kill_ms;
}
