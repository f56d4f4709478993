/*  observed_run.c -- the use of an attempt, where its site's report leaves it open. In this order: what the site
 *  measured, the times that the site gives, the broker's own observation. */
#include "broker/core/sites/observed_run.h"

#include <utlist.h>

#include "broker/core/sites/estimates.h"
#include "broker/core/state/core.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/submissions.h"
#include "federation/base/number.h"
#include "federation/reason/codes.h"

enum {
    /* After a session began, the agent reports what ended while it was away. Until then, that the site has an attempt
     * in its inventory is no proof that it runs. */
    SETTLING_MS = 60000,
    /* The times of a run without a length are believed from this difference on. One that was seen ran for this time at least. */
    SHORTEST_MS = 1000,
    /* A run that is shorter than what was seen, by more than late reports and clocks that were set can explain. */
    SHORT_SLACK_MS = 600000
};

static observed_run_t *run_of(const job_t *job)
{
    return job->last && job->last->run.epoch == job->epoch ? &job->last->run : NULL;
}

void core_run_observe(const helio_broker_core_t *self, job_t *job)
{
    if (!job->last || !job->site)
        return;
    observed_run_t *run = &job->last->run;
    if (run->epoch != job->epoch)
        *run = (observed_run_t){.epoch = job->epoch, .from_ms = self->now_ms, .from_wall_ms = self->wall_ms};
    run->session = job->site->session;
}

void core_run_observe_suspension(const helio_broker_core_t *self, job_t *job, bool suspended)
{
    observed_run_t *run = run_of(job);
    if (!run)
        return;
    run->told = true;
    if (suspended) {
        run->suspended_at_ms = self->now_ms;
    } else if (run->suspended_at_ms) {
        run->suspended_ms += self->now_ms - run->suspended_at_ms;
        run->suspended_at_ms = 0;
    }
}

/*  Its site has had it in the present session. */
static bool is_of_session(const observed_run_t *run, const site_t *site)
{
    return run->session && run->session == site->session;
}

void core_runs_leave_session(site_t *site)
{
    job_t *job;
    DL_FOREACH(site->live, job)
    {
        observed_run_t *run = run_of(job);
        if (!run || !is_of_session(run, site))
            continue;
        run->alive_ms = site->message_ms;
        run->outlived = true;
    }
}

/*  Wall clock: later messages of its site prove nothing if none of them showed it. */
static int64_t noted_proof_ms(const job_t *job)
{
    int64_t heard_ms = job->site->heard_wall_ms;
    return core_job_is_unseen(job) ? helio_lesser_i64(job->last_seen_ms, heard_ms) : heard_ms;
}

void core_observed_run_load(const helio_broker_core_t *self, job_t *job)
{
    uint32_t state = job->state == HELIO_JOB_SUSPECT ? job->before : job->state;
    if (!job->site || !job->last || !job->started_ms || state < HELIO_JOB_RUNNING)
        return;
    /* Of a later attempt that is being stopped, it is not known whether it had begun. */
    if (state != HELIO_JOB_RUNNING && state != HELIO_JOB_SUSPENDED && job->attempts > 1)
        return;
    job->last->run = (observed_run_t){.epoch = job->epoch,
                                      .from_ms = self->now_ms,
                                      .from_wall_ms = self->wall_ms,
                                      .alive_ms = self->now_ms - (self->wall_ms - noted_proof_ms(job)),
                                      .outlived = true,
                                      .told = true};
    if (state == HELIO_JOB_SUSPENDED)
        job->last->run.suspended_at_ms = self->now_ms;
}

static int64_t suspended_ms(const observed_run_t *run, int64_t until_ms)
{
    bool still = run->suspended_at_ms && run->suspended_at_ms < until_ms;
    return run->suspended_ms + (still ? until_ms - run->suspended_at_ms : 0);
}

/*  The last time at which the broker knew that the attempt ran. */
static int64_t last_proof_ms(const helio_broker_core_t *self, const site_t *site, const observed_run_t *run)
{
    bool here = is_of_session(run, site);
    if (here && !site->peer)
        return site->message_ms;
    bool settled = self->now_ms - site->opened_ms >= SETTLING_MS;
    return here && (settled || !run->outlived) ? self->now_ms : run->alive_ms;
}

int64_t core_run_proof_wall_ms(const helio_broker_core_t *self, const job_t *job)
{
    const observed_run_t *run = job->site ? run_of(job) : NULL;
    return run ? self->wall_ms - (self->now_ms - last_proof_ms(self, job->site, run)) : self->wall_ms;
}

/*  By the monotonic clock: it had not started then; 0 = not known. A site that lost its memory can lack what ran there
 *  before. */
static int64_t not_started_ms(const last_placement_t *last)
{
#ifdef HELIO_MUTANT_absence_is_run_time
    return last->placed_ms;
#endif
    return last->absent_ms && last->absent_ms <= last->run.from_ms ? last->absent_ms : last->placed_ms;
}

/*  How long it had run when the broker learned of it. It started when the site said, unless that is after the report of
 *  it, or before the placement: then a clock is wrong. If the site said nothing, it may have started then. */
static int64_t unseen_ms(const job_t *job, const observed_run_t *run)
{
    int64_t placed_wall_ms = job->last->commitment.placed_ms - (int64_t)job->last->transfer.ms;
    int64_t start_ms = helio_lesser_i64(job->started_ms, run->from_wall_ms);
    if (start_ms < placed_wall_ms)
        start_ms = placed_wall_ms;
    int64_t ms = run->from_wall_ms - start_ms, before_ms = not_started_ms(job->last);
    if (!before_ms)
        return ms;
    return ms < 0 ? 0 : helio_lesser_i64(ms, run->from_ms - before_ms);
}

