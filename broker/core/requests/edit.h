/*  edit.h -- changes what a waiting job requests. */
#ifndef HELIO_BROKER_CORE_REQUESTS_EDIT_H
#define HELIO_BROKER_CORE_REQUESTS_EDIT_H

#include "broker/core/state/nouns.h"
#include "broker/model/events.h"
#include "broker/model/rows_job.h"

void core_on_edit(helio_broker_core_t *self, const helio_ev_edit_t *event);
void core_edit_load(helio_broker_core_t *self, const helio_row_edit_t *row);

#endif
