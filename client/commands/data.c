/*  Commands on the data catalogue and the links. */
#include <stdlib.h>

#include "client/transport/answer.h"
#include "client/output/columns.h"
#include "client/commands/commands.h"
#include "client/transport/remote.h"

static int print(helio_client_t *client, const json_t *rows, helio_columns_t columns)
{
    return helio_output_rows(&client->output, rows, columns) == HELIO_OK ? HELIO_EXIT_OK : HELIO_EXIT_OWN;
}

/*  Tables show the sites in one cell; those that are no site with a question mark. */
static void add_text(json_t *row)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    const json_t *sites = json_object_get(row, "sites"), *strangers = json_object_get(row, "strangers");
    for (size_t i = 0; i < json_array_size(sites); i++) {
        bool strange = false;
        for (size_t j = 0; j < json_array_size(strangers); j++)
            strange = strange || json_equal(json_array_get(sites, i), json_array_get(strangers, j));
        const char *site = json_string_value(json_array_get(sites, i));
        helio_buffer_printf(&text, "%s%.64s%s", i ? ", " : "", site ? site : "", strange ? "?" : "");
    }
    if (json_object_set_new(row, "sites_text", json_string(text.data ? text.data : "")) != 0)
        abort(); /* memory */
}

int helio_cmd_data_list(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
    json_t *rows, *row;
    size_t i;
    int code = helio_ask_get(client, "/v1/data", &answer);
    if (code == HELIO_EXIT_OK)
        code = helio_answer_list(client, answer, "data", &rows);
    if (code != HELIO_EXIT_OK)
        return code;
    if (client->output.format <= HELIO_FORMAT_WIDE || client->output.format == HELIO_FORMAT_CSV)
        json_array_foreach(rows, i, row) add_text(row);
    return print(client, rows, helio_columns_of_data());
}

int helio_cmd_links_list(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
    json_t *rows;
    int code = helio_ask_get(client, "/v1/links", &answer);
    if (code == HELIO_EXIT_OK)
        code = helio_answer_list(client, answer, "links", &rows);
    return code == HELIO_EXIT_OK ? print(client, rows, helio_columns_of_links()) : code;
}

static int change(helio_client_t *client, const char *method, const char *path, const json_t *body, const char *what)
{
    HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    if (body)
        helio_output_json(body, false, &text);
    helio_request_t request = {.method = method, .path = path, .body = helio_buffer_view(&text)};
    int code = helio_ask(client, &request, &answer);
    if (code == HELIO_EXIT_OK)
        helio_client_say(client, "%s: %s", what, helio_output_string(answer, "status"));
    return code;
}

int helio_cmd_data_set(helio_client_t *client)
{
    const helio_command_line_t *arguments = client->arguments;
    HELIO_AUTO(helio_json_clear) json_t *body = json_object();
    json_t *sites = json_array();
    bool good = json_object_set_new(body, "prefix", json_string(arguments->words[0])) == 0;
    for (uint32_t i = 1; i < arguments->word_count; i++)
        good = json_array_append_new(sites, json_string(arguments->words[i])) == 0 && good;
    good = json_object_set_new(body, "sites", sites) == 0 && good;
    const char *tenant = helio_client_value(client, HELIO_OPTION_TENANT);
    good = (!tenant || json_object_set_new(body, "tenant", json_string(tenant)) == 0) && good;
    if (!good)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "PREFIX, SITE and --tenant must be UTF-8");
    return change(client, "PUT", "/v1/data", body, arguments->words[0]);
}

int helio_cmd_data_rm(helio_client_t *client)
{
    const char *prefix = client->arguments->words[0];
    return change(client, "DELETE", helio_path(client, "/v1/data?prefix=", prefix, ""), NULL, prefix);
}

/*  False after having said why. */
static bool put_number(helio_client_t *client, uint32_t option, const char *name, const char *key, json_t *body)
{
    const char *value = helio_client_value(client, option);
    if (!value)
        return true;
    char *end;
    double number = strtod(value, &end);
    if (end == value || *end || !(number >= 0 && number <= 1e9)) {
        (void)helio_client_fail(client, HELIO_EXIT_USAGE, "--%s takes a number, not '%.64s'", name, value);
        return false;
    }
    return json_object_set_new(body, key, json_real(number)) == 0;
}

int helio_cmd_links_set(helio_client_t *client)
{
    const char *from = client->arguments->words[0], *to = client->arguments->words[1];
    HELIO_AUTO(helio_json_clear) json_t *body = json_object();
    uint64_t rtt_ms;
    if (!helio_client_value(client, HELIO_OPTION_GBPS))
        return helio_client_fail(client, HELIO_EXIT_USAGE, "how much does it carry?\nhelp: --gbps 5");
    if (!helio_client_number(client, HELIO_OPTION_RTT, 0, &rtt_ms) ||
        !put_number(client, HELIO_OPTION_GBPS, "gbps", "gbps", body) ||
        !put_number(client, HELIO_OPTION_EGRESS, "egress", "egress_usd_per_gb", body))
        return HELIO_EXIT_USAGE;
    if (json_object_set_new(body, "from", json_string(from)) != 0 ||
        json_object_set_new(body, "to", json_string(to)) != 0 ||
        json_object_set_new(body, "rtt_ms", json_integer((json_int_t)(rtt_ms & INT64_MAX))) != 0)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "FROM and TO must be UTF-8");
    return change(client, "PUT", "/v1/links", body,
                  helio_arena_printf(client->arena, "%s -> %s", from, to).data);
}

int helio_cmd_links_rm(helio_client_t *client)
{
    const char *from = client->arguments->words[0], *to = client->arguments->words[1];
    const char *path = helio_path(client, helio_path(client, "/v1/links?from=", from, "&to="), to, "");
    return change(client, "DELETE", path, NULL, helio_arena_printf(client->arena, "%s -> %s", from, to).data);
}
