/*  request.c -- the checks of a request, in order, and the bounds on its body. */
#include "broker/http/request/request.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "broker/http/request/route.h"
#include "broker/http/request/token_look_up.h"
#include "federation/base/clock.h"
#include "federation/base/suggest.h"
#include "federation/spec/value.h"

enum {
    KEY_MAX = 120,         /* of 128: a list of documents adds "#n" */
    DISCARD_MAX = 1 << 20, /* of the body of a refused request: it is read up to here, to keep the connection */
    BODY_RATE_BYTES_PER_S = 16 << 10, /* the slowest body that is accepted once the idle time-out has passed */
    PROOF_MS = 1000, /* how long a token that is not known waits for a look, four times what one takes */
    PROOF_POLL_MS = 20
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
        if (at + 2 < size + 1 && (parameters[at] == 'q' || parameters[at] == 'Q') && parameters[at + 1] == '=')
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
    return !any; /* an empty header has no meaning */
}

/* ---- the checks: each returns true, or answers and returns false ------------------------------------------- */

static bool find_route(helio_request_context_t *self, const char *method)
{
    helio_error_t err;
    helio_rc rc = helio_target_parse(helio_text_of(self->raw_target), self->arena, &self->target, &err);
    if (rc != HELIO_OK) {
        self->close = true; /* the sender of such a target has lost its place in the stream, or attacks ours */
        HELIO_PROBLEM(self, rc == HELIO_TOO_BIG ? 414 : 400, INPUT_INVALID, helio_value_string("target"),
                      helio_value_string(err.text), helio_value_string(""));
        return false;
    }
    char allow[HELIO_ALLOW_SIZE];
    const char *parameter = NULL;
    const helio_route_t *route = helio_route_find(self->http->routes, method, &self->target, &parameter, allow);
    if (!route && !allow[0]) {
        HELIO_PROBLEM0(self, 404, PATH_UNKNOWN);
        return false;
    }
    self->head = strcmp(method, "HEAD") == 0;
    if (!route || (self->head && !helio_route_has_head(route))) {
        helio_request_context_header(self, "Allow", route ? "GET" : allow);
        HELIO_PROBLEM(self, 405, METHOD_NOT_ALLOWED, helio_value_string(route ? "GET" : allow));
        return false;
    }
    self->route = route;
    self->parameter = parameter;
    return true;
}

/*  A caller without a valid token: 401, or beyond the bound of its address 429, and it has to connect anew. */
static bool refuse_stranger(helio_request_context_t *self, helio_detail_t why)
{
    bool within = true; /* it was, when it was looked up */
    if (self->looked_up)
        helio_strangers_count_charged(self->http->strangers, &self->address);
    else
        within = helio_strangers_count(self->http->strangers, &self->address, helio_clock_boot_ms());
    if (within) {
        helio_response_problem(self, 401, NULL, why);
        return false;
    }
    self->close = true;
    HELIO_PROBLEM0(self, 429, TOKENS_REFUSED_OFTEN);
    return false;
}

/*  A proxy on this host makes its clients look like processes of this host; most of them say so. */
static bool monitors_freely(const helio_request_context_t *self, bool forwarded)
{
    if (self->route->access != HELIO_ACCESS_MONITOR)
        return false;
    uint32_t metrics = self->http->options.metrics;
    return metrics == HELIO_METRICS_ANYONE ||
           (metrics == HELIO_METRICS_LOOPBACK && self->address.loopback && !forwarded);
}

/*  A token that is not found is wrong only if all are known, and one that is found is in force only if the table is not
 *  old. */
static bool knows_tokens(const helio_request_context_t *self)
{
    const helio_leadership_t *leadership = self->http->leadership;
    int64_t now_ms = helio_clock_boot_ms();
    if (self->token)
        return !helio_leadership_is_blind(leadership, now_ms);
    return helio_leadership_leads(leadership) || helio_leadership_other(leadership, now_ms);
}

static bool has_looked_since(const helio_request_context_t *self, int64_t since_ms)
{
    const helio_leadership_t *leadership = self->http->leadership;
    return helio_leadership_leads(leadership) || helio_leadership_has_looked(leadership, since_ms);
}

/*  A follower's tokens are those of its last look, and the leader's lack those that were put straight into the database.
 *  Guesses are not waited for more often than they are answered. */
static bool waits_for_proof(helio_request_context_t *self, helio_text_t credential, helio_token_refusal_t why)
{
#ifdef HELIO_MUTANT_new_token_refused
    return false;
#endif
    int64_t now_ms = helio_clock_boot_ms();
    helio_strangers_t *strangers = self->http->strangers;
    bool leads = helio_leadership_leads(self->http->leadership);
    if (self->unproved_ms || !helio_token_is_well_formed(credential))
        return false;
    if (leads ? why != HELIO_TOKEN_UNKNOWN || !helio_strangers_charge(strangers, &self->address, now_ms)
              : !helio_strangers_has_room(strangers, &self->address, now_ms))
        return false;
    self->unproved_ms = now_ms;
    self->looked_up = leads;
    return true;
}

