/*  convert.c -- a script, from its first byte to a job file. */
#include <stdio.h>
#include <string.h>

#include "client/sbatch/internal.h"
#include "federation/base/utf8.h"

/*  What sbatch itself refuses, and what a job file cannot express. */
static helio_rc check_script(sbatch_t *self)
{
    helio_text_t script = self->input->script;
    helio_spec_reader_t *reader = &self->reader;
    size_t next = 0;
    size_t blank = 0;
    while (blank < script.size && script.data[blank] && strchr(" \t\r\n", script.data[blank]))
        blank++;
    if (blank == script.size)
        return sbatch_refuse(self, NULL, NULL, "the script is empty");
    if (script.size > HELIO_SBATCH_SCRIPT_MAX)
        return sbatch_refuse(self, NULL, "put large data into files at the site", "the script has more than %d KiB",
                             HELIO_SBATCH_SCRIPT_MAX >> 10);
    const char *nul = memchr(script.data, '\0', script.size);
    if (nul)
        return helio_spec_diagnose_at(reader, (size_t)(nul - script.data), (size_t)(nul - script.data) + 1,
                                      HELIO_SPEC_MALFORMED_PROBLEM, NULL, "this is not a script: it has a NUL byte");
    helio_text_t first = sbatch_line_at(script, 0, &next);
    if (script.size < 3 || memcmp(script.data, "#!", 2) != 0 || first.size < 3)
        return helio_spec_diagnose_at(reader, 0, first.size, HELIO_SPEC_MALFORMED_PROBLEM, "such as #!/bin/bash",
                                      "a batch script must begin with #! and the path of its interpreter");
    if (first.data[first.size - 1] == '\r')
        return helio_spec_diagnose_at(reader, first.size - 1, first.size, HELIO_SPEC_MALFORMED_PROBLEM,
                                      "`sed -i 's/\\r$//' SCRIPT` converts them",
                                      "the script has DOS line ends (\\r\\n); sbatch refuses it, too");
    size_t good = helio_utf8_prefix(script);
    if (good < script.size)
        return helio_spec_diagnose_at(reader, good, good + 1, HELIO_SPEC_MALFORMED_PROBLEM,
                                      "`iconv -f latin1 -t utf8 SCRIPT` may convert it", "the script is not UTF-8");
    return HELIO_OK;
}

static const char *const refusals[][2] = {
    {"hold", "jobs cannot be submitted as held; --begin=TIME delays a job"},
    {"export-file", "name the variables: --export=NAME,OTHER=value"},
    {"gpus-per-socket", "use --gpus-per-node instead"},
    {"nodefile", "node names are those of one cluster; use --nodelist, which pins the job to Slurm sites with these "
                 "nodes"},
    {"bbf", "the file does not exist at the site where the job runs; use --bb"},
    {"batch", "use --constraint, which applies to all nodes of the job"},
    {"reboot", "only the operators of a node reboot it"},
    {"uid", "each site decides by its user table as which Unix user a job runs"},
    {"gid", "each site decides by its user table as which Unix user a job runs"},
};

static helio_rc check_refused(sbatch_t *self)
{
    for (uint32_t id = 0; id < HELIO_SBATCH_COUNT; id++) {
        const sbatch_value_t *value = sbatch_given(self, id);
        const helio_sbatch_option_t *option = helio_sbatch_option(id);
        if (!value || option->policy != HELIO_SBATCH_REFUSED)
            continue;
        const char *hint = NULL;
        for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++)
            if (strcmp(refusals[i][0], option->name) == 0)
                hint = refusals[i][1];
        return sbatch_refuse(self, value, hint, "--%s is not supported", option->name);
    }
    return HELIO_OK;
}

static const char *first_needed(const sbatch_t *self)
{
    for (uint32_t id = 0; id < HELIO_SBATCH_COUNT; id++)
        if (sbatch_given(self, id) && helio_sbatch_option(id)->policy == HELIO_SBATCH_NEEDED)
            return helio_sbatch_option(id)->name;
    return NULL;
}

