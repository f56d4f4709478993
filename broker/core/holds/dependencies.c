/*  dependencies.c -- what a job waits for before it may start: other jobs to end as it wishes, and a time.
 *
 *  A submission whose gate is closed keeps its tasks out of their class's queue, so a round costs nothing for
 * them. Who waits for a job is found by that job's key: an end costs as much as it has waiters. Ends are
 * looked at when the step is over, one after another, since the end of one job may cancel another that a
 * third one waits for.
 *
 *  A wait that can only be in vain cancels the job at once. It would otherwise lie in the queue for ever, and
 * whoever waits for it too.
 */
#include "broker/core/holds/dependencies.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/submissions.h"
#include "broker/core/state/text.h"
#include "federation/base/clock.h"

enum { NAMED_MAX = 3 /* of the jobs that a text names */ };

typedef enum verdict { VERDICT_WAIT, VERDICT_COME, VERDICT_UNSATISFIABLE } verdict_t;

static verdict_t judge(uint32_t after, helio_found_t how)
{
    if (how == HELIO_FOUND_OPEN)
        return VERDICT_WAIT;
    uint32_t unwanted = how == HELIO_FOUND_OK ? HELIO_AFTER_NOT_OK : HELIO_AFTER_OK;
    return after == unwanted ? VERDICT_UNSATISFIABLE : VERDICT_COME;
}

/* ---- who waits for whom -------------------------------------------------------------------------------- */

static waited_t *waited_find(helio_broker_core_t *self, helio_job_key_t on, uint32_t after)
{
    waited_t wanted, *found;
    memset(&wanted.key, 0, sizeof wanted.key);
    wanted.key.on = on;
    wanted.key.after = after;
    HASH_FIND(hh, self->waited, &wanted.key, sizeof wanted.key, found);
    return found;
}

static void waiter_add(helio_broker_core_t *self, dependency_hold_t *hold, helio_job_key_t on, uint32_t after)
{
    waited_t *waited = waited_find(self, on, after);
    if (!waited) {
        waited = helio_new(1, sizeof *waited);
        waited->key.on = on;
        waited->key.after = after;
        HASH_ADD(hh, self->waited, key, sizeof waited->key, waited);
    }
    waiter_t *waiter = helio_new(1, sizeof *waiter);
    waiter->waited = waited;
    waiter->hold = hold;
    DL_APPEND(waited->waiters, waiter);
    DL_APPEND2(hold->waiters, waiter, hold_prev, hold_next);
    hold->waiter_count++;
}

static void waiter_remove(helio_broker_core_t *self, waiter_t *waiter)
{
    waited_t *waited = waiter->waited;
    DL_DELETE(waited->waiters, waiter);
    DL_DELETE2(waiter->hold->waiters, waiter, hold_prev, hold_next);
    waiter->hold->waiter_count--;
    if (!waited->waiters) {
        HASH_DEL(self->waited, waited);
        free(waited);
    }
    free(waiter);
}

/* ---- times: a heap, the earliest on top ---------------------------------------------------------------- */

static bool is_earlier(const dependency_hold_t *a, const dependency_hold_t *b)
{
    if (a->not_before_ms != b->not_before_ms)
        return a->not_before_ms < b->not_before_ms;
    return helio_uuid_compare(a->submission->row.job, b->submission->row.job) < 0;
}

static void timed_put(helio_broker_core_t *self, dependency_hold_t *hold, uint32_t at)
{
    self->timed[at] = hold;
    hold->timed_at = at;
}

static void timed_rise(helio_broker_core_t *self, dependency_hold_t *hold, uint32_t at)
{
    for (; at && is_earlier(hold, self->timed[(at - 1) / 2]); at = (at - 1) / 2)
        timed_put(self, self->timed[(at - 1) / 2], at);
    timed_put(self, hold, at);
}

static void timed_add(helio_broker_core_t *self, dependency_hold_t *hold, int64_t not_before_ms)
{
    hold->not_before_ms = not_before_ms;
    if (self->timed_count == self->timed_capacity) {
        self->timed_capacity = self->timed_capacity ? self->timed_capacity * 2 : 16;
        self->timed = helio_grow(self->timed, self->timed_capacity, sizeof(dependency_hold_t *));
    }
    timed_rise(self, hold, self->timed_count++);
}

