/*  data.c -- /v1/data and /v1/links. The core judges names and figures; this file only keeps them from wrapping
 *  around. */
#include "broker/http/routes/command.h"
#include "broker/http/routes/routes.h"

static void on_changed(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK) {
        helio_response_failure(self, result, NULL);
        return;
    }
    helio_response_done(self, 200, NULL, NULL, &result->details);
}

void helio_data_list(helio_request_context_t *self)
{
    helio_await_read(self, helio_response_read, "read_data", 1, (const char *[]){helio_request_context_tenant(self)});
}

void helio_links_list(helio_request_context_t *self)
{
    helio_await_read(self, helio_response_read, "read_links", 0, NULL);
}

static helio_ev_data_t *data_event(helio_request_context_t *self, helio_arena_t *arena)
{
    helio_ev_data_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->actor = helio_request_context_actor(self);
    event->role = self->token->role;
    return event;
}

void helio_data_set(helio_request_context_t *self)
{
    helio_member_t members[] = {
        {.name = "prefix", .kind = HELIO_MEMBER_TEXT, .bytes_max = HELIO_DATA_PREFIX_MAX, .required = true},
        {.name = "sites",
         .kind = HELIO_MEMBER_WORDS,
         .bytes_max = 32,
         .words_max = HELIO_DATA_SITES_MAX,
         .required = true},
        {.name = "tenant", .kind = HELIO_MEMBER_TEXT, .bytes_max = 32}};
    helio_arena_t *arena = helio_await_arena(self);
    if (!helio_command_read(self, arena, members, 3))
        return;
    if (!members[1].word_count) {
        HELIO_PROBLEM0(self, 400, DATA_NO_SITES);
        return;
    }
    helio_ev_data_t *event = data_event(self, arena);
    event->prefix = members[0].text;
    event->sites.items = members[1].words;
    event->sites.count = members[1].word_count;
    event->tenant_given = members[2].given && members[2].text.size;
    event->tenant = members[2].text;
    helio_await_event(self, on_changed, HELIO_BROKER_EV_DATA, event);
}

/*  A parameter of the query, in the operation's arena. NULL: it is absent or too long, and a problem was answered. */
static const char *query(helio_request_context_t *self, helio_arena_t *arena, const char *name, uint32_t bytes_max)
{
    helio_text_t value = helio_text_of(helio_request_context_query(self, name));
    if (value.size && value.size <= bytes_max)
        return helio_arena_string(arena, value);
    HELIO_PROBLEM(self, 400, QUERY_SIZE, helio_value_string(name), helio_value_number(bytes_max));
    return NULL;
}

void helio_data_remove(helio_request_context_t *self)
{
    helio_arena_t *arena = helio_await_arena(self);
    const char *prefix = query(self, arena, "prefix", HELIO_DATA_PREFIX_MAX);
    if (!prefix)
        return;
    helio_ev_data_t *event = data_event(self, arena);
    event->prefix = helio_text_of(prefix);
    helio_await_event(self, on_changed, HELIO_BROKER_EV_DATA, event);
}

static helio_ev_link_t *link_event(helio_request_context_t *self, helio_arena_t *arena, helio_text_t from,
                                   helio_text_t to)
{
    helio_ev_link_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->actor = helio_request_context_actor(self);
    event->role = self->token->role;
    event->from = from;
    event->to = to;
    return event;
}

void helio_links_set(helio_request_context_t *self)
{
    helio_member_t members[] = {{.name = "from", .kind = HELIO_MEMBER_TEXT, .bytes_max = 32, .required = true},
                                {.name = "to", .kind = HELIO_MEMBER_TEXT, .bytes_max = 32, .required = true},
                                {.name = "gbps", .kind = HELIO_MEMBER_MILLI, .required = true},
                                {.name = "egress_usd_per_gb", .kind = HELIO_MEMBER_MICRO},
                                {.name = "rtt_ms", .kind = HELIO_MEMBER_NUMBER}};
    helio_arena_t *arena = helio_await_arena(self);
    if (!helio_command_read(self, arena, members, 5))
        return;
    helio_ev_link_t *event = link_event(self, arena, members[0].text, members[1].text);
    event->mbps = members[2].number;
    event->egress_micro_usd_per_gb = (int64_t)members[3].number;
    event->rtt_ms = members[4].number < UINT32_MAX ? (uint32_t)members[4].number : UINT32_MAX;
    helio_await_event(self, on_changed, HELIO_BROKER_EV_LINK, event);
}

void helio_links_remove(helio_request_context_t *self)
{
    helio_arena_t *arena = helio_await_arena(self);
    const char *from = query(self, arena, "from", 32);
    const char *to = from ? query(self, arena, "to", 32) : NULL;
    if (!to)
        return;
    helio_ev_link_t *event = link_event(self, arena, helio_text_of(from), helio_text_of(to));
    event->removed = true;
    helio_await_event(self, on_changed, HELIO_BROKER_EV_LINK, event);
}
