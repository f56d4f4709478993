/*  slurm_double.c -- drives the backend `slurm` with substitute programs and a clock, and collects its events. */
#include "tests/support/folder.h"
#include "tests/support/slurm_double.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "federation/base/clock.h"
#include "site-agent/backends/slurm/slurm_internal.h"

static void on_event(void *arg, const helio_aev_backend_t *event)
{
    lab_t *lab = arg;
    if (event->word == HELIO_BACKEND_REPORT_WAITING) {
        lab->waitings++;
        assert_int_equal(event->cause, HELIO_CAUSE_WAITS_IN_CLUSTER);
        (void)helio_text_copy(event->explanation, lab->waits, sizeof lab->waits);
        return;
    }
    assert_true(lab->heard_count < LAB_EVENTS_MAX);
    lab_event_t *heard = &lab->heard[lab->heard_count++];
    heard->event = *event;
    assert_true(event->explanation.size <= 256 && event->local_id.size <= 64);
    (void)helio_text_copy(event->explanation, heard->explanation, sizeof heard->explanation);
    (void)helio_text_copy(event->local_id, heard->local_id, sizeof heard->local_id);
}

static void on_capacity(void *arg, const helio_aev_capacity_t *capacity)
{
    lab_t *lab = arg;
    lab->capacities++;
    memset(lab->free_nodes, 0, sizeof lab->free_nodes);
    assert_int_equal(capacity->pools.count, 1);
    lab->gpus_total = capacity->pools.items[0].gpus_total;
    for (uint32_t i = 0; i < capacity->pools.items[0].free_nodes.count && i < 9; i++)
        lab->free_nodes[i] = capacity->pools.items[0].free_nodes.items[i];
}

static void on_series(void *arg, const helio_aev_series_t *series)
{
    (void)series;
    ((lab_t *)arg)->series++;
}

static void on_silence(void *arg, bool silent, uint64_t for_ms)
{
    lab_t *lab = arg;
    lab->silences += silent;
    lab->returns += !silent;
    lab->silent_ms = for_ms;
}

static void on_evidence(void *arg, const helio_aev_evidence_t *event)
{
    lab_t *lab = arg;
    helio_evidence_t before = lab->evidence;
    lab->evidence = event->evidence;
    lab->evidence.asked_wall_ms = before.asked_wall_ms;
    lab->evidence.asked_boot_ms = before.asked_boot_ms;
}

static void on_survey(void *arg, const char *hindrance)
{
    lab_t *lab = arg;
    lab->surveys += hindrance == NULL;
    lab->hindrances += hindrance != NULL;
    if (hindrance)
        (void)snprintf(lab->hindrance, sizeof lab->hindrance, "%s", hindrance);
}

static void create(lab_t *lab)
{
    helio_slurm_options_t options = {.site = &lab->site,
                                     .rules = &lab->rules,
                                     .settings = &lab->settings,
                                     .shim = lab->shim,
                                     .lease_margin_ms = 60000,
                                     .sink = {.arg = lab,
                                              .on_event = on_event,
                                              .on_capacity = on_capacity,
                                              .on_series = on_series,
                                              .on_silence = on_silence,
                                              .on_evidence = on_evidence,
                                              .on_survey = on_survey}};
    helio_error_t err = {0};
    if (helio_slurm_new(&options, &lab->backend, &err))
        fail_msg("%s", err.text);
}

