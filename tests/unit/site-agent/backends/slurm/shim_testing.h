/*  shim_testing.h -- a folder of an attempt, an srun that is none, and the real shim.
 *
 *  helio-shim as Slurm starts it: alone, as a batch script's parent, and as the head of several nodes whose srun is a
 *  script of the test's own.
 */
#ifndef HELIO_TESTS_SITE_AGENT_BACKENDS_SLURM_SHIM_TESTING_H
#define HELIO_TESTS_SITE_AGENT_BACKENDS_SLURM_SHIM_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "federation/base/clock.h"
#include "site-agent/backends/folder/folder.h"
#include "tests/support/local_fixture.h"

enum { ENV_MAX = 24 };

/*  Starts a task for each node, as srun does; TERM kills them all. What it was called with is in `srun.args`. On TERM
 * it forks nothing: whatever of the job is not called srun is being killed by then. */
static const char fake_srun[] =
    "#!/bin/bash\n"
    "here=${0%/*}; pids=(); worst=0\n"
    "trap ': > \"$here/srun.term\"; kill -9 \"${pids[@]}\"; exit 137' TERM\n"
    "echo \"$@\" > \"$here/srun.args\"; env > \"$here/srun.env\"\n"
    "[ -e \"$here/srun.broken\" ] && { echo 'srun: error: Unable to create step' >&2; exit 9; }\n"
    "while [ \"${1#-}\" != \"$1\" ]; do case $1 in --nodes=*) n=${1#*=} ;; esac; shift; done\n"
    "for ((i = 0; i < n; i++)); do\n"
    "  [ -e \"$here/rank.$i.broken\" ] && export SLURM_JOB_NODELIST='n['\n"
    "  SLURM_NODEID=$i SLURM_PROCID=$i SLURM_STEP_ID=0 CUDA_VISIBLE_DEVICES=$i,7 \"$@\" & pids+=($!)\n"
    "done\n"
    "for pid in \"${pids[@]}\"; do wait $pid; code=$?; [ $code -gt $worst ] && worst=$code; done\n"
    "exit $worst\n";

typedef struct bed {
    char dir[64];
    char self_name[64];
    helio_user_rule_t users[1];
    helio_job_rules_t rules;
    helio_folders_t *folders;
    helio_folder_how_t how;
    helio_job_spec_t spec;
    helio_order_t order;
    char name[HELIO_ATTEMPT_NAME_SIZE];
    char folder[256];
    char env_texts[ENV_MAX][256];
    uint32_t env_count;
    pid_t shim;
} bed_t;

static inline void write_file(const bed_t *bed, const char *name, const char *text, mode_t mode)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/%s", bed->dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
}

#define ENV(bed, ...)                                                            \
    do {                                                                         \
        char env_text[256]; /* what is printed may be the bed's own */           \
        (void)snprintf(env_text, sizeof env_text, __VA_ARGS__);                  \
        memcpy((bed)->env_texts[(bed)->env_count++], env_text, sizeof env_text); \
    } while (0)

static inline void open_bed(bed_t *bed)
{
    (void)snprintf(bed->dir, sizeof bed->dir, "/tmp/helio-shim-XXXXXX");
    assert_non_null(mkdtemp(bed->dir));
    assert_int_equal(chmod(bed->dir, 0711), 0);
    (void)snprintf(bed->self_name, sizeof bed->self_name, "%s", getpwuid(geteuid())->pw_name);
    bed->users[0] = (helio_user_rule_t){.tenant = HELIO_TEXT("*"),
                                        .shared = true,
                                        .user = HELIO_TEXT("*"),
                                        .unix_user = helio_text_of(bed->self_name),
                                        .allow_root = true,
                                        .account = HELIO_TEXT("acme-gpu")};
    bed->rules = (helio_job_rules_t){
        .path = HELIO_TEXT("/usr/bin:/bin"), .grace_ms = 1500, .retention_ms = 1000, .log_max_bytes = 1 << 20};
    bed->rules.users.items = bed->users;
    bed->rules.users.count = 1;
    helio_folders_options_t options = {
        .root = bed->dir, .site = HELIO_TEXT("lulea"), .rules = &bed->rules, .users_own = true};
    helio_error_t err = {0};
    if (helio_folders_new(&options, &bed->folders, &err))
        fail_msg("%s", err.text);
    bed->how = (helio_folder_how_t){.launcher = HELIO_LAUNCHER_SLURM, .clock_tolerance_ms = 1000};
    bed->order = (helio_order_t){
        .key = site_key(), .epoch = 1, .tenant = HELIO_TEXT("acme"), .user = HELIO_TEXT("ada"), .nodes = 1};
    helio_attempt_name(bed->order.key, 1, bed->name);
    char folder[sizeof bed->folder];
    (void)snprintf(folder, sizeof folder, "%s/attempts/%s", bed->dir, bed->name);
    memcpy(bed->folder, folder, sizeof folder);
    write_file(bed, "srun", fake_srun, 0755);
    ENV(bed, "PATH=%s:/usr/bin:/bin", bed->dir);
    ENV(bed, "SLURM_JOB_ID=4711");
    ENV(bed, "SLURM_JOB_NODELIST=eu-n[1-3]");
    ENV(bed, "SLURM_CONF=/etc/lab/slurm.conf");
    ENV(bed, "SLURM_EXPORT_ENV=NONE");
    ENV(bed, "CANARY_OF_THE_AGENT=1");
}

