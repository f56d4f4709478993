/*  submit.c -- POST /v1/jobs, and what a plan shares with it: the jobs that a document depends on are looked up before
 *  the core is asked. */
#include "broker/http/request/reasons.h"
#include "broker/http/routes/submit.h"

#include <stdio.h>
#include <string.h>

#include "broker/http/routes/command.h"
#include "broker/http/routes/depends.h"
#include "broker/http/routes/routes.h"
#include "broker/http/routes/submission.h"
#include "federation/base/json.h"

static void put_accepted(helio_json_writer_t *json, const helio_accepted_job_t *job)
{
    char id[HELIO_ID_SIZE];
    helio_uuid_text(job->job, id);
    helio_json_put_string(json, "id", id);
    helio_json_put_bool(json, "existed", job->existed);
}

static void on_submitted(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK) {
        helio_response_failure(self, result, NULL);
        return;
    }
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_json_writer_t json = helio_json_into(&text);
    helio_json_begin_object(&json, NULL);
    if (result->job_count == 1) { /* a single job is also the top-level object */
        char id[HELIO_ID_SIZE], location[sizeof "/v1/jobs/" + HELIO_ID_SIZE];
        put_accepted(&json, &result->jobs[0]);
        helio_uuid_text(result->jobs[0].job, id);
        (void)snprintf(location, sizeof location, "/v1/jobs/%s", id);
        helio_request_context_header(self, "Location", location);
    }
    helio_json_begin_array(&json, "jobs");
    for (uint32_t i = 0; i < result->job_count; i++) {
        helio_json_begin_object(&json, NULL);
        put_accepted(&json, &result->jobs[i]);
        helio_json_end(&json);
    }
    helio_json_end(&json);
    helio_put_note(&json, &result->details);
    helio_json_end(&json);
    (void)atomic_fetch_add_explicit(&self->http->metrics.jobs_submitted, result->job_count, memory_order_relaxed);
    helio_response_json(self, 201, helio_buffer_view(&text));
}

/*  A dependency ended between the look-up and the core's step, and the core does not remember how; its end is durable by
 *  now. Another leader saw it, so that hardly ever happens twice. */
enum { LOOKS_MAX = 5 };

static void look_up(helio_request_context_t *self);

/*  A submission whose dependencies are being looked up. */
typedef struct asking {
    helio_ev_submit_t *event; /* retained, see helio_await_retain */
    helio_depends_t depends;
    uint32_t looks;
    uint32_t kind; /* SUBMIT or PLAN */
    helio_request_context_step_fn *done;
} asking_t;

static asking_t *asking_of(helio_request_context_t *self)
{
    return helio_request_context_state(self, sizeof(asking_t));
}

static void on_dependent_submitted(helio_request_context_t *self, const helio_result_t *result)
{
    asking_t *asking = asking_of(self);
    bool again = result->rc == HELIO_BUSY && strcmp(result->reason, "Gated") == 0;
    if (again && asking->looks < LOOKS_MAX)
        look_up(self);
    else
        asking->done(self, result);
}

/*  The operation gets a copy, because the request can be gone before the core has read it. */
static void on_looked_up(helio_request_context_t *self, const helio_result_t *result)
{
    asking_t *asking = asking_of(self);
    if (result->rc != HELIO_OK ||
        helio_depends_resolve(&asking->depends, helio_buffer_view(&result->data), NULL) != HELIO_OK) {
        helio_result_t failed = {.rc = result->rc == HELIO_OK ? HELIO_UNAVAILABLE : result->rc};
        helio_response_failure(self, &failed, NULL);
        return;
    }
    helio_arena_t *arena = helio_await_arena(self);
    helio_ev_submit_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    helio_record_copy(&helio_ev_submit_type, arena, asking->event, event);
    helio_await_event(self, on_dependent_submitted, asking->kind, event);
}

static void look_up(helio_request_context_t *self)
{
    asking_t *asking = asking_of(self);
    asking->looks++;
    const char *words = helio_depends_question(&asking->depends, self->arena);
    helio_await_read(self, on_looked_up, "read_dependencies", 2, (const char *[]){words, self->token->tenant});
}

void helio_submit_ask(helio_request_context_t *self, helio_ev_submit_t *event, uint32_t kind,
                      helio_request_context_step_fn *done)
{
    helio_depends_t depends = helio_depends_of(event, helio_await_arena(self));
    if (!depends.count) {
        helio_await_event(self, done, kind, event);
        return;
    }
    if (depends.words > HELIO_DEPENDS_WORDS_MAX || depends.parts > HELIO_DEPENDS_PARTS_MAX) {
        HELIO_PROBLEM(self, 413, DEPENDS_MANY, helio_value_number(depends.words), helio_value_number(depends.parts),
                      helio_value_number(HELIO_DEPENDS_WORDS_MAX), helio_value_number(HELIO_DEPENDS_PARTS_MAX));
        return;
    }
    helio_await_retain(self);
    *asking_of(self) = (asking_t){.event = event, .depends = depends, .kind = kind, .done = done};
    look_up(self);
}

void helio_jobs_submit(helio_request_context_t *self)
{
    helio_arena_t *arena = helio_await_arena(self);
    helio_text_t body = helio_await_body(self);
    helio_ev_submit_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->tenant = helio_text_of(self->token->tenant);
    event->user = helio_text_of(self->token->user);
    helio_diagnostics_t wrong;
    int document;
    const char *labels = helio_request_context_query(self, "label");
    if (labels && !helio_labels_check(self, labels, false))
        return;
    if (helio_submission_read(body, self->idempotency_key, labels ? labels : "", arena, event, &wrong, &document) !=
        HELIO_OK) {
        (void)atomic_fetch_add_explicit(&self->http->metrics.jobs_rejected, 1, memory_order_relaxed);
        helio_response_diagnostics(self, &wrong, document);
        return;
    }
    if (helio_await_read_body(self))
        helio_submit_ask(self, event, HELIO_BROKER_EV_SUBMIT, on_submitted);
}
