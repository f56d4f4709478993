/*  losses.c -- what the loss of an attempt says of its job and of its pool. */
#include "broker/core/sites/losses.h"

#include "broker/core/sites/observed_run.h"
#include "broker/core/state/classes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/submissions.h"
#include "broker/core/state/why.h"
#include "federation/base/number.h"
#include "federation/policy/choice.h"
#include "federation/reason/codes.h"

enum {
    SITE_FAILURES_MAX = 2,    /* attempts that sites could not run; then the job is HELD, with the evidence */
    QUICK_FAILURE_MS = 60000, /* a loss after this time failed a long job, and does not count as a site failure */
    /* A pool where an attempt failed at once is the last choice for this time, doubled after each further failure in a
     * row. A node that fails everything fast looks free, and would take the whole queue. */
    DOUBT_MS = 10000,
    DOUBT_MOST_MS = 300000,
    /* A job whose attempts end at once waits for this time, doubled after each further one in a row, before it is placed
     * again where jobs of its class did. The first one can be an accident. With the longest pause, the rows of a job are
     * those of three hundred placements a day. */
    PAUSE_MS = 1000,
    PAUSE_MOST_MS = DOUBT_MOST_MS, /* then the class no longer doubts the pool */
    /* Refusals that make no job pause. Sites refuse what a summary promised a moment ago and, after a restore, each
     * attempt that the database has forgotten: of a job that makes no progress, as many as it can have lost. */
    REFUSALS_FREE = CORE_LOSSES_MAX,
    PROGRESS_MS = 60000,             /* less saves nothing that counts */
    UNREPORTED_PROGRESS_MS = 1800000 /* of the work that a victim loses, policy counts no more either */
};

/*  By the shorter of the site's word and the broker's own clock. */
static uint64_t lasted_ms(const helio_broker_core_t *self, const job_t *job, const helio_report_t *report)
{
    if (!job->last || !job->last->placed_ms)
        return report->run_ms;
#ifdef HELIO_MUTANT_lengths_are_believed
    return report->run_ms;
#endif
    return helio_lesser_u64(report->run_ms, (uint64_t)(self->now_ms - job->last->placed_ms));
}

static bool has_saved(const helio_broker_core_t *self, const job_t *job, uint64_t saved_ms)
{
    uint64_t every_ms = job->submission->checkpoint_every_ms, seen_ms = core_run_seen_ms(self, job);
    return job->saved_ms >= saved_ms + PROGRESS_MS ||
           (every_ms && seen_ms >= every_ms && seen_ms >= UNREPORTED_PROGRESS_MS);
}

void core_losses_progress(const helio_broker_core_t *self, job_t *job, const helio_report_t *report, uint64_t saved_ms)
{
    if (lasted_ms(self, job, report) < QUICK_FAILURE_MS)
        return;
    job->refusals = job->quick_losses = 0;
    job->paused_until_ms = 0;
    if (!has_saved(self, job, saved_ms))
        return;
    job->losses = 0;
    job->site_failures = 0;
}

static int64_t doubled(int64_t first_ms, uint32_t times, int64_t most_ms)
{
    int64_t ms = first_ms;
    for (uint32_t i = 0; i < times && ms < most_ms; i++)
        ms *= 2;
    return ms < most_ms ? ms : most_ms;
}

static void doubt(const helio_broker_core_t *self, job_class_t *class, pool_t *pool, helio_blame_t blame,
                  int64_t class_ms)
{
    if (!pool)
        return;
    core_class_doubt(class, pool, self->now_ms + class_ms);
    if (blame == HELIO_BLAME_JOB)
        return;
    pool->doubtful_until_ms = self->now_ms + doubled(DOUBT_MS, pool->failures_in_row, DOUBT_MOST_MS);
    pool->failures_in_row++;
}

static void pause_job(const helio_broker_core_t *self, job_t *job)
{
    if (job->quick_losses)
        job->paused_until_ms = self->now_ms + doubled(PAUSE_MS, job->quick_losses - 1, PAUSE_MOST_MS);
    if (job->quick_losses < UINT8_MAX)
        job->quick_losses++;
}

/*  That a spot pool loses a node is its nature. */
static bool is_interruption(const job_t *job, const helio_report_t *report)
{
#ifdef HELIO_MUTANT_interruptions_are_failures
    return false;
#endif
    return job->pool && job->pool->info.spot &&
           (report->cause == HELIO_CAUSE_PREEMPTED || report->cause == HELIO_CAUSE_NODE_FAILED ||
            report->cause == HELIO_CAUSE_VANISHED);
}

/*  How many attempts that sites could not run an operator must look at. A site that refuses the job itself tells nothing
 *  of the others: then each pool that could run it has one. */
static uint32_t failures_most(const helio_broker_core_t *self, const job_t *job, const helio_report_t *report)
{
    uint32_t pools = 0;
#ifndef HELIO_MUTANT_refusals_spend_all_tries
    bool refused = !report->run_ms && helio_cause_blame(report->cause) == HELIO_BLAME_JOB;
    const helio_requirement_t *want = &job->submission->class->want;
    for (const site_t *site = self->sites; refused && site; site = site->hh.next)
        for (uint32_t i = 0; i < site->pool_count; i++)
            pools += helio_choice_filter(want, &site->profile, &site->pools[i].info).rejection == HELIO_REJECTION_NONE;
#else
    (void)self, (void)job, (void)report;
#endif
    pools = pools < CLASS_DOUBTS_MAX ? pools : CLASS_DOUBTS_MAX;
    return pools > SITE_FAILURES_MAX ? pools : SITE_FAILURES_MAX;
}

bool core_loss_holds(helio_broker_core_t *self, job_t *job, const helio_report_t *report, helio_details_t *why)
{
    bool lost = report->kind == HELIO_REPORT_KIND_LOST, withdrawn = report->cause == HELIO_CAUSE_WITHDRAWN;
    if (lasted_ms(self, job, report) < QUICK_FAILURE_MS) {
        bool interrupted = is_interruption(job, report);
        job->site_failures += lost && !withdrawn && !interrupted;
        /* That a site stops an equal job says nothing of the pool to others. A pool in doubt does not grow either, and
         * for another node one that has just been lost says little. */
        doubt(self, job->submission->class, job->pool,
              lost && !interrupted ? helio_cause_blame(report->cause) : HELIO_BLAME_JOB,
              interrupted ? DOUBT_MS : DOUBT_MOST_MS);
        pause_job(self, job);
    }
    if (job->losses < CORE_LOSSES_MAX && (report->run_ms || !lost || !withdrawn))
        job->losses++;
    if (job->site_failures >= failures_most(self, job, report)) {
        core_why_add(self, why, HELIO_DETAIL0(HELIO_DETAIL_HELD_AFTER_FAILURES));
        return true;
    }
#ifdef HELIO_MUTANT_losses_unbounded
    return false;
#endif
    if (job->losses < CORE_LOSSES_MAX)
        return false;
    core_why_add(self, why, CORE_DETAIL(self, HELIO_DETAIL_HELD_AFTER_LOSSES, helio_value_number(job->losses)));
    return true;
}

void core_losses_refused(const helio_broker_core_t *self, job_t *job)
{
#ifdef HELIO_MUTANT_refused_without_end
    return;
#endif
    if (job->refusals < REFUSALS_FREE) {
        job->refusals++;
        return;
    }
    doubt(self, job->submission->class, job->pool, HELIO_BLAME_JOB, DOUBT_MOST_MS);
    pause_job(self, job);
}
