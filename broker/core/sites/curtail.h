/*  curtail.h -- the operators' command that curtails a site. */
#ifndef HELIO_BROKER_CORE_SITES_CURTAIL_H
#define HELIO_BROKER_CORE_SITES_CURTAIL_H

#include "broker/core/state/nouns.h"

void core_on_curtail(helio_broker_core_t *self, const helio_ev_curtail_t *event);

#endif
