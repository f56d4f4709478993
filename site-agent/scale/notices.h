/*  notices.h -- the folder of interruption notices: who can put a file there can have jobs of others stopped. */
#ifndef HELIO_SITE_AGENT_SCALE_NOTICES_H
#define HELIO_SITE_AGENT_SCALE_NOTICES_H

#include "federation/base/error.h"

/*  Whether only this process's user and root can write into the folder, or put another in its place. NOT_FOUND: there is
 *  none; FORBIDDEN: others can, with the remedy; IO. */
HELIO_MUST_CHECK helio_rc helio_notices_check(const char *path, helio_error_t *err);

#endif
