/*  queues.c -- queues and their rules, as operators set them. */
#include "broker/core/requests/queues.h"

#include <utlist.h>

#include "broker/core/requests/warnings.h"
#include "broker/core/holds/expected_ends.h"
#include "broker/core/state/accounts.h"
#include "broker/core/state/checks.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/queues.h"
#include "broker/core/state/why.h"
#include "federation/base/clock.h"
#include "federation/reason/sentence.h"

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
    core_reply(self, call, HELIO_FORBIDDEN, HELIO_REASON_FORBIDDEN,
               CORE_DETAIL(self, HELIO_DETAIL_NEEDS_OPERATOR, helio_value_string("queues set")));
    return false;
}

static void reply_unknown(helio_broker_core_t *self, uint64_t call, helio_text_t queue)
{
    core_reply(self, call, HELIO_NOT_FOUND, HELIO_REASON_NONE, core_unknown_queue(self, queue, 0));
}

static void remove_queue(helio_broker_core_t *self, const helio_ev_queue_t *event, queue_t *queue)
{
    if (!queue) {
        reply_unknown(self, event->call, event->queue);
        return;
    }
    if (queue->open_jobs) {
        core_reply(self, event->call, HELIO_CONFLICT, HELIO_REASON_NONE,
                   CORE_DETAIL(self, HELIO_DETAIL_QUEUE_IN_USE, helio_value_string(queue->name),
                               helio_value_number(queue->open_jobs)));
        return;
    }
    while (queue->rules)
        core_queue_rule_drop(self, queue, queue->rules);
    queue->removed = true;
    write_queue(self, queue);
    core_audit(self, event->actor, "queue-rm", helio_text_of(queue->name), (helio_text_t){0});
    core_reply(self, event->call, HELIO_OK, HELIO_REASON_NONE, HELIO_DETAIL0(HELIO_DETAIL_REMOVED));
}

/*  Why the queue cannot be set; NONE = it can. */
static helio_detail_t fault_of(helio_broker_core_t *self, const helio_ev_queue_t *event, const queue_t *queue)
{
    uint64_t day_ms = UINT64_C(24) * 3600 * 1000;
    if (!queue && !event->priority_given)
        return CORE_DETAIL(self, HELIO_DETAIL_QUEUE_NEEDS_PRIORITY, helio_value_text(event->queue));
    if (!queue && HASH_COUNT(self->queues) >= HELIO_QUEUES_MAX)
        return CORE_DETAIL(self, HELIO_DETAIL_LIMIT_REACHED, helio_value_number(HELIO_QUEUES_MAX),
                           helio_value_string("queues"));
    if (event->priority_given && event->priority > HELIO_QUEUE_PRIORITY_MAX)
        return core_out_of_range(self, "priority", 0, HELIO_QUEUE_PRIORITY_MAX, "");
    if (event->time_limit_given &&
        (event->time_limit_ms < 1000 || event->time_limit_ms > HELIO_QUEUE_TIME_MAX_D * day_ms))
        return core_out_of_range(self, "time", 1, (int64_t)(HELIO_QUEUE_TIME_MAX_D * day_ms / 1000), "seconds");
    return CORE_NO_DETAIL;
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
    bool is_new = !queue;
    helio_detail_t fault = fault_of(self, event, queue);
    if (fault.code) {
        core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID, fault);
        return;
    }
    if (!queue) {
        HASH_FIND(hh, self->queues, event->queue.data, event->queue.size, queue); /* a queue that was removed */
        queue = queue ? queue : core_queue_make(self, event->queue);
        queue->removed = false;
        queue->tier = HELIO_TIER_STANDARD;
        queue->time_limit_ms = UINT64_C(24) * 3600 * 1000;
    }
    queue->priority = event->priority_given ? event->priority : queue->priority;
    queue->tier = event->tier_given ? event->tier : queue->tier;
    queue->time_limit_ms = event->time_limit_given ? event->time_limit_ms : queue->time_limit_ms;
    core_quota_of_tier(self, queue);
    core_expected_ends_forget_all(self);
    write_queue(self, queue);
    core_queue_order_changed(self);
    helio_details_t set =
        CORE_WHY(self, HELIO_DETAIL_QUEUE_SET, helio_value_number(queue->priority),
                 helio_value_string(helio_tier_name(queue->tier)), helio_value_number((int64_t)queue->time_limit_ms));
    core_audit(self, event->actor, "queue-set", helio_text_of(queue->name),
               helio_sentences_text(&set, self->effects->arena));
    if (is_new)
        core_warn_new_queue(self, event->queue, &set);
    core_reply_details(self, event->call, HELIO_OK, HELIO_REASON_NONE, set);
}

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