static void put_programs(const lab_t *lab)
{
    static const char *const names[] = {"sbatch", "squeue", "scontrol", "sacct", "scancel"};
    char path[200];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/bin/%s", lab->dir, names[i]);
        assert_int_equal(symlink(HELIO_SOURCE_DIR "/tests/support/slurm_double.sh", path), 0);
    }
    lab_put(lab, "nodes",
            "NodeName=n1 Arch=x86_64 CoresPerSocket=64  CPUAlloc=0 CPUEfctv=64 CPUTot=64 CPULoad=0.00 "
            "AvailableFeatures=(null) ActiveFeatures=(null) Gres=gpu:h100:8 GresDrain=N/A "
            "GresUsed=gpu:h100:0(IDX:N/A) "
            "NodeAddr=n1 NodeHostName=n1 Port=1 Version=22.05.8 OS=Linux  RealMemory=512000 AllocMem=0 "
            "FreeMem=22364 "
            "Sockets=1 Boards=1 State=IDLE ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A "
            "Partitions=main  "
            "BootTime=1 SlurmdStartTime=1 LastBusyTime=1 CfgTRES=cpu=64,mem=500G,billing=64 AllocTRES= "
            "CapWatts=n/a\n");
    lab_put(lab, "partitions",
            "PartitionName=main AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL AllocNodes=ALL Default=YES "
            "QoS=N/A "
            "DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO MaxNodes=UNLIMITED "
            "MaxTime=02:00:00 "
            "MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED Nodes=n1 PriorityJobFactor=1 PriorityTier=1 "
            "RootOnly=NO ReqResv=NO "
            "OverSubscribe=NO OverTimeLimit=NONE PreemptMode=OFF State=UP TotalCPUs=64 TotalNodes=1\n");
    lab_put(lab, "reservations", "No reservations in the system\n");
}

