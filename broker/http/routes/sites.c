/*  sites.c -- /v1/sites, /v1/gpus, /v1/queues, /v1/report, /v1/balance, /v1/history. */
#include <string.h>

#include "broker/http/routes/command.h"
#include "broker/http/routes/routes.h"
#include "federation/base/clock.h"

static void on_read(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK)
        helio_response_failure(self, result, self->parameter ? "site" : NULL);
    else
        helio_response_json(self, 200, helio_buffer_view(&result->data));
}

void helio_sites_list(helio_request_context_t *self)
{
    helio_await_read(self, on_read, "read_sites", 0, NULL);
}

void helio_gpus_list(helio_request_context_t *self)
{
    helio_await_read(self, on_read, "read_gpus", 0, NULL);
}

void helio_queues_list(helio_request_context_t *self)
{
    helio_await_read(self, on_read, "read_queues", 1, (const char *[]){helio_request_context_tenant(self)});
}

static const helio_query_bounds_t report_days = {1, 400, 7};

static const char *text_of(helio_request_context_t *self, uint64_t count)
{
    return helio_arena_printf(self->arena, "%u", (unsigned)count).data;
}

void helio_report_totals(helio_request_context_t *self)
{
    uint64_t days;
    if (!helio_request_context_number(self, "days", report_days, &days))
        return;
    helio_await_read(self, on_read, "read_report", 2,
                     (const char *[]){helio_request_context_tenant(self), text_of(self, days)});
}

void helio_report_balance(helio_request_context_t *self)
{
    uint64_t days;
    if (!helio_request_context_number(self, "days", report_days, &days))
        return;
    helio_await_read(self, on_read, "read_balance", 1, (const char *[]){text_of(self, days)});
}

void helio_history(helio_request_context_t *self)
{
    uint64_t hours;
    if (!helio_request_context_number(self, "hours", (helio_query_bounds_t){1, 168, 24}, &hours))
        return;
    self->parameter = helio_request_context_query(self, "site");
    if (self->parameter && !helio_command_check_name(self, "site", helio_text_of(self->parameter), HELIO_SITE_NAME_MAX))
        return;
    helio_await_read(self, on_read, "read_history", 3,
                     (const char *[]){helio_request_context_tenant(self), text_of(self, hours), self->parameter});
}

/*  Whether the parameter has the form of a site's name. False: a problem was answered. */
static bool check_site(helio_request_context_t *self)
{
    if (helio_command_name(helio_text_of(self->parameter), HELIO_SITE_NAME_MAX))
        return true;
    HELIO_PROBLEM(self, 404, NO_SUCH_THING, helio_value_string("site"), helio_value_string(self->parameter));
    return false;
}

void helio_sites_forecast(helio_request_context_t *self)
{
    uint64_t days;
    if (!check_site(self) || !helio_request_context_number(self, "days", (helio_query_bounds_t){0, 30, 7}, &days))
        return;
    helio_await_read(self, on_read, "read_forecast", 2, (const char *[]){self->parameter, text_of(self, days)});
}

/* ---- commands ------------------------------------------------------------------------------------------ */

static void on_commanded(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK)
        helio_response_failure(self, result, "site");
    else
        helio_response_done(self, 200, "site", self->parameter, &result->details);
}

static void command(helio_request_context_t *self, uint32_t kind, helio_text_t reason)
{
    helio_arena_t *arena = helio_await_arena(self);
    helio_ev_site_command_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->actor = helio_request_context_actor(self);
    event->role = self->token->role;
    event->site = helio_arena_text(arena, helio_text_of(self->parameter));
    event->reason = reason;
    helio_await_event(self, on_commanded, kind, event);
}

static void read_and_command(helio_request_context_t *self, uint32_t kind)
{
    helio_member_t members[] = {{.name = "reason", .kind = HELIO_MEMBER_TEXT, .bytes_max = 256}};
    if (check_site(self) && helio_command_read(self, helio_await_arena(self), members, 1))
        command(self, kind, members[0].text);
}

void helio_sites_drain(helio_request_context_t *self)
{
    read_and_command(self, HELIO_BROKER_EV_DRAIN);
}

void helio_sites_undrain(helio_request_context_t *self)
{
    read_and_command(self, HELIO_BROKER_EV_UNDRAIN);
}

/*  The site's jobs will run elsewhere. So the body must repeat the statement; naming the path is not enough. */
void helio_sites_attest(helio_request_context_t *self)
{
    helio_member_t members[] = {{.name = "dead", .kind = HELIO_MEMBER_BOOL, .required = true},
                                {.name = "reason", .kind = HELIO_MEMBER_TEXT, .bytes_max = 256, .required = true}};
    if (!check_site(self) || !helio_command_read(self, helio_await_arena(self), members, 2))
        return;
    if (!members[0].flag)
        HELIO_PROBLEM0(self, 400, ATTEST_NOT_DEAD);
    else if (!members[1].text.size)
        HELIO_PROBLEM0(self, 400, ATTEST_NO_REASON);
    else
        command(self, HELIO_BROKER_EV_ATTEST, members[1].text);
}
