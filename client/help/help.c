/*  Help and the manual page, both from the command table. */
#include <string.h>

#include "client/help/help.h"

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

/*  Words folded at 78 columns behind an indent; empty lines part paragraphs. */
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
    pad(out, width_of(name.data), 26);
    helio_buffer_printf(out, " %s\n", command->summary);
    helio_buffer_clear(&name);
}

void helio_help_overview(const helio_command_table_t *table, helio_buffer_t *out)
{
    helio_buffer_text(
        out, "helio sends jobs to the site and the hour where they fit best\n\nusage: helio COMMAND …\n\n");
    for (size_t i = 0; i < table->count; i++)
        command_line(out, &table->items[i]);
    helio_buffer_text(out, "\nEverywhere:\n");
    helio_option_lines(&helio_client_options, HELIO_OPTIONS_EVERYWHERE, out);
    helio_buffer_text(out, "\n`helio help COMMAND` explains one, `helio doctor` checks the settings.\n");
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
                        command->synopsis[0] ? " " : "", command->synopsis,
                        command->options ? " [options]" : "");
    if (command->doc[0]) {
        helio_buffer_text(out, "\n");
        fold(out, command->doc, 0);
    }
    if (command->options) {
        helio_buffer_text(out, "\nOptions:\n");
        helio_option_lines(&helio_client_options, command->options, out);
    }
    helio_buffer_text(out, "\nEverywhere:\n");
    helio_option_lines(&helio_client_options, HELIO_OPTIONS_EVERYWHERE, out);
    if (command->example[0])
        helio_buffer_printf(out, "\nExample:\n  $ %s\n", command->example);
}

/*  ---- roff ---- */

/*  A character beyond ASCII by its number, which roff reads whatever the locale. Returns its last byte. The
 * text is our own tables', hence well-formed. */
static const char *roff_character(helio_buffer_t *out, const char *at)
{
    unsigned char first = (unsigned char)*at;
    int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    uint32_t code = first & (0x3Fu >> more);
    for (; more && at[1]; more--)
        code = code << 6 | ((unsigned char)*++at & 0x3Fu);
    helio_buffer_printf(out, "\\[u%04X]", code);
    return at;
}

/*  Backslashes, dashes and a leading dot or quote mean something to roff. */
static void roff_text(helio_buffer_t *out, const char *text)
{
    bool line_start = true;
    for (const char *at = text; *at; at++) {
        if (line_start && (*at == '.' || *at == '\''))
            helio_buffer_text(out, "\\&");
        line_start = *at == '\n';
        if (*at == '\\')
            helio_buffer_text(out, "\\e");
        else if (*at == '-')
            helio_buffer_text(out, "\\-");
        else if ((unsigned char)*at >= 0x80)
            at = roff_character(out, at);
        else if (*at == '\n' && at[1] == '\n') {
            helio_buffer_text(out, "\n.PP\n");
            at++;
        } else
            helio_buffer_append(out, at, 1);
    }
}

static void roff_options(helio_buffer_t *out, helio_options_t options)
{
    for (uint32_t id = 0; id < HELIO_OPTION_COUNT; id++) {
        if (!(options & (UINT64_C(1) << id)))
            continue;
        const helio_option_t *option = &helio_client_options.items[id];
        helio_buffer_text(out, ".TP\n.B ");
        if (option->letter)
            helio_buffer_printf(out, "\\-%c, ", option->letter);
        helio_buffer_text(out, "\\-\\-");
        roff_text(out, option->name);
        if (option->value)
            helio_buffer_printf(out, " \\fI%s\\fR", option->value);
        helio_buffer_text(out, "\n");
        roff_text(out, option->doc);
        if (option->choices)
            helio_buffer_printf(out, " (%s)", option->choices);
        helio_buffer_text(out, ".\n");
    }
}

static void roff_command(helio_buffer_t *out, const helio_command_t *command)
{
    helio_buffer_printf(out, ".SS helio %s ", command->name);
    roff_text(out, command->synopsis);
    helio_buffer_text(out, "\n");
    roff_text(out, command->summary);
    helio_buffer_text(out, ".\n");
    if (command->doc[0]) {
        helio_buffer_text(out, ".PP\n");
        roff_text(out, command->doc);
        helio_buffer_text(out, "\n");
    }
    roff_options(out, command->options);
    if (command->example[0]) {
        helio_buffer_text(out, ".PP\n.nf\n.RS\n");
        roff_text(out, command->example);
        helio_buffer_text(out, "\n.RE\n.fi\n");
    }
}

void helio_help_roff(const helio_command_table_t *table, helio_buffer_t *out)
{
    helio_buffer_printf(
        out,
        ".TH HELIO 1 \"\" \"heliostat %s\" \"Heliostat\"\n.SH NAME\nhelio \\- submit jobs to a federation "
        "of GPU clusters, follow and explain them\n.SH SYNOPSIS\n.B helio\n.I COMMAND\n[\\fIoptions\\fR] "
        "[\\fIwords\\fR]\n.SH OPTIONS\nEvery command takes these.\n",
        HELIO_RELEASE);
    roff_options(out, HELIO_OPTIONS_EVERYWHERE);
    helio_buffer_text(out, ".SH COMMANDS\n");
    for (size_t i = 0; i < table->count; i++)
        roff_command(out, &table->items[i]);
    helio_buffer_text(out, ".SH EXIT STATUS\n.B run\nand\n.B wait\nexit with the job's own code. Else:\n");
#define ROFF_EXIT(name, code, meaning) helio_buffer_text(out, ".TP\n.B " #code "\n" meaning "\n");
    HELIO_EXIT_TABLE(ROFF_EXIT)
#undef ROFF_EXIT
    helio_buffer_text(
        out,
        ".SH ENVIRONMENT\n.TP\n.B HELIO_BROKER, HELIO_TOKEN, HELIO_TOKEN_FILE, HELIO_CA_FILE, HELIO_CONTEXT, "
        "HELIO_OUTPUT, HELIO_COLOR\nAs the options and settings of these names.\n.TP\n.B NO_COLOR\nNo "
        "colour, whatever "
        "the terminal.\n.SH FILES\nThe first that says something wins, after options and environment.\n.TP\n"
        ".I ./.helio.yaml\nSettings of a directory. Its broker gets no token that other files hold for "
        "another broker.\n"
        ".TP\n.I $XDG_CONFIG_HOME/helio/config.yaml\nSettings of a user: broker, token or token_file, "
        "ca_file, output, "
        "color, timeout, context, contexts.\n.TP\n.I /etc/helio/client.yaml\nSettings of a machine.\n");
}
