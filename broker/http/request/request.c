#include "broker/http/request/request.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "broker/http/request/route.h"
#include "federation/base/clock.h"
#include "federation/base/suggest.h"
#include "federation/spec/value.h"

enum {
    KEY_MAX = 120, /* of 128: a list adds "#n" */
    DISCARD_MAX =
        1 << 20, /* of a body whose request is already refused: read so far, to keep the connection */
    BODY_RATE_BYTES_PER_S = 16 << 10 /* the least, once the idle time-out has passed */
};

/* ---- media types --------------------------------------------------------------------------------------- */

/*  "Application/YAML; charset=utf-8" -> "application/yaml" */
static const char *media_type(const char *header, helio_arena_t *arena)
{
    size_t size = strcspn(header, "; \t,");
    char *type = helio_arena_alloc(arena, size + 1, 1);
    for (size_t i = 0; i < size; i++)
        type[i] = (char)tolower((unsigned char)header[i]);
    return type;
}

static bool range_covers(const char *range, size_t size, const char *type)
{
    const char *slash = strchr(type, '/');
    size_t major = (size_t)(slash - type) + 1;
    if (size == 3 && memcmp(range, "*/*", 3) == 0)
        return true;
    if (size == major + 1 && range[size - 1] == '*')
        return strncasecmp(range, type, major) == 0;
    return size == strlen(type) && strncasecmp(range, type, size) == 0;
}

static bool is_refused(const char *parameters, size_t size)
{
    for (size_t i = 0; i + 2 < size; i++) {
        if (parameters[i] != ';')
            continue;
        size_t at = i + 1 + strspn(parameters + i + 1, " \t");
        if (at + 2 < size + 1 && (parameters[at] == 'q' || parameters[at] == 'Q') &&
            parameters[at + 1] == '=')
            return parameters[at + 2] == '0' &&
                   strspn(parameters + at + 3, ".0") == strcspn(parameters + at + 3, ",; \t");
    }
    return false;
}

bool helio_accepts(const char *accept, const char *type)
{
    bool any = false;
    while (*accept) {
        accept += strspn(accept, " \t,");
        size_t entry = strcspn(accept, ",");
        size_t range = strcspn(accept, ";, \t");
        if (range > entry)
            range = entry;
        if (range && range_covers(accept, range, type)) {
            if (!is_refused(accept + range, entry - range))
                return true;
        }
        any = any || range;
        accept += entry;
    }
    return !any; /* an empty header says nothing */
}

/* ---- the steps of judging: each answers and is false, or is true --------------------------------------- */

static bool find_route(helio_request_context_t *self, const char *method)
{
    helio_error_t err;
    helio_rc rc = helio_target_parse(helio_text_of(self->raw_target), self->arena, &self->target, &err);
    if (rc != HELIO_OK) {
        helio_response_problem(self, rc == HELIO_TOO_BIG ? 414 : 400, NULL, "%s", err.text);
        return false;
    }
    char allow[HELIO_ALLOW_SIZE];
    const char *parameter = NULL;
    const helio_route_t *route = helio_route_find(self->http->routes, method, &self->target, &parameter, allow);
    if (!route && !allow[0]) {
        helio_response_problem(self, 404, NULL,
                             "there is nothing at this path; docs/openapi.yaml lists what there is");
        return false;
    }
    self->head = strcmp(method, "HEAD") == 0;
    if (!route || (self->head && route->stream)) {
        helio_request_context_header(self, "Allow", route ? "GET" : allow);
        helio_response_problem(self, 405, NULL, "this path takes %s", route ? "GET" : allow);
        return false;
    }
    self->route = route;
    self->parameter = parameter;
    return true;
}

static bool admit(helio_request_context_t *self, const char *authorization)
{
    helio_access_t access = self->route->access;
    if (helio_access_grant(access, NULL) != HELIO_GRANT_UNKNOWN)
        return true;
    if (!authorization) {
        helio_response_problem(self, 401, NULL, "this needs a token: Authorization: Bearer hel_…");
        return false;
    }
    helio_text_t credential = {0};
    if (strncasecmp(authorization, "Bearer ", 7) == 0)
        credential = helio_text_of(authorization + 7 + strspn(authorization + 7, " "));
    self->token = helio_token_table_check(self->http->tokens, credential, helio_clock_wall_ms());
    if (!self->token && !atomic_load(&self->http->leading)) {
        helio_response_problem(self, 503, NULL,
                             "this broker does not lead: it is starting, or another one does; it knows no tokens yet");
        return false;
    }
    if (!self->token) {
        /* which of unknown, wrong, revoked and expired it is, is nobody's business who cannot prove the token
         */
        helio_response_problem(self, 401, NULL, "the token is not known, or no longer valid");
        return false;
    }
    if (helio_access_grant(access, self->token) == HELIO_GRANT_REFUSED) {
        uint32_t needed = self->token->role;
        while (helio_access_grant_of_role(access, needed) == HELIO_GRANT_REFUSED)
            needed++;
        helio_response_problem(self, 403, NULL, "this needs the role %s; the token has the role %s",
                             helio_role_name(needed), helio_role_name(self->token->role));
        return false;
    }
    return true;
}

