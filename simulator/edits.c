/*  edits.c -- people who change what their jobs ask for while everything else goes wrong: priority, goal,
 * patience, deadline, queue. Whatever they ask for, it holds from its answer on, whoever leads.
 */
#include <string.h>

#include "simulator/internal.h"

enum { EDITS = 24 };

static bool has_edits(const world_t *self)
{
    return self->options.seed % 5 == 2;
}

/*  Of one tier or a higher one, so that every job finds room at last. A deadline is put off or dropped, never
 * drawn nearer. */
static void on_edit(world_t *self, happening_t *item)
{
    uint64_t draw = world_draw(self, 21, item->number);
    const wjob_t *job = &self->jobs[draw % self->job_count];
    if (!self->broker.up || !job->answered)
        return;
    drift_t truth = {0};
    bool other = helio_text_is(job->queue, "standard");
    helio_ev_edit_t edit = {
        .call = EDITS_CALL + item->number,
        .tenant = helio_text_of(draw / 64 % 8 ? job->tenant : "green"),
        .user = HELIO_TEXT("ana"),
        .key = {job->id, HELIO_NO_TASK},
        .priority_given = draw / 512 % 2,
        .priority = (int32_t)(draw / 1024 % 201) - 100,
        .goal_given = draw / 2048 % 2,
        .goal = (uint32_t)(draw / 4096 % HELIO_GOAL_COUNT),
        .flexible_given = draw / 8192 % 4 == 0,
        .flexible_ms = draw / 32768 % 2 * 600000,
        .deadline_given = job->deadline_ms && draw / 65536 % 2,
        .deadline_wall_ms = draw / 131072 % 2 ? world_wall_ms(self, &truth) + 12 * 3600000 : 0,
        .queue_given = draw / 262144 % 3 == 0 && !helio_text_is(job->queue, "urgent"),
        .queue = other ? HELIO_TEXT("batch") : HELIO_TEXT("standard"),
    };
    broker_step(self, HELIO_BROKER_EV_EDIT, &edit);
}

/*  They draw nothing from the world's random numbers: the other worlds run as they did. */
void edits_make(world_t *self)
{
    for (uint32_t i = 0; has_edits(self) && i < EDITS; i++) {
        int64_t at_ms = (int64_t)(world_draw(self, 22, i) % (uint64_t)(self->options.faults_ms + 1));
        world_later(self, at_ms, on_edit)->number = i;
    }
}

/*  It may have a place, be over, or be another tenant's. */
void edits_answer(world_t *self, const helio_fx_answer_t *answer)
{
    const wjob_t *job = &self->jobs[world_draw(self, 21, answer->call - EDITS_CALL) % self->job_count];
    static const char unchanged[] = "unchanged";
    bool same = answer->text.size >= sizeof unchanged &&
                memcmp(answer->text.data, unchanged, sizeof unchanged - 1) == 0;
    if (answer->rc != HELIO_OK && answer->rc != HELIO_NOT_FOUND && answer->rc != HELIO_CONFLICT)
        world_violate(self, "a good edit was refused: %.*s", HELIO_TEXT_ARGS(answer->text));
    if (answer->rc == HELIO_OK && !same && !helio_vdb_edit(self->vdb, job->id))
        world_violate(self, "an edit was answered before it was durable");
}

/*  The words of the last job's row live as long as its batch: those of queues are kept by name. */
static helio_text_t queue_of(helio_text_t name)
{
    return helio_text_is(name, "batch")      ? HELIO_TEXT("batch")
           : helio_text_is(name, "standard") ? HELIO_TEXT("standard")
           : helio_text_is(name, "spare")    ? HELIO_TEXT("spare")
                                             : HELIO_TEXT("urgent");
}

void edits_row(world_t *self, const helio_row_edit_t *row)
{
    wjob_t *job = workload_given(self, row->job);
    if (!job)
        return;
    job->queue = queue_of(row->queue);
    job->deadline_ms = row->deadline_wall_ms;
    job->edited = true;
}

void edits_before_load(world_t *self)
{
    for (uint32_t i = 0; i < self->job_count; i++) {
        wjob_t *job = &self->jobs[i];
        const helio_row_edit_t *edit = helio_vdb_edit(self->vdb, job->given);
        job->queue = edit ? queue_of(edit->queue) : job->submission.spec.queue;
        job->deadline_ms = edit ? edit->deadline_wall_ms : job->submission.spec.deadline_wall_ms;
    }
}

static void look(void *arg, const helio_broker_job_view_t *view)
{
    world_t *self = arg;
    const helio_row_edit_t *edit = helio_vdb_edit(self->vdb, view->key.job);
    if (edit &&
        (view->priority != edit->priority || view->goal != edit->goal ||
         view->deadline_wall_ms != edit->deadline_wall_ms || !helio_text_is(edit->queue, view->queue)))
        world_violate(self, "an edit was forgotten at a takeover");
}

void edits_after_load(world_t *self)
{
    helio_broker_core_each(self->broker.core, look, self);
}
