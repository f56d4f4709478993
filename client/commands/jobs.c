/*  jobs.c -- `show`, `cancel`, `hold`, `release`, `requeue`: commands that send one request per job. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/commands/choice.h"
#include "client/commands/commands.h"
#include "client/output/columns.h"
#include "client/reasons/reply_details.h"
#include "client/reasons/start_estimate.h"
#include "client/transport/response.h"

enum { CHOSEN_MOST = 10000 };

static int printed(helio_rc rc)
{
    return rc == HELIO_OK ? HELIO_EXIT_OK : HELIO_EXIT_OWN;
}

/*  ---- show ---- */

static int ask_job(helio_client_t *client, const char *id, json_t **ret_job)
{
    json_t *job = NULL;
    int code = helio_ask_get(client, helio_path(client, "/v1/jobs/", id, ""), &job);
    if (code != HELIO_EXIT_OK)
        return code;
    if (!json_is_object(job) || !helio_output_string(job, "state")[0]) {
        json_decref(job);
        return helio_client_fail(client, HELIO_EXIT_OWN,
                                 "the broker's answer is not a job; do the versions of helio "
                                 "and the broker differ?");
    }
    *ret_job = job;
    return HELIO_EXIT_OK;
}

/*  The use of a job is known when an attempt ends. Before the first one ends, zeros would look like a free job. */
static bool leave_out_unknown_use(const json_t *job, json_t *shown)
{
    static const char *const over[] = {"succeeded", "failed", "timeout", "cancelled", "lost"};
    static const char *const keys[] = {"gpu_seconds", "cost_usd", "energy_kwh", "carbon_g"};
    const char *state = helio_output_string(job, "state");
    for (size_t i = 0; i < sizeof over / sizeof over[0]; i++)
        if (strcmp(state, over[i]) == 0)
            return false;
    bool used = false;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        used = used || json_number_value(json_object_get(job, keys[i])) != 0;
    for (size_t i = 0; !used && i < sizeof keys / sizeof keys[0]; i++)
        (void)json_object_del(shown, keys[i]);
    return used;
}

static helio_rc print_job(const helio_client_t *client, const json_t *job)
{
    FILE *out = client->io->out;
    HELIO_AUTO(helio_json_clear) json_t *shown = json_copy((json_t *)(uintptr_t)job);
    const json_t *gpus = json_object_get(job, "gpus");
    if (json_is_integer(gpus) && json_integer_value(gpus) == 0)
        (void)json_object_del(shown, "gpu_model"); /* that of its pool; the job has no GPUs */
    if (helio_reply_has_detail(job, HELIO_DETAIL_PROCESSES_RUN) &&
        !helio_reply_has_detail(job, HELIO_DETAIL_SCHEDULER_JOB))
        (void)json_object_del(shown, "reason"); /* the state says it */
    if (helio_output_number(job, "flexible_s", 0) == 0)
        (void)json_object_del(shown, "flexible_s");
    bool so_far = leave_out_unknown_use(job, shown);
    helio_rc rc = helio_output_object(&client->output, shown, helio_columns_of_job);
    helio_print_silence(client, job);
    if (so_far)
        fputs("\nGPU time, cost, energy and CO2e cover the attempts that have ended.\n", out);
    const json_t *tasks = json_object_get(job, "tasks");
    if (json_is_object(tasks) && json_object_size(tasks)) {
        fputs("\nTasks\n", out);
        helio_output_counts(&client->output, tasks, 0);
    }
    if (rc == HELIO_OK)
        rc = helio_edits_print(client, job);
    const json_t *history = json_object_get(job, "history");
    if (json_is_array(history) && json_array_size(history)) {
        fputs("\n", out);
        if (rc == HELIO_OK)
            rc = helio_output_rows(&client->output, history, helio_columns_of_history);
    }
    return rc;
}

int helio_cmd_show(helio_client_t *client)
{
    const helio_command_line_t *arguments = client->arguments;
    bool table = client->output.format <= HELIO_FORMAT_WIDE;
    HELIO_AUTO(helio_json_clear) json_t *jobs = json_array();
    int worst = HELIO_EXIT_OK;
    for (uint32_t i = 0; i < arguments->word_count; i++) {
        json_t *job;
        int code = ask_job(client, arguments->words[i], &job);
        if (code == HELIO_EXIT_OK && json_array_append_new(jobs, job) != 0)
            abort();
        if (code != HELIO_EXIT_OK)
            worst = code;
        if (code == HELIO_EXIT_UNREACHABLE || code == HELIO_EXIT_INTERRUPTED)
            break;
    }
    helio_rc rc = HELIO_OK;
    size_t i;
    json_t *job;
    json_array_foreach(jobs, i, job)
    {
        if (table && i)
            fputs("\n", client->io->out);
        if (table && rc == HELIO_OK)
            rc = print_job(client, job);
    }
    if (!table && arguments->word_count == 1 && json_array_size(jobs))
        rc = helio_output_object(&client->output, json_array_get(jobs, 0), helio_columns_of_job);
    else if (!table && json_array_size(jobs))
        rc = helio_output_rows(&client->output, jobs, helio_columns_of_job);
    return worst != HELIO_EXIT_OK ? worst : printed(rc);
}

/*  ---- cancel, hold, release, requeue ---- */

#define OPEN_STATES "queued,offered,accepted,starting,running,suspended,stopping,suspect,held"

/*  One command on jobs. states: of those that filters choose if --state does not say it; NULL: it takes no filters. */
typedef struct verb {
    const char *method, *after; /* of the request */
    const char *asks, *done;    /* "cancel", "cancelling" */
    const char *states;
} verb_t;

