/*  exec_testing.h -- the backend `exec` in a temporary folder, with a scripted adapter and a clock that a test moves:
 *  nothing sleeps. The test writes what a shim would write. */
#ifndef HELIO_TESTS_SITE_AGENT_BACKENDS_EXEC_EXEC_TESTING_H
#define HELIO_TESTS_SITE_AGENT_BACKENDS_EXEC_EXEC_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "site-agent/backends/exec/internal.h"
#include "tests/support/folder.h"

#define WORD(name) HELIO_BACKEND_REPORT_##name

enum { BENCH_EVENTS_MAX = 32 };

typedef struct bench {
    char dir[64], folder[80], shim[80], adapter[80];
    char self_name[64];
    helio_backend_t *backend;
    helio_user_rule_t user;
    helio_job_rules_t rules;
    helio_pool_t pool;
    helio_site_profile_t site;
    helio_string_t command;
    helio_exec_settings_t settings;
    int64_t boot_ms, wall_ms;
    helio_aev_backend_t heard[BENCH_EVENTS_MAX];
    char explanation[BENCH_EVENTS_MAX][257];
    char local_id[BENCH_EVENTS_MAX][65];
    uint32_t heard_count;
    uint32_t silences, returns, doubts, surveys;
    char doubt[400];
    uint32_t free_gpus, nodes_up; /* of the last capacity */
    uint32_t on_node, waiting;    /* attempts that run on its node, and GPUs that wait for one, by then */
    helio_evidence_t evidence;    /* as the journal has it, ... */
    bool claimed_at_start;        /* ... and whether it had the claim when STARTED came */
    /* of the one job */
    helio_order_t order;
    helio_job_spec_t spec;
    char name[HELIO_ATTEMPT_NAME_SIZE];
} bench_t;

/*  The adapter prints answers from files and records each request. A script on-OP replaces the operation OP; the folder
 *  jobs holds the jobs of the engine. It runs no job. */
static const char bench_adapter[] =
    "#!/bin/sh\n"
    "cd \"$(dirname \"$0\")\"; read -r request; printf '%s\\n' \"$request\" >>asked\n"
    "op=${request#*\\\"op\\\":\\\"}; op=${op%%\\\"*}; name=${request#*\\\"name\\\":\\\"}; name=${name%%\\\"*}\n"
    "if [ -e \"on-$op\" ]; then . \"./on-$op\"; exit; fi\n"
    "case $op in\n"
    "inventory) count=0; echo '{\"node\":{\"name\":\"n1\",\"gpus\":8}}'\n"
    "  for job in jobs/*; do [ -e \"$job\" ] || continue; count=$((count + 1)); printf '{\"attempt\":%s}\\n' \"$(cat \"$job\")\"; done\n"
    "  printf '{\"end\":{\"nodes\":1,\"attempts\":%s}}\\n' $count ;;\n"
    "submit) printf '{\"name\":\"%s\",\"id\":\"7\",\"state\":\"waiting\",\"reason\":\"full\"}' \"$name\" >\"jobs/$name\"\n"
    "  echo '{\"end\":{\"submitted\":\"7\"}}' ;;\n"
    "cancel) rm -f \"jobs/$name\"; echo '{\"end\":{}}' ;;\n"
    "fence) echo '{\"end\":{\"fenced\":true}}' ;;\n"
    "*) echo '{\"end\":{}}' ;;\n"
    "esac\n";

/*  format NULL: removes the file. */
HELIO_PRINTF(3, 4)
static inline void bench_put(const bench_t *bench, const char *file, const char *format, ...)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/%s", bench->dir, file);
    if (!format) {
        (void)unlink(path);
        return;
    }
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    va_list args;
    va_start(args, format);
    (void)vfprintf(out, format, args);
    va_end(args);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(chmod(path, 0755), 0);
}

static inline void bench_on_event(void *arg, const helio_aev_backend_t *event)
{
    bench_t *bench = arg;
    assert_in_range(bench->heard_count, 0, BENCH_EVENTS_MAX - 1);
    uint32_t at = bench->heard_count++;
    if (event->word == WORD(STARTED))
        bench->claimed_at_start = bench->evidence.claimed_boot_ms != 0;
    bench->heard[at] = *event;
    (void)helio_text_copy(event->explanation, bench->explanation[at], sizeof bench->explanation[at]);
    (void)helio_text_copy(event->local_id, bench->local_id[at], sizeof bench->local_id[at]);
}

