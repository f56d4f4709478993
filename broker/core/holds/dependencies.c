/*  dependencies.c -- what a job waits for before it can start: the starts and ends of other jobs, and a time.
 *
 *  A submission with a dependency hold keeps its tasks out of their class's queue, so they cost a round nothing. A task can
 *  have a hold of its own: it waits for the task of another array that has its index.
 *  Waiters are found by the key of the job that they wait for, so an end costs as much as it has waiters. Ends are
 *  handled one after another when the step is over, because the end of one job can cancel another that a third one
 *  waits for.
 *
 *  If a dependency can no longer be satisfied, the job is cancelled. Otherwise it would stay in the queue for ever, and
 *  so would every job that depends on it. */
#include "broker/core/holds/dependencies.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "broker/core/holds/due_holds.h"
#include "broker/core/holds/hold_rows.h"
#include "broker/core/holds/recent_ends.h"
#include "broker/core/holds/waiters.h"
#include "broker/core/state/core.h"
#include "broker/core/state/checks.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/submissions.h"
#include "broker/core/state/why.h"
#include "federation/base/clock.h"

enum { OPENED_AT_ONCE = 100 /* holds in a step */ };

struct dependencies {
    waited_t *waited;
    helio_heap_t timed; /* of holds, the earliest first */
    hold_rows_t rows;
    due_holds_t due;
    uint32_t opened;           /* holds of this step, whatever the batch had taken */
    job_t *ended, *ended_last; /* of this step, in order */
    helio_job_key_t *started;  /* of this step: jobs and whole arrays whose start is waited for */
    uint32_t started_count, started_capacity;
};

void core_dependencies_destroy(dependencies_t **self_p)
{
    dependencies_t *self = *self_p;
    assert(!self->waited);
    helio_heap_clear(&self->timed);
    free(self->started);
    free(self);
    *self_p = NULL;
}

typedef enum verdict { VERDICT_WAIT, VERDICT_COME, VERDICT_UNSATISFIABLE } verdict_t;

static verdict_t judge(uint32_t after, helio_found_t how)
{
    if (how == HELIO_FOUND_OPEN)
        return VERDICT_WAIT;
    return core_dependency_fails(after, how) ? VERDICT_UNSATISFIABLE : VERDICT_COME;
}

/* ---- times: a heap, the earliest on top ---------------------------------------------------------------- */

static bool is_earlier(helio_heap_item_t *a_, helio_heap_item_t *b_)
{
    const dependency_hold_t *a = HELIO_HEAP_OWNER(a_, dependency_hold_t, timed),
                            *b = HELIO_HEAP_OWNER(b_, dependency_hold_t, timed);
    if (a->not_before_ms != b->not_before_ms)
        return a->not_before_ms < b->not_before_ms;
    return helio_uuid_compare(a->submission->row.job, b->submission->row.job) < 0;
}

dependencies_t *core_dependencies_new(void)
{
    dependencies_t *self = helio_new(1, sizeof *self);
    self->timed.before = is_earlier;
    return self;
}

/*  NULL = no hold waits for a time. */
static dependency_hold_t *first_timed(const helio_broker_core_t *self)
{
    helio_heap_item_t *first = helio_heap_first(&self->dependencies->timed);
    return first ? HELIO_HEAP_OWNER(first, dependency_hold_t, timed) : NULL;
}

static bool is_something_left(const helio_broker_core_t *self)
{
    return self->dependencies->due.first || self->dependencies->rows.dirty;
}

static void check_first(helio_broker_core_t *self)
{
    const dependency_hold_t *first = first_timed(self);
    core_check_at(self, CORE_CHECK_DEPENDENCIES, first ? first->not_before_ms : INT64_MAX);
    if (is_something_left(self))
        core_check_by(self, CORE_CHECK_DEPENDENCIES, self->wall_ms + CORE_PORTION_PAUSE_MS);
}

static void timed_add(helio_broker_core_t *self, dependency_hold_t *hold, int64_t not_before_ms)
{
    hold->not_before_ms = not_before_ms;
    helio_heap_put(&self->dependencies->timed, &hold->timed);
    check_first(self);
}

static void timed_remove(helio_broker_core_t *self, dependency_hold_t *hold)
{
    if (!hold->not_before_ms)
        return;
    helio_heap_remove(&self->dependencies->timed, &hold->timed);
    hold->not_before_ms = 0;
    check_first(self);
}

