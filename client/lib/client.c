#include "client/lib/client.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "client/lib/command.h"
#include "client/lib/instant.h"
#include "client/lib/humanise.h"
#include "client/lib/remote.h"
#include "client/lib/settings.h"
#include "federation/base/clock.h"
#include "federation/spec/value.h"

const char *helio_client_env(const helio_client_io_t *io, const char *name)
{
    size_t size = strlen(name);
    for (char *const *at = io->environment; at && *at; at++)
        if (strncmp(*at, name, size) == 0 && (*at)[size] == '=')
            return (*at)[size + 1] ? *at + size + 1 : NULL;
    return NULL;
}

int helio_client_interrupts(const helio_client_io_t *io)
{
    return io->interrupts ? (int)*io->interrupts : 0;
}

/*  "helio: " is for errors alone, so that a script can tell them from progress. */
HELIO_PRINTF(3, 0)
static void print_line(FILE *stream, const char *prefix, const char *format, va_list args)
{
    char text[4096];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t safe = {0};
    (void)vsnprintf(text, sizeof text, format, args);
    helio_safe_text(text, true, &safe);
    fprintf(stream, "%s%s\n", prefix, safe.data ? safe.data : "");
    (void)fflush(stream);
}

int helio_client_fail(const helio_client_t *self, int exit_code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line(self->io->err, "helio: ", format, args);
    va_end(args);
    return exit_code;
}

void helio_client_say(const helio_client_t *self, const char *format, ...)
{
    if (helio_client_has(self, HELIO_OPTION_QUIET))
        return;
    va_list args;
    va_start(args, format);
    print_line(self->io->err, "", format, args);
    va_end(args);
}

int helio_client_confirm(const helio_client_t *self, const char *question)
{
    const helio_client_io_t *io = self->io;
    if (helio_client_has(self, HELIO_OPTION_YES))
        return HELIO_EXIT_OK;
    if (!io->in_tty || !io->err_tty)
        return helio_client_fail(self, HELIO_EXIT_USAGE,
                                 "%s\nhelp: there is no terminal to ask at, and nothing was sent; -y (--yes) says yes",
                                 question);
    fprintf(io->err, "%s [y/N] ", question);
    (void)fflush(io->err);
    char line[16];
    bool yes = fgets(line, sizeof line, io->in) && (line[0] == 'y' || line[0] == 'Y');
    return yes ? HELIO_EXIT_OK : HELIO_EXIT_FAILURE;
}

bool helio_client_has(const helio_client_t *self, uint32_t option)
{
    return self->arguments->values[option] != NULL;
}

const char *helio_client_value(const helio_client_t *self, uint32_t option)
{
    return self->arguments->values[option];
}

bool helio_client_number(const helio_client_t *self, uint32_t option, uint64_t fallback, uint64_t *ret_number)
{
    const char *value = self->arguments->values[option];
    uint64_t number = fallback;
    if (value && helio_u64_parse(helio_text_of(value), &number) != HELIO_OK) {
        (void)helio_client_fail(self, HELIO_EXIT_USAGE, "--%s takes a whole number, not '%.64s'",
                                helio_option(option)->name, value);
        return false;
    }
    *ret_number = number;
    return true;
}

bool helio_client_duration(const helio_client_t *self, uint32_t option, uint64_t fallback_ms,
                           uint64_t *ret_ms)
{
    const char *value = self->arguments->values[option];
    uint64_t ms = fallback_ms;
    if (value && helio_duration_parse(helio_text_of(value), &ms) != HELIO_OK) {
        (void)helio_client_fail(self, HELIO_EXIT_USAGE,
                                "--%s takes a duration such as 90s, 15m or 6h, not '%.64s'",
                                helio_option(option)->name, value);
        return false;
    }
    *ret_ms = ms;
    return true;
}

int helio_exit_of_job(const char *state, int exit_code)
{
    if (strcmp(state, "succeeded") == 0)
        return HELIO_EXIT_OK;
    if (strcmp(state, "timeout") == 0)
        return 124;
    if (strcmp(state, "cancelled") == 0)
        return HELIO_EXIT_INTERRUPTED;
    if (strcmp(state, "lost") == 0)
        return HELIO_EXIT_OWN;
    return exit_code > 0 && exit_code <= 255 ? exit_code : HELIO_EXIT_FAILURE;
}

/*  ---- one command line ---- */

static int usage(const helio_client_t *self, const helio_command_t *command, const char *what)
{
    return helio_client_fail(
        self, HELIO_EXIT_USAGE, "%s\nusage: helio %s%s%s\nhelp: `helio help %s` explains it", what,
        command->name, command->synopsis[0] ? " " : "", command->synopsis, command->name);
}

