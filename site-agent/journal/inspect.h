/*  inspect.h -- the journal as a check sees it, beside an agent that runs: nothing is locked, written or
 * repaired. */
#ifndef HELIO_JOURNAL_INSPECT_H
#define HELIO_JOURNAL_INSPECT_H

#include "federation/base/error.h"

enum { HELIO_JOURNAL_INSPECT_SIZE = 400 };

/*  ret_text: what there is, when the agent could work with it. NOT_FOUND never: a journal that is not there
 * yet is made by the first run. VERSION: a newer release wrote it. PROTOCOL: it is damaged, and would be
 * moved aside. FORBIDDEN, IO: it cannot be read or written by this user. Rows are only read where nobody has
 * it open and it was closed in order. */
HELIO_MUST_CHECK helio_rc helio_journal_inspect(const char *directory, char ret_text[HELIO_JOURNAL_INSPECT_SIZE],
                                             helio_error_t *err);

#endif