/* ---- the life of a hold ------------------------------------------------------------------------------------ */

/*  task: NULL = of all its tasks. */
static dependency_hold_t *hold_of(submission_t *submission, job_t *task)
{
    dependency_hold_t **hold = task ? &task->hold : &submission->hold;
    if (!*hold) {
        *hold = helio_new(1, sizeof **hold);
        (*hold)->submission = submission;
        (*hold)->task = task;
        (*hold)->failed_after = HELIO_AFTER_COUNT;
    }
    return *hold;
}

static void wait_for_nothing(helio_broker_core_t *self, dependency_hold_t *hold)
{
    while (hold->waiters)
        core_waiter_remove(&self->dependencies->waited, hold->waiters);
    timed_remove(self, hold);
    core_hold_row_drop(&self->dependencies->rows, hold);
}

static void hold_destroy(helio_broker_core_t *self, dependency_hold_t **hold)
{
    if (!*hold)
        return;
    wait_for_nothing(self, *hold);
    core_due_remove(&self->dependencies->due, *hold);
    free(*hold);
    *hold = NULL;
}

void core_dependencies_forget(helio_broker_core_t *self, job_t *job)
{
    hold_destroy(self, &job->hold);
    if (!job->submission->open_tasks)
        hold_destroy(self, &job->submission->hold);
}

static void hold_fail(dependency_hold_t *hold, helio_job_key_t on, uint32_t after)
{
    if (hold->failed_after != HELIO_AFTER_COUNT)
        return;
    hold->failed_on = on;
    hold->failed_after = after;
}

static bool hold_is_satisfied(const dependency_hold_t *hold)
{
    return !hold->waiters && !hold->not_before_ms && hold->failed_after == HELIO_AFTER_COUNT;
}

static void open_hold(helio_broker_core_t *self, submission_t *submission)
{
    core_hold_row_end(self, submission);
    hold_destroy(self, &submission->hold);
}

/*  The jobs enter their queue now, behind the jobs of their class that could have started before them. */
static void let_go(helio_broker_core_t *self, dependency_hold_t *hold)
{
    submission_t *submission = hold->submission;
    job_t *task = hold->task;
    if (task) {
        hold_destroy(self, &task->hold);
        core_job_let_go(self, task);
        return;
    }
    open_hold(self, submission);
    core_job_feed(self, submission);
}

/*  A few are opened at once. The others stay on the list until the batch has room. */
static bool may_open_now(helio_broker_core_t *self)
{
#ifdef HELIO_MUTANT_holds_open_at_once
    return true;
#endif
    if (self->dependencies->opened >= OPENED_AT_ONCE)
        return false;
    self->dependencies->opened++;
    core_portion_take(self);
    return true;
}

static void be_over(helio_broker_core_t *self, dependency_hold_t *hold)
{
    hold->over = true;
    wait_for_nothing(self, hold);
    core_due_add(&self->dependencies->due, hold);
}

static void open_if_come(helio_broker_core_t *self, dependency_hold_t *hold)
{
    if (!hold_is_satisfied(hold))
        core_hold_row_changed(&self->dependencies->rows, hold);
    else if (may_open_now(self))
        let_go(self, hold);
    else
        be_over(self, hold);
}

static void refuse_if_failed(helio_broker_core_t *self, dependency_hold_t *hold)
{
    if (hold && hold->failed_after != HELIO_AFTER_COUNT && !hold->over)
        be_over(self, hold);
}

void core_dependencies_refuse(helio_broker_core_t *self, job_t *job)
{
    refuse_if_failed(self, job->submission->hold);
    refuse_if_failed(self, job->hold);
}

/* ---- ends ---------------------------------------------------------------------------------------------- */

static void note_start(helio_broker_core_t *self, helio_job_key_t on)
{
    dependencies_t *all = self->dependencies;
    if (!core_waited_find(self->dependencies->waited, on, HELIO_AFTER_START))
        return;
    if (all->started_count == all->started_capacity) {
        all->started_capacity = all->started_capacity ? all->started_capacity * 2 : 16;
        all->started = helio_grow(all->started, all->started_capacity, sizeof *all->started);
    }
    all->started[all->started_count++] = on;
}

