/*  request.h -- what is checked before a handler sees a request: target, method, token, role, media types, sizes. Pure,
 *  except for the clock that decides whether a token has expired. */
#ifndef HELIO_BROKER_HTTP_REQUEST_H
#define HELIO_BROKER_HTTP_REQUEST_H

#include "broker/http/request/request_context.h"

/*  Fills in route, token, parameter and the other fields of the request; or answers with a problem, and then a body is
 *  discarded. Of a token that this broker does not know it leaves the decision to `want`, for the thread of the waiting
 *  requests: a follower looks again, since it knows a new one some moments late, and the leader asks the database. */
void helio_request_judge(helio_request_context_t *context, const char *method, const helio_request_headers_t *received);

/*  After judgement and the whole body: the handler of the route; or, where only the leader can do it and another broker
 *  leads, a forward to that one, and its answer. A request that was forwarded already is not forwarded again. */
void helio_request_start(helio_request_context_t *context);
/*  Whether that takes so long that a parser does it (parsers.h): this broker reads a large body. */
bool helio_request_is_long(const helio_request_context_t *context);

/*  Whether the media type is within the ranges of an Accept header ("text/html, application/json;q=0.9, x/x;q=0"). */
bool helio_accepts(const char *accept, const char *type);

/*  Takes a piece of the body. False: cut the connection, because the body arrives too slowly or does not end. */
bool helio_request_take(helio_request_context_t *context, const char *bytes, size_t size, int64_t now_us);

#endif
