/*  jobs.c -- `ls`, `show`, `cancel`, `hold`, `release`, `requeue`: commands that send one request per job. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "client/commands/commands.h"
#include "client/commands/listing.h"
#include "client/reasons/reply_details.h"
#include "client/reasons/start_estimate.h"
#include "client/transport/escape.h"
#include "federation/base/suggest.h"

enum { PAGE_ROWS = 1000, ROWS_BY_DEFAULT = 100 };

static int printed(helio_rc rc)
{
    return rc == HELIO_OK ? HELIO_EXIT_OK : HELIO_EXIT_OWN;
}

/*  ---- ls ---- */

static void add_filter(const helio_client_t *client, uint32_t option, const char *key, helio_buffer_t *path)
{
    const char *value = helio_client_value(client, option);
    if (!value)
        return;
    helio_buffer_printf(path, "&%s=", key);
    helio_url_escape(value, path);
}

/*  Appends one page of jobs; *cursor becomes the cursor of the next page, or is emptied. */
static int list_page(helio_client_t *client, uint64_t limit, helio_buffer_t *cursor, json_t *rows)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t path = {0};
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    helio_buffer_printf(&path, "/v1/jobs?limit=%llu", (unsigned long long)limit);
    add_filter(client, HELIO_OPTION_STATE, "state", &path);
    add_filter(client, HELIO_OPTION_QUEUE, "queue", &path);
    add_filter(client, HELIO_OPTION_NAME, "name", &path);
    if (cursor->size) {
        helio_buffer_text(&path, "&cursor=");
        helio_url_escape(cursor->data, &path);
    }
    json_t *list;
    int code = helio_listing_ask(client, path.data, "jobs", &reply, &list);
    if (code != HELIO_EXIT_OK)
        return code;
    const char *next = helio_output_string(reply, "next");
    bool stuck = json_array_size(list) == 0 || (cursor->size && strcmp(cursor->data, next) == 0);
    if (json_array_extend(rows, list) != 0)
        abort();
    helio_buffer_reset(cursor);
    if (!stuck)
        helio_buffer_text(cursor, next);
    return HELIO_EXIT_OK;
}

/*  Why a job is held takes several sentences, of which the first names the cause; `helio explain` has them all. */
static void shorten_reason(json_t *row)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    json_t *first = json_array_get(json_object_get(row, "details"), 0), *list = first ? json_pack("[O]", first) : NULL;
    helio_reply_sentences(list, &text);
    json_decref(list);
    if (text.size && json_object_set_new(row, "reason", json_string(text.data)) != 0)
        abort();
}

/*  A running job needs no reason, and a job without GPUs has no GPU model of its own, only its pool has. */
static void leave_out_what_says_nothing(const helio_client_t *client, json_t *rows)
{
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        if (client->output.format > HELIO_FORMAT_WIDE)
            return;
        if (strcmp(helio_output_string(row, "state"), "running") == 0)
            (void)json_object_del(row, "reason");
        if (helio_output_number(row, "gpus", 1) < 1)
            (void)json_object_del(row, "gpu_model");
        if (strcmp(helio_output_string(row, "state"), "held") == 0)
            shorten_reason(row);
    }
}

/*  The tenant column is shown only when the jobs belong to several tenants. */
static helio_rc print_jobs(const helio_client_t *client, const json_t *rows)
{
    helio_columns_t columns = helio_columns_of_jobs;
    helio_column_t shown[32];
    assert(columns.count <= sizeof shown / sizeof shown[0]);
    const char *first = helio_output_string(json_array_get(rows, 0), "tenant");
    bool several = false;
    for (size_t i = 1; !several && i < json_array_size(rows); i++)
        several = strcmp(helio_output_string(json_array_get(rows, i), "tenant"), first) != 0;
    for (size_t i = 0; i < columns.count; i++) {
        shown[i] = columns.items[i];
        if (strcmp(shown[i].key, "tenant") == 0)
            shown[i].wide = !several;
    }
    return helio_output_rows(&client->output, rows, (helio_columns_t){shown, columns.count, columns.name_key});
}