static void timed_remove(helio_broker_core_t *self, dependency_hold_t *hold)
{
    if (!hold->not_before_ms)
        return;
    uint32_t at = hold->timed_at;
    dependency_hold_t *last = self->timed[--self->timed_count];
    hold->not_before_ms = 0;
    if (last == hold)
        return;
    for (;;) { /* the last takes its place, and sinks or rises from there */
        uint32_t child = 2 * at + 1;
        if (child + 1 < self->timed_count && is_earlier(self->timed[child + 1], self->timed[child]))
            child++;
        if (child >= self->timed_count || !is_earlier(self->timed[child], last))
            break;
        timed_put(self, self->timed[child], at);
        at = child;
    }
    timed_rise(self, last, at);
}

int64_t core_dependencies_wake_ms(const helio_broker_core_t *self, int64_t at_most)
{
    if (!self->timed_count)
        return at_most;
    int64_t left = self->timed[0]->not_before_ms - self->wall_ms;
    left = left > 0 ? left : 0;
    return left < at_most - self->now_ms ? self->now_ms + left : at_most;
}

/* ---- a gate's life ------------------------------------------------------------------------------------- */

/*  Its row is written once a step, however much came. */
static void set_waiting_text(helio_broker_core_t *self, dependency_hold_t *hold)
{
    if (hold->dirty)
        return;
    hold->dirty = true;
    DL_APPEND2(self->dirty_holds, hold, dirty_prev, dirty_next);
}

static void say_nothing(helio_broker_core_t *self, dependency_hold_t *hold)
{
    if (hold->dirty)
        DL_DELETE2(self->dirty_holds, hold, dirty_prev, dirty_next);
    hold->dirty = false;
}

static dependency_hold_t *hold_of(submission_t *submission)
{
    if (!submission->hold) {
        submission->hold = helio_new(1, sizeof *submission->hold);
        submission->hold->submission = submission;
        submission->hold->failed_after = HELIO_AFTER_COUNT;
    }
    return submission->hold;
}

static void wait_for_nothing(helio_broker_core_t *self, dependency_hold_t *hold)
{
    while (hold->waiters)
        waiter_remove(self, hold->waiters);
    timed_remove(self, hold);
    say_nothing(self, hold);
}

