/*  looks.c -- people who only look while everything goes wrong: plans of jobs like those that are submitted,
 * and explanations of those that were. They may ask at any moment, and change nothing. */
#include "simulator/internal.h"

enum { LOOKS = 48 };

static void on_look(world_t *self, happening_t *item)
{
    uint64_t draw = world_draw(self, 23, item->number);
    wjob_t *job = &self->jobs[draw % self->job_count];
    if (!self->broker.up)
        return;
    helio_submission_t document = job->submission;
    document.depends.count = 0; /* what they found when it was submitted is another matter */
    document.spec.after_ok.count = document.spec.after_any.count = document.spec.after_not_ok.count = 0;
    helio_ev_submit_t plan = {.call = RELEASES_CALL + item->number,
                              .tenant = helio_text_of(job->tenant),
                              .user = HELIO_TEXT("ana"),
                              .jobs = {&document, 1}};
    broker_step(self, HELIO_BROKER_EV_PLAN, &plan);
    helio_ev_command_t explain = {.call = RELEASES_CALL + LOOKS + item->number,
                                  .tenant = helio_text_of(job->tenant),
                                  .user = HELIO_TEXT("ana"),
                                  .key = {job->given, HELIO_NO_TASK}};
    broker_step(self, HELIO_BROKER_EV_EXPLAIN, &explain);
}

/*  They draw nothing from the world's random numbers. */
void looks_make(world_t *self)
{
    for (uint32_t i = 0; i < LOOKS; i++) {
        int64_t at_ms = (int64_t)(world_draw(self, 24, i) % (uint64_t)(self->options.faults_ms + 1));
        world_later(self, at_ms, on_look)->number = i;
    }
}

void looks_effect(world_t *self, uint32_t kind, const helio_effect_t *effect)
{
    bool looks = kind == HELIO_BROKER_EV_PLAN || kind == HELIO_BROKER_EV_EXPLAIN;
    if (looks && effect->kind != HELIO_BROKER_FX_ANSWER)
        world_violate(self, "a look changed something");
}
