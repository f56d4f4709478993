/*  estimates.h -- attempts that were given up: what was charged for them, until their sites report what was measured.
 *
 *      what comes                             rows                                          afterwards
 *      the attempt is given up                attempt GIVEN_UP, ESTIMATE each hour          an estimate is noted
 *      its site reports the end               attempt CORRECTED, REVERSAL of each ESTIMATE,  it is forgotten
 *                                             MEASURED each hour
 *      one that nobody saw run is given up    -                                             an estimate without hours
 *      its site reports the end               attempt REPORTED, USE each hour               it is forgotten
 *      that report again, or any other        as of every fenced attempt: the store has it   -
 *      a new leader                           loads the ESTIMATEs that were not reversed,   as it was
 *                                             and of open jobs the attempts without an end
 *
 *  What the site reports is believed within three bounds, and counts as the nearest that is within them:
 *
 *      its GPUs     those of the placement, for the whole run. A placement reserves whole GPUs (of a pool of slices or of
 *                   shared GPUs, such a part is a GPU), so an end in time is charged likewise (core_run_complete).
 *      its length   at most what core_report_bound allows, and at least what was estimated, less what late reports and
 *                   clocks explain (SEEN_SLACK_MS). The estimate is what the broker itself had proof of: from the time at
 *                   which the site said that it runs to the site's last message while it had the attempt. A site that says
 *                   now that it ended long before contradicts its own messages. What it measured then is not of
 *                   the run that is charged, so its energy is modelled.
 *      its energy   at least a thirtieth (ENERGY_PART) of what the estimate has for such a run, which is less than idle
 *                   GPUs take. Without a measurement it is modelled.
 *
 *  All follow from the rows of the estimate and of the placement, so every leader comes to the same figure. Of an attempt
 *  that nobody saw run, only the site can say how long it ran. Of one without GPUs, the ledger has only which hours were
 *  charged: those between the first and the last are the proof.
 *
 *  The store takes rows of an attempt only if they fit its basis (put_ledger in schema/queries/put.sql). So one whose
 *  estimate is no longer noted keeps it; later reports do not change it.
 *
 *  Budgets are charged in the same step, with two exceptions: ends of attempts that nobody saw run, that a former leader
 *  gave up and whose jobs were over when this one began, and ends that contradict the site's own former report of that
 *  attempt. The core cannot know whether the store takes these, so budgets get them with the next leader, who reads the
 *  ledger. */
#ifndef HELIO_BROKER_CORE_SITES_ESTIMATES_H
#define HELIO_BROKER_CORE_SITES_ESTIMATES_H

#include "broker/core/sites/sanitize.h"
#include "broker/core/state/nouns.h"
#include "broker/model/rows_account.h"
#include "federation/model/attempt.h"

/*  The attempt of that row is given up. Its hours follow, if it has any. Beyond a bound the oldest attempts are
 *  forgotten. */
void core_estimate_begin(helio_broker_core_t *self, const helio_row_ledger_t *row, const use_limits_t *limits);
/*  An hour of the use of an attempt that was given up; ignored if that is not known. */
void core_estimate_note(helio_broker_core_t *self, const helio_row_ledger_t *row);
void core_estimate_load(helio_broker_core_t *self, const helio_row_given_up_t *row);
/*  The attempt was given up, and had been seen to run at that site. */
bool core_estimate_is_noted(const helio_broker_core_t *self, const site_t *site, const helio_report_t *report);
/*  What the attempt can have used, by its placement. False: it was not given up, or was not there. */
bool core_estimate_limits(const helio_broker_core_t *self, const site_t *site, const helio_report_t *report,
                          use_limits_t *ret_limits);
/*  The estimate that this report of the site replaces; NULL = none. An end without a length says less. */
estimate_t *core_estimate_find(const helio_broker_core_t *self, const site_t *site, const helio_report_t *report);
/*  Brings the report that replaces it within the bounds above. Sets report->estimated if that changed it. */
void core_estimate_bound(helio_broker_core_t *self, const estimate_t *estimate, helio_report_t *report);
uint32_t core_estimate_hours(const estimate_t *estimate); /* 0 = its run was not observed, and nothing was charged */
/*  Writes the reversals, gives back to the budgets, and forgets it. What the rows have in common; its texts live as
 *  long as the step's effects. */
helio_row_ledger_t core_estimate_reverse(helio_broker_core_t *self, estimate_t *estimate);
void core_estimates_free(helio_broker_core_t *self);

#endif
