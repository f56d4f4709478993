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
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "broker/core/state/core.h"
#include "broker/core/state/checks.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/submissions.h"
#include "broker/core/state/text.h"
#include "federation/base/clock.h"

struct dependencies {
    waited_t *waited;
    helio_heap_t timed; /* of gates, the earliest first */
    gate_t *dirty_gates;
    job_t *ended, *ended_last; /* of this step, in order */
};

void core_dependencies_destroy(dependencies_t **self_p)
{
    dependencies_t *self = *self_p;
    assert(!self->waited);
    helio_heap_clear(&self->timed);
    free(self);
    *self_p = NULL;
}

enum { NAMED_MAX = 3 /* of the jobs that a text names */ };

typedef enum verdict { VERDICT_WAIT, VERDICT_COME, VERDICT_IN_VAIN } verdict_t;

static verdict_t judge(uint32_t after, helio_found_t how)
{
    if (how == HELIO_FOUND_OPEN)
        return VERDICT_WAIT;
    uint32_t unwanted = how == HELIO_FOUND_OK ? HELIO_AFTER_NOT_OK : HELIO_AFTER_OK;
    return after == unwanted ? VERDICT_IN_VAIN : VERDICT_COME;
}

/* ---- who waits for whom -------------------------------------------------------------------------------- */

static waited_t *waited_find(helio_broker_core_t *self, helio_job_key_t on, uint32_t after)
{
    waited_t wanted, *found;
    memset(&wanted.key, 0, sizeof wanted.key);
    wanted.key.on = on;
    wanted.key.after = after;
    HASH_FIND(hh, self->dependencies->waited, &wanted.key, sizeof wanted.key, found);
    return found;
}

static void waiter_add(helio_broker_core_t *self, gate_t *gate, helio_job_key_t on, uint32_t after)
{
    waited_t *waited = waited_find(self, on, after);
    if (!waited) {
        waited = helio_new(1, sizeof *waited);
        waited->key.on = on;
        waited->key.after = after;
        HASH_ADD(hh, self->dependencies->waited, key, sizeof waited->key, waited);
    }
    waiter_t *waiter = helio_new(1, sizeof *waiter);
    waiter->waited = waited;
    waiter->gate = gate;
    DL_APPEND(waited->waiters, waiter);
    DL_APPEND2(gate->waiters, waiter, gate_prev, gate_next);
    gate->waiter_count++;
}

static void waiter_remove(helio_broker_core_t *self, waiter_t *waiter)
{
    waited_t *waited = waiter->waited;
    DL_DELETE(waited->waiters, waiter);
    DL_DELETE2(waiter->gate->waiters, waiter, gate_prev, gate_next);
    waiter->gate->waiter_count--;
    if (!waited->waiters) {
        HASH_DEL(self->dependencies->waited, waited);
        free(waited);
    }
    free(waiter);
}

/* ---- times: a heap, the earliest on top ---------------------------------------------------------------- */

