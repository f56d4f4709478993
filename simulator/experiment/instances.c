/*  instances.c -- what the provider does with the instances of one pool, and what the agent's plan has it do. */
#include "simulator/experiment/instances.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "federation/base/number.h"
#include "federation/policy/pool_forecast.h"

enum { ACTS_MAX = 2 * HELIO_SCALE_INSTANCES_MAX };

struct exp_instances {
    const helio_pool_t *pool;
    exp_nodes_t *nodes;
    exp_instance_t *items; /* by node */
    uint64_t numbered;
    helio_rng_t rng;
    helio_scale_rule_t rule;   /* of an elastic pool */
    helio_scale_pool_t plan;   /* its times are wall clock: never 0 */
    bool changed;              /* the provider's list, since the plan saw it */
    int64_t asked_ms;          /* the plan was */
    exp_instance_time_t *over; /* not accounted yet */
    uint32_t over_count, over_capacity;
};

bool exp_instances_are_elastic(const exp_instances_t *self)
{
    return self->plan.rule != NULL;
}

bool exp_instances_is_ordered(const exp_instances_t *self, uint32_t node)
{
    return node >= self->pool->nodes;
}

/* ---- the provider ------------------------------------------------------------------------------------------ */

/*  How long until it is named. */
static int64_t life_ms(exp_instances_t *self)
{
    double unit = helio_rng_unit(&self->rng);
    if (!self->pool->spot)
        return INT64_MAX;
    double hours = -log(1 - unit) / self->pool->interruptions_per_h;
    return hours < 1e6 ? (int64_t)(hours * HELIO_HOUR_MS) : INT64_MAX;
}

static void start(exp_instances_t *self, uint32_t node, int64_t joins_ms, int64_t now_ms)
{
    int64_t lives_ms = life_ms(self);
    self->items[node] = (exp_instance_t){.state = EXP_INSTANCE_STARTS,
                                         .number = ++self->numbered,
                                         .ordered_ms = now_ms,
                                         .joins_ms = joins_ms,
                                         .next_ms = lives_ms == INT64_MAX ? INT64_MAX : now_ms + lives_ms};
    self->changed = true;
}

static void note_over(exp_instances_t *self, uint32_t node, int64_t now_ms)
{
    if (!exp_instances_is_ordered(self, node))
        return;
    if (self->over_count == self->over_capacity) {
        self->over_capacity = self->over_capacity ? 2 * self->over_capacity : 16;
        self->over = helio_grow(self->over, self->over_capacity, sizeof *self->over);
    }
    self->over[self->over_count++] = (exp_instance_time_t){self->items[node].ordered_ms, now_ms};
}

static void finish(exp_instances_t *self, uint32_t node, int64_t now_ms)
{
    exp_nodes_withdraw(self->nodes, node);
    note_over(self, node, now_ms);
    self->items[node].state = EXP_INSTANCE_NONE;
    self->changed = true;
}

bool exp_instances_take(exp_instances_t *self, int64_t now_ms, uint32_t *ret_node)
{
    for (uint32_t i = 0; i < self->nodes->count; i++) {
        exp_instance_t *instance = &self->items[i];
        if ((instance->state != EXP_INSTANCE_RUNS && instance->state != EXP_INSTANCE_STARTS) ||
            instance->next_ms > now_ms)
            continue;
        instance->state = EXP_INSTANCE_TAKEN;
        instance->next_ms += EXP_NOTICE_MS;
        self->changed = true;
        *ret_node = i;
        return true;
    }
    return false;
}

/*  What was named and is over; of the first nodes another one comes. Then the nodes that join. */
bool exp_instances_renew(exp_instances_t *self, int64_t now_ms)
{
    bool changed = false;
    for (uint32_t i = 0; i < self->nodes->count; i++) {
        exp_instance_t *instance = &self->items[i];
        if (instance->state == EXP_INSTANCE_TAKEN && !self->nodes->withdrawn[i]) {
            exp_nodes_withdraw(self->nodes, i);
            changed = true;
        }
        if (instance->state == EXP_INSTANCE_TAKEN && instance->next_ms <= now_ms) {
            finish(self, i, now_ms);
            if (!exp_instances_is_ordered(self, i))
                start(self, i, now_ms + (int64_t)self->pool->provision_ms, now_ms);
        }
        if (instance->state == EXP_INSTANCE_STARTS && instance->joins_ms <= now_ms) {
            instance->state = EXP_INSTANCE_RUNS;
            exp_nodes_offer(self->nodes, i);
            changed = self->changed = true;
        }
    }
    return changed;
}

