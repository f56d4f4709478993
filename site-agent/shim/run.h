/*  run.h -- one attempt from its claim to its `done` file. One thread; returns when nothing of the attempt runs any
 *  more.
 *      running --(limit, TERM, lease, a rank failed)--> stopping --(grace over, USR2, INT, lease over)--> killing -->
 *          done
 *      running, or stopping --(every leader ended by itself)--> killing (what they left behind) --> done
 *
 *  A polite stop sends the checkpoint signal to every process that has a handler for it; if none has, TERM to all. If
 *  that signal kills a leader, a stopping attempt ends when its last process does, so that a program can write its
 *  checkpoint after its shell was killed. The head of several nodes tells their shims (gang.h), which do all that for their own rank.
 */
#ifndef HELIO_SHIM_RUN_H
#define HELIO_SHIM_RUN_H

#include <signal.h>

#include "federation/base/error.h"

typedef enum helio_shim_mode {
    HELIO_SHIM_LOCAL, /* started by the agent */
    HELIO_SHIM_SLURM, /* the program of a Slurm job's batch step: the head, or the only shim */
    HELIO_SHIM_BATCH, /* the program of a job of another engine, as an adapter of the backend `exec` submitted it */
    HELIO_SHIM_RANK   /* started by the head's srun: one rank of several */
} helio_shim_mode_t;

typedef struct helio_shim_call {
    helio_shim_mode_t mode;
    const char *folder;  /* absolute path of the attempt's folder */
    const char *program; /* absolute path of this program, on the nodes too */
    char *const *environ_list;
} helio_shim_call_t;

/*  Those that it takes: for itself, of its children, and to hand on to the job. */
void helio_shim_signals(sigset_t *ret_set);

/*  The caller blocks these signals before anything else. CONFLICT: another shim has claimed it, and nothing was done.
 *  UNAVAILABLE: it is over, but the end of a rank is unknown, so `done` is missing: whatever started the shim must
 *  tell. OK: `done` is written, whatever it says. *ret_exit_code: the job's own, 124 for the time limit, 125 if it
 *  could not be started. */
HELIO_MUST_CHECK helio_rc helio_shim_run(const helio_shim_call_t *call, int *ret_exit_code, helio_error_t *err);

#endif
