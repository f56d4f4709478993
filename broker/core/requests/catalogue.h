/*  catalogue.h -- data and links, as operators set them. */
#ifndef HELIO_BROKER_CORE_REQUESTS_CATALOGUE_H
#define HELIO_BROKER_CORE_REQUESTS_CATALOGUE_H

#include "broker/core/state/nouns.h"
#include "broker/model/events.h"

void core_on_data(helio_broker_core_t *self, const helio_ev_data_t *event);
void core_on_link(helio_broker_core_t *self, const helio_ev_link_t *event);

#endif
