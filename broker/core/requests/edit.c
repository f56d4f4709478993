/*  edit.c -- changes what a job asks for while it waits: priority, goal, deadline, limits, queue, time limit.
 *
 *  The document stays as it was received, and sites get it unchanged: of what can be edited, only the time limit concerns
 *  a site, and an order has that beside the document. The new values are one row for each job. The row applies to all tasks of an array, and to those that return from a site
 *  later. The job joins the class of jobs that ask for the same, as if it had been submitted so; it keeps its age. */
#include "broker/core/requests/edit.h"

#include "broker/core/decide/infeasible.h"
#include "broker/core/holds/dependencies.h"
#include "broker/core/requests/submit.h"
#include "broker/core/requests/tenant_rate.h"
#include "broker/core/requests/warnings.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/queues.h"
#include "broker/core/state/submissions.h"
#include "broker/core/state/why.h"
#include "federation/base/clock.h"
#include "federation/reason/sentence.h"

/*  All that can be edited, with its current values. */
typedef struct requested {
    int32_t priority;
    uint32_t goal;
    bool prices_set;
    int64_t deadline_ms;
    uint64_t flexible_ms;
    uint64_t max_cost_micro_usd;
    uint64_t max_carbon_mg_per_kwh;
    uint64_t time_limit_ms;
    queue_t *queue;
} requested_t;

static requested_t requested_of(const submission_t *submission)
{
    const job_class_t *class = submission->class;
    return (requested_t){class->priority,
                         submission->goal,
                         submission->prices_set,
                         class->want.deadline_wall_ms,
                         submission->flexible_ms,
                         class->want.max_cost_micro_usd,
                         class->want.max_carbon_mg_per_kwh,
                         submission->row.time_limit_ms,
                         submission->queue};
}

/*  An expectation that the job's first limit cut says nothing of a longer run, and none says anything of a job whose limit
 *  is more than double (federation/policy/duration.h). */
static void want_time(const submission_t *submission, uint64_t time_limit_ms, helio_requirement_t *want)
{
    uint64_t cut_ms = submission->row.stored_limit_ms;
    bool longer = time_limit_ms > cut_ms, far = longer && time_limit_ms - cut_ms > cut_ms;
    want->time_limit_ms = time_limit_ms;
    if (longer && (far || want->expected_ms >= cut_ms))
        want->expected_ms = 0;
    if (longer && (far || want->expected_high_ms >= cut_ms))
        want->expected_high_ms = 0;
}

/*  The result has views of the class and of *requested. */
static helio_requirement_t requirement_of(const submission_t *submission, const requested_t *requested)
{
    helio_requirement_t want = submission->class->want;
    want.queue = helio_text_of(requested->queue->name);
    want.deadline_wall_ms = requested->deadline_ms;
    want.max_cost_micro_usd = requested->max_cost_micro_usd;
    want.max_carbon_mg_per_kwh = requested->max_carbon_mg_per_kwh;
    want.free_until_ms = helio_requirement_free_until(requested->flexible_ms, submission->row.submitted_ms);
    want_time(submission, requested->time_limit_ms, &want);
    if (requested->prices_set)
        return want; /* it keeps the document's prices: they are never edited, only replaced by a goal */
    helio_prices_t prices = helio_prices_of_goal(requested->goal);
    want.carbon_price_micro_usd_per_t = prices.carbon_micro_usd_per_t;
    want.wait_price_micro_usd_per_gpu_h = prices.wait_micro_usd_per_gpu_h;
    want.scarcity_price_micro_usd_per_gpu_h = prices.scarcity_micro_usd_per_gpu_h;
    return want;
}

static void apply(helio_broker_core_t *self, submission_t *submission, const requested_t *requested, uint64_t stored_id)
{
    helio_requirement_t want = requirement_of(submission, requested);
    submission->goal = requested->goal;
    submission->prices_set = requested->prices_set;
    submission->flexible_ms = requested->flexible_ms;
    submission->row.time_limit_ms = requested->time_limit_ms;
    core_submission_reclass(self, submission, &want, requested->priority, requested->queue, stored_id);
}

