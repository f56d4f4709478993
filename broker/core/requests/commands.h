/*  commands.h -- commands on jobs, tokens, users and site keys. */
#ifndef HELIO_BROKER_CORE_REQUESTS_COMMANDS_H
#define HELIO_BROKER_CORE_REQUESTS_COMMANDS_H

#include "broker/core/state/nouns.h"
#include "broker/model/events.h"

void core_on_cancel(helio_broker_core_t *self, const helio_ev_command_t *event);
void core_on_hold(helio_broker_core_t *self, const helio_ev_command_t *event);
void core_on_requeue(helio_broker_core_t *self, const helio_ev_command_t *event);
void core_on_signal(helio_broker_core_t *self, const helio_ev_signal_t *event);
void core_on_release(helio_broker_core_t *self, const helio_ev_command_t *event);
void core_on_token(helio_broker_core_t *self, const helio_ev_token_t *event);
void core_on_principal(helio_broker_core_t *self, const helio_ev_principal_t *event);
void core_on_site_key(helio_broker_core_t *self, const helio_ev_site_key_t *event);

#endif
