/*  database_loss.h -- a leader that has lost its database.
 *
 *  It cannot know whether it still leads: another broker may have taken over, and what this one decides can never be
 *  committed then. It sends nothing that must be durable (broker/release), no lease among that. After
 *  HELIO_DATABASE_LOSS_MS it also ends all sessions, so that sites look for a broker that has the database. */
#ifndef HELIO_BROKER_CORE_SITES_DATABASE_LOSS_H
#define HELIO_BROKER_CORE_SITES_DATABASE_LOSS_H

#include "broker/core/state/nouns.h"
#include "broker/model/events.h"

void core_on_database(helio_broker_core_t *self, const helio_ev_database_t *event);
void core_check_database(helio_broker_core_t *self); /* CORE_CHECK_DATABASE */
/*  The sessions are over, and HELLO is refused. */
bool core_database_is_given_up(const helio_broker_core_t *self);

#endif
