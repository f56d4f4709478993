/*  exec.c -- `exec`, `shell`: a command, or the login shell, in a running job. */
#include <string.h>
#include <unistd.h>

#include "client/commands/commands.h"
#include "client/jobs/session.h"

static int run(helio_client_t *client, const helio_session_ask_t *ask)
{
    helio_terminal_t terminal;
    helio_terminal_begin(&terminal, client->io->in_tty ? fileno(client->io->in) : -1);
    int code = helio_session_run(client, &terminal, ask);
    helio_terminal_end(&terminal);
    return code;
}

int helio_cmd_exec(helio_client_t *client)
{
    const helio_command_line_t *arguments = client->arguments;
    helio_session_ask_t ask = {.job = arguments->words[0],
                               .command = arguments->words + 1,
                               .command_count = arguments->word_count - 1,
                               .has_node = helio_client_has(client, HELIO_OPTION_NODE),
                               .terminal = helio_client_has(client, HELIO_OPTION_TTY),
                               .input = helio_client_has(client, HELIO_OPTION_STDIN) || !client->io->in_tty ||
                                        helio_client_has(client, HELIO_OPTION_TTY)};
    if (!helio_client_number(client, HELIO_OPTION_NODE, 0, &ask.node))
        return HELIO_EXIT_USAGE;
    return run(client, &ask);
}

int helio_cmd_shell(helio_client_t *client)
{
    helio_session_ask_t ask = {.job = client->arguments->words[0],
                               .has_node = helio_client_has(client, HELIO_OPTION_NODE),
                               .terminal = client->io->in_tty && client->io->out_tty,
                               .input = true};
    if (!helio_client_number(client, HELIO_OPTION_NODE, 0, &ask.node))
        return HELIO_EXIT_USAGE;
    return run(client, &ask);
}