static int find_command(helio_client_t *self, helio_arguments_t *arguments)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    if (arguments->positional_count == 0) {
        const char *const help[] = {"help"};
        uint32_t none;
        if (helio_client_has(self, HELIO_OPTION_VERSION)) {
            fprintf(self->io->out, "helio %s\n", HELIO_RELEASE);
            return HELIO_EXIT_OK;
        }
        if (helio_client_has(self, HELIO_OPTION_HELP)) {
            self->command = helio_command_find(help, 1, &none);
            return HELIO_EXIT_OK;
        }
        helio_help_overview(&text);
        fputs(text.data, self->io->err);
        return HELIO_EXIT_USAGE;
    }
    uint32_t taken = 0;
    const char *word = arguments->positionals[0];
    self->command = helio_command_find(arguments->positionals, arguments->positional_count, &taken);
    if (self->command) {
        arguments->positionals += taken;
        arguments->positional_count -= taken;
        return HELIO_EXIT_OK;
    }
    if (helio_command_is_group(word)) {
        helio_help_group(word, &text);
        fputs(text.data, self->io->err);
        return HELIO_EXIT_USAGE;
    }
    const char *near = helio_command_suggest(word);
    if (near)
        return helio_client_fail(self, HELIO_EXIT_USAGE,
                                 "unknown command '%.64s'\nhelp: did you mean `helio %s`?", word, near);
    return helio_client_fail(self, HELIO_EXIT_USAGE, "unknown command '%.64s'\nhelp: `helio help` lists them",
                             word);
}

static int check_words(const helio_client_t *self)
{
    const helio_command_t *command = self->command;
    const helio_arguments_t *arguments = self->arguments;
    helio_options_t allowed = command->options | HELIO_OPTIONS_EVERYWHERE;
    for (uint32_t id = 0; id < HELIO_OPTION_COUNT; id++) {
        char what[160];
        if (!(arguments->present & ~allowed & (UINT64_C(1) << id)))
            continue;
        (void)snprintf(what, sizeof what, "`helio %s` does not take --%s", command->name,
                       helio_option(id)->name);
        return usage(self, command, what);
    }
    if (arguments->positional_count < command->least)
        return usage(self, command, "a word is missing");
    if (arguments->positional_count > command->most)
        return usage(self, command, "there is a word too many");
    return HELIO_EXIT_OK;
}

static bool wants_colour(const helio_client_io_t *io, const char *when)
{
    if (strcmp(when, "auto") != 0)
        return strcmp(when, "always") == 0;
    const char *term = helio_client_env(io, "TERM");
    return io->out_tty && !helio_client_env(io, "NO_COLOR") && !(term && strcmp(term, "dumb") == 0);
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
            "no broker is set\nhelp: say --broker URL, set HELIO_BROKER, or write `broker: URL` "
            "to ~/.config/helio/config.yaml");
    helio_error_t err;
    if (settings->broker[0] && helio_remote_new(self->io, settings, &self->remote, &err) != HELIO_OK)
        return helio_client_fail(self, HELIO_EXIT_OWN, "%s", err.text);
    return HELIO_EXIT_OK;
}

static int dispatch(helio_client_t *self, helio_arguments_t *arguments)
{
    helio_settings_t settings;
    int code = find_command(self, arguments);
    if (code != HELIO_EXIT_OK || !self->command)
        return code;
    if (self->command->words == HELIO_WORDS_BATCH)
        code = helio_sbatch_take_options(self, arguments);
    if (code != HELIO_EXIT_OK)
        return code;
    if (helio_client_has(self, HELIO_OPTION_HELP)) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        if (strcmp(self->command->name, "help") == 0)
            helio_help_overview(&text);
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

int helio_client_main(int argc, char *const *argv, const helio_client_io_t *io)
{
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new();
    helio_arguments_t arguments = {0};
    helio_client_t client = {.io = io, .arguments = &arguments, .arena = arena};
    HELIO_AUTO(helio_zone_destroy) helio_zone_t *zone = helio_zone_of_reader(helio_client_env(io, "TZ"));
    client.output.zone = zone;
    client.output.stream = io->out;
    client.output.wall_ms = helio_clock_wall_ms();
    helio_error_t err;
    if (helio_arguments_parse(argc, argv, helio_command_has_own_words, arena, &arguments, &err) != HELIO_OK)
        return helio_client_fail(&client, HELIO_EXIT_USAGE, "%s", err.text);
    int code = dispatch(&client, &arguments);
    if ((fflush(io->out) != 0 || ferror(io->out)) && code == HELIO_EXIT_OK)
        return helio_client_fail(&client, HELIO_EXIT_OWN, "standard output: %s", strerror(errno));
    return code;
}
