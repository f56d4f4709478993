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

static job_t *next_of(helio_broker_core_t *self, dependency_hold_t *hold)
{
    if (!hold->task)
        return core_submission_next(self, hold->submission, &hold->refused_at);
    return hold->refused_at++ ? NULL : hold->task;
}

bool core_refused_cancel(helio_broker_core_t *self, refused_holds_t *all)
{
    dependency_hold_t *hold = all->first;
    if (!hold || !core_portion_has_room(self))
        return false;
    char id[HELIO_KEY_SIZE];
    helio_job_key_text(hold->failed_on, id);
    const helio_details_t why = CORE_WHY(self, HELIO_DETAIL_DEPENDENCY_FAILED, helio_value_string(id),
                                         helio_value_string(core_dependency_outcome(hold->failed_after)));
    while (core_portion_has_room(self)) {
        job_t *job = next_of(self, hold);
        if (!job) {
            core_refused_remove(all, hold);
            break;
        }
        if (job->state != HELIO_JOB_QUEUED && job->state != HELIO_JOB_HELD)
            continue;
        core_portion_take(self);
        job->exit_code = 130;
        core_job_change_state(self, job, HELIO_JOB_CANCELLED, why, "broker");
    }
    return true;
}
