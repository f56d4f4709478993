/*  edit.c -- PATCH /v1/jobs/{id}: changes what a waiting job asks for. The grammar of the job file reads keys and
 *  values; null removes a limit or a deadline. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "broker/http/routes/command.h"
#include "broker/http/routes/job_command.h"
#include "broker/http/routes/routes.h"
#include "federation/spec/spec.h"

typedef struct patch {
    helio_ev_edit_t edit;
    int64_t priority;
} patch_t;

#define AT(of, given) .offset = offsetof(patch_t, of), .set_offset = offsetof(patch_t, edit.given)

static bool is_queue(helio_text_t text)
{
    return text.size > 0 && text.size <= 32;
}

static const helio_spec_rule_t queue_rule = {is_queue, "the name of a queue, at most 32 bytes", NULL};

/*  As federation/spec/job_fields.c has them; priority is not a key of a job file. */
static const helio_spec_field_t fields[] = {
    {.key = "priority",
     .kind = HELIO_SPEC_I64,
     AT(priority, priority_given),
     .least = -HELIO_EDIT_PRIORITY_MAX,
     .most = HELIO_EDIT_PRIORITY_MAX,
     .example = "10"},
    {.key = "goal",
     .kind = HELIO_SPEC_CHOICE,
     AT(edit.goal, goal_given),
     .words = HELIO_SPEC_ENUM(helio_goal, HELIO_GOAL),
     .example = "green"},
    {.key = "deadline",
     .kind = HELIO_SPEC_TIME,
     AT(edit.deadline_wall_ms, deadline_given),
     .example = "2026-11-22T07:00:00Z"},
    {.key = "flexible", .kind = HELIO_SPEC_DURATION, AT(edit.flexible_ms, flexible_given), .example = "12h"},
    {.key = "max_cost", .kind = HELIO_SPEC_MONEY, AT(edit.max_cost_micro_usd, max_cost_given), .example = "400 USD"},
    {.key = "max_carbon",
     .kind = HELIO_SPEC_QUANTITY,
     AT(edit.max_carbon_mg_per_kwh, max_carbon_given),
     .unit = "g/kWh",
     .decimals = 3,
     .example = "250 g/kWh"},
    {.key = "queue",
     .kind = HELIO_SPEC_TEXT,
     AT(edit.queue, queue_given),
     .most = 32,
     .rule = &queue_rule,
     .example = "batch"},
    {.key = "time",
     .kind = HELIO_SPEC_DURATION,
     AT(edit.time_limit_ms, time_given),
     .least = 1,
     .most = HELIO_JOB_TIME_MAX_MS,
     .example = "6h"},
};
static const helio_spec_table_t table = HELIO_SPEC_TABLE("edit", patch_t, fields, NULL);

/*  Moves null members from the body to the edit, because the grammar of a job file has no null. */
static void take_nulls(json_t *body, helio_ev_edit_t *edit)
{
    const struct {
        const char *key;
        bool *given;
    } bounds[] = {{"deadline", &edit->deadline_given},
                  {"flexible", &edit->flexible_given},
                  {"max_cost", &edit->max_cost_given},
                  {"max_carbon", &edit->max_carbon_given},
                  {"time", &edit->time_given}};
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        *bounds[i].given = json_is_null(json_object_get(body, bounds[i].key));
        if (*bounds[i].given)
            (void)json_object_del(body, bounds[i].key);
    }
}

/*  "+30m" and "-30m" change the time limit by so much: the sign goes to the edit. */
static void take_sign(json_t *body, helio_ev_edit_t *edit)
{
    const char *text = json_string_value(json_object_get(body, "time"));
    if (!text || (text[0] != '+' && text[0] != '-'))
        return;
    edit->time_change = text[0] == '+' ? HELIO_TIME_CHANGE_ADD : HELIO_TIME_CHANGE_SUBTRACT;
    if (json_object_set_new(body, "time", json_string(text + 1)) != 0)
        abort(); /* out of memory */
}

static bool is_empty(const helio_ev_edit_t *edit)
{
    return !edit->priority_given && !edit->goal_given && !edit->deadline_given && !edit->flexible_given &&
           !edit->max_cost_given && !edit->max_carbon_given && !edit->queue_given && !edit->time_given;
}

static bool read_values(helio_request_context_t *self, json_t *body, const helio_ev_edit_t *taken,
                        helio_ev_edit_t *ret_edit)
{
    char *text = json_dumps(body, JSON_PRESERVE_ORDER);
    if (!text)
        abort(); /* out of memory */
    patch_t patch;
    helio_diagnostics_t wrong;
    helio_spec_source_t source = {.text = helio_arena_text(self->arena, helio_text_of(text)), .name = "edit"};
    free(text);
    if (helio_spec_judge(&table, source, HELIO_COMMAND_BODY_MAX, self->arena, &patch, &wrong) != HELIO_OK) {
        for (uint32_t i = 0; i < wrong.count; i++)
            wrong.items[i].line = 0; /* a line of the text that was made from the body */
        helio_response_diagnostics(self, &wrong, -1);
        return false;
    }
    patch.edit.priority = (int32_t)patch.priority;
    patch.edit.deadline_given |= taken->deadline_given;
    patch.edit.flexible_given |= taken->flexible_given;
    patch.edit.max_cost_given |= taken->max_cost_given;
    patch.edit.max_carbon_given |= taken->max_carbon_given;
    patch.edit.time_given |= taken->time_given;
    patch.edit.time_change = taken->time_change;
    if (is_empty(&patch.edit)) {
        HELIO_PROBLEM(
            self, 400, NOTHING_TO_SET,
            (helio_value_t){.text = HELIO_TEXT("priority,goal,deadline,flexible,max_cost,max_carbon,queue,time"),
                            .number = 8});
        return false;
    }
    *ret_edit = patch.edit;
    return true;
}

/*  The operation gets a copy, because the request can be gone before the core has read it. */
static void *payload(helio_request_context_t *self, helio_job_key_t key, const void *edit)
{
    helio_arena_t *arena = helio_await_arena(self);
    helio_ev_edit_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    helio_record_copy(&helio_ev_edit_type, arena, edit, event);
    event->tenant = helio_text_of(self->token->tenant); /* the table's text, which outlives the operation */
    event->actor = helio_request_context_actor(self);
    event->role = self->token->role;
    event->key = key;
    return event;
}

static const helio_job_verb_t verb = {HELIO_BROKER_EV_EDIT, 200, "edited", payload, NULL};

void helio_jobs_edit(helio_request_context_t *self)
{
    json_t *body = helio_command_object(self);
    helio_ev_edit_t *edit = helio_arena_alloc(self->arena, 1, sizeof *edit), taken = {0};
    if (!body)
        return;
    take_nulls(body, &taken);
    take_sign(body, &taken);
    if (read_values(self, body, &taken, edit))
        helio_job_command(self, &verb, edit);
    json_decref(body);
}
