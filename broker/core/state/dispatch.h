/*  dispatch.h -- instructions to a site: to run a job, and to stop one. */
#ifndef HELIO_BROKER_CORE_STATE_DISPATCH_H
#define HELIO_BROKER_CORE_STATE_DISPATCH_H

#include "broker/core/state/nouns.h"
#include "federation/reason/detail.h"

void core_order(helio_broker_core_t *self, job_t *job);       /* instructs the site of an offered job, perhaps again */
void core_order_again(helio_broker_core_t *self, job_t *job); /* one that the site has not answered in this session */
void core_stop(helio_broker_core_t *self, job_t *job, helio_stop_mode_t mode, const helio_details_t *reason);

#endif
