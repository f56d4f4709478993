/*  problem.h -- the status codes that this server uses, result codes as statuses, and errors as
 *  application/problem+json (RFC 9457).
 *
 *  Members: type ("about:blank"), title (the status in words), status, reason (a closed word that programs branch on),
 *  detail, details (what `detail` says, for programs), and for a rejected document: document, line, column, path, code,
 *  hint, diagnostic (the whole text with its caret).
 */
#ifndef HELIO_BROKER_HTTP_REQUEST_PROBLEM_H
#define HELIO_BROKER_HTTP_REQUEST_PROBLEM_H

#include "federation/base/memory.h"
#include "federation/reason/detail.h"
#include "federation/spec/diagnostic.h"

/*  status, title, reason if no better one is known */
#define HELIO_STATUS_TABLE(X)                                \
    X(200, "OK", "")                                         \
    X(201, "Created", "")                                    \
    X(202, "Accepted", "")                                   \
    X(204, "No Content", "")                                 \
    X(302, "Found", "")                                      \
    X(304, "Not Modified", "")                               \
    X(400, "Bad Request", "Invalid")                         \
    X(401, "Unauthorized", "Unauthenticated")                \
    X(403, "Forbidden", "Forbidden")                         \
    X(404, "Not Found", "NotFound")                          \
    X(405, "Method Not Allowed", "MethodNotAllowed")         \
    X(406, "Not Acceptable", "NotAcceptable")                \
    X(408, "Request Timeout", "Timeout")                     \
    X(409, "Conflict", "Conflict")                           \
    X(411, "Length Required", "LengthRequired")              \
    X(413, "Content Too Large", "TooBig")                    \
    X(414, "URI Too Long", "TooBig")                         \
    X(415, "Unsupported Media Type", "UnsupportedMediaType") \
    X(422, "Unprocessable Content", "NeverFits")             \
    X(429, "Too Many Requests", "Busy")                      \
    X(500, "Internal Server Error", "Internal")              \
    X(503, "Service Unavailable", "Unavailable")             \
    X(504, "Gateway Timeout", "Timeout")

enum {
#define X(status, title, reason) HELIO_STATUS_INDEX_##status,
    HELIO_STATUS_TABLE(X)
#undef X
        HELIO_STATUS_COUNT
};

uint32_t helio_status_of_rc(helio_rc rc);     /* never 0 */
uint32_t helio_status_index(uint32_t status); /* into the table; the index of 500 if it has no such row */
uint32_t helio_status_at(uint32_t index);
const char *helio_status_title(uint32_t status);
const char *helio_status_reason(uint32_t status);
uint32_t helio_status_retry_after_s(uint32_t status); /* 0 = no such header */

/*  The same, for a problem whose first detail says how long to wait (wait_s): not before that. */
uint32_t helio_problem_retry_after_s(uint32_t status, const helio_details_t *details);

/*  A problem with at least one detail: `detail` gets the sentences, `details` the codes and values. reason NULL or "":
 *  that of the status. object: JSON whose members are added; empty = none. */
void helio_problem_of_details(uint32_t status, const char *reason, const helio_details_t *details, helio_text_t object,
                              helio_buffer_t *out);
/*  The same for at least one error in documents: the first one gives place and text; all are in `errors`, in `details`
 *  and, as text, in `diagnostic`. document: the index of the wrong document, from 0; -1 = the only one. */
void helio_problem_of_diagnostics(uint32_t status, const helio_diagnostics_t *wrong, int document, helio_buffer_t *out);

#endif
