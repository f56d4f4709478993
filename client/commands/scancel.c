/*  scancel.c -- `scancel` and `scontrol` for jobs of the federation. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client/commands/commands.h"
#include "client/commands/slurm_jobs.h"
#include "client/slurm/fields.h"
#include "client/slurm/options.h"
#include "client/transport/response.h"
#include "federation/base/clock.h"

/* ---- scancel ------------------------------------------------------------------------------------------------ */

/*  Other signals do not end a job, and the broker does not pass them on. */
static int check_signal(const helio_client_t *client, const char *word)
{
    static const char *const ends[] = {"TERM", "KILL", "INT", "15", "9", "2"};
    if (!word)
        return HELIO_EXIT_OK;
    const char *name = strncasecmp(word, "SIG", 3) == 0 ? word + 3 : word;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (strcasecmp(name, ends[i]) == 0)
            return HELIO_EXIT_OK;
    return helio_client_fail(
        client, HELIO_EXIT_USAGE,
        "the federation sends no signal %.32s\nhelp: a job that is cancelled, preempted or requeued gets the "
        "signal of its `--signal` (`checkpoint: {signal}`) first; at a Slurm site its owner sends others with the "
        "cluster's own scancel and the job number there, which `helio show` prints",
        word);
}

static int cancel(const helio_client_t *client, const char *id, bool verbose)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    helio_request_t request = {.method = "DELETE", .path = helio_path(client, "/v1/jobs/", id, "")};
    int code = helio_ask(client, &request, &reply);
    if (code == HELIO_EXIT_OK && verbose)
        helio_client_say(client, "scancel: Terminating job %s", id);
    return code;
}

static void keep(json_t *ids, const char *id)
{
    if (json_array_append_new(ids, json_string(id)) != 0)
        abort();
}

/*  Those that the options choose among the jobs that are not over. */
static int choose(const helio_client_t *client, const helio_command_line_t *line, const char *words, json_t *ids)
{
    const char *name = helio_command_line_value(line, HELIO_SCANCEL_NAME);
    helio_slurm_choice_t choice = {.ids = words,
                                   .users = helio_command_line_value(line, HELIO_SCANCEL_USER),
                                   .names = name ? name : helio_command_line_value(line, HELIO_SCANCEL_JOB_NAME),
                                   .accounts = helio_command_line_value(line, HELIO_SCANCEL_ACCOUNT),
                                   .qos = helio_command_line_value(line, HELIO_SCANCEL_QOS),
                                   .partitions = helio_command_line_value(line, HELIO_SCANCEL_PARTITION),
                                   .clusters = helio_command_line_value(line, HELIO_SCANCEL_CLUSTERS),
                                   .states = helio_command_line_value(line, HELIO_SCANCEL_STATE),
                                   .me = helio_command_line_has(line, HELIO_SCANCEL_ME)};
    HELIO_AUTO(helio_json_clear) json_t *jobs = json_array();
    size_t i;
    json_t *job;
    int code = helio_slurm_jobs(client, &choice, jobs);
    json_array_foreach(jobs, i, job) keep(ids, helio_output_string(job, "id"));
    return code;
}

static bool chooses(const helio_command_line_t *line)
{
    static const uint32_t options[] = {HELIO_SCANCEL_USER,    HELIO_SCANCEL_NAME,      HELIO_SCANCEL_JOB_NAME,
                                       HELIO_SCANCEL_ACCOUNT, HELIO_SCANCEL_QOS,       HELIO_SCANCEL_CLUSTERS,
                                       HELIO_SCANCEL_STATE,   HELIO_SCANCEL_PARTITION, HELIO_SCANCEL_ME};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        if (helio_command_line_has(line, options[i]))
            return true;
    return false;
}

static const char *joined(const helio_client_t *client, const helio_command_line_t *line)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t list = {0};
    for (uint32_t i = 0; i < line->word_count; i++)
        helio_buffer_printf(&list, "%s%s", i ? "," : "", line->words[i]);
    return line->word_count ? helio_arena_string(client->arena, helio_buffer_view(&list)) : NULL;
}

