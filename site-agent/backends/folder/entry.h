/*  entry.h -- the command line of a shim that enters an attempt, for a backend's `enter`. */
#ifndef HELIO_BACKENDS_FOLDER_ENTRY_H
#define HELIO_BACKENDS_FOLDER_ENTRY_H

#include "site-agent/backends/backend.h"

/*  The words before (as of srun), then the shim's own. NULL-terminated; in the arena. */
const char *const *helio_entry_argv(const helio_entry_t *entry, const char *const *before, uint32_t before_count,
                                    const char *shim, const char *folder, helio_arena_t *arena);

#endif