/*  What has started once stays so for those who wait for it, also when its next attempt has yet to start. */
static void count_start(helio_broker_core_t *self, job_t *job)
{
    if (job->start_told)
        return;
    job->start_told = true;
    job->submission->unstarted_tasks--;
    note_start(self, job->key);
    bool all = !job->submission->unstarted_tasks;
#ifdef HELIO_MUTANT_one_start_is_all
    all = true;
#endif
    if (job->key.task != HELIO_NO_TASK && all)
        note_start(self, (helio_job_key_t){job->key.job, HELIO_NO_TASK});
}

void core_dependencies_moved(helio_broker_core_t *self, job_t *job)
{
    if (job->state == HELIO_JOB_RUNNING || helio_job_state_is_terminal(job->state))
        count_start(self, job);
}

void core_dependencies_ended(helio_broker_core_t *self, job_t *job)
{
    if (self->dependencies->ended)
        self->dependencies->ended_last->ended_next = job;
    else
        self->dependencies->ended = job;
    self->dependencies->ended_last = job;
}

/*  One look-up for each waiter, because the end of a waiter's hold can remove others from the same list. */
static void tell(helio_broker_core_t *self, helio_job_key_t on, uint32_t after, helio_found_t how)
{
    for (waited_t *waited; (waited = core_waited_find(self->dependencies->waited, on, after));) {
        dependency_hold_t *hold = waited->waiters->hold;
        core_waiter_remove(&self->dependencies->waited, waited->waiters);
        if (judge(after, how) == VERDICT_COME) {
            open_if_come(self, hold);
        } else {
            hold_fail(hold, on, after);
            refuse_if_failed(self, hold);
        }
    }
}

static void tell_all(helio_broker_core_t *self, helio_job_key_t on, helio_found_t how)
{
    core_recent_ends_add(self, on, how);
    for (uint32_t after = 0; after < HELIO_AFTER_COUNT; after++)
        tell(self, on, after, how);
}

/*  Opens holds, and cancels nothing: any word but OPEN does. */
static void tell_starts(helio_broker_core_t *self)
{
    dependencies_t *all = self->dependencies;
    for (uint32_t i = 0; i < all->started_count; i++)
        tell(self, all->started[i], HELIO_AFTER_START, HELIO_FOUND_OK);
    all->started_count = 0;
}

/*  An array is over with its last task. It is known not to succeed with the first task that fails. */
static void tell_of_array(helio_broker_core_t *self, const submission_t *array, bool first_failure)
{
    helio_job_key_t whole = {array->row.job, HELIO_NO_TASK};
    if (!array->unresolved_tasks)
        tell_all(self, whole, array->failed_tasks ? HELIO_FOUND_NOT_OK : HELIO_FOUND_OK);
    else if (first_failure)
        tell(self, whole, HELIO_AFTER_OK, HELIO_FOUND_NOT_OK);
}

static void tell_ends(helio_broker_core_t *self)
{
    while (self->dependencies->ended) {
        job_t *job = self->dependencies->ended;
        self->dependencies->ended = job->ended_next;
        bool failed = job->state != HELIO_JOB_SUCCEEDED;
        job->submission->unresolved_tasks--;
        job->submission->failed_tasks += failed;
        tell_all(self, job->key, failed ? HELIO_FOUND_NOT_OK : HELIO_FOUND_OK);
        if (job->key.task != HELIO_NO_TASK)
            tell_of_array(self, job->submission, failed && job->submission->failed_tasks == 1);
        tell_starts(self);
    }
}

/*  False: none is left, or the batch takes no more. */
static bool go_on(helio_broker_core_t *self)
{
    dependency_hold_t *hold = self->dependencies->due.first;
    if (!hold || !core_portion_has_room(self))
        return false;
    if (hold->failed_after != HELIO_AFTER_COUNT) {
        core_due_cancel(self, &self->dependencies->due);
    } else {
        core_portion_take(self);
        let_go(self, hold);
    }
    return true;
}

void core_dependencies_resolve(helio_broker_core_t *self)
{
    bool was_left = is_something_left(self);
    do {
        tell_starts(self);
        tell_ends(self); /* which can refuse others */
    } while (go_on(self));
    core_hold_rows_write(self, &self->dependencies->rows);
    self->dependencies->opened = 0;
    if (was_left || is_something_left(self))
        check_first(self);
}

