/*  headers.h -- what the client reads in the headers of a response. */
#ifndef HELIO_CLIENT_HEADERS_H
#define HELIO_CLIENT_HEADERS_H

#include "client/transport/remote.h"

/*  One line of them, "Name: value". */
void helio_response_take_header(helio_response_t *self, helio_text_t line);

#endif
