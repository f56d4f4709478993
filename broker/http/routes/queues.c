/*  queues.c -- /v1/queues: setting and removing queues and their rules. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "broker/http/routes/command.h"
#include "broker/http/routes/routes.h"
#include "federation/base/char.h"
#include "federation/base/suggest.h"
#include "federation/energy/zone.h"

#define ZONES "/usr/share/zoneinfo"

static void on_set(helio_request_context_t *self, const helio_result_t *result)
{
    helio_response_set(self, result, "queue", "queue");
}

static bool check_name(helio_request_context_t *self)
{
    return helio_command_check_name(self, "queue", helio_text_of(self->parameter), 32);
}

static helio_ev_queue_t *event_of(helio_request_context_t *self, helio_arena_t *arena)
{
    helio_ev_queue_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->actor = helio_request_context_actor(self);
    event->role = self->token->role;
    event->queue = helio_arena_text(arena, helio_text_of(self->parameter));
    return event;
}

/*  A number above the maximum must reach the core as too large, not wrap around to an accepted one. */
static uint32_t priority_of(const helio_member_t *member)
{
    return member->number <= HELIO_QUEUE_PRIORITY_MAX ? (uint32_t)member->number : UINT32_MAX;
}

static uint64_t ms_of(const helio_member_t *seconds)
{
    return seconds->number <= UINT32_MAX ? seconds->number * 1000 : UINT64_MAX;
}

void helio_queues_set(helio_request_context_t *self)
{
    helio_member_t members[] = {{.name = "priority", .kind = HELIO_MEMBER_NUMBER},
                                {.name = "tier", .kind = HELIO_MEMBER_TEXT, .bytes_max = 32},
                                {.name = "time_limit_s", .kind = HELIO_MEMBER_NUMBER}};
    const helio_member_t *priority = &members[0], *tier = &members[1], *time_limit = &members[2];
    helio_arena_t *arena = helio_await_arena(self);
    if (!check_name(self) || !helio_command_read(self, arena, members, 3))
        return;
    helio_ev_queue_t *event = event_of(self, arena);
    if (!priority->given && !tier->given && !time_limit->given)
        HELIO_PROBLEM(self, 400, NOTHING_TO_SET,
                      (helio_value_t){.text = HELIO_TEXT("priority,tier,time_limit_s"), .number = 3});
    else if (tier->given && helio_tier_of(tier->text, &event->tier) != HELIO_OK)
        helio_command_refuse_word(self, "tier", tier->text, HELIO_TEXT("best-effort,standard,critical"));
    else {
        event->priority_given = priority->given;
        event->priority = priority_of(priority);
        event->tier_given = tier->given;
        event->time_limit_given = time_limit->given;
        event->time_limit_ms = ms_of(time_limit);
        helio_await_event(self, on_set, HELIO_BROKER_EV_QUEUE, event);
    }
}

void helio_queues_remove(helio_request_context_t *self)
{
    helio_arena_t *arena = helio_await_arena(self);
    if (!check_name(self))
        return;
    helio_ev_queue_t *event = event_of(self, arena);
    event->remove = true;
    helio_await_event(self, on_set, HELIO_BROKER_EV_QUEUE, event);
}

/* ---- rules ------------------------------------------------------------------------------------------------- */

/*  Splits "Mon..Fri 20:00-08:00 Europe/Berlin". Hours end with a digit, so a last word that begins with a letter and
 *  has blanks before it is the time zone. */
static void split(helio_text_t text, helio_text_t *ret_schedule, helio_text_t *ret_zone)
{
    while (text.size && text.data[text.size - 1] == ' ')
        text.size--;
    uint32_t at = text.size;
    while (at && text.data[at - 1] != ' ')
        at--;
    char c = at < text.size ? (char)(text.data[at] | 0x20) : '\0';
    bool zone = at && c >= 'a' && c <= 'z';
    *ret_zone = zone ? (helio_text_t){text.data + at, text.size - at} : (helio_text_t){0};
    *ret_schedule = zone ? (helio_text_t){text.data, at} : text;
    while (ret_schedule->size && ret_schedule->data[ret_schedule->size - 1] == ' ')
        ret_schedule->size--;
}

/*  Whether it is a POSIX rule: "CET-1CEST,M3.5.0,M10.5.0/3". */
static bool is_rule(helio_text_t zone)
{
    uint32_t i = 0;
    while (i < zone.size && ((zone.data[i] | 0x20) >= 'a' && (zone.data[i] | 0x20) <= 'z'))
        i++;
    uint32_t sign = i < zone.size && (zone.data[i] == '+' || zone.data[i] == '-');
    return i >= 3 && i + sign < zone.size && helio_is_digit(zone.data[i + sign]);
}

