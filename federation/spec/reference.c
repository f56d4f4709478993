/*  reference.c -- the fields of a table as Markdown, and the two pages made of them. */
#include <stdio.h>
#include <string.h>

#include "federation/spec/scalar.h"

typedef struct page {
    helio_buffer_t *out;
    char path[128];
} page_t;

static void tables(page_t *self, const helio_spec_table_t *table);

/*  A cell may not hold a bar; the rest of Markdown is meant. */
static void cell(helio_buffer_t *out, const char *text)
{
    for (; *text; text++)
        helio_buffer_text(out, *text == '|' ? "\\|" : (char[]){*text, '\0'});
}

static bool write_row(const helio_spec_field_t *field, size_t base, void *context)
{
    page_t *self = context;
    char expected[HELIO_SPEC_EXPECTED_SIZE];
    (void)base;
    helio_spec_expected(field, expected);
    helio_buffer_printf(self->out, "| `%s` | ", field->key);
    cell(self->out, expected);
    if (field->required)
        helio_buffer_text(self->out, " | required | ");
    else
        helio_buffer_printf(self->out, field->fallback ? " | `%s` | " : " |%s | ",
                            field->fallback ? field->fallback : "");
    if (field->example) {
        helio_buffer_text(self->out, "`");
        cell(self->out, field->example);
        helio_buffer_text(self->out, "`");
    }
    helio_buffer_text(self->out, " | ");
    cell(self->out, field->doc ? field->doc : "");
    helio_buffer_text(self->out, " |\n");
    return true;
}

static bool write_nested(const helio_spec_field_t *field, size_t base, void *context)
{
    page_t *self = context;
    size_t before = strlen(self->path);
    (void)base;
    if (field->kind != HELIO_SPEC_GROUP && field->kind != HELIO_SPEC_LIST)
        return true;
    (void)snprintf(self->path + before, sizeof self->path - before, "%s%s%s", before ? "." : "", field->key,
                   field->kind == HELIO_SPEC_LIST ? "[]" : "");
    helio_buffer_printf(self->out, "\n## `%s`\n\n", self->path);
    tables(self, field->table);
    self->path[before] = '\0';
    return true;
}

static void tables(page_t *self, const helio_spec_table_t *table)
{
    helio_buffer_text(self->out, "| key | takes | default | example | meaning |\n|---|---|---|---|---|\n");
    (void)helio_spec_each(table, 0, write_row, self);
    (void)helio_spec_each(table, 0, write_nested, self);
}

void helio_spec_reference(const helio_spec_table_t *table, helio_buffer_t *out)
{
    page_t page = {.out = out};
    tables(&page, table);
}

static const char quantities[] =
    "\n## Quantities\n\n"
    "- **Durations**: whole numbers with `w`, `d`, `h`, `m`, `s` or `ms`, largest first: `90s`, `15m`, `6h`, "
    "`1h30m`. A\n"
    "  number without a unit is an error.\n"
    "- **Sizes**: `256GB` is 256 x 10^9 bytes, `256GiB` is 256 x 2^30; also B, KB, MB, TB, PB and their "
    "binary forms.\n"
    "- **Money**: `400 USD`, with at most six decimals.\n"
    "- **Times**: RFC 3339 with a zone: `2026-11-22T07:00:00Z`, `2026-11-22T08:00:00+01:00`.\n"
    "- **Text**: quote what begins with `!`, `&`, `*`, `@`, `%`, `[` or `{`, and what contains `: `. A "
    "number where text\n"
    "  is expected keeps the text as written; a number in quotes is text.\n";

static const char bounds[] = "\n## Bounds\n\n"
                             "A document is UTF-8, nested at most 16 levels deep, and has every key once. "
                             "Anchors, aliases and tags are refused.\n";

void helio_spec_job_reference(helio_buffer_t *out)
{
    helio_buffer_text(
        out, "# The job file\n\n"
             "<!-- Generated from federation/spec/job_fields.c; the test of the reference writes it. -->\n\n"
             "A job is one YAML 1.2 or JSON document of at most 256 KiB. Only `run` is required. An unknown "
             "key, a wrong\n"
             "unit or a wrong type is an error that shows the place and a suggestion:\n\n"
             "```\n"
             "job.yaml:4:3: error: unknown key 'flexble' in placement\n"
             "    4 |   flexble: 12h\n"
             "      |   ^~~~~~~\n"
             "help: did you mean 'flexible'?\n"
             "```\n\n"
             "Several jobs are submitted at once as YAML documents separated by `---`, as JSON objects one "
             "after another,\n"
             "as a JSON array, or as `{\"jobs\": [...]}`. The exact bytes of each job are stored and travel "
             "to the site.\n\n"
             "## Keys\n\n");
    helio_spec_reference(&helio_spec_job_table, out);
    helio_buffer_text(out, quantities);
    helio_buffer_text(out, bounds);
}

void helio_spec_site_reference(helio_buffer_t *out)
{
    helio_buffer_text(
        out, "# The site file\n\n"
             "<!-- Generated from federation/spec/site_fields.c; the test of the reference writes it. -->\n\n"
             "What a site is: read by its agent, and listed under `sites` in the simulator's fleet file. The "
             "agent's own\n"
             "settings stand in the same file under `agent` ([reference](agent.md)); `windows` stands beside "
             "`pools`\n"
             "([reference](feeds.md)).\n\n"
             "## Keys\n\n");
    helio_spec_reference(&helio_spec_site_table, out);
    helio_buffer_text(out, quantities);
    helio_buffer_text(out, bounds);
}
