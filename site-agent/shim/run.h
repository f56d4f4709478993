/*  run.h -- one attempt from its claim to its `done` mark. One thread; returns when nothing of the attempt
 * runs any more.
 *
 *      running --(limit, TERM, lease, a rank failed)--> stopping --(grace over, USR2, INT, lease over)-->
 * killing --> done running --(every leader ended)--> killing (what they left behind) --> done
 *
 *  Politely is: the checkpoint signal to every process that has a handler for it; without one, TERM to all. A
 * stopping attempt ends when its last process does, so that a program may write its checkpoint after its
 * shell has gone.
 */
#ifndef HELIO_SHIM_RUN_H
#define HELIO_SHIM_RUN_H

#include "federation/base/error.h"

/*  folder: absolute path of the attempt's folder. SIGTERM, SIGINT, SIGUSR2 and SIGCHLD are blocked by the
 * caller, before anything else. CONFLICT: another shim has it, nothing was done. OK: `done` is written,
 * whatever it says. */
HELIO_MUST_CHECK helio_rc helio_shim_run(const char *folder, helio_error_t *err);

#endif
