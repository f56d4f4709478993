/*  copies.c -- copies of jobs that may run where this database does not know them. */
#include "broker/core/state/copies.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/why.h"

enum { NAMED_MAX = 5 };

/* ---- what sites have listed ---------------------------------------------------------------------------- */

/*  Ids ascend, whatever the clocks do: a job that was submitted since the restore has a larger one than those that were
 *  restored. */
static bool was_restored(const helio_broker_core_t *self, const submission_t *submission)
{
    return helio_uuid_compare(submission->row.job, self->restored_job) <= 0;
}

bool core_copy_is_credible(const helio_broker_core_t *self, const site_t *site, const job_t *job, uint32_t epoch)
{
    if (site->unreconciled_ms && was_restored(self, job->submission))
        return true;
    return job->last && epoch == job->epoch && strcmp(job->last->site, site->name) == 0;
}

static copy_t *find(const job_t *job, const site_t *site, uint32_t epoch, uint32_t *ret_count)
{
    copy_t *copy;
    DL_FOREACH2(job->copies, copy, job_next)
    {
        if (copy->site == site && copy->epoch == epoch)
            return copy;
        ++*ret_count;
    }
    return NULL;
}

void core_copy_listed(helio_broker_core_t *self, site_t *site, job_t *job, uint32_t epoch)
{
    uint32_t count = 0;
    copy_t *copy = find(job, site, epoch, &count);
    (void)self;
    if (job->submission->on_site_loss == HELIO_SITE_LOSS_EAGER || (!copy && count >= COPIES_PER_JOB_MAX))
        return;
    if (!copy) {
        copy = helio_new(1, sizeof *copy);
        *copy = (copy_t){.job = job, .site = site, .epoch = epoch};
        DL_APPEND(site->copies, copy);
        DL_APPEND2(job->copies, copy, job_prev, job_next);
    }
    copy->session = site->session;
    copy->doubted = false;
}

static void end_copy(helio_broker_core_t *self, copy_t *copy)
{
    DL_DELETE(copy->site->copies, copy);
    DL_DELETE2(copy->job->copies, copy, job_prev, job_next);
    free(copy);
    self->copies_changed = true;
}

bool core_copies_end(helio_broker_core_t *self, const site_t *site, core_copy_fn *is_over)
{
    bool any = false;
    copy_t *copy, *next;
    DL_FOREACH_SAFE(site->copies, copy, next)
    {
        if (is_over && !is_over(self, copy))
            continue;
        end_copy(self, copy);
        any = true;
    }
    return any;
}

void core_copy_end(helio_broker_core_t *self, const site_t *site, const job_t *job, uint32_t epoch)
{
    uint32_t count = 0;
    copy_t *copy = find(job, site, epoch, &count);
    if (copy)
        end_copy(self, copy);
}

void core_copies_forget(helio_broker_core_t *self, job_t *job)
{
    while (job->copies)
        end_copy(self, job->copies);
}

/* ---- what keeps a job back ----------------------------------------------------------------------------- */

helio_site_loss_t core_site_awaited_by(const helio_broker_core_t *self, const site_t *site)
{
    if (!site->awaited)
        return HELIO_SITE_LOSS_STRICT;
    return self->now_ms < site->lease_over_ms ? HELIO_SITE_LOSS_EAGER : HELIO_SITE_LOSS_LEASE;
}

static bool may_hold(const helio_broker_core_t *self, const submission_t *submission, const site_t *site)
{
    return submission->on_site_loss < (uint32_t)core_site_awaited_by(self, site);
}

bool core_submission_is_kept_back(const helio_broker_core_t *self, const submission_t *submission)
{
#ifdef HELIO_MUTANT_awaited_for_a_minute
    return false;
#endif
    if (submission->on_site_loss == HELIO_SITE_LOSS_EAGER || !was_restored(self, submission))
        return false;
    for (const site_t *site = self->sites; site; site = site->hh.next)
        if (may_hold(self, submission, site))
            return true;
    return false;
}

bool core_job_is_kept_back(const helio_broker_core_t *self, const job_t *job)
{
#ifdef HELIO_MUTANT_copy_unheeded
    return core_submission_is_kept_back(self, job->submission);
#endif
    return job->copies || core_submission_is_kept_back(self, job->submission);
}

static void name_site(helio_broker_core_t *self, const site_t *site, helio_value_t *names)
{
    if (names->number++ < NAMED_MAX)
        *names =
            (helio_value_t){names->number, helio_text_of(core_printf(self, "%.*s%s%s", HELIO_TEXT_ARGS(names->text),
                                                                     names->text.size ? "," : "", site->name))};
}

helio_details_t core_copies_held(helio_broker_core_t *self, const job_t *job)
{
    helio_details_t details = {0};
    helio_value_t held = {0};
    const copy_t *copy;
    for (const site_t *site = job->copies ? self->sites : NULL; site; site = site->hh.next) {
        bool copied = false;
        DL_FOREACH2(job->copies, copy, job_next)
        {
            copied = copied || copy->site == site;
        }
        if (copied)
            name_site(self, site, &held);
    }
    if (held.number)
        core_why_add(self, &details, CORE_DETAIL(self, HELIO_DETAIL_COPIES_END, held));
    return details;
}

helio_details_t core_copies_details(helio_broker_core_t *self, const job_t *job, int64_t *ret_latest_ms)
{
    helio_details_t details = {0}, held = core_copies_held(self, job);
    helio_value_t awaited = {0};
    int64_t until_ms = 0;
    bool kept_back = core_submission_is_kept_back(self, job->submission);
    for (const site_t *site = kept_back ? self->sites : NULL; site; site = site->hh.next) {
        if (!may_hold(self, job->submission, site))
            continue;
        name_site(self, site, &awaited);
        until_ms = site->lease_over_ms > until_ms ? site->lease_over_ms : until_ms;
    }
    bool bounded = job->submission->on_site_loss == HELIO_SITE_LOSS_LEASE && awaited.number && !held.items.count;
    *ret_latest_ms = bounded ? self->wall_ms + until_ms - self->now_ms : 0;
    if (awaited.number)
        core_why_add(self, &details,
                     CORE_DETAIL(self, HELIO_DETAIL_SITES_UNRECONCILED, awaited, helio_value_number(*ret_latest_ms)));
    core_why_join(self, &details, &held);
    return details;
}
