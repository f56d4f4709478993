/*  refused_holds.c -- cancels the jobs of refused holds, batch by batch. */
#include "broker/core/holds/refused_holds.h"

#include <utlist.h>

#include "broker/core/state/core.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/submissions.h"
#include "broker/core/state/why.h"

void core_refused_add(refused_holds_t *all, dependency_hold_t *hold)
{
    DL_APPEND2(all->first, hold, refused_prev, refused_next);
}

void core_refused_remove(refused_holds_t *all, dependency_hold_t *hold)
{
    if (!hold->refused_prev)
        return;
    DL_DELETE2(all->first, hold, refused_prev, refused_next);
    hold->refused_prev = NULL;
}

static bool batch_takes_more(const helio_broker_core_t *self, refused_holds_t *all)
{
#ifdef HELIO_MUTANT_refused_at_once
    return true;
#endif
    if (all->batch != self->open_batch || self->now_ms - all->since_ms >= CORE_REFUSED_PAUSE_MS) {
        all->batch = self->open_batch;
        all->since_ms = self->now_ms;
        all->count = 0;
    }
    return all->count < CORE_REFUSED_MAX;
}

static job_t *next_of(helio_broker_core_t *self, dependency_hold_t *hold)
{
    if (!hold->task)
        return core_submission_next(self, hold->submission, &hold->refused_at);
    return hold->refused_at++ ? NULL : hold->task;
}

bool core_refused_cancel(helio_broker_core_t *self, refused_holds_t *all)
{
    dependency_hold_t *hold = all->first;
    if (!hold || !batch_takes_more(self, all))
        return false;
    char id[HELIO_KEY_SIZE];
    helio_job_key_text(hold->failed_on, id);
    const helio_details_t why =
        CORE_WHY(self, HELIO_DETAIL_DEPENDENCY_FAILED, helio_value_string(id),
                 helio_value_string(hold->failed_after == HELIO_AFTER_NOT_OK ? "succeeded" : "did not succeed"));
    while (batch_takes_more(self, all)) {
        job_t *job = next_of(self, hold);
        if (!job) {
            core_refused_remove(all, hold);
            break;
        }
        if (job->state != HELIO_JOB_QUEUED && job->state != HELIO_JOB_HELD)
            continue;
        all->count++;
        job->exit_code = 130;
        core_job_change_state(self, job, HELIO_JOB_CANCELLED, why, "broker");
    }
    return true;
}
