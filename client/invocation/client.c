/*  client.c -- messages, questions and exit codes of a command. */
#include "client/invocation/client.h"

#include <stdarg.h>
#include <string.h>

#include "client/output/humanise.h"
#include "federation/spec/value.h"

const char *helio_client_env(const helio_client_io_t *io, helio_variable_t variable)
{
    const char *name = helio_variable_name(variable);
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

void helio_client_print_foreign(const helio_client_t *self, helio_safe_stream_t *stream, const char *bytes, size_t size)
{
    if (!self->io->out_tty) {
        (void)fwrite(bytes, 1, size, self->io->out);
        return;
    }
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t safe = {0};
    helio_safe_piece(stream, bytes, size, &safe);
    (void)fwrite(safe.size ? safe.data : "", 1, safe.size, self->io->out);
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
        return helio_client_fail(
            self, HELIO_EXIT_USAGE,
            "%s\nhelp: nothing was sent, because there is no terminal for the confirmation; -y (--yes) "
            "confirms it",
            question);
    fprintf(io->err, "%s [y/N] ", question);
    (void)fflush(io->err);
    char line[16];
    bool yes = fgets(line, sizeof line, io->in) && (line[0] == 'y' || line[0] == 'Y');
    return yes ? HELIO_EXIT_OK : HELIO_EXIT_FAILURE;
}

bool helio_client_has(const helio_client_t *self, uint32_t option)
{
    return helio_command_line_has(self->arguments, option);
}

const char *helio_client_value(const helio_client_t *self, uint32_t option)
{
    return helio_command_line_value(self->arguments, option);
}

bool helio_client_number(const helio_client_t *self, uint32_t option, uint64_t fallback, uint64_t *ret_number)
{
    const char *value = helio_command_line_value(self->arguments, option);
    uint64_t number = fallback;
    if (value && helio_u64_parse(helio_text_of(value), &number) != HELIO_OK) {
        (void)helio_client_fail(self, HELIO_EXIT_USAGE, "--%s: '%.64s' is not a whole number",
                                helio_client_options.items[option].name, value);
        return false;
    }
    *ret_number = number;
    return true;
}

bool helio_client_is_duration(const char *word, uint64_t *ret_ms)
{
    return helio_duration_parse(helio_text_of(word), ret_ms) == HELIO_OK;
}

bool helio_client_duration(const helio_client_t *self, uint32_t option, uint64_t fallback_ms, uint64_t *ret_ms)
{
    const char *value = helio_command_line_value(self->arguments, option);
    uint64_t ms = fallback_ms;
    if (value && helio_duration_parse(helio_text_of(value), &ms) != HELIO_OK) {
        (void)helio_client_fail(self, HELIO_EXIT_USAGE, "--%s: '%.64s' is not a duration such as 90s, 15m or 6h",
                                helio_client_options.items[option].name, value);
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
        return HELIO_EXIT_TIME_LIMIT;
    if (strcmp(state, "cancelled") == 0)
        return HELIO_EXIT_INTERRUPTED;
    if (strcmp(state, "lost") == 0)
        return HELIO_EXIT_OWN;
    return exit_code > 0 && exit_code <= 255 ? exit_code : HELIO_EXIT_FAILURE;
}
