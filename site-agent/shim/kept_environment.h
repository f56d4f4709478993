/*  kept_environment.h -- the environment that the attempt's processes were given, for those that enter it later.
 *
 *  The file `env` is gone by then, since it can hold secrets. So the shim keeps the entries in memory, as a descriptor of
 *  its own, which is open to those who may look into the shim: its own user with the same rights.
 */
#ifndef HELIO_SHIM_KEPT_ENVIRONMENT_H
#define HELIO_SHIM_KEPT_ENVIRONMENT_H

#include <sys/types.h>

#include "site-agent/shim/environment.h"

/*  Keeps it until this process ends. If the system cannot, the job runs all the same, and nobody can enter it. */
void helio_kept_environment_keep(const helio_environment_t *env);
/*  Appends the entries that the shim keeps to *env. NOT_FOUND: none yet, or it is of a former release, or could not be kept; FORBIDDEN. */
HELIO_MUST_CHECK helio_rc helio_kept_environment_read(pid_t shim, helio_environment_t *env, helio_error_t *err);

#endif
