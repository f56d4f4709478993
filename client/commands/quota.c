/*  quota.c -- `quota`: quotas, guarantees and budgets of tenants. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/commands/change.h"
#include "client/commands/commands.h"
#include "client/commands/listing.h"
#include "federation/base/suggest.h"

/*  With a useful number of decimals: "1234567", "12.3", "0.125", "0.00032". What is not 0 is not shown as 0, and what
 *  is unknown is left out. */
static void put_figure(json_t *row, const char *key, const json_t *value)
{
    char text[48];
    double figure = json_number_value(value), size = figure < 0 ? -figure : figure;
    int decimals = size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.01 || size == 0 ? 3 : 6;
    if (!json_is_number(value))
        return;
    if (size > 0 && size < 0.0000005) /* less than a unit of what is charged */
        figure = 0;
    (void)snprintf(text, sizeof text, "%.*f", decimals, figure);
    if (strchr(text, '.'))
        for (size_t end = strlen(text); text[end - 1] == '0' || text[end - 1] == '.'; end--) {
            bool point = text[end - 1] == '.';
            text[end - 1] = '\0';
            if (point)
                break;
        }
    (void)json_object_set_new(row, key, json_string(text));
}

/*  One line per budget, below the quotas. */
static helio_rc show_budgets(const helio_client_t *client, const json_t *quotas)
{
    static const char *const figures[][2] = {
        {"budget", "budget_text"}, {"used", "used_text"}, {"committed", "committed_text"}, {"left", "left_text"}};
    HELIO_AUTO(helio_json_clear) json_t *rows = json_array();
    size_t i, k;
    json_t *quota, *budget;
    json_array_foreach(quotas, i, quota)
    {
        json_array_foreach(json_object_get(quota, "budgets"), k, budget)
        {
            json_t *row = json_copy(budget);
            (void)json_object_set(row, "tenant", json_object_get(quota, "tenant"));
            (void)json_object_set(row, "queue", json_object_get(quota, "queue"));
            for (size_t f = 0; f < sizeof figures / sizeof figures[0]; f++)
                put_figure(row, figures[f][1], json_object_get(budget, figures[f][0]));
            (void)json_array_append_new(rows, row);
        }
    }
    if (!json_array_size(rows))
        return HELIO_OK;
    (void)fputc('\n', client->output.stream);
    return helio_output_rows(&client->output, rows, helio_columns_of_budgets);
}

int helio_cmd_quota(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    HELIO_AUTO(helio_json_clear) json_t *rows = json_array();
    json_t *all, *row;
    size_t i;
    const char *tenant = client->arguments->word_count ? client->arguments->words[0] : NULL;
    int code = helio_listing_ask(client, "/v1/quotas", "quotas", &reply, &all);
    if (code != HELIO_EXIT_OK)
        return code;
    helio_suggestion_t near = {.written = helio_text_of(tenant ? tenant : "")};
    json_array_foreach(all, i, row)
    {
        helio_suggestion_offer(&near, helio_output_string(row, "tenant"));
        if (!tenant || strcmp(helio_output_string(row, "tenant"), tenant) == 0)
            (void)json_array_append(rows, row);
    }
    if (tenant && !json_array_size(rows))
        return helio_client_fail(
            client, HELIO_EXIT_NOT_FOUND, "tenant '%.64s' does not exist, or is not visible to you%s%.64s%s", tenant,
            near.best ? "; did you mean '" : "", near.best ? near.best : "", near.best ? "'?" : "");
    bool table = client->output.format == HELIO_FORMAT_TABLE || client->output.format == HELIO_FORMAT_WIDE;
    helio_columns_t columns = helio_columns_of_quotas;
    columns.count -= table; /* the last one, of budgets, is a table of its own */
    helio_rc rc = helio_output_rows(&client->output, rows, columns);
    if (rc == HELIO_OK && table)
        rc = show_budgets(client, rows);
    return rc == HELIO_OK ? HELIO_EXIT_OK : HELIO_EXIT_OWN;
}

int helio_cmd_quota_set(helio_client_t *client)
{
    const char *tenant = client->arguments->words[0], *queue = helio_client_value(client, HELIO_OPTION_QUEUE);
    const char *burst = helio_client_value(client, HELIO_OPTION_BURST);
    HELIO_AUTO(helio_json_clear) json_t *body = json_object();
    bool none = burst && strcmp(burst, "none") == 0;
    if (!helio_change_whole(client, HELIO_OPTION_GUARANTEED, "guaranteed_gpus", body) ||
        !(none ? json_object_set_new(body, "burst_gpus", json_null()) == 0
               : helio_change_whole(client, HELIO_OPTION_BURST, "burst_gpus", body)) ||
        !helio_change_weight(client, body) || !helio_change_texts(client, HELIO_OPTION_BUDGET, "budgets", body))
        return HELIO_EXIT_USAGE;
    if (!json_object_size(body))
        return helio_client_fail(
            client, HELIO_EXIT_USAGE,
            "nothing to set\nhelp: give --burst, --guaranteed, --weight or --budget; `helio quota` lists the present "
            "values");
    if (!helio_change_text(client, HELIO_OPTION_QUEUE, "queue", body))
        return HELIO_EXIT_USAGE;
    const char *what =
        helio_arena_printf(client->arena, "%s%s%s", tenant, queue ? " in " : "", queue ? queue : "").data;
    return helio_change_send(client, "PUT", helio_path(client, "/v1/quotas/", tenant, ""), body, what);
}
