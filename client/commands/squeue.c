/*  squeue.c -- `squeue` and `sacct`: jobs of the federation in the formats of Slurm's commands. */
#include <stdio.h>
#include <string.h>

#include "client/commands/commands.h"
#include "client/commands/slurm_jobs.h"
#include "client/slurm/options.h"
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

static helio_rc squeue_columns(const helio_client_t *client, const helio_command_line_t *line,
                               helio_slurm_columns_t *ret_columns, helio_error_t *err)
{
    const char *letters = helio_command_line_value(line, HELIO_SQUEUE_FORMAT);
    const char *names = helio_command_line_value(line, HELIO_SQUEUE_FORMAT_NAMES);
    if (names)
        return helio_slurm_columns_named(names, ':', client->arena, ret_columns, err);
    if (!letters)
        letters = helio_command_line_has(line, HELIO_SQUEUE_START)  ? "%i %P %j %u %t %S %D %R"
                  : helio_command_line_has(line, HELIO_SQUEUE_LONG) ? "%i %P %j %u %T %.0M %.0l %D %R"
                                                                    : "%i %P %j %u %t %.0M %.0D %R";
    return helio_slurm_columns_lettered(letters, client->arena, ret_columns, err);
}

int helio_cmd_squeue(helio_client_t *client)
{
    helio_command_line_t line;
    helio_slurm_columns_t columns;
    helio_error_t err;
    int code = helio_slurm_words(client, &line);
    if (code != HELIO_EXIT_OK)
        return code;
    if (line.word_count)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "squeue takes no '%.64s'\nhelp: ids follow -j",
                                 line.words[0]);
    if (squeue_columns(client, &line, &columns, &err) != HELIO_OK)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "%s", err.text);
    helio_slurm_choice_t choice = {.ids = helio_command_line_value(&line, HELIO_SQUEUE_JOBS),
                                   .users = helio_command_line_value(&line, HELIO_SQUEUE_USER),
                                   .names = helio_command_line_value(&line, HELIO_SQUEUE_NAME),
                                   .accounts = helio_command_line_value(&line, HELIO_SQUEUE_ACCOUNT),
                                   .qos = helio_command_line_value(&line, HELIO_SQUEUE_QOS),
                                   .partitions = helio_command_line_value(&line, HELIO_SQUEUE_PARTITION),
                                   .clusters = helio_command_line_value(&line, HELIO_SQUEUE_CLUSTERS),
                                   .states = helio_command_line_value(&line, HELIO_SQUEUE_STATES),
                                   .me = helio_command_line_has(&line, HELIO_SQUEUE_ME)};
    if (helio_command_line_has(&line, HELIO_SQUEUE_START) && !choice.states)
        choice.states = "PENDING";
    HELIO_AUTO(helio_json_clear) json_t *jobs = json_array();
    code = helio_slurm_jobs(client, &choice, jobs);
    if (code != HELIO_EXIT_OK && code != HELIO_EXIT_NOT_FOUND)
        return code;
    helio_slurm_table_t table = table_of(client, columns, jobs);
    table.header = !helio_command_line_has(&line, HELIO_SQUEUE_HEADER) && code == HELIO_EXIT_OK;
    int printed = print(client, &table);
    return code != HELIO_EXIT_OK ? code : printed;
}

/* ---- sacct -------------------------------------------------------------------------------------------------- */

static int take_times(const helio_client_t *client, const helio_command_line_t *line, int64_t now_ms,
                      helio_slurm_choice_t *choice)
{
    const char *start = helio_command_line_value(line, HELIO_SACCT_START),
               *end = helio_command_line_value(line, HELIO_SACCT_END);
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
    int code = helio_slurm_words(client, &line);
    if (code != HELIO_EXIT_OK)
        return code;
    if (helio_command_line_has(&line, HELIO_SACCT_FIELDS)) {
        list_fields(client);
        return HELIO_EXIT_OK;
    }
    if (line.word_count)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "sacct takes no '%.64s'\nhelp: ids follow -j",
                                 line.words[0]);
    const char *format = helio_command_line_value(&line, HELIO_SACCT_FORMAT);
    helio_slurm_columns_t columns;
    if (helio_slurm_columns_named(format ? format : "JobID,JobName,Partition,Account,AllocTRES,State,ExitCode", '%',
                                  client->arena, &columns, &err) != HELIO_OK)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "%s", err.text);
    helio_slurm_choice_t choice = {.ids = helio_command_line_value(&line, HELIO_SACCT_JOBS),
                                   .users = helio_command_line_value(&line, HELIO_SACCT_USER),
                                   .names = helio_command_line_value(&line, HELIO_SACCT_NAME),
                                   .accounts = helio_command_line_value(&line, HELIO_SACCT_ACCOUNTS),
                                   .qos = helio_command_line_value(&line, HELIO_SACCT_QOS),
                                   .clusters = helio_command_line_value(&line, HELIO_SACCT_CLUSTERS),
                                   .states = helio_command_line_value(&line, HELIO_SACCT_STATE),
                                   .over = true};
    choice.me = !choice.ids && !choice.users && !helio_command_line_has(&line, HELIO_SACCT_ALL_USERS);
    HELIO_AUTO(helio_json_clear) json_t *jobs = json_array();
    helio_slurm_table_t table = table_of(client, columns, jobs);
    code = take_times(client, &line, table.wall_ms, &choice);
    if (code == HELIO_EXIT_OK)
        code = helio_slurm_jobs(client, &choice, jobs);
    if (code != HELIO_EXIT_OK && code != HELIO_EXIT_NOT_FOUND)
        return code;
    const char *delimiter = helio_command_line_value(&line, HELIO_SACCT_DELIMITER);
    table.header = !helio_command_line_has(&line, HELIO_SACCT_HEADER) && code == HELIO_EXIT_OK;
    table.rule = true;
    table.closed = helio_command_line_has(&line, HELIO_SACCT_PARSABLE);
    if (table.closed || helio_command_line_has(&line, HELIO_SACCT_PARSABLE2))
        table.separator = delimiter && delimiter[0] ? delimiter[0] : '|';
    int printed = print(client, &table);
    return code != HELIO_EXIT_OK ? code : printed;
}
