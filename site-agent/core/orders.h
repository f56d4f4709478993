/*  orders.h -- the broker's orders and stops: each order is accepted or refused, each stop obeyed or answered. */
#ifndef HELIO_AGENT_ORDERS_H
#define HELIO_AGENT_ORDERS_H

#include "site-agent/core/internal.h"

void helio_orders_take(helio_agent_core_t *self, const helio_aev_orders_t *orders);
void helio_stops_take(helio_agent_core_t *self, const helio_aev_stops_t *stops);
/*  Of attempts that run here; others are ignored. */
void helio_signals_take(helio_agent_core_t *self, const helio_aev_signals_t *signals);

#endif
