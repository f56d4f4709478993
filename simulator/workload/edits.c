/*  edits.c -- users edit their jobs while everything else goes wrong: priority, goal, patience, deadline, queue, time
 *  limit. An edit holds from its reply on, under any leader. */
#include <string.h>

#include "simulator/workload/internal.h"

enum { EDITS = 24 };

static bool has_edits(const sim_workload_t *self)
{
    return sim_seed(self->engine) % 5 == 2;
}

/*  Queues of the same tier or a higher one, so that every job is placed in the end. A deadline is postponed or dropped,
 *  never moved to an earlier time. */
static void on_edit(void *arg, sim_happening_t *item)
{
    sim_workload_t *self = arg;
    uint64_t draw = sim_draw(self->engine, 21, item->number);
    const sim_job_t *job = &self->jobs[draw % self->job_count];
    if (!workload_broker(self) || !job->answered)
        return;
    bool other = helio_text_is(job->queue, "standard");
    helio_ev_edit_t edit = {
        .call = EDITS_CALL + item->number,
        .tenant = helio_text_of(draw / 64 % 8 ? job->tenant : "green"),
        .actor = HELIO_TEXT("user:acme/ana"),
        .key = {job->id, HELIO_NO_TASK},
        .priority_given = draw / 512 % 2,
        .priority = (int32_t)(draw / 1024 % 201) - 100,
        .goal_given = draw / 2048 % 2,
        .goal = (uint32_t)(draw / 4096 % HELIO_GOAL_COUNT),
        .flexible_given = draw / 8192 % 4 == 0,
        .flexible_ms = draw / 32768 % 2 * 600000,
        .deadline_given = job->deadline_ms && draw / 65536 % 2,
        .deadline_wall_ms = draw / 131072 % 2 ? sim_true_wall_ms(self->engine) + 12 * 3600000 : 0,
        .queue_given = draw / 262144 % 3 == 0 && !helio_text_is(job->queue, "urgent"),
        .queue = other ? HELIO_TEXT("batch") : HELIO_TEXT("standard"),
        .time_given = !job->deadline_ms && !job->limit_hits && draw / 1048576 % 4 == 0, /* else another end */
        .time_change = HELIO_TIME_CHANGE_ADD,
        .time_limit_ms = 600000,
    };
    sim_broker_take(workload_broker(self), HELIO_BROKER_EV_EDIT, &edit);
}

/*  In a fifth of the worlds. */
void workload_edits_begin(sim_workload_t *self)
{
    for (uint32_t i = 0; has_edits(self) && i < EDITS; i++) {
        int64_t at_ms = (int64_t)(sim_draw(self->engine, 22, i) % (uint64_t)(self->faults_ms + 1));
        sim_later(self->engine, at_ms, on_edit, self)->number = i;
    }
}

/*  The edit may be refused: the job may be at a site, be over, or belong to another tenant. */
void workload_edits_answered(sim_workload_t *self, const helio_fx_reply_t *reply)
{
    const sim_job_t *job = &self->jobs[sim_draw(self->engine, 21, reply->call - EDITS_CALL) % self->job_count];
    bool same = helio_details_find(&reply->details, HELIO_DETAIL_UNCHANGED) != NULL;
    if (reply->rc != HELIO_OK && reply->rc != HELIO_NOT_FOUND && reply->rc != HELIO_CONFLICT)
        workload_refused(self, reply, "a good edit was refused");
    if (reply->rc == HELIO_OK && !same && !sim_database_edit(self->database, job->id))
        sim_violate(self->engine, "an edit was answered before it was durable");
}

/*  The texts of a row live as long as its batch, so the job keeps string constants instead. */
static helio_text_t queue_of(helio_text_t name)
{
    return helio_text_is(name, "batch")      ? HELIO_TEXT("batch")
           : helio_text_is(name, "standard") ? HELIO_TEXT("standard")
           : helio_text_is(name, "spare")    ? HELIO_TEXT("spare")
                                             : HELIO_TEXT("urgent");
}

static void apply(sim_job_t *job, const helio_row_edit_t *row)
{
    job->queue = queue_of(row->queue);
    job->deadline_ms = row->deadline_wall_ms;
    job->limit_ms = row->time_limit_ms;
    job->edited = true;
}

void workload_edits_decided(sim_workload_t *self, const helio_row_edit_t *row)
{
    for (uint32_t i = 0; i < self->job_count; i++)
        if (helio_uuid_equal(self->jobs[i].given, row->job)) {
            apply(&self->jobs[i], row);
            return;
        }
}

void workload_edits_takeover(sim_workload_t *self)
{
    for (uint32_t i = 0; i < self->job_count; i++) {
        sim_job_t *job = &self->jobs[i];
        const helio_row_edit_t *edit = sim_database_edit(self->database, job->given);
        job->queue = edit ? queue_of(edit->queue) : job->submission.spec.queue;
        job->deadline_ms = edit ? edit->deadline_wall_ms : job->submission.spec.deadline_wall_ms;
        job->limit_ms = edit ? edit->time_limit_ms : job->submission.spec.time_limit_ms;
    }
}
