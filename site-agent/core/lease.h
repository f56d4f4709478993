/*  lease.h -- how long attempts under `lease` and `eager` can run without a renewal from the broker. */
#ifndef HELIO_AGENT_LEASE_H
#define HELIO_AGENT_LEASE_H

#include "site-agent/core/attempts.h"

void helio_lease_grant(helio_agent_core_t *self, int64_t from_boot_ms, uint64_t lease_ms);
void helio_lease_loaded(helio_agent_core_t *self);
/*  What the end of the lease requires now, each once: GRACE, then KILL. */
bool helio_lease_due(helio_agent_core_t *self, uint32_t *ret_mode);
/*  At the end of a step: if anything changed, tells the backend which attempts run until when. */
void helio_lease_tell(helio_agent_core_t *self);
bool helio_lease_is_valid(const helio_agent_core_t *self);
int64_t helio_lease_wake_ms(const helio_agent_core_t *self);

#endif
