/*  request.h -- what is checked before any handler sees a request: target, method, token, role, media types,
 * sizes. Pure but for the clock that tells whether a token has expired.
 */
#ifndef HELIO_BROKER_HTTP_REQUEST_H
#define HELIO_BROKER_HTTP_REQUEST_H

#include "broker/http/request/request_context.h"

/*  As received; NULL = absent. Borrowed for the call. */
typedef struct helio_request_headers {
    const char *authorization;
    const char *accept;
    const char *content_type;
    const char *content_length;
    const char *transfer_encoding;
    const char *idempotency_key;
    const char *last_event_id;
} helio_request_headers_t;

/*  Fills route, token, parameter and so on; or answers with a problem, and the body (if any) is of no
 * interest. */
void helio_request_judge(helio_request_context_t *context, const char *method,
                         const helio_request_headers_t *headers);

/*  Is the media type within an Accept header's ranges ("text/html, application/json;q=0.9, x/x;q=0")? */
bool helio_accepts(const char *accept, const char *type);

/*  A piece of the body. false: the connection should be cut (a crawling or endless body). */
bool helio_request_take(helio_request_context_t *context, const char *bytes, size_t size, int64_t now_us);

#endif