void core_dependencies_recheck(helio_broker_core_t *self)
{
    for (dependency_hold_t *hold; (hold = first_timed(self)) && hold->not_before_ms <= self->wall_ms;) {
        timed_remove(self, hold);
        open_if_come(self, hold);
    }
    check_first(self);
}

/* ---- a submission -------------------------------------------------------------------------------------- */

/*  Of TASK, a task that is over, or was placed before, waits no more. */
static void wait_for(helio_broker_core_t *self, submission_t *submission, helio_job_key_t on, uint32_t after,
                     helio_found_t found)
{
    bool of_task = after == HELIO_AFTER_TASK;
#ifdef HELIO_MUTANT_tasks_follow_at_once
    if (of_task)
        return;
#endif
    job_t *task = of_task ? core_job_find(self, (helio_job_key_t){submission->row.job, on.task}) : NULL;
    if (of_task && (!task || task->epoch))
        return;
    verdict_t verdict = judge(after, core_dependency_now(self, on, after, found));
    if (verdict == VERDICT_WAIT)
        core_waiter_add(&self->dependencies->waited, hold_of(submission, task), on, after);
    else if (verdict == VERDICT_UNSATISFIABLE)
        hold_fail(hold_of(submission, task), on, after);
}

static void wait_until(helio_broker_core_t *self, submission_t *submission, int64_t not_before_ms)
{
    if (not_before_ms > self->wall_ms)
        timed_add(self, hold_of(submission, NULL), not_before_ms);
}

void core_dependency_hold_new(helio_broker_core_t *self, submission_t *submission, const helio_submission_t *job)
{
    for (uint32_t i = 0; i < job->depends.count; i++) {
        const helio_dependency_t *depend = &job->depends.items[i];
        helio_row_dependency_t row = {submission->row.job, i, depend->after, depend->on};
        core_emit(self, HELIO_BROKER_FX_ROW_DEPENDENCY, &row);
        wait_for(self, submission, depend->on, depend->after, depend->found);
    }
    wait_until(self, submission, job->spec.not_before_wall_ms);
    if (submission->hold)
        core_hold_row_changed(&self->dependencies->rows, submission->hold);
    else if (job->spec.not_before_wall_ms) /* the next leader's clock can be behind */
        core_hold_row_end(self, submission);
}

/* ---- a new leader ------------------------------------------------------------------------------------------ */

/*  A hold that ended while no broker led must still be reported, so each hold stands until everything is loaded. */
void core_dependencies_load(helio_broker_core_t *self, submission_t *submission, const helio_job_spec_t *spec)
{
    if (spec->after_ok.count || spec->after_any.count || spec->after_not_ok.count || spec->after_start.count ||
        spec->not_before_wall_ms)
        hold_of(submission, NULL)->told = true;
    wait_until(self, submission, spec->not_before_wall_ms);
}

void core_dependencies_load_waiting(helio_broker_core_t *self, const helio_row_waiting_t *row)
{
    submission_t *array = core_array_find(self, row->job);
    job_t *job = array ? NULL : core_job_find(self, (helio_job_key_t){row->job, HELIO_NO_TASK});
    assert(array || job);
    assert(row->found != HELIO_FOUND_OPEN || core_dependencies_held(self, row->on));
    wait_for(self, array ? array : job->submission, row->on, row->after, row->found);
}

/*  A hold that has ended never returns, even if this leader's clock is behind. */
void core_dependencies_load_ended(helio_broker_core_t *self, const helio_row_ended_hold_t *row)
{
    submission_t *array = core_array_find(self, row->job);
    job_t *job = array ? NULL : core_job_find(self, (helio_job_key_t){row->job, HELIO_NO_TASK});
    assert(array || job);
#ifdef HELIO_MUTANT_ended_hold_forgotten
    return;
#endif
    hold_destroy(self, array ? &array->hold : &job->submission->hold);
}

/*  A job that was placed does not wait again when it comes back: older brokers stored no row of a begin that was past
 *  at the submission. */
void core_dependencies_loaded(helio_broker_core_t *self, job_t *job)
{
    submission_t *submission = job->submission;
    dependency_hold_t *hold = submission->hold;
    if (!hold || hold->over)
        return;
    if (submission->begun)
        hold_destroy(self, &submission->hold);
    else if (hold_is_satisfied(hold) && may_open_now(self))
        open_hold(self, submission);
    else if (hold_is_satisfied(hold))
        be_over(self, hold);
}
