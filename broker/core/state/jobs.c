/*  jobs.c -- jobs, the classes that they wait in, and the only place where a state changes. */
#include "broker/core/state/jobs.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

#include "broker/core/state/changes.h"
#include "broker/core/state/classes.h"
#include "broker/core/state/copies.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/lines.h"
#include "broker/core/state/moments.h"
#include "broker/core/state/submissions.h"
#include "broker/core/state/why.h"

/*  Jobs that arrive together have neighbouring ids (next_id): the first six bytes are their millisecond, then come
 *  eighteen bits of a counter. They get neighbouring buckets, so that a burst of a thousand goes through memory in
 *  order. */
static unsigned hash_of(helio_job_key_t key)
{
    const uint8_t *b = key.job.bytes;
    uint32_t count = (uint32_t)(b[6] & 0x0f) << 14 | (uint32_t)b[7] << 6 | (b[8] & 0x3f);
    return (unsigned)helio_hash(HELIO_HASH_SEED, b, 6) + count + (uint32_t)key.task;
}

job_t *core_job_find(helio_broker_core_t *self, helio_job_key_t key)
{
    job_t *job;
    HASH_FIND_BYHASHVALUE(hh, self->jobs, &key, sizeof key, hash_of(key), job);
    return job;
}

job_t *core_job_new(helio_broker_core_t *self, submission_t *submission, int32_t task)
{
    job_t *job = helio_new(1, sizeof *job);
    job->key = (helio_job_key_t){submission->row.job, task};
    job->submission = submission;
    job->state = HELIO_JOB_QUEUED;
    job->exit_code = -1;
    submission->open_tasks++;
    submission->unresolved_tasks++;
    submission->unstarted_tasks++;
    submission->tenant->open_jobs++;
    submission->queue->open_jobs++;
    self->open_jobs++;
    self->figures.jobs[HELIO_JOB_QUEUED]++;
    HASH_ADD_BYHASHVALUE(hh, self->jobs, key, sizeof job->key, hash_of(job->key), job);
    return job;
}

static void unfeed(job_t *job)
{
    if (job->fed)
        job->submission->fed_tasks--;
    job->fed = false;
}

int core_job_by_age(const job_t *a, const job_t *b)
{
    int order = helio_uuid_compare(a->key.job, b->key.job);
    return order ? order : (a->key.task > b->key.task) - (a->key.task < b->key.task);
}

/*  Among the returned jobs the order is by age, as a new leader would build it. When a site is lost, its jobs come back
 *  one after another, oldest first, so the search begins at the last returned one. */
static void requeue_returned(job_class_t *class, job_t *job)
{
    job_t *at = class->waiting;
    if (class->returned && core_job_by_age(class->returned, job) < 0)
        at = class->returned;
    while (at && core_job_by_age(at, job) < 0)
        at = at->next;
    if (at)
        DL_PREPEND_ELEM(class->waiting, at, job);
    else
        DL_APPEND(class->waiting, job);
    class->waiting_count++;
    class->returned = job;
}

static void feed_one(helio_broker_core_t *self, submission_t *submission, job_t *job)
{
    DL_DELETE(submission->throttled, job);
    job->fed = true;
    submission->fed_tasks++;
    job->ready_ms = self->loaded ? self->wall_ms : submission->row.submitted_ms;
    if (job->kept_back) { /* it has its place among younger jobs */
        requeue_returned(submission->class, job);
    } else {
        DL_APPEND(submission->class->waiting, job);
        submission->class->waiting_count++;
    }
    job->kept_back = false;
}

void core_job_feed(helio_broker_core_t *self, submission_t *submission)
{
#ifndef HELIO_MUTANT_dependency_ignored
    if (submission->hold)
        return;
#endif
    if (core_submission_is_kept_back(self, submission))
        return;
    uint32_t limit = submission->tasks_at_once;
    job_t *job, *next;
    DL_FOREACH_SAFE(submission->throttled, job, next)
    {
        if (limit && submission->fed_tasks >= limit)
            break;
        if (!job->kept_back || !core_job_is_kept_back(self, job))
            feed_one(self, submission, job);
    }
    submission->class->blocked_at = 0;
    core_class_queue_changed(self, submission->class);
    core_round_due(self);
}

static void await_feed(job_t *job)
{
    if (job->hold)
        DL_APPEND(job->submission->held_tasks, job);
    else
        DL_APPEND(job->submission->throttled, job);
}

