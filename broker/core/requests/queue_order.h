/*  queue_order.h -- the scheduling order of the jobs that wait for room: for people. */
#ifndef HELIO_BROKER_CORE_REQUESTS_QUEUE_ORDER_H
#define HELIO_BROKER_CORE_REQUESTS_QUEUE_ORDER_H

#include "broker/core/state/nouns.h"

/*  Changes nothing. The answer is at most a second old, and lists the first HELIO_QUEUE_ORDER_JOBS jobs. */
void core_on_queue_order(helio_broker_core_t *self, const helio_ev_queue_order_t *event);
void core_queue_order_forget(helio_broker_core_t *self); /* the order of a second ago */

#endif
