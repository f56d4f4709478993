/*  submissions.c -- submissions: what all tasks of one submitted document share. */
#include "broker/core/state/submissions.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "broker/core/state/classes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/queues.h"
#include "federation/policy/duration.h"

submission_t *core_array_find(helio_broker_core_t *self, helio_uuid_t job)
{
    array_t *array;
    HASH_FIND(hh, self->arrays, &job, sizeof job, array);
    return array ? array->submission : NULL;
}

static void array_put(helio_broker_core_t *self, submission_t *submission)
{
    array_t *array = helio_new(1, sizeof *array);
    array->job = submission->row.job;
    array->submission = submission;
    HASH_ADD(hh, self->arrays, job, sizeof array->job, array);
}

void core_array_drop(helio_broker_core_t *self, helio_uuid_t job)
{
    array_t *array;
    HASH_FIND(hh, self->arrays, &job, sizeof job, array);
    if (array)
        HASH_DEL(self->arrays, array);
    free(array);
}

/*  Returns the end of the copy. */
static char *keep_bytes(char *at, const void *bytes, size_t size)
{
    if (size)
        memcpy(at, bytes, size);
    return at + size;
}

static submission_t *submission_of(const helio_row_job_t *row)
{
    size_t tasks_size = row->tasks.count * sizeof(uint32_t);
    char stem[HELIO_DURATION_STEM_MAX];
    uint32_t stem_size = helio_duration_stem(row->name, stem);
    submission_t *submission =
        helio_grow(NULL, 1, sizeof *submission + tasks_size + row->user.size + row->source.size + stem_size);
    memset(submission, 0, sizeof *submission);
    char *tasks = (char *)(submission + 1), *user = keep_bytes(tasks, row->tasks.items, tasks_size);
    char *source = keep_bytes(user, row->user.data, row->user.size);
    char *name = keep_bytes(source, row->source.data, row->source.size);
    (void)keep_bytes(name, stem, stem_size);
    submission->row = (submission_row_t){
        .job = row->job,
        .user = {user, row->user.size},
        .source = {source, row->source.size},
        .name = {name, stem_size},
        .tasks = {(uint32_t *)(void *)tasks, row->tasks.count},
        .time_limit_ms = row->time_limit_ms,
        .stored_limit_ms = row->time_limit_ms,
        .submitted_ms = row->submitted_ms,
        .kind = row->kind,
    };
    return submission;
}

void core_submission_store_spec(submission_t *submission, const helio_job_spec_t *spec)
{
    submission->retries = spec->retries;
    submission->tasks_at_once = spec->tasks_at_once;
    submission->on_site_loss = spec->on_site_loss;
    submission->better_site = spec->on_better_site == HELIO_BETTER_SITE_CHECKPOINT;
    submission->goal = spec->goal;
    submission->prices_set = spec->prices_set;
    submission->flexible_ms = spec->flexible_ms;
    submission->signalled = spec->checkpoint_signal.size > 0;
    submission->grace_ms = helio_job_grace_ms(spec, HELIO_PREEMPT_GRACE_MS);
    submission->checkpoint_every_ms = spec->checkpoint_every_ms;
}

submission_t *core_submission_new(helio_broker_core_t *self, helio_row_job_t *row, const helio_job_spec_t *spec)
{
    submission_t *submission = submission_of(row);
    core_submission_store_spec(submission, spec);
    HASH_FIND(hh, self->tenants, row->tenant.data, row->tenant.size, submission->tenant);
    submission->queue = core_queue_find(self, row->queue);
    assert(submission->tenant && submission->queue);
    submission->row.tenant = helio_text_of(submission->tenant->name);
    submission->row.queue = helio_text_of(submission->queue->name);
    helio_requirement_t want =
        helio_requirement_of(spec, row->tenant, row->home_site, row->time_limit_ms, row->submitted_ms);
    helio_requirement_expect(&want, row->expected_ms,
                             helio_duration_bound_ms(row->expected_basis, row->expected_high_ms));
    submission->class = core_class_get(self, &want, 0, submission->tenant, submission->queue, row->class_id);
    row->class_id = submission->class->id;
    if (row->tasks.count)
        array_put(self, submission);
    return submission;
}
