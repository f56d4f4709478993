/*  /v1/sites, /v1/gpus, /v1/queues, /v1/report, /v1/balance. */
#include <string.h>

#include "broker/http/routes/command.h"
#include "broker/http/routes/routes.h"
#include "federation/base/clock.h"

static void on_read(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK)
        helio_response_failure(
            self, result,
            self->parameter ? helio_arena_printf(self->arena, "site %.64s", self->parameter).data : NULL);
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

void helio_report_totals(helio_request_context_t *self)
{
    const char *days = helio_request_context_query(self, "days");
    size_t size = days ? strspn(days, "0123456789") : 0;
    if (days && (!size || size > 3 || days[size])) {
        helio_response_problem(self, 400, NULL, "days: '%.16s' is no whole number from 1 to 400", days);
        return;
    }
    helio_await_read(self, on_read, "read_report", 2,
                     (const char *[]){helio_request_context_tenant(self), days ? days : "7"});
}

void helio_report_balance(helio_request_context_t *self)
{
    uint64_t days;
    if (!helio_request_context_number(self, "days", 7, 400, &days))
        return;
    helio_await_read(self, on_read, "read_balance", 1,
                     (const char *[]){helio_arena_printf(self->arena, "%u", (unsigned)days).data});
}

/*  The parameter as a site's name, or a problem. */
static bool check_site(helio_request_context_t *self)
{
    if (helio_command_name(helio_text_of(self->parameter), HELIO_SITE_NAME_MAX))
        return true;
    helio_response_problem(self, 404, NULL, "there is no site '%.64s'", self->parameter);
    return false;
}

void helio_sites_forecast(helio_request_context_t *self)
{
    uint64_t days;
    if (!check_site(self) || !helio_request_context_number(self, "days", 7, 30, &days))
        return;
    helio_await_read(self, on_read, "read_forecast", 2,
                     (const char *[]){self->parameter, helio_request_context_query(self, "days")});
}

/* ---- commands ------------------------------------------------------------------------------------------ */

static void on_commanded(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK)
        helio_response_failure(self, result,
                             helio_arena_printf(self->arena, "site %.64s", self->parameter).data);
    else
        helio_response_done(self, 200, "site", self->parameter, &result->details);
}

static void command(helio_request_context_t *self, uint32_t kind, helio_text_t reason)
{
    helio_arena_t *arena = helio_await_arena(self);
    helio_ev_site_command_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->user = helio_text_of(self->token->user);
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

/*  Jobs that ran there will run elsewhere: who swears must say so, not only name the path. */
void helio_sites_attest(helio_request_context_t *self)
{
    helio_member_t members[] = {{.name = "dead", .kind = HELIO_MEMBER_BOOL, .required = true},
                                {.name = "reason", .kind = HELIO_MEMBER_TEXT, .bytes_max = 256, .required = true}};
    if (!check_site(self) || !helio_command_read(self, helio_await_arena(self), members, 2))
        return;
    if (!members[0].flag)
        helio_response_problem(self, 400, NULL,
                             "'dead' must be true: nothing of ours runs at the site any more");
    else if (!members[1].text.size)
        helio_response_problem(self, 400, NULL, "'reason' must say how you know: the audit keeps it");
    else
        command(self, HELIO_BROKER_EV_ATTEST, members[1].text);
}

static void on_enrolled(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK)
        helio_response_failure(self, result, NULL);
    else
        helio_response_status(self, 201, "site", self->parameter, "enrolled");
}

static bool is_z85_key(helio_text_t text)
{
    static const char z85[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";
    if (text.size != 40)
        return false;
    for (uint32_t i = 0; i < text.size; i++)
        if (!memchr(z85, text.data[i], sizeof z85 - 1))
            return false;
    return true;
}

void helio_sites_enrol(helio_request_context_t *self)
{
    helio_member_t members[] = {
        {.name = "site", .kind = HELIO_MEMBER_TEXT, .bytes_max = HELIO_SITE_NAME_MAX, .required = true},
        {.name = "public_key", .kind = HELIO_MEMBER_TEXT, .bytes_max = 64, .required = true}};
    helio_arena_t *arena = helio_await_arena(self);
    if (!helio_command_read(self, arena, members, 2))
        return;
    if (!helio_command_name(members[0].text, HELIO_SITE_NAME_MAX)) {
        helio_response_problem(self, 400, NULL, "'site' must be letters, digits, '.', '_' and '-'");
        return;
    }
    if (!is_z85_key(members[1].text)) {
        helio_response_problem(self, 400, NULL,
                             "'public_key' must be the 40 characters that helio-agent keygen prints");
        return;
    }
    self->parameter = helio_arena_string(self->arena, members[0].text);
    helio_ev_site_key_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->actor = helio_arena_printf(arena, "user:%s", self->token->user);
    event->key = (helio_row_site_key_t){
        .public_key = members[1].text, .site = members[0].text, .created_ms = helio_clock_wall_ms()};
    helio_await_event(self, on_enrolled, HELIO_BROKER_EV_SITE_KEY, event);
}
