/*  tenant_rate.h -- how many jobs a tenant can submit, or change by commands and edits, in a minute.
 *
 *  What it did not use in the last minute is saved up. What is refused costs nothing. */
#ifndef HELIO_BROKER_CORE_REQUESTS_TENANT_RATE_H
#define HELIO_BROKER_CORE_REQUESTS_TENANT_RATE_H

#include "broker/core/state/nouns.h"
#include "federation/base/memory.h"

/*  When everything so far and so many more fit the rate. until_us: the same of everything so far. rate: in a minute; 0 =
 *  no bound. Monotonic. */
int64_t core_rate_until_us(const helio_broker_core_t *self, int64_t until_us, uint32_t rate, uint32_t count);
/*  How long what fits at until_us has to wait; not above 0 = it does not. */
int64_t core_rate_wait_ms(const helio_broker_core_t *self, int64_t until_us);

/*  Whether the caller's tenant may change one more job. False: it replied. Operators always may. A command on an array
 *  changes all its tasks if one more is allowed: the next ones wait for that. */
bool core_commands_allow(helio_broker_core_t *self, uint64_t call, helio_text_t tenant, uint32_t role);
void core_commands_count(helio_broker_core_t *self, helio_text_t tenant, uint32_t role, uint32_t jobs);

#endif