/* ---- as texts ---------------------------------------------------------------------------------------------- */

static const char *goal_text(const requested_t *requested)
{
    return requested->prices_set ? "prices" : helio_goal_name(requested->goal);
}

static const char *time_text(helio_broker_core_t *self, int64_t wall_ms)
{
    char text[HELIO_RFC3339_SIZE];
    helio_rfc3339(wall_ms, text);
    return wall_ms ? core_printf(self, "%.19sZ", text) : "none";
}

static const char *span_text(helio_broker_core_t *self, uint64_t ms)
{
    unsigned long long s = ms / 1000;
    if (!s)
        return "none";
    if (s % 60)
        return core_printf(self, "%llus", s);
    if (s % 3600)
        return s < 3600 ? core_printf(self, "%llum", s / 60) : core_printf(self, "%lluh%02llum", s / 3600, s / 60 % 60);
    return core_printf(self, "%lluh", s / 3600);
}

static const char *cost_text(helio_broker_core_t *self, uint64_t micro_usd)
{
    return micro_usd ? core_printf(self, "%llu.%02u USD", (unsigned long long)(micro_usd / 1000000),
                                   (unsigned)(micro_usd / 10000 % 100))
                     : "none";
}

static const char *carbon_text(helio_broker_core_t *self, uint64_t mg_per_kwh)
{
    return mg_per_kwh ? core_printf(self, "%.6g g/kWh", (double)mg_per_kwh / 1000) : "none";
}

typedef struct change {
    const char *field, *before, *after;
} change_t;

enum { CHANGES_MAX = 8 };

static uint32_t changes_of(helio_broker_core_t *self, const requested_t *a, const requested_t *b, change_t *ret_changes)
{
    uint32_t count = 0;
    if (a->queue != b->queue)
        ret_changes[count++] = (change_t){"queue", a->queue->name, b->queue->name};
    if (a->priority != b->priority)
        ret_changes[count++] =
            (change_t){"priority", core_printf(self, "%d", a->priority), core_printf(self, "%d", b->priority)};
    if (a->prices_set != b->prices_set || a->goal != b->goal)
        ret_changes[count++] = (change_t){"goal", goal_text(a), goal_text(b)};
    if (a->deadline_ms != b->deadline_ms)
        ret_changes[count++] = (change_t){"deadline", time_text(self, a->deadline_ms), time_text(self, b->deadline_ms)};
    if (a->flexible_ms != b->flexible_ms)
        ret_changes[count++] = (change_t){"flexible", span_text(self, a->flexible_ms), span_text(self, b->flexible_ms)};
    if (a->max_cost_micro_usd != b->max_cost_micro_usd)
        ret_changes[count++] =
            (change_t){"max_cost", cost_text(self, a->max_cost_micro_usd), cost_text(self, b->max_cost_micro_usd)};
    if (a->max_carbon_mg_per_kwh != b->max_carbon_mg_per_kwh)
        ret_changes[count++] = (change_t){"max_carbon", carbon_text(self, a->max_carbon_mg_per_kwh),
                                          carbon_text(self, b->max_carbon_mg_per_kwh)};
    if (a->time_limit_ms != b->time_limit_ms)
        ret_changes[count++] = (change_t){"time", span_text(self, a->time_limit_ms), span_text(self, b->time_limit_ms)};
    return count;
}

/* ---- checks ------------------------------------------------------------------------------------------------ */

typedef struct subject {
    submission_t *submission;
    uint32_t waiting; /* open tasks that are not placed */
    uint32_t placed;
    bool placed_before; /* a task was placed, now or earlier, or is over */
    const job_t *first; /* of those that are not placed; else of those that are */
} subject_t;

static void reply_not_found(helio_broker_core_t *self, const helio_ev_edit_t *event)
{
    char text[HELIO_KEY_SIZE];
    helio_job_key_text(event->key, text);
    core_reply(self, event->call, HELIO_NOT_FOUND, HELIO_REASON_NONE,
               CORE_DETAIL(self, HELIO_DETAIL_JOB_NOT_WAITING, helio_value_string(text)));
}

