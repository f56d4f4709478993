/*  plan.c -- `plan`: where, when and at what cost a job would run. */
#include <string.h>

#include "client/commands/commands.h"
#include "client/jobs/drafts.h"
#include "client/output/columns.h"
#include "client/output/humanise.h"
#include "client/reasons/start_estimate.h"
#include "client/reasons/why.h"
#include "client/transport/response.h"
#include "federation/base/clock.h"
#include "federation/reason/codes.h"

/*  "Plan for finetune-70b   16 GPUs, 2 nodes, 6h   goal balanced, may wait 12h" */
static void print_head(const helio_client_t *client, const json_t *job, const json_t *tasks)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0}, safe = {0};
    char time[HELIO_HUMAN_SIZE];
    const char *goal = helio_output_string(job, "goal"), *name = helio_output_string(job, "name");
    unsigned gpus = (unsigned)helio_output_number(job, "gpus", 0),
             nodes = (unsigned)helio_output_number(job, "nodes", 0);
    helio_buffer_printf(&text, "Plan for %.64s   ", name[0] ? name : "a job");
    helio_buffer_text(&text, json_is_object(tasks) ? "each task " : "");
    if (gpus)
        helio_buffer_printf(&text, "%u GPU%s, ", gpus, gpus == 1 ? "" : "s");
    helio_human_duration(helio_output_number(job, "duration_s", 0), time);
    helio_buffer_printf(&text, "%u node%s, %s   ", nodes, nodes == 1 ? "" : "s", time);
    if (goal[0])
        helio_buffer_printf(&text, "goal %.16s", goal);
    else
        helio_buffer_text(&text, "own prices");
    if (helio_output_number(job, "flexible_s", 0) > 0) {
        helio_human_duration(helio_output_number(job, "flexible_s", 0), time);
        helio_buffer_printf(&text, ", may wait %s", time);
    }
    helio_safe_text(text.data, false, &safe);
    fprintf(client->io->out, "%s\n", safe.data);
}

/*  "3: 2 may start now; quota of acme: at most 16 GPUs at once, it needs 24" */
static void print_tasks(const helio_client_t *client, const json_t *tasks)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    const char *detail = helio_output_string(tasks, "detail");
    helio_buffer_printf(&text, "%.0f%s%s", helio_output_number(tasks, "count", 0), detail[0] ? ": " : "", detail);
    helio_print_line(client, "Tasks", text.data);
}

/*  Its submission would be accepted, and the job cancelled at once. */
static bool is_cancelled(const char *reason)
{
    return strcmp(reason, "DependencyFailed") == 0;
}

static bool is_never(const char *reason)
{
    return strcmp(reason, helio_reason_name(HELIO_REASON_NEVER_FITS)) == 0 || strcmp(reason, "Deadline") == 0 ||
           is_cancelled(reason);
}

static int print_plan(helio_client_t *client, const json_t *plan)
{
    if (helio_rfc3339_parse(helio_text_of(helio_output_string(plan, "planned_at")), &client->output.wall_ms) !=
        HELIO_OK)
        client->output.wall_ms = 0;
    const json_t *job = json_object_get(plan, "job");
    const char *reason = helio_output_string(plan, "reason"), *detail = helio_output_string(plan, "detail");
    const json_t *tasks = json_object_get(plan, "tasks");
    print_head(client, job, tasks);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t run = {0};
    helio_why_run(plan, &run);
    if (run.size)
        helio_print_line(client, "Expected run", run.data);
    HELIO_AUTO(helio_json_clear) json_t *rows = helio_why_rows(plan, helio_output_number(job, "flexible_s", 0));
    helio_rc rc = helio_output_rows(&client->output, rows, helio_columns_of_plan);
    if (reason[0]) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        helio_buffer_printf(&text, "%.64s%s%s", reason, detail[0] ? ": " : "", detail);
        helio_print_line(client, is_never(reason) ? "Cannot run" : "Would wait", text.data);
        if (!is_cancelled(reason)) /* else the line above has said all */
            (void)helio_start_estimate_print(client, plan, "");
    }
    if (json_is_object(tasks) && !is_cancelled(reason))
        print_tasks(client, tasks);
    const char *note = helio_output_string(plan, "note");
    if (note[0])
        helio_print_line(client, "Note", note);
    return rc == HELIO_OK ? HELIO_EXIT_OK : HELIO_EXIT_OWN;
}

int helio_cmd_plan(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *plan = NULL;
    helio_drafts_t drafts;
    int code = helio_drafts_read(client, client->arguments->words, 1, &drafts);
    if (code != HELIO_EXIT_OK)
        return code;
    if (drafts.count != 1)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "a plan covers one job, but the file has %u", drafts.count);
    helio_request_t request = {.method = "POST",
                               .path = "/v1/plans",
                               .content_type = drafts.items[0].json ? "application/json" : "application/yaml",
                               .body = drafts.items[0].text};
    code = helio_ask(client, &request, &plan);
    if (code != HELIO_EXIT_OK)
        return code;
    if (!json_is_array(json_object_get(plan, "candidates")))
        return helio_client_fail(client, HELIO_EXIT_OWN,
                                 "the broker's answer is not a plan; do the versions of helio and the broker differ?");
    if (client->output.format <= HELIO_FORMAT_WIDE)
        code = print_plan(client, plan);
    else if (client->output.format == HELIO_FORMAT_CSV)
        code =
            helio_output_rows(&client->output, json_object_get(plan, "candidates"), helio_columns_of_plan) == HELIO_OK
                ? HELIO_EXIT_OK
                : HELIO_EXIT_OWN;
    else
        code = helio_output_object(&client->output, plan, helio_columns_of_plan) == HELIO_OK ? HELIO_EXIT_OK
                                                                                             : HELIO_EXIT_OWN;
    helio_drafts_note_home(client, &drafts);
    const char *reason = helio_output_string(plan, "reason");
    /* as of a submission that is refused; one that is cancelled at once does not run either */
    return code == HELIO_EXIT_OK && is_never(reason) ? HELIO_EXIT_INFEASIBLE : code;
}