/*  first: it was placed before, and keeps its place in the queue. */
void core_job_enqueue(helio_broker_core_t *self, job_t *job, bool first)
{
    submission_t *submission = job->submission;
    job->kept_back = core_job_is_kept_back(self, job);
    if (first && job->fed && !job->kept_back) {
        requeue_returned(submission->class, job);
    } else {
        unfeed(job);
        await_feed(job);
    }
    core_job_feed(self, submission);
}

void core_job_let_go(helio_broker_core_t *self, job_t *job)
{
    submission_t *submission = job->submission;
    assert(!job->hold);
    if (job->state != HELIO_JOB_QUEUED)
        return; /* it is released first */
    DL_DELETE(submission->held_tasks, job);
    DL_APPEND(submission->throttled, job);
    core_job_feed(self, submission);
}

void core_job_set_why(job_t *job, const helio_details_t *why)
{
    helio_details_t *before = job->why; /* this can be the details that are copied */
    job->why = core_why_keep(why);
    free(before);
}

void core_job_placed_at(job_t *job, helio_text_t site, helio_text_t pool)
{
    if (!job->last)
        job->last = helio_new(1, sizeof *job->last);
    (void)helio_text_copy(site, job->last->site, sizeof job->last->site);
    (void)helio_text_copy(pool, job->last->pool, sizeof job->last->pool);
}

bool core_job_is_held_by_people(const job_t *job)
{
    return job->state == HELIO_JOB_HELD &&
           (core_why_has(job->why, HELIO_DETAIL_HELD_BY_USER) || core_why_has(job->why, HELIO_DETAIL_HELD_BY_OPERATOR));
}

bool core_job_is_doubted(const job_t *job)
{
    return job->state == HELIO_JOB_SUSPECT && core_why_has(job->why, HELIO_DETAIL_SITE_MEMORY_LOST);
}

bool core_job_is_unseen(const job_t *job)
{
#ifdef HELIO_MUTANT_forgotten_is_run_time
    return job->state == HELIO_JOB_SUSPECT;
#endif
    return job->state == HELIO_JOB_SUSPECT ||
           (job->state == HELIO_JOB_STOPPING && core_why_has(job->why, HELIO_DETAIL_SITE_FORGOT));
}

uint32_t core_job_gpus(const job_t *job)
{
    return job->gpus_per_node * job->submission->class->want.nodes;
}

const char *core_job_site(const job_t *job)
{
    return job->last ? job->last->site : "";
}

const char *core_job_pool(const job_t *job)
{
    return job->last ? job->last->pool : "";
}

void core_job_mark_dirty(helio_broker_core_t *self, job_t *job)
{
    if (job->dirty)
        return;
    job->dirty = true;
    job->dirty_next = self->dirty;
    self->dirty = job;
}

static void offer_answered(helio_broker_core_t *self, const job_t *job)
{
    if (job->state != HELIO_JOB_OFFERED || !job->dispatch_seq || !job->site->unanswered)
        return;
    if (job->site->unanswered-- == self->options.offers_unanswered_max) {
        core_capacity_changed(self);
    }
}

static void leave_site(job_t *job)
{
    DL_DELETE(job->site->live, job);
    job->site = NULL;
    job->pool = NULL;
    job->dispatch_seq = 0;
    job->haste = HELIO_HASTE_NONE;
}

static void leave_queue(helio_broker_core_t *self, job_t *job)
{
    job_class_t *class = job->submission->class;
    if (class->returned == job)
        class->returned = NULL;
    if (job->fed) {
        DL_DELETE(class->waiting, job);
        class->waiting_count--;
        core_class_queue_changed(self, class);
    } else if (job->hold) {
        DL_DELETE(job->submission->held_tasks, job);
    } else {
        DL_DELETE(job->submission->throttled, job);
    }
}

void core_job_keep_back(helio_broker_core_t *self, job_t *job)
{
    submission_t *submission = job->submission;
    if (job->state != HELIO_JOB_QUEUED || job->kept_back || !core_job_is_kept_back(self, job))
        return;
    job->kept_back = true;
    if (!job->fed)
        return; /* it waits for its dependency hold or throttle */
    leave_queue(self, job);
    unfeed(job);
    DL_APPEND(submission->throttled, job);
    self->moments->job_left_queue(self, submission->class);
    core_job_feed(self, submission); /* another task can take its place */
}

