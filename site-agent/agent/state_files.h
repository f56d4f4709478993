/*  state_files.h -- the files of the agent's memory, as it has them open, against what lies under their names now.
 *
 *  What is open is no memory any more once its name is gone: the next start would not find it. So the agent ends
 *  then, and its next start looks for what runs.
 */
#ifndef HELIO_AGENT_STATE_FILES_H
#define HELIO_AGENT_STATE_FILES_H

#include <limits.h>
#include <stdbool.h>

#include "federation/base/error.h"

enum { HELIO_STATE_FILES = 4 };

typedef struct helio_state_files {
    char paths[HELIO_STATE_FILES][PATH_MAX];
    int fds[HELIO_STATE_FILES]; /* held, so that no other file gets its number; -1 = not there yet */
} helio_state_files_t;

/*  Once the journal is open. HELIO_IO: the folder itself is not there. */
HELIO_MUST_CHECK helio_rc helio_state_files_open(helio_state_files_t *self, const char *state_dir, helio_error_t *err);
void helio_state_files_close(helio_state_files_t *self);

/*  The first that was removed or replaced; NULL: all are as they were, or cannot be looked at now. */
const char *helio_state_files_lost(helio_state_files_t *self, bool *ret_replaced);

#endif
