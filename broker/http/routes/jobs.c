/*  /v1/jobs: list, show, cancel, release; submit.c has what is submitted, edit.c what is edited. */
#include <stdio.h>
#include <string.h>

#include "broker/http/routes/job_command.h"
#include "broker/http/routes/routes.h"

static void on_job_read(helio_request_context_t *self, const helio_result_t *result)
{
    helio_text_t json = helio_buffer_view(&result->data);
    if (result->rc != HELIO_OK)
        helio_response_failure(self, result, helio_job_of_path(self));
    else if (!helio_response_ambiguous(self, json))
        helio_response_json(self, 200, json);
}

void helio_jobs_show(helio_request_context_t *self)
{
    if (helio_job_id_check(self))
        helio_await_read(self, on_job_read, "read_job", 2,
                         (const char *[]){self->parameter, helio_request_context_tenant(self)});
}

enum { STATES_TEXT_MAX = 160 }; /* all of them, once */

/*  Words of states, separated by commas; false: a problem was answered. */
static bool check_states(helio_request_context_t *self, const char *states)
{
    uint32_t known;
    for (const char *word = states; word; word = *word == ',' ? word + 1 : NULL) {
        size_t size = strcspn(word, ",");
        if (strlen(states) > STATES_TEXT_MAX ||
            helio_job_state_of((helio_text_t){word, (uint32_t)size}, &known) != HELIO_OK) {
            HELIO_AUTO(helio_buffer_clear) helio_buffer_t words = {0};
            for (uint32_t i = 0; i < HELIO_JOB_STATE_COUNT; i++)
                helio_buffer_printf(&words, "%s%s", i ? ", " : "", helio_job_state_name(i));
            helio_response_problem(self, 400, NULL, "there is no state '%.*s'; there are: %s",
                                 size < 32 ? (int)size : 32, word, words.data);
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
    if (!helio_request_context_number(self, "limit", 100, 1000, &limit))
        return;
    if (state && !check_states(self, state))
        return;
    if (cursor && helio_job_key_parse(helio_text_of(cursor), &key) != HELIO_OK) {
        helio_response_problem(self, 400, NULL, "the cursor is not one that a page gave as 'next'");
        return;
    }
    if (asked && tenant && strcmp(asked, tenant) != 0) {
        helio_response_problem(self, 403, NULL, "the token sees the jobs of tenant '%s' alone", tenant);
        return;
    }
    char limit_text[24];
    (void)snprintf(limit_text, sizeof limit_text, "%llu", (unsigned long long)(limit ? limit : 1));
    helio_await_read(self, helio_response_read, "read_jobs", 6,
                     (const char *[]){asked ? asked : tenant, state, helio_request_context_query(self, "queue"),
                                      helio_request_context_query(self, "name"), cursor, limit_text});
}

static const helio_job_verb_t cancel = {HELIO_BROKER_EV_CANCEL, 202, "cancelled", helio_job_command_payload};
static const helio_job_verb_t release = {HELIO_BROKER_EV_RELEASE, 202, "released", helio_job_command_payload};

void helio_jobs_cancel(helio_request_context_t *self)
{
    helio_job_command(self, &cancel, NULL);
}

void helio_jobs_release(helio_request_context_t *self)
{
    helio_job_command(self, &release, NULL);
}
