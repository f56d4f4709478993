/*  due_holds.c -- a list, and the cancellation of what waits in vain. */
#include "broker/core/holds/due_holds.h"

#include <utlist.h>

#include "broker/core/state/core.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/submissions.h"
#include "broker/core/state/why.h"

void core_due_add(due_holds_t *all, dependency_hold_t *hold)
{
    DL_APPEND2(all->first, hold, due_prev, due_next);
}

void core_due_remove(due_holds_t *all, dependency_hold_t *hold)
{
    if (!hold->due_prev)
        return;
    DL_DELETE2(all->first, hold, due_prev, due_next);
    hold->due_prev = NULL;
}

static job_t *next_of(helio_broker_core_t *self, dependency_hold_t *hold)
{
    if (!hold->task)
        return core_submission_next(self, hold->submission, &hold->cancelled_to);
    return hold->cancelled_to++ ? NULL : hold->task;
}

void core_due_cancel(helio_broker_core_t *self, due_holds_t *all)
{
    dependency_hold_t *hold = all->first;
    const helio_details_t why = core_dependency_failed_why(self, hold);
    while (core_portion_has_room(self)) {
        job_t *job = next_of(self, hold);
        if (!job) {
            core_due_remove(all, hold);
            break;
        }
        if (job->state != HELIO_JOB_QUEUED && job->state != HELIO_JOB_HELD)
            continue;
        core_portion_take(self);
        job->exit_code = 130;
        core_job_change_state(self, job, HELIO_JOB_CANCELLED, why, "broker");
    }
}
