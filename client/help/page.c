/*  page.c -- the command line's reference page, from the command table. */
#include <string.h>

#include "client/help/help.h"

/*  Escapes bars, which separate the cells of a table. */
static void cell(helio_buffer_t *out, const char *text)
{
    for (const char *at = text; *at; at++)
        helio_buffer_printf(out, *at == '|' ? "\\%c" : "%c", *at);
}

static void options_table(helio_buffer_t *out, const helio_option_table_t *table, helio_options_t options)
{
    helio_buffer_text(out, "| option | meaning |\n|---|---|\n");
    for (uint32_t id = 0; id < table->count; id++) {
        if (!(options & HELIO_OPTION_BIT(id)))
            continue;
        const helio_option_t *option = &table->items[id];
        helio_buffer_text(out, "| `");
        if (option->letter)
            helio_buffer_printf(out, "-%c`, `", option->letter);
        helio_buffer_printf(out, "--%s%s%s` | ", option->name, option->value ? " " : "",
                            option->value ? option->value : "");
        cell(out, option->doc);
        if (option->choices)
            helio_buffer_printf(out, " (%s)", option->choices);
        helio_buffer_text(out, " |\n");
    }
}

/*  The anchor of a heading: lower-case letters and digits, dashes for blanks. */
static void anchor(helio_buffer_t *out, const char *name)
{
    for (const char *at = name; *at; at++)
        helio_buffer_printf(out, "%c", *at == ' ' ? '-' : *at);
}

static void command_section(helio_buffer_t *out, const helio_command_t *command)
{
    helio_buffer_printf(out, "\n## %s\n\n%s.\n\n```\nhelio %s%s%s%s\n```\n", command->name, command->summary,
                        command->name, command->synopsis[0] ? " " : "", command->synopsis,
                        command->options ? " [options]" : "");
    if (command->doc[0])
        helio_buffer_printf(out, "\n%s\n", command->doc);
    if (command->options) {
        helio_buffer_text(out, "\n");
        options_table(out, &helio_client_options, command->options);
    }
    if (command->own) {
        helio_buffer_text(out, "\n");
        options_table(out, command->own, HELIO_OPTIONS_ALL);
    }
    if (command->example[0])
        helio_buffer_printf(out, "\nExample: `%s`\n", command->example);
}

void helio_help_page(const helio_command_table_t *table, helio_buffer_t *out)
{
    helio_buffer_text(
        out, "# The command line `helio`\n\n<!-- Generated from client/commands/commands.c; the test of the commands "
             "writes it. -->\n\n`helio help COMMAND` and the manual page helio(1) say the same. Data goes to "
             "standard output, progress and\nprompts to standard error. [Settings](config.md) hold brokers, tokens "
             "and defaults.\n\n| command | |\n|---|---|\n");
    for (size_t i = 0; i < table->count; i++) {
        helio_buffer_printf(out, "| [`%s`](#", table->items[i].name);
        anchor(out, table->items[i].name);
        helio_buffer_text(out, ") | ");
        cell(out, table->items[i].summary);
        helio_buffer_text(out, " |\n");
    }
    helio_buffer_text(out, "\n## Every command\n\n");
    options_table(out, &helio_client_options, HELIO_OPTIONS_EVERYWHERE);
    helio_buffer_text(out, "\n## Exit codes\n\n`run` and `wait` exit with the job's own code. Otherwise:\n\n| code | "
                           "meaning |\n|---|---|\n");
#define EXIT_ROW(name, code, meaning) helio_buffer_text(out, "| " #code " | " meaning " |\n");
    HELIO_EXIT_TABLE(EXIT_ROW)
#undef EXIT_ROW
    for (size_t i = 0; i < table->count; i++)
        command_section(out, &table->items[i]);
}
