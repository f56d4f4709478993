/*  place.h -- programs that every node runs, in the folder that agent and nodes share: helio-shim and the script of a
 *  job, each under a name that identifies its contents. A newer agent puts its own beside those that jobs still run
 *  from. */
#ifndef HELIO_BACKENDS_FOLDER_PLACE_H
#define HELIO_BACKENDS_FOLDER_PLACE_H

#include "federation/base/memory.h"

typedef struct helio_folder_programs {
    const char *shim;   /* to be copied; NULL: none is */
    const char *script; /* its name without the suffix .sh; NULL: none is needed */
    helio_text_t text;  /* its content: constant, it contains no byte of a job's */
} helio_folder_programs_t;

/*  ROOT/bin/<name>-<release>-<hash>. The paths are in the arena; What is not placed leaves its result unchanged. CONFLICT: the
 *  folder is another site's; FORBIDDEN: somebody else could replace the programs. */
HELIO_MUST_CHECK helio_rc helio_folder_place(const char *root, helio_text_t site,
                                             const helio_folder_programs_t *programs, helio_arena_t *arena,
                                             const char **ret_shim, const char **ret_script, helio_error_t *err);

#endif