void core_dependencies_destroy(helio_broker_core_t *self, submission_t *submission)
{
    if (!submission->hold)
        return;
    wait_for_nothing(self, submission->hold);
    free(submission->hold);
    submission->hold = NULL;
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

static void write_hold(helio_broker_core_t *self, const dependency_hold_t *hold, helio_text_t detail, int64_t opened_ms)
{
    helio_row_dependency_hold_t row = {.job = hold->submission->row.job, .detail = detail, .opened_ms = opened_ms};
    core_emit(self, HELIO_BROKER_FX_ROW_DEPENDENCY_HOLD, &row);
}

static void open_hold(helio_broker_core_t *self, dependency_hold_t *hold)
{
    write_hold(self, hold, (helio_text_t){0}, self->wall_ms);
    core_dependencies_destroy(self, hold->submission);
}

/*  Its turn begins now: behind those of its class that could have started before it. */
static void open_if_come(helio_broker_core_t *self, dependency_hold_t *hold)
{
    if (!hold_is_satisfied(hold)) {
        set_waiting_text(self, hold);
        return;
    }
    submission_t *submission = hold->submission;
    open_hold(self, hold);
    core_job_feed(self, submission);
}

void core_dependencies_refuse(helio_broker_core_t *self, submission_t *submission)
{
    dependency_hold_t *hold = submission->hold;
    if (!hold || hold->failed_after == HELIO_AFTER_COUNT)
        return;
    wait_for_nothing(self, hold);
    char id[HELIO_KEY_SIZE];
    helio_job_key_text(hold->failed_on, id);
    const char *reason = core_printf(self, "DependencyFailed: %s %s", id,
                                     hold->failed_after == HELIO_AFTER_OK ? "did not succeed" : "succeeded");
    while (submission->throttled) {
        job_t *job = submission->throttled;
        job->exit_code = 130;
        core_job_change_state(self, job, HELIO_JOB_CANCELLED, reason, "broker");
    }
}

/* ---- what it says -------------------------------------------------------------------------------------- */

static const char *hold_text(helio_broker_core_t *self, const dependency_hold_t *hold)
{
    static const char *const wishes[HELIO_AFTER_COUNT] = {" to succeed", " to end",
                                                          " to end without success"};
    const char *text = hold->waiters ? "waits for " : "";
    uint32_t named = 0;
    for (const waiter_t *w = hold->waiters; w && named < NAMED_MAX; w = w->hold_next) {
        char id[HELIO_KEY_SIZE];
        helio_job_key_text(w->waited->key.on, id);
        text = core_printf(self, "%s%s%s%s", text, named++ ? ", " : "", id, wishes[w->waited->key.after]);
    }
    if (hold->waiter_count > named)
        text = core_printf(self, "%s and for %u more", text, hold->waiter_count - named);
    if (!hold->not_before_ms)
        return text;
    return core_printf(self, "%s%s%s", text, hold->waiters ? "; not before " : "waits until ",
                       core_second_text(self, hold->not_before_ms));
}

static void write_dirty(helio_broker_core_t *self)
{
    while (self->dirty_holds) {
        dependency_hold_t *hold = self->dirty_holds;
        say_nothing(self, hold);
        write_hold(self, hold, helio_text_of(hold_text(self, hold)), 0);
    }
}

/* ---- ends ---------------------------------------------------------------------------------------------- */

void core_dependencies_ended(helio_broker_core_t *self, job_t *job)
{
    if (self->ended)
        self->ended_last->ended_next = job;
    else
        self->ended = job;
    self->ended_last = job;
}

/*  One look into the table for each: what a waiter's gate does may take others out of the same list. */
static void tell(helio_broker_core_t *self, helio_job_key_t on, uint32_t after, helio_found_t how)
{
    for (waited_t *waited; (waited = waited_find(self, on, after));) {
        dependency_hold_t *hold = waited->waiters->hold;
        waiter_remove(self, waited->waiters);
        if (judge(after, how) == VERDICT_COME) {
            open_if_come(self, hold);
        } else {
            hold_fail(hold, on, after);
            core_dependencies_refuse(self, hold->submission);
        }
    }
}

static void tell_all(helio_broker_core_t *self, helio_job_key_t on, helio_found_t how)
{
    for (uint32_t after = 0; after < HELIO_AFTER_COUNT; after++)
        tell(self, on, after, how);
}

/*  An array is over with its last task; that it will not succeed is known with the first that does not. */
static void tell_of_array(helio_broker_core_t *self, const submission_t *array, bool first_failure)
{
    helio_job_key_t whole = {array->row.job, HELIO_NO_TASK};
    if (!array->unresolved_tasks)
        tell_all(self, whole, array->failed_tasks ? HELIO_FOUND_NOT_OK : HELIO_FOUND_OK);
    else if (first_failure)
        tell(self, whole, HELIO_AFTER_OK, HELIO_FOUND_NOT_OK);
}

void core_dependencies_resolve(helio_broker_core_t *self)
{
    while (self->ended) {
        job_t *job = self->ended;
        self->ended = job->ended_next;
        bool failed = job->state != HELIO_JOB_SUCCEEDED;
        job->submission->unresolved_tasks--;
        job->submission->failed_tasks += failed;
        tell_all(self, job->key, failed ? HELIO_FOUND_NOT_OK : HELIO_FOUND_OK);
        if (job->key.task != HELIO_NO_TASK)
            tell_of_array(self, job->submission, failed && job->submission->failed_tasks == 1);
    }
    write_dirty(self);
}

void core_dependencies_recheck(helio_broker_core_t *self)
{
    while (self->timed_count && self->timed[0]->not_before_ms <= self->wall_ms) {
        dependency_hold_t *hold = self->timed[0];
        timed_remove(self, hold);
        open_if_come(self, hold);
    }
}

/* ---- a submission -------------------------------------------------------------------------------------- */

/*  What is open is held here, whatever the shell read a moment ago. NULL: not held, or (a task) over. */
static const submission_t *held(helio_broker_core_t *self, helio_job_key_t on)
{
    const job_t *job = core_job_find(self, on);
    if (job)
        return job->submission;
    return on.task == HELIO_NO_TASK ? core_array_find(self, on.job) : NULL;
}

static helio_found_t how_now(helio_broker_core_t *self, helio_job_key_t on, uint32_t after,
                             helio_found_t found)
{
    const submission_t *submission = held(self, on);
    if (!submission)
        return found;
    bool unsatisfiable = on.task == HELIO_NO_TASK && submission->failed_tasks && after == HELIO_AFTER_OK;
    return unsatisfiable ? HELIO_FOUND_NOT_OK : HELIO_FOUND_OPEN;
}

static bool is_foreign(helio_broker_core_t *self, helio_text_t tenant, helio_job_key_t on)
{
    const submission_t *submission = held(self, on);
    if (!submission)
        submission = core_array_find(self, on.job);
    return submission && !helio_text_equal(submission->row.tenant, tenant);
}

static const char *const after_names[HELIO_AFTER_COUNT] = {"after_ok", "after_any", "after_not_ok"};

static bool check_dependency(helio_broker_core_t *self, const helio_ev_submit_t *event,
                             const helio_dependency_t *depend, const char *where)
{
    if (depend->found == HELIO_FOUND_UNKNOWN || is_foreign(self, event->tenant, depend->on)) {
        core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
                    "%s: there is no job '%.*s'; `helio ls` lists those there are", where,
                    HELIO_TEXT_ARGS(depend->word));
        return false;
    }
    if (depend->found == HELIO_FOUND_AMBIGUOUS) {
        core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
                    "%s: several jobs match '%.*s'; write more of the id", where,
                    HELIO_TEXT_ARGS(depend->word));
        return false;
    }
    if (depend->found == HELIO_FOUND_OPEN && !held(self, depend->on)) {
        core_reply(self, event->call, HELIO_BUSY, HELIO_REASON_GATED,
                    "%s: job '%.*s' ended at this moment; nothing was stored. Try again", where,
                    HELIO_TEXT_ARGS(depend->word));
        return false;
    }
    return true;
}

