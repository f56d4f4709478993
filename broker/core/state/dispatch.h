/*  dispatch.h -- what a site is told: to run a job, to stop one. */
#ifndef HELIO_BROKER_CORE_STATE_DISPATCH_H
#define HELIO_BROKER_CORE_STATE_DISPATCH_H

#include "broker/core/state/nouns.h"
#include "federation/reason/detail.h"

void core_order(helio_broker_core_t *self, job_t *job); /* (again) instruct the site of an offered job */
void core_stop(helio_broker_core_t *self, job_t *job, helio_stop_mode_t mode, const helio_details_t *reason);

#endif
