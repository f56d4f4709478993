/*  resend.h -- instructions that a site has not answered are sent again.
 *
 *  A frame that left can come to nothing within a session: an agent ignores orders and stops while too many of its
 *  reports wait. Otherwise only the next inventory would notice. Agents take repeats as such. */
#ifndef HELIO_BROKER_CORE_SITES_RESEND_H
#define HELIO_BROKER_CORE_SITES_RESEND_H

#include "broker/core/state/nouns.h"

enum { RESEND_MS = 30000 }; /* at least that long unanswered, at most twice as long */

void core_resend_begin(helio_broker_core_t *self, site_t *site); /* of a new session */
void core_resend_check(helio_broker_core_t *self);               /* each second */

#endif
