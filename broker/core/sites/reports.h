/*  reports.h -- agents' reports on attempts, turned into states and ledger rows. */
#ifndef HELIO_BROKER_CORE_SITES_REPORTS_H
#define HELIO_BROKER_CORE_SITES_REPORTS_H

#include "broker/core/state/nouns.h"
#include "broker/model/events.h"

void core_on_reports(helio_broker_core_t *self, const helio_ev_site_reports_t *event);

#endif
