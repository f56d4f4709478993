/*  replan.c -- /v1/jobs/{id}/plan: what a stored job would lead to now, perhaps at other prices. Its document stays in
 *  the broker: it can name things that not everybody who sees the job may read. */
#include <jansson.h>

#include "broker/http/request/reasons.h"
#include "broker/http/routes/asked.h"
#include "broker/http/routes/job_command.h"
#include "broker/http/routes/plan_prices.h"
#include "broker/http/routes/plan_supposed.h"
#include "broker/http/routes/plans.h"
#include "broker/http/routes/routes.h"

/*  What the query asks for, until the document is there. */
typedef struct replan {
    helio_plan_prices_t prices;
    helio_plan_supposed_t supposed;
} replan_t;

/*  What it depended on is not asked again: the plan tells where it would go if it could start. */
static bool take_job(const json_t *stored, helio_arena_t *arena, helio_ev_submit_t *event)
{
    helio_submission_t *job = helio_arena_alloc(arena, 1, sizeof *job);
    const char *queue = json_string_value(json_object_get(stored, "queue")),
               *user = json_string_value(json_object_get(stored, "user"));
    if (!helio_asked_spec(json_object_get(stored, "asked"), arena, &job->spec))
        return false;
    job->spec.after_ok.count = job->spec.after_any.count = job->spec.after_not_ok.count = 0;
    job->spec.after_start.count = job->spec.after_task.count = 0;
    if (queue)
        job->spec.queue = helio_arena_text(arena, helio_text_of(queue));
    event->tenant = helio_arena_text(arena, helio_text_of(json_string_value(json_object_get(stored, "tenant"))));
    event->user = helio_arena_text(arena, helio_text_of(user ? user : ""));
    event->jobs.items = job;
    event->jobs.count = 1;
    return true;
}

static void on_stored(helio_request_context_t *self, const helio_result_t *result)
{
    helio_text_t text = helio_buffer_view(&result->data);
    if (result->rc != HELIO_OK) {
        helio_response_failure(self, result, "job");
        return;
    }
    if (helio_response_ambiguous(self, text))
        return;
    json_t *stored = json_loadb(text.data, text.size, 0, NULL);
    helio_arena_t *arena = helio_await_arena(self);
    helio_ev_submit_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    if (!json_is_string(json_object_get(stored, "tenant"))) {
        HELIO_PROBLEM0(self, 500, DATABASE_REPLY);
    } else if (!take_job(stored, arena, event)) {
        HELIO_PROBLEM(self, 409, JOB_SOURCE_UNREAD, helio_value_string(self->parameter));
    } else {
        const replan_t *replan = helio_request_context_state(self, sizeof *replan);
        helio_plan_prices_set(&replan->prices, &event->jobs.items[0].spec);
        helio_plan_supposed_set(&replan->supposed, arena, event);
        if (helio_job_key_parse(helio_text_of(self->parameter), &event->supposed_job) != HELIO_OK)
            event->supposed_job = (helio_job_key_t){.task = HELIO_NO_TASK}; /* a part of an id */
        helio_await_event(self, helio_plan_put, HELIO_BROKER_EV_PLAN, event);
    }
    json_decref(stored);
}

void helio_jobs_plan(helio_request_context_t *self)
{
    replan_t replan;
    if (!helio_job_id_check(self) || !helio_plan_prices_read(self, &replan.prices) ||
        !helio_plan_supposed_read(self, &replan.supposed))
        return;
    *(replan_t *)helio_request_context_state(self, sizeof replan) = replan;
    helio_await_read(self, on_stored, "read_job_source", 2,
                     (const char *[]){self->parameter, helio_request_context_tenant(self)});
}
