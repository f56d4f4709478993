/*  plan.c -- decides what happens to the instances of one elastic pool. */
#include "site-agent/scale/plan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { BACK_OFF_MS = 5000, BACK_OFF_MOST_MS = 600000, DUE_LEAST_MS = 60000 };

static helio_scale_instance_t *find(const helio_scale_pool_t *self, helio_text_t name)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (helio_text_is(name, self->items[i].name))
            return &self->items[i];
    return NULL;
}

/* ---- what is known ----------------------------------------------------------------------------------------- */

static bool is_name(helio_text_t name)
{
    if (!name.size || name.size >= HELIO_SCALE_NAME_SIZE || name.data[0] == '-')
        return false;
    for (uint32_t i = 0; i < name.size; i++)
        if (!isalnum((unsigned char)name.data[i]) && !strchr("._-:/", name.data[i]))
            return false;
    return true;
}

static helio_text_t word(helio_text_t line, uint32_t *at)
{
    while (*at < line.size && isspace((unsigned char)line.data[*at]))
        (*at)++;
    uint32_t from = *at;
    while (*at < line.size && !isspace((unsigned char)line.data[*at]))
        (*at)++;
    return (helio_text_t){line.data + from, *at - from};
}

static helio_rc read_line(const helio_scale_pool_t *self, helio_text_t line, int64_t now_ms,
                          helio_scale_instance_t *ret, helio_error_t *err)
{
    uint32_t at = 0;
    helio_text_t name = word(line, &at), state = word(line, &at);
    if (!is_name(name))
        return helio_fail(err, HELIO_INVALID, "a line of the list begins with no name of an instance");
    const helio_scale_instance_t *known = find(self, name);
    *ret = known ? *known : (helio_scale_instance_t){.idle_ms = now_ms};
    (void)helio_text_copy(name, ret->name, sizeof ret->name);
    ret->ending = helio_text_is(state, "ending");
    ret->taken = helio_text_is(state, "interrupted");
    return HELIO_OK;
}

helio_rc helio_scale_list(helio_scale_pool_t *self, helio_text_t answer, int64_t now_ms, helio_error_t *err)
{
    helio_scale_instance_t *items = helio_new(HELIO_SCALE_INSTANCES_MAX, sizeof *items);
    uint32_t count = 0;
    helio_rc rc = HELIO_OK;
    for (uint32_t at = 0, end; at < answer.size && !rc; at = end + 1) {
        for (end = at; end < answer.size && answer.data[end] != '\n';)
            end++;
        helio_text_t line = {answer.data + at, end - at};
        uint32_t begin = 0;
        if (!word(line, &begin).size)
            continue;
        if (count == HELIO_SCALE_INSTANCES_MAX)
            rc = helio_fail(err, HELIO_TOO_BIG, "the list has more than %d instances", HELIO_SCALE_INSTANCES_MAX);
        else
            rc = read_line(self, line, now_ms, &items[count++], err);
    }
    if (!rc) {
        memcpy(self->items, items, count * sizeof *items);
        self->count = count;
        self->listed = true;
        if (count >= self->due || now_ms >= self->due_ms)
            self->due = 0;
    }
    free(items);
    return rc;
}

void helio_scale_demand(helio_scale_pool_t *self, uint32_t nodes, int64_t now_ms)
{
    self->demand = nodes;
    self->demand_ms = now_ms ? now_ms : 1;
}

void helio_scale_nodes_begin(helio_scale_pool_t *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        self->items[i].was_node = self->items[i].node;
        self->items[i].node = self->items[i].busy = false;
    }
}

void helio_scale_node(helio_scale_pool_t *self, helio_text_t name, bool busy)
{
    helio_scale_instance_t *instance = find(self, name);
    if (!instance)
        return;
    instance->node = true;
    instance->busy = busy;
}

