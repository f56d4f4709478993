/*  explain.c -- `explain`: why a job waits, or why it runs where it does. */
#include <string.h>

#include "client/commands/commands.h"
#include "client/output/columns.h"
#include "client/output/humanise.h"
#include "client/reasons/held.h"
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
    if (!chosen || helio_is_held(explained)) /* that choice is over */
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

/*  What the submitter can try about each reason, where the broker has tried nothing itself. */
static const struct {
    const char *reason, *advice;
} advices[] = {
    {"WaitingForWindow", "submit it without `flexible`; it then starts as soon as a site has capacity"},
    {"WaitingForCapacity",
     "allow more sites, another GPU model or fewer nodes; with a shorter `time` it can start before jobs ahead of it"},
    {"NeverFits", "request GPUs that a site has: `helio gpus` lists them"},
};

/*  The limits of a job's own document, by what they reject. */
static const struct {
    helio_rejection_t rejection;
    const char *advice;
} limits[] = {
    {HELIO_REJECTION_COST_CAP, "raise `max_cost`"},
    {HELIO_REJECTION_CARBON_CAP, "raise `max_carbon`"},
    {HELIO_REJECTION_DEADLINE, "give a later `deadline`"},
};

static bool rejects(const json_t *candidate, helio_rejection_t rejection)
{
    return strcmp(helio_output_string(candidate, "reason"), helio_rejection_name(rejection)) == 0;
}

static bool rejects_one(const json_t *explained, helio_rejection_t rejection)
{
    size_t i;
    json_t *candidate;
    json_array_foreach(json_object_get(explained, "candidates"), i, candidate)
    {
        if (rejects(candidate, rejection))
            return true;
    }
    return false;
}

static void print_limits(const helio_client_t *client, const json_t *explained, const char *title)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        if (rejects_one(explained, limits[i].rejection))
            helio_buffer_printf(&text, "%s%s", text.size ? ", " : "", limits[i].advice);
    print_buffer(client, title, &text);
}

/*  True where the job waits for nothing but sites that take no jobs at present: then no change of the job helps. */
static bool print_closed_sites(const helio_client_t *client, const json_t *explained)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    bool waits =
        strcmp(helio_output_string(explained, "reason"), helio_reason_name(HELIO_REASON_WAITING_FOR_CAPACITY)) == 0;
    size_t i;
    json_t *candidate;
    json_array_foreach(json_object_get(explained, "candidates"), i, candidate)
    {
        bool closed = rejects(candidate, HELIO_REJECTION_SITE_SILENT) || rejects(candidate, HELIO_REJECTION_DRAINING);
        waits =
            waits && helio_output_string(candidate, "reason")[0] && !rejects(candidate, HELIO_REJECTION_NO_CAPACITY);
        if (closed)
            helio_buffer_printf(&text, "%s%.64s", text.size ? ", " : "", helio_output_string(candidate, "site"));
    }
    if (!waits || !text.size)
        return false;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t line = {0};
    helio_buffer_printf(
        &line, "no change of the job: it waits for sites that are silent or drained (`helio sites`): %s", text.data);
    print_buffer(client, helio_hint_title(explained), &line);
    return true;
}

/*  A held job lasts until a person acts. */
static void print_way_out_of_hold(const helio_client_t *client, const json_t *explained)
{
    const char *id = helio_output_string(explained, "id");
    bool by_user = helio_reply_has_detail(explained, HELIO_DETAIL_HELD_BY_USER);
    bool by_people = helio_is_held_by_people(explained);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    char short_id[HELIO_HUMAN_SIZE];
    helio_short_id(id, short_id);
    helio_buffer_printf(&text, "%s`helio release %s`, and the job is placed%s; `helio cancel %s` ends it",
                        by_user     ? "run "
                        : by_people ? "an operator runs "
                                    : "once the cause is fixed, an operator runs ",
                        short_id, by_people ? "" : " again", short_id);
    print_buffer(client, "What to do", &text);
}

/*  It may run on: what to look for at its site, and what happens without anybody's doing. */
static void print_way_out_of_doubt(const helio_client_t *client, const json_t *explained)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    const json_t *expected = json_object_get(explained, "expected");
    const char *site = helio_output_string(explained, "site"), *id = helio_output_string(explained, "id");
    bool forgotten = helio_reply_has_detail(explained, HELIO_DETAIL_SITE_MEMORY_LOST) ||
                     helio_reply_has_detail(expected, HELIO_DETAIL_START_MEMORY_LOST);
    bool ends = json_is_string(helio_reply_param(json_object_get(expected, "details"), "until"));
    if (!site[0])
        site = "SITE";
    helio_buffer_printf(&text,
                        "look at %.64s for its processes (`HELIO_JOB_ID` in their environment is %.*s); once %s, an "
                        "operator runs `helio attest %.64s --dead --reason WHY`%s",
                        site, (int)strcspn(id, "."), id,
                        forgotten ? "none of a job that the site does not show is left"
                                  : "it is certain that no job of the federation runs there",
                        site, ends ? "; without that it is placed again when its lease is over" : "");
    print_buffer(client, "What to do", &text);
}

