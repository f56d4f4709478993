/*  retry.c -- by method, key and status. */
#include "client/transport/retry.h"

#include <string.h>

/*  A second PATCH could undo an edit by another user since the first. */
bool helio_request_acts_each_time(const helio_request_t *request)
{
    const char *method = request->method ? request->method : "GET";
    return !request->idempotency_key && (strcmp(method, "POST") == 0 || strcmp(method, "PATCH") == 0);
}

bool helio_request_is_repeatable(const helio_request_t *request)
{
    return !request->once && !helio_request_acts_each_time(request);
}

bool helio_status_is_transient(long status)
{
    return status == 429 || status == 502 || status == 503 || status == 504;
}
