/*  scontrol.c -- `scontrol` for jobs of the federation. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client/commands/commands.h"
#include "client/commands/slurm_jobs.h"
#include "client/sbatch/sbatch.h"
#include "client/slurm/fields.h"
#include "client/slurm/options.h"
#include "client/transport/response.h"
#include "federation/base/clock.h"

/* ---- show --------------------------------------------------------------------------------------------------- */

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

/*  list: ids, separated by commas. body: NULL = none. */
static int each(helio_client_t *client, const char *list, const char *method, const char *after, const json_t *body)
{
    HELIO_AUTO(helio_json_clear) json_t *ids = json_array();
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    if (body)
        helio_output_json(body, false, &text);
    int worst = helio_slurm_id_list(client, list, ids);
    size_t i;
    json_t *id;
    json_array_foreach(ids, i, id)
    {
        HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
        helio_request_t request = {.method = method,
                                   .path = helio_path(client, "/v1/jobs/", json_string_value(id), after),
                                   .body = helio_buffer_view(&text),
                                   .waits_while_busy = worst != HELIO_EXIT_FAILURE,
                                   .waits_for = client};
        int code = helio_ask(client, &request, &reply);
        worst = code != HELIO_EXIT_OK ? code : worst;
    }
    return worst;
}

/*  verb: one of job_verbs */
static int post_each(helio_client_t *client, const helio_command_line_t *line, const char *verb)
{
    const char *after = helio_arena_printf(client->arena, "/%s", verb).data;
    int worst = HELIO_EXIT_OK;
    for (uint32_t w = 1; w < line->word_count && worst != HELIO_EXIT_USAGE; w++) {
        int code = each(client, line->words[w], "POST", after, NULL);
        worst = code != HELIO_EXIT_OK ? code : worst;
    }
    return worst;
}

/* ---- update ------------------------------------------------------------------------------------------------- */

/*  "JobId=…" or "TimeLimit+=…": the value if the word has that name, in any case. *ret_sign: what stands before the "=", or before the
 *  value: '+', '-' or 0. */
static const char *value_of(const char *word, const char *name, char *ret_sign)
{
    size_t size = strlen(name);
    if (strncasecmp(word, name, size) != 0)
        return NULL;
    const char *at = word + size;
    char sign = *at == '+' || *at == '-' ? *at++ : 0;
    if (*at++ != '=')
        return NULL;
    if (!sign && (*at == '+' || *at == '-') && strcmp(at, "-1") != 0) /* which is endless */
        sign = *at++;
    *ret_sign = sign;
    return at;
}

/*  The time limit as a body of an edit; NULL: an error was printed. */
static json_t *limit_body(const helio_client_t *client, const char *value, char sign)
{
    uint64_t ms;
    bool endless;
    if (!helio_sbatch_time(value, &ms, &endless) || (endless && sign)) {
        (void)helio_client_fail(client, HELIO_EXIT_USAGE,
                                "scontrol: TimeLimit must be a time such as 90, 1:30:00, 2-12 or +30, not '%.64s'",
                                value);
        return NULL;
    }
    const char before[2] = {sign, '\0'};
    const char *text = helio_arena_printf(client->arena, "%s%llus", before, (unsigned long long)(ms / 1000)).data;
    json_t *body = json_object();
    if (!body || json_object_set_new(body, "time", endless ? json_null() : json_string(text)) != 0)
        abort(); /* memory */
    return body;
}

static int update(helio_client_t *client, const helio_command_line_t *line)
{
    const char *ids = NULL, *limit = NULL;
    char sign = 0, none = 0;
    for (uint32_t w = 1; w < line->word_count; w++) {
        const char *id = value_of(line->words[w], "JobId", &none), *time = value_of(line->words[w], "TimeLimit", &sign);
        id = id ? id : value_of(line->words[w], "Job", &none);
        ids = id ? id : ids;
        limit = time ? time : limit;
        if (!id && !time)
            return helio_client_fail(
                client, HELIO_EXIT_USAGE,
                "scontrol: `update` changes only the TimeLimit of waiting jobs, not '%.64s'\nhelp: `helio edit ID` changes the "
                "queue, priority, goal, deadline and limits of a waiting job; its nodes and GPUs stay as submitted: cancel it and "
                "submit it again to change them",
                line->words[w]);
    }
    if (!ids || !limit)
        return helio_client_fail(
            client, HELIO_EXIT_USAGE,
            "scontrol: `update` needs a job and its new limit\nhelp: scontrol update JobId=4q8r7xyz TimeLimit=2:00:00");
    HELIO_AUTO(helio_json_clear) json_t *body = limit_body(client, limit, sign);
    return body ? each(client, ids, "PATCH", "", body) : HELIO_EXIT_USAGE;
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
        return update(client, &line);
    return helio_client_fail(
        client, HELIO_EXIT_USAGE,
        "scontrol: only `show job [ID]`, `hold ID`, `release ID`, `requeue ID` and `update JobId=ID TimeLimit=TIME` exist here\nhelp: `helio edit` changes what "
        "a waiting job asks for, `helio cancel` ends one; at its cluster, a job is named after its id");
}