int helio_cmd_scancel(helio_client_t *client)
{
    helio_command_line_t line;
    int code = helio_slurm_words(client, &line), worst = HELIO_EXIT_OK;
    if (code != HELIO_EXIT_OK)
        return code;
    code = check_signal(client, helio_command_line_value(&line, HELIO_SCANCEL_SIGNAL));
    if (code != HELIO_EXIT_OK)
        return code;
    if (!line.word_count && !chooses(&line))
        return helio_client_fail(client, HELIO_EXIT_USAGE, "scancel needs an id, or an option that chooses jobs");
    HELIO_AUTO(helio_json_clear) json_t *ids = json_array();
    if (chooses(&line))
        worst = choose(client, &line, joined(client, &line), ids);
    for (uint32_t i = 0; i < line.word_count && !chooses(&line) && worst == HELIO_EXIT_OK; i++)
        worst = helio_slurm_ids(client, line.words[i], ids);
    if (worst != HELIO_EXIT_OK && worst != HELIO_EXIT_NOT_FOUND)
        return worst;
    size_t i;
    json_t *id;
    json_array_foreach(ids, i, id)
    {
        code = cancel(client, json_string_value(id), helio_command_line_has(&line, HELIO_SCANCEL_VERBOSE));
        worst = code != HELIO_EXIT_OK ? code : worst;
        if (code == HELIO_EXIT_UNREACHABLE || code == HELIO_EXIT_INTERRUPTED)
            break;
    }
    return worst == HELIO_EXIT_NOT_FOUND && helio_command_line_has(&line, HELIO_SCANCEL_QUIET) ? HELIO_EXIT_OK : worst;
}

/* ---- scontrol ----------------------------------------------------------------------------------------------- */

/*  A length as Slurm's scontrol writes it: HH:MM:SS at least. */
static void put_padded(helio_text_t length, helio_buffer_t *out)
{
    static const char zeros[] = "00:00:00";
    bool counts = length.size && length.data[0] >= '0' && length.data[0] <= '9';
    uint32_t missing = counts && length.size < sizeof zeros - 1 ? (uint32_t)(sizeof zeros - 1) - length.size : 0;
    helio_buffer_printf(out, "%.*s%.*s", (int)missing, zeros, HELIO_TEXT_ARGS(length));
}

static void put_job(const helio_client_t *client, const json_t *job, bool one_line, helio_buffer_t *out)
{
    static const struct {
        const char *key;
        helio_slurm_field_t field;
        bool begins; /* a line */
    } lines[] = {
        {"JobId", HELIO_SLURM_FIELD_JOB_ID, false},
        {"JobName", HELIO_SLURM_FIELD_NAME, false},
        {"UserId", HELIO_SLURM_FIELD_USER, true},
        {"Account", HELIO_SLURM_FIELD_ACCOUNT, false},
        {"QOS", HELIO_SLURM_FIELD_QOS, false},
        {"JobState", HELIO_SLURM_FIELD_STATE, true},
        {"Reason", HELIO_SLURM_FIELD_REASON, false},
        {"Priority", HELIO_SLURM_FIELD_PRIORITY, true},
        {"Restarts", HELIO_SLURM_FIELD_RESTARTS, false},
        {"ExitCode", HELIO_SLURM_FIELD_EXIT_CODE, false},
        {"RunTime", HELIO_SLURM_FIELD_ELAPSED, true},
        {"TimeLimit", HELIO_SLURM_FIELD_TIME_LIMIT, false},
        {"SubmitTime", HELIO_SLURM_FIELD_SUBMIT, true},
        {"StartTime", HELIO_SLURM_FIELD_START, true},
        {"EndTime", HELIO_SLURM_FIELD_END, false},
        {"Cluster", HELIO_SLURM_FIELD_CLUSTER, true},
        {"Partition", HELIO_SLURM_FIELD_PARTITION, false},
        {"NodeList", HELIO_SLURM_FIELD_NODE_LIST, false},
        {"NumNodes", HELIO_SLURM_FIELD_NODES, true},
        {"TresPerNode", HELIO_SLURM_FIELD_GPUS, false},
    };
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    int64_t wall_ms = client->output.wall_ms ? client->output.wall_ms : helio_clock_wall_ms();
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        helio_buffer_reset(&text);
        helio_slurm_field_shown(job, lines[i].field, client->output.zone, wall_ms, &text);
        helio_buffer_printf(out, "%s%s=", !i ? "" : lines[i].begins && !one_line ? "\n   " : " ", lines[i].key);
        if (lines[i].field == HELIO_SLURM_FIELD_ELAPSED || lines[i].field == HELIO_SLURM_FIELD_TIME_LIMIT)
            put_padded(helio_buffer_view(&text), out);
        else
            helio_buffer_append(out, text.data ? text.data : "", text.size);
    }
    helio_buffer_text(out, one_line ? "\n" : "\n\n");
}

