/*  interactive.h -- a job that only holds its GPUs while somebody works in it: shared by `run --interactive`, `salloc` and
 *  `srun`. */
#ifndef HELIO_CLIENT_COMMANDS_INTERACTIVE_H
#define HELIO_CLIENT_COMMANDS_INTERACTIVE_H

#include "client/invocation/client.h"
#include "client/sbatch/sbatch.h"

/*  What such a job runs, until it is cancelled. Its client can vanish first: then nobody enters within ten minutes, or who
 *  entered is ended, and it ends a minute later by itself. */
#define HELIO_HOLDER_MARK "\"$HELIO_OUTPUT_DIR/.entered\""
#define HELIO_HOLDER_SCRIPT                                                                       \
    "n=0; until [ -s " HELIO_HOLDER_MARK " ] || [ $n -ge 600 ]; do sleep 1; n=$((n + 1)); done; " \
    "while kill -0 \"$(cat " HELIO_HOLDER_MARK ")\"; do sleep 5; done 2>/dev/null; sleep 60"

typedef struct helio_interactive {
    helio_text_t document;      /* the job file */
    const char *const *command; /* none: the login shell */
    uint32_t command_count;
    bool terminal; /* the command gets one */
} helio_interactive_t;

/*  Submits the job, waits until it runs, runs the command in it, and cancels the job. Returns the command's exit code. */
HELIO_MUST_CHECK int helio_interactive_run(helio_client_t *client, const helio_interactive_t *what);
/*  sbatch.c: a job of this script with the options of sbatch that `words` begin with; prints what is noteworthy. */
HELIO_MUST_CHECK int helio_sbatch_job_of(helio_client_t *client, const helio_sbatch_words_t *words, helio_text_t script,
                                         helio_sbatch_job_t *ret_job);
/*  The words without `--pty` of srun, which sbatch does not have. */
helio_command_line_t helio_sbatch_without_pty(helio_client_t *client, const helio_command_line_t *arguments,
                                              bool *ret_pty);

#endif
