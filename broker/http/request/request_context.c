/*  request_context.c -- a request from its target to its response, and the operations that its steps await. */
#include "broker/http/request/request_context.h"
#include "broker/http/request/reasons.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/http/request/route.h"
#include "federation/base/clock.h"
#include "federation/base/json.h"
#include "federation/base/number.h"
#include "federation/spec/value.h"

/*  What is made of a body and counts as small: that of a thousand short documents. As many of these as there are connections
 *  fit into memory. The largest counts as a quarter of what all may have (a third of what large ones may), so that it is
 *  taken once others have ended. */
enum { MADE_SMALL_MAX = 1 << 20, MADE_LARGE_PART = 4 };

helio_request_context_t *helio_request_context_new(helio_http_t *http, helio_text_t raw_target)
{
    helio_request_context_t *self = helio_new(1, sizeof *self);
    self->http = http;
    self->arena = helio_arena_new();
    self->raw_target = helio_arena_string(self->arena, raw_target);
    self->content_type = self->idempotency_key = self->last_event_id = self->credential = "";
    self->body.held = &http->metrics.bodies_bytes;
    self->fd = -1;
    return self;
}

void helio_request_context_leave_snapshot(helio_request_context_t *self)
{
    int64_t since_ms = self->snapshot_since_ms;
    self->snapshot_since_ms = 0;
    if (since_ms) /* unless another one has taken the place meanwhile */
        (void)atomic_compare_exchange_strong(&self->http->snapshot_since_ms, &since_ms, 0);
}

void helio_request_context_destroy(helio_request_context_t **self_p)
{
    helio_request_context_t *self = *self_p;
    if (!self)
        return;
    if (self->counted_stream) {
        helio_places_give_back(self->http->places, self->token);
        (void)atomic_fetch_sub_explicit(&self->http->metrics.streams, 1, memory_order_relaxed);
    }
    helio_request_context_leave_snapshot(self);
    helio_operation_destroy(&self->operation);
    helio_body_clear(&self->body);
    helio_buffer_clear(&self->response);
    helio_arena_destroy(&self->retained);
    helio_arena_destroy(&self->arena);
    free(self);
    *self_p = NULL;
}

void *helio_request_context_state(helio_request_context_t *self, size_t size)
{
    if (!self->state)
        self->state = helio_arena_alloc(self->arena, 1, size);
    return self->state;
}

void helio_request_context_header(helio_request_context_t *self, const char *name, const char *value)
{
    assert(self->header_count < HELIO_RESPONSE_HEADERS_MAX);
    self->headers[self->header_count].name = name;
    self->headers[self->header_count++].value = helio_arena_string(self->arena, helio_text_of(value));
}

/*  retry_after_s: 0 = no such header. */
static void response_after(helio_request_context_t *self, uint32_t status, const char *type, uint32_t retry_after_s)
{
    assert(self->status == 0);
    self->status = status;
    self->response_type = type;
    helio_buffer_reset(&self->response);
    if (retry_after_s) {
        char text[16];
        (void)snprintf(text, sizeof text, "%u", retry_after_s);
        helio_request_context_header(self, "Retry-After", text);
    }
    if (status == 401)
        helio_request_context_header(self, "WWW-Authenticate", "Bearer realm=\"heliostat\"");
}

static void response(helio_request_context_t *self, uint32_t status, const char *type)
{
    response_after(self, status, type, helio_status_retry_after_s(status));
}

void helio_response_json(helio_request_context_t *self, uint32_t status, helio_text_t json)
{
    response(self, status, "application/json");
    helio_buffer_append(&self->response, json.data, json.size);
    helio_buffer_text(&self->response, "\n");
}

void helio_response_text(helio_request_context_t *self, uint32_t status, const char *type, const char *text)
{
    helio_response_bytes(self, status, type, helio_text_of(text));
}

