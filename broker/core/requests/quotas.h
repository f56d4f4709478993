/*  quotas.h -- quotas, as operators set them. */
#ifndef HELIO_BROKER_CORE_REQUESTS_QUOTAS_H
#define HELIO_BROKER_CORE_REQUESTS_QUOTAS_H

#include "broker/core/state/nouns.h"
#include "broker/model/events.h"
#include "federation/reason/detail.h"

void core_on_quota(helio_broker_core_t *self, const helio_ev_quota_t *event);
/*  Precondition: the weight is within its bounds. */
void core_quota_weigh(helio_broker_core_t *self, tenant_t *tenant, uint32_t weight_milli);
helio_detail_t core_quota_weight_fault(helio_broker_core_t *self); /* the fault of a weight outside its bounds */

#endif