void lab_open(lab_t *lab)
{
    static const char *const folders[] = {"bin", "jobs", "shared"};
    *lab = (lab_t){.boot_ms = 1000000, .wall_ms = INT64_C(1790000000000)};
    (void)snprintf(lab->dir, sizeof lab->dir, "/tmp/helio-slurm-XXXXXX");
    assert_non_null(mkdtemp(lab->dir));
    assert_int_equal(chmod(lab->dir, 0711), 0);
    for (size_t i = 0; i < 3; i++) {
        char path[200];
        (void)snprintf(path, sizeof path, "%s/%s", lab->dir, folders[i]);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    (void)snprintf(lab->shared, sizeof lab->shared, "%s/shared", lab->dir);
    (void)snprintf(lab->commands, sizeof lab->commands, "%s/bin", lab->dir);
    (void)snprintf(lab->shim, sizeof lab->shim, "%s/shim", lab->dir);
    lab_put(lab, "shim", "#!/bin/sh\nexit 0\n");
    lab_put(lab, "uid", "%u\n", geteuid());
    put_programs(lab);
    const struct passwd *me = getpwuid(geteuid());
    assert_non_null(me);
    (void)snprintf(lab->self_name, sizeof lab->self_name, "%s", me->pw_name);
    lab->users[0] = (helio_user_rule_t){.tenant = HELIO_TEXT("acme"),
                                        .user = HELIO_TEXT("*"),
                                        .unix_user = helio_text_of(lab->self_name),
                                        .allow_root = true};
    lab->rules = (helio_job_rules_t){
        .path = HELIO_TEXT("/usr/bin:/bin"), .grace_ms = 30000, .retention_ms = 1000, .log_max_bytes = 1 << 20};
    lab->rules.users.items = lab->users;
    lab->rules.users.count = 1;
    lab->pool = (helio_pool_t){
        .name = HELIO_TEXT("h100"), .gpu = HELIO_TEXT("H100"), .nodes = 1, .max_nodes = 1, .gpus_per_node = 8};
    lab->site = (helio_site_profile_t){.name = HELIO_TEXT("lulea"), .backend = HELIO_TEXT("slurm"), .pue = 1};
    lab->site.pools.items = &lab->pool;
    lab->site.pools.count = 1;
    lab->settings = (helio_slurm_settings_t){.shared = helio_text_of(lab->shared),
                                             .commands = helio_text_of(lab->commands),
                                             .poll_ms = 10000,
                                             .timeout_ms = 30000,
                                             .clock_tolerance_ms = 5000};
    create(lab);
}

void lab_reopen(lab_t *lab)
{
    helio_backend_destroy(&lab->backend);
    create(lab);
}

void lab_close(lab_t *lab)
{
    helio_backend_destroy(&lab->backend);
    (void)folder_remove(lab->dir);
}

/* ---- entry -------------------------------------------------------------------------------------------------- */

helio_job_key_t lab_key(void)
{
    helio_job_key_t key = {.task = HELIO_NO_TASK};
    for (size_t i = 0; i < sizeof key.job.bytes; i++)
        key.job.bytes[i] = (uint8_t)(i * 5 + 3);
    return key;
}

static void fill(lab_job_t *job)
{
    if (!job->order.pool.size)
        job->order.gpus_per_node = 2;
    job->order.pool = HELIO_TEXT("h100");
    job->order.key = lab_key();
    job->order.epoch = job->epoch ? job->epoch : 1;
    if (!job->order.tenant.size) {
        job->order.tenant = HELIO_TEXT("acme");
        job->order.user = HELIO_TEXT("ada");
    }
    if (!job->order.nodes)
        job->order.nodes = 1;
    if (!job->spec.run.size)
        job->spec.run = HELIO_TEXT("true\n");
    helio_attempt_name(job->order.key, job->order.epoch, job->text);
    job->name = job->text;
}

void lab_start(lab_t *lab, lab_job_t *job)
{
    fill(job);
    helio_backend_task_t task = {.order = &job->order, .spec = &job->spec};
    lab->evidence = (helio_evidence_t){.asked_wall_ms = lab->wall_ms, .asked_boot_ms = lab->boot_ms};
    lab->backend->class->start(lab->backend, &task);
}

void lab_adopt(lab_t *lab, lab_job_t *job)
{
    fill(job);
    helio_backend_task_t task = {.order = &job->order, .spec = &job->spec};
    lab->backend->class->adopt(lab->backend, &task);
}

void lab_restart(lab_t *lab, lab_job_t *job)
{
    const helio_evidence_t journal = lab->evidence;
    helio_backend_task_t task = {.order = &job->order, .spec = &job->spec, .evidence = &journal};
    lab_reopen(lab);
    lab->heard_count = 0;
    lab->backend->class->adopt(lab->backend, &task);
}

void lab_stop(lab_t *lab, const lab_job_t *job, uint32_t mode)
{
    helio_stop_t stop = {.key = job->order.key, .epoch = job->order.epoch, .mode = mode};
    lab->backend->class->stop(lab->backend, &stop);
}

/* ---- the clock ----------------------------------------------------------------------------------------- */

/*  Exists and was not killed: a process that has just ended still exists for a moment. */
static bool hangs(const char *pid)
{
    char path[64], line[200];
    bool alive = false, killed = false;
    (void)snprintf(path, sizeof path, "/proc/%.20s/status", pid);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof line, status)) {
        if (strncmp(line, "State:", 6) == 0)
            alive = !strchr(line, 'Z') && !strchr(line, 'X');
        else if (strncmp(line, "SigPnd:", 7) == 0 || strncmp(line, "ShdPnd:", 7) == 0)
            killed = killed || strtoull(line + 7, NULL, 16) != 0;
    }
    if (status)
        (void)fclose(status);
    return alive && !killed;
}

/*  Programs that were told to hang, and still do. */
static uint32_t hung_count(const lab_t *lab)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t pids = {0};
    uint32_t count = 0;
    lab_read(lab, "hung", &pids);
    char *rest = NULL;
    for (char *pid = pids.data ? strtok_r(pids.data, "\n", &rest) : NULL; pid; pid = strtok_r(NULL, "\n", &rest))
        count += hangs(pid);
    return count;
}

