/*  /v1/jobs/{id}/explain: what the database has of a job's decision, and, while it has not started, what the
 * core foresees. */
#include <stdlib.h>
#include <string.h>

#include "broker/http/desk.h"
#include "broker/http/prospect.h"
#include "broker/http/route.h"
#include "broker/http/values.h"

static void put(json_t *object, const char *key, json_t *value)
{
    if (!value || json_object_set_new(object, key, value) != 0)
        abort(); /* memory */
}

static json_t *ahead_json(const helio_prospect_t *prospect)
{
    json_t *first = json_array();
    for (uint32_t i = 0; i < prospect->ahead.count; i++) {
        const helio_ahead_t *line = &prospect->ahead.items[i];
        json_t *row =
            json_pack("{so so sI sI}", "tenant", helio_text_json(line->tenant), "queue", helio_text_json(line->queue),
                      "jobs", (json_int_t)line->jobs, "gpus", (json_int_t)line->gpus);
        if (!row || json_array_append_new(first, row) != 0)
            abort();
    }
    return json_pack("{sI sI so}", "jobs", (json_int_t)prospect->ahead_jobs, "gpus",
                     (json_int_t)prospect->ahead_gpus, "first", first);
}

static json_t *hints_json(const helio_prospect_t *prospect)
{
    json_t *hints = json_array();
    for (uint32_t i = 0; i < prospect->hints.count; i++) {
        const helio_hint_t *hint = &prospect->hints.items[i];
        json_t *row = json_pack("{ss so so}", "kind", helio_hint_kind_word(hint->kind), "change",
                                helio_text_json(hint->change), "effect", helio_text_json(hint->effect));
        if (!row || json_array_append_new(hints, row) != 0)
            abort();
    }
    return hints;
}

void helio_prospect_put(json_t *object, const helio_prospect_t *prospect)
{
    if (prospect && prospect->better_site.size) { /* it runs: no start is before it */
        put(object, "better_site", helio_text_json(prospect->better_site));
        prospect = NULL;
    }
    put(object, "expected",
        prospect ? json_pack("{so so so so}", "earliest", helio_time_json(prospect->earliest_ms), "latest",
                             helio_time_json(prospect->latest_ms), "basis", helio_text_json(prospect->basis), "at",
                             helio_time_json(prospect->at_ms))
                 : json_null());
    put(object, "ahead", prospect ? ahead_json(prospect) : json_null());
    put(object, "hints", prospect ? hints_json(prospect) : json_null());
}

static void answer(helio_exchange_t *self, const helio_prospect_t *prospect)
{
    json_t *json = json_loads(self->stream.explained, 0, NULL);
    if (!json_is_object(json)) {
        json_decref(json);
        helio_answer_problem(self, 500, NULL, "the database's answer explains nothing");
        return;
    }
    helio_prospect_put(json, prospect);
    char *text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    if (!text)
        abort(); /* memory */
    helio_answer_json(self, 200, helio_text_of(text));
    free(text);
}

/*  A core that is busy, or for which the job has started meanwhile, takes nothing from what is known without
 * it. */
static void on_foreseen(helio_exchange_t *self, const helio_result_t *result)
{
    answer(self, result->rc == HELIO_OK ? result->prospect : NULL);
}

/*  Has it a start ahead of it? Of one that runs, at a better site perhaps. */
static bool is_ahead(const char *word)
{
    uint32_t state;
    return word && helio_job_state_of(helio_text_of(word), &state) == HELIO_OK &&
           (state <= HELIO_JOB_RUNNING || state == HELIO_JOB_HELD || state == HELIO_JOB_SUSPECT);
}

static void on_read(helio_exchange_t *self, const helio_result_t *result)
{
    helio_text_t text = helio_buffer_view(&result->data);
    if (result->rc != HELIO_OK) {
        helio_answer_failure(self, result,
                             helio_arena_printf(self->arena, "job %.64s", self->parameter).data);
        return;
    }
    if (helio_answer_ambiguous(self, text))
        return;
    self->stream.explained = helio_arena_string(self->arena, text);
    json_t *json = json_loadb(text.data, text.size, 0, NULL);
    const char *id = json_string_value(json_object_get(json, "id"));
    helio_job_key_t key;
    bool asks = is_ahead(json_string_value(json_object_get(json, "state"))) && id &&
                helio_job_key_parse(helio_text_of(id), &key) == HELIO_OK;
    json_decref(json);
    if (!asks) {
        answer(self, NULL);
        return;
    }
    helio_ev_command_t *event = helio_arena_alloc(helio_await_arena(self), 1, sizeof *event);
    event->tenant = helio_text_of(self->token->tenant); /* the table's: outlives the operation */
    event->user = helio_text_of(self->token->user);
    event->role = self->token->role;
    event->key = key;
    helio_await_event(self, on_foreseen, HELIO_BROKER_EV_EXPLAIN, event);
}

void helio_jobs_explain(helio_exchange_t *self)
{
    if (helio_jobs_check_id(self))
        helio_await_read(self, on_read, "read_explain", 2,
                         (const char *[]){self->parameter, helio_exchange_tenant(self)});
}
