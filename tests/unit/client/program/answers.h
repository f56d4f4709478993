/*  answers.h -- an answer of the broker for each command that reads, with every member that helio shows, and the ways
 *  to spoil one. */
#ifndef HELIO_TESTS_CLIENT_ANSWERS_H
#define HELIO_TESTS_CLIENT_ANSWERS_H

#include <jansson.h>

#include "client/output/columns.h"
#include "federation/base/rng.h"
#include "tests/unit/client/program/command_cases.h"

#define WHEN "\"2026-03-01T12:00:00.000Z\""
#define TERMS(money) "{\"money\":" money ",\"carbon\":1.5,\"wait\":0.25}"
#define DETAILS "[{\"code\":\"quota_in_use\",\"params\":{\"tenant\":\"acme\"}}]"
#define CANDIDATES                                                                                                              \
    "[{\"site\":\"lulea\",\"pool\":\"a\",\"start\":" WHEN ",\"cost_usd\":1,\"energy_kwh\":2,\"carbon_g\":3,"                    \
    "\"score_usd\":4,\"terms\":" TERMS(                                                                                         \
        "1") ",\"detail\":\"reads 2 GB\",\"backend\":\"slurm\"},"                                                               \
             "{\"site\":\"oregon\",\"pool\":\"b\",\"start\":" WHEN ",\"cost_usd\":2,\"energy_kwh\":3,\"carbon_g\":4,"           \
             "\"score_usd\":5,\"terms\":" TERMS(                                                                                \
                 "2") "},"                                                                                                      \
                      "{\"site\":\"aws\",\"pool\":\"c\",\"reason\":\"NoCapacity\",\"detail\":\"full until 2026-03-01T12:00Z\"," \
                      "\"details\":" DETAILS "}]"
#define HISTORY \
    "[{\"time\":" WHEN ",\"epoch\":1,\"from\":\"queued\",\"to\":\"offered\",\"reason\":\"placed\",\"actor\":\"core\"}]"
#define EDITS \
    "[{\"time\":" WHEN ",\"field\":\"deadline\",\"from\":\"none\",\"to\":\"2026-03-01T12:00Z\",\"actor\":\"ana\"}]"
#define EXPECTED \
    "{\"at\":" WHEN ",\"earliest\":" WHEN ",\"latest\":\"2026-03-01T14:00:00.000Z\",\"basis\":\"running jobs\"}"
#define AHEAD "{\"jobs\":3,\"gpus\":8,\"first\":[{\"jobs\":1,\"gpus\":4,\"tenant\":\"acme\",\"queue\":\"batch\"}]}"
#define HINTS                                                                                          \
    "[{\"kind\":\"queue\",\"change\":\"use queue fast\",\"effect\":\"starts now\",\"change_details\":" \
    "[{\"code\":\"x\",\"params\":{\"queue\":\"fast\"}}]}]"
#define RUN "{\"duration_s\":60,\"duration_p90_s\":90,\"runs\":3,\"failed\":1,\"basis\":\"user\",\"of\":\"ana\"}"
#define JOB_MEMBERS                                                                                               \
    "\"id\":\"" ID_A ".3\",\"name\":\"train\",\"state\":\"queued\",\"reason\":\"WaitingForCapacity\",\"detail\":" \
    "\"free at 2026-03-01T12:00Z\",\"tenant\":\"acme\",\"user\":\"ana\",\"queue\":\"batch\",\"kind\":\"batch\","  \
    "\"tier\":\"standard\",\"site\":\"lulea\",\"pool\":\"a\",\"home_site\":\"lulea\",\"gpus\":8,\"gpu_model\":"   \
    "\"H100\",\"nodes\":1,\"epoch\":1,\"submitted_at\":" WHEN ",\"cost_usd\":1.5,\"gpu_seconds\":60,"             \
    "\"tasks_total\":4,\"tasks\":{\"queued\":3,\"running\":1},\"edits\":" EDITS ",\"history\":" HISTORY

