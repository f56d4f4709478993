/*  secret.h -- a secret out of a file of its own. */
#ifndef HELIO_FEEDS_SECRET_H
#define HELIO_FEEDS_SECRET_H

#include "federation/base/memory.h"

enum { HELIO_SECRET_MAX = 4096 };

/*  One line of a regular file that nobody but its owner (this user or root) may read; without its line break.
 * INVALID: another form; FORBIDDEN: others may read it. The text is wiped by whoever asked (explicit_bzero).
 */
HELIO_MUST_CHECK helio_rc helio_secret_read(const char *path, char ret_secret[HELIO_SECRET_MAX],
                                            helio_error_t *err);

#endif