job_t *core_submission_next(helio_broker_core_t *self, const submission_t *submission, uint32_t *at)
{
    const submission_row_t *row = &submission->row;
    uint32_t count = row->tasks.count ? row->tasks.count : 1;
    while (*at < count) {
        int32_t task = row->tasks.count ? (int32_t)row->tasks.items[*at] : HELIO_NO_TASK;
        (*at)++;
        job_t *job = core_job_find(self, (helio_job_key_t){row->job, task});
        if (job)
            return job;
    }
    return NULL;
}

/*  The order that a new leader would build: older jobs are ahead. */
static void insert_by_age(job_class_t *class, job_t *queued)
{
    job_t *job, *next, *at = class->waiting;
    DL_FOREACH_SAFE(queued, job, next)
    {
        DL_DELETE(queued, job);
        while (at && core_job_by_age(at, job) < 0)
            at = at->next;
        if (at)
            DL_PREPEND_ELEM(class->waiting, at, job);
        else
            DL_APPEND(class->waiting, job);
        class->waiting_count++;
    }
}

void core_submission_reclass(helio_broker_core_t *self, submission_t *submission, const helio_requirement_t *want,
                             int32_t priority, queue_t *queue, uint64_t stored_id)
{
    job_class_t *before = submission->class;
    job_class_t *class = core_class_get(self, want, priority, submission->tenant, queue, stored_id);
    job_t *queued = NULL, *job;
    assert(!self->retired);
    for (uint32_t at = 0; (job = core_submission_next(self, submission, &at));) {
        assert(queue == submission->queue || !job->site);
        if (job->state != HELIO_JOB_QUEUED || !job->fed)
            continue;
        leave_queue(self, job);
        DL_APPEND(queued, job);
        self->moments->job_left_queue(self, before);
    }
    submission->queue->open_jobs -= submission->open_tasks;
    queue->open_jobs += submission->open_tasks;
    submission->queue = queue;
    submission->row.queue = helio_text_of(queue->name);
    submission->class = class;
    insert_by_age(class, queued);
    core_class_queue_changed(self, class);
    self->retired = before;
    core_capacity_changed(self); /* the scheduling order has changed, so all classes are asked again */
}

static void write_transition(helio_broker_core_t *self, const job_t *job, uint32_t to, helio_details_t why,
                             const char *actor)
{
    helio_row_transition_t row = {
        .seq = ++self->transition_seq,
        .at_ms = self->wall_ms,
        .key = job->key,
        .epoch = job->epoch,
        .from = job->state,
        .to = to,
        .why = why,
        .actor = helio_text_of(actor),
    };
    core_emit(self, HELIO_BROKER_FX_ROW_TRANSITION, &row);
}

void core_job_change_state(helio_broker_core_t *self, job_t *job, uint32_t to, helio_details_t why, const char *actor)
{
    uint32_t from = job->state;
    assert(helio_job_state_edge(from, to));
    write_transition(self, job, to, why, actor);
    self->figures.jobs_held_by_people -= core_job_is_held_by_people(job);
    core_job_set_why(job, &why);
    self->figures.jobs[from]--;
    self->figures.jobs[to]++;
    bool live = helio_job_state_is_live(to), terminal = helio_job_state_is_terminal(to);
    bool left_site = !live && job->site, left_queue = from == HELIO_JOB_QUEUED && job->fed;
    pool_t *pool = job->pool;
    offer_answered(self, job);
    if (left_site)
        leave_site(job);
    if (from == HELIO_JOB_QUEUED)
        leave_queue(self, job);
    job->kept_back = false;
    if (terminal || to == HELIO_JOB_HELD)
        unfeed(job);
    job->state = to;
    self->figures.jobs_held_by_people += core_job_is_held_by_people(job);
    if (!live)
        job->intent = HELIO_INTENT_NONE;
    if (to == HELIO_JOB_QUEUED && from >= HELIO_JOB_RUNNING)
        job->ready_ms = self->wall_ms;
    if (to == HELIO_JOB_QUEUED)
        core_job_enqueue(self, job, true);
    if (to == HELIO_JOB_HELD)
        core_job_feed(self, job->submission);
    if (terminal)
        job->finished_ms = job->finished_ms ? job->finished_ms : self->wall_ms;
    core_job_mark_dirty(self, job);
    if (left_site)
        self->moments->job_left_site(self, job, pool);
    if (left_queue)
        self->moments->job_left_queue(self, job->submission->class);
    self->moments->job_moved(self, job);
    if (terminal)
        self->moments->job_ended(self, job);
}

