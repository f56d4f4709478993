/*  curtailments.c -- /v1/curtailments, and the commands that curtail a site and end that. */
#include "broker/http/routes/command.h"
#include "broker/http/routes/routes.h"
#include "federation/base/clock.h"

static void on_list(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK) /* NOT_FOUND: there is no such site */
        helio_response_failure(self, result, self->parameter ? "site" : NULL);
    else
        helio_response_json(self, 200, helio_buffer_view(&result->data));
}

void helio_curtailments_list(helio_request_context_t *self)
{
    uint64_t days;
    const char *site = helio_request_context_query(self, "site");
    if (site && !helio_command_check_name(self, "site", helio_text_of(site), HELIO_SITE_NAME_MAX))
        return;
    if (!helio_request_context_number(self, "days", (helio_query_bounds_t){1, 400, 7}, &days))
        return;
    self->parameter = site;
    helio_await_read(self, on_list, "read_curtailments", 2,
                     (const char *[]){site, helio_arena_printf(self->arena, "%u", (unsigned)days).data});
}

static void on_commanded(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK)
        helio_response_failure(self, result, "site");
    else
        helio_response_done(self, 200, "site", self->parameter, &result->details);
}

static bool check_site(helio_request_context_t *self)
{
    if (helio_command_name(helio_text_of(self->parameter), HELIO_SITE_NAME_MAX))
        return true;
    HELIO_PROBLEM(self, 404, NO_SUCH_THING, helio_value_string("site"), helio_value_string(self->parameter));
    return false;
}

static helio_ev_curtail_t *event_of(helio_request_context_t *self, helio_text_t reason)
{
    helio_arena_t *arena = helio_await_arena(self);
    helio_ev_curtail_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->actor = helio_request_context_actor(self);
    event->role = self->token->role;
    event->site = helio_arena_text(arena, helio_text_of(self->parameter));
    event->reason = reason;
    return event;
}

void helio_sites_curtail(helio_request_context_t *self)
{
    helio_member_t members[] = {{.name = "to_percent", .kind = HELIO_MEMBER_NUMBER, .required = true},
                                {.name = "for_s", .kind = HELIO_MEMBER_NUMBER, .required = true},
                                {.name = "at", .kind = HELIO_MEMBER_TEXT, .bytes_max = 40},
                                {.name = "reason", .kind = HELIO_MEMBER_TEXT, .bytes_max = 256, .required = true}};
    const helio_member_t *percent = &members[0], *for_s = &members[1], *at = &members[2], *reason = &members[3];
    int64_t at_ms = 0;
    if (!check_site(self) || !helio_command_read(self, helio_await_arena(self), members, 4))
        return;
    if (!reason->text.size) {
        HELIO_PROBLEM0(self, 400, CURTAIL_NO_REASON);
        return;
    }
    if (at->given && (helio_rfc3339_parse(at->text, &at_ms) != HELIO_OK || at_ms <= 0)) {
        HELIO_PROBLEM(self, 400, CURTAIL_AT_INVALID, helio_value_text(at->text));
        return;
    }
    helio_ev_curtail_t *event = event_of(self, reason->text);
    event->percent = percent->number > 100 ? 101 : (uint32_t)percent->number; /* the core refuses it */
    event->for_ms = for_s->number * 1000;
    event->from_wall_ms = at_ms;
    helio_await_event(self, on_commanded, HELIO_BROKER_EV_CURTAIL, event);
}

void helio_sites_uncurtail(helio_request_context_t *self)
{
    helio_member_t members[] = {{.name = "reason", .kind = HELIO_MEMBER_TEXT, .bytes_max = 256}};
    if (!check_site(self) || !helio_command_read(self, helio_await_arena(self), members, 1))
        return;
    helio_ev_curtail_t *event = event_of(self, members[0].text);
    event->end = true;
    helio_await_event(self, on_commanded, HELIO_BROKER_EV_CURTAIL, event);
}
