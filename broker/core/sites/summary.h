/*  summary.h -- takes the summaries of a site: its free capacity. */
#ifndef HELIO_BROKER_CORE_SITES_SUMMARY_H
#define HELIO_BROKER_CORE_SITES_SUMMARY_H

#include "broker/core/state/nouns.h"
#include "broker/model/events.h"

enum { CAPACITY_ROW_MS = 5000 }; /* an unchanged pool is written this often */

void core_on_summary(helio_broker_core_t *self, const helio_ev_site_summary_t *event);

#endif
