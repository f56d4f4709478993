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

const char *helio_job_of_path(const helio_request_context_t *self)
{
    return helio_arena_printf(self->arena, "job %.64s", self->parameter).data;
}

/*  What the database would be asked to look for: an id, or at least six characters of one, perhaps with a
 * task. */
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
    helio_response_problem(
        self, 404, NULL,
        "there is no job '%.64s': an id has 26 letters and digits; any 6 from its beginning or end will do",
        self->parameter);
    return false;
}

/*  The core forgets what is over: say what became of it, rather than that it does not exist. */
static void on_where_after_refusal(helio_request_context_t *self, const helio_result_t *result)
{
    json_t *where = result->rc == HELIO_OK ? json_loadb(result->data.data, result->data.size, 0, NULL) : NULL;
    const char *state = json_string_value(json_object_get(where, "state"));
    if (state)
        helio_response_problem(self, 409, NULL, "job %.64s cannot be %s: it is %s", self->parameter,
                             command_of(self)->verb->done, state);
    else
        helio_response_problem(self, 404, NULL, "there is no job %.64s", self->parameter);
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
        helio_response_failure(self, result, helio_job_of_path(self));
        return;
    }
    helio_response_done(self, command_of(self)->verb->status, "id", self->parameter, &result->details);
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
    event->tenant = helio_text_of(self->token->tenant); /* the table's: outlives the operation */
    event->user = helio_text_of(self->token->user);
    event->role = self->token->role;
    event->key = key;
    return event;
}

static void on_resolved(helio_request_context_t *self, const helio_result_t *result)
{
    helio_text_t json = helio_buffer_view(&result->data);
    if (result->rc != HELIO_OK) {
        helio_response_failure(self, result, helio_job_of_path(self));
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
        helio_response_problem(self, 500, NULL, "the database answered with no id");
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
