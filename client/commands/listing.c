/*  listing.c -- for all commands that print a list: requests it from the broker and prints it. Which columns it has:
 *  client/output/columns.c. */
#include "client/commands/listing.h"

#include <string.h>

#include "client/invocation/option.h"

bool helio_listing_limit(const helio_client_t *client, uint64_t by_default, uint64_t *ret_limit)
{
    if (!helio_client_number(client, HELIO_OPTION_LIMIT, by_default, ret_limit))
        return false;
    bool all = helio_client_has(client, HELIO_OPTION_ALL), limited = helio_client_has(client, HELIO_OPTION_LIMIT);
    if (*ret_limit == 0 || (all && limited)) {
        (void)helio_client_fail(
            client, HELIO_EXIT_USAGE,
            *ret_limit ? "--limit and --all contradict one another: use one of them" : "--limit: must be at least 1");
        return false;
    }
    if (all)
        *ret_limit = UINT64_MAX;
    return true;
}

int helio_listing_ask(const helio_client_t *client, const char *path, const char *key, json_t **ret_reply,
                      json_t **ret_rows)
{
    int code = helio_ask_get(client, path, ret_reply);
    return code == HELIO_EXIT_OK ? helio_response_list(client, *ret_reply, key, ret_rows) : code;
}

int helio_listing_print(const helio_client_t *client, const json_t *rows, helio_columns_t columns)
{
    return helio_output_rows(&client->output, rows, columns) == HELIO_OK ? HELIO_EXIT_OK : HELIO_EXIT_OWN;
}

int helio_listing(const helio_client_t *client, const char *path, const char *key, helio_columns_t columns)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    json_t *rows;
    int code = helio_listing_ask(client, path, key, &reply, &rows);
    return code == HELIO_EXIT_OK ? helio_listing_print(client, rows, columns) : code;
}

void helio_listing_hide_stale_room(json_t *sites)
{
    size_t i;
    json_t *site;
    json_array_foreach(sites, i, site)
    {
        const char *state = helio_output_string(site, "state");
        if (strcmp(state, "silent") == 0 || strcmp(state, "lost") == 0)
            (void)json_object_set_new(site, "gpus_free", json_null());
    }
}