/* ---- the plan ---------------------------------------------------------------------------------------------- */

static void list(exp_instances_t *self, int64_t now_ms)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_error_t err = {0};
    for (uint32_t i = self->pool->nodes; i < self->nodes->count; i++) {
        const exp_instance_t *instance = &self->items[i];
        if (instance->state != EXP_INSTANCE_NONE)
            helio_buffer_printf(&text, "%u-%" PRIu64 "%s\n", i, instance->number,
                                instance->state == EXP_INSTANCE_TAKEN ? " interrupted" : "");
    }
    helio_rc rc = helio_scale_list(&self->plan, helio_buffer_view(&text), now_ms, &err);
    assert(rc == HELIO_OK);
    (void)rc;
    helio_scale_ended(&self->plan, true, now_ms);
    self->changed = false;
}

static void tell_nodes(exp_instances_t *self, int64_t now_ms)
{
    helio_scale_nodes_begin(&self->plan);
    for (uint32_t i = self->pool->nodes; i < self->nodes->count; i++) {
        char name[HELIO_SCALE_NAME_SIZE];
        const exp_instance_t *instance = &self->items[i];
        if (instance->state != EXP_INSTANCE_RUNS && instance->state != EXP_INSTANCE_TAKEN)
            continue;
        (void)snprintf(name, sizeof name, "%u-%" PRIu64, i, instance->number);
        helio_scale_node(&self->plan, helio_text_of(name), self->nodes->free_gpus[i] < self->nodes->gpus_per_node);
    }
    helio_scale_nodes_end(&self->plan, 0, now_ms);
}

static uint32_t node_of(const char *name)
{
    return (uint32_t)strtoul(name, NULL, 10);
}

static void create(exp_instances_t *self, uint32_t count, int64_t now_ms)
{
    for (uint32_t i = self->pool->nodes; count && i < self->nodes->count; i++) {
        if (self->items[i].state != EXP_INSTANCE_NONE)
            continue;
        start(self, i, now_ms + (int64_t)self->pool->provision_ms, now_ms);
        count--;
    }
}

/*  Nodes that leave are not offered any more; those that stay after all are. */
static bool offer(exp_instances_t *self)
{
    bool changed = false;
    for (uint32_t i = 0; i < self->plan.count; i++) {
        const helio_scale_instance_t *item = &self->plan.items[i];
        uint32_t node = node_of(item->name);
        if (self->items[node].state != EXP_INSTANCE_RUNS || (item->leaving_ms != 0) == self->nodes->withdrawn[node])
            continue;
        (item->leaving_ms ? exp_nodes_withdraw : exp_nodes_offer)(self->nodes, node);
        changed = true;
    }
    return changed;
}

/*  Commands take no time here. */
bool exp_instances_plan(exp_instances_t *self, int64_t now_ms)
{
    bool changed = false;
    for (uint32_t acts = 0; acts < ACTS_MAX; acts++) {
        if (self->changed || !self->plan.listed)
            list(self, now_ms);
        tell_nodes(self, now_ms);
        helio_scale_step_t step = helio_scale_decide(&self->plan, now_ms);
        changed = offer(self) || changed;
        if (step.act == HELIO_SCALE_NOTHING)
            break;
        if (step.act == HELIO_SCALE_CREATE) {
            create(self, step.count, now_ms);
        } else {
            finish(self, node_of(step.name), now_ms);
            changed = true;
        }
    }
    self->asked_ms = now_ms;
    return changed;
}

/* ---- what its site asks ------------------------------------------------------------------------------------ */

void exp_instances_demand(exp_instances_t *self, uint32_t nodes, int64_t now_ms)
{
    if (exp_instances_are_elastic(self))
        helio_scale_demand(&self->plan, nodes, now_ms);
}

void exp_instances_order(exp_instances_t *self, int64_t now_ms)
{
    if (exp_instances_are_elastic(self))
        helio_scale_order(&self->plan, now_ms);
}

