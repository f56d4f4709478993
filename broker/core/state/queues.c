/*  queues.c -- queues, and the priority that each has now, and where.
 *
 *  A queue has a priority, and rules that give it another one for the sites of a region or everywhere: in the hours of
 *  a schedule in local time, or until a time. If several rules apply at a site, one counts: a temporary rule before a
 *  schedule, then one of a region before one for everywhere, then the one that was set last. Rounds only read what
 *  applies now; core_queue_rules_recheck changes it.
 *
 *  The data of a time zone comes with the event that sets a rule, and stays in the rule's row. So the core needs no
 *  files, and a replay or a leader on another machine decides alike. */
#include "broker/core/state/queues.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "broker/core/state/changes.h"
#include "broker/core/state/checks.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "federation/base/clock.h"

enum { RULES_AHEAD_MS = 8 * 24 * 3600 * 1000 }; /* a schedule begins or ends within a week, or never */

queue_t *core_queue_find(helio_broker_core_t *self, helio_text_t name)
{
    queue_t *queue;
    HASH_FIND(hh, self->queues, name.data, name.size, queue);
    return queue && !queue->removed ? queue : NULL;
}

uint32_t core_queue_priority_at(const queue_t *queue, helio_text_t region)
{
    for (const queue_rule_t *rule = queue->rules; rule; rule = rule->next)
        if (rule->holds && (!rule->region[0] || helio_region_is_within(region, helio_text_of(rule->region))))
            return rule->priority;
    return queue->priority;
}

/*  The levels are the priorities of the rules, up to the first that applies everywhere; without such a rule also the
 *  queue's own. */
bool core_queue_below(const queue_t *queue, uint32_t priority_level, uint32_t *ret_level)
{
    bool found = false;
    const queue_rule_t *rule = queue->rules;
    for (;; rule = rule->next) {
        uint32_t other = rule ? rule->priority : queue->priority;
        if ((!rule || rule->holds) && other < priority_level && (!found || other > *ret_level)) {
            *ret_level = other;
            found = true;
        }
        if (!rule || (rule->holds && !rule->region[0]))
            return found;
    }
}

uint32_t core_queue_top(const queue_t *queue)
{
    uint32_t top = queue->priority;
    (void)core_queue_below(queue, UINT32_MAX, &top);
    return top;
}

/* ---- checking rules ---------------------------------------------------------------------------------------- */

int core_queue_rule_by_precedence(const queue_rule_t *a, const queue_rule_t *b)
{
    bool lasting_a = a->schedule[0] != '\0', lasting_b = b->schedule[0] != '\0';
    if (lasting_a != lasting_b)
        return lasting_a ? 1 : -1;
    if (!a->region[0] != !b->region[0])
        return a->region[0] ? -1 : 1;
    if (a->at_ms != b->at_ms)
        return a->at_ms > b->at_ms ? -1 : 1;
    int order = strcmp(a->region, b->region);
    order = order ? order : strcmp(a->schedule, b->schedule);
    return order ? order : strcmp(a->zone, b->zone);
}

void core_queue_rule_write(helio_broker_core_t *self, const queue_t *queue, const queue_rule_t *rule, bool removed)
{
    helio_arena_t *arena = self->effects->arena;
    helio_row_queue_rule_t row = {
        .queue = helio_text_of(queue->name),
        .region = helio_arena_text(arena, helio_text_of(rule->region)),
        .schedule = helio_arena_text(arena, helio_text_of(rule->schedule)),
        .zone = helio_arena_text(arena, helio_text_of(rule->zone)),
        .zone_data = helio_arena_text(arena, rule->zone_data),
        .priority = rule->priority,
        .until_ms = rule->until_ms,
        .at_ms = rule->at_ms,
        .holds = rule->holds && !removed,
        .removed = removed,
    };
    core_emit(self, HELIO_BROKER_FX_ROW_QUEUE_RULE, &row);
}

/*  Whether it applies now. Sets the time at which that can change. */
bool core_queue_rule_holds(helio_broker_core_t *self, queue_rule_t *rule)
{
    if (!rule->in) {
        rule->next_check_ms = rule->until_ms;
        return self->wall_ms < rule->until_ms;
    }
    helio_interval_t *found;
    int64_t to_ms = self->wall_ms + RULES_AHEAD_MS;
    uint32_t count =
        helio_schedule_intervals(&rule->hours, rule->in, self->wall_ms, to_ms, self->effects->arena, &found);
    bool inside = count && found[0].begin_ms <= self->wall_ms;
    rule->next_check_ms = !count ? to_ms : inside ? found[0].end_ms : found[0].begin_ms;
    return inside;
}

void core_queue_rule_free(queue_rule_t *rule)
{
    helio_zone_destroy(&rule->in);
    free((void *)(uintptr_t)rule->zone_data.data);
    free(rule);
}

void core_queue_rule_drop(helio_broker_core_t *self, queue_t *queue, queue_rule_t *rule)
{
    core_queue_rule_write(self, queue, rule, true);
    LL_DELETE(queue->rules, rule);
    core_queue_rule_free(rule);
}

