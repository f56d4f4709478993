/*  admin.c -- /v1/tokens, /v1/audit, /v1/whoami. */
#include <jansson.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#include "broker/http/request/reasons.h"
#include "broker/http/request/token_look_up.h"
#include "broker/http/routes/command.h"
#include "broker/http/routes/routes.h"
#include "federation/base/clock.h"
#include "federation/base/json.h"
#include "federation/spec/value.h"

enum { TTL_MAX_S = 10 * 366 * 24 * 3600 };

void helio_tokens_list(helio_request_context_t *self)
{
    helio_await_read(self, helio_response_read, "read_tokens", 1, (const char *[]){NULL});
}

void helio_audit_list(helio_request_context_t *self)
{
    const char *cursor = helio_request_context_query(self, "cursor");
    uint64_t limit, before;
    if (!helio_request_context_number(self, "limit", (helio_query_bounds_t){1, 1000, 100}, &limit) ||
        !helio_request_context_number(self, "cursor", (helio_query_bounds_t){0, INT64_MAX, 0}, &before))
        return;
    char limit_text[24];
    (void)snprintf(limit_text, sizeof limit_text, "%llu", (unsigned long long)limit);
    helio_await_read(self, helio_response_read, "read_audit", 2, (const char *[]){cursor, limit_text});
}

/*  What was found is a metric too. */
static void on_verified(helio_request_context_t *self, const helio_result_t *result)
{
    json_t *found = result->rc == HELIO_OK ? json_loadb(result->data.data, result->data.size, 0, NULL) : NULL;
    if (json_is_object(found)) {
        helio_metrics_t *metrics = &self->http->metrics;
        bool broken = !json_is_null(json_object_get(found, "broken_at"));
        atomic_store_explicit(&metrics->audit_broken, broken, memory_order_relaxed);
        atomic_store_explicit(&metrics->audit_verified_ms, helio_clock_wall_ms(), memory_order_release);
    }
    json_decref(found);
    helio_response_read(self, result);
}

void helio_audit_verify(helio_request_context_t *self)
{
    helio_await_read(self, on_verified, "read_audit_verify", 0, NULL);
}

void helio_whoami(helio_request_context_t *self)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_json_writer_t json = helio_json_into(&text);
    helio_json_begin_object(&json, NULL);
    helio_json_put_string(&json, "token_id", self->token->id);
    helio_json_put_string(&json, "tenant", self->token->tenant);
    helio_json_put_string(&json, "user", self->token->user);
    helio_json_put_string(&json, "role", helio_role_name(self->token->role));
    helio_json_put_time(&json, "expires_at", self->token->expires_ms);
    helio_json_put_string(&json, "version", HELIO_PROGRAM_VERSION);
    helio_json_end(&json);
    helio_response_json(self, 200, helio_buffer_view(&text));
}

/* ---- issuing ------------------------------------------------------------------------------------------- */

/*  The response is prepared before the commit and sent after it; `parameter` carries it across. */
static void on_stored(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK) {
        helio_response_failure(self, result, NULL);
        return;
    }
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_json_writer_t json = helio_json_into(&text);
    helio_json_begin_object(&json, NULL);
    helio_json_put_members(&json, helio_text_of(self->parameter));
    helio_put_note(&json, &result->details); /* what the new token still lacks */
    helio_json_end(&json);
    helio_response_json(self, 201, helio_buffer_view(&text));
    OPENSSL_cleanse(text.data, text.size);
}

static const char *response_of(helio_request_context_t *self, const helio_row_token_t *row, const char *token)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_json_writer_t json = helio_json_into(&text);
    helio_json_begin_object(&json, NULL);
    helio_json_put_text(&json, "token_id", row->token_id);
    helio_json_put_string(&json, "token", token);
    helio_json_put_text(&json, "tenant", row->tenant);
    helio_json_put_text(&json, "user", row->user);
    helio_json_put_text(&json, "role", row->role);
    helio_json_put_time(&json, "expires_at", row->expires_ms);
    helio_json_end(&json);
    return helio_arena_string(self->arena, helio_buffer_view(&text));
}

