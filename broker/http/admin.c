/*  /v1/tokens, /v1/audit, /v1/whoami. */
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#include "broker/http/command.h"
#include "broker/http/route.h"
#include "federation/base/clock.h"
#include "federation/spec/value.h"

enum { TTL_MAX_S = 10 * 366 * 24 * 3600 };

void helio_tokens_list(helio_exchange_t *self)
{
    helio_await_read(self, helio_answer_read, "read_tokens", 1, (const char *[]){NULL});
}

void helio_audit_list(helio_exchange_t *self)
{
    const char *cursor = helio_exchange_query(self, "cursor");
    uint64_t limit, before;
    if (!helio_exchange_number(self, "limit", 100, 1000, &limit) ||
        !helio_exchange_number(self, "cursor", 0, INT64_MAX, &before))
        return;
    char limit_text[24];
    (void)snprintf(limit_text, sizeof limit_text, "%llu", (unsigned long long)(limit ? limit : 1));
    helio_await_read(self, helio_answer_read, "read_audit", 2, (const char *[]){cursor, limit_text});
}

void helio_audit_verify(helio_exchange_t *self)
{
    helio_await_read(self, helio_answer_read, "read_audit_verify", 0, NULL);
}

static void time_member(helio_buffer_t *json, const char *name, int64_t wall_ms)
{
    char text[HELIO_RFC3339_SIZE];
    if (!wall_ms) {
        helio_buffer_printf(json, ",\"%s\":null", name);
        return;
    }
    helio_rfc3339(wall_ms, text);
    helio_json_member(json, name, text);
}

void helio_whoami(helio_exchange_t *self)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t json = {0};
    helio_buffer_text(&json, "{\"token_id\":");
    helio_json_string(helio_text_of(self->token->id), &json);
    helio_json_member(&json, "tenant", self->token->tenant);
    helio_json_member(&json, "user", self->token->user);
    helio_json_member(&json, "role", helio_role_word(self->token->role));
    time_member(&json, "expires_at", self->token->expires_ms);
    helio_json_member(&json, "version", HELIO_RELEASE);
    helio_buffer_text(&json, "}");
    helio_answer_json(self, 200, helio_buffer_view(&json));
}

/* ---- issuing ------------------------------------------------------------------------------------------- */

/*  The answer is written before the commit and sent after it: `parameter` carries it across. */
static void on_stored(helio_exchange_t *self, const helio_result_t *result)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t json = {0};
    if (result->rc != HELIO_OK) {
        helio_answer_failure(self, result, NULL);
        return;
    }
    helio_text_t issued = helio_text_of(self->parameter);
    helio_buffer_append(&json, issued.data, issued.size - 1);
    if (result->text[0]) /* what is still missing */
        helio_json_member(&json, "note", result->text);
    helio_buffer_text(&json, "}");
    helio_answer_json(self, 201, helio_buffer_view(&json));
    OPENSSL_cleanse(json.data, json.size);
}

static const char *answer_of(helio_exchange_t *self, const helio_row_token_t *row, const char *text)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t json = {0};
    helio_buffer_text(&json, "{\"token_id\":");
    helio_json_string(row->token_id, &json);
    helio_json_member(&json, "token", text);
    helio_buffer_text(&json, ",\"tenant\":");
    helio_json_string(row->tenant, &json);
    helio_buffer_text(&json, ",\"user\":");
    helio_json_string(row->user, &json);
    helio_buffer_text(&json, ",\"role\":");
    helio_json_string(row->role, &json);
    time_member(&json, "expires_at", row->expires_ms);
    helio_buffer_text(&json, "}");
    return helio_arena_string(self->arena, helio_buffer_view(&json));
}