/*  True where what the tenant may have holds the job, and none of the limits in its own document. */
static bool print_way_past_tenant(const helio_client_t *client, const json_t *explained)
{
    bool of_quota = helio_reply_has_detail(explained, HELIO_DETAIL_QUOTA_IN_USE) ||
                    helio_reply_has_detail(explained, HELIO_DETAIL_QUOTA_TOO_SMALL);
    bool of_budget = helio_reply_has_detail(explained, HELIO_DETAIL_BUDGET_USED) ||
                     helio_reply_has_detail(explained, HELIO_DETAIL_BUDGET_TOO_SMALL) ||
                     helio_reply_has_detail(explained, HELIO_DETAIL_BUDGET_LIMITS_USED) ||
                     helio_reply_has_detail(explained, HELIO_DETAIL_BUDGET_LIMIT_TOO_LONG);
    if (of_quota)
        helio_print_line(
            client, helio_hint_title(explained),
            "request fewer GPUs, or wait until other jobs of the tenant end; an operator can raise the quota: "
            "`helio quota set`");
    else if (of_budget)
        helio_print_line(client, helio_hint_title(explained),
                         "request fewer GPUs or a shorter `time`; an operator can raise the budget: `helio quota set`");
    return of_quota || of_budget;
}

static void print_advice(const helio_client_t *client, const json_t *explained)
{
    const char *reason = helio_output_string(explained, "reason"), *title = helio_hint_title(explained);
    const char *state = helio_output_string(explained, "state");
    bool queued = strcmp(state, "queued") == 0;
    if (helio_is_held(explained))
        print_way_out_of_hold(client, explained);
    if (strcmp(state, "suspect") == 0)
        print_way_out_of_doubt(client, explained);
    bool hinted = helio_start_estimate_print(client, explained, queued ? helio_output_string(explained, "id") : "");
    if (!queued || hinted || print_way_past_tenant(client, explained) || print_closed_sites(client, explained))
        return;
    bool tried = json_is_array(json_object_get(explained, "hints"));              /* and found nothing that helps */
    bool never = strcmp(reason, helio_reason_name(HELIO_REASON_NEVER_FITS)) == 0; /* no single change has to help */
    if (!tried && strcmp(reason, helio_reason_name(HELIO_REASON_POLICY_CAP)) == 0)
        print_limits(client, explained, title);
    for (size_t i = 0; (!tried || never) && i < sizeof advices / sizeof advices[0]; i++)
        if (strcmp(reason, advices[i].reason) == 0)
            helio_print_line(client, title, advices[i].advice);
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
    const char *name = helio_output_string(explained, "name"), *id = helio_output_string(explained, "id");
    helio_buffer_printf(&text, name[0] ? "%s (%s) " : "%s%s ", name, id);
    helio_buffer_printf(&text, "%s%s%s", happens, expected.size ? ", expected to start " : "",
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
    if (helio_reply_has_detail(explained, HELIO_DETAIL_PROCESSES_RUN))
        return; /* the state says it */
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
    helio_buffer_printf(&text, "); shown: task %s; `helio explain %.*s.N` shows task N",
                        strchr(id, '.') ? strchr(id, '.') + 1 : "-", (int)strcspn(id, "."), id);
    print_buffer(client, "Array", &text);
}

/*  The table is as old as the decision: the figures of a job that runs are not those of today. */
static void print_decided(const helio_client_t *client, const json_t *explained)
{
    const char *at = helio_output_string(explained, "decided_at"), *site = helio_output_string(explained, "chosen");
    bool queued = strcmp(helio_output_string(explained, "state"), "queued") == 0;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    if (!at[0])
        return;
    helio_buffer_printf(&text, "%.40s, %s", at,
                        queued ? "the newest decision on the job" : "the decision that placed it");
    if (!queued && site[0])
        helio_buffer_printf(&text, " at %.64s", site);
    print_buffer(client, "Figures of", &text);
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
    if (client->output.format == HELIO_FORMAT_CSV && json_is_array(json_object_get(explained, "candidates")))
        return helio_output_rows(&client->output, json_object_get(explained, "candidates"),
                                 helio_columns_of_candidates) == HELIO_OK
                   ? HELIO_EXIT_OK
                   : HELIO_EXIT_OWN;
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
    helio_print_silence(client, explained);
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
        print_decided(client, explained);
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
