/*  quotas.c -- /v1/quotas, /v1/tenants. */
#include <string.h>

#include "broker/http/routes/command.h"
#include "broker/http/routes/routes.h"

void helio_quotas_list(helio_request_context_t *self)
{
    helio_await_read(self, helio_response_read, "read_quotas", 1, (const char *[]){helio_request_context_tenant(self)});
}

static void on_set(helio_request_context_t *self, const helio_result_t *result)
{
    helio_response_set(self, result, "tenant", "tenant");
}

/*  A number above the maximum must reach the core as too large, not wrap around to an accepted one. */
static uint32_t gpus_of(const helio_member_t *member)
{
    if (member->flag)
        return HELIO_QUOTA_UNLIMITED;
    return member->number <= HELIO_QUOTA_GPUS_MAX ? (uint32_t)member->number : HELIO_QUOTA_GPUS_MAX + 1;
}

void helio_quotas_set(helio_request_context_t *self)
{
    helio_member_t members[] = {{.name = "queue", .kind = HELIO_MEMBER_TEXT, .bytes_max = 32},
                                {.name = "guaranteed_gpus", .kind = HELIO_MEMBER_NUMBER},
                                {.name = "burst_gpus", .kind = HELIO_MEMBER_LIMIT},
                                {.name = "weight", .kind = HELIO_MEMBER_MILLI},
                                {.name = "budgets",
                                 .kind = HELIO_MEMBER_WORDS,
                                 .bytes_max = HELIO_BUDGET_TEXT_SIZE,
                                 .words_max = HELIO_BUDGETS_GIVEN_MAX}};
    const helio_member_t *guaranteed = &members[1], *burst = &members[2], *weight = &members[3], *budgets = &members[4];
    helio_arena_t *arena = helio_await_arena(self);
    bool each = strcmp(self->parameter, "*") == 0; /* each tenant without a value of its own */
    if (!each && !helio_command_name(helio_text_of(self->parameter), 32)) {
        HELIO_PROBLEM(self, 404, NO_SUCH_THING, helio_value_string("tenant"), helio_value_string(self->parameter));
        return;
    }
    if (!helio_command_read(self, arena, members, 5))
        return;
    if (!guaranteed->given && !burst->given && !weight->given && !budgets->word_count) {
        HELIO_PROBLEM(self, 400, NOTHING_TO_SET,
                      (helio_value_t){.text = HELIO_TEXT("guaranteed_gpus,burst_gpus,weight,budgets"), .number = 4});
        return;
    }
    helio_ev_quota_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    *event = (helio_ev_quota_t){
        .actor = helio_request_context_actor(self),
        .role = self->token->role,
        .tenant = helio_arena_text(arena, helio_text_of(self->parameter)),
        .queue = members[0].text,
        .guaranteed_given = guaranteed->given,
        .guaranteed_gpus = gpus_of(guaranteed),
        .burst_given = burst->given,
        .burst_gpus = gpus_of(burst),
        .weight_given = weight->given,
        .weight_milli = weight->number <= HELIO_QUOTA_WEIGHT_MAX ? (uint32_t)weight->number : UINT32_MAX,
        .budgets = {.items = budgets->words, .count = budgets->word_count},
    };
    helio_await_event(self, on_set, HELIO_BROKER_EV_QUOTA, event);
}

/* ---- tenants ----------------------------------------------------------------------------------------------- */

void helio_tenants_list(helio_request_context_t *self)
{
    helio_await_read(self, helio_response_read, "read_tenants", 0, NULL);
}

static void on_tenant_set(helio_request_context_t *self, const helio_result_t *result)
{
    helio_response_set(self, result, "tenant", "tenant");
}

void helio_tenants_set(helio_request_context_t *self)
{
    helio_member_t members[] = {{.name = "tenant", .kind = HELIO_MEMBER_TEXT, .bytes_max = 32, .required = true},
                                {.name = "home", .kind = HELIO_MEMBER_WORD, .bytes_max = 32},
                                {.name = "weight", .kind = HELIO_MEMBER_MILLI}};
    const helio_member_t *tenant = &members[0], *home = &members[1], *weight = &members[2];
    helio_arena_t *arena = helio_await_arena(self);
    if (!helio_command_read(self, arena, members, 3))
        return;
    if (!helio_command_check_name(self, "tenant", tenant->text, 32) ||
        (home->given && !home->flag && !helio_command_check_name(self, "home", home->text, 32)))
        return;
    helio_ev_tenant_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    *event = (helio_ev_tenant_t){
        .actor = helio_request_context_actor(self),
        .role = self->token->role,
        .tenant = tenant->text,
        .home_given = home->given,
        .home_site = home->text,
        .weight_given = weight->given,
        .weight_milli = weight->number <= HELIO_QUOTA_WEIGHT_MAX ? (uint32_t)weight->number : UINT32_MAX,
    };
    self->parameter = helio_arena_string(self->arena, tenant->text);
    helio_await_event(self, on_tenant_set, HELIO_BROKER_EV_TENANT, event);
}
