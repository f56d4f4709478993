/*  silence.h -- what follows when a site is silent, and when it is attested. */
#ifndef HELIO_BROKER_CORE_SITES_SILENCE_H
#define HELIO_BROKER_CORE_SITES_SILENCE_H

#include "broker/core/state/nouns.h"
#include "broker/model/events.h"

/*  It has a lease from now on. former_ms: how much longer a lease of a former leader can last. */
void core_site_lease(const helio_broker_core_t *self, site_t *site, uint64_t former_ms);
void core_on_gone(helio_broker_core_t *self, const helio_ev_site_gone_t *event);
/*  Ends the session of a site that has one, and tells its agent why. */
void core_session_refuse(helio_broker_core_t *self, site_t *site, helio_rc rc, helio_text_t text);
void core_check_silence(helio_broker_core_t *self); /* silence and leases: CORE_CHECK_SITES */
bool core_site_attest(helio_broker_core_t *self, site_t *site, helio_text_t principal, helio_text_t explanation);

#endif
