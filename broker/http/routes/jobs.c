/*  jobs.c -- /v1/jobs/{id}: show, cancel, hold, release, requeue. Lists are in jobs_list.c, submissions in submit.c, edits in edit.c. */
#include "broker/http/routes/asked.h"
#include "broker/http/routes/job_command.h"
#include "broker/http/routes/routes.h"

static void on_job_read(helio_request_context_t *self, const helio_result_t *result)
{
    helio_text_t read = helio_buffer_view(&result->data);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t json = {0};
    if (result->rc != HELIO_OK) {
        helio_response_failure(self, result, "job");
    } else if (!helio_response_ambiguous(self, read)) {
        helio_asked_job(read, &json);
        helio_response_json(self, 200, helio_buffer_view(&json));
    }
}

void helio_jobs_show(helio_request_context_t *self)
{
    if (helio_job_id_check(self))
        helio_await_read(self, on_job_read, "read_job", 2,
                         (const char *[]){self->parameter, helio_request_context_tenant(self)});
}

static void on_attempts_read(helio_request_context_t *self, const helio_result_t *result)
{
    helio_text_t read = helio_buffer_view(&result->data);
    if (result->rc != HELIO_OK)
        helio_response_failure(self, result, "job");
    else if (!helio_response_ambiguous(self, read))
        helio_response_json(self, 200, read);
}

void helio_jobs_attempts(helio_request_context_t *self)
{
    if (helio_job_id_check(self))
        helio_await_read(self, on_attempts_read, "read_attempts", 2,
                         (const char *[]){self->parameter, helio_request_context_tenant(self)});
}

static void *cancel_payload(helio_request_context_t *self, helio_job_key_t key, const void *now)
{
    helio_ev_command_t *event = helio_job_command_payload(self, key, NULL);
    event->now = *(const bool *)now;
    return event;
}

static const helio_job_verb_t cancel = {HELIO_BROKER_EV_CANCEL, 202, "cancelled", cancel_payload, NULL};
static const helio_job_verb_t hold = {HELIO_BROKER_EV_HOLD, 202, "held", helio_job_command_payload, NULL};
static const helio_job_verb_t requeue = {HELIO_BROKER_EV_REQUEUE, 202, "requeued", helio_job_command_payload, NULL};
static const helio_job_verb_t release = {HELIO_BROKER_EV_RELEASE, 202, "released", helio_job_command_payload, NULL};

void helio_jobs_cancel(helio_request_context_t *self)
{
    bool *now = helio_arena_alloc(self->arena, 1, sizeof *now);
    if (helio_request_context_flag(self, "now", now))
        helio_job_command(self, &cancel, now);
}

void helio_jobs_hold(helio_request_context_t *self)
{
    helio_job_command(self, &hold, NULL);
}

void helio_jobs_requeue(helio_request_context_t *self)
{
    helio_job_command(self, &requeue, NULL);
}

void helio_jobs_release(helio_request_context_t *self)
{
    helio_job_command(self, &release, NULL);
}
