/*  Commands on tenants and their quotas. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/transport/answer.h"
#include "client/output/columns.h"
#include "client/commands/commands.h"

/*  As many decimals as people look at: "1234567", "12.3", "0.125". */
static void put_figure(json_t *row, const char *key, const json_t *value)
{
    char text[48];
    double figure = json_number_value(value), size = figure < 0 ? -figure : figure;
    (void)snprintf(text, sizeof text, "%.*f", size >= 100 ? 0 : size >= 10 ? 1 : 3, figure);
    if (strchr(text, '.'))
        for (size_t end = strlen(text); text[end - 1] == '0' || text[end - 1] == '.'; end--) {
            bool point = text[end - 1] == '.';
            text[end - 1] = '\0';
            if (point)
                break;
        }
    (void)json_object_set_new(row, key, json_string(text));
}

/*  A line each, below the quotas. */
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
    return helio_output_rows(&client->output, rows, helio_columns_of_budgets());
}

int helio_cmd_quota(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
    HELIO_AUTO(helio_json_clear) json_t *rows = json_array();
    json_t *all, *row;
    size_t i;
    const char *tenant = client->arguments->word_count ? client->arguments->words[0] : NULL;
    int code = helio_ask_get(client, "/v1/quotas", &answer);
    if (code == HELIO_EXIT_OK)
        code = helio_answer_list(client, answer, "quotas", &all);
    if (code != HELIO_EXIT_OK)
        return code;
    json_array_foreach(all, i, row)
    {
        if (!tenant || strcmp(helio_output_string(row, "tenant"), tenant) == 0)
            (void)json_array_append(rows, row);
    }
    if (tenant && !json_array_size(rows))
        return helio_client_fail(client, HELIO_EXIT_FAILURE, "no tenant '%.64s', or not yours to see", tenant);
    helio_rc rc = helio_output_rows(&client->output, rows, helio_columns_of_quotas());
    if (rc == HELIO_OK && (client->output.format == HELIO_FORMAT_TABLE || client->output.format == HELIO_FORMAT_WIDE))
        rc = show_budgets(client, rows);
    return rc == HELIO_OK ? HELIO_EXIT_OK : HELIO_EXIT_OWN;
}

static bool put_gpus(const helio_client_t *client, uint32_t option, const char *key, json_t *body)
{
    uint64_t gpus;
    if (!helio_client_has(client, option))
        return true;
    if (!helio_client_number(client, option, 0, &gpus))
        return false;
    return json_object_set_new(body, key, json_integer((json_int_t)(gpus & INT64_MAX))) == 0;
}

static bool put_weight(const helio_client_t *client, json_t *body)
{
    const char *value = helio_client_value(client, HELIO_OPTION_WEIGHT);
    if (!value)
        return true;
    char *end;
    double weight = strtod(value, &end);
    if (end == value || *end || !(weight > 0 && weight <= 1000)) {
        (void)helio_client_fail(client, HELIO_EXIT_USAGE, "--weight takes a number above 0, at most 1000, not '%.64s'",
                                value);
        return false;
    }
    return json_object_set_new(body, "weight", json_real(weight)) == 0;
}

static bool put_budgets(const helio_client_t *client, json_t *body)
{
    const helio_option_values_t *given = &client->arguments->values[HELIO_OPTION_BUDGET];
    if (!given->count)
        return true;
    json_t *budgets = json_array();
    for (uint32_t i = 0; i < given->count; i++)
        if (json_array_append_new(budgets, json_string(given->items[i])) != 0) {
            json_decref(budgets);
            (void)helio_client_fail(client, HELIO_EXIT_USAGE, "--budget is not UTF-8");
            return false;
        }
    return json_object_set_new(body, "budgets", budgets) == 0;
}

int helio_cmd_quota_set(helio_client_t *client)
{
    const char *tenant = client->arguments->words[0], *queue = helio_client_value(client, HELIO_OPTION_QUEUE);
    const char *burst = helio_client_value(client, HELIO_OPTION_BURST);
    HELIO_AUTO(helio_json_clear) json_t *body = json_object();
    HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
    bool none = burst && strcmp(burst, "none") == 0;
    if (!put_gpus(client, HELIO_OPTION_GUARANTEED, "guaranteed_gpus", body) ||
        !(none ? json_object_set_new(body, "burst_gpus", json_null()) == 0
               : put_gpus(client, HELIO_OPTION_BURST, "burst_gpus", body)) ||
        !put_weight(client, body) || !put_budgets(client, body))
        return HELIO_EXIT_USAGE;
    if (!json_object_size(body))
        return helio_client_fail(
            client, HELIO_EXIT_USAGE,
            "set what?\nhelp: --burst, --guaranteed, --weight or --budget; `helio quota` lists what holds now");
    if (queue && json_object_set_new(body, "queue", json_string(queue)) != 0)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "--queue is not UTF-8");
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_output_json(body, false, &text);
    helio_request_t request = {.method = "PUT",
                               .path = helio_path(client, "/v1/quotas/", tenant, ""),
                               .body = helio_buffer_view(&text)};
    int code = helio_ask(client, &request, &answer);
    if (code == HELIO_EXIT_OK)
        helio_client_say(client, "%s%s%s: %s", tenant, queue ? " in " : "", queue ? queue : "",
                         helio_output_string(answer, "status"));
    return code;
}

/*  ---- tenants ---- */

int helio_cmd_tenants(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
    json_t *rows;
    int code = helio_ask_get(client, "/v1/tenants", &answer);
    if (code == HELIO_EXIT_OK)
        code = helio_answer_list(client, answer, "tenants", &rows);
    if (code != HELIO_EXIT_OK)
        return code;
    return helio_output_rows(&client->output, rows, helio_columns_of_tenants()) == HELIO_OK ? HELIO_EXIT_OK
                                                                                           : HELIO_EXIT_OWN;
}

int helio_cmd_tenants_set(helio_client_t *client)
{
    const char *tenant = client->arguments->words[0], *home = helio_client_value(client, HELIO_OPTION_HOME);
    HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
    json_t *body = json_pack("{s:s}", "tenant", tenant);
    json_t *site = home && strcmp(home, "none") != 0 ? json_string(home) : json_null();
    bool good = body && site && (!home || json_object_set(body, "home", site) == 0);
    json_decref(site);
    if (!good) {
        json_decref(body);
        return helio_client_fail(client, HELIO_EXIT_USAGE, "the names are not UTF-8");
    }
    if (!put_weight(client, body)) {
        json_decref(body);
        return HELIO_EXIT_USAGE;
    }
    int code = helio_ask_post(client, "/v1/tenants", body, &answer);
    if (code == HELIO_EXIT_OK)
        helio_client_say(client, "%s %s", tenant, helio_output_string(answer, "status"));
    return code;
}
