/*  hastes.c -- users who find that the jobs that they cancelled take long to end, and cancel them without grace. */
#include "simulator/workload/internal.h"

enum { PATIENCE_MS = 5000, SPAN_MS = 20000 };

static void on_haste(void *arg, sim_happening_t *item)
{
    sim_workload_t *self = arg;
    const sim_job_t *job = &self->jobs[item->number];
    if (job->hastened)
        return;
    sim_later(self->engine, PATIENCE_MS, on_haste, self)->number = item->number;
    if (!workload_broker(self) || !job->answered)
        return;
    helio_ev_command_t cancel = {.call = HASTES_CALL + item->number,
                                 .tenant = helio_text_of(job->tenant),
                                 .actor = HELIO_TEXT("user:acme/ana"),
                                 .key = {job->id, HELIO_NO_TASK},
                                 .now = true};
    sim_broker_take(workload_broker(self), HELIO_BROKER_EV_CANCEL, &cancel);
}

void sim_workload_begin_hastes(sim_workload_t *self)
{
    enum { HASTE_DRAW = 110 };
    for (uint32_t i = 0; i < self->job_count; i++) {
        uint64_t draw = sim_draw(self->engine, HASTE_DRAW, i);
        if (self->jobs[i].cancel_ms && draw % 2)
            sim_later(self->engine, self->jobs[i].cancel_ms + (int64_t)(draw / 2 % SPAN_MS), on_haste, self)->number =
                i;
    }
}

void workload_hastes_answered(sim_workload_t *self, const helio_fx_reply_t *reply)
{
    self->jobs[reply->call - HASTES_CALL].hastened = reply->rc == HELIO_OK || reply->rc == HELIO_NOT_FOUND;
}
