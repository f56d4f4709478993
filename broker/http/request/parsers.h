/*  parsers.h -- the threads that start requests with large bodies. To read thousands of documents takes longer than a
 *  health check waits, and the threads of the library, which answer those, must not be held up by it.
 *
 *  All functions: the thread of the waiting requests, which owns every request that waits for its turn (turns.h). A
 *  request that is started belongs to its parser until it is back in `returns`. */
#ifndef HELIO_BROKER_HTTP_REQUEST_PARSERS_H
#define HELIO_BROKER_HTTP_REQUEST_PARSERS_H

#include "broker/http/request/request_context.h"

enum { HELIO_PARSERS = 2 };

typedef struct helio_parsers helio_parsers_t;

/*  Starts the threads. returns: has room for every request that there can be. */
helio_parsers_t *helio_parsers_new(helio_ring_t *returns);
void helio_parsers_destroy(helio_parsers_t **self_p); /* no request is left there; joins the threads */

void helio_parsers_add(helio_parsers_t *self, helio_request_context_t *context, int64_t now_ms);
/*  Of one from `returns`. False: it does not come from here. Otherwise it has begun, and another one can. */
bool helio_parsers_take_back(helio_parsers_t *self, const helio_request_context_t *context);
/*  One that waits for its turn since since_ms or longer; it has left. NULL: none. */
helio_request_context_t *helio_parsers_overdue(helio_parsers_t *self, int64_t since_ms);

#endif
