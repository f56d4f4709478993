/*  Commands on overflow groups. */
#include "client/transport/answer.h"
#include "client/output/columns.h"
#include "client/commands/commands.h"

int helio_cmd_overflow_list(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
    json_t *rows;
    int code = helio_ask_get(client, "/v1/overflows", &answer);
    if (code == HELIO_EXIT_OK)
        code = helio_answer_list(client, answer, "overflows", &rows);
    if (code != HELIO_EXIT_OK)
        return code;
    return helio_output_rows(&client->output, rows, helio_columns_of_overflows()) == HELIO_OK
               ? HELIO_EXIT_OK
               : HELIO_EXIT_OWN;
}

static bool put_text(json_t *body, const char *key, const char *value)
{
    return !value || json_object_set_new(body, key, json_string(value)) == 0;
}

int helio_cmd_overflow_set(helio_client_t *client)
{
    const char *name = client->arguments->words[0];
    const helio_option_values_t *given = &client->arguments->values[HELIO_OPTION_STEP];
    const char *queue = helio_client_value(client, HELIO_OPTION_QUEUE),
               *tenant = helio_client_value(client, HELIO_OPTION_TENANT);
    HELIO_AUTO(helio_json_clear) json_t *body = json_object();
    HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t steps = {0};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    if (!queue && !tenant)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "whose jobs?\nhelp: --queue, --tenant, or both");
    if (!given->count)
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "where to?\nhelp: a --step for each place, as --step 'home-*' --step "
                                 "'cloud,after=30m,max-price=3'");
    for (uint32_t i = 0; i < given->count; i++)
        helio_buffer_printf(&steps, "%s%s", i ? "; " : "", given->items[i]);
    if (!put_text(body, "queue", queue) || !put_text(body, "tenant", tenant) ||
        !put_text(body, "steps", steps.data))
        return helio_client_fail(client, HELIO_EXIT_USAGE, "what is given is not UTF-8");
    helio_output_json(body, false, &text);
    helio_request_t request = {.method = "PUT",
                               .path = helio_path(client, "/v1/overflows/", name, ""),
                               .body = helio_buffer_view(&text)};
    int code = helio_ask(client, &request, &answer);
    if (code == HELIO_EXIT_OK)
        helio_client_say(client, "%s: %s: %s", name, steps.data,
                         helio_output_string(answer, "status"));
    return code;
}

int helio_cmd_overflow_rm(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
    const char *name = client->arguments->words[0];
    helio_request_t request = {.method = "DELETE", .path = helio_path(client, "/v1/overflows/", name, "")};
    int code = helio_ask(client, &request, &answer);
    if (code == HELIO_EXIT_OK)
        helio_client_say(client, "removed %s", name);
    return code;
}