void lab_settle(lab_t *lab)
{
    const helio_backend_class_t *class = lab->backend->class;
    int64_t end_ms = helio_clock_boot_ms() + 60000;
    while (helio_clock_boot_ms() < end_ms) {
        class->process(lab->backend, lab->boot_ms, lab->wall_ms);
        if (class->next_ms(lab->backend) <= lab->boot_ms)
            continue;
        uint32_t busy = helio_commands_busy(helio_slurm_of(lab->backend)->commands);
        struct pollfd fd = {.fd = class->fd(lab->backend), .events = POLLIN};
        if (!busy || (busy <= hung_count(lab) && poll(&fd, 1, 0) == 0))
            return;
        (void)poll(&fd, 1, 100);
    }
    fail_msg("it does not come to rest");
}

void lab_pass(lab_t *lab, int64_t ms)
{
    int64_t until_ms = lab->boot_ms + ms;
    lab_settle(lab);
    while (lab->boot_ms < until_ms) {
        int64_t next_ms = lab->backend->class->next_ms(lab->backend), from_ms = lab->boot_ms;
        lab->boot_ms = next_ms > until_ms ? until_ms : next_ms > from_ms ? next_ms : from_ms + 1;
        lab->wall_ms += lab->boot_ms - from_ms;
        lab_settle(lab);
    }
}

/* ---- control of the programs -------------------------------------------------------------------------------- */

void lab_put(const lab_t *lab, const char *file, const char *format, ...)
{
    char path[300], temporary[320];
    (void)snprintf(path, sizeof path, "%s/%s", lab->dir, file);
    (void)snprintf(temporary, sizeof temporary, "%s.new", path);
    if (!format) {
        (void)unlink(path);
        return;
    }
    FILE *out = fopen(temporary, "we");
    assert_non_null(out);
    va_list args;
    va_start(args, format);
    (void)vfprintf(out, format, args);
    va_end(args);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(chmod(temporary, 0755), 0);
    assert_int_equal(rename(temporary, path), 0);
}

void lab_answer(const lab_t *lab, const char *program, const char *out, const char *err, int rc)
{
    char file[64];
    (void)snprintf(file, sizeof file, "rc.%s", program);
    if (out)
        lab_put(lab, file, "%d\n", rc);
    else
        lab_put(lab, file, NULL);
    (void)snprintf(file, sizeof file, "out.%s", program);
    lab_put(lab, file, "%s", out ? out : "");
    (void)snprintf(file, sizeof file, "err.%s", program);
    lab_put(lab, file, "%s", err ? err : "");
}

void lab_read(const lab_t *lab, const char *file, helio_buffer_t *out)
{
    char path[300], piece[4096];
    (void)snprintf(path, sizeof path, "%s/%s", lab->dir, file);
    FILE *in = fopen(path, "re");
    size_t size;
    helio_buffer_text(out, "");
    if (!in)
        return;
    while ((size = fread(piece, 1, sizeof piece, in)) > 0)
        helio_buffer_append(out, piece, size);
    (void)fclose(in);
}

void lab_set(const lab_t *lab, const char *id, const char *what, const char *value)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    char file[64];
    (void)snprintf(file, sizeof file, "jobs/%s", id);
    lab_read(lab, file, &text);
    lab_put(lab, file, "%s%s='%s'\n", text.data ? text.data : "", what, value); /* the last assignment counts */
}

void lab_drop(const lab_t *lab, const char *id)
{
    lab_set(lab, id, "listed", "no");
    lab_set(lab, id, "known", "no");
}

bool lab_has(const lab_t *lab, const char *format, ...)
{
    char name[200], path[300];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(name, sizeof name, format, args);
    va_end(args);
    (void)snprintf(path, sizeof path, "%s/%s", lab->dir, name);
    return access(path, F_OK) == 0;
}

uint32_t lab_calls(const lab_t *lab, const char *text)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t calls = {0};
    uint32_t count = 0;
    lab_read(lab, "calls", &calls);
    char *rest = NULL;
    for (char *line = calls.data ? strtok_r(calls.data, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
        count += strstr(line, text) != NULL;
    return count;
}

/* ---- actions of a shim -------------------------------------------------------------------------------------- */

static int open_folder(const lab_t *lab, const lab_job_t *job)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/attempts/%s", lab->shared, job->name);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(folder >= 0);
    return folder;
}