bool core_dependencies_check(helio_broker_core_t *self, const helio_ev_submit_t *event, const helio_submission_t *job,
                     const char *where)
{
    assert(job->depends.count ==
           job->spec.after_ok.count + job->spec.after_any.count + job->spec.after_not_ok.count);
    uint32_t places[HELIO_AFTER_COUNT] = {0};
    for (uint32_t i = 0; i < job->depends.count; i++) {
        const helio_dependency_t *depend = &job->depends.items[i];
        const char *at =
            core_printf(self, "%sdepends.%s[%u]", where, after_names[depend->after], places[depend->after]++);
        if (!check_dependency(self, event, depend, at))
            return false;
    }
    return true;
}

static void wait_for(helio_broker_core_t *self, submission_t *submission, helio_job_key_t on, uint32_t after,
                     helio_found_t found)
{
    verdict_t verdict = judge(after, how_now(self, on, after, found));
    if (verdict == VERDICT_WAIT)
        waiter_add(self, hold_of(submission), on, after);
    else if (verdict == VERDICT_UNSATISFIABLE)
        hold_fail(hold_of(submission), on, after);
}

static void wait_until(helio_broker_core_t *self, submission_t *submission, int64_t not_before_ms)
{
    if (not_before_ms > self->wall_ms)
        timed_add(self, hold_of(submission), not_before_ms);
}

void core_dependencies_new(helio_broker_core_t *self, submission_t *submission, const helio_submission_t *job)
{
    for (uint32_t i = 0; i < job->depends.count; i++) {
        const helio_dependency_t *depend = &job->depends.items[i];
        helio_row_dependency_t row = {submission->row.job, i, depend->after, depend->on};
        core_emit(self, HELIO_BROKER_FX_ROW_DEPENDENCY, &row);
        wait_for(self, submission, depend->on, depend->after, depend->found);
    }
    wait_until(self, submission, job->spec.not_before_wall_ms);
    if (submission->hold)
        set_waiting_text(self, submission->hold);
}

/* ---- rebuilt ------------------------------------------------------------------------------------------- */

/*  What opened while nobody led must be said, so each gate is shut until all is loaded. */
void core_dependencies_load(helio_broker_core_t *self, submission_t *submission, const helio_job_spec_t *spec)
{
    if (spec->after_ok.count || spec->after_any.count || spec->after_not_ok.count || spec->not_before_wall_ms)
        (void)hold_of(submission);
    wait_until(self, submission, spec->not_before_wall_ms);
}

void core_dependencies_load_waiting(helio_broker_core_t *self, const helio_row_waiting_t *row)
{
    submission_t *array = core_array_find(self, row->job);
    job_t *job = array ? NULL : core_job_find(self, (helio_job_key_t){row->job, HELIO_NO_TASK});
    assert(array || job);
    assert(row->found != HELIO_FOUND_OPEN || held(self, row->on));
    wait_for(self, array ? array : job->submission, row->on, row->after, row->found);
}

/*  Once open, always open: who was placed does not wait again when it comes back, though this leader's clock
 * shows less. */
void core_dependencies_loaded(helio_broker_core_t *self, submission_t *submission)
{
    dependency_hold_t *hold = submission->hold;
    if (!hold)
        return;
    if (submission->begun)
        core_dependencies_destroy(self, submission);
    else if (hold_is_satisfied(hold))
        open_hold(self, hold);
}
