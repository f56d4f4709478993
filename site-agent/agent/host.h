/*  host.h -- what an agent needs from its host: a state directory of its own, and messages to its supervisor. */
#ifndef HELIO_AGENT_HOST_H
#define HELIO_AGENT_HOST_H

#include "federation/base/memory.h"

/*  Creates the directory (mode 0711, its parent must exist) and locks it until the descriptor is closed.
 *  HELIO_CONFLICT: another agent holds it; HELIO_FORBIDDEN: it belongs to another user, or is open to others; the text
 *  names the remedy. */
HELIO_MUST_CHECK helio_rc helio_state_dir_lock(const char *path, int *ret_fd, helio_error_t *err);

/*  Checks whether `run` could use it. Creates and locks nothing, so it can be called while an agent runs. */
HELIO_MUST_CHECK helio_rc helio_state_dir_inspect(const char *path, helio_error_t *err);

/*  Notifies the supervisor, if NOTIFY_SOCKET names one: "READY=1", "STOPPING=1". Failures are ignored. */
void helio_notify(const char *state);

#endif