static const struct answer {
    const char *name;
    const helio_columns_t *columns; /* of a list that is made of them, or NULL */
    const char *text;
} answers[] = {
    {"squeue", &helio_columns_of_jobs, NULL},
    {"sacct", &helio_columns_of_job, NULL},
    {"ls", &helio_columns_of_jobs, NULL},
    {"gpus", &helio_columns_of_gpus, NULL},
    {"desired", NULL,
     "[{\"site\":\"lulea\",\"pool\":\"a\",\"elastic\":true,\"nodes\":1,\"nodes_most\":4,\"gpus_per_node\":8,\"running_gpus\":4,"
     "\"waiting_gpus\":16,\"planned_gpus\":0,\"desired_gpus\":24,\"hours\":[{\"time\":" WHEN ",\"desired_gpus\":24},"
     "{\"time\":\"2026-03-01T13:00:00.000Z\",\"desired_gpus\":8}]}]"},
    {"sites", &helio_columns_of_sites, NULL},
    {"queues", &helio_columns_of_queues, NULL},
    {"overflow list", &helio_columns_of_overflows, NULL},
    {"tenants", &helio_columns_of_tenants, NULL},
    {"links list", &helio_columns_of_links, NULL},
    {"curtailments", &helio_columns_of_curtailments, NULL},
    {"token ls", &helio_columns_of_tokens, NULL},
    {"keys ls", &helio_columns_of_keys, NULL},
    {"user ls", &helio_columns_of_principals, NULL},
    {"audit", &helio_columns_of_audit, NULL},
    {"top", &helio_columns_of_jobs, NULL},
    {"show", NULL, "{" JOB_MEMBERS "}"},
    {"scontrol", NULL, "{" JOB_MEMBERS "}"},
    {"explain", NULL,
     "{" JOB_MEMBERS ",\"chosen\":\"lulea\",\"chosen_pool\":\"a\",\"first_choice\":\"oregon\","
     "\"better_site\":\"oregon, $2 less\",\"candidates\":" CANDIDATES ",\"expected\":" EXPECTED ",\"ahead\":" AHEAD
     ",\"hints\":" HINTS ",\"run\":" RUN
     ",\"time_limit_s\":3600,\"array\":{\"tasks\":4,\"waiting\":3,\"states\":{\"queued\":3}},"
     "\"details\":" DETAILS "}"},
    {"plan", NULL,
     "{\"planned_at\":" WHEN ",\"job\":{\"name\":\"train\",\"goal\":\"green\",\"gpus\":8,\"nodes\":1,\"duration_s\":60,"
     "\"flexible_s\":3600},\"reason\":\"PolicyCap\",\"detail\":\"over 3 USD\",\"note\":\"unknown region\",\"tasks\":"
     "{\"count\":4,\"detail\":\"2 may start\"},\"chosen\":\"lulea\",\"candidates\":" CANDIDATES
     ",\"expected\":" EXPECTED ",\"ahead\":" AHEAD ",\"hints\":" HINTS ",\"run\":" RUN "}"},
    {"report", NULL,
     "{\"jobs_total\":3,\"gpu_seconds\":60,\"cost_usd\":2,\"energy_kwh\":3,\"carbon_g\":4,\"days\":7,\"jobs\":"
     "{\"queued\":1,\"failed\":2},\"usage\":[{\"fenced_gpu_seconds\":60}],\"jobs_not_at_home\":1,"
     "\"baselines\":[{\"day\":\"2026-03-01\",\"tenant\":\"acme\",\"baseline\":\"home\",\"jobs\":2,\"saved_cost_usd\":1,"
     "\"carbon_kind\":"
     "\"average\"}]}"},
    {"forecast", NULL,
     "[{\"signal\":\"carbon_g_per_kwh\",\"pool\":\"a\",\"issued_at\":" WHEN ",\"source\":\"grid\",\"kind\":\"average\","
     "\"factor\":\"direct\",\"estimated\":true,\"step_s\":3600,\"points\":[{\"time\":" WHEN ",\"value\":10,\"p10\":5,"
     "\"p90\":15},{\"time\":\"2026-03-01T13:00:00.000Z\",\"value\":20}],\"errors\":[{\"mean_ape_ratio\":0.03,"
     "\"mean_absolute_error\":3,\"horizon_h_to\":24}]},{\"signal\":\"other\",\"points\":[]}]"},
    {"quota", NULL,
     "[{\"tenant\":\"acme\",\"queue\":\"batch\",\"guaranteed_gpus\":4,\"burst_gpus\":8,\"weight\":1.5,\"budgets\":"
     "[{\"budget\":100,\"used\":12.5,\"committed\":3,\"left\":84.5,\"unit\":\"USD\",\"period\":\"month\",\"next\":" WHEN
     "}]}]"},
    {"data list", NULL,
     "[{\"prefix\":\"s3://a\",\"tenant\":\"acme\",\"sites\":[\"lulea\",\"aws\"],\"strangers\":[\"aws\"]}]"},
    {"queues schedule", NULL,
     "[{\"queue\":\"q\",\"rules\":[{\"region\":\"EU\",\"schedule\":\"20:00-08:00\",\"zone\":\"UTC\",\"priority\":5,"
     "\"until\":" WHEN ",\"holds\":true}]}]"},
    {"audit anchor", NULL,
     "{\"entries\":[{\"audit_id\":9,\"time\":" WHEN
     ",\"hash\":\"99aa000000000000000000000000000000000000000000000000000000000099\"}],\"next\":null}"},
    {"audit verify", NULL, "{\"entries\":12,\"broken_at\":null}"},
};
enum { ANSWERS = sizeof answers / sizeof answers[0] };

