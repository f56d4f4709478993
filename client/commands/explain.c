/*  `explain`: why a job waits, or why it runs where it does. */
#include <string.h>

#include "client/commands/commands.h"
#include "client/output/columns.h"
#include "client/output/humanise.h"
#include "client/reasons/reply_details.h"
#include "client/reasons/start_estimate.h"
#include "client/reasons/why.h"
#include "client/transport/response.h"
#include "federation/base/clock.h"
#include "federation/reason/codes.h"

static void print_buffer(const helio_client_t *client, const char *title, const helio_buffer_t *text)
{
    if (text->size)
        helio_print_line(client, title, text->data);
}

/*  Why the job went there: the difference in cost and carbon, then in the terms of the score. */
static void print_choice(const helio_client_t *client, const json_t *explained)
{
    const json_t *chosen = helio_why_chosen(explained), *other = helio_why_next_best(explained);
    if (!chosen)
        return;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t difference = {0}, behind = {0}, text = {0};
    helio_why_difference(chosen, other, &difference);
    helio_buffer_printf(&text, "%.64s", helio_output_string(chosen, "site"));
    if (difference.size)
        helio_buffer_printf(&text, ", compared with %.64s: %s", helio_output_string(other, "site"), difference.data);
    const char *first = helio_output_string(explained, "first_choice");
    if (first[0])
        helio_buffer_printf(&text, "; the first choice, %.64s, was taken by similar jobs", first);
    print_buffer(client, "Chosen", &text);
    helio_why_behind(explained, &behind);
    print_buffer(client, "Next best", &behind);
}

/*  What the submitter can do about each reason. */
static const struct {
    const char *reason, *advice;
} advices[] = {
    {"WaitingForWindow", "submit it without `flexible`; it then starts as soon as a site has capacity"},
    {"WaitingForCapacity",
     "allow more sites, another GPU model or fewer nodes; with a shorter `time` it may start before jobs ahead of it"},
    {"PolicyCap", "raise `max_cost` or `max_carbon`, or give a later `deadline` or a shorter `time`"},
    {"NeverFits", "ask for GPUs that a site has: `helio gpus` lists them"},
};

/*  States that last until a person acts. */
static const struct {
    const char *state, *advice;
} ways_out[] = {
    {"held",
     "once the cause is fixed, an operator runs `helio release ID`, and the job is placed again; `helio cancel ID` "
     "ends it"},
    {"suspect",
     "its site is silent; once it is certain that nothing runs there, an operator runs `helio attest SITE --dead "
     "--reason WHY`; a job with `on_site_loss: lease` restarts elsewhere without that"},
};

static void print_advice(const helio_client_t *client, const json_t *explained)
{
    const char *reason = helio_output_string(explained, "reason");
    const char *state = helio_output_string(explained, "state");
    bool queued = strcmp(state, "queued") == 0;
    for (size_t i = 0; i < sizeof ways_out / sizeof ways_out[0]; i++)
        if (strcmp(state, ways_out[i].state) == 0)
            helio_print_line(client, "What to do", ways_out[i].advice);
    bool hinted = helio_start_estimate_print(client, explained, queued ? helio_output_string(explained, "id") : "");
    bool of_quota = helio_reply_has_detail(explained, HELIO_DETAIL_QUOTA_IN_USE) ||
                    helio_reply_has_detail(explained, HELIO_DETAIL_QUOTA_TOO_SMALL);
    if (queued && !hinted && of_quota) { /* no bound of its own document holds it */
        helio_print_line(
            client, "To start sooner",
            "ask for fewer GPUs, or wait until other jobs of the tenant end; an operator can raise the quota: "
            "`helio quota set`");
        return;
    }
    for (size_t i = 0; queued && !hinted && i < sizeof advices / sizeof advices[0]; i++)
        if (strcmp(reason, advices[i].reason) == 0)
            helio_print_line(client, "To start sooner", advices[i].advice);
}

/*  The verb for each state, and the words that join it to the site. */
static const struct {
    const char *state, *verb, *place;
} sentences[] = {
    {"queued", "is queued", " at "},
    {"offered", "is offered", " to "},
    {"suspect", "is suspect", ", last known at "},
    {"succeeded", "succeeded", " at "},
    {"failed", "failed", " at "},
    {"timeout", "reached its time limit", " at "},
    {"cancelled", "was cancelled", " at "},
    {"lost", "was lost", " at "},
};

static void state_text(const char *state, const char *site, size_t size, char *ret_text)
{
    for (size_t i = 0; i < sizeof sentences / sizeof sentences[0]; i++)
        if (strcmp(state, sentences[i].state) == 0) {
            (void)snprintf(ret_text, size, "%s%s%.64s", sentences[i].verb, site[0] ? sentences[i].place : "", site);
            return;
        }
    (void)snprintf(ret_text, size, "is %.32s%s%.64s", state, site[0] ? " at " : "", site);
}

