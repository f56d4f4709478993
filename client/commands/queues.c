/*  Commands on queues. */
#include <string.h>

#include "client/transport/answer.h"
#include "client/output/columns.h"
#include "client/commands/commands.h"

static int get_queues(helio_client_t *client, json_t **ret_answer, json_t **ret_rows)
{
    int code = helio_ask_get(client, "/v1/queues", ret_answer);
    return code == HELIO_EXIT_OK ? helio_answer_list(client, *ret_answer, "queues", ret_rows) : code;
}

int helio_cmd_queues(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
    json_t *rows;
    int code = get_queues(client, &answer, &rows);
    if (code != HELIO_EXIT_OK)
        return code;
    return helio_output_rows(&client->output, rows, helio_columns_of_queues()) == HELIO_OK ? HELIO_EXIT_OK
                                                                                           : HELIO_EXIT_OWN;
}

static bool put(json_t *body, const char *key, uint64_t number)
{
    return json_object_set_new(body, key, json_integer((json_int_t)(number & INT64_MAX))) == 0;
}

static bool put_number(const helio_client_t *client, uint32_t option, const char *key, json_t *body)
{
    uint64_t number;
    if (!helio_client_has(client, option))
        return true;
    return helio_client_number(client, option, 0, &number) && put(body, key, number);
}

static bool put_seconds(const helio_client_t *client, uint32_t option, const char *key, json_t *body)
{
    uint64_t ms;
    if (!helio_client_has(client, option))
        return true;
    return helio_client_duration(client, option, 0, &ms) && put(body, key, (ms + 999) / 1000);
}

static bool put_text(const helio_client_t *client, const char *value, const char *key, json_t *body)
{
    if (!value || json_object_set_new(body, key, json_string(value)) == 0)
        return true;
    (void)helio_client_fail(client, HELIO_EXIT_USAGE, "%s: it is not UTF-8", key);
    return false;
}

static int send_put(helio_client_t *client, const char *after, const json_t *body)
{
    HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    const char *queue = client->arguments->words[0];
    helio_output_json(body, false, &text);
    helio_request_t request = {.method = "PUT",
                               .path = helio_path(client, "/v1/queues/", queue, after),
                               .body = helio_buffer_view(&text)};
    int code = helio_ask(client, &request, &answer);
    if (code == HELIO_EXIT_OK)
        helio_client_say(client, "%s: %s", queue, helio_output_string(answer, "status"));
    return code;
}

/*  For a while, in a region or everywhere. */
static int set_for(helio_client_t *client, json_t *body)
{
    bool clear = helio_client_has(client, HELIO_OPTION_CLEAR);
    if (helio_client_has(client, HELIO_OPTION_TIER) || helio_client_has(client, HELIO_OPTION_TIME))
        return helio_client_fail(
            client, HELIO_EXIT_USAGE,
            "only the priority can change for a while or in a region\nhelp: --tier and --time alone");
    if (clear == helio_client_has(client, HELIO_OPTION_FOR) ||
        clear == helio_client_has(client, HELIO_OPTION_PRIORITY))
        return helio_client_fail(
            client, HELIO_EXIT_USAGE,
            "for how long?\nhelp: --priority and --for begin it, --clear ends it; for certain hours of "
            "every week `helio queues schedule`");
    if ((clear && json_object_set_new(body, "priority", json_null()) != 0) ||
        !put_number(client, HELIO_OPTION_PRIORITY, "priority", body) ||
        !put_seconds(client, HELIO_OPTION_FOR, "for_s", body) ||
        !put_text(client, helio_client_value(client, HELIO_OPTION_REGION), "region", body))
        return HELIO_EXIT_USAGE;
    return send_put(client, "/rules", body);
}

int helio_cmd_queues_set(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *body = json_object();
    if (helio_client_has(client, HELIO_OPTION_FOR) || helio_client_has(client, HELIO_OPTION_CLEAR) ||
        helio_client_has(client, HELIO_OPTION_REGION))
        return set_for(client, body);
    if (!put_number(client, HELIO_OPTION_PRIORITY, "priority", body) ||
        !put_text(client, helio_client_value(client, HELIO_OPTION_TIER), "tier", body) ||
        !put_seconds(client, HELIO_OPTION_TIME, "time_limit_s", body))
        return HELIO_EXIT_USAGE;
    if (!json_object_size(body))
        return helio_client_fail(
            client, HELIO_EXIT_USAGE,
            "set what?\nhelp: --priority, --tier or --time; `helio queues` lists what is set");
    return send_put(client, "", body);
}

static int list_rules(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
    json_t *rows, *row, *rules = NULL, *rule;
    size_t i;
    const char *queue = client->arguments->words[0];
    int code = get_queues(client, &answer, &rows);
    if (code != HELIO_EXIT_OK)
        return code;
    json_array_foreach(rows, i, row)
    {
        if (strcmp(helio_output_string(row, "queue"), queue) == 0)
            rules = json_object_get(row, "rules");
    }
    if (!json_is_array(rules))
        return helio_client_fail(client, HELIO_EXIT_NOT_FOUND,
                                 "there is no queue '%.64s'\nhelp: `helio queues` lists them", queue);
    json_array_foreach(rules, i, rule)
    {
        (void)json_object_set_new(rule, "now",
                                  json_string(json_is_true(json_object_get(rule, "holds")) ? "yes" : "no"));
    }
    return helio_output_rows(&client->output, rules, helio_columns_of_rules()) == HELIO_OK ? HELIO_EXIT_OK
                                                                                           : HELIO_EXIT_OWN;
}

int helio_cmd_queues_schedule(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *body = json_object();
    bool remove = helio_client_has(client, HELIO_OPTION_REMOVE),
         set = helio_client_has(client, HELIO_OPTION_PRIORITY);
    if (client->arguments->word_count < 2) {
        if (remove || set || helio_client_has(client, HELIO_OPTION_REGION))
            return helio_client_fail(
                client, HELIO_EXIT_USAGE,
                "at which hours?\nhelp: 'Mon..Fri 20:00-08:00 Europe/Berlin' behind the queue's name; for a "
                "while from now on `helio queues set QUEUE --priority N --for 6h`");
        return list_rules(client);
    }
    if (remove == set)
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "which priority?\nhelp: --priority N sets the rule, --remove removes it");
    if ((remove && json_object_set_new(body, "priority", json_null()) != 0) ||
        !put_number(client, HELIO_OPTION_PRIORITY, "priority", body) ||
        !put_text(client, client->arguments->words[1], "schedule", body) ||
        !put_text(client, helio_client_value(client, HELIO_OPTION_REGION), "region", body))
        return HELIO_EXIT_USAGE;
    return send_put(client, "/rules", body);
}

int helio_cmd_queues_rm(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
    const char *queue = client->arguments->words[0];
    helio_request_t request = {.method = "DELETE", .path = helio_path(client, "/v1/queues/", queue, "")};
    int code = helio_ask(client, &request, &answer);
    if (code == HELIO_EXIT_OK)
        helio_client_say(client, "removed %s", queue);
    return code;
}