/*  Returns whether any priority changed. */
static bool check_rule(helio_broker_core_t *self, queue_t *queue)
{
    bool changed = false;
    queue_rule_t *rule, *next;
    LL_FOREACH_SAFE(queue->rules, rule, next)
    {
        bool held = rule->holds;
        rule->holds = core_queue_rule_holds(self, rule);
        changed |= rule->holds != held;
        if (!rule->in && !rule->holds) { /* over for good */
            core_queue_rule_drop(self, queue, rule);
            continue;
        }
        if (rule->holds != held)
            core_queue_rule_write(self, queue, rule, false);
        core_check_by(self, CORE_CHECK_QUEUES, rule->next_check_ms);
    }
    return changed;
}

/*  All classes are asked again, and the new head reserves. */
void core_queue_order_changed(helio_broker_core_t *self)
{
    core_capacity_changed(self);
}

void core_queue_rules_recheck(helio_broker_core_t *self)
{
    bool changed = false;
    core_check_at(self, CORE_CHECK_QUEUES, INT64_MAX);
    self->rules_checked_ms = self->wall_ms;
    for (queue_t *queue = self->queues; queue; queue = queue->hh.next)
        changed |= check_rule(self, queue);
    if (changed)
        core_queue_order_changed(self);
}

void core_queues_notice_clock(helio_broker_core_t *self)
{
    if (self->wall_ms < self->rules_checked_ms && self->next_check_ms[CORE_CHECK_QUEUES] != INT64_MAX)
        core_check_at(self, CORE_CHECK_QUEUES, self->wall_ms);
}

/* ---- creating and changing queues -------------------------------------------------------------------------- */

queue_t *core_queue_make(helio_broker_core_t *self, helio_text_t name)
{
    queue_t *queue = helio_new(1, sizeof *queue);
    (void)helio_text_copy(name, queue->name, sizeof queue->name);
    queue->each = helio_quota_default();
    HASH_ADD_KEYPTR(hh, self->queues, queue->name, strlen(queue->name), queue);
    return queue;
}

/* ---- rules ------------------------------------------------------------------------------------------------- */

static helio_rc read_hours(helio_text_t schedule, helio_text_t zone, helio_text_t zone_data, queue_rule_t *rule,
                           helio_error_t *err)
{
    helio_error_t why = {0};
    helio_rc rc = helio_schedule_parse(schedule, &rule->hours, &why);
    if (rc != HELIO_OK)
        return helio_fail(err, rc, "%s", why.text);
    if (!zone.size) {
        rule->in = helio_zone_fixed(0);
        return HELIO_OK;
    }
    rc = helio_zone_parse(zone_data, &rule->in, &why);
    return rc == HELIO_OK ? rc : helio_fail(err, rc, "time zone '%.*s': %s", HELIO_TEXT_ARGS(zone), why.text);
}

/*  A copy that outlives the step. */
static helio_text_t keep(helio_text_t bytes)
{
    char *kept = bytes.size ? helio_new(bytes.size, 1) : NULL;
    if (kept)
        memcpy(kept, bytes.data, bytes.size);
    return (helio_text_t){kept, bytes.size};
}

queue_rule_t *core_queue_rule_make(const helio_row_queue_rule_t *row, helio_error_t *err)
{
    queue_rule_t *rule = helio_new(1, sizeof *rule);
    if (row->schedule.size && read_hours(row->schedule, row->zone, row->zone_data, rule, err) != HELIO_OK) {
        core_queue_rule_free(rule);
        return NULL;
    }
    (void)helio_text_copy(row->region, rule->region, sizeof rule->region);
    (void)helio_text_copy(row->schedule, rule->schedule, sizeof rule->schedule);
    (void)helio_text_copy(row->zone, rule->zone, sizeof rule->zone);
    rule->zone_data = keep(row->zone_data);
    rule->priority = row->priority;
    rule->until_ms = row->until_ms;
    rule->at_ms = row->at_ms;
    rule->holds = row->holds;
    return rule;
}

/* ---- a new leader, and the end ----------------------------------------------------------------------------- */

queue_t *core_queue_load(helio_broker_core_t *self, const helio_row_queue_t *row)
{
    queue_t *queue = core_queue_make(self, row->queue);
    queue->priority = row->priority;
    queue->tier = row->tier;
    queue->time_limit_ms = row->time_limit_ms;
    queue->removed = row->removed;
    return queue;
}

/*  The rule was checked when it was set. */
void core_queue_rule_load(helio_broker_core_t *self, const helio_row_queue_rule_t *row)
{
    queue_t *queue = core_queue_find(self, row->queue);
    queue_rule_t *rule = queue ? core_queue_rule_make(row, NULL) : NULL;
    if (rule)
        LL_INSERT_INORDER(queue->rules, rule, core_queue_rule_by_precedence);
}

void core_queues_loaded(helio_broker_core_t *self)
{
    core_queue_rules_recheck(self);
}

void core_queues_free(helio_broker_core_t *self)
{
    queue_t *queue, *next;
    HASH_ITER(hh, self->queues, queue, next)
    {
        HASH_DEL(self->queues, queue);
        queue_rule_t *rule, *after;
        LL_FOREACH_SAFE(queue->rules, rule, after)
        core_queue_rule_free(rule);
        free(queue);
    }
}