/*  The third column of a line with tabs. */
static helio_text_t third(const char *line)
{
    const char *at = strchr(line, '\t');
    at = at ? strchr(at + 1, '\t') : NULL;
    return at ? (helio_text_t){at + 1, (uint32_t)strcspn(at + 1, "\t\n")} : (helio_text_t){0};
}

/*  Suggests the nearest name from the system's list of time zones. */
static void respond_no_zone(helio_request_context_t *self, helio_arena_t *arena, helio_text_t zone)
{
    char line[512];
    helio_suggestion_t suggestion = {.written = zone};
    FILE *file = fopen(ZONES "/zone.tab", "re"); /* country, coordinates, name */
    while (file && fgets(line, sizeof line, file))
        if (line[0] != '#')
            helio_suggestion_offer(&suggestion, helio_arena_string(arena, third(line)));
    if (file)
        (void)fclose(file);
    if (!suggestion.best && is_rule(zone))
        HELIO_PROBLEM(self, 400, ZONE_IS_RULE, helio_value_text(zone));
    else
        HELIO_PROBLEM(self, 400, ZONE_UNKNOWN, helio_value_text(zone),
                      helio_value_string(suggestion.best ? suggestion.best : ""));
}

/*  Reads the zone's file. False: a problem was answered. UTC needs no file. A folder such as Europe opens as well, and
 *  other files lie beside the zones. */
static bool read_zone(helio_request_context_t *self, helio_arena_t *arena, helio_ev_queue_rule_t *event)
{
    static const char magic[] = "TZif";
    if (helio_text_is(event->zone, "UTC"))
        event->zone = (helio_text_t){0};
    if (!event->zone.size)
        return true;
    char path[sizeof ZONES + HELIO_ZONE_NAME_MAX + 2] = "";
    if (helio_zone_name_is_good(event->zone))
        (void)snprintf(path, sizeof path, "%s/%.*s", ZONES, HELIO_TEXT_ARGS(event->zone));
    FILE *file = path[0] ? fopen(path, "re") : NULL;
    char *bytes = helio_arena_alloc(arena, HELIO_QUEUE_ZONE_DATA_MAX + 1, 1);
    size_t size = file ? fread(bytes, 1, HELIO_QUEUE_ZONE_DATA_MAX + 1, file) : 0;
    if (file)
        (void)fclose(file);
    if (size < sizeof magic - 1 || memcmp(bytes, magic, sizeof magic - 1) != 0) {
        respond_no_zone(self, arena, event->zone);
        return false;
    }
    if (size > HELIO_QUEUE_ZONE_DATA_MAX) {
        HELIO_PROBLEM(self, 400, ZONE_TOO_BIG, helio_value_text(event->zone));
        return false;
    }
    event->zone_data = (helio_text_t){bytes, (uint32_t)size};
    return true;
}

void helio_queues_rule(helio_request_context_t *self)
{
    helio_member_t members[] = {{.name = "schedule", .kind = HELIO_MEMBER_TEXT, .bytes_max = 256},
                                {.name = "region", .kind = HELIO_MEMBER_TEXT, .bytes_max = 32},
                                {.name = "for_s", .kind = HELIO_MEMBER_NUMBER},
                                {.name = "priority", .kind = HELIO_MEMBER_LIMIT, .required = true}};
    const helio_member_t *schedule = &members[0], *for_s = &members[2], *priority = &members[3];
    helio_arena_t *arena = helio_await_arena(self);
    if (!check_name(self) || !helio_command_read(self, arena, members, 4))
        return;
    if (schedule->given && for_s->given) {
        HELIO_PROBLEM0(self, 400, RULE_TWO_TIMES);
        return;
    }
    if (schedule->given && !schedule->text.size) {
        HELIO_PROBLEM0(self, 400, SCHEDULE_EMPTY);
        return;
    }
    helio_ev_queue_rule_t *event = helio_arena_alloc(arena, 1, sizeof *event);
    event->actor = helio_request_context_actor(self);
    event->role = self->token->role;
    event->queue = helio_arena_text(arena, helio_text_of(self->parameter));
    event->region = members[1].text;
    event->for_ms = ms_of(for_s);
    event->remove = priority->flag;
    event->priority = priority_of(priority);
    split(schedule->text, &event->schedule, &event->zone);
    if (read_zone(self, arena, event))
        helio_await_event(self, on_set, HELIO_BROKER_EV_QUEUE_RULE, event);
}
