/*  desired.c -- `desired`: how many GPUs each pool should have, now and in the hours ahead. */
#include <stdio.h>

#include "client/commands/commands.h"
#include "client/commands/listing.h"

/*  Tables have a column for some of the hours; JSON has all of them as the broker sent them. */
static void add_columns(json_t *row)
{
    static const uint32_t hours[] = {1, 4, 12, 24};
    for (size_t i = 0; i < sizeof hours / sizeof hours[0]; i++) {
        const json_t *hour = json_array_get(json_object_get(row, "hours"), hours[i]);
        json_t *figure = json_object_get(hour, "desired_gpus");
        char name[32];
        (void)snprintf(name, sizeof name, "desired_gpus_in_%uh", (unsigned)hours[i]);
        (void)json_object_set(row, name, figure); /* an older broker's answer lacks it: then there is no such member */
    }
}

int helio_cmd_desired(helio_client_t *client)
{
    const char *site = client->arguments->word_count ? client->arguments->words[0] : "";
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    json_t *rows, *row;
    size_t i;
    int code = helio_listing_ask(client, *site ? helio_path(client, "/v1/desired?site=", site, "") : "/v1/desired",
                                 "desired", &reply, &rows);
    if (code != HELIO_EXIT_OK)
        return code;
    if (client->output.format != HELIO_FORMAT_JSON && client->output.format != HELIO_FORMAT_JSONL)
        json_array_foreach(rows, i, row) add_columns(row);
    return helio_listing_print(client, rows, helio_columns_of_desired);
}
