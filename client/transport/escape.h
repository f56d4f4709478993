/*  escape.h -- percent-encoding of the parts of a URL. Pure. */
#ifndef HELIO_CLIENT_ESCAPE_H
#define HELIO_CLIENT_ESCAPE_H

#include "federation/base/memory.h"

/*  Appends a path or query component, percent-encoded. */
void helio_url_escape(const char *text, helio_buffer_t *out);

#endif
