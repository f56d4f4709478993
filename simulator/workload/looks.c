/*  looks.c -- users who only read while everything goes wrong: they ask for plans of jobs like those that are
 *  submitted, and for explanations of those that were. They may ask at any time, and change nothing. */
#include "simulator/workload/internal.h"

enum { LOOKS = 48 };

/*  One plan in three supposes a drain, and one in three a price or a curtailment, of a site that can be unknown yet. */
static void suppose(uint64_t draw, helio_ev_submit_t *plan)
{
    static const char *const sites[] = {"site0", "site1", "site2", "site3"};
    plan->supposed_site = helio_text_of(draw % 3 ? sites[draw / 3 % 4] : "");
    plan->supposed_drain = draw % 3 == 1;
    plan->supposed_price_per_mille = (uint32_t)(draw / 12 % 4000);
    plan->supposed_curtailed_ms = draw % 3 == 2 && draw / 7 % 2 ? 7200000 : 0;
    plan->supposed_percent = (uint32_t)(draw / 14 % 101);
}

static void on_look(void *arg, sim_happening_t *item)
{
    sim_workload_t *self = arg;
    uint64_t draw = sim_draw(self->engine, 23, item->number);
    sim_job_t *job = &self->jobs[draw % self->job_count];
    if (!workload_broker(self))
        return;
    helio_submission_t document = job->submission;
    document.depends.count = 0; /* the dependencies that it named when it was submitted do not matter here */
    document.spec.after_ok.count = document.spec.after_any.count = document.spec.after_not_ok.count = 0;
    document.spec.after_start.count = document.spec.after_task.count = 0;
    helio_ev_submit_t plan = {.call = LOOKS_CALL + item->number,
                              .tenant = helio_text_of(job->tenant),
                              .user = HELIO_TEXT("ana"),
                              .jobs = {&document, 1}};
    suppose(draw >> 32, &plan);
    sim_broker_take(workload_broker(self), HELIO_BROKER_EV_PLAN, &plan);
    helio_ev_command_t explain = {.call = LOOKS_CALL + LOOKS + item->number,
                                  .tenant = helio_text_of(job->tenant),
                                  .actor = HELIO_TEXT("user:acme/ana"),
                                  .key = {job->given, HELIO_NO_TASK}};
    sim_broker_take(workload_broker(self), HELIO_BROKER_EV_EXPLAIN, &explain);
    helio_ev_desired_t desired = {.call = LOOKS_CALL + 2 * LOOKS + item->number};
    sim_broker_take(workload_broker(self), HELIO_BROKER_EV_DESIRED, &desired);
    helio_ev_queue_order_t order = {.call = LOOKS_CALL + 3 * LOOKS + item->number,
                                    .tenant = helio_text_of(job->tenant),
                                    .role = item->number % 2 ? HELIO_ROLE_OPERATOR : HELIO_ROLE_USER};
    sim_broker_take(workload_broker(self), HELIO_BROKER_EV_QUEUE_ORDER, &order);
}

void workload_looks_begin(sim_workload_t *self)
{
    for (uint32_t i = 0; i < LOOKS; i++) {
        int64_t at_ms = (int64_t)(sim_draw(self->engine, 24, i) % (uint64_t)(self->faults_ms + 1));
        sim_later(self->engine, at_ms, on_look, self)->number = i;
    }
}