void helio_response_bytes(helio_request_context_t *self, uint32_t status, const char *type, helio_text_t bytes)
{
    response(self, status, type);
    helio_buffer_append(&self->response, bytes.data, bytes.size);
}

static void respond_details(helio_request_context_t *self, uint32_t status, const char *reason,
                            const helio_details_t *details, helio_text_t object)
{
    response_after(self, status, "application/problem+json", helio_problem_retry_after_s(status, details));
    helio_problem_of_details(status, reason, details, object, &self->response);
}

void helio_response_problem(helio_request_context_t *self, uint32_t status, const char *reason, helio_detail_t detail)
{
    const helio_details_t details = {{&detail, 1}};
    respond_details(self, status, reason, &details, (helio_text_t){0});
}

void helio_response_diagnostics(helio_request_context_t *self, const helio_diagnostics_t *wrong, int document)
{
    uint32_t status = wrong->items[0].problem == HELIO_SPEC_TOO_BIG_PROBLEM ? 413 : 400;
    response(self, status, "application/problem+json");
    helio_problem_of_diagnostics(status, wrong, document, &self->response);
}

static helio_detail_t failure(const helio_request_context_t *self, helio_rc rc)
{
    switch (rc) {
    case HELIO_BUSY:
        return HELIO_DETAIL0(HELIO_DETAIL_BROKER_BUSY);
    case HELIO_UNAVAILABLE:
    case HELIO_IO:
        return HELIO_DETAIL0(HELIO_DETAIL_BROKER_UNAVAILABLE);
    case HELIO_FENCED:
        return HELIO_DETAIL0(HELIO_DETAIL_ANOTHER_LEADS);
    case HELIO_TIMEOUT:
        return HELIO_DETAIL0(HELIO_DETAIL_REPLY_LATE);
    case HELIO_OK:
    case HELIO_INVALID:
    case HELIO_NOT_FOUND:
    case HELIO_FORBIDDEN:
    case HELIO_CONFLICT:
    case HELIO_TOO_BIG:
    case HELIO_PROTOCOL:
    case HELIO_VERSION:
    case HELIO_INFEASIBLE:
    default:
        return HELIO_DETAIL(self->arena, HELIO_DETAIL_REQUEST_FAILED, helio_value_string(helio_rc_text(rc)));
    }
}

void helio_response_failure(helio_request_context_t *self, const helio_result_t *result, const char *kind)
{
    assert(result->rc != HELIO_OK);
    uint32_t status = helio_status_of_rc(result->rc);
    /* for a refused job the core's reason says why; "Invalid" for a conflict would say less than the status */
    const char *reason = strcmp(result->reason, "Invalid") == 0 ? NULL : result->reason;
    if (result->details.items.count)
        respond_details(self, status, reason, &result->details, (helio_text_t){0});
    else if (result->rc == HELIO_NOT_FOUND && kind)
        helio_response_problem(self, status, reason,
                               HELIO_DETAIL(self->arena, HELIO_DETAIL_NO_SUCH_THING, helio_value_string(kind),
                                            helio_value_string(self->parameter)));
    else
        helio_response_problem(self, status, reason, failure(self, result->rc));
}

void helio_response_read(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK)
        helio_response_failure(self, result, NULL);
    else
        helio_response_json(self, 200, helio_buffer_view(&result->data));
}

void helio_response_status(helio_request_context_t *self, uint32_t status, const char *key, const char *value,
                           const char *said)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_json_writer_t json = helio_json_into(&text);
    helio_json_begin_object(&json, NULL);
    helio_json_put_string(&json, key, value);
    helio_json_put_string(&json, "status", said);
    helio_json_end(&json);
    helio_response_json(self, status, helio_buffer_view(&text));
}

