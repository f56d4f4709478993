/*  hooks.c -- what follows from a change in state/, and in which order. */
#include "broker/core/hooks.h"

#include "broker/core/holds/dependencies.h"
#include "broker/core/holds/expected_ends.h"
#include "broker/core/holds/leave.h"
#include "broker/core/holds/migrations.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/holds/reservations.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/classes.h"
#include "broker/core/state/core.h"

/*  The preemption is before the quota: it subtracts from the leaving GPUs what the job is charged with
 *  (job->last->gpus), and core_quota_give sets that to 0. The ends of the pool, its room and the budget depend on
 *  none of the others. */
static void on_job_left_site(helio_broker_core_t *self, job_t *job, pool_t *pool)
{
    core_expected_end_left(self, job, pool);
    core_preempt_victim_left(self, job);
    core_job_give_back(self, job, pool);
    core_quota_give(self, job);
    core_budget_job_left(self, job);
}

/*  The two are independent: a reservation is for the head of the class, and there are at most as many preemptions as
 *  waiting jobs. */
static void on_job_left_queue(helio_broker_core_t *self, job_class_t *class)
{
    if (!class->waiting_count) { /* no job is left to reserve capacity for */
        core_window_clear(class);
        core_reserve_drop(class);
    } else if (class->reserved) { /* its next job is told that it holds the reservation now */
#ifndef HELIO_MUTANT_reservation_of_the_gone
        class->blocked_at = 0;
        core_round_due(self);
#endif
    }
    core_preempt_trim(self, class);
}

/*  Depends on the new state alone. A job that left its site to migrate keeps the capacity that is held at its target;
 *  the next round places it there. */
static void on_job_moved(helio_broker_core_t *self, job_t *job)
{
    core_expected_end_moved(self, job);
    core_migrations_state_changed(self, job);
    core_dependencies_moved(self, job);
}

/*  The end is only noted here. The dependent jobs are told at the end of the step (core_dependencies_resolve), because
 *  that can end them in turn, and no moment changes the state of a job. */
static void on_job_ended(helio_broker_core_t *self, job_t *job)
{
    core_dependencies_ended(self, job);
}

static void on_job_forgotten(helio_broker_core_t *self, job_t *job)
{
    core_migrations_forget(self, job);
    core_dependencies_forget(self, job);
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
