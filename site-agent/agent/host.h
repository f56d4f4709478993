/*  host.h -- what an agent asks of its host: a state directory of its own, and word to its supervisor. */
#ifndef HELIO_AGENT_HOST_H
#define HELIO_AGENT_HOST_H

#include "federation/base/memory.h"

/*  Makes the directory (mode 0711, its parent must exist) and locks it until the descriptor is closed.
 * HELIO_CONFLICT: another agent holds it; HELIO_FORBIDDEN: not ours, or open to others; the text names the
 * remedy. */
HELIO_MUST_CHECK helio_rc helio_state_dir_lock(const char *path, int *ret_fd, helio_error_t *err);

/*  Whether `run` could use it: makes and locks nothing, so that it may be asked beside an agent that runs. */
HELIO_MUST_CHECK helio_rc helio_state_dir_inspect(const char *path, helio_error_t *err);

/*  Tells the supervisor, when NOTIFY_SOCKET names one: "READY=1", "STOPPING=1". Failures do not matter to us.
 */
void helio_notify(const char *state);

#endif
