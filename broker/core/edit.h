/*  edit.h -- what a job asks for, changed while it waits (edit.c). */
#ifndef HELIO_BROKER_CORE_EDIT_H
#define HELIO_BROKER_CORE_EDIT_H

#include "broker/core/nouns.h"

void core_on_edit(helio_broker_core_t *self, const helio_ev_edit_t *event);
void core_edit_load(helio_broker_core_t *self, const helio_row_edit_t *row);

#endif
