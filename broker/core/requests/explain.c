/*  explain.c -- the start estimate of a job that has not started: when it can start, which jobs are ahead of it, and
 *  what would let it start sooner.
 *
 *  Users ask for one job at a time, so every class can be examined. An estimate follows from what the core knows; where
 *  only a guess would be possible, the time is unknown. */
#include "broker/core/holds/expected_starts.h"
#include "broker/core/requests/explain.h"

#include "broker/core/decide/decisions.h"
#include "broker/core/decide/evaluate.h"
#include "broker/core/decide/limits.h"
#include "broker/core/decide/overflow.h"
#include "broker/core/decide/pool_rejection.h"
#include "broker/core/holds/awaited_sites.h"
#include "broker/core/holds/dependencies.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/holds/site_windows.h"
#include "broker/core/migrate/records.h"
#include "broker/core/requests/ahead.h"
#include "broker/core/requests/dependency_eta.h"
#include "broker/core/requests/hints.h"
#include "broker/core/state/ask.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/copies.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/option.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/submissions.h"
#include "broker/core/state/why.h"

static void expect(helio_start_estimate_t *p, int64_t earliest_ms, int64_t latest_ms, helio_details_t basis)
{
    p->earliest_ms = earliest_ms;
    p->latest_ms = latest_ms && latest_ms < earliest_ms ? earliest_ms : latest_ms;
    p->basis = basis;
}

/*  The last start that its `flexible`, and its deadline at some pool, allow for a better hour. */
static int64_t last_better_start(const evaluation_t *e)
{
    const helio_requirement_t *want = &e->class->want;
    int64_t in_time_ms = 0;
    for (uint32_t i = 0; want->deadline_wall_ms && i < e->count; i++) {
        const helio_candidate_t *c = &e->options[i].c;
        int64_t start_ms = want->deadline_wall_ms - (int64_t)(c->transfer.ms + c->run_high_ms);
        if (c->run_high_ms && start_ms > in_time_ms)
            in_time_ms = start_ms;
    }
    return in_time_ms && in_time_ms < want->free_until_ms ? in_time_ms : want->free_until_ms;
}

/*  The first time at which a pool is expected to have capacity for it; 0 = unknown. */
static int64_t first_room(helio_broker_core_t *self, const evaluation_t *e)
{
    int64_t first_ms = 0;
    for (uint32_t i = 0; i < e->feasible; i++) {
        const option_t *o = &e->options[i];
        if (core_overflow_is_closed(e->class, o))
            continue;
        int64_t at_ms = core_reserve_expect(self, e->class, o->site, o->pool, o->c.gpus_per_node,
                                            first_ms ? first_ms : INT64_MAX, NULL);
        if (at_ms)
            first_ms = at_ms;
    }
    return first_ms;
}

/*  Until when the site reserves so much that the job has no capacity there, whichever jobs end; 0 = it can start
 *  before, or the time is unknown. */
static int64_t shut_until_ms(helio_broker_core_t *self, const job_class_t *class, const option_t *o)
{
    const site_window_t *site_window = o->pool->site_window;
    bool shut = false;
    int64_t until_ms = 0;
    for (uint32_t i = 0; site_window && i < site_window->count; i++)
        shut = shut || (core_option_gpus(class, o) > site_window->edges[i].room_gpus &&
                        (!i || (!o->pool->preemptions && /* else it waits for the victims */
                                site_window->edges[i].at_ms - self->wall_ms <
                                    (int64_t)helio_requirement_longest_ms(&class->want))));
    if (shut)
        (void)core_site_window_reason(self, class, o, &until_ms);
    return until_ms;
}

/*  The first time at which a site reserves less than all that it needs; 0 = some site does so now. */
static int64_t first_unkept(helio_broker_core_t *self, const evaluation_t *e)
{
    int64_t first_ms = 0;
    for (uint32_t i = 0; i < e->feasible; i++) {
        if (core_overflow_is_closed(e->class, &e->options[i]))
            continue;
        int64_t until_ms = shut_until_ms(self, e->class, &e->options[i]);
        if (!until_ms)
            return 0;
        first_ms = first_ms && first_ms < until_ms ? first_ms : until_ms;
    }
    return first_ms;
}

static helio_details_t reserved(helio_broker_core_t *self, const evaluation_t *e, bool jobs_ahead)
{
    return CORE_WHY(self, HELIO_DETAIL_START_RESERVED, helio_value_string(e->reserved->site->name),
                    helio_value_text(e->reserved->pool->info.name), helio_value_number(jobs_ahead));
}

