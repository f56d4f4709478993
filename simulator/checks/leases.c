/*  leases.c -- the promise on leases: a leader grants one only for a time at which it still led. The next leader computes
 *  from the moment at which it began when no lease of an older one can be valid any more. A grant may leave late: then
 *  its commit was before that moment, and so was the request, from which it counts. */
#include "simulator/checks/internal.h"

void checks_lease_takeover(sim_checks_t *self)
{
    for (uint32_t i = 0; i < self->federation->site_count; i++)
        self->taken_over_boot_ms[i] = sim_boot_ms(self->engine, &self->federation->hosts[i].clock);
}

void checks_lease(sim_checks_t *self, uint32_t site, int64_t sent_boot_ms, bool newest)
{
    if (!newest && sent_boot_ms > self->taken_over_boot_ms[site])
        sim_violate(self->engine, "a leader granted a lease that was asked for %lld ms after it had been replaced",
                    (long long)(sent_boot_ms - self->taken_over_boot_ms[site]));
}
