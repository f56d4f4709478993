/*  submit.c -- accepts submissions durably: all jobs of a call or none; idempotency keys; bounds. */
#include "broker/core/requests/submit.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "broker/core/decide/evaluate.h"
#include "broker/core/decide/infeasible.h"
#include "broker/core/decide/names.h"
#include "broker/core/forecast/durations.h"
#include "broker/core/holds/dependencies.h"
#include "broker/core/requests/labels.h"
#include "broker/core/requests/tenant_rate.h"
#include "broker/core/requests/warnings.h"
#include "broker/core/state/ask.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/queues.h"
#include "broker/core/state/submissions.h"
#include "broker/core/state/why.h"
#include "federation/base/keyed_hash.h"

typedef struct idempotency {
    uint8_t digest[16]; /* of tenant and key */
    uint8_t spec_hash[32];
    helio_uuid_t job;
    UT_hash_handle hh;
} idempotency_t;

struct intake {
    idempotency_t *keys;
    helio_hash_key_t secrets[2]; /* of the digests */
    helio_uuid_t newest_job;     /* the last id given, by this leader or an earlier one */
    int64_t id_ms;               /* its millisecond, and how many ids of that were given */
    uint32_t id_count;
};

intake_t *core_intake_new(void)
{
    return helio_new(1, sizeof(intake_t));
}

void core_intake_destroy(intake_t **self_p)
{
    intake_t *self = *self_p;
    idempotency_t *key, *next;
    HASH_ITER(hh, self->keys, key, next)
    {
        HASH_DEL(self->keys, key);
        free(key);
    }
    free(self);
    *self_p = NULL;
}

helio_uuid_t core_newest_job(const helio_broker_core_t *self)
{
    return self->intake->newest_job;
}

/*  128 bits: for each half a secret keys the hash of the tenant, and that the hash of its key. A tenant that chooses
 *  its keys cannot meet the digest of another one's. */
static void key_digest(const intake_t *self, helio_text_t tenant, helio_text_t key, uint8_t ret_digest[16])
{
    for (size_t i = 0; i < 2; i++) {
        const helio_hash_key_t *secret = &self->secrets[i];
        helio_hash_key_t of_tenant = {{helio_keyed_hash(secret, tenant.data, tenant.size), secret->words[1]}};
        uint64_t half = helio_keyed_hash(&of_tenant, key.data, key.size);
        memcpy(ret_digest + 8 * i, &half, 8);
    }
}

void core_intake_secret(helio_broker_core_t *self, uint64_t secret)
{
    assert(!self->intake->keys);
    helio_rng_t rng = {.state = secret};
    for (size_t i = 0; i < 4; i++)
        self->intake->secrets[i / 2].words[i % 2] = helio_rng_next(&rng);
}

static idempotency_t *key_find(helio_broker_core_t *self, helio_text_t tenant, helio_text_t key)
{
    uint8_t digest[16];
    idempotency_t *found;
    key_digest(self->intake, tenant, key, digest);
    HASH_FIND(hh, self->intake->keys, digest, sizeof digest, found);
    return found;
}

void core_key_put(helio_broker_core_t *self, helio_text_t tenant, helio_text_t key, const uint8_t spec_hash[32],
                  helio_uuid_t job)
{
    idempotency_t *entry = helio_new(1, sizeof *entry);
    key_digest(self->intake, tenant, key, entry->digest);
    memcpy(entry->spec_hash, spec_hash, 32);
    entry->job = job;
    HASH_ADD(hh, self->intake->keys, digest, sizeof entry->digest, entry);
}

queue_t *core_resolve(helio_broker_core_t *self, const tenant_t *tenant, const helio_submission_t *job,
                      helio_text_t *ret_home, uint64_t *ret_time_limit_ms)
{
    queue_t *queue = core_queue_find(self, job->spec.queue);
    if (!queue)
        return NULL;
    *ret_home = job->spec.home.size ? job->spec.home : helio_text_of(tenant->home_site);
    *ret_time_limit_ms = job->spec.time_limit_ms ? job->spec.time_limit_ms : queue->time_limit_ms;
    return queue;
}