static bool find(helio_broker_core_t *self, const helio_ev_edit_t *event, subject_t *ret_subject)
{
    job_t *job = core_job_find(self, event->key);
    submission_t *submission = job                                ? job->submission
                               : event->key.task == HELIO_NO_TASK ? core_array_find(self, event->key.job)
                                                                  : NULL;
    if (!submission ||
        (event->role < HELIO_ROLE_OPERATOR && !helio_text_equal(event->tenant, submission->row.tenant))) {
        reply_not_found(self, event);
        return false;
    }
    char id[HELIO_KEY_SIZE];
    helio_job_key_text((helio_job_key_t){event->key.job, HELIO_NO_TASK}, id);
    if (event->key.task != HELIO_NO_TASK) {
        core_reply(self, event->call, HELIO_CONFLICT, HELIO_REASON_NONE,
                   CORE_DETAIL(self, HELIO_DETAIL_EDIT_WHOLE_ARRAY, helio_value_string(id)));
        return false;
    }
    subject_t subject = {.submission = submission,
                         .placed_before = submission->open_tasks < submission->row.tasks.count};
    for (uint32_t at = 0; (job = core_submission_next(self, submission, &at));) {
        bool waits = job->state == HELIO_JOB_QUEUED || job->state == HELIO_JOB_HELD;
        if (!subject.first || (waits && !subject.waiting))
            subject.first = job;
        subject.waiting += waits;
        subject.placed += !waits;
        subject.placed_before = subject.placed_before || job->epoch;
    }
    if (!subject.waiting) {
        job = (job_t *)(uintptr_t)subject.first;
        core_reply(
            self, event->call, HELIO_CONFLICT, HELIO_REASON_NONE,
            CORE_DETAIL(self, HELIO_DETAIL_EDIT_PLACED, helio_value_string(id),
                        helio_value_string(helio_job_state_name(job->state)), helio_value_string(core_job_site(job))));
        return false;
    }
    *ret_subject = subject;
    return true;
}

static bool read_queue(helio_broker_core_t *self, const helio_ev_edit_t *event, const subject_t *subject,
                       requested_t *requested)
{
    queue_t *queue = core_queue_find(self, event->queue);
    if (!queue) {
        core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID, core_unknown_queue(self, event->queue, 0));
        return false;
    }
    if (queue != requested->queue &&
        subject->placed) { /* their GPUs are charged to the queue that they were placed in */
        core_reply(self, event->call, HELIO_CONFLICT, HELIO_REASON_NONE,
                   CORE_DETAIL(self, HELIO_DETAIL_EDIT_QUEUE_PLACED, helio_value_number(subject->placed)));
        return false;
    }
    requested->queue = queue;
    return true;
}

/*  What an attempt used is bounded by the job's time limit, also when its site reports late. So the limit of a job that
 *  was placed never falls, and that of an array changes only while no task is placed. */
static bool check_time(helio_broker_core_t *self, const helio_ev_edit_t *event, const subject_t *subject,
                       uint64_t before_ms, uint64_t time_limit_ms)
{
    helio_detail_t fault = CORE_NO_DETAIL;
    if (subject->placed)
        fault = CORE_DETAIL(self, HELIO_DETAIL_EDIT_TIME_PLACED, helio_value_number(subject->placed));
#ifndef HELIO_MUTANT_limit_falls_after_a_run
    else if (time_limit_ms < before_ms && subject->placed_before)
        fault = HELIO_DETAIL0(HELIO_DETAIL_EDIT_TIME_SHORTER);
#endif
    if (fault.code)
        core_reply(self, event->call, HELIO_CONFLICT, HELIO_REASON_NONE, fault);
    return !fault.code;
}

