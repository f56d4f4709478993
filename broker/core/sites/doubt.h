/*  doubt.h -- jobs whose site cannot tell whether they still run.
 *
 *  An agent knows what runs by its journal. If the journal was lost, or is an older copy, "it is not here" proves
 *  nothing. The jobs that such an agent does not hold are suspect with the reason SiteMemoryLost. A `strict` job stays
 *  so until a report proves its end or an operator attests it; a `lease` job until no lease of that time can be valid.
 */
#ifndef HELIO_BROKER_CORE_SITES_DOUBT_H
#define HELIO_BROKER_CORE_SITES_DOUBT_H

#include "broker/core/state/nouns.h"
#include "broker/model/events.h"

/*  Sets site->memory_lost if the agent has another journal than at the last inventory, or an older copy of it. Only a
 *  process with another boot_id can have. */
void core_doubt_compare(site_t *site, const helio_ev_site_hello_t *hello);
/*  The inventory of that session is complete, and its jobs are judged: from now on the site is known by this
 *  journal. */
void core_doubt_inventory(helio_broker_core_t *self, site_t *site);
/*  The job is at the site, and the inventory of an agent that lost its memory does not have it. */
void core_doubt_job(helio_broker_core_t *self, job_t *job);
/*  Whether the report leaves a doubted job as it is. */
bool core_doubt_lasts(const job_t *job, const helio_report_t *report);
/*  Once a second: requeues `lease` jobs whose lease is over; notes that no job is in doubt any more. */
void core_doubt_watch(helio_broker_core_t *self, site_t *site);
/*  The operator confirms that what the site does not show does not run there. False: no job is in doubt. */
bool core_doubt_attest(helio_broker_core_t *self, site_t *site, helio_details_t why, const char *actor);

/*  What is new of its site. Of a job that is being stopped, beside the reason of the stop, which it keeps. */
helio_details_t core_why_of_site(helio_broker_core_t *self, const job_t *job, helio_detail_code_t code);
/*  Why it is being stopped, without what was said of its site meanwhile. The preemption that it was stopped for can
 *  be over. */
helio_details_t core_why_of_stop(helio_broker_core_t *self, const job_t *job);
void core_job_suspect(helio_broker_core_t *self, job_t *job, helio_detail_code_t code);
/*  It does not run any more, as far as anyone can know: its attempt is given up and charged, and it is cancelled, lost, or
 *  returns to its queue. */
void core_job_requeue_lost(helio_broker_core_t *self, job_t *job, helio_details_t why, const char *actor);

#endif