static uint32_t task_count(const helio_job_spec_t *spec)
{
    return spec->tasks.count ? spec->tasks.count : 1;
}

static int by_key(const void *a_, const void *b_)
{
    const helio_submission_t *a = *(const helio_submission_t *const *)a_, *b = *(const helio_submission_t *const *)b_;
    uint32_t common =
        a->idempotency_key.size < b->idempotency_key.size ? a->idempotency_key.size : b->idempotency_key.size;
    int order = common ? memcmp(a->idempotency_key.data, b->idempotency_key.data, common) : 0;
    if (!order)
        order =
            (a->idempotency_key.size > b->idempotency_key.size) - (a->idempotency_key.size < b->idempotency_key.size);
    return order ? order : (a > b) - (a < b);
}

/*  Two entries of one call can share a key only for the same document. Returns the index of an entry that clashes with
 *  another; the count if none does. */
static uint32_t clash_within(helio_broker_core_t *self, const helio_ev_submit_t *event)
{
    const helio_submission_t **keyed = helio_arena_alloc(self->effects->arena, event->jobs.count, sizeof *keyed);
    uint32_t count = 0;
    for (uint32_t i = 0; i < event->jobs.count; i++)
        if (event->jobs.items[i].idempotency_key.size)
            keyed[count++] = &event->jobs.items[i];
    qsort(keyed, count, sizeof *keyed, by_key);
    for (uint32_t i = 1; i < count; i++)
        if (helio_text_equal(keyed[i - 1]->idempotency_key, keyed[i]->idempotency_key) &&
            !helio_text_equal(keyed[i - 1]->spec_hash, keyed[i]->spec_hash))
            return (uint32_t)(keyed[i] - event->jobs.items);
    return event->jobs.count;
}

void core_reply_queue(helio_broker_core_t *self, const helio_ev_submit_t *event, const helio_submission_t *job,
                      uint32_t number)
{
    const helio_detail_t fault = core_unknown_queue(self, job->spec.queue, number);
    if (number) /* of several, none is stored */
        core_reply_nothing_stored(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID, fault);
    else
        core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID, fault);
}

/*  Whether the deadline alone forbids a start in every pool where the job fits, now or at its begin time. Missing
 *  capacity is no reason for a refusal. *ret_run_ms: the shortest expected run time there. */
static bool is_too_late(helio_broker_core_t *self, const helio_requirement_t *want, queue_t *queue, int64_t start_ms,
                        uint64_t *ret_run_ms)
{
    core_findings_expire(self);
    ask_t ask = {.want = *want, .queue = queue, .judged_ms = start_ms > self->wall_ms ? start_ms : 0};
    job_class_t class;
    evaluation_t e = core_evaluate_ask(self, &ask, NULL, &class);
    for (uint32_t i = 0; i < e.count; i++) {
        const helio_candidate_t *c = &e.options[i].c;
        if (helio_rejection_group(c->rejection) == HELIO_REASON_NEVER_FITS)
            continue;
        if (c->rejection != HELIO_REJECTION_DEADLINE)
            return false;
        *ret_run_ms = c->run_high_ms && c->run_high_ms < *ret_run_ms ? c->run_high_ms : *ret_run_ms;
    }
    return true;
}

/*  The number of the job that a refusal concerns, from 1; 0 = the only one. */
static uint32_t number_of(const helio_ev_submit_t *event, const helio_submission_t *job)
{
    return event->jobs.count > 1 ? (uint32_t)(job - event->jobs.items) + 1 : 0;
}