static void expect_room(helio_broker_core_t *self, const evaluation_t *e, helio_start_estimate_t *p)
{
    int64_t first_unkept_ms = e->reserved ? 0 : first_unkept(self, e);
    int64_t at_ms = e->reserved ? e->reservation.at_ms : first_room(self, e), paused_until_ms = 0;
    const helio_detail_t pause = core_pause_detail(self, e, &paused_until_ms);
    if (!e->feasible)
        expect(p, 0, 0, CORE_WHY0(self, HELIO_DETAIL_START_NO_SITE_OPEN));
    else if (first_unkept_ms)
        expect(p, first_unkept_ms, 0, CORE_WHY0(self, HELIO_DETAIL_START_AFTER_WINDOW));
    else if (p->ahead_jobs)
        expect(p, self->wall_ms, 0, CORE_WHY0(self, HELIO_DETAIL_START_AFTER_OTHERS));
    else if (pause.code != HELIO_DETAIL_NONE)
        expect(p, self->wall_ms, paused_until_ms, core_why(self, pause));
    else if (at_ms && e->reserved)
        expect(p, self->wall_ms, at_ms, reserved(self, e, false));
    else if (at_ms)
        expect(p, self->wall_ms, at_ms, CORE_WHY0(self, HELIO_DETAIL_START_TIME_LIMITS));
    else
        expect(p, self->wall_ms, 0, CORE_WHY0(self, HELIO_DETAIL_START_UNKNOWN));
}

/*  A job that its own document keeps from every pool has its place in the order, but no other job keeps it waiting. */
static bool is_kept_by_others(const evaluation_t *e, helio_reason_t reason)
{
    return reason != HELIO_REASON_NEVER_FITS && (reason != HELIO_REASON_POLICY_CAP || e->capped_gpus || e->over_budget);
}

void core_start_estimate_expect(helio_broker_core_t *self, const evaluation_t *e, const job_t *job, helio_text_t reader,
                                helio_reason_t reason, int64_t expected_ms, helio_start_estimate_t *p)
{
    if (is_kept_by_others(e, reason))
        core_start_estimate_ahead(self, job->submission->class, job, reader, p);
    switch ((int)reason) {
    case HELIO_REASON_NONE:
        expect(p, self->wall_ms, p->ahead_jobs ? 0 : self->wall_ms, CORE_WHY0(self, HELIO_DETAIL_START_NOW));
        break;
    case HELIO_REASON_WAITING_FOR_WINDOW:
        expect(p, expected_ms, last_better_start(e), CORE_WHY0(self, HELIO_DETAIL_START_FORECAST));
        break;
    case HELIO_REASON_POLICY_CAP:
        if (e->capped_gpus)
            expect(p, 0, 0,
                   core_why(self, HELIO_DETAIL0(core_quota_is_too_small(e->class, e->capped_gpus)
                                                    ? HELIO_DETAIL_START_QUOTA_RAISED
                                                    : HELIO_DETAIL_START_QUOTA)));
        else if (e->over_budget && !expected_ms)
            expect(p, 0, 0, CORE_WHY0(self, HELIO_DETAIL_START_BUDGET_RAISED));
        else if (e->over_budget)
            expect(p, expected_ms, 0, CORE_WHY0(self, HELIO_DETAIL_START_BUDGET));
        else if (expected_ms)
            expect(p, expected_ms, 0, CORE_WHY0(self, HELIO_DETAIL_START_BOUNDS));
        else
            expect(p, 0, 0, CORE_WHY0(self, HELIO_DETAIL_START_NO_HOUR));
        break;
    case HELIO_REASON_WAITING_FOR_CAPACITY:
        expect_room(self, e, p);
        break;
    default:
        expect(p, 0, 0, CORE_WHY0(self, HELIO_DETAIL_START_NEVER));
    }
}

bool core_start_estimate_is_forbidden(const evaluation_t *e, helio_reason_t reason, int64_t expected_ms)
{
    if (reason == HELIO_REASON_NEVER_FITS)
        return true;
    return reason == HELIO_REASON_POLICY_CAP &&
           (e->capped_gpus ? core_quota_is_too_small(e->class, e->capped_gpus) : !expected_ms);
}

void core_start_estimate_forbid(helio_broker_core_t *self, const evaluation_t *e, helio_reason_t reason,
                                helio_start_estimate_t *estimate)
{
    helio_detail_code_t then = reason == HELIO_REASON_NEVER_FITS ? HELIO_DETAIL_START_NEVER
                               : e->capped_gpus                  ? HELIO_DETAIL_START_QUOTA_RAISED
                               : e->over_budget                  ? HELIO_DETAIL_START_BUDGET_RAISED
                                                                 : HELIO_DETAIL_START_NO_HOUR;
    helio_details_t basis = {0};
    core_why_join(self, &basis, &estimate->basis);
    core_why_add(self, &basis, HELIO_DETAIL0(then));
    expect(estimate, 0, 0, basis);
    if (e->class->judged_ms) /* else a hint would be for a start now */
        core_hints(self, e, reason, 0, estimate);
}

