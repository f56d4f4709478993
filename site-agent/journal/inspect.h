/*  inspect.h -- the journal as a check sees it, while an agent may run: nothing is locked, written or repaired. */
#ifndef HELIO_JOURNAL_INSPECT_H
#define HELIO_JOURNAL_INSPECT_H

#include "federation/base/error.h"

enum { HELIO_JOURNAL_INSPECT_SIZE = 400 };

/*  ret_text: the state of the journal, if the agent can work with it. Never NOT_FOUND: the first run creates a missing
 *  journal. VERSION: a newer release wrote it. PROTOCOL: it is damaged, and would be moved away. FORBIDDEN, IO: this
 *  user cannot read or write it. Rows are read only if no process has it open and it was closed properly. */
HELIO_MUST_CHECK helio_rc helio_journal_inspect(const char *directory, char ret_text[HELIO_JOURNAL_INSPECT_SIZE],
                                                helio_error_t *err);

#endif
