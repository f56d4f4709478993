/*  help.c -- what `helio help` prints, from the command table. */
#include <string.h>

#include "client/help/help.h"

enum { SUMMARY_COLUMN = 26 };

static bool is_ascii(const char *at)
{
    return ((unsigned char)*at & 0xC0) != 0x80;
}

static size_t width_of(const char *text)
{
    size_t width = 0;
    for (; *text; text++)
        width += is_ascii(text);
    return width;
}

static void pad(helio_buffer_t *out, size_t width, size_t target)
{
    for (; width < target; width++)
        helio_buffer_text(out, " ");
}

/*  Folds words at 78 columns, with an indent; empty lines separate paragraphs. */
static void fold(helio_buffer_t *out, const char *text, size_t indent)
{
    size_t column = 0;
    for (const char *at = text; *at;) {
        if (*at == '\n') {
            helio_buffer_text(out, column ? "\n" : "");
            helio_buffer_text(out, at[1] == '\n' ? "\n" : "");
            at += at[1] == '\n' ? 2 : 1;
            column = 0;
            continue;
        }
        size_t size = strcspn(at, " \n");
        if (column && column + 1 + size > 78) {
            helio_buffer_text(out, "\n");
            column = 0;
        }
        if (column) {
            helio_buffer_text(out, " ");
            column++;
        } else {
            pad(out, 0, indent);
            column = indent;
        }
        helio_buffer_append(out, at, size);
        column += size;
        at += size;
        at += *at == ' ';
    }
    helio_buffer_text(out, column ? "\n" : "");
}

static void command_line(helio_buffer_t *out, const helio_command_t *command)
{
    helio_buffer_t name = {0};
    helio_buffer_printf(&name, "  %s%s%s", command->name, command->synopsis[0] ? " " : "", command->synopsis);
    helio_buffer_text(out, name.data);
    bool beyond = width_of(name.data) > SUMMARY_COLUMN;
    helio_buffer_text(out, beyond ? "\n" : "");
    pad(out, beyond ? 0 : width_of(name.data), SUMMARY_COLUMN);
    helio_buffer_printf(out, " %s\n", command->summary);
    helio_buffer_clear(&name);
}

void helio_help_overview(const helio_command_table_t *table, helio_buffer_t *out)
{
    helio_buffer_text(out,
                      "helio submits jobs to a federation of GPU clusters; each runs at the site and hour that suit it "
                      "best\n\nusage: helio COMMAND …\n\n");
    for (size_t i = 0; i < table->count; i++)
        command_line(out, &table->items[i]);
    helio_buffer_text(out, "\nOptions of every command:\n");
    helio_option_lines(&helio_client_options, HELIO_OPTIONS_EVERYWHERE, out);
    helio_buffer_text(out, "\n`helio help COMMAND` explains a command; `helio doctor` checks the settings.\n");
}

void helio_help_group(const helio_command_table_t *table, const char *word, helio_buffer_t *out)
{
    size_t size = strlen(word);
    helio_buffer_printf(out, "usage: helio %s …\n\n", word);
    for (size_t i = 0; i < table->count; i++)
        if (strncmp(table->items[i].name, word, size) == 0 && table->items[i].name[size] == ' ')
            command_line(out, &table->items[i]);
}

void helio_help_command(const helio_command_t *command, helio_buffer_t *out)
{
    helio_buffer_printf(out, "%s\n\nusage: helio %s%s%s%s\n", command->summary, command->name,
                        command->synopsis[0] ? " " : "", command->synopsis, command->options ? " [options]" : "");
    if (command->doc[0]) {
        helio_buffer_text(out, "\n");
        fold(out, command->doc, 0);
    }
    if (command->options) {
        helio_buffer_text(out, "\nOptions:\n");
        helio_option_lines(&helio_client_options, command->options, out);
    }
    if (command->own) {
        helio_buffer_text(out, "\nOptions:\n");
        helio_option_lines(command->own, HELIO_OPTIONS_ALL, out);
        helio_buffer_printf(out, "\nOptions of helio itself, before `%s`:\n", command->name);
    } else {
        helio_buffer_text(out, "\nOptions of every command:\n");
    }
    helio_option_lines(&helio_client_options, HELIO_OPTIONS_EVERYWHERE, out);
    if (command->example[0])
        helio_buffer_printf(out, "\nExample:\n  $ %s\n", command->example);
}
