/*  diagnostic.c -- prints an error with its source line. The texts of errors are with the readers (scalar.c, …). */
#include <string.h>

#include "federation/spec/diagnostic.h"

const char *helio_spec_problem_name(helio_spec_problem_t problem)
{
    static const char *const words[] = {
#define WORD(name, word) word,
        HELIO_SPEC_PROBLEM_TABLE(WORD)
#undef WORD
    };
    return (size_t)problem < sizeof words / sizeof words[0] ? words[problem] : "Unknown";
}

static void place(const helio_diagnostic_t *self, helio_buffer_t *out)
{
    helio_buffer_text(out, self->source_name);
    if (self->line)
        helio_buffer_printf(out, ":%u:%u", self->line, self->column);
    helio_buffer_text(out, ": ");
}

void helio_diagnostic_brief(const helio_diagnostic_t *self, helio_buffer_t *out)
{
    place(self, out);
    helio_buffer_printf(out, "error: %s", self->message);
}

static void repeat(helio_buffer_t *out, char c, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        helio_buffer_append(out, &c, 1);
}

static void caret(const helio_diagnostic_t *self, const char *on, const char *off, helio_buffer_t *out)
{
    const char *gap = self->source_skip ? "..." : "";
    uint32_t before = self->column - 1 - self->source_skip + (uint32_t)strlen(gap);
    helio_buffer_printf(out, "%5u | %s%s\n      | ", self->line, gap, self->source_line);
    repeat(out, ' ', before);
    helio_buffer_text(out, on);
    helio_buffer_text(out, "^");
    repeat(out, '~', self->span ? self->span - 1 : 0);
    helio_buffer_text(out, off);
    helio_buffer_text(out, "\n");
}

void helio_diagnostic_text(const helio_diagnostic_t *self, bool colour, helio_buffer_t *out)
{
    const char *bold = colour ? "\033[1m" : "", *red = colour ? "\033[1;31m" : "", *green = colour ? "\033[1;32m" : "";
    const char *off = colour ? "\033[0m" : "";
    helio_buffer_text(out, bold);
    place(self, out);
    helio_buffer_printf(out, "%s%serror:%s %s%s%s\n", off, red, off, bold, self->message, off);
    if (self->line && self->source_line[0])
        caret(self, green, off, out);
    if (self->hint[0])
        helio_buffer_printf(out, "%shelp:%s %s\n", green, off, self->hint);
}

void helio_diagnostics_text(const helio_diagnostics_t *self, bool colour, helio_buffer_t *out)
{
    for (uint32_t i = 0; i < self->count; i++)
        helio_diagnostic_text(&self->items[i], colour, out);
    if (self->more)
        helio_buffer_printf(out, "%s: more errors were found; only the first %d are shown\n",
                            self->items[0].source_name, HELIO_DIAGNOSTICS_MAX);
}