/*  NULL: there is none. */
static const dependency_hold_t *failed_hold(const job_t *job)
{
    const dependency_hold_t *holds[] = {job->submission->hold, job->hold};
    for (size_t i = 0; i < sizeof holds / sizeof holds[0]; i++)
        if (holds[i] && holds[i]->failed_after != HELIO_AFTER_COUNT)
            return holds[i];
    return NULL;
}

/*  While its dependency hold lasts; what comes after is judged for the time at which it ends, if that is known. */
static void expect_gated(helio_broker_core_t *self, const job_t *job, helio_start_estimate_t *p)
{
    if (failed_hold(job)) {
        expect(p, 0, 0, core_dependency_failed_why(self, failed_hold(job)));
        return;
    }
    int64_t end_ms = core_dependencies_expect(self, job, p), expected_ms = 0;
    ask_t ask = core_ask_of(job->submission->class);
    helio_details_t details;
    ask.judged_ms = end_ms > self->wall_ms ? end_ms : 0;
    job_class_t alone = core_class_of_ask(&ask, NULL);
    job_t waiting = *job; /* as if its hold were over, and it alone waited in the class */
    waiting.prev = waiting.next = NULL;
    alone.waiting = &waiting;
    alone.waiting_count = 1;
    core_findings_expire(self);
    evaluation_t e = core_evaluate(self, &alone);
    choice_t choice = core_choose(self, &e);
    helio_reason_t reason = HELIO_REASON_NONE;
    if (!choice.now) {
        core_decide(self, &e, &choice);
        reason = core_decision_reason(self, &e, &details, &expected_ms);
    }
    if (core_start_estimate_is_forbidden(&e, reason, expected_ms))
        core_start_estimate_forbid(self, &e, reason, p);
    else
        core_why_add(self, &p->basis, HELIO_DETAIL0(HELIO_DETAIL_START_THEN_CAPACITY));
}

/*  Until what the sites have listed, or may hold, is over. Other reasons can keep it longer. */
static void expect_copies(helio_broker_core_t *self, const job_t *job, helio_start_estimate_t *p)
{
    int64_t latest_ms;
    helio_details_t details = core_copies_details(self, job, &latest_ms);
    expect(p, self->wall_ms, latest_ms, details);
}

/*  Nothing runs any more once an operator says so, and of a `lease` job at the latest when its lease is over. */
static void expect_suspect(helio_broker_core_t *self, const job_t *job, helio_start_estimate_t *p)
{
    const char *name = core_job_site(job);
    const site_t *site = core_site_find(self, helio_text_of(name));
    bool doubted = core_job_is_doubted(job);
    int64_t over_ms = !site || job->submission->on_site_loss != HELIO_SITE_LOSS_LEASE ? 0
                      : doubted                                                       ? site->doubt_over_ms
                                                                                      : site->lease_over_ms;
    int64_t until_ms = over_ms > self->now_ms ? self->wall_ms + over_ms - self->now_ms : over_ms ? self->wall_ms : 0;
    helio_details_t basis =
        doubted ? CORE_WHY(self, HELIO_DETAIL_START_MEMORY_LOST, helio_value_string(name), helio_value_number(until_ms))
        : until_ms ? CORE_WHY(self, HELIO_DETAIL_START_LEASE_ENDS, helio_value_number(until_ms))
                   : CORE_WHY0(self, HELIO_DETAIL_START_SITE_SILENT);
    expect(p, until_ms, 0, basis);
}

/*  For jobs that are not in their class's queue. */
static void expect_outside(helio_broker_core_t *self, const job_t *job, helio_start_estimate_t *p)
{
    const submission_t *submission = job->submission;
    if (job->state == HELIO_JOB_HELD)
        expect(p, 0, 0, CORE_WHY0(self, HELIO_DETAIL_START_RELEASE));
    else if (job->state == HELIO_JOB_SUSPECT)
        expect_suspect(self, job, p);
    else if (job->state != HELIO_JOB_QUEUED)
        expect(p, self->wall_ms, 0, CORE_WHY(self, HELIO_DETAIL_START_AT_SITE, helio_value_string(core_job_site(job))));
    else if (core_job_is_kept_back(self, job))
        expect_copies(self, job, p);
    else if (submission->hold || job->hold)
        expect_gated(self, job, p);
    else
        expect(p, self->wall_ms, 0,
               CORE_WHY(self, HELIO_DETAIL_START_THROTTLE, helio_value_number(submission->tasks_at_once)));
}

