/*  run.h -- one attempt from its claim to its `done` mark. One thread; returns when nothing of the attempt
 * runs any more.
 *
 *      running --(limit, TERM, lease, a rank failed)--> stopping --(grace over, USR2, INT, lease over)-->
 * killing --> done running --(every leader ended)--> killing (what they left behind) --> done
 *
 *  Politely is: the checkpoint signal to every process that has a handler for it; without one, TERM to all. A
 * stopping attempt ends when its last process does, so that a program may write its checkpoint after its
 * shell has gone. The head of several nodes tells their shims (gang.h), which do all that for their own rank.
 */
#ifndef HELIO_SHIM_RUN_H
#define HELIO_SHIM_RUN_H

#include <signal.h>

#include "federation/base/error.h"

typedef enum helio_shim_mode {
    HELIO_SHIM_LOCAL, /* started by the agent */
    HELIO_SHIM_SLURM, /* the program of a Slurm job's batch step: the head, or all there is */
    HELIO_SHIM_RANK   /* started by the head's srun: one rank of several */
} helio_shim_mode_t;

typedef struct helio_shim_call {
    helio_shim_mode_t mode;
    const char *folder;  /* absolute path of the attempt's folder */
    const char *program; /* absolute path of this program, on the nodes too */
    char *const *environ_list;
} helio_shim_call_t;

/*  SIGTERM, SIGINT, SIGUSR2 and SIGCHLD. */
void helio_shim_signals(sigset_t *ret_set);

/*  The caller blocks these signals before anything else. CONFLICT: another
 * shim has it, nothing was done. UNAVAILABLE: it is over, but what became of a rank is not known, so there is
 * no `done`: who started us must tell. OK: `done` is written, whatever it says. *ret_exit_code: the job's
 * own, 124 for the time limit, 125 when it could not be started. */
HELIO_MUST_CHECK helio_rc helio_shim_run(const helio_shim_call_t *call, int *ret_exit_code,
                                         helio_error_t *err);

#endif