void lab_claim(const lab_t *lab, const lab_job_t *job, const char *id)
{
    int folder = open_folder(lab, job);
    helio_claim_t claim = {.shim = {.pid = 4242, .start_ticks = 1}, .host = "n1"};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_process_boot_id(claim.boot_id);
    (void)snprintf(claim.scheduler_id, sizeof claim.scheduler_id, "%s", id);
    helio_claim_text(&claim, &text);
    assert_int_equal(helio_status_file_claim(folder, "claim", helio_buffer_view(&text), NULL), HELIO_OK);
    (void)close(folder);
}

void lab_started(const lab_t *lab, const lab_job_t *job)
{
    int folder = open_folder(lab, job);
    helio_started_t *started = helio_new(1, sizeof *started);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    started->wall_ms = lab->wall_ms;
    started->boot_ms = lab->boot_ms;
    started->rank_count = 1;
    started->ranks[0] = (helio_process_t){4243, 1};
    helio_started_text(started, &text);
    assert_int_equal(helio_status_file_write(folder, "started", helio_buffer_view(&text), 0600, NULL), HELIO_OK);
    free(started);
    (void)close(folder);
}

void lab_done(const lab_t *lab, const lab_job_t *job, helio_done_t done)
{
    int folder = open_folder(lab, job);
    if (!done.ended_wall_ms)
        done.ended_wall_ms = lab->wall_ms;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_done_text(&done, &text);
    assert_int_equal(helio_status_file_write(folder, "done", helio_buffer_view(&text), 0600, NULL), HELIO_OK);
    (void)close(folder);
}

void lab_report(const lab_t *lab, const lab_job_t *job, const char *text, int64_t wall_ms)
{
    int folder = open_folder(lab, job);
    int fd = openat(folder, "report", O_WRONLY | O_TRUNC | O_CLOEXEC);
    struct timespec at = {.tv_sec = wall_ms / 1000, .tv_nsec = wall_ms % 1000 * 1000000};
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(futimens(fd, (struct timespec[2]){at, at}), 0);
    (void)close(fd);
    (void)close(folder);
}

void lab_run(lab_t *lab, const lab_job_t *job, const char *id)
{
    lab_claim(lab, job, id);
    lab_started(lab, job);
    lab_set(lab, id, "state", "RUNNING");
    lab_set(lab, id, "reason", "None");
}

void lab_account(const lab_t *lab, const lab_job_t *job, const char *id, const char *state, const char *exit,
                 int64_t start_s, int64_t end_s)
{
    lab_put(lab, "accounting", "%-56s %-40s %-32s %-12s %-20lld %-20lld %-20lld %-12u \n", job->name, id, state, exit,
            (long long)start_s, (long long)start_s, (long long)end_s, (unsigned)geteuid());
}

/* ---- events ------------------------------------------------------------------------------------------------- */

const lab_event_t *lab_last(const lab_t *lab)
{
    return lab->heard_count ? &lab->heard[lab->heard_count - 1] : NULL;
}

void lab_expect_word(const lab_t *lab, uint32_t n, uint32_t word)
{
    assert_true(lab->heard_count > n);
    lab_expect(lab, n, word, lab->heard[n].event.cause, "");
}

void lab_expect(const lab_t *lab, uint32_t n, uint32_t word, uint32_t cause, const char *explanation)
{
    if (lab->heard_count <= n)
        fail_msg("%u events were heard, not %u", lab->heard_count, n + 1);
    const lab_event_t *heard = &lab->heard[n];
    if (heard->event.word != word || heard->event.cause != cause ||
        strncmp(heard->explanation, explanation, strlen(explanation)) != 0)
        fail_msg("event %u is %s %s '%s', not %s %s '%s'", n, helio_backend_report_name(heard->event.word),
                 helio_cause_name(heard->event.cause), heard->explanation, helio_backend_report_name(word),
                 helio_cause_name(cause), explanation);
}
