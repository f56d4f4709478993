/*  internal.h -- what the files of site-agent/backends/folder share. */
#ifndef HELIO_BACKENDS_FOLDER_INTERNAL_H
#define HELIO_BACKENDS_FOLDER_INTERNAL_H

#include "site-agent/backends/folder/folder.h"

enum { HELIO_FOLDER_PATH_SIZE = 4096 };

struct helio_folders {
    helio_arena_t *arena; /* the options' texts */
    const char *root;
    helio_text_t site;
    helio_job_rules_t rules;
    bool users_own;
    int root_fd, attempts_fd;
    /* forgotten/, where acknowledgements are recorded. -1: users cannot write the folders of attempts, so each has its
     * own file `forget` */
    int forgotten_fd;
    long sweep_at; /* position of the sweep in forgotten/, or in attempts/ */
    uint64_t lease_number;
    bool nameless_lease; /* a former agent's shims may obey `lease` */
};

/*  The paths of one attempt. */
typedef struct helio_folder_places {
    helio_text_t folder, output, checkpoints, workdir;
} helio_folder_places_t;

/*  What an attempt is prepared from; all of it is borrowed. */
typedef struct helio_folder_job {
    const helio_folders_t *folders;
    const helio_backend_task_t *task;
    const helio_folder_how_t *how;
    const char *name;
    const helio_unix_account_t *account;
    helio_folder_places_t places;
    uint32_t ranks; /* that the shim starts on this host; 0: a scheduler starts them */
} helio_folder_job_t;

/*  tidy.c: whether it is recorded that the broker acknowledged the attempt's end. */
bool helio_folders_is_forgotten(const helio_folders_t *self, const char *name);

/*  environment.c: appends the NUL-terminated "NAME=value" entries of every rank. They can hold secrets: wipe them.
 *  *ret_cause becomes MISSING_SECRET if that is the failure, and else is unchanged. */
HELIO_MUST_CHECK helio_rc helio_folder_environment(const helio_folder_job_t *job, helio_buffer_t *out,
                                                   uint32_t *ret_cause, helio_error_t *err);

#endif
