/*  summary.h -- what the site offers now, sent in full or as changes. */
#ifndef HELIO_AGENT_SUMMARY_H
#define HELIO_AGENT_SUMMARY_H

#include "site-agent/core/internal.h"

helio_summary_t *helio_summary_new(void);
void helio_summary_destroy(helio_summary_t **self_p);

void helio_summary_series(helio_agent_core_t *self, const helio_aev_series_t *series);
void helio_summary_capacity(helio_agent_core_t *self, const helio_aev_capacity_t *capacity);
/*  A cluster's own scheduler has more free GPUs in a pool than the broker was told. */
bool helio_summary_offers_more(const helio_agent_core_t *core);
void helio_summary_send(helio_agent_core_t *self);
void helio_summary_ask_all(helio_agent_core_t *self); /* the next summary is a full one */
void helio_summary_forget_session(helio_agent_core_t *self);

#endif