void helio_tokens_add(helio_exchange_t *self)
{
    helio_member_t members[] = {
        {.name = "tenant", .kind = HELIO_MEMBER_TEXT, .bytes_max = 32, .required = true},
        {.name = "user", .kind = HELIO_MEMBER_TEXT, .bytes_max = 64, .required = true},
        {.name = "role", .kind = HELIO_MEMBER_TEXT, .bytes_max = 16},
        {.name = "ttl_s", .kind = HELIO_MEMBER_NUMBER}};
    helio_arena_t *arena = helio_await_arena(self);
    uint32_t role = HELIO_ROLE_USER;
    if (!helio_command_read(self, arena, members, 4))
        return;
    if (!helio_command_name(members[0].text, 32) || !helio_command_name(members[1].text, 64)) {
        helio_answer_problem(self, 400, NULL,
                             "'tenant' and 'user' must be letters, digits, '.', '_' and '-'");
        return;
    }
    if (members[2].given && helio_role_of(members[2].text, &role) != HELIO_OK) {
        helio_answer_problem(self, 400, NULL, "'role' must be user, operator or admin");
        return;
    }
    if (members[3].given && (members[3].number == 0 || members[3].number > TTL_MAX_S)) {
        helio_answer_problem(self, 400, NULL, "'ttl_s' must be 1 to %d", TTL_MAX_S);
        return;
    }
    const helio_principal_t *principal =
        helio_token_table_principal(self->http->tokens, members[0].text, members[1].text);
    if (principal && atomic_load_explicit(&principal->disabled_ms, memory_order_acquire)) {
        helio_answer_problem(self, 409, NULL,
                             "user '%s' of tenant '%s' is disabled: `helio user enable %s --tenant %s`",
                             principal->user, principal->tenant, principal->user, principal->tenant);
        return;
    }
    helio_token_fresh_t fresh;
    if (helio_token_issue(&fresh) != HELIO_OK) {
        helio_answer_problem(self, 503, NULL, "the system gives no random bytes");
        return;
    }
    helio_ev_token_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->actor = helio_arena_printf(arena, "user:%s", self->token->user);
    event->token = (helio_row_token_t){
        .token_id = helio_arena_text(arena, helio_text_of(fresh.id)),
        .hash = helio_arena_text(arena, (helio_text_t){(const char *)fresh.hash, sizeof fresh.hash}),
        .tenant = members[0].text,
        .user = members[1].text,
        .role = helio_text_of(helio_role_word(role)),
        .created_ms = helio_clock_wall_ms()};
    if (members[3].given)
        event->token.expires_ms = event->token.created_ms + (int64_t)members[3].number * 1000;
    self->parameter = answer_of(self, &event->token, fresh.text);
    OPENSSL_cleanse(&fresh, sizeof fresh);
    helio_await_event(self, on_stored, HELIO_BROKER_EV_TOKEN, event);
}

static void on_revoked(helio_exchange_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK) {
        helio_answer_failure(self, result, NULL);
        return;
    }
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t json = {0};
    helio_buffer_text(&json, "{\"token_id\":");
    helio_json_string(helio_text_of(self->parameter), &json);
    helio_buffer_text(&json, ",\"status\":\"revoked\"}");
    helio_answer_json(self, 200, helio_buffer_view(&json));
}

void helio_tokens_revoke(helio_exchange_t *self)
{
    const helio_token_t *token = helio_token_table_find(self->http->tokens, helio_text_of(self->parameter));
    if (!token) {
        helio_answer_problem(self, 404, NULL, "there is no token '%.32s' in force", self->parameter);
        return;
    }
    helio_arena_t *arena = helio_await_arena(self);
    helio_ev_token_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->actor = helio_arena_printf(arena, "user:%s", self->token->user);
    event->token =
        (helio_row_token_t){.token_id = helio_text_of(token->id), /* the table's texts outlive the call */
                            .hash = {(const char *)token->hash, sizeof token->hash},
                            .tenant = helio_text_of(token->tenant),
                            .user = helio_text_of(token->user),
                            .role = helio_text_of(helio_role_word(token->role)),
                            .created_ms = token->created_ms,
                            .expires_ms = token->expires_ms,
                            .revoked_ms = helio_clock_wall_ms()};
    helio_await_event(self, on_revoked, HELIO_BROKER_EV_TOKEN, event);
}
