/*  body.c -- the script's commands: whether they need Slurm, and how its arguments reach it. */
#include <stdio.h>
#include <string.h>

#include "client/sbatch/internal.h"
#include "federation/base/char.h"

static bool is_word(char c)
{
    return helio_is_letter_or_digit(c) || c == '_' || c == '-' || c == '.' || c == '$';
}

static bool calls(helio_text_t line, const char *name)
{
    size_t size = strlen(name);
    const char *at = line.data, *end = line.data + line.size;
    while ((at = memmem(at, (size_t)(end - at), name, size)) != NULL) {
        bool before = at > line.data && is_word(at[-1]),
             after = at + size < end && (is_word(at[size]) || at[size] == '=');
        if (!before && !after)
            return true;
        at += size;
    }
    return false;
}

/*  Removes the comment: from a # at the start of a word on. Quotes are ignored: a job that is pinned needlessly prints
 *  a note and runs, while one that is not pinned although it must be would fail. */
static helio_text_t uncommented(helio_text_t line)
{
    for (uint32_t i = 0; i < line.size; i++)
        if (line.data[i] == '#' && (i == 0 || strchr(" \t;", line.data[i - 1])))
            line.size = i;
    return line;
}

bool sbatch_calls_slurm(helio_text_t body)
{
    static const char *const names[] = {"srun", "sbcast", "scontrol"};
    size_t next;
    for (size_t at = 0; at < body.size; at = next) {
        helio_text_t line = uncommented(sbatch_line_at(body, at, &next));
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            if (calls(line, names[i]))
                return true;
    }
    return false;
}

static void quote(const char *text, helio_buffer_t *out)
{
    helio_buffer_text(out, "'");
    for (; *text; text++)
        if (*text == '\'')
            helio_buffer_text(out, "'\\''");
        else
            helio_buffer_append(out, text, 1);
    helio_buffer_text(out, "'");
}

static void quote_all(const sbatch_t *self, helio_buffer_t *out)
{
    for (uint32_t i = 0; i < self->input->argument_count; i++) {
        helio_buffer_text(out, " ");
        quote(self->input->arguments[i], out);
    }
}

/*  The interpreter of the #! line, and the one argument that the kernel passes to it. */
static void interpreter(helio_text_t line, helio_text_t *ret_program, helio_text_t *ret_word)
{
    const char *at = line.data + 2, *end = line.data + line.size;
    while (end > at && strchr(" \t\r", end[-1]))
        end--;
    while (at < end && (*at == ' ' || *at == '\t'))
        at++;
    const char *stop = at;
    while (stop < end && *stop != ' ' && *stop != '\t')
        stop++;
    *ret_program = (helio_text_t){at, (uint32_t)(stop - at)};
    while (stop < end && (*stop == ' ' || *stop == '\t'))
        stop++;
    *ret_word = (helio_text_t){stop, (uint32_t)(end - stop)};
}

static bool ends_with(helio_text_t text, const char *name)
{
    size_t size = strlen(name);
    return text.size >= size && memcmp(text.data + text.size - size, name, size) == 0 &&
           (text.size == size || text.data[text.size - size - 1] == '/');
}

static bool is_shell(helio_text_t program, helio_text_t word)
{
    static const char *const shells[] = {"sh", "bash", "dash", "ksh", "zsh"};
    helio_text_t name = ends_with(program, "env") ? word : program;
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++)
        if (ends_with(name, shells[i]))
            return true;
    return false;
}

/*  A script for another interpreter is written beside the job and run with its arguments. */
static void wrap_script(const sbatch_t *self, helio_text_t program, helio_text_t word, helio_buffer_t *out)
{
    helio_text_t script = self->input->script;
    char mark[32] = "HELIO_SCRIPT";
    for (uint32_t i = 0; memmem(script.data, script.size, mark, strlen(mark)); i++)
        (void)snprintf(mark, sizeof mark, "HELIO_SCRIPT_%u", i);
    helio_buffer_printf(out, "#!/bin/bash\nset -e\ncat >\"${HELIO_OUTPUT_DIR:-.}/.batch-script\" <<'%s'\n", mark);
    helio_buffer_append(out, script.data, script.size);
    helio_buffer_text(out, script.data[script.size - 1] == '\n' ? "" : "\n");
    helio_buffer_printf(out, "%s\nexec ", mark);
    quote(helio_arena_string(self->arena, program), out);
    if (word.size) {
        helio_buffer_text(out, " ");
        quote(helio_arena_string(self->arena, word), out);
    }
    helio_buffer_text(out, " \"${HELIO_OUTPUT_DIR:-.}/.batch-script\"");
    quote_all(self, out);
    helio_buffer_text(out, "\n");
}

helio_rc sbatch_compose_run(sbatch_t *self, helio_buffer_t *out)
{
    helio_text_t script = self->input->script, program, word;
    const sbatch_value_t *wrap = sbatch_given(self, HELIO_SBATCH_WRAP);
    if (wrap) {
        helio_buffer_printf(out, "#!/bin/sh\n\n%s\n", wrap->text);
        return HELIO_OK;
    }
    size_t next;
    interpreter(sbatch_line_at(script, 0, &next), &program, &word);
    if (self->input->argument_count == 0) {
        helio_buffer_append(out, script.data, script.size);
    } else if (is_shell(program, word)) {
        /* before the first command, on its line: messages keep their line numbers */
        helio_buffer_append(out, script.data, self->header_end);
        helio_buffer_text(out, "set --");
        quote_all(self, out);
        helio_buffer_text(out, "; ");
        helio_buffer_append(out, script.data + self->header_end, script.size - self->header_end);
    } else {
        wrap_script(self, program, word, out);
    }
    if (out->size > HELIO_JOB_RUN_MAX)
        return sbatch_refuse(self, NULL, "put large data into files at the site",
                             "the script and its arguments have more than %d KiB", HELIO_JOB_RUN_MAX >> 10);
    return HELIO_OK;
}
