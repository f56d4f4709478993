/*  /v1/jobs: submit, list, show, cancel, release; edit.c has what is edited. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "broker/http/desk.h"
#include "broker/http/route.h"
#include "broker/http/submission.h"
#include "federation/base/json.h"

/* ---- submit -------------------------------------------------------------------------------------------- */

static void put_accepted(helio_json_writer_t *json, const helio_accepted_job_t *job)
{
    char id[HELIO_ID_SIZE];
    helio_uuid_text(job->job, id);
    helio_json_put_string(json, "id", id);
    helio_json_put_bool(json, "existed", job->existed);
}

static void on_submitted(helio_exchange_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK) {
        helio_answer_failure(self, result, NULL);
        return;
    }
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_json_writer_t json = helio_json_into(&text);
    helio_json_begin_object(&json, NULL);
    if (result->job_count == 1) { /* one job may be read as one */
        char id[HELIO_ID_SIZE], location[sizeof "/v1/jobs/" + HELIO_ID_SIZE];
        put_accepted(&json, &result->jobs[0]);
        helio_uuid_text(result->jobs[0].job, id);
        (void)snprintf(location, sizeof location, "/v1/jobs/%s", id);
        helio_exchange_header(self, "Location", location);
    }
    helio_json_begin_array(&json, "jobs");
    for (uint32_t i = 0; i < result->job_count; i++) {
        helio_json_begin_object(&json, NULL);
        put_accepted(&json, &result->jobs[i]);
        helio_json_end(&json);
    }
    helio_json_end(&json);
    if (result->text[0])
        helio_json_put_string(&json, "note", result->text);
    helio_json_end(&json);
    (void)atomic_fetch_add_explicit(&self->http->metrics.jobs_submitted, result->job_count,
                                    memory_order_relaxed);
    helio_answer_json(self, 201, helio_buffer_view(&text));
}

/*  What it depends on ended between the look and the core's: its end is durable by now. It can happen once for each
 *  of the jobs that it names, but hardly ever twice. */
enum { LOOKS_MAX = 5 };

static void look_up(helio_exchange_t *self);

static void on_dependent_submitted(helio_exchange_t *self, const helio_result_t *result)
{
    bool again = result->rc == HELIO_BUSY && strcmp(result->reason, "Gated") == 0;
    if (again && self->stream.submit.looks < LOOKS_MAX)
        look_up(self);
    else
        self->stream.submit.done(self, result);
}

/*  The copy is the operation's: the exchange may be gone before the core has read it. */
static void on_looked_up(helio_exchange_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK ||
        helio_depends_answer(&self->stream.submit.depends, helio_buffer_view(&result->data), NULL) != HELIO_OK) {
        helio_result_t failed = {.rc = result->rc == HELIO_OK ? HELIO_UNAVAILABLE : result->rc};
        helio_answer_failure(self, &failed, NULL);
        return;
    }
    helio_arena_t *arena = helio_await_arena(self);
    helio_ev_submit_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    helio_record_copy(&helio_ev_submit_type, arena, self->stream.submit.event, event);
    helio_await_event(self, on_dependent_submitted, self->stream.submit.kind, event);
}

static void look_up(helio_exchange_t *self)
{
    self->stream.submit.looks++;
    const char *words = helio_depends_question(&self->stream.submit.depends, self->arena);
    helio_await_read(self, on_looked_up, "read_dependencies", 2, (const char *[]){words, self->token->tenant});
}

void helio_jobs_ask(helio_exchange_t *self, helio_ev_submit_t *event, uint32_t kind, helio_exchange_step_fn *done)
{
    helio_depends_t depends = helio_depends_of(event, helio_await_arena(self));
    if (!depends.count) {
        helio_await_event(self, done, kind, event);
        return;
    }
    if (depends.words > HELIO_DEPENDS_WORDS_MAX || depends.parts > HELIO_DEPENDS_PARTS_MAX) {
        helio_answer_problem(
            self, 413, NULL,
            "the request depends on %u different jobs, %u of them not by whole ids; at most %d and %d",
            depends.words, depends.parts, HELIO_DEPENDS_WORDS_MAX, HELIO_DEPENDS_PARTS_MAX);
        return;
    }
    helio_await_keep(self);
    self->stream.submit.event = event;
    self->stream.submit.depends = depends;
    self->stream.submit.kind = kind;
    self->stream.submit.done = done;
    look_up(self);
}