helio_detail_t core_deadline_fault(helio_broker_core_t *self, const helio_requirement_t *want, queue_t *queue,
                                   int64_t not_before_ms, uint32_t number)
{
    bool held_back = not_before_ms > self->wall_ms;
    int64_t start_ms = held_back ? not_before_ms : self->wall_ms;
    uint64_t run_ms = want->time_limit_ms;
    if (!want->deadline_wall_ms || start_ms + (int64_t)run_ms <= want->deadline_wall_ms ||
        !is_too_late(self, want, queue, start_ms, &run_ms))
        return CORE_NO_DETAIL;
    return CORE_DETAIL(self, HELIO_DETAIL_DEADLINE_MISSED, helio_value_number(want->deadline_wall_ms),
                       helio_value_number((int64_t)run_ms), helio_value_number(start_ms + (int64_t)run_ms),
                       helio_value_number(held_back ? not_before_ms : 0), helio_value_number(number));
}

helio_detail_t core_deadline_remedy(const helio_broker_core_t *self, const helio_requirement_t *want,
                                    int64_t not_before_ms)
{
    int64_t start_ms = not_before_ms > self->wall_ms ? not_before_ms : self->wall_ms;
    return want->deadline_wall_ms <= start_ms ? HELIO_DETAIL0(HELIO_DETAIL_DEADLINE_REMEDY_LATER)
                                              : HELIO_DETAIL0(HELIO_DETAIL_DEADLINE_REMEDY);
}

void core_reply_deadline(helio_broker_core_t *self, uint64_t call, helio_detail_t fault, helio_detail_t remedy,
                         helio_detail_t outcome)
{
    helio_fx_reply_t reply = {
        .call = call,
        .rc = HELIO_INFEASIBLE,
        .reason = helio_text_of(helio_rejection_name(HELIO_REJECTION_DEADLINE)),
    };
    core_why_add(self, &reply.details, fault);
    core_why_add(self, &reply.details, remedy);
    core_why_add(self, &reply.details, outcome);
    core_emit(self, HELIO_BROKER_FX_REPLY, &reply);
}

static bool check_deadline(helio_broker_core_t *self, const helio_ev_submit_t *event, const helio_submission_t *job,
                           const helio_requirement_t *want, queue_t *queue)
{
    helio_row_job_t row = {.tenant = event->tenant,
                           .user = event->user,
                           .name = job->spec.name,
                           .kind = job->spec.kind,
                           .gpus = helio_requirement_gpus(want),
                           .time_limit_ms = want->time_limit_ms};
    helio_requirement_t expected = *want;
    if (!want->deadline_wall_ms)
        return true;
    core_run_expect(self, &row);
    helio_requirement_expect(&expected, row.expected_ms,
                             helio_duration_bound_ms(row.expected_basis, row.expected_high_ms));
    helio_detail_t fault =
        core_deadline_fault(self, &expected, queue, job->spec.not_before_wall_ms, number_of(event, job));
    if (!fault.code)
        return true;
    core_reply_deadline(self, event->call, fault, core_deadline_remedy(self, want, job->spec.not_before_wall_ms),
                        HELIO_DETAIL0(HELIO_DETAIL_NOTHING_STORED));
    return false;
}

/*  Everything that can fail, before anything changes. On the first fault it replies and returns false. */
static bool check_one(helio_broker_core_t *self, const helio_ev_submit_t *event, uint32_t index, tenant_t *tenant,
                      bool clashes)
{
    const helio_submission_t *job = &event->jobs.items[index];
    helio_text_t home;
    uint64_t time_limit_ms;
    if (job->idempotency_key.size) {
        const idempotency_t *known = key_find(self, event->tenant, job->idempotency_key);
        bool differs = known && memcmp(known->spec_hash, job->spec_hash.data, 32) != 0;
        if (differs || clashes) {
            core_reply_nothing_stored(self, event->call, HELIO_CONFLICT, HELIO_REASON_INVALID,
                                      CORE_DETAIL(self, HELIO_DETAIL_KEY_REUSED, helio_value_text(job->idempotency_key),
                                                  helio_value_number(number_of(event, job))));
            return false;
        }
        if (known)
            return true;
    }
    queue_t *queue = core_resolve(self, tenant, job, &home, &time_limit_ms);
    if (!queue) {
        core_reply_queue(self, event, job, number_of(event, job));
        return false;
    }
    if (!core_dependencies_check(self, event, job, number_of(event, job)))
        return false;
    helio_requirement_t want = helio_requirement_of(&job->spec, event->tenant, home, time_limit_ms, self->wall_ms);
    if (!core_is_feasible(self, &want)) {
        helio_details_t why = {0}, infeasible = core_infeasible_details(self, &want);
        core_why_add(self, &why, CORE_DETAIL(self, HELIO_DETAIL_NEVER_RUNS, helio_value_number(number_of(event, job))));
        core_why_join(self, &why, &infeasible);
        if (event->jobs.count > 1)
            core_why_add(self, &why, HELIO_DETAIL0(HELIO_DETAIL_NOTHING_STORED));
        core_reply_details(self, event->call, HELIO_INFEASIBLE, HELIO_REASON_NEVER_FITS, why);
        return false;
    }
    return check_deadline(self, event, job, &want, queue);
}

