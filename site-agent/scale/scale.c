/*  scale.c -- runs the provider's commands for each elastic pool. */
#include "site-agent/scale/scale.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/number.h"
#include "site-agent/scale/notices.h"
#include "site-agent/scale/plan.h"

enum { POOLS_AT_ONCE = 4, ANSWER_MAX = 1 << 20, LOOK_MS = 500, COMPLAINT_MOST = 200 };

typedef struct pool {
    helio_scaler_t *scaler;
    helio_scale_pool_t plan;
    bool runs;    /* a command */
    bool lists;   /* it is a list */
    bool failed;  /* as was said last */
    bool ignored; /* the folder of notices, as was said last */
    int64_t list_due_ms;
    /* of nodes that are taken away: what is free on them is not offered */
    uint32_t taken_free[HELIO_JOB_GPUS_PER_NODE_MAX + 1], taken_cpus;
    uint64_t taken_memory_bytes;
    uint64_t waiting, waiting_gpus; /* attempts at the engine, and GPUs that they want */
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

void helio_scaler_waiting(helio_scaler_t *self, helio_text_t name, uint32_t gpus)
{
    pool_t *pool = pool_of(self, name);
    if (!pool)
        return;
    pool->waiting++;
    pool->waiting_gpus += gpus;
}

/*  Those without GPUs share one. */
static uint32_t nodes_for_waiting(const helio_scaler_t *self, const pool_t *pool)
{
    const helio_pool_t *profile = profile_of(self->options.site, pool->plan.rule->pool);
    uint64_t each = profile && profile->gpus_per_node ? profile->gpus_per_node : 1;
    uint64_t nodes = (pool->waiting_gpus + each - 1) / each;
    nodes = pool->waiting && !nodes ? 1 : nodes;
    return (uint32_t)helio_lesser_u64(nodes, HELIO_SCALE_INSTANCES_MAX);
}

static void note_taken(pool_t *pool, const helio_backend_node_t *node)
{
    uint32_t gpus = node->gpus_free < HELIO_JOB_GPUS_PER_NODE_MAX ? node->gpus_free : HELIO_JOB_GPUS_PER_NODE_MAX;
    pool->taken_free[gpus]++;
    pool->taken_cpus += node->cpus_free;
    pool->taken_memory_bytes += node->memory_free_bytes;
}

void helio_scaler_nodes(helio_scaler_t *self, const helio_backend_node_t *nodes, uint32_t count, int64_t now_boot_ms)
{
    for (uint32_t p = 0; p < self->count; p++) {
        helio_scale_pool_t *plan = &self->pools[p].plan;
        helio_scale_nodes_begin(plan);
        memset(self->pools[p].taken_free, 0, sizeof self->pools[p].taken_free);
        self->pools[p].taken_cpus = 0;
        self->pools[p].taken_memory_bytes = 0;
        for (uint32_t i = 0; i < count; i++) {
            if (!helio_text_equal(nodes[i].pool, plan->rule->pool))
                continue;
            helio_scale_node(plan, nodes[i].name, nodes[i].busy);
            if (helio_scale_is_taken(plan, nodes[i].name))
                note_taken(&self->pools[p], &nodes[i]);
        }
        helio_scale_nodes_end(plan, nodes_for_waiting(self, &self->pools[p]), now_boot_ms);
        self->pools[p].waiting = self->pools[p].waiting_gpus = 0;
    }
}

void helio_scaler_order(helio_scaler_t *self, helio_text_t name, int64_t now_boot_ms)
{
    pool_t *pool = pool_of(self, name);
    if (pool)
        helio_scale_order(&pool->plan, now_boot_ms);
}

bool helio_scaler_takes(const helio_scaler_t *self, const helio_backend_node_t *node)
{
    const pool_t *pool = pool_of(self, node->pool);
    return pool && helio_scale_is_taken(&pool->plan, node->name);
}

static uint32_t less_u32(uint32_t from, uint64_t what)
{
    return what < from ? from - (uint32_t)what : 0;
}

/*  At most that many nodes with so many GPUs free; returns how many there were. */
static uint32_t withhold(helio_pool_capacity_t *capacity, uint32_t gpus_free, uint32_t most)
{
    if (gpus_free >= capacity->free_nodes.count)
        return 0;
    uint32_t *free_nodes = &capacity->free_nodes.items[gpus_free], nodes = *free_nodes < most ? *free_nodes : most;
    *free_nodes -= nodes;
    capacity->nodes_up = less_u32(capacity->nodes_up, nodes);
    capacity->gpus_total = less_u32(capacity->gpus_total, (uint64_t)nodes * gpus_free);
    return nodes;
}

void helio_scaler_withhold(const helio_scaler_t *self, helio_pool_capacity_t *capacity)
{
    const pool_t *pool = pool_of(self, capacity->pool);
    const helio_pool_t *profile = profile_of(self->options.site, capacity->pool);
    if (!pool || !profile)
        return;
    for (uint32_t gpus = 0; gpus <= HELIO_JOB_GPUS_PER_NODE_MAX; gpus++)
        (void)withhold(capacity, gpus, pool->taken_free[gpus]);
    uint64_t nodes = withhold(capacity, profile->gpus_per_node, helio_scale_leaving(&pool->plan));
    capacity->cpus_free = less_u32(capacity->cpus_free, pool->taken_cpus + profile->cpus_per_node * nodes);
    uint64_t memory_bytes = pool->taken_memory_bytes + profile->memory_bytes_per_node * nodes;
    capacity->memory_free_bytes -= helio_lesser_u64(memory_bytes, capacity->memory_free_bytes);
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

/*  Each file of the folder names an instance that is taken away. Without the folder there is none, nor in one into which
 *  others can write: they could have any job there stopped. */
static void read_notices(pool_t *pool)
{
    char path[512];
    helio_error_t err = {0};
    helio_scale_notices_begin(&pool->plan);
    if (!pool->plan.rule->notice.size || !helio_text_copy(pool->plan.rule->notice, path, sizeof path))
        return;
    helio_rc rc = helio_notices_check(path, &err);
    bool before = pool->ignored;
    pool->ignored = rc == HELIO_FORBIDDEN;
    if (pool->ignored && !before)
        say(pool, HELIO_SCALE_IGNORED, 0, err.text);
    DIR *folder = rc ? NULL : opendir(path);
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        helio_scale_notice(&pool->plan, helio_text_of(entry->d_name));
    if (folder)
        (void)closedir(folder);
}

static void look_for_notices(pool_t *pool)
{
    read_notices(pool);
    for (const char *name; (name = helio_scale_news(&pool->plan));)
        say(pool, HELIO_SCALE_TAKEN, 0, name);
}

void helio_scaler_process(helio_scaler_t *self, int64_t now_boot_ms)
{
    self->now_ms = now_boot_ms;
    helio_commands_process(self->commands, now_boot_ms);
    for (uint32_t i = 0; i < self->count; i++) {
        look_for_notices(&self->pools[i]);
        if (self->pools[i].plan.rule->command.count && !self->pools[i].runs)
            act(&self->pools[i]);
    }
}