static int64_t observed_ms(const helio_broker_core_t *self, const site_t *site, const job_t *job,
                           const observed_run_t *run, int64_t *ret_start_ms)
{
    int64_t before_ms = unseen_ms(job, run), proof_ms = last_proof_ms(self, site, run);
    int64_t ran_ms = before_ms + proof_ms - run->from_ms - suspended_ms(run, proof_ms);
    *ret_start_ms = run->from_wall_ms - before_ms;
    return ran_ms > SHORTEST_MS ? ran_ms : SHORTEST_MS;
}

/*  The report has no length. The site's own two times are of one clock, and count first. */
static void fill_run(const helio_broker_core_t *self, const site_t *site, const job_t *job, bool current,
                     helio_report_t *report)
{
    const observed_run_t *run = current ? run_of(job) : NULL;
    int64_t start_ms = report->started_wall_ms, end_ms = report->ended_wall_ms;
    int64_t ran_ms = start_ms && end_ms ? end_ms - start_ms - (run ? suspended_ms(run, self->now_ms) : 0) : 0;
    if ((!start_ms || !end_ms) && run)
        ran_ms = observed_ms(self, site, job, run, &start_ms);
    bool seen = run || (start_ms && end_ms && core_estimate_is_noted(self, site, report));
    if (ran_ms < SHORTEST_MS && !seen)
        return;
    ran_ms = ran_ms > SHORTEST_MS ? ran_ms : SHORTEST_MS;
    report->started_wall_ms = start_ms;
    report->ended_wall_ms = end_ms ? end_ms : start_ms + ran_ms;
    report->run_ms = (uint64_t)ran_ms;
    report->estimated = true;
}

uint64_t core_run_seen_ms(const helio_broker_core_t *self, const job_t *job)
{
    const observed_run_t *run = run_of(job);
    int64_t ms = run ? self->now_ms - run->from_ms - suspended_ms(run, self->now_ms) : 0;
    return ms > 0 ? (uint64_t)ms : 0;
}

/*  The least that it ran, if the site's two clock times and the broker's own clock agree on that. */
static void lengthen(const helio_broker_core_t *self, const job_t *job, helio_report_t *report)
{
    const observed_run_t *run = run_of(job);
    if (!run || !report->ended_wall_ms || !report->started_wall_ms)
        return;
    int64_t seen_ms = helio_lesser_i64(report->ended_wall_ms - report->started_wall_ms, self->now_ms - run->from_ms) -
                      suspended_ms(run, self->now_ms);
    if (seen_ms <= 0 || (uint64_t)seen_ms <= report->run_ms + SHORT_SLACK_MS)
        return;
    report->run_ms = (uint64_t)seen_ms;
    report->estimated = true;
}

/*  An estimate is by clocks that are set. By this one, it cannot have run for longer than since its placement. */
static void shorten(const helio_broker_core_t *self, const job_t *job, helio_report_t *report)
{
    if (report->estimated && job->last && job->last->placed_ms)
        report->run_ms = helio_lesser_u64(report->run_ms, (uint64_t)(self->now_ms - job->last->placed_ms));
}

/*  The GPUs of the attempt. Of an older one the placement is not known: what the job prefers counts. */
static uint64_t gpus_of(const job_t *job, const helio_report_t *report)
{
    const helio_requirement_t *want = &job->submission->class->want;
    if (job->epoch == report->epoch)
        return core_job_gpus(job);
    return want->gpus.count ? (uint64_t)want->gpus.items[0].count * want->nodes : 0;
}

/*  An allocated GPU is used for the whole run. A site that does not know the order reports none. */
static void fill_gpus(const job_t *job, bool current, helio_report_t *report)
{
    uint64_t whole_ms = report->run_ms * gpus_of(job, report);
    if (report->gpu_ms >= whole_ms || (!current && report->gpu_ms))
        return;
    report->gpu_ms = whole_ms;
    report->estimated = true;
}

void core_run_complete(const helio_broker_core_t *self, const site_t *site, const job_t *job, bool current,
                       helio_report_t *report)
{
    if (report->kind != HELIO_REPORT_KIND_ENDED && report->kind != HELIO_REPORT_KIND_STOPPED &&
        report->kind != HELIO_REPORT_KIND_LOST)
        return;
#ifdef HELIO_MUTANT_failed_start_is_free
    if (!report->run_ms && report->cause == HELIO_CAUSE_START_FAILED)
        return;
#endif
    bool told = current && run_of(job) && run_of(job)->told;
    if (!report->run_ms && report->cause == HELIO_CAUSE_START_FAILED && !told)
        return; /* not one instruction of it ran, and its site has not reported that it runs */
#ifdef HELIO_MUTANT_killed_is_free
    if (report->kind == HELIO_REPORT_KIND_LOST)
        return;
#endif
    if (!report->run_ms)
        fill_run(self, site, job, current, report);
    else if (current)
        lengthen(self, job, report);
    if (current)
        shorten(self, job, report);
#ifndef HELIO_MUTANT_unknown_is_free
    if (job)
        fill_gpus(job, current, report);
#endif
    /* The end of a lost attempt was not seen; one in doubt was cut to what the scheduler showed. */
    bool unproven = report->kind == HELIO_REPORT_KIND_LOST || report->cause == HELIO_CAUSE_DOUBTED;
    report->estimated = report->estimated || (unproven && report->run_ms);
}