/*  When so many more documents of the tenant fit its rate; only what is stored counts. */
static int64_t submits_until_us(const helio_broker_core_t *self, const tenant_t *tenant, uint32_t documents)
{
    uint32_t rate = self->options.submissions_per_minute;
#ifdef HELIO_MUTANT_submissions_of_any_rate
    rate = 0;
#endif
    return core_rate_until_us(self, tenant->submits_until_us, rate, documents);
}

/*  What a tenant did not submit in the last minute is saved up. A submission that does not fit costs nothing. */
static bool check_rate(helio_broker_core_t *self, const helio_ev_submit_t *event, const tenant_t *tenant,
                       uint32_t documents)
{
    int64_t wait_ms = core_rate_wait_ms(self, submits_until_us(self, tenant, documents));
    if (wait_ms <= 0)
        return true;
    if (documents > self->options.submissions_per_minute) {
        core_reply_nothing_stored(self, event->call, HELIO_TOO_BIG, HELIO_REASON_INVALID,
                                  CORE_DETAIL(self, HELIO_DETAIL_TENANT_BATCH_TOO_BIG, helio_value_number(documents),
                                              helio_value_number(self->options.submissions_per_minute)));
        return false;
    }
    core_reply_nothing_stored(
        self, event->call, HELIO_BUSY, HELIO_REASON_QUEUED,
        CORE_DETAIL(self, HELIO_DETAIL_TENANT_TOO_FAST, helio_value_number(self->options.submissions_per_minute),
                    helio_value_number(wait_ms)));
    return false;
}

/*  *ret_fresh: the documents that are not stored yet. */
static bool check_bounds(helio_broker_core_t *self, const helio_ev_submit_t *event, const tenant_t *tenant,
                         uint32_t *ret_fresh)
{
    uint64_t tasks = 0;
    *ret_fresh = 0;
    for (uint32_t i = 0; i < event->jobs.count; i++) {
        const helio_submission_t *job = &event->jobs.items[i];
        if (job->idempotency_key.size && key_find(self, event->tenant, job->idempotency_key))
            continue; /* a job that is stored already does not count again */
        tasks += task_count(&job->spec);
        (*ret_fresh)++;
    }
    if (!tasks)
        return true;
    bool all = self->open_jobs + tasks > self->options.queued_max;
    if (all || tenant->open_jobs + tasks > self->options.queued_per_tenant_max) {
        core_reply_nothing_stored(
            self, event->call, HELIO_BUSY, HELIO_REASON_QUEUED,
            all ? CORE_DETAIL(self, HELIO_DETAIL_BROKER_FULL, helio_value_number(self->open_jobs),
                              helio_value_number(self->options.queued_max))
                : CORE_DETAIL(self, HELIO_DETAIL_TENANT_FULL, helio_value_number(tenant->open_jobs),
                              helio_value_number(self->options.queued_per_tenant_max)));
        return false;
    }
    return check_rate(self, event, tenant, *ret_fresh);
}

/*  Ids always ascend: the first 18 of their random bits count within a millisecond (RFC 9562, 6.2, method 1), and the
 *  millisecond never decreases, neither with the clock nor with a change of leader. So after a takeover jobs are in the
 *  order of their submission, and the open mark holds (helio_broker_core_open_from). */
