/*  edit.c -- `edit`: changes what waiting jobs ask for, in the keys of a job file. The broker parses the values; it
 *  knows their grammar. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/commands/commands.h"
#include "client/output/columns.h"
#include "client/transport/response.h"

enum { PRIORITY_MOST = 100 }; /* of HELIO_EDIT_PRIORITY_MAX */

static void put(json_t *body, const char *key, json_t *value)
{
    if (!value || json_object_set_new(body, key, value) != 0)
        abort(); /* memory */
}

static bool put_priority(const helio_client_t *client, json_t *body)
{
    const char *text = helio_client_value(client, HELIO_OPTION_PRIORITY);
    char *end;
    if (!text)
        return true;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (errno || end == text || *end || number < -PRIORITY_MOST || number > PRIORITY_MOST) {
        (void)helio_client_fail(client, HELIO_EXIT_USAGE,
                                "--priority: must be a whole number from -100 to 100, not '%.64s'\nhelp: for example "
                                "--priority 10",
                                text);
        return false;
    }
    put(body, "priority", json_integer(number));
    return true;
}

static bool put_text(const helio_client_t *client, uint32_t option, const char *key, json_t *body)
{
    const char *text = helio_client_value(client, option);
    if (!text)
        return true;
    json_t *value = strcmp(text, "none") == 0 && option != HELIO_OPTION_GOAL && option != HELIO_OPTION_QUEUE
                        ? json_null()
                        : json_string(text);
    if (!value) {
        (void)helio_client_fail(client, HELIO_EXIT_USAGE, "--%s is not UTF-8", helio_client_options.items[option].name);
        return false;
    }
    put(body, key, value);
    return true;
}

static bool read_body(const helio_client_t *client, json_t *body)
{
    return put_priority(client, body) && put_text(client, HELIO_OPTION_GOAL, "goal", body) &&
           put_text(client, HELIO_OPTION_DEADLINE, "deadline", body) &&
           put_text(client, HELIO_OPTION_FLEXIBLE, "flexible", body) &&
           put_text(client, HELIO_OPTION_MAX_COST, "max_cost", body) &&
           put_text(client, HELIO_OPTION_MAX_CARBON, "max_carbon", body) &&
           put_text(client, HELIO_OPTION_QUEUE, "queue", body) && put_text(client, HELIO_OPTION_TIME, "time", body);
}

int helio_cmd_edit(helio_client_t *client)
{
    const helio_command_line_t *arguments = client->arguments;
    HELIO_AUTO(helio_json_clear) json_t *body = json_object();
    if (!read_body(client, body))
        return HELIO_EXIT_USAGE;
    if (!json_object_size(body))
        return helio_client_fail(
            client, HELIO_EXIT_USAGE,
            "nothing to edit\nhelp: give --priority, --goal, --deadline, --flexible, --max-cost, --max-carbon, "
            "--queue or --time");
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_output_json(body, false, &text);
    int worst = HELIO_EXIT_OK;
    for (uint32_t i = 0; i < arguments->word_count; i++) {
        const char *id = arguments->words[i];
        HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
        helio_request_t request = {
            .method = "PATCH", .path = helio_path(client, "/v1/jobs/", id, ""), .body = helio_buffer_view(&text)};
        int code = helio_ask(client, &request, &reply);
        if (code == HELIO_EXIT_OK) {
            const char *whole = helio_output_string(reply, "id");
            helio_client_say(client, "%s %.512s", whole[0] ? whole : id, helio_output_string(reply, "status"));
        } else {
            worst = code;
        }
        if (code == HELIO_EXIT_UNREACHABLE || code == HELIO_EXIT_INTERRUPTED)
            break;
    }
    return worst;
}

helio_rc helio_edits_print(const helio_client_t *client, const json_t *job)
{
    const json_t *edits = json_object_get(job, "edits");
    if (!json_is_array(edits) || !json_array_size(edits))
        return HELIO_OK;
    fputs("\nEdited\n", client->io->out);
    return helio_output_rows(&client->output, edits, helio_columns_of_edits);
}
