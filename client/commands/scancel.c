/*  scancel.c -- `scancel` for jobs of the federation. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client/commands/commands.h"
#include "client/commands/slurm_jobs.h"
#include "client/slurm/options.h"
#include "client/transport/response.h"

/* ---- scancel ------------------------------------------------------------------------------------------------ */

/*  What the broker passes on; the numbers are those of the sites. */
static const struct {
    const char *name, *number;
} signals[] = {{"HUP", "1"},   {"INT", "2"},   {"QUIT", "3"},  {"KILL", "9"},
               {"USR1", "10"}, {"USR2", "12"}, {"TERM", "15"}, {"CONT", "18"}};

/*  "SIGUSR1", "usr1" or "10" by its name; NULL: an error was printed. */
static const char *signal_of(const helio_client_t *client, const char *word)
{
    const char *name = strncasecmp(word, "SIG", 3) == 0 ? word + 3 : word;
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        if (strcasecmp(name, signals[i].name) == 0 || strcmp(word, signals[i].number) == 0)
            return signals[i].name;
    (void)helio_client_fail(
        client, HELIO_EXIT_USAGE,
        "scancel: the federation passes on no signal %.32s\nhelp: it passes on HUP, INT, QUIT, KILL, USR1, "
        "USR2, TERM and CONT; at a Slurm site its owner sends others with the cluster's own scancel and the "
        "job number there, which `helio show` prints",
        word);
    return NULL;
}

/*  to: as the broker calls it. */
static int send_signal(const helio_client_t *client, const char *id, const char *signal, const char *to)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL, *body = json_pack("{s:s, s:s}", "signal", signal, "to", to);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    if (!body)
        abort(); /* memory */
    helio_output_json(body, false, &text);
    helio_request_t request = {
        .method = "POST", .path = helio_path(client, "/v1/jobs/", id, "/signal"), .body = helio_buffer_view(&text)};
    return helio_ask(client, &request, &reply);
}

static int cancel(const helio_client_t *client, const char *id, bool now, bool verbose, bool waits)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    helio_request_t request = {.method = "DELETE",
                               .path = helio_path(client, "/v1/jobs/", id, now ? "?now=true" : ""),
                               .waits_while_busy = waits,
                               .waits_for = client};
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
    const char *word = helio_command_line_value(&line, HELIO_SCANCEL_SIGNAL), *signal = NULL;
    const char *to = helio_command_line_has(&line, HELIO_SCANCEL_BATCH)  ? "script"
                     : helio_command_line_has(&line, HELIO_SCANCEL_FULL) ? "all"
                                                                         : "job";
    if (word && !(signal = signal_of(client, word)))
        return HELIO_EXIT_USAGE;
    bool now = signal && strcmp(signal, "KILL") == 0 && strcmp(to, "job") == 0;
    if (now)
        signal = NULL; /* as in Slurm, that cancels the job, without grace */
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
        code = signal ? send_signal(client, json_string_value(id), signal, to)
                      : cancel(client, json_string_value(id), now, helio_command_line_has(&line, HELIO_SCANCEL_VERBOSE),
                               worst != HELIO_EXIT_FAILURE);
        worst = code != HELIO_EXIT_OK ? code : worst;
        if (code == HELIO_EXIT_UNREACHABLE || code == HELIO_EXIT_INTERRUPTED)
            break;
    }
    return worst == HELIO_EXIT_NOT_FOUND && helio_command_line_has(&line, HELIO_SCANCEL_QUIET) ? HELIO_EXIT_OK : worst;
}