static bool is_earlier(helio_heap_item_t *a_, helio_heap_item_t *b_)
{
    const gate_t *a = HELIO_HEAP_OWNER(a_, gate_t, timed), *b = HELIO_HEAP_OWNER(b_, gate_t, timed);
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

/*  NULL = no gate waits for a time. */
static gate_t *first_timed(const helio_broker_core_t *self)
{
    helio_heap_item_t *first = helio_heap_first(&self->dependencies->timed);
    return first ? HELIO_HEAP_OWNER(first, gate_t, timed) : NULL;
}

static void check_first(helio_broker_core_t *self)
{
    const gate_t *first = first_timed(self);
    core_check_at(self, CORE_CHECK_DEPENDENCIES, first ? first->not_before_ms : INT64_MAX);
}

static void timed_add(helio_broker_core_t *self, gate_t *gate, int64_t not_before_ms)
{
    gate->not_before_ms = not_before_ms;
    helio_heap_put(&self->dependencies->timed, &gate->timed);
    check_first(self);
}

static void timed_remove(helio_broker_core_t *self, gate_t *gate)
{
    if (!gate->not_before_ms)
        return;
    helio_heap_remove(&self->dependencies->timed, &gate->timed);
    gate->not_before_ms = 0;
    check_first(self);
}

/* ---- a gate's life ------------------------------------------------------------------------------------- */

/*  Its row is written once a step, however much came. */
static void say_later(helio_broker_core_t *self, gate_t *gate)
{
    if (gate->dirty)
        return;
    gate->dirty = true;
    DL_APPEND2(self->dependencies->dirty_gates, gate, dirty_prev, dirty_next);
}

static void say_nothing(helio_broker_core_t *self, gate_t *gate)
{
    if (gate->dirty)
        DL_DELETE2(self->dependencies->dirty_gates, gate, dirty_prev, dirty_next);
    gate->dirty = false;
}

static gate_t *gate_of(submission_t *submission)
{
    if (!submission->gate) {
        submission->gate = helio_new(1, sizeof *submission->gate);
        submission->gate->submission = submission;
        submission->gate->failed_after = HELIO_AFTER_COUNT;
    }
    return submission->gate;
}

static void wait_for_nothing(helio_broker_core_t *self, gate_t *gate)
{
    while (gate->waiters)
        waiter_remove(self, gate->waiters);
    timed_remove(self, gate);
    say_nothing(self, gate);
}

void core_gate_destroy(helio_broker_core_t *self, submission_t *submission)
{
    if (!submission->gate)
        return;
    wait_for_nothing(self, submission->gate);
    free(submission->gate);
    submission->gate = NULL;
}

static void gate_fail(gate_t *gate, helio_job_key_t on, uint32_t after)
{
    if (gate->failed_after != HELIO_AFTER_COUNT)
        return;
    gate->failed_on = on;
    gate->failed_after = after;
}

static bool gate_has_come(const gate_t *gate)
{
    return !gate->waiters && !gate->not_before_ms && gate->failed_after == HELIO_AFTER_COUNT;
}

static void write_gate(helio_broker_core_t *self, const gate_t *gate, helio_text_t detail, int64_t opened_ms)
{
    helio_row_gate_t row = {.job = gate->submission->row.job, .detail = detail, .opened_ms = opened_ms};
    core_emit(self, HELIO_BROKER_FX_ROW_GATE, &row);
}

static void open_gate(helio_broker_core_t *self, gate_t *gate)
{
    write_gate(self, gate, (helio_text_t){0}, self->wall_ms);
    core_gate_destroy(self, gate->submission);
}

/*  Its turn begins now: behind those of its class that could have started before it. */
static void open_if_come(helio_broker_core_t *self, gate_t *gate)
{
    if (!gate_has_come(gate)) {
        say_later(self, gate);
        return;
    }
    submission_t *submission = gate->submission;
    open_gate(self, gate);
    core_job_feed(self, submission);
}

void core_gate_refuse(helio_broker_core_t *self, submission_t *submission)
{
    gate_t *gate = submission->gate;
    if (!gate || gate->failed_after == HELIO_AFTER_COUNT)
        return;
    wait_for_nothing(self, gate);
    char id[HELIO_KEY_SIZE];
    helio_job_key_text(gate->failed_on, id);
    const char *reason = core_printf(self, "DependencyFailed: %s %s", id,
                                     gate->failed_after == HELIO_AFTER_OK ? "did not succeed" : "succeeded");
    while (submission->throttled) {
        job_t *job = submission->throttled;
        job->exit_code = 130;
        core_job_move(self, job, HELIO_JOB_CANCELLED, reason, "broker");
    }
}

/* ---- what it says -------------------------------------------------------------------------------------- */

static const char *gate_text(helio_broker_core_t *self, const gate_t *gate)
{
    static const char *const wishes[HELIO_AFTER_COUNT] = {" to succeed", " to end",
                                                          " to end without success"};
    const char *text = gate->waiters ? "waits for " : "";
    uint32_t named = 0;
    for (const waiter_t *w = gate->waiters; w && named < NAMED_MAX; w = w->gate_next) {
        char id[HELIO_KEY_SIZE];
        helio_job_key_text(w->waited->key.on, id);
        text = core_printf(self, "%s%s%s%s", text, named++ ? ", " : "", id, wishes[w->waited->key.after]);
    }
    if (gate->waiter_count > named)
        text = core_printf(self, "%s and for %u more", text, gate->waiter_count - named);
    if (!gate->not_before_ms)
        return text;
    return core_printf(self, "%s%s%s", text, gate->waiters ? "; not before " : "waits until ",
                       core_second_text(self, gate->not_before_ms));
}

static void write_dirty(helio_broker_core_t *self)
{
    while (self->dependencies->dirty_gates) {
        gate_t *gate = self->dependencies->dirty_gates;
        say_nothing(self, gate);
        write_gate(self, gate, helio_text_of(gate_text(self, gate)), 0);
    }
}

/* ---- ends ---------------------------------------------------------------------------------------------- */

void core_gates_ended(helio_broker_core_t *self, job_t *job)
{
    if (self->dependencies->ended)
        self->dependencies->ended_last->ended_next = job;
    else
        self->dependencies->ended = job;
    self->dependencies->ended_last = job;
}

/*  One look into the table for each: what a waiter's gate does may take others out of the same list. */
static void tell(helio_broker_core_t *self, helio_job_key_t on, uint32_t after, helio_found_t how)
{
    for (waited_t *waited; (waited = waited_find(self, on, after));) {
        gate_t *gate = waited->waiters->gate;
        waiter_remove(self, waited->waiters);
        if (judge(after, how) == VERDICT_COME) {
            open_if_come(self, gate);
        } else {
            gate_fail(gate, on, after);
            core_gate_refuse(self, gate->submission);
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
    if (!array->unsettled_tasks)
        tell_all(self, whole, array->failed_tasks ? HELIO_FOUND_NOT_OK : HELIO_FOUND_OK);
    else if (first_failure)
        tell(self, whole, HELIO_AFTER_OK, HELIO_FOUND_NOT_OK);
}

void core_gates_settle(helio_broker_core_t *self)
{
    while (self->dependencies->ended) {
        job_t *job = self->dependencies->ended;
        self->dependencies->ended = job->ended_next;
        bool failed = job->state != HELIO_JOB_SUCCEEDED;
        job->submission->unsettled_tasks--;
        job->submission->failed_tasks += failed;
        tell_all(self, job->key, failed ? HELIO_FOUND_NOT_OK : HELIO_FOUND_OK);
        if (job->key.task != HELIO_NO_TASK)
            tell_of_array(self, job->submission, failed && job->submission->failed_tasks == 1);
    }
    write_dirty(self);
}

void core_gates_look(helio_broker_core_t *self)
{
    for (gate_t *gate; (gate = first_timed(self)) && gate->not_before_ms <= self->wall_ms;) {
        timed_remove(self, gate);
        open_if_come(self, gate);
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
    bool in_vain = on.task == HELIO_NO_TASK && submission->failed_tasks && after == HELIO_AFTER_OK;
    return in_vain ? HELIO_FOUND_NOT_OK : HELIO_FOUND_OPEN;
}

static bool is_foreign(helio_broker_core_t *self, helio_text_t tenant, helio_job_key_t on)
{
    const submission_t *submission = held(self, on);
    if (!submission)
        submission = core_array_find(self, on.job);
    return submission && !helio_text_equal(submission->row.tenant, tenant);
}

static const char *const after_words[HELIO_AFTER_COUNT] = {"after_ok", "after_any", "after_not_ok"};

static bool check_dependency(helio_broker_core_t *self, const helio_ev_submit_t *event,
                             const helio_dependency_t *depend, const char *where)
{
    if (depend->found == HELIO_FOUND_UNKNOWN || is_foreign(self, event->tenant, depend->on)) {
        core_answer(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
                    "%s: there is no job '%.*s'; `helio ls` lists those there are", where,
                    HELIO_TEXT_ARGS(depend->word));
        return false;
    }
    if (depend->found == HELIO_FOUND_AMBIGUOUS) {
        core_answer(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
                    "%s: several jobs match '%.*s'; write more of the id", where,
                    HELIO_TEXT_ARGS(depend->word));
        return false;
    }
    if (depend->found == HELIO_FOUND_OPEN && !held(self, depend->on)) {
        core_answer(self, event->call, HELIO_BUSY, HELIO_REASON_GATED,
                    "%s: job '%.*s' ended at this moment; nothing was stored. Try again", where,
                    HELIO_TEXT_ARGS(depend->word));
        return false;
    }
    return true;
}

bool core_gate_check(helio_broker_core_t *self, const helio_ev_submit_t *event, const helio_submission_t *job,
                     const char *where)
{
    assert(job->depends.count ==
           job->spec.after_ok.count + job->spec.after_any.count + job->spec.after_not_ok.count);
    uint32_t places[HELIO_AFTER_COUNT] = {0};
    for (uint32_t i = 0; i < job->depends.count; i++) {
        const helio_dependency_t *depend = &job->depends.items[i];
        const char *at =
            core_printf(self, "%sdepends.%s[%u]", where, after_words[depend->after], places[depend->after]++);
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
        waiter_add(self, gate_of(submission), on, after);
    else if (verdict == VERDICT_IN_VAIN)
        gate_fail(gate_of(submission), on, after);
}

static void wait_until(helio_broker_core_t *self, submission_t *submission, int64_t not_before_ms)
{
    if (not_before_ms > self->wall_ms)
        timed_add(self, gate_of(submission), not_before_ms);
}

void core_gate_new(helio_broker_core_t *self, submission_t *submission, const helio_submission_t *job)
{
    for (uint32_t i = 0; i < job->depends.count; i++) {
        const helio_dependency_t *depend = &job->depends.items[i];
        helio_row_dependency_t row = {submission->row.job, i, depend->after, depend->on};
        core_emit(self, HELIO_BROKER_FX_ROW_DEPENDENCY, &row);
        wait_for(self, submission, depend->on, depend->after, depend->found);
    }
    wait_until(self, submission, job->spec.not_before_wall_ms);
    if (submission->gate)
        say_later(self, submission->gate);
}

/* ---- rebuilt ------------------------------------------------------------------------------------------- */

/*  What opened while nobody led must be said, so each gate is shut until all is loaded. */
void core_gate_load(helio_broker_core_t *self, submission_t *submission, const helio_job_spec_t *spec)
{
    if (spec->after_ok.count || spec->after_any.count || spec->after_not_ok.count || spec->not_before_wall_ms)
        (void)gate_of(submission);
    wait_until(self, submission, spec->not_before_wall_ms);
}

void core_gate_load_waiting(helio_broker_core_t *self, const helio_row_waiting_t *row)
{
    submission_t *array = core_array_find(self, row->job);
    job_t *job = array ? NULL : core_job_find(self, (helio_job_key_t){row->job, HELIO_NO_TASK});
    assert(array || job);
    assert(row->found != HELIO_FOUND_OPEN || held(self, row->on));
    wait_for(self, array ? array : job->submission, row->on, row->after, row->found);
}

/*  Once open, always open: who was placed does not wait again when it comes back, though this leader's clock
 * shows less. */
void core_gate_loaded(helio_broker_core_t *self, submission_t *submission)
{
    gate_t *gate = submission->gate;
    if (!gate)
        return;
    if (submission->begun)
        core_gate_destroy(self, submission);
    else if (gate_has_come(gate))
        open_gate(self, gate);
}
