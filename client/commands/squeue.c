/*  squeue.c -- `squeue` and `sacct`: jobs of the federation in the formats of Slurm's commands. */
#include <stdio.h>
#include <string.h>

#include "client/commands/commands.h"
#include "client/commands/slurm_jobs.h"
#include "client/slurm/table.h"
#include "client/slurm/times.h"
#include "client/transport/response.h"
#include "federation/base/clock.h"

static int print(const helio_client_t *client, const helio_slurm_table_t *table)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    helio_slurm_table_print(table, &out);
    bool good = fwrite(out.data ? out.data : "", 1, out.size, client->io->out) == out.size;
    return good ? HELIO_EXIT_OK : HELIO_EXIT_OWN;
}

static helio_slurm_table_t table_of(const helio_client_t *client, helio_slurm_columns_t columns, const json_t *jobs)
{
    return (helio_slurm_table_t){.columns = columns,
                                 .jobs = jobs,
                                 .zone = client->output.zone,
                                 .wall_ms = client->output.wall_ms ? client->output.wall_ms : helio_clock_wall_ms()};
}

/* ---- squeue ------------------------------------------------------------------------------------------------- */

#define SQUEUE_OPTIONS(X)                                        \
    X(ACCOUNT, "account", 'A', "LIST", "Tenants")                \
    X(CLUSTERS, "clusters", 'M', "LIST", "Sites")                \
    X(FORMAT, "format", 'o', "FORMAT", "\"%i %j %T\"")           \
    X(FORMAT_NAMES, "Format", 'O', "LIST", "\"JobID:30,State\"") \
    X(HEADER, "noheader", 'h', NULL, "No header")                \
    X(HELP, "help", 0, NULL, "Help")                             \
    X(JOBS, "jobs", 'j', "LIST", "Ids")                          \
    X(LONG, "long", 'l', NULL, "More columns")                   \
    X(ME, "me", 0, NULL, "Own jobs")                             \
    X(NAME, "name", 'n', "LIST", "Names")                        \
    X(PARTITION, "partition", 'p', "LIST", "Pools")              \
    X(QOS, "qos", 'q', "LIST", "Queues")                         \
    X(STATES, "states", 't', "LIST", "States")                   \
    X(USER, "user", 'u', "LIST", "Users")                        \
    X(ALL, "all", 'a', NULL, "No effect")                        \
    X(ARRAY, "array", 'r', NULL, "No effect")                    \
    X(SORT, "sort", 'S', "LIST", "No effect")                    \
    X(START, "start", 0, NULL, "Expected starts")

enum {
#define ENUMERATOR(id, ...) SQUEUE_##id,
    SQUEUE_OPTIONS(ENUMERATOR)
#undef ENUMERATOR
        SQUEUE_COUNT
};
static const helio_option_t squeue_rows[] = {
#define ROW(id, name, letter, value, doc) {name, letter, value, NULL, doc},
    SQUEUE_OPTIONS(ROW)
#undef ROW
};
static const helio_option_table_t squeue_options = {.items = squeue_rows, .count = SQUEUE_COUNT};

static helio_rc squeue_columns(const helio_client_t *client, const helio_command_line_t *line,
                               helio_slurm_columns_t *ret_columns, helio_error_t *err)
{
    const char *letters = helio_command_line_value(line, SQUEUE_FORMAT);
    const char *names = helio_command_line_value(line, SQUEUE_FORMAT_NAMES);
    if (names)
        return helio_slurm_columns_named(names, ':', client->arena, ret_columns, err);
    if (!letters)
        letters = helio_command_line_has(line, SQUEUE_START)  ? "%i %P %j %u %t %S %D %R"
                  : helio_command_line_has(line, SQUEUE_LONG) ? "%i %P %j %u %T %.0M %.0l %D %R"
                                                              : "%i %P %j %u %t %.0M %.0D %R";
    return helio_slurm_columns_lettered(letters, client->arena, ret_columns, err);
}