void helio_response_done(helio_request_context_t *self, uint32_t status, const char *key, const char *value,
                         const helio_details_t *details)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_json_writer_t json = helio_json_into(&text);
    helio_json_begin_object(&json, NULL);
    if (key)
        helio_json_put_string(&json, key, value);
    helio_put_details(&json, "status", "details", details);
    helio_json_end(&json);
    helio_response_json(self, status, helio_buffer_view(&text));
}

void helio_response_set(helio_request_context_t *self, const helio_result_t *result, const char *kind, const char *key)
{
    if (result->rc != HELIO_OK) {
        helio_response_failure(self, result, kind);
        return;
    }
    helio_response_done(self, 200, key, self->parameter, &result->details);
}

bool helio_response_ambiguous(helio_request_context_t *self, helio_text_t json)
{
    /* built by the reader, and no other response begins so; spaces depend on the server's JSON output */
    static const char head[] = "{\"ambiguous\"";
    if (json.size < sizeof head - 1 || memcmp(json.data, head, sizeof head - 1) != 0)
        return false;
    helio_detail_t detail = HELIO_DETAIL0(HELIO_DETAIL_JOB_ID_AMBIGUOUS);
    const helio_details_t details = {{&detail, 1}};
    respond_details(self, 409, "Ambiguous", &details, json);
    return true;
}

void helio_response_forwarded(helio_request_context_t *self, const helio_result_t *result)
{
    uint32_t usual_s = helio_status_retry_after_s(result->status);
    response_after(self, result->status, helio_arena_string(self->arena, helio_text_of(result->type)),
                   usual_s && result->retry_after_s ? result->retry_after_s : usual_s);
    helio_buffer_append(&self->response, result->data.data, result->data.size);
    self->by_leader = true;
}

void helio_response_stream(helio_request_context_t *self, const char *type, void (*want)(helio_request_context_t *self))
{
    response(self, 200, type);
    self->want = want;
}

/* ---- awaiting ------------------------------------------------------------------------------------------ */

static helio_operation_t *prepare(helio_request_context_t *self)
{
    if (!self->operation)
        self->operation = helio_operation_new();
    return self->operation;
}

helio_arena_t *helio_await_arena(helio_request_context_t *self)
{
    return prepare(self)->arena;
}

helio_text_t helio_await_body(helio_request_context_t *self)
{
    helio_operation_t *operation = prepare(self);
    helio_body_move(&operation->body, &self->body);
    return helio_body_view(&operation->body);
}

bool helio_await_read_body(helio_request_context_t *self)
{
    helio_operation_t *operation = prepare(self);
    uint64_t made = helio_arena_bytes(operation->arena);
#ifdef HELIO_MUTANT_read_bodies_are_free
    return true;
#endif
    uint64_t bytes = helio_lesser_u64(operation->body.size + made, self->http->options.bodies_max / MADE_LARGE_PART);
    if (made <= MADE_SMALL_MAX || bytes <= operation->body.lot.bytes ||
        helio_lots_take(self->http->lots, &operation->body.lot, self->token->tenant, bytes))
        return true;
    helio_response_problem(self, 503, "Busy", HELIO_DETAIL0(HELIO_DETAIL_BODIES_BUSY));
    return false;
}

void helio_await_retain(helio_request_context_t *self)
{
    helio_operation_t *operation = prepare(self);
    assert(!self->retained);
    self->retained = operation->arena;
    operation->arena = helio_arena_new();
    helio_body_move(&self->body, &operation->body);
}

void helio_await_read(helio_request_context_t *self, helio_request_context_step_fn *next, const char *query,
                      uint32_t count, const char *const params[])
{
    assert(count <= HELIO_READ_PARAMS_MAX);
    helio_operation_t *operation = prepare(self);
    operation->kind = HELIO_OPERATION_READ;
    operation->read.query = query;
    operation->read.param_count = count;
    operation->read.owner = self->token ? self->token->tenant : NULL; /* the table's text, which outlives it */
    for (uint32_t i = 0; i < count; i++)
        operation->read.params[i] = params[i] ? helio_arena_string(operation->arena, helio_text_of(params[i])) : NULL;
    self->next = next;
}

