/*  scale.c -- runs the provider's commands for each elastic pool. */
#include "site-agent/scale/scale.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "site-agent/scale/plan.h"

enum { POOLS_AT_ONCE = 4, ANSWER_MAX = 1 << 20, LOOK_MS = 500, COMPLAINT_MOST = 200 };

typedef struct pool {
    helio_scaler_t *scaler;
    helio_scale_pool_t plan;
    bool runs;   /* a command */
    bool lists;  /* it is a list */
    bool failed; /* as was said last */
    int64_t list_due_ms;
} pool_t;

struct helio_scaler {
    helio_scaler_options_t options;
    helio_commands_t *commands;
    pool_t *pools;
    uint32_t count;
    int64_t now_ms;
};

static const helio_pool_t *profile_of(const helio_site_profile_t *site, helio_text_t name)
{
    for (uint32_t i = 0; i < site->pools.count; i++)
        if (helio_text_equal(site->pools.items[i].name, name))
            return &site->pools.items[i];
    return NULL;
}

helio_rc helio_scaler_new(const helio_scaler_options_t *options, helio_scaler_t **ret_scaler, helio_error_t *err)
{
    char home[512];
    const char *path = getenv("PATH"), *given = getenv("HOME");
    (void)snprintf(home, sizeof home, "HOME=%s", given ? given : "/");
    const char *env[] = {"LC_ALL=C.UTF-8", "TZ=UTC", home, NULL};
    helio_commands_options_t commands = {
        .path = path ? path : "/usr/local/bin:/usr/bin:/bin", .env = env, .at_once = POOLS_AT_ONCE, .queue_max = 128};
    helio_scaler_t *self = helio_new(1, sizeof *self);
    self->options = *options;
    helio_rc rc = helio_commands_new(&commands, &self->commands, err);
    if (rc) {
        free(self);
        return rc;
    }
    self->count = options->rules->count;
    self->pools = helio_new(self->count, sizeof *self->pools);
    for (uint32_t i = 0; i < self->count; i++) {
        pool_t *pool = &self->pools[i];
        const helio_pool_t *profile = profile_of(options->site, options->rules->items[i].pool);
        pool->scaler = self;
        pool->plan.rule = &options->rules->items[i];
        pool->plan.provision_ms = profile ? profile->provision_ms : 0;
        pool->plan.items = helio_new(HELIO_SCALE_INSTANCES_MAX, sizeof *pool->plan.items);
    }
    *ret_scaler = self;
    return HELIO_OK;
}

void helio_scaler_destroy(helio_scaler_t **self_p)
{
    helio_scaler_t *self = *self_p;
    if (!self)
        return;
    helio_commands_destroy(&self->commands);
    for (uint32_t i = 0; i < self->count; i++)
        free(self->pools[i].plan.items);
    free(self->pools);
    free(self);
    *self_p = NULL;
}

/* ---- what is told -------------------------------------------------------------------------------------------- */

static pool_t *pool_of(const helio_scaler_t *self, helio_text_t name)
{
    for (uint32_t i = 0; i < self->count; i++)
        if (helio_text_equal(self->pools[i].plan.rule->pool, name))
            return &self->pools[i];
    return NULL;
}

void helio_scaler_demand(helio_scaler_t *self, const helio_pool_demand_t *pools, uint32_t count, int64_t now_boot_ms)
{
    for (uint32_t i = 0; i < count; i++) {
        pool_t *pool = pool_of(self, pools[i].pool);
        if (pool)
            helio_scale_demand(&pool->plan, pools[i].nodes, now_boot_ms);
    }
}

void helio_scaler_nodes(helio_scaler_t *self, const helio_backend_node_t *nodes, uint32_t count, int64_t now_boot_ms)
{
    for (uint32_t p = 0; p < self->count; p++) {
        helio_scale_pool_t *plan = &self->pools[p].plan;
        helio_scale_nodes_begin(plan);
        for (uint32_t i = 0; i < count; i++)
            if (helio_text_equal(nodes[i].pool, plan->rule->pool))
                helio_scale_node(plan, nodes[i].name, nodes[i].busy);
        helio_scale_nodes_end(plan, now_boot_ms);
    }
}

void helio_scaler_order(helio_scaler_t *self, helio_text_t name, int64_t now_boot_ms)
{
    pool_t *pool = pool_of(self, name);
    if (pool)
        helio_scale_order(&pool->plan, now_boot_ms);
}

void helio_scaler_withhold(const helio_scaler_t *self, helio_pool_capacity_t *capacity)
{
    const pool_t *pool = pool_of(self, capacity->pool);
    const helio_pool_t *profile = profile_of(self->options.site, capacity->pool);
    uint32_t gpus = profile ? profile->gpus_per_node : 0, leaving = pool ? helio_scale_leaving(&pool->plan) : 0;
    if (!leaving || gpus >= capacity->free_nodes.count)
        return;
    uint32_t nodes = capacity->free_nodes.items[gpus] < leaving ? capacity->free_nodes.items[gpus] : leaving;
    uint32_t cpus = profile->cpus_per_node * nodes;
    uint64_t memory_bytes = profile->memory_bytes_per_node * nodes;
    capacity->free_nodes.items[gpus] -= nodes;
    capacity->nodes_up -= nodes < capacity->nodes_up ? nodes : capacity->nodes_up;
    capacity->gpus_total -= nodes * gpus < capacity->gpus_total ? nodes * gpus : capacity->gpus_total;
    capacity->cpus_free -= cpus < capacity->cpus_free ? cpus : capacity->cpus_free;
    capacity->memory_free_bytes -=
        memory_bytes < capacity->memory_free_bytes ? memory_bytes : capacity->memory_free_bytes;
}