void helio_tokens_add(helio_request_context_t *self)
{
    helio_member_t members[] = {{.name = "tenant", .kind = HELIO_MEMBER_TEXT, .bytes_max = 32, .required = true},
                                {.name = "user", .kind = HELIO_MEMBER_TEXT, .bytes_max = 64, .required = true},
                                {.name = "role", .kind = HELIO_MEMBER_TEXT, .bytes_max = 16},
                                {.name = "ttl_s", .kind = HELIO_MEMBER_NUMBER}};
    helio_arena_t *arena = helio_await_arena(self);
    uint32_t role = HELIO_ROLE_USER;
    if (!helio_command_read(self, arena, members, 4))
        return;
    if (!helio_command_check_name(self, "tenant", members[0].text, 32) ||
        !helio_command_check_name(self, "user", members[1].text, 64))
        return;
    if (members[2].given && helio_role_of(members[2].text, &role) != HELIO_OK) {
        helio_command_refuse_word(self, "role", members[2].text, HELIO_TEXT("user,operator,admin"));
        return;
    }
    if (members[3].given && (members[3].number == 0 || members[3].number > TTL_MAX_S)) {
        HELIO_PROBLEM(self, 400, OUT_OF_RANGE, helio_value_string("ttl_s"), helio_value_number(1000),
                      helio_value_number(TTL_MAX_S * INT64_C(1000)), helio_value_string(""));
        return;
    }
    const helio_principal_t *principal =
        helio_token_table_principal(self->http->tokens, members[0].text, members[1].text);
    if (principal && atomic_load_explicit(&principal->disabled_ms, memory_order_acquire)) {
        HELIO_PROBLEM(self, 409, USER_DISABLED, helio_value_string(principal->user),
                      helio_value_string(principal->tenant));
        return;
    }
    helio_token_fresh_t fresh;
    if (helio_token_issue(&fresh) != HELIO_OK) {
        HELIO_PROBLEM0(self, 503, NO_RANDOM_BYTES);
        return;
    }
    helio_ev_token_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->actor = helio_request_context_actor(self);
    event->token = (helio_row_token_t){
        .token_id = helio_arena_text(arena, helio_text_of(fresh.id)),
        .hash = helio_arena_text(arena, (helio_text_t){(const char *)fresh.hash, sizeof fresh.hash}),
        .tenant = members[0].text,
        .user = members[1].text,
        .role = helio_text_of(helio_role_name(role)),
        .created_ms = helio_clock_wall_ms()};
    if (members[3].given)
        event->token.expires_ms = event->token.created_ms + (int64_t)members[3].number * 1000;
    self->parameter = response_of(self, &event->token, fresh.text);
    OPENSSL_cleanse(&fresh, sizeof fresh);
    helio_await_event(self, on_stored, HELIO_BROKER_EV_TOKEN, event);
}

static void on_revoked(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK) {
        helio_response_failure(self, result, NULL);
        return;
    }
    helio_response_status(self, 200, "token_id", self->parameter, "revoked");
}

static void revoke(helio_request_context_t *self, const helio_token_t *token)
{
    helio_arena_t *arena = helio_await_arena(self);
    helio_ev_token_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->actor = helio_request_context_actor(self);
    event->token = (helio_row_token_t){.token_id = helio_text_of(token->id), /* the table's texts outlive the call */
                                       .hash = {(const char *)token->hash, sizeof token->hash},
                                       .tenant = helio_text_of(token->tenant),
                                       .user = helio_text_of(token->user),
                                       .role = helio_text_of(helio_role_name(token->role)),
                                       .created_ms = token->created_ms,
                                       .expires_ms = token->expires_ms,
                                       .revoked_ms = helio_clock_wall_ms()};
    helio_await_event(self, on_revoked, HELIO_BROKER_EV_TOKEN, event);
}

static const helio_token_t *named(const helio_request_context_t *self)
{
    return helio_token_table_find(self->http->tokens, helio_text_of(self->parameter));
}

static void on_looked_up(helio_request_context_t *self, const helio_result_t *result)
{
    if (!helio_token_look_up_ended(self, result))
        helio_response_failure(self, &(helio_result_t){.rc = HELIO_UNAVAILABLE}, NULL);
    else if (named(self))
        revoke(self, named(self));
    else
        HELIO_PROBLEM(self, 404, NO_SUCH_THING, helio_value_string("token"), helio_value_string(self->parameter));
}

void helio_tokens_revoke(helio_request_context_t *self)
{
    if (named(self))
        revoke(self, named(self));
    else
        helio_token_look_up_id(self, on_looked_up, self->parameter);
}