enum { ID_COUNT_MAX = 1 << 18 };

void core_ids_continue_after(helio_broker_core_t *self, helio_uuid_t newest)
{
    const uint8_t *b = newest.bytes;
    self->intake->newest_job = newest;
    self->intake->id_ms = 0;
    for (int i = 0; i < 6; i++)
        self->intake->id_ms = self->intake->id_ms << 8 | b[i];
    self->intake->id_count = ((uint32_t)(b[6] & 0x0f) << 14 | (uint32_t)b[7] << 6 | (b[8] & 0x3f)) + 1;
}

static helio_uuid_t next_id(helio_broker_core_t *self)
{
    uint8_t random[10];
    uint64_t bits = helio_rng_next(&self->rng);
    for (int i = 2; i < 10; i++, bits >>= 8)
        random[i] = (uint8_t)bits;
#ifdef HELIO_MUTANT_ids_follow_the_clock
    self->intake->id_ms = self->intake->id_ms > self->wall_ms ? 0 : self->intake->id_ms;
#endif
    if (self->wall_ms > self->intake->id_ms || self->intake->id_count == ID_COUNT_MAX) {
        self->intake->id_ms = self->wall_ms > self->intake->id_ms ? self->wall_ms : self->intake->id_ms + 1;
        self->intake->id_count = 0;
    }
    uint32_t count = self->intake->id_count++;
    random[0] = (uint8_t)(count >> 14 & 0x0f);
    random[1] = (uint8_t)(count >> 6);
    random[2] = (uint8_t)(count & 0x3f);
    self->intake->newest_job = helio_uuid_v7(self->intake->id_ms, random);
    return self->intake->newest_job;
}

static void fill_row(helio_broker_core_t *self, const helio_ev_submit_t *event, const helio_submission_t *job,
                     const queue_t *queue, helio_text_t home, uint64_t time_limit_ms, helio_row_job_t *ret_row)
{
    const helio_gpu_ask_t *ask = job->spec.gpus.count ? &job->spec.gpus.items[0] : NULL;
    uint32_t nodes = job->spec.nodes ? job->spec.nodes : 1;
    *ret_row = (helio_row_job_t){
        .job = next_id(self),
        .tenant = event->tenant,
        .user = event->user,
        .idempotency_key = job->idempotency_key,
        .spec_hash = job->spec_hash,
        .source = job->source,
        .name = job->spec.name,
        .queue = job->spec.queue,
        .tier = queue->tier,
        .kind = job->spec.kind,
        .home_site = home,
        .gpu_model = ask ? ask->model : (helio_text_t){0},
        .gpus = ask ? ask->count * nodes : 0,
        .nodes = nodes,
        .time_limit_ms = time_limit_ms,
        .tasks = job->spec.tasks,
        .tasks_at_once = job->spec.tasks_at_once,
        .on_site_loss = job->spec.on_site_loss,
        .goal = job->spec.goal,
        .flexible_ms = job->spec.flexible_ms,
        .deadline_wall_ms = job->spec.deadline_wall_ms,
        .submitted_ms = self->wall_ms,
    };
    core_run_expect(self, ret_row);
}

