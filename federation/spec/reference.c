/*  reference.c -- writes the fields of a table as Markdown, and the reference pages of job and site file. */
#include <stdio.h>
#include <string.h>

#include "federation/spec/scalar.h"

typedef struct page {
    helio_buffer_t *out;
    char path[128];
} page_t;

static void tables(page_t *self, const helio_spec_table_t *table);

/*  Escapes '|', which would end the cell; other Markdown in the text is intended. */
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
    "- **Durations**: whole numbers with the units `w`, `d`, `h`, `m`, `s` or `ms`, largest unit first: `90s`, `15m`,\n"
    "  `6h`, `1h30m`. A number without a unit is an error.\n"
    "- **Sizes**: `256GB` is 256 x 10^9 bytes, `256GiB` is 256 x 2^30 bytes. B, KB, MB, TB, PB and their binary forms\n"
    "  are also valid.\n"
    "- **Amounts of money**: `400 USD`, with at most six decimals.\n"
    "- **Times**: RFC 3339 with a time zone: `2026-11-22T07:00:00Z`, `2026-11-22T08:00:00+01:00`.\n"
    "- **Text**: put text in quotes if it begins with `!`, `&`, `*`, `@`, `%`, `[` or `{`, or if it contains `: `. "
    "Where\n"
    "  text is expected, a number keeps its text as written. A quoted number is text.\n";

static const char bounds[] = "\n## Limits\n\n"
                             "A document is UTF-8, nested at most 16 levels deep, and has no duplicate keys. "
                             "Anchors, aliases and tags are not supported.\n";

void helio_spec_job_reference(helio_buffer_t *out)
{
    helio_buffer_text(
        out, "# The job file\n\n"
             "<!-- Generated from federation/spec/job_fields.c by its test. -->\n\n"
             "A job is one YAML 1.2 or JSON document of at most 256 KiB. Only `run` is required:\n\n"
             "```yaml\n"
             "gpu: H100:8\n"
             "time: 6h\n"
             "placement: {goal: green, flexible: 12h}\n"
             "run: torchrun train.py\n"
             "```\n\n"
             "Unknown keys, wrong types and missing or wrong units are errors. Each error shows its position and, "
             "where\n"
             "possible, a suggestion:\n\n"
             "```\n"
             "job.yaml:4:3: error: unknown key 'flexble' in placement\n"
             "    4 |   flexble: 12h\n"
             "      |   ^~~~~~~\n"
             "help: did you mean 'flexible'?\n"
             "```\n\n"
             "To submit several jobs at once, write YAML documents separated by `---`, JSON objects one after another, "
             "a JSON\n"
             "array, or `{\"jobs\": [...]}`. The broker stores the exact bytes of each job and sends them to the "
             "site.\n\n"
             "## Keys\n\n");
    helio_spec_reference(&helio_spec_job_table, out);
    helio_buffer_text(out, quantities);
    helio_buffer_text(out, bounds);
}

void helio_spec_site_reference(helio_buffer_t *out)
{
    helio_buffer_text(
        out, "# The site file\n\n"
             "<!-- Generated from federation/spec/site_fields.c by its test. -->\n\n"
             "The site file describes a site. The agent of the site reads it, and the simulator's fleet file lists "
             "such sites\n"
             "under `sites`. The settings of the agent are in the same file under `agent` ([reference](agent.md)); "
             "`windows`\n"
             "is a key beside `pools` ([reference](feeds.md)).\n\n"
             "## Keys\n\n");
    helio_spec_reference(&helio_spec_site_table, out);
    helio_buffer_text(out, quantities);
    helio_buffer_text(out, bounds);
}
