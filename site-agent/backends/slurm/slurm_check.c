/*  slurm_check.c -- `helio-agent check` at a Slurm site: one line for each thing that a running agent needs, and with
 *  `probe` a job of one minute to each pool, submitted in the same way as every job. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "site-agent/backends/slurm/slurm_internal.h"

enum { COMMAND_MS = 15000, PROBE_MS = 120000, DETAIL_SIZE = 600 };

typedef struct check {
    const helio_slurm_options_t *options;
    helio_arena_t *arena;
    helio_slurm_check_fn *line;
    void *arg;
} check_t;

static void say(const check_t *self, const char *what, helio_rc rc, const char *detail)
{
    self->line(self->arg, what, rc, detail);
}

/*  The first line that a command prints; its rc is that of the whole. */
static helio_rc ask(const check_t *self, const char *const *argv, char ret_text[DETAIL_SIZE])
{
    helio_commands_options_t commands;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t complaint = {0};
    helio_error_t err = {0};
    int exit_code = 0;
    helio_slurm_environment(self->options->settings, self->arena, &commands);
    helio_command_t command = {.argv = argv, .timeout_ms = COMMAND_MS, .max_bytes = 65536};
    helio_rc rc = helio_command_wait(&commands, &command, &exit_code, &out, &complaint, &err);
    const char *text = rc ? err.text : exit_code && complaint.size ? complaint.data : out.size ? out.data : "";
    (void)snprintf(ret_text, DETAIL_SIZE, "%.*s", (int)strcspn(text, "\n"), text);
    return rc ? rc : exit_code ? HELIO_UNAVAILABLE : HELIO_OK;
}

/* ---- checks ------------------------------------------------------------------------------------------------- */

static bool check_commands(const check_t *self)
{
    static const char *const names[] = {"sbatch", "squeue", "scontrol", "scancel", "srun"};
    char text[DETAIL_SIZE] = "", detail[DETAIL_SIZE];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *argv[] = {names[i], "--version", NULL};
        helio_rc rc = ask(self, argv, text);
        if (rc == HELIO_OK)
            continue;
        (void)snprintf(detail, sizeof detail,
                       "%s: %.400s; install Slurm's commands here, or set agent.slurm.commands and agent.slurm.conf",
                       names[i], text);
        say(self, "commands", rc, detail);
        return false;
    }
    say(self, "commands", HELIO_OK, text);
    return true;
}

static bool check_controller(const check_t *self)
{
    static const char *const ping[] = {"scontrol", "ping", NULL};
    static const char *const sacct[] = {"sacct", "--noheader", "--jobs=1", NULL};
    char text[DETAIL_SIZE], detail[DETAIL_SIZE];
    helio_rc rc = ask(self, ping, text);
    (void)snprintf(detail, sizeof detail, "%.400s%s", text, rc ? "; is slurmctld running, and munge here?" : "");
    say(self, "controller", rc, detail);
    if (rc)
        return false;
    rc = ask(self, sacct, text);
    bool none = rc && strstr(text, "storage is disabled");
    if (rc && !none)
        (void)snprintf(detail, sizeof detail,
                       "%.400s; is slurmdbd running? Jobs go on, and ends without a status file are read from the "
                       "queue meanwhile",
                       text);
    say(self, "accounting", none ? HELIO_OK : rc,
        none ? "not kept: ends without a status file are read from the queue"
        : rc ? detail
             : "kept");
    return true;
}

static bool check_shared(const check_t *self)
{
    char detail[DETAIL_SIZE];
    struct stat status;
    helio_error_t err = {0};
    helio_backend_t *backend = NULL;
    helio_rc rc = helio_slurm_new(self->options, &backend, &err); /* creates its folders, and puts the shim there */
    helio_backend_destroy(&backend);
    (void)snprintf(detail, sizeof detail, "%.*s", HELIO_TEXT_ARGS(self->options->settings->shared));
    if (!rc && geteuid() == 0 && (stat(detail, &status) || !(status.st_mode & 001)))
        rc = helio_fail(&err, HELIO_FORBIDDEN, "'%.400s' cannot be entered by the users of jobs: run chmod o+x on it",
                        detail);
    say(self, "shared", rc, rc ? err.text : detail);
    return rc == HELIO_OK;
}

