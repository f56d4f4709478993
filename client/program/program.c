/*  program.c -- runs one command line: parses it, reads the settings, calls the handler, returns the exit code. */
#include "client/program/program.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "client/commands/commands.h"
#include "client/help/help.h"
#include "client/invocation/settings.h"
#include "client/output/instant.h"
#include "client/transport/remote.h"
#include "federation/base/clock.h"

static int usage(const helio_client_t *self, const helio_command_t *command, const char *what)
{
    return helio_client_fail(self, HELIO_EXIT_USAGE, "%s\nusage: helio %s%s%s\nhelp: see `helio help %s`", what,
                             command->name, command->synopsis[0] ? " " : "", command->synopsis, command->name);
}

/*  Whether the word after the group's looks like one of its commands. If so, it has said which. */
static bool is_slip(const helio_client_t *self, const char *group, const char *word)
{
    const helio_command_t *near = helio_command_suggest_in(self->commands, group, word);
    if (near)
        (void)helio_client_fail(self, HELIO_EXIT_USAGE,
                                "unknown command '%.32s %.64s'\nhelp: did you mean `helio %s%s%s`?", group, word,
                                near->name, near->synopsis[0] ? " " : "", near->synopsis);
    return near != NULL;
}

static int find_command(helio_client_t *self, helio_command_line_t *arguments)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    if (arguments->word_count == 0) {
        const char *const help[] = {"help"};
        uint32_t none;
        if (helio_client_has(self, HELIO_OPTION_VERSION)) {
            fprintf(self->io->out, "helio %s\n", HELIO_PROGRAM_VERSION);
            return HELIO_EXIT_OK;
        }
        if (helio_client_has(self, HELIO_OPTION_HELP)) {
            self->command = helio_command_find(self->commands, help, 1, &none);
            return HELIO_EXIT_OK;
        }
        helio_help_overview(self->commands, &text);
        fputs(text.data, self->io->err);
        return HELIO_EXIT_USAGE;
    }
    uint32_t taken = 0;
    const char *word = arguments->words[0];
    self->command = helio_command_find(self->commands, arguments->words, arguments->word_count, &taken);
    if (self->command) {
        arguments->words += taken;
        arguments->word_count -= taken;
        return HELIO_EXIT_OK;
    }
    if (helio_command_is_group(self->commands, word)) {
        if (arguments->word_count > 1 && is_slip(self, word, arguments->words[1]))
            return HELIO_EXIT_USAGE;
        bool asked = helio_client_has(self, HELIO_OPTION_HELP);
        helio_help_group(self->commands, word, &text);
        fputs(text.data, asked ? self->io->out : self->io->err);
        return asked ? HELIO_EXIT_OK : HELIO_EXIT_USAGE;
    }
    const char *instead = helio_command_instead(word);
    if (instead)
        return helio_client_fail(self, HELIO_EXIT_USAGE, "a federation has no '%.32s'\nhelp: %s", word, instead);
    const char *near = helio_command_suggest(self->commands, word);
    if (near)
        return helio_client_fail(self, HELIO_EXIT_USAGE, "unknown command '%.64s'\nhelp: did you mean `helio %s`?",
                                 word, near);
    return helio_client_fail(self, HELIO_EXIT_USAGE, "unknown command '%.64s'\nhelp: `helio help` lists them", word);
}

/*  Users of other schedulers ask for it where jobs are submitted. */
#define PLAN_INSTEAD "; `helio plan` is the dry run: it shows where, when and at what cost a job would run"

/*  A reason of blanks says nothing to those for whom it is kept. */
static bool is_without_words(const char *text)
{
    return text && text[strspn(text, " \t\r\n")] == '\0';
}

static int check_words(const helio_client_t *self)
{
    const helio_command_t *command = self->command;
    const helio_command_line_t *arguments = self->arguments;
    helio_options_t allowed = command->options | HELIO_OPTIONS_EVERYWHERE;
    char what[256];
    for (uint32_t id = 0; id < HELIO_OPTION_COUNT; id++) {
        if (helio_options_have(allowed, id) || !helio_command_line_has(arguments, id))
            continue;
        (void)snprintf(what, sizeof what, "`helio %s` does not take --%s%s", command->name,
                       helio_client_options.items[id].name, id == HELIO_OPTION_DRY_RUN ? PLAN_INSTEAD : "");
        return usage(self, command, what);
    }
    if (is_without_words(helio_client_value(self, HELIO_OPTION_REASON)))
        return usage(self, command, "--reason is empty: other operators and the audit show it");
    if (arguments->word_count < command->least) {
        (void)snprintf(what, sizeof what, "`helio %s` needs %s", command->name, command->synopsis);
        return usage(self, command, what);
    }
    if (arguments->word_count > command->most) {
        if (helio_command_is_group(self->commands, command->name) && is_slip(self, command->name, arguments->words[0]))
            return HELIO_EXIT_USAGE;
        (void)snprintf(what, sizeof what, "unexpected argument '%.64s'", arguments->words[command->most]);
        return usage(self, command, what);
    }
    return HELIO_EXIT_OK;
}