static bool read_time(helio_broker_core_t *self, const helio_ev_edit_t *event, const subject_t *subject,
                      requested_t *requested)
{
    const uint64_t before_ms = requested->time_limit_ms, given_ms = event->time_limit_ms;
    uint64_t ms = given_ms;
    if (event->time_change == HELIO_TIME_CHANGE_ADD)
        ms = given_ms > HELIO_JOB_TIME_MAX_MS ? UINT64_MAX : before_ms + given_ms;
    else if (event->time_change == HELIO_TIME_CHANGE_SUBTRACT)
        ms = given_ms < before_ms ? before_ms - given_ms : 0;
    else if (!given_ms)
        ms = requested->queue->time_limit_ms;
    if (!ms || ms > HELIO_JOB_TIME_MAX_MS) {
        core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
                   core_out_of_range(self, "time", 1, HELIO_JOB_TIME_MAX_MS / 1000, "seconds"));
        return false;
    }
    requested->time_limit_ms = ms;
    return ms == before_ms || check_time(self, event, subject, before_ms, ms);
}

static bool read_requested(helio_broker_core_t *self, const helio_ev_edit_t *event, const subject_t *subject,
                           requested_t *requested)
{
    if (event->priority_given &&
        (event->priority < -HELIO_EDIT_PRIORITY_MAX || event->priority > HELIO_EDIT_PRIORITY_MAX)) {
        core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
                   core_out_of_range(self, "priority", -HELIO_EDIT_PRIORITY_MAX, HELIO_EDIT_PRIORITY_MAX, ""));
        return false;
    }
    if (event->queue_given && !read_queue(self, event, subject, requested))
        return false;
    if (event->time_given && !read_time(self, event, subject, requested))
        return false;
    requested->priority = event->priority_given ? event->priority : requested->priority;
    requested->goal = event->goal_given ? event->goal : requested->goal;
    requested->prices_set = requested->prices_set && !event->goal_given;
    requested->deadline_ms = event->deadline_given ? event->deadline_wall_ms : requested->deadline_ms;
    requested->flexible_ms = event->flexible_given ? event->flexible_ms : requested->flexible_ms;
    requested->max_cost_micro_usd = event->max_cost_given ? event->max_cost_micro_usd : requested->max_cost_micro_usd;
    requested->max_carbon_mg_per_kwh =
        event->max_carbon_given ? event->max_carbon_mg_per_kwh : requested->max_carbon_mg_per_kwh;
    return true;
}

/*  Deadline and time limit are checked as at submission. A job that no site can hold at present is not refused for its deadline. */
static bool check_deadline(helio_broker_core_t *self, const helio_ev_edit_t *event, const subject_t *subject,
                           const requested_t *before, const requested_t *requested)
{
    const dependency_hold_t *hold = subject->submission->hold;
    helio_requirement_t want = requirement_of(subject->submission, requested);
    bool same = requested->deadline_ms == before->deadline_ms && requested->time_limit_ms <= before->time_limit_ms;
    if (same || !core_is_feasible(self, &want))
        return true;
    helio_detail_t fault = core_deadline_fault(self, &want, requested->queue, hold ? hold->not_before_ms : 0, 0);
    if (!fault.code)
        return true;
    core_reply_deadline(self, event->call, fault, HELIO_DETAIL0(HELIO_DETAIL_DEADLINE_REMEDY_EDIT),
                        HELIO_DETAIL0(HELIO_DETAIL_NOTHING_CHANGED));
    return false;
}

/* ---- applying ---------------------------------------------------------------------------------------------- */

static helio_details_t details_of(helio_broker_core_t *self, const change_t *changes, uint32_t count)
{
    helio_details_t details = {0};
    for (uint32_t i = 0; i < count; i++)
        core_why_add(self, &details,
                     CORE_DETAIL(self, HELIO_DETAIL_EDITED, helio_value_string(changes[i].field),
                                 helio_value_string(changes[i].before), helio_value_string(changes[i].after)));
    return details;
}

