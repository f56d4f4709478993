/*  restored.c -- follows what sites say of attempts that this database does not know. */
#include "broker/core/sites/restored.h"

#include <utlist.h>

#include "broker/core/state/changes.h"
#include "broker/core/state/copies.h"
#include "broker/core/state/core.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/why.h"
#include "federation/reason/codes.h"

void core_restored_copy(helio_broker_core_t *self, site_t *site, job_t *job, uint32_t epoch)
{
    if (!core_copy_is_credible(self, site, job, epoch))
        return;
    core_copy_listed(self, site, job, epoch);
    core_job_keep_back(self, job);
    self->copies_changed = true;
}

static bool is_unlisted(const helio_broker_core_t *self, const copy_t *copy)
{
    (void)self;
    return copy->session != copy->site->session;
}

/*  What an agent that lost its memory does not list may run all the same. */
static void doubt_unlisted(helio_broker_core_t *self, const site_t *site)
{
    copy_t *copy;
    DL_FOREACH(site->copies, copy)
    {
        copy->doubted = copy->doubted || is_unlisted(self, copy);
    }
}

void core_restored_inventory(helio_broker_core_t *self, site_t *site)
{
    self->copies_changed = self->copies_changed || site->awaited;
    site->awaited = false;
    if (site->memory_lost)
        doubt_unlisted(self, site);
    else
        (void)core_copies_end(self, site, is_unlisted);
}

/*  A refusal and "not here" only tell what the agent remembers. */
void core_restored_end(helio_broker_core_t *self, const site_t *site, const helio_report_t *report)
{
    const job_t *job = core_job_find(self, report->key);
    if (job && report->kind != HELIO_REPORT_KIND_REFUSED && report->cause != HELIO_CAUSE_NOT_HERE)
        core_copy_end(self, site, job, report->epoch);
}

static bool is_doubted(const helio_broker_core_t *self, const copy_t *copy)
{
    (void)self;
    return copy->doubted;
}

bool core_restored_attest(helio_broker_core_t *self, site_t *site)
{
    bool ready = site->state == HELIO_SITE_STATE_READY, awaited = site->awaited && !ready;
    bool ended = core_copies_end(self, site, ready ? is_doubted : NULL);
    if (awaited) {
        site->awaited = false;
        self->copies_changed = true;
    }
    return awaited || ended;
}

/*  No lease that a copy could have is valid any more. */
static bool lease_is_over(const helio_broker_core_t *self, const copy_t *copy)
{
    const site_t *site = copy->site;
    if (copy->job->submission->on_site_loss != HELIO_SITE_LOSS_LEASE)
        return false;
    return copy->doubted ? self->now_ms >= site->doubt_over_ms : !site->peer && self->now_ms >= site->lease_over_ms;
}

static void watch_site(helio_broker_core_t *self, site_t *site)
{
    (void)core_copies_end(self, site, lease_is_over);
    if (site->awaited && site->lease_over_ms > self->copies_checked_ms && site->lease_over_ms <= self->now_ms)
        self->copies_changed = true; /* `lease` jobs need not wait for it any longer */
    uint32_t by = core_site_awaited_by(self, site);
    bool over = site->unreconciled_ms && !site->awaited && !site->copies;
    if (!over && by == site->awaited_by)
        return;
    site->unreconciled_ms = over ? 0 : site->unreconciled_ms;
    site->awaited_by = by;
    core_site_row(self, site);
}

/*  Nothing at all is placed for a moment: ends when every site that ran something has sent its inventory, or has had
 *  the time for it. What an unexpected one could hold keeps back the jobs of the copy, and no others. */
static void watch_moment(helio_broker_core_t *self)
{
    for (const site_t *site = self->sites; site && core_sites_awaited(self); site = site->hh.next)
        if (site->awaited && !site->unexpected)
            return;
    self->restored_until_ms = 0;
    core_capacity_changed(self);
}

/*  The job's row says that copies of it keep it back, and where they are: no other row could. */
static void note_copies(helio_broker_core_t *self, job_t *job)
{
    if (job->state != HELIO_JOB_QUEUED || (!job->copies && !core_why_has(job->why, HELIO_DETAIL_COPIES_END)))
        return;
    const helio_details_t why = core_copies_held(self, job);
    if (core_why_equal(job->why, &why))
        return;
    core_job_set_why(job, &why);
    core_job_mark_dirty(self, job);
}

void core_restored_check(helio_broker_core_t *self)
{
    if (self->restored_until_ms)
        watch_moment(self);
    for (site_t *site = self->sites; site; site = site->hh.next)
        watch_site(self, site);
    self->copies_checked_ms = self->now_ms;
    if (!self->copies_changed)
        return;
    self->copies_changed = false;
    for (job_t *job = self->jobs; job; job = job->hh.next) {
        note_copies(self, job);
        if (job->kept_back && !core_job_is_kept_back(self, job))
            core_job_feed(self, job->submission);
    }
}
