/*  helio_lines.c -- #HELIO lines: a job file inside the header of a script.
 *
 *  They are parsed together as one document, in which every other byte of the header is a blank. So each error has the
 *  line and column of the script.
 */
#include <string.h>

#include "client/sbatch/internal.h"

static const char directive[] = "#HELIO";
enum { DIRECTIVE_SIZE = sizeof directive - 1 };

static bool is_own(helio_text_t line)
{
    return line.size >= DIRECTIVE_SIZE && memcmp(line.data, directive, DIRECTIVE_SIZE) == 0 &&
           (line.size == DIRECTIVE_SIZE || strchr(" \t", line.data[DIRECTIVE_SIZE]));
}

/*  The document; false if the script has no #HELIO line. */
static bool gather(sbatch_t *self, helio_buffer_t *out, uint32_t *ret_indent, size_t *ret_last)
{
    helio_text_t script = self->input->script;
    bool any = false;
    size_t next;
    for (size_t at = 0; at < self->header_end; at = next) {
        helio_text_t line = sbatch_line_at(script, at, &next);
        bool own = is_own(line);
        for (uint32_t i = 0; i < line.size; i++) {
            char c = line.data[i];
            helio_buffer_append(out, own && i > DIRECTIVE_SIZE && !(c == '\r' && i + 1 == line.size) ? &c : " ", 1);
        }
        helio_buffer_text(out, "\n");
        if (!own)
            continue;
        uint32_t indent = DIRECTIVE_SIZE;
        while (indent < line.size && strchr(" \t", line.data[indent]))
            indent++;
        if (indent < line.size && !any) {
            *ret_indent = indent;
            any = true;
        }
        *ret_last = at;
    }
    return any;
}

/*  The diagnostic has the correct place, but its excerpt shows blanks where the script has other text. */
static void show_script(sbatch_t *self, size_t last)
{
    helio_diagnostic_t *d = self->diagnostic;
    helio_text_t script = self->input->script;
    size_t at = 0, next;
    if (!d)
        return;
    for (uint32_t line = 1; line < d->line && at < last; line++, at = next)
        (void)sbatch_line_at(script, at, &next);
    helio_text_t line = sbatch_line_at(script, at, &next);
    if (is_own(line) && d->source_skip == 0 && strlen(d->source_line) >= DIRECTIVE_SIZE) {
        memcpy(d->source_line, directive, DIRECTIVE_SIZE);
        return;
    }
    helio_diagnostic_t shown = *d;
    (void)helio_spec_diagnose_at(&self->reader, at, at + line.size, d->problem, d->hint, "%s", d->message);
    memcpy(self->diagnostic->path, shown.path, sizeof shown.path);
}

static bool asks_for_gpus(const sbatch_t *self)
{
    return sbatch_given(self, HELIO_SBATCH_GRES) || sbatch_given(self, HELIO_SBATCH_GPUS) ||
           sbatch_given(self, HELIO_SBATCH_GPUS_PER_NODE) || sbatch_given(self, HELIO_SBATCH_GPUS_PER_TASK);
}

helio_rc sbatch_read_own(sbatch_t *self)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    uint32_t indent = 0;
    size_t last = 0;
    if (!gather(self, &text, &indent, &last))
        return HELIO_OK;
    helio_spec_reader_t reader = {
        .source = {.text = helio_arena_text(self->arena, helio_buffer_view(&text)), .name = self->input->name},
        .arena = self->arena,
        .diagnostic = self->diagnostic};
    helio_spec_node_t *root = NULL;
    helio_rc rc = helio_spec_tree(&reader, HELIO_JOB_SOURCE_MAX, &root);
    const helio_spec_node_t *run = rc == HELIO_OK ? helio_spec_find(root, "run") : NULL;
    if (run)
        rc = helio_spec_diagnose(&reader, run, HELIO_SPEC_CONTRADICTION_PROBLEM, "remove the key",
                                 "`run` cannot be set: it is the script itself");
    if (rc == HELIO_OK) {
        /* what a complete job file would also have */
        helio_buffer_printf(&text, "%*srun: x\n", (int)indent, "");
        if (asks_for_gpus(self) && !helio_spec_find(root, "gpu"))
            helio_buffer_printf(&text, "%*sgpu: any\n", (int)indent, "");
        helio_spec_source_t whole = {.text = helio_arena_text(self->arena, helio_buffer_view(&text)),
                                     .name = self->input->name};
        /* JSON has no room for more keys; the whole job is checked again at the end */
        bool json = root->offset < text.size && text.data[root->offset] == '{';
        if (!json)
            rc = helio_spec_parse_job(whole, self->arena, &self->own.spec, self->diagnostic);
    }
    if (rc != HELIO_OK) {
        show_script(self, last);
        return rc;
    }
    self->own.root = root;
    return HELIO_OK;
}

const helio_spec_node_t *sbatch_own_key(const sbatch_t *self, const char *key)
{
    return self->own.root ? helio_spec_find(self->own.root, key) : NULL;
}