static helio_accepted_job_t accept_one(helio_broker_core_t *self, const helio_ev_submit_t *event,
                                       const helio_submission_t *job, tenant_t *tenant)
{
    if (job->idempotency_key.size) {
        const idempotency_t *known = key_find(self, event->tenant, job->idempotency_key);
        if (known)
            return (helio_accepted_job_t){known->job, true};
    }
    helio_text_t home;
    uint64_t time_limit_ms;
    queue_t *queue = core_resolve(self, tenant, job, &home, &time_limit_ms);
    helio_row_job_t row;
    fill_row(self, event, job, queue, home, time_limit_ms, &row);
    submission_t *submission = core_submission_new(self, &row, &job->spec);
    if (row.idempotency_key.size)
        core_key_put(self, row.tenant, row.idempotency_key, (const uint8_t *)row.spec_hash.data, row.job);
    if (!job->spec.tasks.count)
        (void)core_job_new(self, submission, HELIO_NO_TASK);
    for (uint32_t i = 0; i < job->spec.tasks.count; i++)
        (void)core_job_new(self, submission, (int32_t)job->spec.tasks.items[i]);
    core_dependency_hold_new(self, submission, job);
    job_t *task;
    for (uint32_t at = 0; (task = core_submission_next(self, submission, &at));)
        core_job_enqueue(self, task, false);
    core_emit(self, HELIO_BROKER_FX_ROW_JOB, &row); /* its views are those of the event */
    core_emit_labels(self, row.job, &job->spec);
    for (uint32_t at = 0;
         (submission->hold || submission->held_tasks) && (task = core_submission_next(self, submission, &at));)
        core_dependencies_refuse(self, task);
    return (helio_accepted_job_t){row.job, false};
}

tenant_t *core_tenant_of(helio_broker_core_t *self, const helio_ev_submit_t *event)
{
    tenant_t *tenant;
    HASH_FIND(hh, self->tenants, event->tenant.data, event->tenant.size, tenant);
    if (!tenant)
        core_reply(self, event->call, HELIO_FORBIDDEN, HELIO_REASON_FORBIDDEN,
                   CORE_DETAIL(self, HELIO_DETAIL_UNKNOWN_TENANT, helio_value_text(event->tenant),
                               helio_value_string(""))); /* a user is told of no other tenant */
    return tenant;
}

/*  Jobs that ask to migrate, and do not state how they save their work. */
static helio_detail_t unsaved(helio_broker_core_t *self, const helio_submission_t *jobs, uint32_t count)
{
    uint32_t silent = 0;
    for (uint32_t i = 0; i < count; i++) {
        const helio_job_spec_t *spec = &jobs[i].spec;
        silent += spec->on_better_site == HELIO_BETTER_SITE_CHECKPOINT && !spec->checkpoint_signal.size &&
                  !spec->checkpoint_every_ms;
    }
    if (!silent)
        return CORE_NO_DETAIL;
    return CORE_DETAIL(self, HELIO_DETAIL_NO_CHECKPOINT, helio_value_number(silent), helio_value_number(count));
}

helio_details_t core_submit_note(helio_broker_core_t *self, const helio_submission_t *jobs, uint32_t count)
{
    helio_details_t note = core_why(self, unsaved(self, jobs, count));
    helio_details_t names = {0}; /* of the first job that has some: the jobs of one request are mostly alike */
    for (uint32_t i = 0; i < count && !names.items.count; i++) {
        const helio_requirement_t want =
            helio_requirement_of(&jobs[i].spec, (helio_text_t){0}, (helio_text_t){0}, 0, 0);
        core_placement_names(self, &want, &names);
    }
    core_why_join(self, &note, &names);
    return note;
}

void core_on_submit(helio_broker_core_t *self, const helio_ev_submit_t *event)
{
    tenant_t *tenant = core_tenant_of(self, event);
    if (!tenant)
        return;
    uint32_t fresh;
    if (!check_bounds(self, event, tenant, &fresh))
        return;
    uint32_t clash = clash_within(self, event);
    for (uint32_t i = 0; i < event->jobs.count; i++)
        if (!check_one(self, event, i, tenant, i == clash))
            return;
    tenant->submits_until_us = submits_until_us(self, tenant, fresh);
    helio_accepted_job_t *accepted = helio_arena_alloc(self->effects->arena, event->jobs.count, sizeof *accepted);
    for (uint32_t i = 0; i < event->jobs.count; i++)
        accepted[i] = accept_one(self, event, &event->jobs.items[i], tenant);
    helio_fx_reply_t reply = {.call = event->call, .rc = HELIO_OK};
    reply.details = core_submit_note(self, event->jobs.items, event->jobs.count);
    reply.jobs.items = accepted;
    reply.jobs.count = event->jobs.count;
    core_emit(self, HELIO_BROKER_FX_REPLY, &reply);
}