/*  Only the holder of the secret learns what became of its token. */
static helio_detail_t refusal(const helio_request_context_t *self, helio_token_refusal_t why,
                              const helio_token_t *known)
{
    switch (why) {
    case HELIO_TOKEN_REVOKED:
        return HELIO_DETAIL0(HELIO_DETAIL_TOKEN_REVOKED);
    case HELIO_TOKEN_EXPIRED:
        return HELIO_DETAIL(self->arena, HELIO_DETAIL_TOKEN_EXPIRED, helio_value_number(known->expires_ms));
    case HELIO_TOKEN_DISABLED:
        return HELIO_DETAIL0(HELIO_DETAIL_TOKEN_USER_DISABLED);
    case HELIO_TOKEN_ACCEPTED:
    case HELIO_TOKEN_UNKNOWN:
    case HELIO_TOKEN_WRONG:
    default:
        return HELIO_DETAIL0(HELIO_DETAIL_TOKEN_INVALID);
    }
}

static helio_text_t credential_of(const char *authorization)
{
    if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0)
        return (helio_text_t){0};
    return helio_text_of(authorization + 7 + strspn(authorization + 7, " "));
}

static bool admit(helio_request_context_t *self)
{
    helio_access_t access = self->route->access;
    const char *authorization = self->received.authorization;
    helio_text_t credential = credential_of(authorization);
    if (helio_access_grant(access, NULL) != HELIO_GRANT_UNKNOWN || monitors_freely(self, self->received.forwarded))
        return true;
    if (!authorization)
        return refuse_stranger(self, HELIO_DETAIL0(HELIO_DETAIL_TOKEN_MISSING));
    helio_token_refusal_t why;
    const helio_token_t *known;
    self->token = helio_token_table_judge(self->http->tokens, credential, helio_clock_wall_ms(), &why, &known);
    bool no_look_came = self->unproved_ms && !self->token && !has_looked_since(self, self->unproved_ms);
    if (!knows_tokens(self) || no_look_came) {
        HELIO_PROBLEM0(self, 503, TOKENS_NOT_LOADED);
        return false;
    }
    if (!self->token && self->look_failed) {
        HELIO_PROBLEM0(self, 503, TOKEN_NOT_LOOKED_UP);
        return false;
    }
    if (!self->token && waits_for_proof(self, credential, why))
        return false;
    if (!self->token)
        return refuse_stranger(self, refusal(self, why, known));
    if (helio_access_grant(access, self->token) == HELIO_GRANT_REFUSED) {
        uint32_t needed = self->token->role;
        while (helio_access_grant_of_role(access, needed) == HELIO_GRANT_REFUSED)
            needed++;
        HELIO_PROBLEM(self, 403, ROLE_NEEDED, helio_value_string(helio_role_name(needed)),
                      helio_value_string(helio_role_name(self->token->role)));
        return false;
    }
    self->credential = helio_arena_string(self->arena, credential);
    return true;
}

