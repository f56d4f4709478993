/*  hooks.c -- what follows from a change in state/, and in which order. */
#include "broker/core/hooks.h"

#include "broker/core/holds/dependencies.h"
#include "broker/core/holds/leave.h"
#include "broker/core/holds/migrations.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/holds/reservations.h"
#include "broker/core/state/core.h"

/*  The preemption before the quota: what the job takes off the GPUs that are leaving is what it is charged with
 *  (job->last->gpus), and core_quota_give sets that to 0. The pool and the budget depend on none of the others. */
static void on_job_left_site(helio_broker_core_t *self, job_t *job, pool_t *pool)
{
    core_preempt_victim_left(self, job);
    core_job_give_back(self, job, pool);
    core_quota_give(self, job);
    core_budget_job_left(self, job);
}

/*  Independent of one another: a reservation is for the head of the class, preemptions are for as many jobs as wait. */
static void on_job_left_queue(helio_broker_core_t *self, job_class_t *class)
{
    if (!class->waiting_count) { /* no job is left for which capacity could be reserved */
        core_window_clear(class);
        core_reserve_drop(class);
    }
    core_preempt_trim(self, class);
}

/*  By the new state alone. A job that left its site to migrate keeps the capacity that is held for it at its target: it
 *  is placed there by the next round. */
static void on_job_moved(helio_broker_core_t *self, job_t *job)
{
    core_migrations_state_changed(self, job);
}

/*  Only noted here. The jobs that depend on it are told at the end of the step (core_dependencies_resolve), since that can end
 *  them in turn: no moment changes the state of a job. */
static void on_job_ended(helio_broker_core_t *self, job_t *job)
{
    core_dependencies_ended(self, job);
}

static void on_job_forgotten(helio_broker_core_t *self, job_t *job)
{
    core_migrations_forget(self, job);
    if (!job->submission->open_tasks)
        core_dependency_hold_destroy(self, job->submission);
}

static void on_class_gone(helio_broker_core_t *self, job_class_t *class)
{
    (void)self;
    core_window_clear(class);
    core_reserve_drop(class);
}

const core_moments_t core_hooks = {
    .job_left_site = on_job_left_site,
    .job_left_queue = on_job_left_queue,
    .job_moved = on_job_moved,
    .job_ended = on_job_ended,
    .job_forgotten = on_job_forgotten,
    .class_gone = on_class_gone,
};
