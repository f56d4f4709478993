/*  preemptible.c -- whether a running job can be preempted, and what it would lose. */
#include "broker/core/state/preemptible.h"

#include "broker/core/state/core.h"

uint64_t core_evict_ran_ms(const helio_broker_core_t *self, const job_t *job)
{
    bool begun = job->started_ms && job->started_ms < self->wall_ms && job->state >= HELIO_JOB_RUNNING;
    return begun ? (uint64_t)(self->wall_ms - job->started_ms) : 0;
}

uint32_t core_evict_tier(const job_t *job)
{
    return job->submission->queue->tier;
}

uint64_t core_evict_lost_ms(const helio_broker_core_t *self, const job_t *job)
{
    const submission_t *submission = job->submission;
    bool signalled = submission->signalled && core_evict_tier(job) != HELIO_TIER_BEST_EFFORT;
    return helio_evict_lost_ms(core_evict_ran_ms(self, job), submission->checkpoint_every_ms, signalled,
                               submission->grace_ms);
}

bool core_evict_is_immune(const job_t *job)
{
    return helio_evict_is_immune(core_evict_tier(job), job->evictions);
}

bool core_evict_can(const helio_broker_core_t *self, const job_t *job, bool young_too)
{
    bool runs = job->state == HELIO_JOB_RUNNING || job->state == HELIO_JOB_SUSPENDED;
    return runs && core_evict_tier(job) < HELIO_TIER_CRITICAL && !core_evict_is_immune(job) &&
           (young_too || core_evict_ran_ms(self, job) >= (uint64_t)helio_evict_young_ms(core_evict_tier(job)));
}

helio_stop_mode_t core_evict_mode(const job_t *job)
{
    bool saves = job->moving && job->submission->signalled; /* nobody waits for its place: it may save */
    bool kill = job->intent == HELIO_INTENT_PREEMPT && core_evict_tier(job) == HELIO_TIER_BEST_EFFORT && !saves;
    return kill ? HELIO_STOP_MODE_KILL : HELIO_STOP_MODE_GRACE;
}