static bool check_accept(helio_request_context_t *self, const char *accept)
{
    if (!accept || strcmp(self->route->produces, HELIO_PRODUCES_ANY) == 0 ||
        helio_accepts(accept, self->route->produces) ||
        (strcmp(self->route->produces, "application/json") == 0 && helio_accepts(accept, "application/problem+json")))
        return true;
    HELIO_PROBLEM(self, 406, NOT_ACCEPTABLE, helio_value_string(self->route->produces));
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

static bool check_body(helio_request_context_t *self)
{
    static const char *const json[] = {"application/json", NULL};
    static const char *const jobs[] = {"application/yaml",     "text/yaml", "application/x-yaml", "application/json",
                                       "application/x-ndjson", NULL};
    static const char *const bytes[] = {"application/octet-stream", NULL};
    helio_body_kind_t body = self->route->body;
    self->body_max = body == HELIO_BODY_JOBS ? self->http->options.body_max : HELIO_COMMAND_BODY_MAX;
    uint64_t length = 0;
    if (self->received.content_length &&
        (helio_u64_parse(helio_text_of(self->received.content_length), &length) != HELIO_OK ||
         length > self->body_max)) {
        HELIO_PROBLEM(self, 413, BODY_TOO_BIG, helio_value_number(self->body_max));
        return false;
    }
    if (body == HELIO_BODY_JOBS && !self->received.content_length && !self->received.transfer_encoding) {
        HELIO_PROBLEM0(self, 411, BODY_LENGTH);
        return false;
    }
    if (self->has_body && body == HELIO_BODY_NONE) {
        HELIO_PROBLEM0(self, 400, BODY_UNEXPECTED);
        return false;
    }
    if (self->has_body && !is_type(self, body == HELIO_BODY_JOBS ? jobs : body == HELIO_BODY_BYTES ? bytes : json)) {
        bool of_jobs = body == HELIO_BODY_JOBS;
        helio_value_t types = {.text = helio_text_of(of_jobs ? "application/yaml,application/json,application/x-ndjson"
                                                     : body == HELIO_BODY_BYTES ? bytes[0]
                                                                                : json[0]),
                               .number = of_jobs ? 3 : 1};
        HELIO_PROBLEM(self, 415, BODY_TYPE, helio_value_string(self->content_type), types);
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
        HELIO_PROBLEM(self, 400, QUERY_UNKNOWN, helio_value_string(name), helio_value_string(self->route->query));
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
        HELIO_PROBLEM(self, 400, KEY_INVALID, helio_value_number(KEY_MAX));
        return false;
    }
    self->idempotency_key = helio_arena_string(self->arena, helio_text_of(key));
    return true;
}

static void judge(helio_request_context_t *self)
{
    if (!find_route(self, self->method))
        return;
    if (admit(self) && check_accept(self, self->received.accept) && check_body(self) && check_query(self))
        (void)check_key(self, self->received.idempotency_key);
}

/* ---- the proof of a token --------------------------------------------------------------------------------- */

static void judge_again(helio_request_context_t *self)
{
    self->want = NULL;
    judge(self);
}

static void on_looked_up(helio_request_context_t *self, const helio_result_t *result)
{
    self->look_failed = !helio_token_look_up_ended(self, result);
    judge_again(self);
}

/*  On the thread of the waiting requests: the leader once, a follower again and again until the look has come that proves
 *  the token or not. */
static void prove(helio_request_context_t *self)
{
    int64_t now_ms = helio_clock_boot_ms();
    if (self->looked_up)
        helio_token_look_up(self, on_looked_up, credential_of(self->received.authorization));
    else if (!has_looked_since(self, self->unproved_ms) && now_ms < self->unproved_ms + PROOF_MS)
        helio_await_idle(self, now_ms + PROOF_POLL_MS, false);
    else
        judge_again(self);
}

void helio_request_judge(helio_request_context_t *self, const char *method, const helio_request_headers_t *received)
{
    self->method = method;
    self->received = *received;
    self->has_body =
        received->transfer_encoding || (received->content_length && strcmp(received->content_length, "0") != 0);
    if (received->content_type)
        self->content_type = media_type(received->content_type, self->arena);
    if (received->last_event_id)
        self->last_event_id = helio_arena_string(self->arena, helio_text_of(received->last_event_id));
    self->from_broker = received->from_broker != NULL;
    self->from_itself = received->from_broker && strcmp(received->from_broker, self->http->instance) == 0;
    judge(self);
    if (self->unproved_ms && !self->status)
        self->want = prove;
}

/* ---- what only the leader can do ------------------------------------------------------------------------- */

static void on_forwarded(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK)
        helio_response_failure(self, result, NULL);
    else
        helio_response_forwarded(self, result);
}

/*  NULL: this broker does it, or says why it cannot. */
static const helio_leader_view_t *leader_for(const helio_request_context_t *self)
{
    return helio_route_needs_leader(self->route) ? helio_await_leader(self) : NULL;
}

bool helio_request_is_long(const helio_request_context_t *self)
{
#ifdef HELIO_MUTANT_large_body_read_at_once
    return false;
#endif
    return self->body.size > HELIO_BODY_SMALL_MAX && !leader_for(self);
}

static void forward_to(helio_request_context_t *self, const helio_leader_view_t *leader)
{
    helio_await_forward(self, on_forwarded, leader, self->route->method, self->raw_target);
    if (self->route->answer == HELIO_ANSWER_OF_CHANNEL)
        self->operation->forward.kind = HELIO_FORWARD_CHANNEL;
}

void helio_request_start(helio_request_context_t *self)
{
    self->started = true;
    const helio_leader_view_t *leader = leader_for(self);
    if (leader)
        forward_to(self, leader);
    else
        self->route->start(self);
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
        const helio_body_bounds_t bounds = {.size_max = self->body_max,
                                            .held_max = self->http->options.bodies_max,
                                            .lots = self->http->lots,
                                            .tenant = self->token ? self->token->tenant : ""};
        helio_rc rc = helio_body_append(&self->body, bytes, size, &bounds);
        if (rc == HELIO_TOO_BIG)
            HELIO_PROBLEM(self, 413, BODY_TOO_BIG, helio_value_number(self->body_max));
        else if (rc != HELIO_OK)
            helio_response_problem(self, 503, "Busy", HELIO_DETAIL0(HELIO_DETAIL_BODIES_BUSY));
    }
    if (self->status) {
        helio_body_clear(&self->body);
        self->discarded_bytes += size;
        return self->discarded_bytes <= DISCARD_MAX;
    }
    return true;
}