/*  A value for a column that suits its kind. */
static inline json_t *value_of(const helio_column_t *column, int row)
{
    switch ((int)column->cell) {
    case HELIO_CELL_TIME:
    case HELIO_CELL_AGE:
    case HELIO_CELL_START:
        return json_string("2026-03-01T12:00:00.000Z");
    case HELIO_CELL_TEXT:
    case HELIO_CELL_STATE:
    case HELIO_CELL_SAID:
        return json_sprintf("%s-%d", column->key, row);
    case HELIO_CELL_ID:
        return json_string(row ? ID_B : ID_A);
    default:
        return json_integer(row + 1);
    }
}

static inline json_t *answer_of(const struct answer *self)
{
    if (self->text)
        return json_loads(self->text, 0, NULL);
    json_t *rows = json_array();
    for (int row = 0; row < 2; row++) {
        json_t *object = json_object();
        for (size_t c = 0; c < self->columns->count; c++) {
            const char *key = self->columns->items[c].key;
            json_object_setn_new(object, key, strcspn(key, "|"), value_of(&self->columns->items[c], row));
        }
        json_array_append_new(rows, object);
    }
    return rows;
}

/*  Every text ends with the bytes, and every object has a member with them as its name. */
static inline json_t *with_bytes(const json_t *value, const char *bytes)
{
    if (json_is_string(value))
        return json_sprintf("%s%s", json_string_value(value), bytes);
    if (json_is_array(value)) {
        json_t *list = json_array();
        for (size_t i = 0; i < json_array_size(value); i++)
            json_array_append_new(list, with_bytes(json_array_get(value, i), bytes));
        return list;
    }
    if (!json_is_object(value))
        return json_deep_copy(value);
    json_t *object = json_object(), *member;
    const char *key;
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
        json_object_set_new(object, key, with_bytes(member, bytes));
    json_object_set_new(object, bytes, json_string(bytes));
    return object;
}

/*  A copy in which the value number *at, counted from the root, is something else; *at goes down by those passed. */
static inline json_t *with_another(const json_t *value, int *at, json_t *other)
{
    if ((*at)-- == 0)
        return json_incref(other);
    if (json_is_array(value)) {
        json_t *list = json_array();
        for (size_t i = 0; i < json_array_size(value); i++)
            json_array_append_new(list, with_another(json_array_get(value, i), at, other));
        return list;
    }
    if (!json_is_object(value))
        return json_deep_copy(value);
    json_t *object = json_object(), *member;
    const char *key;
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
        json_object_set_new(object, key, with_another(member, at, other));
    return object;
}

static inline int count_values(const json_t *value)
{
    int at = INT32_MAX;
    json_t *null = json_null(), *copy = with_another(value, &at, null);
    json_decref(copy);
    return INT32_MAX - at;
}

/*  The command's outcome for this answer to all of its requests, in a format. */
static inline outcome_t play_answer(const struct answer *self, const json_t *answer, const char *format)
{
    command_case_t command = *command_case_of(self->name);
    size_t count = 0;
    while (command.words[count])
        count++;
    command.words[count] = has_own_options(&command) ? NULL : "-o";
    command.words[count + 1] = has_own_options(&command) ? NULL : format;
    char *body = json_dumps(answer, JSON_ENCODE_ANY);
    outcome_t outcome = play_case(&command, (rule_t){"", 0, 200, NULL, body, WHOLE, 0});
    free(body);
    return outcome;
}

#endif