/*  One is waited for for about a minute if the broker has too much to do. Once that was in vain, the others are not waited
 *  for again: the command ends. ids: texts. */
static int each_job(helio_client_t *client, const verb_t *verb, const json_t *ids)
{
    int worst = HELIO_EXIT_OK;
    size_t i;
    const json_t *one;
    json_array_foreach(ids, i, one)
    {
        const char *id = json_string_value(one);
        HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
        helio_request_t request = {.method = verb->method,
                                   .path = helio_path(client, "/v1/jobs/", id, verb->after),
                                   .waits_while_busy = worst != HELIO_EXIT_FAILURE,
                                   .waits_for = client};
        if (strcmp(verb->method, "POST") == 0)
            request.body = HELIO_TEXT("{}");
        int code = helio_ask(client, &request, &reply);
        if (code == HELIO_EXIT_OK) {
            const char *whole = helio_output_string(reply, "id");
            helio_client_say(client, "%s %s", verb->done, whole[0] ? whole : id);
        } else {
            worst = code;
        }
        if (code == HELIO_EXIT_UNREACHABLE || code == HELIO_EXIT_INTERRUPTED)
            break;
    }
    return worst;
}

/*  Filters choose among the caller's own jobs, unless --user or --tenant names others. Where only some tasks of an array may fit, tasks are
 *  chosen one by one. */
static bool query_of(const helio_client_t *client, const verb_t *verb, helio_buffer_t *query)
{
    bool by_task = helio_client_has(client, HELIO_OPTION_STATE) || helio_client_has(client, HELIO_OPTION_SITE);
    bool others = helio_client_has(client, HELIO_OPTION_USER) || helio_client_has(client, HELIO_OPTION_TENANT);
    if (!helio_choice_query(client, query))
        return false;
    if (!others && !helio_client_has(client, HELIO_OPTION_MINE))
        helio_buffer_text(query, "&mine=true");
    if (!helio_client_has(client, HELIO_OPTION_STATE))
        helio_buffer_printf(query, "&state=%s", verb->states);
    helio_buffer_text(query, by_task ? "" : "&arrays=whole");
    return true;
}

/*  The ids of what the filters choose, after a question. FAILURE: nobody confirmed it. */
static int choose(helio_client_t *client, const verb_t *verb, json_t *ids)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t query = {0};
    HELIO_AUTO(helio_json_clear) json_t *rows = json_array(), *reply = NULL;
    bool more;
    size_t i;
    const json_t *row;
    if (!query_of(client, verb, &query))
        return HELIO_EXIT_USAGE;
    int code = helio_choice_ask(client, query.data, CHOSEN_MOST, rows, &more, &reply);
    if (code != HELIO_EXIT_OK)
        return code;
    long long jobs = (long long)json_array_size(rows), tasks = 0;
    json_array_foreach(rows, i, row)
    {
        tasks += (long long)helio_output_number(row, "tasks_total", 1);
        if (json_array_append_new(ids, json_string(helio_output_string(row, "id"))) != 0)
            abort();
    }
    if (!jobs) {
        helio_choice_note_names(client, reply);
        helio_client_say(client, "no job fits: nothing to %s", verb->asks);
        return HELIO_EXIT_OK;
    }
    char question[160], with_tasks[48] = "";
    if (tasks > jobs)
        (void)snprintf(with_tasks, sizeof with_tasks, " with %lld tasks", tasks);
    (void)snprintf(question, sizeof question, "%s %lld %s%s%s?", verb->asks, jobs, jobs == 1 ? "job" : "jobs",
                   with_tasks, more ? ", the newest that fit" : "");
    return helio_client_confirm(client, question);
}

static int command(helio_client_t *client, const verb_t *verb)
{
    const helio_command_line_t *arguments = client->arguments;
    bool chosen = verb->states && helio_choice_is_made(client);
    HELIO_AUTO(helio_json_clear) json_t *ids = json_array();
    int code = HELIO_EXIT_OK;
    if (chosen && arguments->word_count)
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "`helio %s` takes ids, or options that choose jobs, not both", verb->asks);
    if (!chosen && !arguments->word_count)
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "`helio %s` needs %s\nusage: helio %s %s\nhelp: see `helio help %s`", verb->asks,
                                 client->command->synopsis, verb->asks, client->command->synopsis, verb->asks);
    for (uint32_t i = 0; i < arguments->word_count; i++)
        if (json_array_append_new(ids, json_string(arguments->words[i])) != 0)
            return helio_client_fail(client, HELIO_EXIT_USAGE, "an id is not UTF-8");
    if (chosen)
        code = choose(client, verb, ids);
    return code == HELIO_EXIT_OK ? each_job(client, verb, ids) : code;
}

int helio_cmd_cancel(helio_client_t *client)
{
    const char *after = helio_client_has(client, HELIO_OPTION_NOW) ? "?now=true" : "";
    return command(client, &(verb_t){"DELETE", after, "cancel", "cancelling", OPEN_STATES});
}

int helio_cmd_hold(helio_client_t *client)
{
    return command(client, &(verb_t){"POST", "/hold", "hold", "held", "queued"});
}

int helio_cmd_requeue(helio_client_t *client)
{
    return command(client, &(verb_t){"POST", "/requeue", "requeue", "requeueing", NULL});
}

int helio_cmd_release(helio_client_t *client)
{
    return command(client, &(verb_t){"POST", "/release", "release", "released", "held"});
}