/*  The site has taken the job, and its own scheduler has not started it. */
static bool waits_in_cluster(const json_t *explained)
{
    const char *cause = json_string_value(helio_reply_param(json_object_get(explained, "details"), "cause"));
    return cause && strcmp(cause, helio_cause_name(HELIO_CAUSE_WAITS_IN_CLUSTER)) == 0;
}

static void print_head(const helio_client_t *client, const json_t *explained)
{
    static const helio_column_t start = {"", "expected_start", HELIO_CELL_START, false};
    char happens[160];
    state_text(helio_output_string(explained, "state"), helio_output_string(explained, "site"), sizeof happens,
               happens);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t expected = {0};
    if (!json_is_object(json_object_get(explained, "expected")))
        helio_output_cell(&client->output, explained, &start, &expected);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0}, safe = {0};
    helio_buffer_printf(&text, "%s (%s) %s%s%s", helio_output_string(explained, "name"),
                        helio_output_string(explained, "id"), happens, expected.size ? ", expected to start " : "",
                        expected.size ? expected.data : "");
    helio_safe_text(text.data, false, &safe);
    fprintf(client->io->out, "%s\n", safe.data);
}

static void print_reason(const helio_client_t *client, const json_t *explained)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    const char *reason = helio_output_string(explained, "reason"), *detail = helio_output_string(explained, "detail");
    const char *state = helio_output_string(explained, "state");
    bool waits = strcmp(state, "queued") == 0 || strcmp(state, "held") == 0 || waits_in_cluster(explained);
    helio_buffer_printf(&text, "%s%s%s", reason, reason[0] && detail[0] ? ": " : "", detail);
    print_buffer(client, waits ? "Why it waits" : "Reason", &text);
}

/*  The page is about one task of the array; this line is about all of them. */
static void print_array(const helio_client_t *client, const json_t *explained)
{
    const json_t *array = json_object_get(explained, "array");
    const char *id = helio_output_string(explained, "id");
    long long tasks = (long long)json_integer_value(json_object_get(array, "tasks"));
    long long waiting = (long long)json_integer_value(json_object_get(array, "waiting"));
    if (!json_is_object(array))
        return;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    const char *state;
    json_t *count;
    helio_buffer_printf(&text, "%lld of %lld tasks wait (", waiting, tasks);
    int shown = 0;
    json_object_foreach(json_object_get(array, "states"), state, count)
        helio_buffer_printf(&text, "%s%lld %.16s", shown++ ? ", " : "", (long long)json_integer_value(count), state);
    helio_buffer_printf(&text, "); this page explains task %s, `helio explain %.*s.N` task N",
                        strchr(id, '.') ? strchr(id, '.') + 1 : "-", (int)strcspn(id, "."), id);
    print_buffer(client, "Array", &text);
}

int helio_cmd_explain(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *explained = NULL;
    const char *id = client->arguments->words[0];
    int code = helio_ask_get(client, helio_path(client, "/v1/jobs/", id, "/explain"), &explained);
    if (code != HELIO_EXIT_OK)
        return code;
    if (!json_is_object(explained))
        return helio_client_fail(
            client, HELIO_EXIT_OWN,
            "the broker's answer is not an explanation; do the versions of helio and the broker differ?");
    if (client->output.format > HELIO_FORMAT_WIDE)
        return helio_output_object(&client->output, explained, helio_columns_of_job) == HELIO_OK ? HELIO_EXIT_OK
                                                                                                 : HELIO_EXIT_OWN;
    const json_t *candidates = json_object_get(explained, "candidates");
    const json_t *history = json_object_get(explained, "history");
    helio_rc rc = HELIO_OK;
    const char *at = helio_output_string(json_object_get(explained, "expected"), "at");
    if (helio_rfc3339_parse(helio_text_of(at), &client->output.wall_ms) != HELIO_OK)
        client->output.wall_ms = 0; /* the start is past: how long ago does not matter */
    print_head(client, explained);
    print_reason(client, explained);
    print_array(client, explained);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t run = {0};
    helio_why_run(explained, &run);
    print_buffer(client, "Expected run", &run);
    print_choice(client, explained);
    const char *better = helio_output_string(explained, "better_site");
    if (better[0])
        helio_print_line(client, "Better site", better);
    print_advice(client, explained);
    if (json_is_array(candidates) && json_array_size(candidates)) {
        HELIO_AUTO(helio_json_clear) json_t *rows = helio_why_rows(explained, 0);
        fputs("\n", client->io->out);
        rc = helio_output_rows(&client->output, rows, helio_columns_of_candidates);
    }
    if (rc == HELIO_OK)
        rc = helio_edits_print(client, explained);
    if (json_is_array(history) && json_array_size(history)) {
        fputs("\n", client->io->out);
        if (rc == HELIO_OK)
            rc = helio_output_rows(&client->output, history, helio_columns_of_history);
    }
    return rc == HELIO_OK ? HELIO_EXIT_OK : HELIO_EXIT_OWN;
}