/*  One transition, for the job or for the whole array. */
static void tell(helio_broker_core_t *self, const helio_ev_edit_t *event, const subject_t *subject,
                 const change_t *changes, uint32_t count, const helio_details_t *edited)
{
    helio_text_t actor = event->actor;
    bool one = !subject->submission->row.tasks.count;
    uint32_t state = one ? subject->first->state : HELIO_JOB_QUEUED;
    helio_row_transition_t row = {
        .seq = ++self->transition_seq,
        .at_ms = self->wall_ms,
        .key = event->key,
        .epoch = one ? subject->first->epoch : 0,
        .from = state,
        .to = state,
        .why = *edited,
        .actor = actor,
    };
    core_emit(self, HELIO_BROKER_FX_ROW_TRANSITION, &row);
    for (uint32_t i = 0; i < count; i++) {
        helio_row_edited_t field = {.seq = row.seq,
                                    .place = i,
                                    .job = event->key.job,
                                    .at_ms = self->wall_ms,
                                    .actor = actor,
                                    .field = helio_text_of(changes[i].field),
                                    .before = helio_text_of(changes[i].before),
                                    .after = helio_text_of(changes[i].after)};
        core_emit(self, HELIO_BROKER_FX_ROW_EDITED, &field);
    }
    char id[HELIO_KEY_SIZE];
    helio_job_key_text(event->key, id);
    core_audit(self, event->actor, "edit", helio_arena_text(self->effects->arena, helio_text_of(id)),
               helio_sentences_text(edited, self->effects->arena));
}

static void write_edit(helio_broker_core_t *self, const submission_t *submission)
{
    requested_t requested = requested_of(submission);
    helio_row_edit_t row = {
        .job = submission->row.job,
        .priority = requested.priority,
        .goal = requested.goal,
        .prices_set = requested.prices_set,
        .deadline_wall_ms = requested.deadline_ms,
        .flexible_ms = requested.flexible_ms,
        .max_cost_micro_usd = requested.max_cost_micro_usd,
        .max_carbon_mg_per_kwh = requested.max_carbon_mg_per_kwh,
        .queue = helio_text_of(requested.queue->name),
        .tier = requested.queue->tier,
        .class_id = submission->class->id,
        .at_ms = self->wall_ms,
        .time_limit_ms = requested.time_limit_ms,
    };
    core_emit(self, HELIO_BROKER_FX_ROW_EDIT, &row);
}

void core_on_edit(helio_broker_core_t *self, const helio_ev_edit_t *event)
{
    subject_t subject;
    if (!find(self, event, &subject))
        return;
    requested_t before = requested_of(subject.submission), requested = before;
    if (!read_requested(self, event, &subject, &requested))
        return;
    change_t changes[CHANGES_MAX];
    uint32_t count = changes_of(self, &before, &requested, changes);
    if (!count) {
        core_reply(self, event->call, HELIO_OK, HELIO_REASON_NONE, HELIO_DETAIL0(HELIO_DETAIL_UNCHANGED));
        return;
    }
    if (!check_deadline(self, event, &subject, &before, &requested) ||
        !core_commands_allow(self, event->call, event->tenant, event->role))
        return;
    core_commands_count(self, event->tenant, event->role, 1);
    helio_details_t edited = details_of(self, changes, count);
    apply(self, subject.submission, &requested, 0);
    write_edit(self, subject.submission);
    tell(self, event, &subject, changes, count, &edited);
    if (subject.placed)
        core_why_add(self, &edited,
                     CORE_DETAIL(self, HELIO_DETAIL_EDIT_TASKS_PLACED, helio_value_number(subject.placed)));
    core_reply_details(self, event->call, HELIO_OK, HELIO_REASON_NONE, edited);
}

/*  The queue exists, because a queue with open jobs cannot be removed. */
void core_edit_load(helio_broker_core_t *self, const helio_row_edit_t *row)
{
    submission_t *submission = core_array_find(self, row->job);
    const job_t *job = submission ? NULL : core_job_find(self, (helio_job_key_t){row->job, HELIO_NO_TASK});
    submission = job ? job->submission : submission;
    queue_t *queue = core_queue_find(self, row->queue);
#ifdef HELIO_MUTANT_edit_forgotten
    return;
#endif
    if (!submission)
        return;
    requested_t requested = {row->priority,
                             row->goal,
                             row->prices_set,
                             row->deadline_wall_ms,
                             row->flexible_ms,
                             row->max_cost_micro_usd,
                             row->max_carbon_mg_per_kwh,
                             row->time_limit_ms ? row->time_limit_ms : submission->row.stored_limit_ms,
                             queue ? queue : submission->queue};
    apply(self, submission, &requested, row->class_id);
}
