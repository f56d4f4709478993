/*  overflows.c -- /v1/overflows. */
#include "broker/http/routes/command.h"
#include "broker/http/routes/routes.h"

void helio_overflows_list(helio_request_context_t *self)
{
    helio_await_read(self, helio_response_read, "read_overflows", 1,
                     (const char *[]){helio_request_context_tenant(self)});
}

static void on_set(helio_request_context_t *self, const helio_result_t *result)
{
    helio_response_set(self, result, "overflow group", "name");
}

static helio_ev_overflow_t *event_of(helio_request_context_t *self, helio_arena_t *arena)
{
    if (!helio_command_check_name(self, "overflow group", helio_text_of(self->parameter), 32))
        return NULL;
    helio_ev_overflow_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->actor = helio_request_context_actor(self);
    event->role = self->token->role;
    event->name = helio_arena_text(arena, helio_text_of(self->parameter));
    return event;
}

void helio_overflows_set(helio_request_context_t *self)
{
    helio_member_t members[] = {{.name = "queue", .kind = HELIO_MEMBER_TEXT, .bytes_max = 32},
                                {.name = "tenant", .kind = HELIO_MEMBER_TEXT, .bytes_max = 32},
                                {.name = "steps", .kind = HELIO_MEMBER_TEXT, .bytes_max = 1024, .required = true}};
    helio_arena_t *arena = helio_await_arena(self);
    helio_ev_overflow_t *event = event_of(self, arena);
    if (!event || !helio_command_read(self, arena, members, 3))
        return;
    event->queue = members[0].text;
    event->tenant = members[1].text;
    event->steps = members[2].text;
    helio_await_event(self, on_set, HELIO_BROKER_EV_OVERFLOW, event);
}

void helio_overflows_remove(helio_request_context_t *self)
{
    helio_ev_overflow_t *event = event_of(self, helio_await_arena(self));
    if (!event)
        return;
    event->remove = true;
    helio_await_event(self, on_set, HELIO_BROKER_EV_OVERFLOW, event);
}