void helio_await_event(helio_request_context_t *self, helio_request_context_step_fn *next, uint32_t event,
                       void *payload)
{
    helio_operation_t *operation = prepare(self);
    operation->kind = HELIO_OPERATION_CALL;
    operation->call.kind = HELIO_CALL_EVENT;
    operation->call.event = event;
    operation->call.payload = payload;
    self->next = next;
}

const helio_leader_view_t *helio_await_leader(const helio_request_context_t *self)
{
    const helio_leader_view_t *leader = helio_leadership_other(self->http->leadership, helio_clock_boot_ms());
#ifndef HELIO_MUTANT_forwarded_again
    if (self->from_broker)
        return NULL;
#endif
    return leader && leader->http[0] ? leader : NULL;
}

void helio_await_forward(helio_request_context_t *self, helio_request_context_step_fn *next,
                         const helio_leader_view_t *leader, const char *method, const char *target)
{
    helio_operation_t *operation = prepare(self);
    helio_arena_t *arena = operation->arena;
    helio_body_move(&operation->body, &self->body);
    operation->kind = HELIO_OPERATION_FORWARD;
    operation->leader = leader;
    operation->forward.tenant = self->token ? self->token->tenant : ""; /* the table's text, which outlives it */
    operation->forward.instance = self->http->instance;
    operation->forward.method = method;
    operation->forward.base = leader->http;
    operation->forward.target = helio_arena_string(arena, helio_text_of(target));
    operation->forward.credential = helio_arena_string(arena, helio_text_of(self->credential));
    operation->forward.content_type = helio_arena_string(arena, helio_text_of(self->content_type));
    bool takes_key = self->route->body == HELIO_BODY_JOBS; /* on others it prevents nothing */
    operation->forward.idempotency_key =
        takes_key ? helio_arena_string(arena, helio_text_of(self->idempotency_key)) : "";
    operation->forward.body = helio_body_view(&operation->body);
    self->next = next;
}

/*  Between brokers a log travels in pieces, one for each request (logs.c). */
static void forward_log(helio_request_context_t *self, helio_request_context_step_fn *next,
                        const helio_leader_view_t *leader, const helio_log_place_t *place)
{
    char key[HELIO_KEY_SIZE], target[160];
    helio_job_key_text(place->key, key);
    (void)snprintf(target, sizeof target, "/v1/jobs/%s/logs?epoch=%u&%s=%" PRIu64, key, place->epoch,
                   place->tail ? "tail" : "offset", place->tail ? place->tail : place->offset);
    helio_await_forward(self, next, leader, "GET", target);
    self->operation->result.offset = place->tail ? 0 : place->offset;
    self->operation->is_log = true;
    self->operation->forward.kind = HELIO_FORWARD_LOG;
}

void helio_await_log(helio_request_context_t *self, helio_request_context_step_fn *next, helio_log_place_t place)
{
    const helio_leader_view_t *leader = helio_await_leader(self);
    if (leader) {
        forward_log(self, next, leader, &place);
        return;
    }
    helio_operation_t *operation = prepare(self);
    operation->kind = HELIO_OPERATION_CALL;
    operation->call.kind = HELIO_CALL_LOG_READ;
    operation->call.site = helio_arena_string(operation->arena, helio_text_of(place.site));
    operation->call.key = place.key;
    operation->call.epoch = place.epoch;
    operation->call.offset = place.offset;
    operation->call.size_max = place.size_max;
    operation->call.from_end = place.tail > 0;
    self->next = next;
}

void helio_await_channel(helio_request_context_t *self, helio_request_context_step_fn *next,
                         const helio_channel_ask_t *ask)
{
    helio_operation_t *operation = prepare(self);
    operation->kind = HELIO_OPERATION_CALL;
    operation->call.kind = HELIO_CALL_CHANNEL;
    operation->call.ask = *ask;
    self->next = next;
}

