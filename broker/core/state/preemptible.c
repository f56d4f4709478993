/*  preemptible.c -- whether a running job can be preempted, and what it would lose. */
#include "broker/core/state/preemptible.h"

#include "broker/core/state/core.h"
#include "broker/core/state/why.h"

uint64_t core_preempt_ran_ms(const helio_broker_core_t *self, const job_t *job)
{
    bool begun = job->started_ms && job->started_ms < self->wall_ms && job->state >= HELIO_JOB_RUNNING;
    return begun ? (uint64_t)(self->wall_ms - job->started_ms) : 0;
}

uint32_t core_preempt_tier(const job_t *job)
{
    return job->submission->queue->tier;
}

uint64_t core_preempt_lost_ms(const helio_broker_core_t *self, const job_t *job)
{
    const submission_t *submission = job->submission;
    bool signalled = submission->signalled && core_preempt_tier(job) != HELIO_TIER_BEST_EFFORT;
    return helio_preempt_lost_ms(core_preempt_ran_ms(self, job), submission->checkpoint_every_ms, signalled,
                                 submission->grace_ms);
}

bool core_preempt_is_immune(const job_t *job)
{
    return helio_preempt_is_immune(core_preempt_tier(job), job->preemptions);
}

bool core_preempt_can(const helio_broker_core_t *self, const job_t *job, bool protected_too)
{
    bool runs = job->state == HELIO_JOB_RUNNING || job->state == HELIO_JOB_SUSPENDED;
    return runs && core_preempt_tier(job) < HELIO_TIER_CRITICAL && !core_preempt_is_immune(job) &&
           (protected_too ||
            core_preempt_ran_ms(self, job) >= (uint64_t)helio_preempt_protection_ms(core_preempt_tier(job)));
}

helio_stop_mode_t core_preempt_mode(const job_t *job)
{
    bool saves = job->migrating && job->submission->signalled;    /* a migration: no job waits for its GPUs */
    bool asked = core_why_has(job->why, HELIO_DETAIL_REQUEUED) || /* likewise */
                 core_why_has(job->why, HELIO_DETAIL_STOPPED_FOR_CURTAILMENT);
    bool kill =
        job->intent == HELIO_INTENT_PREEMPT && core_preempt_tier(job) == HELIO_TIER_BEST_EFFORT && !saves && !asked;
    return kill || job->haste == HELIO_HASTE_NOW ? HELIO_STOP_MODE_KILL : HELIO_STOP_MODE_GRACE;
}
