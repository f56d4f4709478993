/*  commands.h -- operators' commands on sites: drain, undrain, attest. */
#ifndef HELIO_BROKER_CORE_SITES_COMMANDS_H
#define HELIO_BROKER_CORE_SITES_COMMANDS_H

#include "broker/core/state/nouns.h"
#include "broker/model/events.h"

void core_on_site_command(helio_broker_core_t *self, uint32_t kind, const helio_ev_site_command_t *event);

#endif