void helio_await_opening(helio_request_context_t *self, const helio_channel_opening_t *opening)
{
    prepare(self)->call.opening = opening;
}

void helio_await_figures(helio_request_context_t *self, helio_request_context_step_fn *next)
{
    helio_operation_t *operation = prepare(self);
    operation->kind = HELIO_OPERATION_CALL;
    operation->call.kind = HELIO_CALL_FIGURES;
    self->next = next;
}

void helio_await_idle(helio_request_context_t *self, int64_t wake_ms, bool notifier)
{
    assert(self->want);
    self->wake_ms = wake_ms;
    self->wants_notify = notifier;
}

/* ---- asking -------------------------------------------------------------------------------------------- */

const char *helio_request_context_query(const helio_request_context_t *self, const char *name)
{
    assert(helio_route_takes_query(self->route, name));
    return helio_target_query(&self->target, name);
}

bool helio_request_context_number(helio_request_context_t *self, const char *name, helio_query_bounds_t bounds,
                                  uint64_t *ret_value)
{
    const char *text = helio_request_context_query(self, name);
    uint64_t value = bounds.fallback;
    bool good = !text || helio_u64_parse(helio_text_of(text), &value) == HELIO_OK;
    if (!good || value < bounds.least || value > bounds.most) {
        HELIO_PROBLEM(self, 400, QUERY_NUMBER, helio_value_string(name), helio_value_number((int64_t)bounds.most),
                      helio_value_number((int64_t)bounds.least));
        return false;
    }
    *ret_value = value;
    return true;
}

bool helio_request_context_flag(helio_request_context_t *self, const char *name, bool *ret_value)
{
    static const char *const words[] = {"0", "false", "1", "true"};
    const char *text = helio_request_context_query(self, name);
    size_t at = 0;
    while (text && at < sizeof words / sizeof words[0] && strcmp(text, words[at]) != 0)
        at++;
    *ret_value = text && at >= 2;
    if (at < sizeof words / sizeof words[0])
        return true;
    HELIO_PROBLEM(self, 400, QUERY_CHOICE, helio_value_string(name), helio_value_string("0, 1, true, false"));
    return false;
}

const char *helio_request_context_tenant(const helio_request_context_t *self)
{
    assert(self->route->access != HELIO_ACCESS_MEMBER); /* such a route shows nothing that belongs to tenants */
    return helio_access_grant(self->route->access, self->token) == HELIO_GRANT_ALL ? NULL : self->token->tenant;
}

helio_text_t helio_request_context_actor(helio_request_context_t *self)
{
    return helio_arena_printf(helio_await_arena(self), "user:%s/%s", self->token->tenant, self->token->user);
}

bool helio_request_context_take_place(helio_request_context_t *self)
{
    const helio_http_options_t *options = &self->http->options;
    switch (helio_places_take(self->http->places, self->token)) {
    case HELIO_PLACES_TAKEN:
        self->counted_stream = true;
        (void)atomic_fetch_add_explicit(&self->http->metrics.streams, 1, memory_order_relaxed);
        return true;
    case HELIO_PLACES_FULL:
        helio_response_problem(
            self, 503, "Busy",
            HELIO_DETAIL(self->arena, HELIO_DETAIL_STREAMS_FULL, helio_value_number(options->subscribers_max)));
        return false;
    case HELIO_PLACES_TENANT_FULL:
        HELIO_PROBLEM(self, 429, TENANT_STREAMS_FULL, helio_value_number(options->subscribers_per_tenant_max),
                      helio_value_string(self->token->tenant));
        return false;
    case HELIO_PLACES_USER_FULL:
        HELIO_PROBLEM(self, 429, USER_STREAMS_FULL, helio_value_number(options->subscribers_per_user_max),
                      helio_value_string(self->token->user));
        return false;
    }
    return false;
}
