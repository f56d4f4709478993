/*  queues.c -- `queues`: tier, priority and time limit of queues, and the rules that change a priority by schedule. */
#include <string.h>

#include "client/commands/change.h"
#include "client/commands/commands.h"
#include "client/commands/listing.h"

int helio_cmd_queues(helio_client_t *client)
{
    return helio_listing(client, "/v1/queues", "queues", helio_columns_of_queues);
}

static int send_put(helio_client_t *client, const char *after, const json_t *body)
{
    const char *queue = client->arguments->words[0];
    return helio_change_send(client, "PUT", helio_path(client, "/v1/queues/", queue, after), body, queue);
}

/*  A priority for a limited time, in one region or everywhere. */
static int set_for(helio_client_t *client, json_t *body)
{
    bool clear = helio_client_has(client, HELIO_OPTION_CLEAR);
    if (helio_client_has(client, HELIO_OPTION_TIER) || helio_client_has(client, HELIO_OPTION_TIME))
        return helio_client_fail(
            client, HELIO_EXIT_USAGE,
            "--tier and --time cannot be combined with --for, --region or --clear, which change only the "
            "priority\nhelp: set --tier and --time in a command of their own");
    if (clear == helio_client_has(client, HELIO_OPTION_FOR) || clear == helio_client_has(client, HELIO_OPTION_PRIORITY))
        return helio_client_fail(
            client, HELIO_EXIT_USAGE,
            "give either --priority with --for, or --clear\nhelp: --for limits the priority to that time, --clear "
            "ends it; for certain hours of every week see `helio help queues schedule`");
    if ((clear && json_object_set_new(body, "priority", json_null()) != 0) ||
        !helio_change_whole(client, HELIO_OPTION_PRIORITY, "priority", body) ||
        !helio_change_seconds(client, HELIO_OPTION_FOR, "for_s", body) ||
        !helio_change_text(client, HELIO_OPTION_REGION, "region", body))
        return HELIO_EXIT_USAGE;
    return send_put(client, "/rules", body);
}

int helio_cmd_queues_set(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *body = json_object();
    if (helio_client_has(client, HELIO_OPTION_FOR) || helio_client_has(client, HELIO_OPTION_CLEAR) ||
        helio_client_has(client, HELIO_OPTION_REGION))
        return set_for(client, body);
    if (!helio_change_whole(client, HELIO_OPTION_PRIORITY, "priority", body) ||
        !helio_change_text(client, HELIO_OPTION_TIER, "tier", body) ||
        !helio_change_seconds(client, HELIO_OPTION_TIME, "time_limit_s", body))
        return HELIO_EXIT_USAGE;
    if (!json_object_size(body))
        return helio_client_fail(
            client, HELIO_EXIT_USAGE,
            "nothing to set\nhelp: give --priority, --tier or --time; `helio queues` lists the present values");
    return send_put(client, "", body);
}

static int list_rules(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    json_t *rows, *row, *rules = NULL, *rule;
    size_t i;
    const char *queue = client->arguments->words[0];
    int code = helio_listing_ask(client, "/v1/queues", "queues", &reply, &rows);
    if (code != HELIO_EXIT_OK)
        return code;
    json_array_foreach(rows, i, row)
    {
        if (strcmp(helio_output_string(row, "queue"), queue) == 0)
            rules = json_object_get(row, "rules");
    }
    if (!json_is_array(rules))
        return helio_client_fail(client, HELIO_EXIT_NOT_FOUND,
                                 "unknown queue '%.64s'\nhelp: `helio queues` lists the queues", queue);
    json_array_foreach(rules, i, rule)
    {
        (void)json_object_set_new(rule, "now",
                                  json_string(json_is_true(json_object_get(rule, "holds")) ? "yes" : "no"));
    }
    return helio_listing_print(client, rules, helio_columns_of_rules);
}

int helio_cmd_queues_schedule(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *body = json_object();
    bool remove = helio_client_has(client, HELIO_OPTION_REMOVE), set = helio_client_has(client, HELIO_OPTION_PRIORITY);
    if (client->arguments->word_count < 2) {
        if (remove || set || helio_client_has(client, HELIO_OPTION_REGION))
            return helio_client_fail(
                client, HELIO_EXIT_USAGE,
                "HOURS is required\nhelp: such as 'Mon..Fri 20:00-08:00 Europe/Berlin' after the queue's name; for a "
                "limited time from now on use `helio queues set QUEUE --priority N --for 6h`");
        return list_rules(client);
    }
    if (remove == set)
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "--priority or --remove is required\nhelp: --priority N sets the rule, --remove "
                                 "removes it");
    if ((remove && json_object_set_new(body, "priority", json_null()) != 0) ||
        !helio_change_whole(client, HELIO_OPTION_PRIORITY, "priority", body) ||
        !helio_change_name(client, client->arguments->words[1], "HOURS", "schedule", body) ||
        !helio_change_text(client, HELIO_OPTION_REGION, "region", body))
        return HELIO_EXIT_USAGE;
    return send_put(client, "/rules", body);
}

int helio_cmd_queues_rm(helio_client_t *client)
{
    const char *queue = client->arguments->words[0];
    return helio_change_remove(client, helio_path(client, "/v1/queues/", queue, ""), queue);
}