static inline void bench_on_capacity(void *arg, const helio_aev_capacity_t *capacity)
{
    bench_t *bench = arg;
    const helio_pool_capacity_t *pool = &capacity->pools.items[0];
    bench->free_gpus = 0;
    bench->nodes_up = pool->nodes_up;
    for (uint32_t i = 0; i < pool->free_nodes.count; i++)
        bench->free_gpus += i * pool->free_nodes.items[i];
}

static inline void bench_on_waiting(void *arg, helio_text_t pool, uint32_t gpus)
{
    assert_true(helio_text_is(pool, "h100"));
    ((bench_t *)arg)->waiting += gpus;
}

static inline void bench_on_nodes(void *arg, const helio_backend_node_t *nodes, uint32_t count)
{
    bench_t *bench = arg;
    assert_int_equal(count, 1);
    assert_true(helio_text_is(nodes[0].name, "n1") && nodes[0].gpus_free == 8);
    bench->on_node = nodes[0].attempt_count;
    if (bench->on_node)
        assert_memory_equal(&nodes[0].attempts[0].key, &bench->order.key, sizeof bench->order.key);
}

static inline void bench_on_silence(void *arg, bool silent, uint64_t for_ms)
{
    bench_t *bench = arg;
    (void)for_ms;
    bench->silences += silent;
    bench->returns += !silent;
}

static inline void bench_on_doubt(void *arg, const char *text)
{
    bench_t *bench = arg;
    bench->doubts++;
    (void)snprintf(bench->doubt, sizeof bench->doubt, "%s", text);
}

static inline void bench_on_survey(void *arg, const char *hindrance)
{
    ((bench_t *)arg)->surveys += hindrance == NULL;
}

/*  As the core keeps it. */
static inline void bench_on_evidence(void *arg, const helio_aev_evidence_t *event)
{
    bench_t *bench = arg;
    helio_evidence_t before = bench->evidence;
    bench->evidence = event->evidence;
    bench->evidence.asked_wall_ms = before.asked_wall_ms;
    bench->evidence.asked_boot_ms = before.asked_boot_ms;
}

static inline void bench_create(bench_t *bench)
{
    helio_error_t err = {0};
    helio_exec_options_t options = {.site = &bench->site,
                                    .rules = &bench->rules,
                                    .settings = &bench->settings,
                                    .shim = bench->shim,
                                    .lease_margin_ms = 60000,
                                    .sink = {.arg = bench,
                                             .on_event = bench_on_event,
                                             .on_capacity = bench_on_capacity,
                                             .on_nodes = bench_on_nodes,
                                             .on_waiting = bench_on_waiting,
                                             .on_silence = bench_on_silence,
                                             .on_doubt = bench_on_doubt,
                                             .on_evidence = bench_on_evidence,
                                             .on_survey = bench_on_survey}};
    if (helio_exec_new(&options, &bench->backend, &err))
        fail_msg("%s", err.text);
}

