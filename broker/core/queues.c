/*  queues.c -- queues, and what their priority is now, and where.
 *
 *  A queue has a priority, and rules that give it another one for sites of a region, or everywhere: at the
 * hours of a schedule in local time, or until a time. Of the rules that hold for a site one counts: a
 * temporary one before a schedule, then that of a region before that of everywhere, then the one that was set
 * last. Rounds only read what holds now; that changes at the clock (core_queues_look).
 *
 *  Zone data comes with the event that sets a rule and stays in its row. So the core needs no files, a replay
 * decides alike, and a new leader on another machine does too.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "broker/core/evaluation.h"
#include "broker/core/slips.h"
#include "federation/base/clock.h"

enum {
    LOOK_AHEAD_MS = 8 * 24 * 3600 * 1000
}; /* every schedule begins or ends within a week, or never does */

queue_t *core_queue_find(helio_broker_core_t *self, helio_text_t name)
{
    queue_t *queue;
    HASH_FIND(hh, self->queues, name.data, name.size, queue);
    return queue && !queue->removed ? queue : NULL;
}

uint32_t core_queue_level(const queue_t *queue, helio_text_t region)
{
    for (const queue_rule_t *rule = queue->rules; rule; rule = rule->next)
        if (rule->holds && (!rule->region[0] || helio_region_is_within(region, helio_text_of(rule->region))))
            return rule->priority;
    return queue->priority;
}

/*  Levels are those of rules up to the first that holds everywhere, and the queue's own where there is none.
 */