void helio_scale_nodes_end(helio_scale_pool_t *self, uint32_t waiting, int64_t now_ms)
{
    self->told_ms = now_ms;
    self->waiting = waiting;
    for (uint32_t i = 0; i < self->count; i++) {
        helio_scale_instance_t *instance = &self->items[i];
        instance->seen = true;
        self->joined_ms = instance->node && !instance->was_node ? now_ms : self->joined_ms;
        instance->idle_ms = instance->busy ? 0 : instance->idle_ms ? instance->idle_ms : now_ms;
        instance->leaving_ms = instance->busy ? 0 : instance->leaving_ms;
    }
}

void helio_scale_order(helio_scale_pool_t *self, int64_t now_ms)
{
    self->below_ms = 0;
    for (uint32_t i = 0; i < self->count; i++) {
        self->items[i].leaving_ms = 0;
        self->items[i].idle_ms = now_ms;
    }
}

static bool is_taken(const helio_scale_instance_t *instance)
{
    return instance->taken || instance->noticed;
}

void helio_scale_notices_begin(helio_scale_pool_t *self)
{
    for (uint32_t i = 0; i < self->count; i++)
        self->items[i].noticed = false;
}

void helio_scale_notice(helio_scale_pool_t *self, helio_text_t name)
{
    helio_scale_instance_t *instance = find(self, name);
    if (instance)
        instance->noticed = true;
}

bool helio_scale_is_taken(const helio_scale_pool_t *self, helio_text_t name)
{
    const helio_scale_instance_t *instance = find(self, name);
    return instance && is_taken(instance);
}

const char *helio_scale_news(helio_scale_pool_t *self)
{
    for (uint32_t i = 0; i < self->count; i++) {
        helio_scale_instance_t *instance = &self->items[i];
        bool news = is_taken(instance) && !instance->told;
        instance->told = is_taken(instance);
        if (news)
            return instance->name;
    }
    return NULL;
}

/* ---- what follows ------------------------------------------------------------------------------------------ */

static uint32_t alive(const helio_scale_pool_t *self)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->count; i++)
        count += !self->items[i].ending;
    return self->due > count ? self->due : count;
}

/*  They exist and have no job: those that the engine does not show yet, and those that it has just begun to show, since
 *  the demand that came last does not know of them. No job comes to those that are taken away. */
static uint32_t coming(const helio_scale_pool_t *self)
{
    uint32_t busy = 0;
    for (uint32_t i = 0; i < self->count; i++)
        busy += !self->items[i].ending && (self->items[i].busy || is_taken(&self->items[i]));
    uint32_t all = alive(self);
    return all > busy ? all - busy : 0;
}

static uint32_t wanted_nodes(const helio_scale_pool_t *self)
{
    return self->demand > UINT32_MAX - self->waiting ? UINT32_MAX : self->demand + self->waiting;
}

static void note_bounds(helio_scale_pool_t *self, int64_t now_ms)
{
    bool old = !self->demand_ms || now_ms - self->demand_ms > HELIO_SCALE_DEMAND_OLD_MS;
    self->demand = old ? 0 : self->demand;
    uint32_t wanted = wanted_nodes(self);
    bool above = wanted > self->rule->up_above, below = wanted < self->rule->down_below;
    self->above_ms = !above ? 0 : self->above_ms ? self->above_ms : now_ms;
    self->below_ms = !below ? 0 : self->below_ms ? self->below_ms : now_ms;
}

static bool lasts(int64_t since_ms, uint64_t for_ms, int64_t now_ms)
{
    return since_ms && now_ms - since_ms >= (int64_t)for_ms;
}

static uint32_t to_create(const helio_scale_pool_t *self, int64_t now_ms)
{
    const helio_scale_rule_t *rule = self->rule;
    uint32_t have = alive(self), wanted = rule->min > have ? rule->min - have : 0, to_come = coming(self);
    bool settled = !self->joined_ms || now_ms - self->joined_ms >= HELIO_SCALE_SETTLE_MS;
    uint32_t demand = wanted_nodes(self);
    if (settled && lasts(self->above_ms, rule->up_for_ms, now_ms) && demand > to_come && demand - to_come > wanted)
        wanted = demand - to_come;
    uint32_t room = rule->max > have ? rule->max - have : 0;
    wanted = wanted < room ? wanted : room;
    return wanted < HELIO_SCALE_AT_ONCE ? wanted : HELIO_SCALE_AT_ONCE;
}