/* ---- commands ------------------------------------------------------------------------------------------------ */

static void say(const pool_t *pool, helio_scale_word_t word, uint32_t count, const char *text)
{
    const helio_scaler_t *self = pool->scaler;
    helio_scale_note_t note = {word, pool->plan.rule->pool, count, pool->plan.demand, text};
    self->options.on_note(self->options.arg, &note);
}

static void say_failed(pool_t *pool, const char *text)
{
    if (!pool->failed)
        say(pool, HELIO_SCALE_FAILED, 0, text);
    pool->failed = true;
}

static const char *fault_of(const helio_command_result_t *result, char text[COMPLAINT_MOST])
{
    if (!result->spawned || result->timed_out || result->truncated || result->exit_code)
        (void)snprintf(text, COMPLAINT_MOST, "%s: %.*s",
                       !result->spawned    ? "it could not be run"
                       : result->timed_out ? "it took too long"
                       : result->truncated ? "its answer is too long"
                                           : "it failed",
                       HELIO_TEXT_ARGS(result->complaint));
    else
        text[0] = '\0';
    text[COMPLAINT_MOST - 1] = '\0';
    return text[0] ? text : NULL;
}

static void on_done(void *arg, const helio_command_result_t *result)
{
    pool_t *pool = arg;
    helio_scaler_t *self = pool->scaler;
    char text[COMPLAINT_MOST];
    helio_error_t err = {0};
    const char *fault = fault_of(result, text);
    if (!fault && pool->lists && helio_scale_list(&pool->plan, result->out, self->now_ms, &err))
        fault = err.text;
    helio_scale_ended(&pool->plan, !fault, self->now_ms);
    pool->runs = false;
    pool->list_due_ms = fault         ? pool->plan.wait_ms
                        : pool->lists ? self->now_ms + (int64_t)pool->plan.rule->poll_ms
                                      : self->now_ms; /* what an action did is looked at once */
    if (fault) {
        say_failed(pool, fault);
    } else if (pool->failed && pool->lists) {
        pool->failed = false;
        say(pool, HELIO_SCALE_WELL, 0, "");
    }
}

static void run(pool_t *pool, const char *verb, const char *object)
{
    helio_scaler_t *self = pool->scaler;
    const helio_scale_rule_t *rule = pool->plan.rule;
    const char *argv[HELIO_COMMAND_ARGS_MAX];
    helio_arena_t *arena = helio_arena_new();
    helio_error_t err = {0};
    uint32_t count = 0;
    for (; count < rule->command.count && count < HELIO_COMMAND_ARGS_MAX - 4; count++)
        argv[count] = helio_arena_string(arena, rule->command.items[count].text);
    argv[count++] = verb;
    argv[count++] = helio_arena_string(arena, rule->pool);
    if (object)
        argv[count++] = object;
    argv[count] = NULL;
    helio_command_t command = {
        .argv = argv, .timeout_ms = rule->timeout_ms, .max_bytes = ANSWER_MAX, .done = on_done, .arg = pool};
    pool->runs = true;
    pool->lists = strcmp(verb, "list") == 0;
    if (helio_commands_run(self->commands, &command, false, &err)) {
        pool->runs = false;
        helio_scale_ended(&pool->plan, false, self->now_ms);
        pool->list_due_ms = pool->plan.wait_ms;
        say_failed(pool, err.text);
    }
    helio_arena_destroy(&arena);
}

static void act(pool_t *pool)
{
    char number[16];
    helio_scale_step_t step = helio_scale_decide(&pool->plan, pool->scaler->now_ms);
    switch (step.act) {
    case HELIO_SCALE_CREATE:
        (void)snprintf(number, sizeof number, "%u", step.count);
        say(pool, HELIO_SCALE_GROWS, step.count, "");
        run(pool, "create", number);
        break;
    case HELIO_SCALE_DELETE:
        say(pool, HELIO_SCALE_SHRINKS, 1, step.name);
        run(pool, "delete", step.name);
        break;
    case HELIO_SCALE_NOTHING:
        if (pool->scaler->now_ms >= pool->list_due_ms)
            run(pool, "list", NULL);
        break;
    }
}

int helio_scaler_fd(const helio_scaler_t *self)
{
    return helio_commands_fd(self->commands);
}

int64_t helio_scaler_next_ms(const helio_scaler_t *self)
{
    int64_t next = helio_commands_next_ms(self->commands), look = self->now_ms + LOOK_MS;
    return self->count && look < next ? look : next;
}

void helio_scaler_process(helio_scaler_t *self, int64_t now_boot_ms)
{
    self->now_ms = now_boot_ms;
    helio_commands_process(self->commands, now_boot_ms);
    for (uint32_t i = 0; i < self->count; i++)
        if (!self->pools[i].runs)
            act(&self->pools[i]);
}