static inline void close_bed(bed_t *bed)
{
    helio_folders_destroy(&bed->folders);
    char command[128];
    (void)snprintf(command, sizeof command, "%s", bed->dir);
    char rm[] = "rm", flags[] = "-rf", *argv[] = {rm, flags, command, NULL};
    pid_t pid;
    assert_int_equal(posix_spawnp(&pid, "rm", NULL, NULL, argv, environ), 0);
    (void)waitpid(pid, NULL, 0);
}

static inline void prepare(bed_t *bed, const char *run)
{
    helio_error_t err = {0};
    bed->spec.run = helio_text_of(run);
    helio_backend_task_t task = {.order = &bed->order, .spec = &bed->spec};
    uint32_t cause;
    if (helio_folders_prepare(bed->folders, &task, bed->name, &bed->how, &cause, &err))
        fail_msg("%s", err.text);
}

/*  Its standard error goes to slurm.log, as sbatch has it. */
static inline pid_t spawn(bed_t *bed)
{
    char shim[] = HELIO_SHIM_PATH, slurm[] = "--slurm", batch[] = "--batch";
    char *flag = bed->how.launcher == HELIO_LAUNCHER_BATCH ? batch : slurm, log[512],
         *argv[] = {shim, flag, bed->folder, NULL};
    char *env[ENV_MAX + 1] = {0};
    for (uint32_t i = 0; i < bed->env_count; i++)
        env[i] = bed->env_texts[i];
    (void)snprintf(log, sizeof log, "%s/slurm.log", bed->dir);
    posix_spawn_file_actions_t actions;
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    (void)posix_spawn_file_actions_adddup2(&actions, 1, 2);
    assert_int_equal(posix_spawn(&bed->shim, shim, &actions, NULL, argv, env), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    return bed->shim;
}

static inline int wait_for(pid_t pid)
{
    int status = 0;
    for (int i = 0; i < 2000; i++) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
        (void)poll(NULL, 0, 10);
    }
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, &status, 0);
    fail_msg("the shim does not end");
    return -1;
}

/*  As the agent kills: without the file, the signal is the script's. */
static inline void tell_to_kill(const bed_t *bed)
{
    int folder = -1;
    assert_int_equal(helio_folders_open(bed->folders, bed->name, &folder, NULL), HELIO_OK);
    assert_int_equal(helio_folder_stop(folder, HELIO_STOP_MODE_KILL, NULL), HELIO_OK);
    (void)close(folder);
    assert_int_equal(kill(bed->shim, SIGUSR2), 0);
}

static inline helio_done_t done_of(const bed_t *bed)
{
    helio_done_t done = {0};
    helio_error_t err = {0};
    int folder = -1;
    assert_int_equal(helio_folders_open(bed->folders, bed->name, &folder, NULL), HELIO_OK);
    assert_true(folder >= 0);
    if (helio_folder_done(folder, &done, &err))
        fail_msg("%s", err.text);
    (void)close(folder);
    return done;
}

static inline void read_file(const bed_t *bed, const char *name, helio_buffer_t *out)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", name[0] == '@' ? bed->folder : bed->dir,
                   name[0] == '@' ? name + 1 : name);
    if (!read_whole(path, out))
        fail_msg("there is no %s", path);
    helio_buffer_append(out, "", 1);
}

static inline bool has(const bed_t *bed, const char *name, const char *text)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t whole = {0};
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", name[0] == '@' ? bed->folder : bed->dir,
                   name[0] == '@' ? name + 1 : name);
    return read_whole(path, &whole) && whole.size && strstr(whole.data, text);
}

static inline void expect(const bed_t *bed, const char *name, const char *text)
{
    if (has(bed, name, text))
        return;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t whole = {0};
    read_file(bed, name, &whole);
    fail_msg("%s has no '%s' but: %s", name, text, whole.data);
}

static inline void wait_log(const bed_t *bed, const char *text)
{
    for (int i = 0; i < 1000; i++) {
        if (has(bed, "@log", text))
            return;
        (void)poll(NULL, 0, 10);
    }
    fail_msg("the log never said '%s'", text);
}

static inline int run(bed_t *bed, const char *text)
{
    prepare(bed, text);
    return wait_for(spawn(bed));
}

#endif
