/*  channels.h -- channels to running jobs: who may open one, how many are open, and the audit of both. Their bytes never
 *  come here. Nothing of them is loaded: a new leader has none. */
#ifndef HELIO_BROKER_CORE_REQUESTS_CHANNELS_H
#define HELIO_BROKER_CORE_REQUESTS_CHANNELS_H

#include "broker/core/state/nouns.h"
#include "broker/model/events.h"

void core_on_channel(helio_broker_core_t *self, const helio_ev_channel_t *event);
void core_on_channel_ended(helio_broker_core_t *self, const helio_ev_channel_ended_t *event);
uint32_t core_channels_open(const helio_broker_core_t *self);
void core_channels_free(helio_broker_core_t *self);

#endif
