/*  copies.h -- copies of jobs that may run where this database does not know them.
 *
 *  A database that was restored is older than what the sites run. A job that it shows as queued can run at a site that
 *  has not sent its inventory since the restore (the site is *awaited*), or end at one that has: its inventory listed
 *  an attempt that was fenced (a *copy*). A queued job is kept back from its class while that is so:
 *
 *      on_site_loss  a site is awaited, and the job was restored     a site has listed a copy of the job
 *      strict        until it sends its inventory, or is attested    until it reports the end, or is attested
 *      lease         also until no lease of the site can be valid    the same, if the site is away or in doubt
 *      eager         -                                               -
 *
 *  This file knows what keeps a job back; sites/restored.c follows what sites say, and jobs.c keeps jobs back. */
#ifndef HELIO_BROKER_CORE_STATE_COPIES_H
#define HELIO_BROKER_CORE_STATE_COPIES_H

#include "broker/core/state/nouns.h"
#include "federation/model/job.h"
#include "federation/reason/detail.h"

/*  An attempt that a site has listed, and that is not the job's current one there. */
struct copy {
    job_t *job;
    site_t *site;
    uint32_t epoch;
    uint64_t session;            /* the last one of the site whose inventory listed it */
    bool doubted;                /* the site's agent has lost its memory, and no longer lists it: that proves nothing */
    copy_t *prev, *next;         /* in site->copies */
    copy_t *job_prev, *job_next; /* in job->copies */
};

/*  A site is believed what it can know: while it is unreconciled, all that was restored, since it may have been placed
 *  there after the copy of the database was made; otherwise only the attempt of the job that was placed last, if that
 *  was there. So without a restore no site keeps back jobs of others. Of one job, COPIES_PER_JOB_MAX are noted. */
enum { COPIES_PER_JOB_MAX = 16 };
bool core_copy_is_credible(const helio_broker_core_t *self, const site_t *site, const job_t *job, uint32_t epoch);
void core_copy_listed(helio_broker_core_t *self, site_t *site, job_t *job, uint32_t epoch);
/*  Ends those of the site for which `is_over` is true; NULL = all. Returns whether there were any. */
typedef bool core_copy_fn(const helio_broker_core_t *self, const copy_t *copy);
bool core_copies_end(helio_broker_core_t *self, const site_t *site, core_copy_fn *is_over);
void core_copy_end(helio_broker_core_t *self, const site_t *site, const job_t *job, uint32_t epoch);
void core_copies_forget(helio_broker_core_t *self, job_t *job);

/*  Jobs of the copy whose `on_site_loss` is below this wait for the site; STRICT = none does. */
helio_site_loss_t core_site_awaited_by(const helio_broker_core_t *self, const site_t *site);
/*  Whether an awaited site keeps all tasks back. */
bool core_submission_is_kept_back(const helio_broker_core_t *self, const submission_t *submission);
bool core_job_is_kept_back(const helio_broker_core_t *self, const job_t *job);
/*  The sites that have listed copies of it. */
helio_details_t core_copies_held(helio_broker_core_t *self, const job_t *job);
/*  By which sites, and until when. latest_ms: wall clock; 0 = unknown. */
helio_details_t core_copies_details(helio_broker_core_t *self, const job_t *job, int64_t *ret_latest_ms);

#endif