int helio_cmd_squeue(helio_client_t *client)
{
    helio_command_line_t line;
    helio_slurm_columns_t columns;
    helio_error_t err;
    bool done;
    int code = helio_slurm_words(client, &squeue_options, &line, &done);
    if (code != HELIO_EXIT_OK || done)
        return code;
    if (line.word_count)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "squeue takes no '%.64s'\nhelp: ids follow -j",
                                 line.words[0]);
    if (squeue_columns(client, &line, &columns, &err) != HELIO_OK)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "%s", err.text);
    helio_slurm_choice_t choice = {.ids = helio_command_line_value(&line, SQUEUE_JOBS),
                                   .users = helio_command_line_value(&line, SQUEUE_USER),
                                   .names = helio_command_line_value(&line, SQUEUE_NAME),
                                   .accounts = helio_command_line_value(&line, SQUEUE_ACCOUNT),
                                   .qos = helio_command_line_value(&line, SQUEUE_QOS),
                                   .partitions = helio_command_line_value(&line, SQUEUE_PARTITION),
                                   .clusters = helio_command_line_value(&line, SQUEUE_CLUSTERS),
                                   .states = helio_command_line_value(&line, SQUEUE_STATES),
                                   .me = helio_command_line_has(&line, SQUEUE_ME)};
    if (helio_command_line_has(&line, SQUEUE_START) && !choice.states)
        choice.states = "PENDING";
    HELIO_AUTO(helio_json_clear) json_t *jobs = json_array();
    code = helio_slurm_jobs(client, &choice, jobs);
    if (code != HELIO_EXIT_OK && code != HELIO_EXIT_NOT_FOUND)
        return code;
    helio_slurm_table_t table = table_of(client, columns, jobs);
    table.header = !helio_command_line_has(&line, SQUEUE_HEADER) && code == HELIO_EXIT_OK;
    int printed = print(client, &table);
    return code != HELIO_EXIT_OK ? code : printed;
}

/* ---- sacct -------------------------------------------------------------------------------------------------- */

#define SACCT_OPTIONS(X)                                         \
    X(ACCOUNTS, "accounts", 'A', "LIST", "Tenants")              \
    X(ALL_USERS, "allusers", 'a', NULL, "All users")             \
    X(CLUSTERS, "clusters", 'M', "LIST", "Sites")                \
    X(DELIMITER, "delimiter", 0, "TEXT", "Of --parsable")        \
    X(END, "endtime", 'E', "TIME", "Submitted before")           \
    X(FORMAT, "format", 'o', "LIST", "\"JobID,State,ExitCode\"") \
    X(FIELDS, "helpformat", 'e', NULL, "List the fields")        \
    X(HELP, "help", 'h', NULL, "Help")                           \
    X(JOBS, "jobs", 'j', "LIST", "Ids")                          \
    X(NAME, "name", 0, "LIST", "Names")                          \
    X(HEADER, "noheader", 'n', NULL, "No header")                \
    X(PARSABLE, "parsable", 'p', NULL, "Separated by '|'")       \
    X(PARSABLE2, "parsable2", 'P', NULL, "The same")             \
    X(QOS, "qos", 'q', "LIST", "Queues")                         \
    X(START, "starttime", 'S', "TIME", "Submitted since")        \
    X(STATE, "state", 's', "LIST", "States")                     \
    X(USER, "user", 'u', "LIST", "Users")                        \
    X(ALLOCATIONS, "allocations", 'X', NULL, "No effect")        \
    X(ALL_CLUSTERS, "allclusters", 'L', NULL, "No effect")       \
    X(DUPLICATES, "duplicates", 'D', NULL, "No effect")

