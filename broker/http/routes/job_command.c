/*  job_command.c -- finds the job of a command, sends it to the core, and explains a refusal. */
#include "broker/http/routes/job_command.h"

#include <jansson.h>
#include <string.h>

typedef struct command {
    const helio_job_verb_t *verb;
    const void *what;
} command_t;

static command_t *command_of(helio_request_context_t *self)
{
    return helio_request_context_state(self, sizeof(command_t));
}

/*  Whether it is worth a query: an id, or at least six characters of one, perhaps with a task. */
static bool plausible_id(const char *id)
{
    size_t letters = strspn(id, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-");
    size_t task = id[letters] == '.' ? strspn(id + letters + 1, "0123456789") : 0;
    bool ends = id[letters] == '.' ? task > 0 && task <= 9 && !id[letters + 1 + task] : !id[letters];
    return ends && letters >= HELIO_ID_PREFIX_MIN && letters <= 36;
}

bool helio_job_id_check(helio_request_context_t *self)
{
    if (plausible_id(self->parameter))
        return true;
    HELIO_PROBLEM(self, 404, NO_SUCH_JOB_ID, helio_value_string(self->parameter));
    return false;
}

/*  How a job in that state ended, after "it has already"; NULL: it has not, or was cancelled. */
static const char *ended(const char *state)
{
    static const struct {
        uint32_t state;
        const char *words;
    } ends[] = {{HELIO_JOB_SUCCEEDED, "succeeded"},
                {HELIO_JOB_FAILED, "failed"},
                {HELIO_JOB_TIMEOUT, "reached its time limit"},
                {HELIO_JOB_LOST, "been lost"}};
    uint32_t known;
    for (size_t i = 0; helio_job_state_of(helio_text_of(state), &known) == HELIO_OK && i < sizeof ends / sizeof ends[0];
         i++)
        if (ends[i].state == known)
            return ends[i].words;
    return NULL;
}

/*  The core has forgotten jobs that are over: the response gives the job's state instead of denying its existence. */
static void on_where_after_refusal(helio_request_context_t *self, const helio_result_t *result)
{
    json_t *where = result->rc == HELIO_OK ? json_loadb(result->data.data, result->data.size, 0, NULL) : NULL;
    const char *state = json_string_value(json_object_get(where, "state"));
    uint32_t known;
    bool is_known = state && helio_job_state_of(helio_text_of(state), &known) == HELIO_OK;
    if (is_known && known == HELIO_JOB_CANCELLED) /* a client that repeats a cancel tells by the code that it worked */
        HELIO_PROBLEM(self, 409, JOB_WAS_CANCELLED, helio_value_string(self->parameter),
                      helio_value_string(command_of(self)->verb->done));
    else if (state && ended(state))
        HELIO_PROBLEM(self, 409, JOB_HAS_ENDED, helio_value_string(self->parameter),
                      helio_value_string(command_of(self)->verb->done), helio_value_string(ended(state)));
    else if (state)
        HELIO_PROBLEM(self, 409, JOB_STATE_REFUSES, helio_value_string(self->parameter),
                      helio_value_string(command_of(self)->verb->done), helio_value_string(state));
    else if (result->rc != HELIO_OK && result->rc != HELIO_NOT_FOUND)
        helio_response_failure(self, result, "job"); /* the database is away: it is unknown whether such a job exists */
    else
        HELIO_PROBLEM(self, 404, NO_SUCH_THING, helio_value_string("job"), helio_value_string(self->parameter));
    json_decref(where);
}

static void on_commanded(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc == HELIO_NOT_FOUND) {
        helio_await_read(self, on_where_after_refusal, "read_job_where", 2,
                         (const char *[]){self->parameter, helio_request_context_tenant(self)});
        return;
    }
    if (result->rc != HELIO_OK) {
        helio_response_failure(self, result, "job");
        return;
    }
    const command_t *command = command_of(self);
    if (command->verb->answer)
        command->verb->answer(self, result, command->what);
    else
        helio_response_done(self, command->verb->status, "id", self->parameter, &result->details);
}

static void send(helio_request_context_t *self, helio_job_key_t key)
{
    const command_t *command = command_of(self);
    helio_await_event(self, on_commanded, command->verb->event, command->verb->payload(self, key, command->what));
}

void *helio_job_command_payload(helio_request_context_t *self, helio_job_key_t key, const void *nothing)
{
    (void)nothing;
    helio_ev_command_t *event = helio_arena_alloc(helio_await_arena(self), 1, sizeof *event);
    event->tenant = helio_text_of(self->token->tenant); /* the table's text, which outlives the operation */
    event->actor = helio_request_context_actor(self);
    event->role = self->token->role;
    event->key = key;
    return event;
}

static void on_resolved(helio_request_context_t *self, const helio_result_t *result)
{
    helio_text_t json = helio_buffer_view(&result->data);
    if (result->rc != HELIO_OK) {
        helio_response_failure(self, result, "job");
        return;
    }
    if (helio_response_ambiguous(self, json))
        return;
    json_t *where = json_loadb(json.data, json.size, 0, NULL);
    const char *id = json_string_value(json_object_get(where, "id"));
    helio_job_key_t key;
    if (id && helio_job_key_parse(helio_text_of(id), &key) == HELIO_OK) {
        self->parameter = helio_arena_string(self->arena, helio_text_of(id));
        send(self, key);
    } else {
        HELIO_PROBLEM0(self, 500, DATABASE_REPLY);
    }
    json_decref(where);
}

void helio_job_command(helio_request_context_t *self, const helio_job_verb_t *verb, const void *what)
{
    helio_job_key_t key;
    *command_of(self) = (command_t){verb, what};
    if (helio_job_key_parse(helio_text_of(self->parameter), &key) == HELIO_OK)
        send(self, key);
    else if (helio_job_id_check(self))
        helio_await_read(self, on_resolved, "read_job_where", 2,
                         (const char *[]){self->parameter, helio_request_context_tenant(self)});
}