/*  The user's own `backends` apply; otherwise features that only Slurm has pin the job to Slurm sites. */
static void decide_pinned(sbatch_t *self)
{
    const helio_spec_node_t *placement = sbatch_own_key(self, "placement");
    const helio_spec_node_t *own = placement ? helio_spec_find(placement, "backends") : NULL;
    const sbatch_value_t *wrap = sbatch_given(self, HELIO_SBATCH_WRAP);
    helio_text_t body = wrap ? helio_text_of(wrap->text)
                             : (helio_text_t){self->input->script.data + self->header_end,
                                              self->input->script.size - (uint32_t)self->header_end};
    const char *needed = first_needed(self), *why = NULL;
    if (self->shape.nodes > 1)
        why = "the job has more than one node, and a batch script runs on the first";
    else if (sbatch_calls_slurm(body))
        why = "the script calls srun, sbcast or scontrol";
    else if (needed)
        why = helio_arena_printf(self->arena, "--%s", needed).data;
    if (own) {
        bool alone = own->type != HELIO_SPEC_SEQUENCE || own->count == 1;
        const helio_spec_node_t *one = own->type == HELIO_SPEC_SEQUENCE ? own->first : own;
        self->pinned = self->pinned_by_own = alone && one && helio_text_is(one->text, "slurm");
        if (why && !self->pinned)
            sbatch_note(self, "placement.backends allows other sites than Slurm's, but: %s", why);
        return;
    }
    self->pinned = why != NULL;
    if (why)
        sbatch_note(self, "pinned to Slurm sites (placement.backends: [slurm]): %s", why);
}

static helio_rc read_all(sbatch_t *self)
{
    helio_rc rc = HELIO_OK;
    if (!self->input->words->values[HELIO_SBATCH_WRAP]) {
        if ((rc = check_script(self)) != HELIO_OK)
            return rc;
        self->header_end = sbatch_header_end(self->input->script);
        rc = sbatch_read_header(self);
        self->values[HELIO_SBATCH_WRAP].text = NULL; /* sbatch ignores it in a script */
    }
    if (rc == HELIO_OK)
        rc = sbatch_read_environment(self);
    if (rc == HELIO_OK)
        rc = sbatch_read_line(self);
    if (rc == HELIO_OK)
        rc = check_refused(self);
    if (rc == HELIO_OK && !sbatch_given(self, HELIO_SBATCH_WRAP))
        rc = sbatch_read_own(self);
    if (rc == HELIO_OK)
        rc = sbatch_resolve_shape(self);
    return rc;
}

helio_rc helio_sbatch_convert(const helio_sbatch_input_t *input, helio_arena_t *arena, helio_sbatch_job_t *ret_job,
                              helio_diagnostic_t *ret_diagnostic)
{
    sbatch_t *self = helio_arena_alloc(arena, 1, sizeof *self);
    helio_diagnostic_t unheard;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t yaml = {0};
    self->input = input;
    self->arena = arena;
    self->diagnostic = ret_diagnostic ? ret_diagnostic : &unheard;
    self->reader = (helio_spec_reader_t){
        .source = {.text = input->script, .name = input->name}, .arena = arena, .diagnostic = self->diagnostic};
    helio_rc rc = read_all(self);
    if (rc != HELIO_OK)
        return rc;
    decide_pinned(self);
    rc = sbatch_write_job(self, &yaml);
    if (rc != HELIO_OK)
        return rc;
    char name[160];
    (void)snprintf(name, sizeof name, "job file from %.120s", input->name);
    helio_job_spec_t spec;
    helio_text_t text = helio_arena_text(arena, helio_buffer_view(&yaml));
    rc = helio_spec_parse_job((helio_spec_source_t){.text = text, .name = name}, arena, &spec, self->diagnostic);
    if (rc != HELIO_OK)
        return rc;
    const char **notes = helio_arena_alloc(arena, SBATCH_NOTES_MAX, sizeof *notes);
    memcpy(notes, self->notes, self->note_count * sizeof *notes);
    *ret_job = (helio_sbatch_job_t){.yaml = text,
                                    .notes = notes,
                                    .note_count = self->note_count,
                                    .name = helio_arena_string(arena, spec.name),
                                    .pinned = self->pinned,
                                    .singleton = self->singleton,
                                    .parsable = sbatch_given(self, HELIO_SBATCH_PARSABLE) != NULL,
                                    .wait = sbatch_given(self, HELIO_SBATCH_WAIT) != NULL,
                                    .test_only = sbatch_given(self, HELIO_SBATCH_TEST_ONLY) != NULL,
                                    .quiet = sbatch_given(self, HELIO_SBATCH_QUIET) != NULL};
    return HELIO_OK;
}