/*  Tasks enter their class's queue when their dependency hold has ended and their array's throttle lets them
 *  through. */
static bool is_waiting_in_queue(const job_t *job)
{
    return job->state == HELIO_JOB_QUEUED && !job->submission->hold && job->fed;
}

bool core_start_estimate_awaits(helio_broker_core_t *self, const job_class_t *class, helio_start_estimate_t *p)
{
    if (core_sites_awaited(self)) {
        expect(p, self->wall_ms, self->wall_ms + self->restored_until_ms - self->now_ms,
               CORE_WHY0(self, HELIO_DETAIL_START_RESTORED));
        return true;
    }
    int64_t all_ms = core_takeover_awaits_ms(self), own_ms = core_class_awaits_ms(self, class),
            until_ms = own_ms > all_ms ? own_ms : all_ms;
    if (until_ms)
        expect(p, self->wall_ms, self->wall_ms + until_ms - self->now_ms,
               core_why(self, core_awaited_detail(self, own_ms > all_ms ? class : NULL, until_ms)));
    return until_ms != 0;
}

static void estimate(helio_broker_core_t *self, const job_t *job, helio_text_t reader, helio_start_estimate_t *p)
{
    if (core_start_estimate_awaits(self, job->submission->class, p))
        return;
    job_class_t alone;
    const ask_t ask = core_ask_of(job->submission->class);
    core_findings_expire(self);
    evaluation_t e = core_evaluate_ask(self, &ask, job->submission->class, &alone);
    choice_t choice = core_choose(self, &e);
    helio_details_t details;
    int64_t expected_ms = 0;
    helio_reason_t reason = HELIO_REASON_NONE;
    if (!choice.now || choice.later) {
        core_decide(self, &e, &choice);
        reason = core_decision_reason(self, &e, &details, &expected_ms);
    }
    core_start_estimate_expect(self, &e, job, reader, reason, expected_ms, p);
    bool head = job == job->submission->class->waiting;
    if (reason == HELIO_REASON_WAITING_FOR_CAPACITY && head && e.reserved && p->ahead_jobs)
        expect(p, self->wall_ms, e.reservation.at_ms, reserved(self, &e, true));
    int64_t left_ms = 0;
    const helio_details_t leaving = core_why(self, core_preempt_detail(self, job->submission->class, &left_ms));
    if (reason == HELIO_REASON_WAITING_FOR_CAPACITY && leaving.items.count && head) {
        expected_ms = left_ms;
        expect(p, self->wall_ms, left_ms, leaving);
    }
    core_hints(self, &e, reason, expected_ms, p);
}

static bool may_read(const helio_ev_command_t *event, const job_t *job)
{
    return event->role >= HELIO_ROLE_OPERATOR || helio_text_equal(event->tenant, job->submission->row.tenant);
}

void core_on_explain(helio_broker_core_t *self, const helio_ev_command_t *event)
{
    job_t *job = core_job_find(self, event->key);
    const submission_t *array = event->key.task == HELIO_NO_TASK ? core_array_find(self, event->key.job) : NULL;
    if (!job && array && array->row.tasks.count)
        job = core_job_find(self, (helio_job_key_t){event->key.job, (int32_t)array->row.tasks.items[0]});
    const helio_details_t better =
        job && may_read(event, job) ? core_migration_explain(self, job) : (helio_details_t){0};
    bool waits = job && job->state != HELIO_JOB_RUNNING && job->state != HELIO_JOB_SUSPENDED &&
                 job->state != HELIO_JOB_STOPPING && !helio_job_state_is_terminal(job->state);
    if (!better.items.count && (!waits || !may_read(event, job))) {
        core_reply(self, event->call, HELIO_NOT_FOUND, HELIO_REASON_NONE, HELIO_DETAIL0(HELIO_DETAIL_JOB_NOT_PENDING));
        return;
    }
    helio_fx_reply_t reply = {.call = event->call, .rc = HELIO_OK, .start_estimate = {.at_ms = self->wall_ms}};
    helio_text_t reader = event->role >= HELIO_ROLE_OPERATOR ? (helio_text_t){0} : event->tenant;
    if (better.items.count)
        reply.start_estimate.better_site = better;
    else if (is_waiting_in_queue(job))
        estimate(self, job, reader, &reply.start_estimate);
    else
        expect_outside(self, job, &reply.start_estimate);
    core_emit(self, HELIO_BROKER_FX_REPLY, &reply);
}