static inline void bench_open(bench_t *bench)
{
    const struct passwd *me = getpwuid(geteuid());
    char path[100];
    *bench = (bench_t){.boot_ms = 1000000, .wall_ms = INT64_C(1790000000000)};
    (void)snprintf(bench->dir, sizeof bench->dir, "/tmp/helio-exec-XXXXXX");
    assert_non_null(mkdtemp(bench->dir));
    assert_int_equal(chmod(bench->dir, 0711), 0);
    (void)snprintf(path, sizeof path, "%s/jobs", bench->dir);
    assert_int_equal(mkdir(path, 0755), 0);
    (void)snprintf(bench->folder, sizeof bench->folder, "%s/shared", bench->dir);
    assert_int_equal(mkdir(bench->folder, 0755), 0);
    (void)snprintf(bench->shim, sizeof bench->shim, "%s/shim", bench->dir);
    (void)snprintf(bench->adapter, sizeof bench->adapter, "%s/adapter", bench->dir);
    bench_put(bench, "shim", "#!/bin/sh\nexit 0\n");
    bench_put(bench, "adapter", "%s", bench_adapter);
    assert_non_null(me);
    (void)snprintf(bench->self_name, sizeof bench->self_name, "%s", me->pw_name);
    bench->user = (helio_user_rule_t){.tenant = HELIO_TEXT("acme"),
                                      .user = HELIO_TEXT("*"),
                                      .unix_user = helio_text_of(bench->self_name),
                                      .allow_root = true};
    bench->rules = (helio_job_rules_t){
        .path = HELIO_TEXT("/usr/bin:/bin"), .grace_ms = 30000, .retention_ms = 1000, .log_max_bytes = 1 << 20};
    bench->rules.users.items = &bench->user;
    bench->rules.users.count = 1;
    bench->pool = (helio_pool_t){.name = HELIO_TEXT("h100"), .nodes = 1, .gpus_per_node = 8};
    bench->site = (helio_site_profile_t){.name = HELIO_TEXT("lund"), .backend = HELIO_TEXT("exec"), .pue = 1};
    bench->site.pools.items = &bench->pool;
    bench->site.pools.count = 1;
    bench->command = (helio_string_t){.text = helio_text_of(bench->adapter)};
    bench->settings = (helio_exec_settings_t){.command = {&bench->command, 1},
                                              .folder = helio_text_of(bench->folder),
                                              .poll_ms = 2000,
                                              .timeout_ms = 1000,
                                              .withdraw_ms = 600000,
                                              .prolog_ms = 10000,
                                              .clock_tolerance_ms = 5000};
    bench->order = (helio_order_t){.epoch = 1,
                                   .tenant = HELIO_TEXT("acme"),
                                   .user = HELIO_TEXT("ada"),
                                   .pool = HELIO_TEXT("h100"),
                                   .nodes = 1,
                                   .gpus_per_node = 2};
    bench->order.key.task = HELIO_NO_TASK;
    bench->order.key.job.bytes[15] = 7;
    bench->spec.run = HELIO_TEXT("true");
    helio_attempt_name(bench->order.key, 1, bench->name);
    bench_create(bench);
}

static inline void bench_reopen(bench_t *bench) /* the agent is restarted */
{
    helio_backend_destroy(&bench->backend);
    bench_create(bench);
}

static inline void bench_close(bench_t *bench)
{
    helio_backend_destroy(&bench->backend);
    assert_int_equal(folder_remove(bench->dir), 0);
}

/*  Until nothing is due and no request is under way. A hung adapter ends when its real time is over. */
static inline void bench_settle(bench_t *bench)
{
    const helio_backend_class_t *class = bench->backend->class;
    int64_t end_ms = helio_clock_boot_ms() + 60000;
    while (helio_clock_boot_ms() < end_ms) {
        class->process(bench->backend, bench->boot_ms, bench->wall_ms);
        if (class->next_ms(bench->backend) <= bench->boot_ms)
            continue;
        struct pollfd fd = {.fd = class->fd(bench->backend), .events = POLLIN};
        if (!helio_commands_busy(helio_exec_of(bench->backend)->commands))
            return;
        if (poll(&fd, 1, 500) == 0) { /* it hangs, and is not only slow: its time passes */
            bench->boot_ms += 500;
            bench->wall_ms += 500;
        }
    }
    fail_msg("it does not come to rest");
}

static inline void bench_pass(bench_t *bench, int64_t ms)
{
    int64_t until_ms = bench->boot_ms + ms;
    bench_settle(bench);
    while (bench->boot_ms < until_ms) {
        int64_t next_ms = bench->backend->class->next_ms(bench->backend), from_ms = bench->boot_ms;
        bench->boot_ms = next_ms > until_ms ? until_ms : next_ms > from_ms ? next_ms : from_ms + 1;
        bench->wall_ms += bench->boot_ms - from_ms;
        bench_settle(bench);
    }
}

static inline helio_backend_task_t bench_task(const bench_t *bench)
{
    return (helio_backend_task_t){.order = &bench->order, .spec = &bench->spec};
}