/*  How many instances are too many. What is above the rule's maximum ends whatever is wanted. */
static uint32_t surplus(const helio_scale_pool_t *self, int64_t now_ms)
{
    const helio_scale_rule_t *rule = self->rule;
    uint32_t have = alive(self);
    if (now_ms - self->told_ms > HELIO_SCALE_NODES_OLD_MS)
        return 0;
    if (lasts(self->below_ms, rule->down_for_ms, now_ms) && have > rule->min)
        return have - rule->min;
    return have > rule->max ? have - rule->max : 0;
}

/*  Whether it can end: no job is on it, and has not been for long enough. */
static bool can_end(const helio_scale_pool_t *self, const helio_scale_instance_t *instance, bool too_many,
                    int64_t now_ms)
{
    return !instance->ending && !instance->busy && instance->seen && instance->idle_ms &&
           (too_many || lasts(instance->idle_ms, self->rule->down_for_ms, now_ms));
}

/*  Which instances leave: those that do already go on, as long as they can. */
static void choose_leaving(helio_scale_pool_t *self, uint32_t most, int64_t now_ms)
{
    uint32_t count = 0;
    bool too_many = alive(self) > self->rule->max;
    for (uint32_t i = 0; i < self->count; i++) {
        helio_scale_instance_t *instance = &self->items[i];
        bool goes_on = instance->leaving_ms && count < most && can_end(self, instance, too_many, now_ms);
        instance->leaving_ms = goes_on ? instance->leaving_ms : 0;
        count += goes_on;
    }
    for (uint32_t i = 0; i < self->count && count < most; i++) {
        helio_scale_instance_t *instance = &self->items[i];
        if (instance->leaving_ms || !can_end(self, instance, too_many, now_ms))
            continue;
        instance->leaving_ms = now_ms;
        count++;
    }
}

helio_scale_step_t helio_scale_decide(helio_scale_pool_t *self, int64_t now_ms)
{
    note_bounds(self, now_ms);
    if (!self->listed || now_ms < self->wait_ms)
        return (helio_scale_step_t){0};
    uint32_t count = to_create(self, now_ms);
    choose_leaving(self, count ? 0 : surplus(self, now_ms), now_ms);
    if (count) {
        self->listed = false;
        uint64_t due_ms = self->provision_ms * 2 > DUE_LEAST_MS ? self->provision_ms * 2 : DUE_LEAST_MS;
        self->due = alive(self) + count;
        self->due_ms = now_ms + (int64_t)due_ms;
        return (helio_scale_step_t){.act = HELIO_SCALE_CREATE, .count = count};
    }
    for (uint32_t i = 0; i < self->count; i++) {
        const helio_scale_instance_t *instance = &self->items[i];
        if (!instance->leaving_ms || now_ms - instance->leaving_ms < HELIO_SCALE_LEAVE_MS ||
            self->told_ms <= instance->leaving_ms)
            continue;
        self->listed = false;
        self->due = 0;
        return (helio_scale_step_t){.act = HELIO_SCALE_DELETE, .name = instance->name};
    }
    return (helio_scale_step_t){0};
}

void helio_scale_ended(helio_scale_pool_t *self, bool well, int64_t now_ms)
{
    if (well) {
        self->failures = 0;
        self->wait_ms = 0;
        return;
    }
    int64_t pause = BACK_OFF_MS;
    for (uint32_t i = 0; i < self->failures && pause < BACK_OFF_MOST_MS; i++)
        pause *= 2;
    self->failures++;
    self->wait_ms = now_ms + (pause < BACK_OFF_MOST_MS ? pause : BACK_OFF_MOST_MS);
}

uint32_t helio_scale_leaving(const helio_scale_pool_t *self)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->count; i++)
        count += self->items[i].leaving_ms && self->items[i].node && !is_taken(&self->items[i]);
    return count;
}
