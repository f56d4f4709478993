/*  silence.h -- what the silence of a site means, and what its end. */
#ifndef HELIO_BROKER_CORE_SITES_SILENCE_H
#define HELIO_BROKER_CORE_SITES_SILENCE_H

#include "broker/core/state/nouns.h"
#include "broker/model/events.h"

/*  It has one from now on; former_ms: one of a former leader may run for so long yet. */
void core_site_lease(const helio_broker_core_t *self, site_t *site, uint64_t former_ms);
void core_on_gone(helio_broker_core_t *self, const helio_ev_site_gone_t *event);
void core_check_silence(helio_broker_core_t *self); /* silence, leases: CORE_CHECK_SITES */
void core_site_attest(helio_broker_core_t *self, site_t *site, helio_text_t user, helio_text_t explanation);

#endif