static int show(helio_client_t *client, const char *list, bool one_line)
{
    helio_slurm_choice_t choice = {.ids = list, .over = list != NULL};
    HELIO_AUTO(helio_json_clear) json_t *jobs = json_array();
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    size_t i;
    json_t *job;
    int code = helio_slurm_jobs(client, &choice, jobs);
    json_array_foreach(jobs, i, job) put_job(client, job, one_line, &out);
    (void)fwrite(out.data ? out.data : "", 1, out.size, client->io->out);
    return code;
}

/*  verb: one of job_verbs */
static int post_each(helio_client_t *client, const helio_command_line_t *line, const char *verb)
{
    HELIO_AUTO(helio_json_clear) json_t *ids = json_array();
    int worst = HELIO_EXIT_OK;
    size_t i;
    json_t *id;
    for (uint32_t w = 1; w < line->word_count && worst == HELIO_EXIT_OK; w++)
        worst = helio_slurm_id_list(client, line->words[w], ids);
    json_array_foreach(ids, i, id)
    {
        HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
        const char *after = helio_arena_printf(client->arena, "/%s", verb).data;
        const char *path = helio_path(client, "/v1/jobs/", json_string_value(id), after);
        int code = helio_ask_post(client, path, NULL, &reply);
        worst = code != HELIO_EXIT_OK ? code : worst;
    }
    return worst;
}

int helio_cmd_scontrol(helio_client_t *client)
{
    helio_command_line_t line;
    int code = helio_slurm_words(client, &line);
    if (code != HELIO_EXIT_OK)
        return code;
    const char *verb = line.word_count ? line.words[0] : "";
    bool jobs = line.word_count > 1 && (strcmp(line.words[1], "job") == 0 || strcmp(line.words[1], "jobs") == 0);
    if (strcmp(verb, "show") == 0 && jobs && line.word_count <= 3)
        return show(client, line.word_count == 3 ? line.words[2] : NULL,
                    helio_command_line_has(&line, HELIO_SCONTROL_ONE_LINE));
    static const char *const job_verbs[] = {"hold", "release", "requeue"};
    for (size_t i = 0; i < sizeof job_verbs / sizeof job_verbs[0] && line.word_count > 1; i++)
        if (strcmp(verb, job_verbs[i]) == 0)
            return post_each(client, &line, verb);
    if (strcmp(verb, "update") == 0)
        return helio_client_fail(
            client, HELIO_EXIT_USAGE,
            "scontrol: a job cannot be updated in Slurm's words\nhelp: `helio edit ID` changes the queue, priority, goal, "
            "deadline and limits of a waiting job; its time limit, nodes and GPUs stay as submitted: cancel it and "
            "submit it again to change them");
    return helio_client_fail(
        client, HELIO_EXIT_USAGE,
        "scontrol: only `show job [ID]`, `hold ID`, `release ID` and `requeue ID` exist here\nhelp: `helio edit` changes what "
        "a waiting job asks for, `helio cancel` ends one; at its cluster, a job is named after its id");
}
