/*  silence.h -- what happens when a site is silent, and when it is attested. */
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
/*  Until the site can be attested: an order of this leader or of the one before may still be under way to it. 0 for a
 *  ready site, of which only what its agent cannot prove can be attested. */
int64_t core_site_attest_wait_ms(const helio_broker_core_t *self, const site_t *site);
int64_t core_site_attest_after_ms(const helio_broker_core_t *self); /* after how much silence it can be attested */
/*  False: nothing of it can be attested now. */
bool core_site_attest(helio_broker_core_t *self, site_t *site, helio_text_t principal, helio_text_t explanation);

#endif
