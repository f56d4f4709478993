/*  desired.c -- `desired`: how many GPUs each pool should have, now and in the hours ahead. */
#include "client/commands/commands.h"
#include "client/commands/listing.h"
#include "client/output/humanise.h"

/*  Tables have a column for the next hour, and one for each of three spans after it, with the most that is desired in
 *  one of its hours: a peak between two columns is not hidden. JSON has all hours as the broker sent them. */
static const struct {
    size_t first, last;
    const char *name;
} spans[] = {{1, 1, "desired_gpus_in_1h"},
             {2, 4, "desired_gpus_in_2h_to_4h"},
             {5, 12, "desired_gpus_in_5h_to_12h"},
             {13, 24, "desired_gpus_in_13h_to_24h"}};

static json_t *most_of(const json_t *hours, size_t first, size_t last)
{
    json_t *most = NULL;
    for (size_t i = first; i <= last; i++) {
        json_t *figure = json_object_get(json_array_get(hours, i), "desired_gpus");
        if (figure && (!most || json_number_value(figure) > json_number_value(most)))
            most = figure;
    }
    return most;
}

static void add_columns(json_t *row)
{
    const json_t *hours = json_object_get(row, "hours");
    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++)
        (void)json_object_set(row, spans[i].name, /* an older broker's answer lacks it: then there is no such member */
                              most_of(hours, spans[i].first, spans[i].last));
}

static void say_hours(const helio_client_t *client, const json_t *rows)
{
    const json_t *hours = json_object_get(json_array_get(rows, 0), "hours");
    const char *next = helio_output_string(json_array_get(hours, 1), "time");
    char begin[HELIO_HUMAN_SIZE];
    helio_human_time(next, begin);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t safe = {0};
    helio_safe_text(begin, false, &safe);
    if (next[0])
        fprintf(
            client->io->out,
            "\n+1H is the next full hour, %s; each column after it has the most that is desired in one of its hours "
            "(-o json has every hour)\n",
            safe.data);
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
    if (!helio_format_is_nested(client->output.format))
        json_array_foreach(rows, i, row) add_columns(row);
    code = helio_listing_print(client, rows, helio_columns_of_desired);
    if (code == HELIO_EXIT_OK && client->output.format <= HELIO_FORMAT_WIDE)
        say_hours(client, rows);
    return code;
}
