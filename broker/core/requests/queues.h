/*  queues.h -- queues and their rules, as operators set them. */
#ifndef HELIO_BROKER_CORE_REQUESTS_QUEUES_H
#define HELIO_BROKER_CORE_REQUESTS_QUEUES_H

#include "broker/core/state/nouns.h"
#include "broker/model/events.h"

void core_on_queue(helio_broker_core_t *self, const helio_ev_queue_t *event);
void core_on_queue_rule(helio_broker_core_t *self, const helio_ev_queue_rule_t *event);

#endif
