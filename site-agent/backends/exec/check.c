/*  check.c -- `helio-agent check` at a site of the kind `exec`: one line for each thing that a running agent needs. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "site-agent/backends/exec/internal.h"

enum { DETAIL_SIZE = 600 };

typedef struct check {
    const helio_exec_options_t *options;
    helio_arena_t *arena;
    helio_exec_check_fn *line;
    void *arg;
    helio_exec_answer_t inventory;
} check_t;

static void say(const check_t *self, const char *what, helio_rc rc, const char *detail)
{
    self->line(self->arg, what, rc, detail);
}

static bool check_adapter(const check_t *self)
{
    const helio_exec_settings_t *settings = self->options->settings;
    helio_exec_answer_t answer = {0};
    helio_error_t err = {0};
    char detail[DETAIL_SIZE];
    helio_rc rc = helio_exec_ask_once(self->options, "capabilities", "", self->arena, &answer, &err);
    const helio_exec_end_t *end = &answer.end;
    if (!rc && end->protocol != HELIO_EXEC_PROTOCOL)
        rc = helio_fail(&err, HELIO_VERSION, "the adapter speaks version %u, and this agent %d", end->protocol,
                        HELIO_EXEC_PROTOCOL);
    if (!rc && end->carries != settings->carries)
        rc = helio_fail(&err, HELIO_INVALID, "the adapter %s folders: say carries: %s",
                        end->carries ? "carries" : "does not carry", end->carries ? "true" : "false");
    (void)snprintf(detail, sizeof detail, "%.*s, protocol %u%s", HELIO_TEXT_ARGS(end->engine), end->protocol,
                   end->carries ? ", carries the attempts' folders" : "");
    say(self, "adapter", rc, rc ? err.text : detail);
    return rc == HELIO_OK;
}

static bool check_folder(const check_t *self)
{
    char detail[DETAIL_SIZE];
    struct stat status;
    helio_error_t err = {0};
    helio_backend_t *backend = NULL;
    helio_rc rc = helio_exec_new(self->options, &backend, &err); /* creates its folders, and puts the shim there */
    helio_backend_destroy(&backend);
    (void)snprintf(detail, sizeof detail, "%.*s", HELIO_TEXT_ARGS(self->options->settings->folder));
    if (!rc && geteuid() == 0 && (stat(detail, &status) || !(status.st_mode & 001)))
        rc = helio_fail(&err, HELIO_FORBIDDEN, "'%.400s' cannot be entered by the users of jobs: run chmod o+x on it",
                        detail);
    say(self, "folder", rc, rc ? err.text : detail);
    return rc == HELIO_OK;
}

static void check_pool(const check_t *self, const helio_pool_t *pool, const helio_aev_capacity_t *capacity, uint32_t at)
{
    char what[64], detail[DETAIL_SIZE];
    const helio_pool_capacity_t *now = &capacity->pools.items[at];
    (void)snprintf(what, sizeof what, "pool %.*s", HELIO_TEXT_ARGS(pool->name));
    (void)snprintf(detail, sizeof detail, "%u node%s with %u GPUs, %u of them in use%s", now->nodes_up,
                   now->nodes_up == 1 ? "" : "s", now->gpus_total, now->gpus_allocated,
                   now->nodes_up ? "" : ": the adapter lists no node that is up with `pool` of this name");
    say(self, what, now->nodes_up ? HELIO_OK : HELIO_UNAVAILABLE, detail);
}

static bool check_inventory(check_t *self)
{
    helio_error_t err = {0};
    char detail[DETAIL_SIZE];
    helio_rc rc = helio_exec_ask_once(self->options, "inventory", "\"held\":[]", self->arena, &self->inventory, &err);
    if (!rc && !self->inventory.end.counted)
        rc = helio_fail(&err, HELIO_INVALID, "its end does not count nodes and attempts");
    (void)snprintf(detail, sizeof detail, "%u nodes, %u attempts of this site", self->inventory.node_count,
                   self->inventory.attempt_count);
    say(self, "inventory", rc, rc ? err.text : detail);
    if (rc)
        return false;
    helio_aev_capacity_t capacity;
    const helio_site_profile_t *site = self->options->site;
    helio_exec_capacity(site, &self->inventory, NULL, 0, self->arena, &capacity);
    for (uint32_t i = 0; i < site->pools.count; i++)
        check_pool(self, &site->pools.items[i], &capacity, i);
    return true;
}