bool exp_instances_plan_is_due(const exp_instances_t *self, int64_t now_ms)
{
    return exp_instances_are_elastic(self) && (now_ms % EXP_SCALE_MS == 0 || now_ms - self->asked_ms >= EXP_SCALE_MS);
}

/*  Whether the plan can come to another decision with time alone. */
static bool is_restless(const exp_instances_t *self)
{
    for (uint32_t i = self->pool->nodes; i < self->nodes->count; i++) {
        const exp_instance_t *instance = &self->items[i];
        if (instance->state == EXP_INSTANCE_STARTS ||
            (instance->state == EXP_INSTANCE_RUNS && self->nodes->free_gpus[i] == self->nodes->gpus_per_node))
            return true;
    }
    return self->plan.demand > 0 || self->changed;
}

int64_t exp_instances_next_ms(const exp_instances_t *self, bool anything_waits, int64_t now_ms)
{
    int64_t at_ms = INT64_MAX;
    for (uint32_t i = 0; i < self->nodes->count; i++) {
        const exp_instance_t *instance = &self->items[i];
        if (instance->state != EXP_INSTANCE_NONE)
            at_ms = helio_lesser_i64(at_ms, instance->next_ms);
        if (instance->state == EXP_INSTANCE_STARTS)
            at_ms = helio_lesser_i64(at_ms, instance->joins_ms);
    }
    if (exp_instances_are_elastic(self) && (anything_waits || is_restless(self)))
        at_ms = helio_lesser_i64(at_ms, now_ms - now_ms % EXP_SCALE_MS + EXP_SCALE_MS);
    return at_ms;
}

void exp_instances_lose(exp_instances_t *self, int64_t now_ms)
{
    for (uint32_t i = 0; i < self->nodes->count; i++)
        if (self->items[i].state != EXP_INSTANCE_NONE)
            finish(self, i, now_ms);
    if (exp_instances_are_elastic(self)) {
        helio_scale_instance_t *items = self->plan.items;
        self->plan =
            (helio_scale_pool_t){.rule = self->plan.rule, .provision_ms = self->plan.provision_ms, .items = items};
    }
}

void exp_instances_return(exp_instances_t *self, int64_t now_ms)
{
    for (uint32_t i = 0; i < self->pool->nodes; i++)
        start(self, i, now_ms, now_ms);
    (void)exp_instances_renew(self, now_ms);
}

bool exp_instances_account(exp_instances_t *self, bool all, int64_t now_ms, exp_instance_time_t *ret_time)
{
    for (uint32_t i = self->pool->nodes; all && i < self->nodes->count; i++)
        if (self->items[i].state != EXP_INSTANCE_NONE) {
            note_over(self, i, now_ms);
            self->items[i].state = EXP_INSTANCE_NONE;
        }
    if (!self->over_count)
        return false;
    *ret_time = self->over[--self->over_count];
    return true;
}

exp_instances_t *exp_instances_new(const helio_pool_t *pool, const helio_scale_rule_t *rule, uint64_t seed,
                                   exp_nodes_t *nodes, int64_t began_ms)
{
    if (!pool->spot && !pool->elastic)
        return NULL;
    exp_instances_t *self = helio_new(1, sizeof *self);
    *self = (exp_instances_t){.pool = pool, .nodes = nodes, .rng = {seed}};
    self->items = helio_new(nodes->count ? nodes->count : 1, sizeof *self->items);
    if (pool->elastic) {
        self->rule = *rule;
        self->rule.max = nodes->count - pool->nodes; /* the fleet may have been scaled */
        self->rule.min = rule->min < self->rule.max ? rule->min : self->rule.max;
        self->plan.rule = &self->rule;
        self->plan.provision_ms = pool->provision_ms;
        self->plan.items = helio_new(HELIO_SCALE_INSTANCES_MAX, sizeof *self->plan.items);
    }
    for (uint32_t i = 0; i < nodes->count; i++)
        exp_nodes_withdraw(nodes, i);
    exp_instances_return(self, began_ms);
    return self;
}

void exp_instances_destroy(exp_instances_t **self_p)
{
    exp_instances_t *self = *self_p;
    if (!self)
        return;
    free(self->items);
    free(self->plan.items);
    free(self->over);
    free(self);
    *self_p = NULL;
}
