/*  once.c -- one request, and the wait for its answer: for checks, and for the start. */
#include <string.h>

#include "site-agent/backends/exec/internal.h"

enum { START_MOST_MS = 10000 };

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

static bool wants_gangs(const helio_site_profile_t *site)
{
    for (uint32_t i = 0; i < site->pools.count; i++)
        if (helio_pool_nodes_most(&site->pools.items[i]) > 1)
            return true;
    return false;
}

static void say_gangs(helio_pool_t *pool, helio_arena_t *arena)
{
    uint32_t count = pool->options.count;
    helio_pool_option_t *options = helio_arena_alloc(arena, count + 1, sizeof *options);
    if (count)
        memcpy(options, pool->options.items, count * sizeof *options);
    options[count] = (helio_pool_option_t){HELIO_TEXT(HELIO_POOL_OPTION_GANGS), HELIO_TEXT("yes")};
    pool->options.items = options;
    pool->options.count = count + 1;
}

void helio_exec_fill_site(helio_site_profile_t *site, const helio_exec_settings_t *settings, helio_arena_t *arena)
{
    helio_exec_settings_t soon = *settings;
    helio_exec_options_t options = {.site = site, .settings = &soon};
    helio_exec_answer_t answer = {0};
    soon.timeout_ms = soon.timeout_ms < START_MOST_MS ? soon.timeout_ms : START_MOST_MS;
    if (!wants_gangs(site) || helio_exec_ask_once(&options, "capabilities", "", arena, &answer, NULL) ||
        !answer.end.gangs)
        return;
    for (uint32_t i = 0; i < site->pools.count; i++)
        say_gangs(&site->pools.items[i], arena);
}