static void write_state(helio_broker_core_t *self, const job_t *job)
{
    bool placed = helio_job_state_is_live(job->state) || helio_job_state_is_terminal(job->state);
    helio_row_state_t row = {
        .key = job->key,
        .state = job->state,
        .before = job->before,
        .intent = job->intent,
        .epoch = job->epoch,
        .attempts = job->attempts,
        .failures = job->failures,
        .site_failures = job->site_failures,
        .site = placed ? helio_arena_text(self->effects->arena, helio_text_of(core_job_site(job))) : (helio_text_t){0},
        .pool = placed ? helio_arena_text(self->effects->arena, helio_text_of(core_job_pool(job))) : (helio_text_t){0},
        .why = core_why_kept(self, job->why),
        .started_ms = job->started_ms,
        .finished_ms = helio_job_state_is_terminal(job->state) ? job->finished_ms : 0,
        .exit_code = job->exit_code,
        .gpu_ms = job->used.gpu_ms,
        .cost_micro_usd = job->used.cost_micro_usd > 0 ? (uint64_t)job->used.cost_micro_usd : 0,
        .energy_j = job->used.energy_j,
        .carbon_mg = job->used.carbon_mg,
        .units_done = job->units_done,
        .at_ms = core_job_is_unseen(job) ? job->last_seen_ms : self->wall_ms,
        .preemptions = job->preemptions,
        .saved_ms = job->saved_ms,
        .migrations = job->migrations,
        .losses = job->losses,
        .haste = job->haste,
    };
    core_emit(self, HELIO_BROKER_FX_ROW_STATE, &row);
}

/*  Effects of this step still point into it, so it is freed when the next step begins. */
static void submission_bury(helio_broker_core_t *self, submission_t *submission)
{
    core_array_drop(self, submission->row.job);
    submission->buried_next = self->buried;
    self->buried = submission;
}

void core_jobs_reap(helio_broker_core_t *self)
{
    if (self->retired)
        core_class_unref(self, self->retired);
    self->retired = NULL;
    while (self->buried) {
        submission_t *submission = self->buried;
        self->buried = submission->buried_next;
        core_class_unref(self, submission->class);
        free(submission);
    }
}

void core_job_forget(helio_broker_core_t *self, job_t *job)
{
    submission_t *submission = job->submission;
    HASH_DEL(self->jobs, job);
    submission->tenant->open_jobs--;
    submission->queue->open_jobs--;
    self->open_jobs--;
    unfeed(job);
    bool last = --submission->open_tasks == 0;
    if (submission->throttled && !last)
        core_job_feed(self, submission);
    self->moments->job_forgotten(self, job);
    core_copies_forget(self, job);
    free(job->why);
    free(job->last);
    free(job);
    if (last)
        submission_bury(self, submission);
}

void core_jobs_flush(helio_broker_core_t *self)
{
    while (self->dirty) {
        job_t *job = self->dirty;
        self->dirty = job->dirty_next;
        job->dirty = false;
        write_state(self, job);
        if (helio_job_state_is_terminal(job->state))
            core_job_forget(self, job);
    }
}

void core_jobs_free(helio_broker_core_t *self)
{
    job_t *job, *next;
    HASH_ITER(hh, self->jobs, job, next)
    {
        bool waited = job->state == HELIO_JOB_QUEUED && job->fed;
        if (job->state == HELIO_JOB_QUEUED)
            leave_queue(self, job);
        if (waited)
            self->moments->job_left_queue(self, job->submission->class);
        core_job_forget(self, job);
    }
    core_jobs_reap(self);
}

/*  By the time limit and the grace. A start time of an earlier attempt does not count. */
int64_t core_job_end_ms(const helio_broker_core_t *self, const job_t *job)
{
    bool begun = job->started_ms && job->started_ms < self->wall_ms && job->state >= HELIO_JOB_RUNNING;
    int64_t begin = begun ? job->started_ms : self->wall_ms;
    int64_t end = begin + (int64_t)helio_requirement_longest_ms(&job->submission->class->want);
    return end > self->wall_ms ? end : self->wall_ms + CORE_JOB_OVERDUE_MS;
}

uint32_t core_migration_target_gpus(const job_t *job, uint32_t gpus_per_node)
{
    return gpus_per_node * job->submission->class->want.nodes;
}