/*  code: RULE_SET or RULE_REMOVED. */
static helio_detail_t rule_detail(helio_broker_core_t *self, helio_detail_code_t code, const queue_rule_t *rule)
{
    const char *zone = !rule->schedule[0] ? "" : rule->zone[0] ? rule->zone : "UTC";
    return HELIO_DETAIL(self->effects->arena, code, helio_value_number(rule->priority),
                        helio_value_string(rule->region), helio_value_string(rule->schedule), helio_value_string(zone),
                        helio_value_number(rule->schedule[0] ? 0 : rule->until_ms));
}

static void remove_rule(helio_broker_core_t *self, const helio_ev_queue_rule_t *event, queue_t *queue)
{
    uint32_t count;
    queue_rule_t *rule = find_rule(queue, event, &count);
    if (!rule) {
        core_reply(self, event->call, HELIO_NOT_FOUND, HELIO_REASON_NONE,
                   CORE_DETAIL(self, HELIO_DETAIL_UNKNOWN_RULE, helio_value_string(queue->name)));
        return;
    }
    const char *words = rule_words(self, rule);
    helio_detail_t removed = rule_detail(self, HELIO_DETAIL_RULE_REMOVED, rule);
    core_queue_rule_drop(self, queue, rule);
    core_queue_order_changed(self);
    core_audit(self, event->actor, "queue-unschedule", helio_text_of(queue->name), helio_text_of(words));
    core_reply(self, event->call, HELIO_OK, HELIO_REASON_NONE, removed);
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
    queue_rule_t *before = find_rule(queue, event, &count), *rule = core_queue_rule_make(&row, &err);
    if (!rule || (!before && count >= HELIO_QUEUE_RULES_MAX)) {
        core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
                   rule ? CORE_DETAIL(self, HELIO_DETAIL_LIMIT_REACHED, helio_value_number(HELIO_QUEUE_RULES_MAX),
                                      helio_value_string("rules of a queue"))
                        : core_input_invalid(self, "schedule", err.text));
        if (rule)
            core_queue_rule_free(rule);
        return;
    }
    if (before) {
        LL_DELETE(queue->rules, before);
        core_queue_rule_free(before);
    }
    LL_INSERT_INORDER(queue->rules, rule, core_queue_rule_by_precedence);
    rule->holds = core_queue_rule_holds(self, rule);
    core_check_by(self, CORE_CHECK_QUEUES, rule->next_check_ms);
    core_queue_rule_write(self, queue, rule, false);
    core_queue_order_changed(self);
    const char *words = rule_words(self, rule);
    core_audit(self, event->actor, "queue-schedule", helio_text_of(queue->name), helio_text_of(words));
    helio_details_t details = {0};
    core_why_add(self, &details, rule_detail(self, HELIO_DETAIL_RULE_SET, rule));
    core_warn_region(self, event->region, &details);
    core_warn_zone(self, event->zone, &details);
    core_reply_details(self, event->call, HELIO_OK, HELIO_REASON_NONE, details);
}

void core_on_queue_rule(helio_broker_core_t *self, const helio_ev_queue_rule_t *event)
{
    uint64_t day_ms = UINT64_C(24) * 3600 * 1000;
    queue_t *queue = core_queue_find(self, event->queue);
    if (!may_set(self, event->call, event->role))
        return;
    if (!queue)
        reply_unknown(self, event->call, event->queue);
    else if (event->remove)
        remove_rule(self, event, queue);
    else if (event->priority > HELIO_QUEUE_PRIORITY_MAX)
        core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
                   core_out_of_range(self, "priority", 0, HELIO_QUEUE_PRIORITY_MAX, ""));
    else if (!event->schedule.size && (!event->for_ms || event->for_ms > HELIO_QUEUE_RULE_FOR_MAX_D * day_ms))
        core_reply(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
                   CORE_DETAIL(self, HELIO_DETAIL_RULE_TOO_LONG, helio_value_number(HELIO_QUEUE_RULE_FOR_MAX_D)));
    else
        set_rule(self, event, queue);
}
