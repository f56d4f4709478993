/*  refused.h -- what operators see of a site whose messages the broker refuses. */
#ifndef HELIO_BROKER_CORE_SITES_REFUSED_H
#define HELIO_BROKER_CORE_SITES_REFUSED_H

#include "broker/core/state/nouns.h"
#include "federation/base/memory.h"

/*  Shows the reason. An agent that sends different versions all the time costs a row now and then, not one each time.
 */
void core_site_refuse(helio_broker_core_t *self, site_t *site, uint32_t rc, helio_text_t text);
/*  A session opened or continues. A refusal stays shown beside it for a while: an agent with unreadable frames does get
 *  sessions, and a second agent of the site can be the refused one. */
void core_site_forgive(const helio_broker_core_t *self, site_t *site, bool opened);

#endif
