/*  queues.h -- queues and their rules: the priority that a queue has now, and where. */
#ifndef HELIO_BROKER_CORE_STATE_QUEUES_H
#define HELIO_BROKER_CORE_STATE_QUEUES_H

#include <uthash.h>

#include "broker/core/state/nouns.h"
#include "broker/model/rows_policy.h"
#include "federation/base/error.h"
#include "federation/base/memory.h"
#include "federation/energy/schedule.h"
#include "federation/energy/zone.h"
#include "federation/policy/budget.h"
#include "federation/policy/quota.h"

/*  Another priority of a queue, at some sites and at some times. */
typedef struct queue_rule {
    char region[33];
    char schedule[HELIO_SCHEDULE_TEXT_MAX + 1]; /* "" = until until_ms */
    char zone[HELIO_ZONE_NAME_MAX + 1];
    helio_text_t zone_data;
    helio_schedule_t hours;
    helio_zone_t *in; /* NULL without a schedule */
    uint32_t priority;
    int64_t until_ms;
    int64_t at_ms;
    int64_t next_check_ms; /* wall clock: it begins or ceases to apply then */
    bool holds;
    struct queue_rule *next;
} queue_rule_t;

/*  Freed only with the core, because accounts point at it. */
typedef struct queue {
    char name[33];
    uint32_t priority;
    uint32_t tier;
    uint64_t time_limit_ms;
    bool removed;
    uint32_t open_jobs;
    helio_quota_t each; /* of each tenant without a quota of its own here */
    bool each_given;    /* an operator set it; else it follows from the tier */
    helio_budget_t each_budgets[HELIO_BUDGET_KINDS];
    queue_rule_t *rules; /* by precedence */
    UT_hash_handle hh;
} queue_t;

queue_t *core_queue_find(helio_broker_core_t *self, helio_text_t name); /* NULL = none */
/*  Its priority now at the sites of a region. */
uint32_t core_queue_priority_at(const queue_t *queue, helio_text_t region);
/*  Its highest priority anywhere now, and the next lower one. False: there is no lower one. */
uint32_t core_queue_top(const queue_t *queue);
bool core_queue_below(const queue_t *queue, uint32_t priority_level, uint32_t *ret_level);
queue_t *core_queue_load(helio_broker_core_t *self, const helio_row_queue_t *row);
void core_queue_rule_load(helio_broker_core_t *self, const helio_row_queue_rule_t *row);
void core_queues_loaded(helio_broker_core_t *self);
/*  Before the checks of a tick: a clock that was set back makes the check of the rules due. */
void core_queues_notice_clock(helio_broker_core_t *self);
void core_queue_rules_recheck(helio_broker_core_t *self); /* at a check: rules begin and cease to apply */
void core_queues_free(helio_broker_core_t *self);
/*  < 0: a counts before b. */
int core_queue_rule_by_precedence(const queue_rule_t *a, const queue_rule_t *b);
void core_queue_rule_write(helio_broker_core_t *self, const queue_t *queue, const queue_rule_t *rule, bool removed);
/*  Whether the rule applies now. Sets its next_check_ms. */
bool core_queue_rule_holds(helio_broker_core_t *self, queue_rule_t *rule);
void core_queue_rule_free(queue_rule_t *rule);
void core_queue_rule_drop(helio_broker_core_t *self, queue_t *queue, queue_rule_t *rule);
void core_queue_order_changed(helio_broker_core_t *self);
queue_t *core_queue_make(helio_broker_core_t *self, helio_text_t name);
/*  A rule from its row. NULL: schedule or time zone does not parse, err says why. */
queue_rule_t *core_queue_rule_make(const helio_row_queue_rule_t *row, helio_error_t *err);

#endif