static inline void bench_start(bench_t *bench)
{
    helio_backend_task_t task = bench_task(bench);
    bench->evidence = (helio_evidence_t){.asked_wall_ms = bench->wall_ms, .asked_boot_ms = bench->boot_ms};
    bench->backend->class->start(bench->backend, &task);
}

static inline void bench_adopt(bench_t *bench)
{
    helio_backend_task_t task = bench_task(bench);
    bench->backend->class->adopt(bench->backend, &task);
}

/*  The agent is restarted with its journal; bench_adopt is that of an older agent. */
static inline void bench_restart(bench_t *bench)
{
    const helio_evidence_t journal = bench->evidence;
    helio_backend_task_t task = bench_task(bench);
    bench_reopen(bench);
    bench->heard_count = 0;
    task.evidence = &journal;
    bench->backend->class->adopt(bench->backend, &task);
}

static inline void bench_stop(bench_t *bench, uint32_t mode)
{
    helio_stop_t stop = {.key = bench->order.key, .epoch = 1, .mode = mode};
    bench->backend->class->stop(bench->backend, &stop);
}

/*  Requests whose line contains the text. */
static inline uint32_t bench_asked(const bench_t *bench, const char *text)
{
    char path[100], line[4096];
    uint32_t count = 0;
    (void)snprintf(path, sizeof path, "%s/asked", bench->dir);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        count += strstr(line, text) != NULL;
    if (file)
        (void)fclose(file);
    return count;
}

/* ---- what an engine and a shim do --------------------------------------------------------------------------- */

static inline void bench_engine(const bench_t *bench, const char *state)
{
    char file[100];
    (void)snprintf(file, sizeof file, "jobs/%s", bench->name);
    if (state)
        bench_put(bench, file, "{\"name\":\"%s\",\"id\":\"7\",\"state\":\"%s\",\"reason\":\"as it is\"}", bench->name,
                  state);
    else
        bench_put(bench, file, NULL);
}

static inline int bench_attempt(const bench_t *bench)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/attempts/%s", bench->folder, bench->name);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(folder >= 0);
    return folder;
}

static inline void bench_claim(const bench_t *bench)
{
    int folder = bench_attempt(bench);
    helio_claim_t claim = {.shim = {.pid = 4242, .start_ticks = 1}, .host = "n1"};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_process_boot_id(claim.boot_id);
    helio_claim_text(&claim, &text);
    assert_int_equal(helio_status_file_claim(folder, "claim", helio_buffer_view(&text), NULL), HELIO_OK);
    (void)close(folder);
}

static inline void bench_began(const bench_t *bench)
{
    int folder = bench_attempt(bench);
    helio_started_t *started = helio_new(1, sizeof *started);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    started->wall_ms = bench->wall_ms;
    started->boot_ms = bench->boot_ms;
    started->rank_count = 1;
    started->ranks[0] = (helio_process_t){4243, 1};
    helio_started_text(started, &text);
    assert_int_equal(helio_status_file_write(folder, "started", helio_buffer_view(&text), 0600, NULL), HELIO_OK);
    free(started);
    (void)close(folder);
}

static inline void bench_done(const bench_t *bench, helio_done_t done)
{
    int folder = bench_attempt(bench);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    done.ended_wall_ms = bench->wall_ms;
    helio_done_text(&done, &text);
    assert_int_equal(helio_status_file_write(folder, "done", helio_buffer_view(&text), 0600, NULL), HELIO_OK);
    (void)close(folder);
}

static inline void bench_run(bench_t *bench)
{
    bench_claim(bench);
    bench_began(bench);
    bench_engine(bench, "running");
    bench_pass(bench, 4000);
    assert_int_equal(bench->heard[bench->heard_count - 1].word, WORD(STARTED));
}

/*  One that runs; STARTED was said. */
static inline void bench_open_running(bench_t *bench)
{
    bench_open(bench);
    bench_start(bench);
    bench_settle(bench);
    bench_run(bench);
}

static inline void bench_expect(const bench_t *bench, uint32_t n, uint32_t word, uint32_t cause)
{
    assert_true(bench->heard_count > n);
    assert_string_equal(helio_backend_report_name(bench->heard[n].word), helio_backend_report_name(word));
    assert_string_equal(helio_cause_name(bench->heard[n].cause), helio_cause_name(cause));
}

#endif