/*  What keeps a pool from offering anything; "" = nothing does. */
static const char *fault_of(const helio_slurm_pool_nodes_t *nodes)
{
    return !nodes                         ? ""
           : !nodes->own && nodes->shared ? ": another pool offers all of them"
           : !nodes->partition_up         ? ": the partition starts no jobs; scontrol show partition has its state"
           : !nodes->open ? ": none of them starts jobs; all are drained or down (sinfo -R shows the reasons)"
                          : "";
}

/*  nodes: NULL = unknown. */
static void check_pool(const check_t *self, const helio_site_profile_t *site, const helio_slurm_settings_t *settings,
                       uint32_t index, const helio_slurm_pool_nodes_t *nodes)
{
    const helio_pool_t *pool = &site->pools.items[index];
    const char *fault = fault_of(nodes);
    char what[64], detail[DETAIL_SIZE];
    helio_slurm_pool_t mapping;
    helio_slurm_pool_of(settings, site, pool->name, self->arena, &mapping);
    (void)snprintf(what, sizeof what, "pool %.*s", HELIO_TEXT_ARGS(pool->name));
    int size = snprintf(detail, sizeof detail, "%u nodes with %u GPUs %.*s, partition '%.*s', GRES type '%.*s'%s",
                        pool->nodes, pool->gpus_per_node, HELIO_TEXT_ARGS(pool->gpu),
                        HELIO_TEXT_ARGS(mapping.partition), HELIO_TEXT_ARGS(mapping.gres), fault);
    if (nodes && nodes->shared && size > 0 && size < (int)sizeof detail)
        (void)snprintf(detail + size, sizeof detail - (size_t)size,
                       "; pool '%.*s' has %u nodes of that partition, too, and it offers them: %s",
                       HELIO_TEXT_ARGS(site->pools.items[nodes->with].name), nodes->shared,
                       nodes->own ? "jobs that name the partition are sent there, too"
                                  : "name this pool before it in the site file, or leave it out: jobs can name the "
                                    "partition without a pool of its own");
    say(self, what, *fault ? HELIO_UNAVAILABLE : HELIO_OK, detail);
}

static bool check_pools(const check_t *self, helio_site_profile_t *site, helio_slurm_settings_t *settings)
{
    helio_error_t err = {0};
    helio_rc rc = helio_slurm_fill_site(site, settings, self->arena, &err);
    if (rc)
        say(self, "pools", rc, err.text);
    helio_slurm_pool_nodes_t *nodes = helio_arena_alloc(self->arena, site->pools.count + 1, sizeof *nodes);
    bool known = !rc && helio_slurm_ask_nodes(site, settings, self->arena, nodes) == HELIO_OK;
    for (uint32_t i = 0; !rc && i < site->pools.count; i++)
        check_pool(self, site, settings, i, known ? &nodes[i] : NULL);
    return rc == HELIO_OK;
}

static void check_prolog(const check_t *self, const helio_slurm_settings_t *settings)
{
    char detail[DETAIL_SIZE];
    bool some = false, known = helio_slurm_ask_prologs(settings, self->arena, &some) == HELIO_OK;
    unsigned long long most_s = (settings->prolog_ms ? settings->prolog_ms : HELIO_SLURM_PROLOG_MS) / 1000;
    (void)snprintf(
        detail, sizeof detail, "%s; up to %llu s between a job's start and its first program are tolerated%s",
        !known ? "the cluster does not report them"
        : some ? "the cluster has some, or powers nodes up"
               : "none",
        most_s,
        some && !self->options->settings->prolog_ms ? "; set agent.slurm.prolog to the longest time that they take"
                                                    : "");
    say(self, "prolog", HELIO_OK, detail);
}