void helio_exec_check(const helio_exec_options_t *options, bool probe, helio_exec_check_fn *line, void *arg)
{
    check_t self = {.options = options, .arena = helio_arena_new(), .line = line, .arg = arg};
    bool good = check_adapter(&self);
    good = check_folder(&self) && good && check_inventory(&self);
    if (probe && good)
        helio_exec_conform(options, line, arg);
    else if (probe)
        say(&self, "probe", HELIO_UNAVAILABLE, "not tried, because of the failures above");
    helio_arena_destroy(&self.arena);
}

/* ---- without a site file ------------------------------------------------------------------------------- */

/*  What the adapter says of itself and its first node takes the place of the site file. */
static helio_rc learn(const helio_exec_options_t *options, helio_arena_t *arena, helio_exec_settings_t *settings,
                      helio_pool_t *pool)
{
    helio_exec_answer_t answer = {0};
    if (helio_exec_ask_once(options, "capabilities", "", arena, &answer, NULL))
        return HELIO_UNAVAILABLE;
    settings->carries = answer.end.carries;
    bool gangs = answer.end.gangs;
    if (helio_exec_ask_once(options, "inventory", "\"held\":[]", arena, &answer, NULL) || !answer.node_count)
        return HELIO_UNAVAILABLE;
    const helio_exec_node_t *node = &answer.nodes[0];
    if (gangs) {
        pool->options.items = helio_arena_alloc(arena, 1, sizeof *pool->options.items);
        pool->options.items[0] = (helio_pool_option_t){HELIO_TEXT(HELIO_POOL_OPTION_GANGS), HELIO_TEXT("yes")};
        pool->options.count = 1;
    }
    pool->name = node->pool.size ? node->pool : HELIO_TEXT("pool");
    pool->nodes = gangs ? 2 : 1;
    pool->gpus_per_node = node->gpus;
    return HELIO_OK;
}

void helio_exec_check_program(const helio_exec_program_t *program, helio_exec_check_fn *line, void *arg)
{
    helio_arena_t *arena = helio_arena_new();
    helio_exec_settings_t settings = {.folder = helio_text_of(program->folder), .poll_ms = 500, .timeout_ms = 30000};
    settings.clock_tolerance_ms = 5000;
    for (; program->argv[settings.command.count];)
        settings.command.count++;
    settings.command.items = helio_arena_alloc(arena, settings.command.count + 1, sizeof *settings.command.items);
    for (uint32_t i = 0; i < settings.command.count; i++)
        settings.command.items[i].text = helio_text_of(program->argv[i]);
    helio_user_rule_t user = {.tenant = HELIO_TEXT("*"),
                              .user = HELIO_TEXT("*"),
                              .unix_user = helio_text_of(program->user),
                              .allow_root = true,
                              .shared = true};
    helio_job_rules_t rules = {.users = {&user, 1},
                               .path = HELIO_TEXT("/usr/local/bin:/usr/bin:/bin"),
                               .grace_ms = 30000,
                               .retention_ms = 60000,
                               .log_max_bytes = 1 << 20};
    helio_pool_t pool = {.name = HELIO_TEXT("pool"), .nodes = 1};
    helio_site_profile_t site = {.name = HELIO_TEXT("check"), .backend = HELIO_TEXT("exec"), .pools = {&pool, 1}};
    helio_exec_options_t options = {
        .site = &site, .rules = &rules, .settings = &settings, .shim = program->shim, .lease_margin_ms = 60000};
    (void)!learn(&options, arena, &settings, &pool); /* the check says what is wrong */
    helio_exec_check(&options, true, line, arg);
    helio_arena_destroy(&arena);
}