static bool wants_colour(const helio_client_io_t *io, const char *when)
{
    if (strcmp(when, "auto") != 0)
        return strcmp(when, "always") == 0;
    const char *term = helio_client_env(io, HELIO_VARIABLE_TERM);
    return io->out_tty && !helio_client_env(io, HELIO_VARIABLE_NO_COLOR) && !(term && strcmp(term, "dumb") == 0);
}

static int prepare(helio_client_t *self, helio_settings_t *settings)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t complaint = {0};
    if (helio_settings_load(self->io, self->arguments, self->arena, settings, &complaint) != HELIO_OK) {
        fputs(complaint.data, self->io->err);
        return HELIO_EXIT_USAGE;
    }
    self->settings = settings;
    (void)helio_format_of(settings->output, &self->output.format);
    self->output.colour = wants_colour(self->io, settings->color);
    if (self->command->needs == HELIO_NEEDS_BROKER && !settings->broker[0])
        return helio_client_fail(
            self, HELIO_EXIT_USAGE,
            "no broker is set\nhelp: use --broker URL, set HELIO_BROKER, or put `broker: URL` into "
            "~/.config/helio/config.yaml");
    if (self->command->needs == HELIO_NEEDS_BROKER && settings->token_missing[0])
        return helio_client_fail(self, HELIO_EXIT_USAGE, "%s: the token file, which %s names, does not exist\nhelp: %s",
                                 settings->token_missing, settings->token_from, HELIO_SETTINGS_TOKEN_REMEDY);
    helio_error_t err;
    if (settings->broker[0] && helio_remote_new(self->io, settings, &self->remote, &err) != HELIO_OK)
        return helio_client_fail(self, HELIO_EXIT_OWN, "%s", err.text);
    return HELIO_EXIT_OK;
}

static int dispatch(helio_client_t *self, helio_command_line_t *arguments)
{
    helio_settings_t settings;
    int code = find_command(self, arguments);
    if (code != HELIO_EXIT_OK || !self->command)
        return code;
    if (self->command->words == HELIO_OPERANDS_BATCH)
        code = helio_sbatch_take_options(self, arguments);
    if (code != HELIO_EXIT_OK)
        return code;
    if (helio_client_has(self, HELIO_OPTION_HELP) || helio_slurm_asks_for_help(self)) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        if (strcmp(self->command->name, "help") == 0)
            helio_help_overview(self->commands, &text);
        else
            helio_help_command(self->command, &text);
        fputs(text.data, self->io->out);
        return HELIO_EXIT_OK;
    }
    code = check_words(self);
    if (code == HELIO_EXIT_OK && self->command->needs != HELIO_NEEDS_NOTHING)
        code = prepare(self, &settings);
    if (code == HELIO_EXIT_OK)
        code = self->command->handler(self);
    helio_remote_destroy(&self->remote);
    return code;
}

static bool has_own_words(const char *word)
{
    return helio_command_names_operands(&helio_commands, word) || helio_command_instead(word);
}

/*  The reader of the output has seen enough, as `head` does after some lines: not an error. */
static bool reader_is_gone(FILE *out)
{
    struct pollfd end = {.fd = fileno(out)};
    return end.fd >= 0 && poll(&end, 1, 0) == 1 && (end.revents & POLLERR);
}

int helio_client_main(int argc, char *const *argv, const helio_client_io_t *io)
{
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
    helio_command_line_t arguments;
    helio_command_line_init(&arguments, &helio_client_options, arena);
    helio_client_t client = {.io = io, .commands = &helio_commands, .arguments = &arguments, .arena = arena};
    HELIO_AUTO(helio_zone_destroy) helio_zone_t *zone = helio_zone_of_reader(helio_client_env(io, HELIO_VARIABLE_TZ));
    client.output.zone = zone;
    client.output.stream = io->out;
    client.output.terminal = io->out_tty;
    client.output.wall_ms = helio_clock_wall_ms();
    helio_error_t err;
    if (helio_client_options_parse(argc, argv, has_own_words, arena, &arguments, &err) != HELIO_OK)
        return helio_client_fail(&client, HELIO_EXIT_USAGE, "%s", err.text);
    if (helio_command_line_has(&arguments, HELIO_OPTION_UTC))
        client.output.zone = NULL;
    int code = dispatch(&client, &arguments);
    bool failed = fflush(io->out) != 0 || ferror(io->out);
    int why = errno;
    if (failed && (code == HELIO_EXIT_OK || code == HELIO_EXIT_OWN) && reader_is_gone(io->out))
        return HELIO_EXIT_UNREAD;
    if (failed && code == HELIO_EXIT_OK)
        return helio_client_fail(&client, HELIO_EXIT_OWN, "standard output: %s", strerror(why));
    return code;
}