/* ---- a probe job -------------------------------------------------------------------------------------------- */

/*  The state of the probe under way, which receives the sink's events. */
typedef struct probe {
    bool over;
    helio_aev_backend_t end;
    char explanation[257], id[65];
} probe_t;

static void on_event(void *arg, const helio_aev_backend_t *event)
{
    probe_t *probe = arg;
    if (event->word == HELIO_BACKEND_REPORT_STARTED)
        return;
    probe->over = true;
    probe->end = *event;
    (void)helio_text_copy(event->explanation, probe->explanation, sizeof probe->explanation);
    (void)helio_text_copy(event->local_id, probe->id, sizeof probe->id);
}

static void run_until(helio_backend_t *backend, const probe_t *probe, int64_t until_ms)
{
    const helio_backend_class_t *class = backend->class;
    while (!probe->over && helio_clock_boot_ms() < until_ms) {
        int64_t left_ms = class->next_ms(backend) - helio_clock_boot_ms();
        struct pollfd fd = {.fd = class->fd(backend), .events = POLLIN};
        (void)poll(&fd, 1, left_ms <= 0 ? 0 : left_ms < 500 ? (int)left_ms : 500);
        class->process(backend, helio_clock_boot_ms(), helio_clock_wall_ms());
    }
}

static helio_order_t probe_order(const check_t *self, const helio_pool_t *pool)
{
    uint8_t random[10] = {0};
    (void)!getrandom(random, sizeof random, 0);
    helio_user_rule_t rule = self->options->rules->users.items[0];
    bool any_tenant = helio_text_is(rule.tenant, "*"), any_user = helio_text_is(rule.user, "*");
    return (helio_order_t){.key = {helio_uuid_v7(helio_clock_wall_ms(), random), HELIO_NO_TASK},
                           .epoch = 1,
                           .tenant = any_tenant ? HELIO_TEXT("probe") : rule.tenant,
                           .user = any_user ? HELIO_TEXT("probe") : rule.user,
                           .pool = pool->name,
                           .nodes = 1,
                           .gpus_per_node = pool->gpus_per_node ? 1 : 0,
                           .time_limit_ms = 60000};
}

/*  What it printed: "clock=<seconds> user=<name> host=<node>". */
static helio_rc judge(const check_t *self, helio_backend_t *backend, const helio_order_t *order, const probe_t *probe,
                      char ret_detail[DETAIL_SIZE])
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t log = {0};
    uint64_t next;
    bool end;
    long long clock_s = 0;
    helio_rc rc = backend->class->log_read(backend, order->key, 1, 0, 4096, &log, &next, &end, NULL);
    const char *at = rc == HELIO_OK && log.data ? strstr(log.data, "clock=") : NULL;
    if (!at || sscanf(at, "clock=%lld", &clock_s) != 1) {
        (void)snprintf(ret_detail, DETAIL_SIZE, "it succeeded, but its output is not in the shared folder");
        return HELIO_IO;
    }
    long long apart_s = clock_s - (long long)(probe->end.started_wall_ms / 1000),
              here_s = clock_s - (long long)(helio_clock_wall_ms() / 1000);
    uint64_t tolerance_s = self->options->settings->clock_tolerance_ms / 1000 + PROBE_MS / 1000;
    (void)snprintf(ret_detail, DETAIL_SIZE, "job %s ran: %.*s", probe->id, (int)strcspn(at, "\n"), at);
    if (llabs(here_s) <= (long long)tolerance_s && llabs(apart_s) <= (long long)tolerance_s)
        return HELIO_OK;
    (void)snprintf(ret_detail, DETAIL_SIZE, "the node's clock differs from this host's by %lld s; set them by NTP",
                   here_s);
    return HELIO_CONFLICT;
}

