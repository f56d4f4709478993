/*  retry.c -- by method, key and status. */
#include "client/transport/retry.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "client/output/output.h"

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

void helio_retry_say(const helio_client_t *client, const char *fault, long status, helio_text_t body, bool for_a_minute)
{
    char answer[64];
    json_t *problem = !fault && body.size ? json_loadb(body.data, body.size, 0, NULL) : NULL;
    const char *why = fault ? fault : helio_output_string(problem, "detail");
    (void)snprintf(answer, sizeof answer, "the broker is not ready (%ld)", status);
    helio_client_say(client, "%.400s; %s", why[0] ? why : answer,
                     for_a_minute ? "retrying for up to a minute" : "still trying");
    json_decref(problem);
}
