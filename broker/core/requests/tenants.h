/*  tenants.h -- tenants, as operators create and change them. */
#ifndef HELIO_BROKER_CORE_REQUESTS_TENANTS_H
#define HELIO_BROKER_CORE_REQUESTS_TENANTS_H

#include "broker/core/state/nouns.h"
#include "broker/model/events.h"

void core_on_tenant(helio_broker_core_t *self, const helio_ev_tenant_t *event);

#endif
