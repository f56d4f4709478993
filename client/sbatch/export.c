/*  export.c -- which variables travel with the job: only those that --export names. sbatch by default carries the
 *  caller's whole environment, which would mean little at another site and can hold secrets. */
#include <string.h>

#include "client/sbatch/internal.h"
#include "federation/base/char.h"

typedef struct exporter {
    sbatch_t *work;
    sbatch_variable_fn *fn;
    void *arg;
} exporter_t;

/*  Whether a variable's name suggests a secret, which must not become part of the job's document. */
static bool is_secret(helio_text_t name)
{
    static const char *const marks[] = {"TOKEN",   "SECRET",  "PASSW",      "CREDENTIAL",
                                        "PRIVATE", "API_KEY", "ACCESS_KEY", NULL};
    for (const char *const *mark = marks; *mark; mark++)
        for (uint32_t i = 0; i + strlen(*mark) <= name.size; i++)
            if (strncasecmp(name.data + i, *mark, strlen(*mark)) == 0)
                return true;
    return false;
}

static bool is_variable(helio_text_t name)
{
    for (uint32_t i = 0; i < name.size; i++) {
        char c = name.data[i];
        bool letter = helio_is_letter(c) || c == '_';
        if (!letter && !(i && helio_is_digit(c)))
            return false;
    }
    return name.size > 0 && name.size <= 128;
}

static helio_rc take_variable(exporter_t *self, const sbatch_value_t *export, helio_text_t name, const char *given)
{
    const char *shown = helio_arena_string(self->work->arena, name);
    const char *value = given ? given : sbatch_variable(self->work->input, name);
    if (!is_variable(name))
        return sbatch_refuse(self->work, export, "--export=NAME,OTHER=value",
                             "--export: '%.64s' is not the name of a variable", shown);
    if (strncmp(shown, "SLURM_", 6) == 0)
        return HELIO_OK; /* the job's own, at the site */
    if (strncmp(shown, "HELIO_", 6) == 0)
        sbatch_note(self->work, "--export: %s is left out: names that begin with HELIO_ are reserved", shown);
    else if (!value)
        sbatch_note(self->work, "--export: %s is not set in this environment", shown);
    else if (!given && is_secret(name))
        sbatch_note(self->work,
                    "--export: %s looks like a secret and is left out; `#HELIO secrets: [%s]` takes it from the site",
                    shown, shown);
    else
        self->fn(self->arg, shown, value);
    return HELIO_OK;
}

/*  One entry up to a comma outside of quotes; the value without its quotes. */
static const char *export_entry(helio_arena_t *arena, const char *at, helio_text_t *ret_name, const char **ret_given)
{
    size_t size = strcspn(at, ",=");
    *ret_name = (helio_text_t){at, (uint32_t)size};
    *ret_given = NULL;
    at += size;
    if (*at != '=')
        return at;
    at++;
    char quote = *at == '"' || *at == '\'' ? *at : '\0';
    const char *end = quote ? strchr(at + 1, quote) : NULL;
    const char *from = end ? at + 1 : at;
    if (!end)
        end = at + strcspn(at, ",");
    *ret_given = helio_arena_string(arena, (helio_text_t){from, (uint32_t)(end - from)});
    return *end == quote && quote ? end + 1 : end;
}

helio_rc sbatch_export(sbatch_t *work, sbatch_variable_fn *fn, void *arg)
{
    exporter_t exporter = {work, fn, arg}, *self = &exporter;
    const sbatch_value_t *export = sbatch_given(work, HELIO_SBATCH_EXPORT);
    helio_rc rc = HELIO_OK;
    for (const char *at = export ? export->text : ""; *at && rc == HELIO_OK; at += *at == ',') {
        helio_text_t name;
        const char *given;
        at = export_entry(self->work->arena, at, &name, &given);
        if (!given && (helio_text_is(name, "NONE") || helio_text_is(name, "NIL")))
            continue;
        if (!given && helio_text_is(name, "ALL"))
            sbatch_note(self->work, "--export=ALL: this environment is not sent; name the variables that the job "
                                    "needs");
        else if (name.size || given)
            rc = take_variable(self, export, name, given);
        if (*at && *at != ',')
            rc = sbatch_refuse(self->work, export, NULL, "--export: a comma is missing before '%.32s'", at);
    }
    return rc;
}
