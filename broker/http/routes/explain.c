/*  explain.c -- /v1/jobs/{id}/explain: the stored decision of a job and, before its start, the core's start
 *  estimate. */
#include <jansson.h>
#include <string.h>

#include "broker/http/request/reasons.h"
#include "broker/http/routes/job_command.h"
#include "broker/http/routes/start_estimate.h"
#include "broker/http/routes/routes.h"

static void put_ahead(helio_json_writer_t *json, const helio_start_estimate_t *start_estimate)
{
    helio_json_begin_object(json, "ahead");
    helio_json_put_u64(json, "jobs", start_estimate->ahead_jobs);
    helio_json_put_u64(json, "gpus", start_estimate->ahead_gpus);
    helio_json_begin_array(json, "first");
    for (uint32_t i = 0; i < start_estimate->ahead.count; i++) {
        const helio_ahead_t *line = &start_estimate->ahead.items[i];
        helio_json_begin_object(json, NULL);
        helio_json_put_text_or_null(json, "tenant", line->tenant);
        helio_json_put_text_or_null(json, "queue", line->queue);
        helio_json_put_u64(json, "jobs", line->jobs);
        helio_json_put_u64(json, "gpus", line->gpus);
        helio_json_end(json);
    }
    helio_json_end(json);
    helio_json_end(json);
}

static void put_hints(helio_json_writer_t *json, const helio_start_estimate_t *start_estimate)
{
    helio_json_begin_array(json, "hints");
    for (uint32_t i = 0; i < start_estimate->hints.count; i++) {
        const helio_hint_t *hint = &start_estimate->hints.items[i];
        helio_json_begin_object(json, NULL);
        helio_json_put_string(json, "kind", helio_hint_kind_name(hint->kind));
        helio_put_details(json, "change", "change_details", &hint->change);
        helio_put_details(json, "effect", "effect_details", &hint->effect);
        helio_json_end(json);
    }
    helio_json_end(json);
}

void helio_start_estimate_put(helio_json_writer_t *json, const helio_start_estimate_t *start_estimate)
{
    if (start_estimate && start_estimate->better_site.items.count) { /* a running job: no start is ahead of it */
        helio_put_details(json, "better_site", "better_site_details", &start_estimate->better_site);
        start_estimate = NULL;
    }
    if (!start_estimate) {
        helio_json_put_null(json, "expected");
        helio_json_put_null(json, "ahead");
        helio_json_put_null(json, "hints");
        return;
    }
    helio_json_begin_object(json, "expected");
    helio_json_put_time(json, "earliest", start_estimate->earliest_ms);
    helio_json_put_time(json, "latest", start_estimate->latest_ms);
    helio_put_details(json, "basis", "details", &start_estimate->basis);
    helio_json_put_time(json, "at", start_estimate->at_ms);
    helio_json_end(json);
    put_ahead(json, start_estimate);
    put_hints(json, start_estimate);
}

typedef struct explanation {
    helio_text_t of_database; /* JSON; in the request's arena */
} explanation_t;

static void response(helio_request_context_t *self, const helio_start_estimate_t *start_estimate)
{
    const explanation_t *explanation = helio_request_context_state(self, sizeof *explanation);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_json_writer_t json = helio_json_into(&text);
    helio_json_begin_object(&json, NULL);
    helio_json_put_members(&json, explanation->of_database);
    helio_start_estimate_put(&json, start_estimate);
    helio_json_end(&json);
    helio_response_json(self, 200, helio_buffer_view(&text));
}

/*  If the core is busy, or the job has started meanwhile, the response still contains what the database knows. */
static void on_estimate(helio_request_context_t *self, const helio_result_t *result)
{
    response(self, result->rc == HELIO_OK ? result->start_estimate : NULL);
}

/*  Whether the core has something to add: a start ahead of the job, or a better site for a running one. */
static bool is_ahead(const char *word)
{
    uint32_t state;
    return word && helio_job_state_of(helio_text_of(word), &state) == HELIO_OK &&
           (state <= HELIO_JOB_RUNNING || state == HELIO_JOB_HELD || state == HELIO_JOB_SUSPECT);
}

static void on_read(helio_request_context_t *self, const helio_result_t *result)
{
    helio_text_t text = helio_buffer_view(&result->data);
    if (result->rc != HELIO_OK) {
        helio_response_failure(self, result, "job");
        return;
    }
    if (helio_response_ambiguous(self, text))
        return;
    json_t *json = json_loadb(text.data, text.size, 0, NULL);
    if (!json_is_object(json)) {
        json_decref(json);
        HELIO_PROBLEM0(self, 500, DATABASE_REPLY);
        return;
    }
    explanation_t *explanation = helio_request_context_state(self, sizeof *explanation);
    explanation->of_database = helio_arena_text(self->arena, text);
    const char *id = json_string_value(json_object_get(json, "id"));
    helio_job_key_t key;
    bool asks = is_ahead(json_string_value(json_object_get(json, "state"))) && id &&
                helio_job_key_parse(helio_text_of(id), &key) == HELIO_OK;
    json_decref(json);
    if (!asks) {
        response(self, NULL);
        return;
    }
    helio_ev_command_t *event = helio_arena_alloc(helio_await_arena(self), 1, sizeof *event);
    event->tenant = helio_text_of(self->token->tenant); /* the table's text, which outlives the operation */
    event->actor = helio_request_context_actor(self);
    event->role = self->token->role;
    event->key = key;
    helio_await_event(self, on_estimate, HELIO_BROKER_EV_EXPLAIN, event);
}

void helio_jobs_explain(helio_request_context_t *self)
{
    if (helio_job_id_check(self))
        helio_await_read(self, on_read, "read_explain", 2,
                         (const char *[]){self->parameter, helio_request_context_tenant(self)});
}
