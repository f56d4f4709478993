/*  jobs.c -- /v1/jobs: list, show, cancel, hold, release, requeue. Submissions are in submit.c, edits in edit.c. */
#include <stdio.h>
#include <string.h>

#include "broker/http/routes/asked.h"
#include "broker/http/routes/command.h"
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

enum { STATES_TEXT_MAX = 160 }; /* each state once */

/*  Whether states is a list of names of states, separated by commas. False: a problem was answered. */
static bool check_states(helio_request_context_t *self, const char *states)
{
    uint32_t known;
    for (const char *word = states; word; word = *word == ',' ? word + 1 : NULL) {
        size_t size = strcspn(word, ",");
        if (strlen(states) > STATES_TEXT_MAX ||
            helio_job_state_of((helio_text_t){word, (uint32_t)size}, &known) != HELIO_OK) {
            HELIO_AUTO(helio_buffer_clear) helio_buffer_t words = {0};
            for (uint32_t i = 0; i < HELIO_JOB_STATE_COUNT; i++)
                helio_buffer_printf(&words, "%s%s", i ? "," : "", helio_job_state_name(i));
            helio_command_refuse_word(self, "state", (helio_text_t){word, size < 32 ? (uint32_t)size : 32},
                                      helio_buffer_view(&words));
            return false;
        }
        word += size;
    }
    return true;
}

void helio_jobs_list(helio_request_context_t *self)
{
    const char *state = helio_request_context_query(self, "state"),
               *cursor = helio_request_context_query(self, "cursor");
    const char *asked = helio_request_context_query(self, "tenant"), *tenant = helio_request_context_tenant(self);
    uint64_t limit;
    helio_job_key_t key;
    if (!helio_request_context_number(self, "limit", (helio_query_bounds_t){1, 1000, 100}, &limit))
        return;
    if (state && !check_states(self, state))
        return;
    if (cursor && helio_job_key_parse(helio_text_of(cursor), &key) != HELIO_OK) {
        HELIO_PROBLEM0(self, 400, CURSOR_INVALID);
        return;
    }
    if (asked && tenant && strcmp(asked, tenant) != 0) {
        HELIO_PROBLEM(self, 403, TENANT_NOT_VISIBLE, helio_value_string(tenant));
        return;
    }
    char limit_text[24];
    (void)snprintf(limit_text, sizeof limit_text, "%llu", (unsigned long long)limit);
    helio_await_read(self, helio_response_read, "read_jobs", 6,
                     (const char *[]){asked ? asked : tenant, state, helio_request_context_query(self, "queue"),
                                      helio_request_context_query(self, "name"), cursor, limit_text});
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