enum {
#define ENUMERATOR(id, ...) SACCT_##id,
    SACCT_OPTIONS(ENUMERATOR)
#undef ENUMERATOR
        SACCT_COUNT
};
static const helio_option_t sacct_rows[] = {
#define ROW(id, name, letter, value, doc) {name, letter, value, NULL, doc},
    SACCT_OPTIONS(ROW)
#undef ROW
};
static const helio_option_table_t sacct_options = {.items = sacct_rows, .count = SACCT_COUNT};

static int take_times(const helio_client_t *client, const helio_command_line_t *line, int64_t now_ms,
                      helio_slurm_choice_t *choice)
{
    const char *start = helio_command_line_value(line, SACCT_START), *end = helio_command_line_value(line, SACCT_END);
    if (!start && !choice->ids)
        start = "today";
    if ((!start || helio_slurm_time(start, client->output.zone, now_ms, &choice->from_ms)) &&
        (!end || helio_slurm_time(end, client->output.zone, now_ms, &choice->to_ms)))
        return HELIO_EXIT_OK;
    return helio_client_fail(client, HELIO_EXIT_USAGE,
                             "a time must be such as 2026-03-01, 2026-03-01T12:00, today, now-2days");
}

static void list_fields(const helio_client_t *client)
{
    for (uint32_t i = 0; i < HELIO_SLURM_FIELD_COUNT; i++)
        fprintf(client->io->out, "%.*s\n", HELIO_TEXT_ARGS(helio_slurm_field_name((helio_slurm_field_t)i)));
}

int helio_cmd_sacct(helio_client_t *client)
{
    helio_command_line_t line;
    helio_error_t err;
    bool done;
    int code = helio_slurm_words(client, &sacct_options, &line, &done);
    if (code != HELIO_EXIT_OK || done)
        return code;
    if (helio_command_line_has(&line, SACCT_FIELDS)) {
        list_fields(client);
        return HELIO_EXIT_OK;
    }
    if (line.word_count)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "sacct takes no '%.64s'\nhelp: ids follow -j",
                                 line.words[0]);
    const char *format = helio_command_line_value(&line, SACCT_FORMAT);
    helio_slurm_columns_t columns;
    if (helio_slurm_columns_named(format ? format : "JobID,JobName,Partition,Account,AllocTRES,State,ExitCode", '%',
                                  client->arena, &columns, &err) != HELIO_OK)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "%s", err.text);
    helio_slurm_choice_t choice = {.ids = helio_command_line_value(&line, SACCT_JOBS),
                                   .users = helio_command_line_value(&line, SACCT_USER),
                                   .names = helio_command_line_value(&line, SACCT_NAME),
                                   .accounts = helio_command_line_value(&line, SACCT_ACCOUNTS),
                                   .qos = helio_command_line_value(&line, SACCT_QOS),
                                   .clusters = helio_command_line_value(&line, SACCT_CLUSTERS),
                                   .states = helio_command_line_value(&line, SACCT_STATE),
                                   .over = true};
    choice.me = !choice.ids && !choice.users && !helio_command_line_has(&line, SACCT_ALL_USERS);
    HELIO_AUTO(helio_json_clear) json_t *jobs = json_array();
    helio_slurm_table_t table = table_of(client, columns, jobs);
    code = take_times(client, &line, table.wall_ms, &choice);
    if (code == HELIO_EXIT_OK)
        code = helio_slurm_jobs(client, &choice, jobs);
    if (code != HELIO_EXIT_OK && code != HELIO_EXIT_NOT_FOUND)
        return code;
    const char *delimiter = helio_command_line_value(&line, SACCT_DELIMITER);
    table.header = !helio_command_line_has(&line, SACCT_HEADER) && code == HELIO_EXIT_OK;
    table.rule = true;
    table.closed = helio_command_line_has(&line, SACCT_PARSABLE);
    if (table.closed || helio_command_line_has(&line, SACCT_PARSABLE2))
        table.separator = delimiter && delimiter[0] ? delimiter[0] : '|';
    int printed = print(client, &table);
    return code != HELIO_EXIT_OK ? code : printed;
}
