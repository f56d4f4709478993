/*  lease.h -- how long attempts under `lease` and `eager` can run without a renewal from the broker. */
#ifndef HELIO_AGENT_LEASE_H
#define HELIO_AGENT_LEASE_H

#include "site-agent/core/inner.h"

void helio_lease_grant(helio_agent_core_t *self, int64_t from_boot_ms, uint64_t lease_ms);
void helio_lease_loaded(helio_agent_core_t *self);
/*  What the lease's end asks for now, each once: GRACE, then KILL. */
bool helio_lease_due(helio_agent_core_t *self, uint32_t *ret_mode);
bool helio_lease_is_valid(const helio_agent_core_t *self);
int64_t helio_lease_wake_ms(const helio_agent_core_t *self);

#endif
