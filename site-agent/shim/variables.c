/*  variables.c -- looks up variables in the table, and makes their reference page. */
#include "site-agent/shim/variables.h"

#include <string.h>

#define ROW(id, name, kind, when, meaning) {name, HELIO_VARIABLE_##kind, when, meaning},
const helio_variable_doc_t helio_variables[HELIO_VARIABLE_COUNT] = {HELIO_VARIABLE_TABLE(ROW)};
#undef ROW

static bool begins(helio_text_t name, const char *head, size_t size)
{
    return name.size >= size && memcmp(name.data, head, size) == 0;
}

const helio_variable_doc_t *helio_variable_find(helio_text_t name)
{
    const helio_variable_doc_t *by_prefix = NULL;
    for (size_t i = 0; i < HELIO_VARIABLE_COUNT; i++) {
        const char *star = strchr(helio_variables[i].name, '*');
        if (helio_text_is(name, helio_variables[i].name))
            return &helio_variables[i];
        if (star && begins(name, helio_variables[i].name, (size_t)(star - helio_variables[i].name)))
            by_prefix = &helio_variables[i];
    }
    return by_prefix;
}

bool helio_variable_is_scheduled(const helio_variable_doc_t *row)
{
    return row == &helio_variables[HELIO_VARIABLE_CUDA_DEVICES] || row == &helio_variables[HELIO_VARIABLE_MPS_PIPE] ||
           row == &helio_variables[HELIO_VARIABLE_MPS_PERCENT];
}

bool helio_variable_is_ours(helio_text_t name)
{
    const helio_variable_doc_t *row = helio_variable_find(name);
    return begins(name, "HELIO_", 6) || (row && row->kind == HELIO_VARIABLE_OURS);
}

/* ---- the page ------------------------------------------------------------------------------------------ */

typedef struct part {
    const char *title, *text;
    bool when; /* the page has a column for it */
} part_t;

static const part_t parts[HELIO_VARIABLE_KINDS] = {
    [HELIO_VARIABLE_OURS] = {"Set by Heliostat",
                             "The job file cannot set these. A name that begins with `HELIO_` is refused at\n"
                             "submission, a value for `CUDA_VISIBLE_DEVICES` is ignored.",
                             true},
    [HELIO_VARIABLE_DEFAULT] = {"Set unless the job file sets them", "An entry of `env` or `secrets` takes precedence.",
                                true},
    [HELIO_VARIABLE_BATCH] = {"For batch scripts",
                              "A script that was submitted with `helio sbatch` finds the names that Slurm would set.",
                              true},
    [HELIO_VARIABLE_PASSED] = {"Passed on from Slurm",
                               "At a site with Slurm, each rank also finds these, unless the job file sets them.",
                               true},
    [HELIO_VARIABLE_DROPPED] = {"Not passed on",
                                "Slurm sets these for the job that Heliostat submits. Ranks do not get them.", false},
};

static void add_part(helio_buffer_t *page, helio_variable_kind_t kind)
{
    const part_t *part = &parts[kind];
    helio_buffer_printf(page, "\n## %s\n\n%s\n\n", part->title, part->text);
    helio_buffer_printf(page, "| variable |%s meaning |\n|---|---|%s\n", part->when ? " set when |" : "",
                        part->when ? "---|" : "");
    for (size_t i = 0; i < HELIO_VARIABLE_COUNT; i++) {
        const helio_variable_doc_t *row = &helio_variables[i];
        if (row->kind != kind)
            continue;
        helio_buffer_printf(page, "| `%s` |", row->name);
        if (part->when)
            helio_buffer_printf(page, " %s |", row->when);
        helio_buffer_printf(page, " %s |\n", row->meaning);
    }
}

void helio_variables_page(helio_buffer_t *page)
{
    helio_buffer_text(page, "# Environment of jobs\n\n"
                            "<!-- Made from site-agent/shim/variables.h by its test. -->\n\n"
                            "The environment of a job begins empty: nothing of the agent's own environment, nor of\n"
                            "the shell that submitted the job, reaches it. It holds the variables below and those of\n"
                            "the job file's `env` and `secrets` ([job file](job.md)). Each rank has its own.\n");
    for (size_t kind = 0; kind < HELIO_VARIABLE_KINDS; kind++)
        add_part(page, (helio_variable_kind_t)kind);
}
