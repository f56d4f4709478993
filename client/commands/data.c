/*  data.c -- `data`: which sites hold which data. */
#include <stdlib.h>

#include "client/commands/change.h"
#include "client/commands/commands.h"
#include "client/commands/listing.h"
#include "client/output/humanise.h"

/*  Tables show the sites in one cell; a question mark follows the name of an unknown site. */
static void add_text(json_t *row)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    const json_t *sites = json_object_get(row, "sites"), *strangers = json_object_get(row, "strangers");
    for (size_t i = 0; i < json_array_size(sites); i++) {
        bool strange = false;
        for (size_t j = 0; j < json_array_size(strangers); j++)
            strange = strange || json_equal(json_array_get(sites, i), json_array_get(strangers, j));
        const char *site = json_string_value(json_array_get(sites, i));
        helio_buffer_text(&text, i ? ", " : "");
        helio_short_name(site ? site : "", 64, &text);
        helio_buffer_text(&text, strange ? "?" : "");
    }
    if (json_object_set_new(row, "sites_text", json_string(text.data ? text.data : "")) != 0)
        abort(); /* memory */
}

int helio_cmd_data_list(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    json_t *rows, *row;
    size_t i;
    int code = helio_listing_ask(client, "/v1/data", "data", &reply, &rows);
    if (code != HELIO_EXIT_OK)
        return code;
    if (client->output.format <= HELIO_FORMAT_WIDE || client->output.format == HELIO_FORMAT_CSV)
        json_array_foreach(rows, i, row) add_text(row);
    return helio_listing_print(client, rows, helio_columns_of_data);
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
    return helio_change_send(client, "PUT", "/v1/data", body, arguments->words[0]);
}

int helio_cmd_data_rm(helio_client_t *client)
{
    const char *prefix = client->arguments->words[0];
    return helio_change_send(client, "DELETE", helio_path(client, "/v1/data?prefix=", prefix, ""), NULL, prefix);
}