/*  An unknown queue would otherwise look like a queue without jobs. */
static void note_queue(const helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    const char *queue = helio_client_value(client, HELIO_OPTION_QUEUE);
    helio_suggestion_t near = {.written = helio_text_of(queue ? queue : "")};
    json_t *queues, *row;
    size_t i;
    if (!queue || helio_ask_get(client, "/v1/queues", &reply) != HELIO_EXIT_OK ||
        helio_response_list(client, reply, "queues", &queues) != HELIO_EXIT_OK)
        return;
    json_array_foreach(queues, i, row)
    {
        const char *name = helio_output_string(row, "queue");
        if (strcmp(name, queue) == 0)
            return;
        helio_suggestion_offer(&near, name);
    }
    helio_client_say(client, "note: unknown queue '%.64s'%s%.64s%s; `helio queues` lists the queues", queue,
                     near.best ? " (did you mean '" : "", near.best ? near.best : "", near.best ? "'?)" : "");
}

int helio_cmd_ls(helio_client_t *client)
{
    uint64_t limit;
    if (!helio_listing_limit(client, ROWS_BY_DEFAULT, &limit))
        return HELIO_EXIT_USAGE;
    HELIO_AUTO(helio_json_clear) json_t *rows = json_array();
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t cursor = {0};
    do {
        uint64_t left = limit - json_array_size(rows);
        int code = list_page(client, left < PAGE_ROWS ? left : PAGE_ROWS, &cursor, rows);
        if (code != HELIO_EXIT_OK)
            return code;
    } while (cursor.size && json_array_size(rows) < limit);
    leave_out_what_says_nothing(client, rows);
    helio_rc rc = print_jobs(client, rows);
    if (json_array_size(rows) == 0)
        note_queue(client);
    if (cursor.size && !helio_client_has(client, HELIO_OPTION_LIMIT))
        helio_client_say(client, "There are more jobs: use --limit N or --all.");
    return printed(rc);
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

/*  One is waited for for about a minute if the broker has too much to do. Once that was in vain, the others are not waited
 *  for again: the command ends. */
static int each_job(helio_client_t *client, const char *method, const char *before, const char *after, const char *done)
{
    const helio_command_line_t *arguments = client->arguments;
    int worst = HELIO_EXIT_OK;
    for (uint32_t i = 0; i < arguments->word_count; i++) {
        const char *id = arguments->words[i];
        HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
        helio_request_t request = {.method = method,
                                   .path = helio_path(client, before, id, after),
                                   .waits_while_busy = worst != HELIO_EXIT_FAILURE,
                                   .waits_for = client};
        if (strcmp(method, "POST") == 0)
            request.body = HELIO_TEXT("{}");
        int code = helio_ask(client, &request, &reply);
        if (code == HELIO_EXIT_OK) {
            const char *whole = helio_output_string(reply, "id");
            helio_client_say(client, "%s %s", done, whole[0] ? whole : id);
        } else {
            worst = code;
        }
        if (code == HELIO_EXIT_UNREACHABLE || code == HELIO_EXIT_INTERRUPTED)
            break;
    }
    return worst;
}

int helio_cmd_cancel(helio_client_t *client)
{
    bool now = helio_client_has(client, HELIO_OPTION_NOW);
    return each_job(client, "DELETE", "/v1/jobs/", now ? "?now=true" : "", "cancelling");
}

int helio_cmd_hold(helio_client_t *client)
{
    return each_job(client, "POST", "/v1/jobs/", "/hold", "held");
}

int helio_cmd_requeue(helio_client_t *client)
{
    return each_job(client, "POST", "/v1/jobs/", "/requeue", "requeueing");
}

int helio_cmd_release(helio_client_t *client)
{
    return each_job(client, "POST", "/v1/jobs/", "/release", "released");
}
