/*  reports.h -- the reports that the broker has not acknowledged. A report is durable before it is sent, and held until
 *  it is acknowledged. */
#ifndef HELIO_AGENT_REPORTS_H
#define HELIO_AGENT_REPORTS_H

#include "site-agent/core/attempts.h"

helio_reports_t *helio_reports_new(void);
void helio_reports_destroy(helio_reports_t **self_p);

/*  Fills in seq and wall_ms; copies the texts. */
void helio_reports_add(helio_agent_core_t *self, const helio_report_t *report);
void helio_reports_load(helio_agent_core_t *self, const helio_report_t *report);
void helio_reports_loaded(helio_agent_core_t *self); /* marks attempts whose end is held as over */
/*  Of one attempt; false: none is held. */
bool helio_reports_resend(helio_agent_core_t *self, helio_job_key_t key, uint32_t epoch);
void helio_reports_resend_all(helio_agent_core_t *self);
/*  Drops reports up to this number. An attempt whose end is among them is forgotten. */
void helio_reports_acknowledge(helio_agent_core_t *self, uint64_t seq);
uint32_t helio_reports_count(const helio_agent_core_t *self);
void helio_reports_check(const helio_agent_core_t *self); /* see helio_agent_core_check */
bool helio_report_is_end(uint32_t kind);

#endif
