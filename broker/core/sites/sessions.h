/*  sessions.h -- sessions of sites: hello, inventory, renewal of the lease, refusals. */
#ifndef HELIO_BROKER_CORE_SITES_SESSIONS_H
#define HELIO_BROKER_CORE_SITES_SESSIONS_H

#include "broker/core/state/nouns.h"
#include "broker/model/events.h"

/*  Notes that a message of the site arrived. */
void core_site_heard(helio_broker_core_t *self, site_t *site);
void core_on_hello(helio_broker_core_t *self, const helio_ev_site_hello_t *event);
void core_on_inventory(helio_broker_core_t *self, const helio_ev_site_inventory_t *event);
void core_on_alive(helio_broker_core_t *self, const helio_ev_site_alive_t *event);
void core_on_renew(helio_broker_core_t *self, const helio_ev_site_renew_t *event);
void core_on_refused(helio_broker_core_t *self, const helio_ev_site_refused_t *event);

#endif