static bool check_accept(helio_request_context_t *self, const char *accept)
{
    if (!accept || helio_accepts(accept, self->route->produces) ||
        (strcmp(self->route->produces, "application/json") == 0 &&
         helio_accepts(accept, "application/problem+json")))
        return true;
    helio_response_problem(self, 406, NULL, "the answer is %s, which the Accept header does not take",
                         self->route->produces);
    return false;
}

static bool is_type(const helio_request_context_t *self, const char *const types[])
{
    if (!self->content_type[0])
        return true;
    for (uint32_t i = 0; types[i]; i++)
        if (strcmp(self->content_type, types[i]) == 0)
            return true;
    return false;
}

static bool check_body(helio_request_context_t *self, const helio_request_headers_t *headers)
{
    static const char *const json[] = {"application/json", NULL};
    static const char *const jobs[] = {"application/yaml",     "text/yaml",
                                       "application/x-yaml",   "application/json",
                                       "application/x-ndjson", NULL};
    helio_body_kind_t body = self->route->body;
    self->body_max = body == HELIO_BODY_JOBS ? self->http->options.body_max : HELIO_COMMAND_BODY_MAX;
    uint64_t length = 0;
    if (headers->content_length &&
        (helio_u64_parse(helio_text_of(headers->content_length), &length) != HELIO_OK ||
         length > self->body_max)) {
        helio_response_problem(self, 413, NULL, "the body may have %u bytes", self->body_max);
        return false;
    }
    if (body == HELIO_BODY_JOBS && !headers->content_length && !headers->transfer_encoding) {
        helio_response_problem(self, 411, NULL, "send the jobs as the body, with a Content-Length");
        return false;
    }
    if (self->has_body && body == HELIO_BODY_NONE) {
        helio_response_problem(self, 400, NULL, "this takes no body");
        return false;
    }
    if (self->has_body && !is_type(self, body == HELIO_BODY_JOBS ? jobs : json)) {
        helio_response_problem(
            self, 415, NULL, "a body of type '%.64s' is not understood; send %s", self->content_type,
            body == HELIO_BODY_JOBS ? "application/yaml, application/json or application/x-ndjson"
                                    : "application/json");
        return false;
    }
    return true;
}

static bool check_query(helio_request_context_t *self)
{
    for (uint32_t i = 0; i < self->target.query_count; i++) {
        const char *name = self->target.query[i].name;
        if (helio_route_takes_query(self->route, name))
            continue;
        helio_response_problem(self, 400, NULL, "unknown query parameter '%.64s'; known here: %s", name,
                             self->route->query[0] ? self->route->query : "none");
        return false;
    }
    return true;
}

static bool check_key(helio_request_context_t *self, const char *key)
{
    if (!key)
        return true;
    size_t size = strlen(key);
    bool good = size > 0 && size <= KEY_MAX;
    for (size_t i = 0; i < size && good; i++)
        good = key[i] > ' ' && key[i] < 0x7f;
    if (!good) {
        helio_response_problem(self, 400, NULL, "Idempotency-Key must be 1 to %d visible ASCII characters",
                             KEY_MAX);
        return false;
    }
    self->idempotency_key = helio_arena_string(self->arena, helio_text_of(key));
    return true;
}

void helio_request_judge(helio_request_context_t *self, const char *method, const helio_request_headers_t *headers)
{
    self->has_body =
        headers->transfer_encoding || (headers->content_length && strcmp(headers->content_length, "0") != 0);
    if (headers->content_type)
        self->content_type = media_type(headers->content_type, self->arena);
    if (headers->last_event_id)
        self->last_event_id = helio_arena_string(self->arena, helio_text_of(headers->last_event_id));
    if (!find_route(self, method) || !admit(self, headers->authorization) ||
        !check_accept(self, headers->accept) || !check_body(self, headers) || !check_query(self))
        return;
    (void)check_key(self, headers->idempotency_key);
}

/* ---- bodies -------------------------------------------------------------------------------------------- */

static bool crawls(const helio_request_context_t *self, int64_t now_us)
{
    int64_t grace_us = (int64_t)self->http->options.idle_timeout_ms * 1000;
    int64_t earned_us = (int64_t)self->received_bytes * 1000000 / BODY_RATE_BYTES_PER_S;
    return now_us - self->started_us > grace_us + earned_us;
}

bool helio_request_take(helio_request_context_t *self, const char *bytes, size_t size, int64_t now_us)
{
    if (crawls(self, now_us))
        return false;
    self->received_bytes += size;
    if (!self->status) {
        helio_rc rc = helio_body_append(&self->body, bytes, size, self->body_max, self->http->options.bodies_max);
        if (rc == HELIO_TOO_BIG)
            helio_response_problem(self, 413, NULL, "the body may have %u bytes", self->body_max);
        else if (rc != HELIO_OK)
            helio_response_problem(self, 503, "Busy", "too many large requests at a time; try again shortly");
    }
    if (self->status) {
        helio_body_clear(&self->body);
        self->discarded_bytes += size;
        return self->discarded_bytes <= DISCARD_MAX;
    }
    return true;
}
