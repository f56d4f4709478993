/*  secret.h -- a secret in a file of its own. */
#ifndef HELIO_FEEDS_SECRET_H
#define HELIO_FEEDS_SECRET_H

#include "federation/base/memory.h"

enum { HELIO_SECRET_MAX = 4096 };

/*  One line, without its line break, of a regular file that only its owner (this user or root) may read. INVALID:
 *  another form; FORBIDDEN: others may read it. The caller wipes the text (explicit_bzero). */
HELIO_MUST_CHECK helio_rc helio_secret_read(const char *path, char ret_secret[HELIO_SECRET_MAX], helio_error_t *err);

#endif
