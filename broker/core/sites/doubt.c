/*  doubt.c -- what an agent that lost its memory cannot prove, and how long that lasts. */
#include "broker/core/sites/doubt.h"

#include <utlist.h>

#include "broker/core/sites/attempt_end.h"
#include "broker/core/sites/losses.h"
#include "broker/core/sites/observed_run.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/why.h"
#include "federation/reason/codes.h"

/* ---- one job -------------------------------------------------------------------------------------------- */

/*  That its site does not know it is the reason of a stop that nobody asked for, and news of the site in any other. */
static bool is_of_site(const job_t *job, helio_detail_code_t code)
{
    return code == HELIO_DETAIL_SITE_SILENT || code == HELIO_DETAIL_SITE_BACK ||
           code == HELIO_DETAIL_SITE_MEMORY_LOST ||
           (code == HELIO_DETAIL_SITE_FORGOT && job->intent != HELIO_INTENT_REQUEUE);
}

helio_details_t core_why_of_stop(helio_broker_core_t *self, const job_t *job)
{
    const helio_details_t kept = core_why_kept(self, job->why);
    helio_details_t why = {0};
    for (uint32_t i = 0; i < kept.items.count; i++)
        if (!is_of_site(job, kept.items.items[i].code))
            core_why_add(self, &why, kept.items.items[i]);
    if (!why.items.count)
        why = CORE_WHY0(self, job->intent == HELIO_INTENT_PREEMPT ? HELIO_DETAIL_PREEMPTED : HELIO_DETAIL_STOPPED);
    return why;
}

helio_details_t core_why_of_site(helio_broker_core_t *self, const job_t *job, helio_detail_code_t code)
{
    helio_details_t why = CORE_WHY0(self, code);
    bool stops = (job->state == HELIO_JOB_SUSPECT ? job->before : job->state) == HELIO_JOB_STOPPING;
#ifdef HELIO_MUTANT_silence_hides_the_stop
    return why;
#endif
    if (!stops)
        return why;
    const helio_details_t of_stop = core_why_of_stop(self, job);
    core_why_join(self, &why, &of_stop);
    return why;
}

void core_job_suspect(helio_broker_core_t *self, job_t *job, helio_detail_code_t code)
{
    if (job->state == HELIO_JOB_SUSPECT)
        return;
#ifdef HELIO_MUTANT_silence_is_run_time
    const int64_t proof_ms = self->wall_ms;
#else
    const int64_t proof_ms = core_run_proof_wall_ms(self, job);
#endif
    job->before = job->state;
    core_job_change_state(self, job, HELIO_JOB_SUSPECT, core_why_of_site(self, job, code), "broker");
    job->last_seen_ms = proof_ms;
}

void core_job_requeue_lost(helio_broker_core_t *self, job_t *job, helio_details_t why, const char *actor)
{
    core_attempt_give_up(self, job);
    if (job->losses < CORE_LOSSES_MAX)
        job->losses++;
    if (job->intent == HELIO_INTENT_CANCEL) {
        job->exit_code = 130;
        core_job_change_state(self, job, HELIO_JOB_CANCELLED, why, actor);
    } else if (job->losses >= CORE_LOSSES_MAX) {
        core_job_change_state(self, job, HELIO_JOB_LOST, why, actor);
    } else {
        core_job_change_state(self, job, HELIO_JOB_QUEUED, why, actor);
    }
}

/* ---- the agent's memory --------------------------------------------------------------------------------- */

static bool went_back(const site_t *site, const helio_ev_site_hello_t *hello, uint64_t mark)
{
    if (!hello->memory_since_ms) /* an agent before version 5: it tells only that its journal was damaged */
        return hello->reconcile_only;
    if (!site->memory_since_ms) /* nothing to compare with */
        return hello->reconcile_only;
#ifdef HELIO_MUTANT_memory_unseen
    return false;
#endif
    return site->memory_since_ms != hello->memory_since_ms || mark <= site->memory_mark;
}

void core_doubt_compare(site_t *site, const helio_ev_site_hello_t *hello)
{
    uint64_t mark = hello->memory_mark < INT64_MAX ? hello->memory_mark : INT64_MAX; /* fits a bigint */
    bool same_process = !helio_uuid_is_nil(hello->boot_id) && helio_uuid_equal(site->boot_id, hello->boot_id);
    if (!same_process)
        site->memory_lost = went_back(site, hello, mark);
    site->boot_id = hello->boot_id;
    site->hello_since_ms = hello->memory_since_ms;
    site->hello_mark = mark;
    if (hello->memory_since_ms == site->memory_since_ms && mark < site->memory_mark)
        site->hello_mark = site->memory_mark;
}

void core_doubt_inventory(helio_broker_core_t *self, site_t *site)
{
    if (site->memory_lost) {
        site->memory_lost_wall_ms = self->wall_ms;
        site->doubt_over_ms = site->lease_over_ms;
    }
    site->memory_lost = false;
    site->memory_since_ms = site->hello_since_ms;
    site->memory_mark = site->hello_mark;
    core_site_row(self, site);
}

void core_doubt_job(helio_broker_core_t *self, job_t *job)
{
    if (core_job_is_doubted(job))
        return;
    if (job->submission->on_site_loss == HELIO_SITE_LOSS_EAGER) {
        core_job_suspect(self, job, HELIO_DETAIL_SITE_MEMORY_LOST);
        core_job_requeue_lost(self, job, CORE_WHY0(self, HELIO_DETAIL_EAGER_RETRY), "broker");
    } else if (job->state == HELIO_JOB_SUSPECT) {
        const helio_details_t why = core_why_of_site(self, job, HELIO_DETAIL_SITE_MEMORY_LOST);
        core_job_set_why(job, &why);
        core_job_mark_dirty(self, job);
    } else {
        core_job_suspect(self, job, HELIO_DETAIL_SITE_MEMORY_LOST);
    }
}

/*  A refusal and "not here" only tell what the agent remembers. */
bool core_doubt_lasts(const job_t *job, const helio_report_t *report)
{
#ifdef HELIO_MUTANT_not_here_is_proof
    return false;
#endif
    return core_job_is_doubted(job) &&
           (report->kind == HELIO_REPORT_KIND_REFUSED ||
            (report->kind == HELIO_REPORT_KIND_STOPPED && report->cause == HELIO_CAUSE_NOT_HERE));
}

void core_doubt_watch(helio_broker_core_t *self, site_t *site)
{
    if (!site->memory_lost_wall_ms)
        return;
    bool lease_over = self->now_ms >= site->doubt_over_ms, any = false;
    job_t *job, *next;
    DL_FOREACH_SAFE(site->live, job, next)
    {
        if (!core_job_is_doubted(job))
            continue;
        if (!lease_over || job->submission->on_site_loss != HELIO_SITE_LOSS_LEASE) {
            any = true;
            continue;
        }
        core_job_requeue_lost(self, job, CORE_WHY0(self, HELIO_DETAIL_LEASE_EXPIRED), "broker");
    }
    if (any)
        return;
    site->memory_lost_wall_ms = 0;
    core_site_row(self, site);
}

bool core_doubt_attest(helio_broker_core_t *self, site_t *site, helio_details_t why, const char *actor)
{
    bool any = false;
    job_t *job, *next;
    DL_FOREACH_SAFE(site->live, job, next)
    {
        if (!core_job_is_doubted(job))
            continue;
        core_job_requeue_lost(self, job, why, actor);
        any = true;
    }
    return any;
}