void helio_jobs_submit(helio_exchange_t *self)
{
    helio_arena_t *arena = helio_await_arena(self);
    helio_text_t body = helio_buffer_view(&self->body);
    helio_await_take_body(self); /* moves it, its bytes stay where they are */
    helio_ev_submit_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->tenant = helio_text_of(self->token->tenant);
    event->user = helio_text_of(self->token->user);
    helio_diagnostics_t wrong;
    int document;
    if (helio_submission_read(body, self->idempotency_key, arena, event, &wrong, &document) != HELIO_OK) {
        (void)atomic_fetch_add_explicit(&self->http->metrics.jobs_rejected, 1, memory_order_relaxed);
        helio_answer_diagnostics(self, &wrong, document);
        return;
    }
    helio_jobs_ask(self, event, HELIO_BROKER_EV_SUBMIT, on_submitted);
}

/* ---- reads --------------------------------------------------------------------------------------------- */

static const char *object_name(const helio_exchange_t *self)
{
    return helio_arena_printf(self->arena, "job %.64s", self->parameter).data;
}

static void on_job_read(helio_exchange_t *self, const helio_result_t *result)
{
    helio_text_t json = helio_buffer_view(&result->data);
    if (result->rc != HELIO_OK)
        helio_answer_failure(self, result, object_name(self));
    else if (!helio_answer_ambiguous(self, json))
        helio_answer_json(self, 200, json);
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

bool helio_jobs_check_id(helio_exchange_t *self)
{
    if (plausible_id(self->parameter))
        return true;
    helio_answer_problem(
        self, 404, NULL,
        "there is no job '%.64s': an id has 26 letters and digits; any 6 from its beginning or end will do",
        self->parameter);
    return false;
}

void helio_jobs_show(helio_exchange_t *self)
{
    if (helio_jobs_check_id(self))
        helio_await_read(self, on_job_read, "read_job", 2,
                         (const char *[]){self->parameter, helio_exchange_tenant(self)});
}

enum { STATES_TEXT_MAX = 160 }; /* all of them, once */

/*  Words of states, separated by commas; false: a problem was answered. */
static bool check_states(helio_exchange_t *self, const char *states)
{
    uint32_t known;
    for (const char *word = states; word; word = *word == ',' ? word + 1 : NULL) {
        size_t size = strcspn(word, ",");
        if (strlen(states) > STATES_TEXT_MAX ||
            helio_job_state_of((helio_text_t){word, (uint32_t)size}, &known) != HELIO_OK) {
            HELIO_AUTO(helio_buffer_clear) helio_buffer_t words = {0};
            for (uint32_t i = 0; i < HELIO_JOB_STATE_COUNT; i++)
                helio_buffer_printf(&words, "%s%s", i ? ", " : "", helio_job_state_word(i));
            helio_answer_problem(self, 400, NULL, "there is no state '%.*s'; there are: %s",
                                 size < 32 ? (int)size : 32, word, words.data);
            return false;
        }
        word += size;
    }
    return true;
}

void helio_jobs_list(helio_exchange_t *self)
{
    const char *state = helio_exchange_query(self, "state"), *cursor = helio_exchange_query(self, "cursor");
    const char *asked = helio_exchange_query(self, "tenant"), *tenant = helio_exchange_tenant(self);
    uint64_t limit;
    helio_job_key_t key;
    if (!helio_exchange_number(self, "limit", 100, 1000, &limit))
        return;
    if (state && !check_states(self, state))
        return;
    if (cursor && helio_job_key_parse(helio_text_of(cursor), &key) != HELIO_OK) {
        helio_answer_problem(self, 400, NULL, "the cursor is not one that a page gave as 'next'");
        return;
    }
    if (asked && tenant && strcmp(asked, tenant) != 0) {
        helio_answer_problem(self, 403, NULL, "the token sees the jobs of tenant '%s' alone", tenant);
        return;
    }
    char limit_text[24];
    (void)snprintf(limit_text, sizeof limit_text, "%llu", (unsigned long long)(limit ? limit : 1));
    helio_await_read(self, helio_answer_read, "read_jobs", 6,
                     (const char *[]){asked ? asked : tenant, state, helio_exchange_query(self, "queue"),
                                      helio_exchange_query(self, "name"), cursor, limit_text});
}

/* ---- commands ------------------------------------------------------------------------------------------ */

typedef struct verb {
    void (*start)(helio_exchange_t *exchange);
    uint32_t event;
    uint32_t status; /* when it was heard */
    const char *done; /* "it cannot be …" */
} verb_t;

static const verb_t *verb_of(const helio_exchange_t *self)
{
    static const verb_t verbs[] = {{helio_jobs_cancel, HELIO_BROKER_EV_CANCEL, 202, "cancelled"},
                                   {helio_jobs_edit, HELIO_BROKER_EV_EDIT, 200, "edited"},
                                   {helio_jobs_release, HELIO_BROKER_EV_RELEASE, 202, "released"}};
    const verb_t *verb = verbs;
    while (verb->start != self->route->start)
        verb++;
    return verb;
}

/*  The core forgets what is over: say what became of it, rather than that it does not exist. */
static void on_where_after_refusal(helio_exchange_t *self, const helio_result_t *result)
{
    json_t *where = result->rc == HELIO_OK ? json_loadb(result->data.data, result->data.size, 0, NULL) : NULL;
    const char *state = json_string_value(json_object_get(where, "state"));
    if (state)
        helio_answer_problem(self, 409, NULL, "job %.64s cannot be %s: it is %s", self->parameter,
                             verb_of(self)->done, state);
    else
        helio_answer_problem(self, 404, NULL, "there is no job %.64s", self->parameter);
    json_decref(where);
}

static void on_commanded(helio_exchange_t *self, const helio_result_t *result)
{
    if (result->rc == HELIO_NOT_FOUND) {
        helio_await_read(self, on_where_after_refusal, "read_job_where", 2,
                         (const char *[]){self->parameter, helio_exchange_tenant(self)});
        return;
    }
    if (result->rc != HELIO_OK) {
        helio_answer_failure(self, result, object_name(self));
        return;
    }
    helio_answer_status(self, verb_of(self)->status, "id", self->parameter, result->text);
}

static void command(helio_exchange_t *self, helio_job_key_t key)
{
    uint32_t kind = verb_of(self)->event;
    if (kind == HELIO_BROKER_EV_EDIT) {
        helio_await_event(self, on_commanded, kind, helio_jobs_edit_event(self, key));
        return;
    }
    helio_ev_command_t *event = helio_arena_alloc(helio_await_arena(self), 1, sizeof *event);
    event->tenant = helio_text_of(self->token->tenant); /* the table's: outlives the operation */
    event->user = helio_text_of(self->token->user);
    event->role = self->token->role;
    event->key = key;
    helio_await_event(self, on_commanded, kind, event);
}

static void on_resolved(helio_exchange_t *self, const helio_result_t *result)
{
    helio_text_t json = helio_buffer_view(&result->data);
    if (result->rc != HELIO_OK) {
        helio_answer_failure(self, result, object_name(self));
        return;
    }
    if (helio_answer_ambiguous(self, json))
        return;
    json_t *where = json_loadb(json.data, json.size, 0, NULL);
    const char *id = json_string_value(json_object_get(where, "id"));
    helio_job_key_t key;
    if (id && helio_job_key_parse(helio_text_of(id), &key) == HELIO_OK) {
        self->parameter = helio_arena_string(self->arena, helio_text_of(id));
        command(self, key);
    } else {
        helio_answer_problem(self, 500, NULL, "the database answered with no id");
    }
    json_decref(where);
}

/*  A whole id goes straight to the engine: cancelling works while reads do not. */
void helio_jobs_command(helio_exchange_t *self)
{
    helio_job_key_t key;
    if (helio_job_key_parse(helio_text_of(self->parameter), &key) == HELIO_OK)
        command(self, key);
    else if (helio_jobs_check_id(self))
        helio_await_read(self, on_resolved, "read_job_where", 2,
                         (const char *[]){self->parameter, helio_exchange_tenant(self)});
}

void helio_jobs_cancel(helio_exchange_t *self)
{
    helio_jobs_command(self);
}

void helio_jobs_release(helio_exchange_t *self)
{
    helio_jobs_command(self);
}
