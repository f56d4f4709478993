/*  manual.c -- the manual page helio(1), from the command table. */
#include "client/help/help.h"

/*  Writes a character beyond ASCII by its number, which roff reads in every locale. Returns its last byte. The text
 *  comes from the command table, so it is well-formed UTF-8. */
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

/*  Escapes backslashes, dashes and a leading dot or quote, which are special in roff. */
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

static void roff_options(helio_buffer_t *out, const helio_option_table_t *table, helio_options_t options)
{
    for (uint32_t id = 0; id < table->count; id++) {
        if (!(options & HELIO_OPTION_BIT(id)))
            continue;
        const helio_option_t *option = &table->items[id];
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
    roff_options(out, &helio_client_options, command->options);
    if (command->own)
        roff_options(out, command->own, HELIO_OPTIONS_ALL);
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
        HELIO_PROGRAM_VERSION);
    roff_options(out, &helio_client_options, HELIO_OPTIONS_EVERYWHERE);
    helio_buffer_text(out, ".SH COMMANDS\n");
    for (size_t i = 0; i < table->count; i++)
        roff_command(out, &table->items[i]);
    helio_buffer_text(out, ".SH EXIT STATUS\n.B run\nand\n.B wait\nexit with the job's own code. Otherwise:\n");
#define ROFF_EXIT(name, code, meaning) helio_buffer_text(out, ".TP\n.B " #code "\n" meaning "\n");
    HELIO_EXIT_TABLE(ROFF_EXIT)
#undef ROFF_EXIT
    helio_buffer_text(out, ".SH ENVIRONMENT\n");
    for (int i = 0; i < HELIO_VARIABLE_COUNT; i++) {
        helio_buffer_printf(out, ".TP\n.B %s\n", helio_variable_name((helio_variable_t)i));
        roff_text(out, helio_variable_doc((helio_variable_t)i));
        helio_buffer_text(out, ".\n");
    }
    helio_buffer_text(
        out, ".SH FILES\nFor each setting, the first of these files that has it applies, after options and "
             "environment.\n.TP\n.I ./.helio.yaml\nSettings of a directory. Its broker never gets a token from another "
             "file that belongs to another broker.\n.TP\n.I $XDG_CONFIG_HOME/helio/config.yaml\nSettings of a user: "
             "broker, token or token_file, ca_file, output, color, timeout, context, contexts.\n.TP\n.I "
             "/etc/helio/client.yaml\nSettings of a machine.\n");
}
