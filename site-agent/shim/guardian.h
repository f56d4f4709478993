/*  guardian.h -- a small process beside each shim of this machine, which ends the attempt if the shim cannot.
 *
 *  The shim can be killed while no agent runs, and it can be stopped. The guardian holds one end of a pipe
 *  whose other end the shim alone has:
 *    - The pipe closes: the shim is dead. The guardian kills what is left of the attempt, and ends.
 *    - The lease or the time limit is over, with its grace, and the shim has done nothing: the guardian kills the
 *      attempt's processes and continues the shim, which reports that end.
 *    - The shim dismisses it: the attempt is over.
 *  It is in the shim's session but not below the shim, so the shim neither waits for it nor signals it.
 */
#ifndef HELIO_SHIM_GUARDIAN_H
#define HELIO_SHIM_GUARDIAN_H

#include "site-agent/shim/lease_watch.h"

/*  What it watches over; borrowed for the call. */
typedef struct helio_ward {
    int folder;
    const helio_plan_t *plan;
    const helio_lease_watch_t *lease;
} helio_ward_t;

/*  The caller is the shim, with one thread, and is no subreaper yet. *ret_leash: the shim's end of the pipe. */
HELIO_MUST_CHECK helio_rc helio_guardian_start(const helio_ward_t *ward, int *ret_leash, helio_error_t *err);
/*  Closes the leash; -1 is allowed. */
void helio_guardian_dismiss(int leash);

#endif