bool core_queue_below(const queue_t *queue, uint32_t level, uint32_t *ret_level)
{
    bool found = false;
    const queue_rule_t *rule = queue->rules;
    for (;; rule = rule->next) {
        uint32_t other = rule ? rule->priority : queue->priority;
        if ((!rule || rule->holds) && other < level && (!found || other > *ret_level)) {
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

/* ---- rules at the clock
 * ------------------------------------------------------------------------------------
 */

static int by_precedence(const queue_rule_t *a, const queue_rule_t *b)
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

static void write_rule(helio_broker_core_t *self, const queue_t *queue, const queue_rule_t *rule,
                       bool removed)
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

/*  Whether it holds now, and when that may change. */
static bool holds_now(helio_broker_core_t *self, queue_rule_t *rule)
{
    if (!rule->in) {
        rule->look_ms = rule->until_ms;
        return self->wall_ms < rule->until_ms;
    }
    helio_interval_t *found;
    int64_t to_ms = self->wall_ms + LOOK_AHEAD_MS;
    uint32_t count =
        helio_schedule_intervals(&rule->hours, rule->in, self->wall_ms, to_ms, self->effects->arena, &found);
    bool inside = count && found[0].begin_ms <= self->wall_ms;
    rule->look_ms = !count ? to_ms : inside ? found[0].end_ms : found[0].begin_ms;
    return inside;
}

static void free_rule(queue_rule_t *rule)
{
    helio_zone_destroy(&rule->in);
    free((void *)(uintptr_t)rule->zone_data.data);
    free(rule);
}

static void drop_rule(helio_broker_core_t *self, queue_t *queue, queue_rule_t *rule)
{
    write_rule(self, queue, rule, true);
    LL_DELETE(queue->rules, rule);
    free_rule(rule);
}

/*  Returns whether any priority changed. */
static bool look_at(helio_broker_core_t *self, queue_t *queue)
{
    bool changed = false;
    queue_rule_t *rule, *next;
    LL_FOREACH_SAFE(queue->rules, rule, next)
    {
        bool held = rule->holds;
        rule->holds = holds_now(self, rule);
        changed |= rule->holds != held;
        if (!rule->in && !rule->holds) { /* over for good */
            drop_rule(self, queue, rule);
            continue;
        }
        if (rule->holds != held)
            write_rule(self, queue, rule, false);
        self->queues_look_ms = rule->look_ms < self->queues_look_ms ? rule->look_ms : self->queues_look_ms;
    }
    return changed;
}

/*  Everybody is asked again, and whoever is first then reserves. */
static void order_changed(helio_broker_core_t *self)
{
    self->capacity_version++;
    self->round_wanted = true;
}

static void look(helio_broker_core_t *self)
{
    bool changed = false;
    self->queues_look_ms = INT64_MAX;
    self->queues_looked_ms = self->wall_ms;
    for (queue_t *queue = self->queues; queue; queue = queue->hh.next)
        changed |= look_at(self, queue);
    if (changed)
        order_changed(self);
}

void core_queues_look(helio_broker_core_t *self)
{
    bool clock_set_back = self->queues_look_ms != INT64_MAX && self->wall_ms < self->queues_looked_ms;
    if (self->wall_ms >= self->queues_look_ms || clock_set_back)
        look(self);
}

int64_t core_queues_wake_ms(const helio_broker_core_t *self, int64_t at_most)
{
    if (self->queues_look_ms == INT64_MAX)
        return at_most;
    int64_t left = self->queues_look_ms > self->wall_ms ? self->queues_look_ms - self->wall_ms : 0;
    return left < at_most - self->now_ms ? self->now_ms + left : at_most;
}

/* ---- making and changing queues
 * ----------------------------------------------------------------------------
 */

static queue_t *make_queue(helio_broker_core_t *self, helio_text_t name)
{
    queue_t *queue = helio_new(1, sizeof *queue);
    (void)helio_text_copy(name, queue->name, sizeof queue->name);
    queue->each = helio_quota_default();
    HASH_ADD_KEYPTR(hh, self->queues, queue->name, strlen(queue->name), queue);
    return queue;
}

static void write_queue(helio_broker_core_t *self, const queue_t *queue)
{
    helio_row_queue_t row = {helio_text_of(queue->name), queue->priority, queue->tier, queue->time_limit_ms,
                             queue->removed};
    core_emit(self, HELIO_BROKER_FX_ROW_QUEUE, &row);
}

static bool may_set(helio_broker_core_t *self, uint64_t call, uint32_t role)
{
    if (role >= HELIO_ROLE_OPERATOR)
        return true;
    core_answer(self, call, HELIO_FORBIDDEN, HELIO_REASON_FORBIDDEN,
                "changing queues needs the role operator or admin");
    return false;
}

static void answer_unknown(helio_broker_core_t *self, uint64_t call, helio_text_t queue)
{
    core_answer(self, call, HELIO_NOT_FOUND, HELIO_REASON_NONE,
                "there is no queue '%.*s'; `helio queues` lists them", HELIO_TEXT_ARGS(queue));
}

static void remove_queue(helio_broker_core_t *self, const helio_ev_queue_t *event, queue_t *queue)
{
    if (!queue) {
        answer_unknown(self, event->call, event->queue);
        return;
    }
    if (queue->open_jobs) {
        core_answer(self, event->call, HELIO_CONFLICT, HELIO_REASON_NONE,
                    "queue %s has %u jobs that are not over: wait for them or cancel them first (`helio ls "
                    "--queue %s`)",
                    queue->name, queue->open_jobs, queue->name);
        return;
    }
    while (queue->rules)
        drop_rule(self, queue, queue->rules);
    queue->removed = true;
    write_queue(self, queue);
    core_audit(self, event->user, "queue-rm", helio_text_of(queue->name), (helio_text_t){0});
    core_answer(self, event->call, HELIO_OK, HELIO_REASON_NONE, "removed");
}

/*  The reason why not, or NULL. */
static const char *fault_of(helio_broker_core_t *self, const helio_ev_queue_t *event, const queue_t *queue)
{
    uint64_t day_ms = UINT64_C(24) * 3600 * 1000;
    if (!queue && !event->priority_given)
        return core_printf(self, "there is no queue '%.*s' yet: give its priority to make it",
                           HELIO_TEXT_ARGS(event->queue));
    if (!queue && HASH_COUNT(self->queues) >= HELIO_QUEUES_MAX)
        return core_printf(self, "there are %d queues, and no more can be made", HELIO_QUEUES_MAX);
    if (event->priority_given && event->priority > HELIO_QUEUE_PRIORITY_MAX)
        return core_printf(self, "priority: must be 0 to %d", HELIO_QUEUE_PRIORITY_MAX);
    if (event->time_limit_given &&
        (event->time_limit_ms < 1000 || event->time_limit_ms > HELIO_QUEUE_TIME_MAX_D * day_ms))
        return core_printf(self, "time: must be 1 second to %d days", HELIO_QUEUE_TIME_MAX_D);
    return NULL;
}

void core_on_queue(helio_broker_core_t *self, const helio_ev_queue_t *event)
{
    queue_t *queue = core_queue_find(self, event->queue);
    if (!may_set(self, event->call, event->role))
        return;
    if (event->remove) {
        remove_queue(self, event, queue);
        return;
    }
    const char *fault = fault_of(self, event, queue);
    if (fault) {
        core_answer(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID, "%s", fault);
        return;
    }
    if (!queue) {
        HASH_FIND(hh, self->queues, event->queue.data, event->queue.size,
                  queue); /* of one that was removed */
        queue = queue ? queue : make_queue(self, event->queue);
        queue->removed = false;
        queue->tier = HELIO_TIER_STANDARD;
        queue->time_limit_ms = UINT64_C(24) * 3600 * 1000;
    }
    queue->priority = event->priority_given ? event->priority : queue->priority;
    queue->tier = event->tier_given ? event->tier : queue->tier;
    queue->time_limit_ms = event->time_limit_given ? event->time_limit_ms : queue->time_limit_ms;
    core_quota_of_tier(self, queue);
    write_queue(self, queue);
    order_changed(self);
    const char *words =
        core_printf(self, "priority %u, tier %s, time %s", queue->priority, helio_tier_word(queue->tier),
                    core_span_text(self, queue->time_limit_ms));
    core_audit(self, event->user, "queue-set", helio_text_of(queue->name), helio_text_of(words));
    core_answer(self, event->call, HELIO_OK, HELIO_REASON_NONE, "%s", words);
}

/* ---- rules
 * ---------------------------------------------------------------------------------------------------
 */

static queue_rule_t *find_rule(queue_t *queue, const helio_ev_queue_rule_t *event, uint32_t *ret_count)
{
    queue_rule_t *found = NULL;
    *ret_count = 0;
    for (queue_rule_t *rule = queue->rules; rule; rule = rule->next) {
        (*ret_count)++;
        if (helio_text_is(event->region, rule->region) && helio_text_is(event->schedule, rule->schedule) &&
            helio_text_is(event->zone, rule->zone))
            found = rule;
    }
    return found;
}

static helio_rc read_hours(helio_text_t schedule, helio_text_t zone, helio_text_t zone_data,
                           queue_rule_t *rule, helio_error_t *err)
{
    helio_error_t why = {0};
    helio_rc rc = helio_schedule_parse(schedule, &rule->hours, &why);
    if (rc != HELIO_OK)
        return helio_fail(err, rc, "schedule: %s", why.text);
    if (!zone.size) {
        rule->in = helio_zone_fixed(0);
        return HELIO_OK;
    }
    rc = helio_zone_parse(zone_data, &rule->in, &why);
    return rc == HELIO_OK ? rc : helio_fail(err, rc, "time zone '%.*s': %s", HELIO_TEXT_ARGS(zone), why.text);
}

/*  Of a text that lives on. */
static helio_text_t keep(helio_text_t bytes)
{
    char *kept = bytes.size ? helio_new(bytes.size, 1) : NULL;
    if (kept)
        memcpy(kept, bytes.data, bytes.size);
    return (helio_text_t){kept, bytes.size};
}

static queue_rule_t *make_rule(const helio_row_queue_rule_t *row, helio_error_t *err)
{
    queue_rule_t *rule = helio_new(1, sizeof *rule);
    if (row->schedule.size && read_hours(row->schedule, row->zone, row->zone_data, rule, err) != HELIO_OK) {
        free_rule(rule);
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

static const char *rule_words(helio_broker_core_t *self, const queue_rule_t *rule)
{
    const char *where = rule->region[0] ? core_printf(self, " in %s", rule->region) : " everywhere";
    if (rule->schedule[0])
        return core_printf(self, "priority %u%s, %s %s", rule->priority, where, rule->schedule,
                           rule->zone[0] ? rule->zone : "UTC");
    char until[HELIO_RFC3339_SIZE];
    helio_rfc3339(rule->until_ms, until);
    return core_printf(self, "priority %u%s until %.16sZ", rule->priority, where, until);
}

static void remove_rule(helio_broker_core_t *self, const helio_ev_queue_rule_t *event, queue_t *queue)
{
    uint32_t count;
    queue_rule_t *rule = find_rule(queue, event, &count);
    if (!rule) {
        core_answer(self, event->call, HELIO_NOT_FOUND, HELIO_REASON_NONE,
                    "queue %s has no such rule; `helio queues schedule %s` lists them", queue->name,
                    queue->name);
        return;
    }
    const char *words = rule_words(self, rule);
    drop_rule(self, queue, rule);
    order_changed(self);
    core_audit(self, event->user, "queue-unschedule", helio_text_of(queue->name), helio_text_of(words));
    core_answer(self, event->call, HELIO_OK, HELIO_REASON_NONE, "removed: %s", words);
}

static void set_rule(helio_broker_core_t *self, const helio_ev_queue_rule_t *event, queue_t *queue)
{
    helio_error_t err = {0};
    helio_row_queue_rule_t row = {
        .region = event->region,
        .schedule = event->schedule,
        .zone = event->zone,
        .zone_data = event->zone_data,
        .priority = event->priority,
        .until_ms = event->schedule.size ? 0 : self->wall_ms + (int64_t)event->for_ms,
        .at_ms = self->wall_ms,
    };
    uint32_t count;
    queue_rule_t *before = find_rule(queue, event, &count), *rule = make_rule(&row, &err);
    if (!rule || (!before && count >= HELIO_QUEUE_RULES_MAX)) {
        core_answer(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
                    rule ? "queue %s has %u rules: remove one first" : "%s", rule ? queue->name : err.text,
                    count);
        if (rule)
            free_rule(rule);
        return;
    }
    if (before) {
        LL_DELETE(queue->rules, before);
        free_rule(before);
    }
    LL_INSERT_INORDER(queue->rules, rule, by_precedence);
    rule->holds = holds_now(self, rule);
    self->queues_look_ms = rule->look_ms < self->queues_look_ms ? rule->look_ms : self->queues_look_ms;
    write_rule(self, queue, rule, false);
    order_changed(self);
    const char *words = rule_words(self, rule);
    core_audit(self, event->user, "queue-schedule", helio_text_of(queue->name), helio_text_of(words));
    core_answer(self, event->call, HELIO_OK, HELIO_REASON_NONE, "%s%s%s", words,
                core_slip_region(self, event->region), core_slip_zone(self, event->zone));
}

void core_on_queue_rule(helio_broker_core_t *self, const helio_ev_queue_rule_t *event)
{
    uint64_t day_ms = UINT64_C(24) * 3600 * 1000;
    queue_t *queue = core_queue_find(self, event->queue);
    if (!may_set(self, event->call, event->role))
        return;
    if (!queue)
        answer_unknown(self, event->call, event->queue);
    else if (event->remove)
        remove_rule(self, event, queue);
    else if (event->priority > HELIO_QUEUE_PRIORITY_MAX)
        core_answer(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID, "priority: must be 0 to %d",
                    HELIO_QUEUE_PRIORITY_MAX);
    else if (!event->schedule.size && (!event->for_ms || event->for_ms > HELIO_QUEUE_RULE_FOR_MAX_D * day_ms))
        core_answer(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
                    "for: must be more than nothing and at most %d days; what is to last is a schedule",
                    HELIO_QUEUE_RULE_FOR_MAX_D);
    else
        set_rule(self, event, queue);
}

/* ---- a new leader, and the end
 * -----------------------------------------------------------------------------
 */

void core_queue_load(helio_broker_core_t *self, const helio_row_queue_t *row)
{
    queue_t *queue = make_queue(self, row->queue);
    queue->priority = row->priority;
    queue->tier = row->tier;
    queue->time_limit_ms = row->time_limit_ms;
    queue->removed = row->removed;
    core_quota_of_tier(self, queue);
}

/*  It was checked when it was set. */
void core_queue_rule_load(helio_broker_core_t *self, const helio_row_queue_rule_t *row)
{
    queue_t *queue = core_queue_find(self, row->queue);
    queue_rule_t *rule = queue ? make_rule(row, NULL) : NULL;
    if (rule)
        LL_INSERT_INORDER(queue->rules, rule, by_precedence);
}

void core_queues_loaded(helio_broker_core_t *self)
{
    look(self);
}

void core_queues_free(helio_broker_core_t *self)
{
    queue_t *queue, *next;
    HASH_ITER(hh, self->queues, queue, next)
    {
        HASH_DEL(self->queues, queue);
        queue_rule_t *rule, *after;
        LL_FOREACH_SAFE(queue->rules, rule, after)
        free_rule(rule);
        free(queue);
    }
}
