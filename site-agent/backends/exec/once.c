/*  once.c -- one request, and the wait for its answer: for checks. */
#include "site-agent/backends/exec/internal.h"

helio_rc helio_exec_ask_once(const helio_exec_options_t *options, const char *op, const char *more,
                             helio_arena_t *arena, helio_exec_answer_t *ret_answer, helio_error_t *err)
{
    const helio_exec_settings_t *settings = options->settings;
    helio_commands_options_t commands;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t request = {0};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t complaint = {0};
    int exit_code = 0;
    if (!settings->command.count)
        return helio_fail(err, HELIO_INVALID, "agent.exec.command is missing: the adapter and its arguments");
    helio_buffer_printf(&request, "{\"helio\":%d,\"op\":\"%s\",\"site\":\"%.*s\",\"folder\":\"%.*s\"%s%s}\n",
                        HELIO_EXEC_PROTOCOL, op, HELIO_TEXT_ARGS(options->site->name),
                        HELIO_TEXT_ARGS(settings->folder), more[0] ? "," : "", more);
    helio_exec_environment(arena, &commands);
    helio_command_t command = {.argv = helio_exec_argv(settings, arena),
                               .input = helio_buffer_view(&request),
                               .timeout_ms = settings->timeout_ms,
                               .max_bytes = HELIO_EXEC_LIST_BYTES};
    helio_rc rc = helio_command_wait(&commands, &command, &exit_code, &out, &complaint, err);
    if (!rc && exit_code)
        rc = helio_fail(err, HELIO_UNAVAILABLE, "%s: the adapter ended with %d: %.300s", op, exit_code,
                        complaint.size ? complaint.data : "");
    helio_error_t why = {0};
    if (!rc && helio_exec_answer_read(helio_arena_text(arena, helio_buffer_view(&out)), arena, ret_answer, &why))
        rc = helio_fail(err, HELIO_INVALID, "%s: %.300s", op, why.text);
    return rc;
}
