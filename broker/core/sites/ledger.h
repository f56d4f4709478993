/*  ledger.h -- the rows of an attempt that is over: the attempt itself, what it used hour by hour, and what bringing
 *  its data took. The row is helio_row_ledger (broker/model/rows_account.h).
 */
#ifndef HELIO_BROKER_CORE_SITES_LEDGER_H
#define HELIO_BROKER_CORE_SITES_LEDGER_H

#include "broker/core/forecast/prices.h"
#include "broker/core/state/nouns.h"
#include "federation/model/attempt.h"

enum { CORE_EVIDENCE_HOURS_MAX = 48 }; /* the use of a fenced attempt is spread over its first hours */

/*  Each emits the rows, and charges budgets with what they had not been charged with. The report of the end of the job's
 *  current attempt. Returns what the attempt used, priced hour by hour. */
bill_t core_ledger_write_end(helio_broker_core_t *self, site_t *site, const job_t *job, const helio_report_t *report,
                             bool completes);
/*  The broker's own report of the current attempt, which its site may correct. */
void core_ledger_write_given_up(helio_broker_core_t *self, site_t *site, const job_t *job,
                                const helio_report_t *report);
/*  The current attempt is given up, and its run was never observed: writes nothing. */
void core_ledger_leave_open(helio_broker_core_t *self, site_t *site, const job_t *job, const helio_report_t *report);
/*  The site's report of an attempt that is not the job's current one; it corrects what was estimated. job may be NULL. */
void core_ledger_write_evidence(helio_broker_core_t *self, site_t *site, const job_t *job,
                                const helio_report_t *report);

#endif
