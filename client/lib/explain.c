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

/*  "$43.00 less": a difference is easier to read with its direction as a word than with a sign. Below `least`
 * it is nothing that a table would show. */
static void difference_text(double value, double least, const char *what,
                            void (*human)(double, char[HELIO_HUMAN_SIZE]), size_t size, char *ret_text)
{
    char amount[HELIO_HUMAN_SIZE];
    if (fabs(value) < least) {
        (void)snprintf(ret_text, size, "the same%s", what[0] ? what : " cost");
        return;
    }
    human(fabs(value), amount);
    (void)snprintf(ret_text, size, "%s%s %s", amount, what, value < 0 ? "less" : "more");
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
        char money[64], mass[64], text[320];
        if (!other || isnan(cost) || isnan(carbon)) {
            line(client, "Chosen", helio_output_string(candidate, "site"));
            return;
        }
        difference_text(cost, 1e-6, "", helio_human_money, sizeof money, money);
        difference_text(carbon, 1e-3, " CO2e", helio_human_mass, sizeof mass, mass);
        (void)snprintf(text, sizeof text, "%.64s rather than %.64s, the next best: %s, %s",
                       helio_output_string(candidate, "site"), helio_output_string(other, "site"), money,
                       mass);
        line(client, "Chosen", text);
        return;
    }
}

/*  The states are words of a table; a sentence needs a verb, and what joins it to the site. */
static const struct {
    const char *state, *verb, *place;
} sentences[] = {
    {"queued", "is queued", " at "},
    {"offered", "is offered", " to "},
    {"suspect", "is suspect", ", last known at "},
    {"succeeded", "succeeded", " at "},
    {"failed", "failed", " at "},
    {"timeout", "ran into its time limit", " at "},
    {"cancelled", "was cancelled", " at "},
    {"lost", "was lost", " at "},
};

static void state_text(const char *state, const char *site, size_t size, char *ret_text)
{
    for (size_t i = 0; i < sizeof sentences / sizeof sentences[0]; i++)
        if (strcmp(state, sentences[i].state) == 0) {
            (void)snprintf(ret_text, size, "%s%s%.64s", sentences[i].verb, site[0] ? sentences[i].place : "",
                           site);
            return;
        }
    (void)snprintf(ret_text, size, "is %.32s%s%.64s", state, site[0] ? " at " : "", site);
}

static void print_head(const helio_client_t *client, const json_t *explained)
{
    static const helio_column_t start = {"", "expected_start", HELIO_CELL_TIME, false};
    char text[512], happens[160];
    state_text(helio_output_string(explained, "state"), helio_output_string(explained, "site"),
               sizeof happens, happens);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t expected = {0};
    helio_output_cell(&client->output, explained, &start, &expected);
    (void)snprintf(text, sizeof text, "%.64s (%.48s) %s%s%s", helio_output_string(explained, "name"),
                   helio_output_string(explained, "id"), happens, expected.size ? ", expected to start " : "",
                   expected.size ? expected.data : "");
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

/*  A rejected candidate has no start. Its figures stay when they were worked out (it fits, but not now), and
 * are left out when the filter came first: nothing costs $0.00 for being impossible. */
static void without_false_figures(json_t *row)
{
    static const char *const figures[] = {"cost_usd", "energy_kwh", "carbon_g", "score_usd"};
    (void)json_object_del(row, "start");
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        double value = number(row, figures[i]);
        if (!isnan(value) && value > 0)
            return;
    }
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        (void)json_object_del(row, figures[i]);
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
        if (reason[0])
            without_false_figures(row);
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
