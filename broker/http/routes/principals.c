/*  principals.c -- /v1/principals: the users that tokens and keys stand for, and whether they are disabled. */
#include "broker/http/routes/command.h"
#include "broker/http/routes/routes.h"
#include "federation/base/clock.h"

void helio_principals_list(helio_request_context_t *self)
{
    helio_await_read(self, helio_response_read, "read_principals", 0, NULL);
}

static void on_set(helio_request_context_t *self, const helio_result_t *result)
{
    helio_response_set(self, result, "user", "user");
}

/*  An unknown name is an error: disabling the wrong name would leave the intended user active. */
void helio_principals_set(helio_request_context_t *self)
{
    helio_member_t members[] = {{.name = "tenant", .kind = HELIO_MEMBER_TEXT, .bytes_max = 32, .required = true},
                                {.name = "user", .kind = HELIO_MEMBER_TEXT, .bytes_max = 64, .required = true},
                                {.name = "disabled", .kind = HELIO_MEMBER_BOOL, .required = true}};
    helio_arena_t *arena = helio_await_arena(self);
    if (!helio_command_read(self, arena, members, 3))
        return;
    helio_text_t tenant = members[0].text, user = members[1].text;
    if (!helio_token_table_principal(self->http->tokens, tenant, user)) {
        HELIO_PROBLEM(self, 404, USER_UNKNOWN, helio_value_text(user), helio_value_text(tenant));
        return;
    }
    if (members[2].flag && helio_text_is(tenant, self->token->tenant) && helio_text_is(user, self->token->user)) {
        HELIO_PROBLEM0(self, 409, USER_IS_CALLER);
        return;
    }
    helio_ev_principal_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    *event = (helio_ev_principal_t){
        .actor = helio_request_context_actor(self),
        .principal = {tenant, user, members[2].flag ? helio_clock_wall_ms() : 0},
    };
    self->parameter = helio_arena_string(self->arena, user);
    helio_await_event(self, on_set, HELIO_BROKER_EV_PRINCIPAL, event);
}
