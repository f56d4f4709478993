/*  help.c -- `help`, `completion`, `version`: commands about `helio` itself. */
#include <string.h>

#include "client/commands/commands.h"
#include "client/help/help.h"

/*  'queues schedule' as one word, which is how messages quote it. */
static bool split(const helio_client_t *client, const char *word, const char *ret_words[2])
{
    const char *blank = strchr(word, ' ');
    if (!blank)
        return false;
    ret_words[0] = helio_arena_string(client->arena, (helio_text_t){word, (uint32_t)(blank - word)});
    ret_words[1] = blank + strspn(blank, " ");
    return true;
}

int helio_cmd_help(helio_client_t *client)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    const helio_command_line_t *arguments = client->arguments;
    uint32_t taken = 0, count = arguments->word_count;
    const char *apart[2], *const *words = arguments->words;
    if (count == 1 && split(client, words[0], apart)) {
        words = apart;
        count = 2;
    }
    if (helio_client_has(client, HELIO_OPTION_MAN)) {
        helio_help_roff(client->commands, &text);
    } else if (count == 0) {
        helio_help_overview(client->commands, &text);
    } else {
        const char *word = count > 1 ? helio_arena_printf(client->arena, "%s %s", words[0], words[1]).data : words[0];
        const helio_command_t *command = helio_command_find(client->commands, words, count, &taken);
        const char *near = helio_command_suggest(client->commands, word);
        if (command && taken == count) /* else a word is not of its name */
            helio_help_command(command, &text);
        else if (helio_command_is_group(client->commands, word))
            helio_help_group(client->commands, word, &text);
        else
            return helio_client_fail(client, HELIO_EXIT_USAGE, "unknown command '%.64s'%s%s%s", word,
                                     near ? "\nhelp: did you mean '" : "", near ? near : "", near ? "'?" : "");
    }
    fputs(text.data, client->io->out);
    return HELIO_EXIT_OK;
}

int helio_cmd_completion(helio_client_t *client)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    const char *shell = client->arguments->words[0];
    if (!helio_completion(client->commands, shell, &text))
        return helio_client_fail(client, HELIO_EXIT_USAGE, "no completion for '%.32s'; use bash, zsh or fish", shell);
    fputs(text.data, client->io->out);
    return HELIO_EXIT_OK;
}

int helio_cmd_version(helio_client_t *client)
{
    fprintf(client->io->out, "helio %s\n", HELIO_PROGRAM_VERSION);
    return HELIO_EXIT_OK;
}
