/*  slurm_place.c -- helio-shim and the batch script in the shared folder. */
#include "site-agent/backends/folder/place.h"
#include "site-agent/backends/slurm/slurm_internal.h"

/*  Constant: it contains no byte of a job's. $1 helio-shim, $2 the attempt's folder, $3 the folder of Slurm's commands.
 *  Steps that a job starts must have its environment, although sbatch gets none of the agent's. */
static const char script_text[] = "#!/bin/sh\n"
                                  "SLURM_EXPORT_ENV=ALL\n"
                                  "PATH=${3:+$3:}${PATH:-/usr/local/bin:/usr/bin:/bin}\n"
                                  "export SLURM_EXPORT_ENV PATH\n"
                                  "exec \"$1\" --slurm \"$2\"\n";

helio_rc helio_slurm_place(helio_slurm_t *self, const char *shim, helio_error_t *err)
{
    bool theirs = self->settings.shim.size > 0;
    helio_folder_programs_t programs = {
        .shim = theirs ? NULL : shim, .script = "helio-batch", .text = HELIO_TEXT(script_text)};
    if (theirs)
        self->shim = self->settings.shim.data;
    return helio_folder_place(self->shared, self->site.name, &programs, self->arena, &self->shim, &self->script, err);
}
