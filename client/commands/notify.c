/*  notify.c -- `notify`: the service that tells people and programs what happens to jobs. Its options are its own. */
#include "client/notify/notify.h"

#include "client/commands/commands.h"
#include "client/invocation/settings.h"
#include "federation/base/process.h"

static int take_options(const helio_client_t *client, helio_command_line_t *ret_line)
{
    const helio_command_line_t *arguments = client->arguments;
    helio_error_t err;
    char **argv = helio_arena_alloc(client->arena, (size_t)arguments->word_count + 2, sizeof *argv);
    argv[0] = (char *)(uintptr_t) "notify";
    for (uint32_t i = 0; i < arguments->word_count; i++)
        argv[i + 1] = (char *)(uintptr_t)arguments->words[i];
    helio_command_line_rules_t rules = {
        .options = &helio_notify_options,
        .refuses_empty = true,
        .options_help = "options of helio itself, such as --broker, go before `notify`"};
    if (helio_command_line_parse((int)arguments->word_count + 1, argv, &rules, client->arena, ret_line, &err) !=
        HELIO_OK)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "%s", err.text);
    if (!helio_command_line_has(ret_line, HELIO_NOTIFY_OPTION_CONFIG))
        return helio_client_fail(
            client, HELIO_EXIT_USAGE,
            "`helio notify` needs --config FILE\nhelp: docs/reference/notify.md describes the file");
    return HELIO_EXIT_OK;
}

int helio_cmd_notify(helio_client_t *client)
{
    helio_command_line_t line;
    helio_notify_config_t config;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t complaint = {0};
    int code = take_options(client, &line);
    if (code != HELIO_EXIT_OK)
        return code;
    const char *path = helio_command_line_value(&line, HELIO_NOTIFY_OPTION_CONFIG);
    if (helio_notify_config_load(path, client->io->err_tty && client->output.colour, client->arena, &config,
                                 &complaint) != HELIO_OK) {
        fputs(complaint.data, client->io->err);
        return HELIO_EXIT_USAGE;
    }
    if (helio_command_line_has(&line, HELIO_NOTIFY_OPTION_CHECK))
        return helio_notify_check(client, &config);
    if (!client->remote)
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "no broker is set\nhelp: use --broker URL before `notify`, set HELIO_BROKER, or put "
                                 "`broker: URL` into ~/.config/helio/config.yaml");
    if (client->settings->token_missing[0])
        return helio_client_fail(
            client, HELIO_EXIT_USAGE, "%s: the token file, which %s names, does not exist\nhelp: %s",
            client->settings->token_missing, client->settings->token_from, HELIO_SETTINGS_TOKEN_REMEDY);
    helio_process_hide_memory();
    return helio_notify_run(client, &config);
}
