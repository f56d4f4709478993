/*  `explain`: the broker's facts about a job's place and wait, put into sentences. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/lib/answer.h"
#include "client/lib/columns.h"
#include "client/lib/command.h"
#include "client/lib/humanise.h"

static double number(const json_t *object, const char *key)
{
    const json_t *value = helio_output_find(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

/*  printf whose texts come from the broker. */
static void line(const helio_client_t *client, const char *title, const char *text)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t safe = {0};
    helio_safe_text(text, false, &safe);
    fprintf(client->io->out, "%-16s  %s\n", title, safe.data ? safe.data : "");
}

static bool is_chosen(const json_t *explained, const json_t *candidate)
{
    const char *pool = helio_output_string(explained, "chosen_pool");
    return strcmp(helio_output_string(explained, "chosen"), helio_output_string(candidate, "site")) == 0 &&
           (!pool[0] || strcmp(pool, helio_output_string(candidate, "pool")) == 0);
}

/*  The best candidate that was not taken though it could have been: what the choice is compared with. */
static const json_t *next_best(const json_t *explained, const json_t *candidates)
{
    const json_t *best = NULL;
    size_t i;
    json_t *candidate;
    json_array_foreach(candidates, i, candidate)
    {
        double score = number(candidate, "score_usd");
        if (is_chosen(explained, candidate) || helio_output_string(candidate, "reason")[0] || isnan(score))
            continue;
        if (!best || score < number(best, "score_usd"))
            best = candidate;
    }
    return best;
}

static void signed_text(double value, void (*human)(double, char[HELIO_HUMAN_SIZE]),
                        char ret_text[HELIO_HUMAN_SIZE + 1])
{
    char size[HELIO_HUMAN_SIZE];
    human(fabs(value), size);
    (void)snprintf(ret_text, HELIO_HUMAN_SIZE + 1, "%s%s", value < 0 ? "-" : "+", size);
}

static void print_choice(const helio_client_t *client, const json_t *explained, const json_t *candidates)
{
    const json_t *other = next_best(explained, candidates);
    size_t i;
    json_t *candidate;
    json_array_foreach(candidates, i, candidate)
    {
        if (!is_chosen(explained, candidate))
            continue;
        double cost = number(candidate, "cost_usd") - number(other, "cost_usd");
        double carbon = number(candidate, "carbon_g") - number(other, "carbon_g");
        char money[HELIO_HUMAN_SIZE + 1], mass[HELIO_HUMAN_SIZE + 1], text[320];
        if (!other || isnan(cost) || isnan(carbon)) {
            line(client, "Chosen", helio_output_string(candidate, "site"));
            return;
        }
        signed_text(cost, helio_human_money, money);
        signed_text(carbon, helio_human_mass, mass);
        (void)snprintf(text, sizeof text, "%.64s: %s and %s CO2e against the next best, %.64s",
                       helio_output_string(candidate, "site"), money, mass,
                       helio_output_string(other, "site"));
        line(client, "Chosen", text);
        return;
    }
}

static void print_head(const helio_client_t *client, const json_t *explained)
{
    static const helio_column_t start = {"", "expected_start", HELIO_CELL_TIME, false};
    char text[512];
    const char *site = helio_output_string(explained, "site");
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t expected = {0};
    helio_output_cell(&client->output, explained, &start, &expected);
    (void)snprintf(text, sizeof text, "%.64s (%.48s) is %.32s%s%.64s%s%s",
                   helio_output_string(explained, "name"), helio_output_string(explained, "id"),
                   helio_output_string(explained, "state"), site[0] ? " at " : "", site,
                   expected.size ? ", expected to start " : "", expected.size ? expected.data : "");
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t safe = {0};
    helio_safe_text(text, false, &safe);
    fprintf(client->io->out, "%s\n", safe.data);
    const char *reason = helio_output_string(explained, "reason"),
               *detail = helio_output_string(explained, "detail");
    if (reason[0] || detail[0]) {
        (void)snprintf(text, sizeof text, "%.128s%s%.320s", reason, reason[0] && detail[0] ? ": " : "",
                       detail);
        const char *state = helio_output_string(explained, "state");
        bool waits = strcmp(state, "queued") == 0 || strcmp(state, "held") == 0;
        line(client, waits ? "Now waiting for" : "Reason", text);
    }
}

/*  The rows of the table: a mark for the chosen one, and why not for the others. */
static json_t *candidate_rows(const json_t *explained, const json_t *candidates)
{
    json_t *rows = json_array();
    size_t i;
    json_t *candidate;
    json_array_foreach(candidates, i, candidate)
    {
        json_t *row = json_copy(candidate);
        const char *reason = helio_output_string(candidate, "reason"),
                   *detail = helio_output_string(candidate, "detail");
        json_t *why = json_sprintf("%s%s%s", reason, reason[0] && detail[0] ? ": " : "", detail);
        if (!row || json_object_set_new(row, "why", why ? why : json_string("")) != 0 ||
            json_object_set_new(row, "chosen", json_string(is_chosen(explained, candidate) ? "✔" : " ")) !=
                0 ||
            json_array_append_new(rows, row) != 0)
            abort();
    }
    return rows;
}

int helio_cmd_explain(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *explained = NULL;
    const char *id = client->arguments->positionals[0];
    int code = helio_ask_get(client, helio_path(client, "/v1/jobs/", id, "/explain"), &explained);
    if (code != HELIO_EXIT_OK)
        return code;
    if (!json_is_object(explained))
        return helio_client_fail(client, HELIO_EXIT_OWN,
                                 "the broker's answer explains nothing; versions differ?");
    if (client->output.format > HELIO_FORMAT_WIDE)
        return helio_output_object(&client->output, explained, helio_columns_of_job()) == HELIO_OK
                   ? HELIO_EXIT_OK
                   : HELIO_EXIT_OWN;
    const json_t *candidates = json_object_get(explained, "candidates");
    const json_t *history = json_object_get(explained, "history");
    helio_rc rc = HELIO_OK;
    print_head(client, explained);
    print_choice(client, explained, candidates);
    if (json_is_array(candidates) && json_array_size(candidates)) {
        HELIO_AUTO(helio_json_clear) json_t *rows = candidate_rows(explained, candidates);
        fputs("\n", client->io->out);
        rc = helio_output_rows(&client->output, rows, helio_columns_of_candidates());
    }
    if (json_is_array(history) && json_array_size(history)) {
        fputs("\n", client->io->out);
        if (rc == HELIO_OK)
            rc = helio_output_rows(&client->output, history, helio_columns_of_history());
    }
    return rc == HELIO_OK ? HELIO_EXIT_OK : HELIO_EXIT_OWN;
}