static void tidy(const check_t *self, helio_backend_t *backend, const helio_order_t *order)
{
    static const char *const rooms[] = {"output", "checkpoints"};
    char name[HELIO_ATTEMPT_NAME_SIZE], path[4096];
    helio_attempt_name(order->key, 1, name);
    backend->class->forget(backend, order->key, 1);
    for (int i = 0; i < 2; i++) {
        if (i)
            name[strlen(name) - 2] = '\0'; /* without the epoch */
        (void)snprintf(path, sizeof path, "%.*s/%s/%s", HELIO_TEXT_ARGS(self->options->settings->shared), rooms[i],
                       name);
        (void)rmdir(path);
    }
}

static void probe_pool(const check_t *self, helio_backend_t *backend, probe_t *probe, const helio_pool_t *pool)
{
    char what[64], detail[DETAIL_SIZE];
    helio_order_t order = probe_order(self, pool);
    helio_job_spec_t spec = {
        .run = HELIO_TEXT("#!/bin/sh\necho clock=$(date +%s) user=$(id -un) host=${SLURMD_NODENAME:-$(uname -n)}\n")};
    helio_backend_task_t task = {.order = &order, .spec = &spec};
    *probe = (probe_t){0};
    (void)snprintf(what, sizeof what, "probe %.*s", HELIO_TEXT_ARGS(pool->name));
    backend->class->start(backend, &task);
    run_until(backend, probe, helio_clock_boot_ms() + PROBE_MS);
    helio_rc rc = HELIO_TIMEOUT;
    if (!probe->over) {
        helio_stop_t stop = {.key = order.key, .epoch = 1, .mode = HELIO_STOP_MODE_KILL};
        backend->class->stop(backend, &stop);
        run_until(backend, probe, helio_clock_boot_ms() + PROBE_MS);
        (void)snprintf(detail, sizeof detail,
                       "a job of one minute did not end within two minutes: is the pool busy, or held?");
    } else if (probe->end.word != HELIO_BACKEND_REPORT_ENDED || probe->end.exit_code) {
        char why[300];
        (void)helio_cause_text(probe->end.cause, helio_text_of(probe->explanation), why, sizeof why);
        (void)snprintf(detail, sizeof detail, "%s, exit code %d: %s", helio_backend_report_name(probe->end.word),
                       probe->end.exit_code, why);
        rc = HELIO_UNAVAILABLE;
    } else {
        rc = judge(self, backend, &order, probe, detail);
    }
    say(self, what, rc, detail);
    tidy(self, backend, &order);
}

/*  With what the pools' check has filled in. */
static void probe_pools(const check_t *self, const helio_site_profile_t *site, const helio_slurm_settings_t *settings)
{
    probe_t heard = {0};
    helio_error_t err = {0};
    helio_backend_t *backend = NULL;
    helio_slurm_options_t with = *self->options;
    with.site = site;
    with.settings = settings;
    with.sink = (helio_backend_sink_t){.arg = &heard, .on_event = on_event};
    if (!with.rules->users.count) {
        say(self, "probe", HELIO_INVALID, "`users` maps no user that a job could run as");
        return;
    }
    helio_rc rc = helio_slurm_new(&with, &backend, &err);
    if (rc)
        say(self, "probe", rc, err.text);
    for (uint32_t i = 0; !rc && i < site->pools.count; i++)
        probe_pool(self, backend, &heard, &site->pools.items[i]);
    helio_backend_destroy(&backend);
}

/* ---- entry -------------------------------------------------------------------------------------------------- */

void helio_slurm_check(const helio_slurm_options_t *options, bool probe, helio_slurm_check_fn *line, void *arg)
{
    check_t self = {.options = options, .arena = helio_arena_new(), .line = line, .arg = arg};
    helio_site_profile_t site = *options->site;
    helio_slurm_settings_t settings = *options->settings;
    bool good = check_commands(&self) && check_controller(&self);
    good = check_shared(&self) && good && check_pools(&self, &site, &settings);
    if (good)
        check_prolog(&self, &settings);
    if (probe && good)
        probe_pools(&self, &site, &settings);
    else if (probe)
        say(&self, "probe", HELIO_UNAVAILABLE, "not tried, because of the failures above");
    helio_arena_destroy(&self.arena);
}
