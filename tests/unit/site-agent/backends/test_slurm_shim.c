/*  helio-shim as Slurm starts it: alone, as a batch script's parent, and as the head of several nodes whose
 * srun is a script of the test's own. */
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
#include "site-agent/backends/folder.h"
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

static void write_file(const bed_t *bed, const char *name, const char *text, mode_t mode)
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

static void open_bed(bed_t *bed)
{
    (void)snprintf(bed->dir, sizeof bed->dir, "/tmp/helio-shim-XXXXXX");
    assert_non_null(mkdtemp(bed->dir));
    assert_int_equal(chmod(bed->dir, 0711), 0);
    (void)snprintf(bed->self_name, sizeof bed->self_name, "%s", getpwuid(geteuid())->pw_name);
    bed->users[0] = (helio_user_rule_t){.tenant = HELIO_TEXT("*"),
                                        .user = HELIO_TEXT("*"),
                                        .unix_user = helio_text_of(bed->self_name),
                                        .allow_root = true,
                                        .account = HELIO_TEXT("acme-gpu")};
    bed->rules = (helio_job_rules_t){.path = HELIO_TEXT("/usr/bin:/bin"),
                                     .grace_ms = 1500,
                                     .retention_ms = 1000,
                                     .log_max_bytes = 1 << 20};
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

static void close_bed(bed_t *bed)
{
    helio_folders_destroy(&bed->folders);
    char command[128];
    (void)snprintf(command, sizeof command, "%s", bed->dir);
    char rm[] = "rm", flags[] = "-rf", *argv[] = {rm, flags, command, NULL};
    pid_t pid;
    assert_int_equal(posix_spawnp(&pid, "rm", NULL, NULL, argv, environ), 0);
    (void)waitpid(pid, NULL, 0);
}

static void prepare(bed_t *bed, const char *run)
{
    helio_error_t err = {0};
    bed->spec.run = helio_text_of(run);
    helio_backend_task_t task = {.order = &bed->order, .spec = &bed->spec};
    if (helio_folders_prepare(bed->folders, &task, bed->name, &bed->how, &err))
        fail_msg("%s", err.text);
}

/*  Its standard error goes to slurm.log, as sbatch has it. */
static pid_t spawn(bed_t *bed)
{
    char shim[] = HELIO_SHIM_PATH, flag[] = "--slurm", log[512], *argv[] = {shim, flag, bed->folder, NULL};
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

static int wait_for(pid_t pid)
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

static helio_done_t done_of(const bed_t *bed)
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

static void read_file(const bed_t *bed, const char *name, helio_buffer_t *out)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", name[0] == '@' ? bed->folder : bed->dir,
                   name[0] == '@' ? name + 1 : name);
    if (!read_whole(path, out))
        fail_msg("there is no %s", path);
    helio_buffer_append(out, "", 1);
}

static bool has(const bed_t *bed, const char *name, const char *text)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t whole = {0};
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", name[0] == '@' ? bed->folder : bed->dir,
                   name[0] == '@' ? name + 1 : name);
    return read_whole(path, &whole) && whole.size && strstr(whole.data, text);
}

static void expect(const bed_t *bed, const char *name, const char *text)
{
    if (has(bed, name, text))
        return;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t whole = {0};
    read_file(bed, name, &whole);
    fail_msg("%s has no '%s' but: %s", name, text, whole.data);
}

static void wait_log(const bed_t *bed, const char *text)
{
    for (int i = 0; i < 1000; i++) {
        if (has(bed, "@log", text))
            return;
        (void)poll(NULL, 0, 10);
    }
    fail_msg("the log never said '%s'", text);
}

static int run(bed_t *bed, const char *text)
{
    prepare(bed, text);
    return wait_for(spawn(bed));
}

/* ---- one node --------------------------------------------------------------------------------------------
 */

static void slurm__exits_as_the_job_does(void **state)
{
    (void)state;
    const struct {
        const char *run;
        int exit_code;
    } rows[] = {{"true", 0}, {"exit 3", 3}, {"kill -9 $$", 137}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bed_t bed = {0};
        open_bed(&bed);
        assert_int_equal(run(&bed, rows[i].run), rows[i].exit_code);
        helio_done_t done = done_of(&bed);
        assert_int_equal(done.exit_code, rows[i].exit_code);
        assert_false(done.failed || done.stopped || done.limit_reached);
        close_bed(&bed);
    }
}

static void slurm__the_job_finds_what_slurm_gave_and_nothing_of_the_agent(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    ENV(&bed, "CUDA_VISIBLE_DEVICES=4,6");
    assert_int_equal(
        run(&bed, "env | sort; [ -e $HELIO_REPORT ] && [ ! -e ${HELIO_REPORT%/*}/env ] && echo env is gone"),
        0);
    const char *wanted[] = {"CUDA_VISIBLE_DEVICES=4,6\n",
                            "HELIO_GPUS=2\n",
                            "HELIO_HOSTS=eu-n1,eu-n2,eu-n3\n",
                            "HELIO_NODE_RANK=0\n",
                            "HELIO_NODES=3\n",
                            "SLURM_JOB_ID=4711\n",
                            "SLURM_CONF=/etc/lab/slurm.conf\n",
                            "PATH=/usr/bin:/bin\n",
                            "HELIO_SITE=lulea\n",
                            "env is gone\n"};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
        expect(&bed, "@log", wanted[i]);
    assert_false(has(&bed, "@log", "CANARY"));
    assert_false(has(&bed, "@log", "SLURM_EXPORT_ENV"));
    assert_false(has(&bed, "@log", "SLURM_ARRAY"));
    expect(&bed, "@claim", "scheduler_id=4711\n");
    expect(&bed, "@claim", "host=");
    close_bed(&bed);
}

static void slurm__a_claimed_folder_runs_nothing_and_says_so_once(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    assert_int_equal(run(&bed, "echo ran"), 0);
    assert_int_equal(wait_for(spawn(&bed)), 0);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t log = {0}, slurm_log = {0};
    read_file(&bed, "@log", &log);
    assert_string_equal(log.data, "ran\n");
    read_file(&bed, "slurm.log", &slurm_log);
    assert_string_equal(slurm_log.data, "helio-shim: 'claim' exists already\n");
    close_bed(&bed);
}

static void slurm__a_folder_closed_for_nobody_is_never_run(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    prepare(&bed, "echo ran");
    int folder = -1;
    assert_int_equal(helio_folders_open(bed.folders, bed.name, &folder, NULL), HELIO_OK);
    assert_int_equal(helio_folder_close_unclaimed(folder, NULL), HELIO_OK);
    assert_int_equal(helio_folder_close_unclaimed(folder, NULL), HELIO_CONFLICT);
    helio_claim_t claim;
    assert_int_equal(helio_folder_claim(folder, &claim, NULL), HELIO_OK);
    assert_int_equal(claim.shim.pid, 0);
    (void)close(folder);
    assert_int_equal(wait_for(spawn(&bed)), 0);
    char path[512];
    (void)snprintf(path, sizeof path, "%s/log", bed.folder);
    assert_int_not_equal(access(path, F_OK), 0);
    close_bed(&bed);
}

/*  The folder is the job's user's, and the shim is that user too. */
static void slurm__a_job_that_shuts_its_folder_ends_as_any_other(void **state)
{
    (void)state;
    bed_t bed = {0};
    struct stat status;
    char program[600];
    open_bed(&bed);
    (void)snprintf(program, sizeof program, "chmod 000 %s/attempts/helio-*; exit 7", bed.dir);
    assert_int_equal(run(&bed, program), 7);
    assert_int_equal(stat(bed.folder, &status), 0);
    assert_int_equal(status.st_mode & 0700, 0700);
    assert_int_equal(done_of(&bed).exit_code, 7);
    close_bed(&bed);
}

static void slurm__term_is_a_polite_stop_and_done_says_it_was_told(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    prepare(&bed, "trap 'echo saved; exit 4' TERM; echo ready; while :; do sleep 0.02; done");
    (void)spawn(&bed);
    wait_log(&bed, "ready");
    assert_int_equal(kill(bed.shim, SIGTERM), 0);
    assert_int_equal(wait_for(bed.shim), 4);
    assert_true(done_of(&bed).stopped);
    expect(&bed, "@log", "saved");
    close_bed(&bed);
}

static void slurm__time_limit_and_kill_are_as_on_one_machine(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    bed.order.time_limit_ms = 200;
    assert_int_equal(run(&bed, "sleep 100"), 124);
    helio_done_t done = done_of(&bed);
    assert_true(done.limit_reached && !done.stopped);
    close_bed(&bed);
    bed = (bed_t){0};
    open_bed(&bed);
    prepare(&bed, "trap '' TERM; echo ready; while :; do sleep 0.02; done");
    (void)spawn(&bed);
    wait_log(&bed, "ready");
    assert_int_equal(kill(bed.shim, SIGUSR2), 0);
    assert_int_equal(wait_for(bed.shim), 137);
    assert_true(done_of(&bed).stopped);
    close_bed(&bed);
}

static void slurm__another_user_than_the_plans_runs_nothing(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    prepare(&bed, "echo ran");
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t plan = {0};
    read_file(&bed, "@plan", &plan);
    char want[32], path[512];
    (void)snprintf(want, sizeof want, "uid=%u\n", (unsigned)geteuid());
    char *at = strstr(plan.data, want);
    assert_non_null(at);
    (void)snprintf(path, sizeof path, "attempts/%s/plan", bed.name);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t other = {0};
    helio_buffer_printf(&other, "uid=%u\n%s", (unsigned)geteuid() + 1, at + strlen(want));
    write_file(&bed, path, other.data, 0600);
    assert_int_equal(wait_for(spawn(&bed)), 125);
    helio_done_t done = done_of(&bed);
    assert_true(done.failed);
    assert_non_null(strstr(done.reason, "StartFailed: the Slurm job runs as user"));
    close_bed(&bed);
}

/* ---- output as sbatch would name it ----------------------------------------------------------------------
 */

static void output__copies_are_named_and_filled_as_under_sbatch(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    char work[128];
    (void)snprintf(work, sizeof work, "%s/work", bed.dir);
    assert_int_equal(mkdir(work, 0700), 0);
    bed.spec.name = HELIO_TEXT("train");
    uint32_t tasks[] = {2, 5, 8};
    bed.spec.tasks.items = tasks;
    bed.spec.tasks.count = 3;
    bed.order.key.task = 5;
    bed.how.batch_script = true;
    bed.how.workdir = helio_text_of(work);
    bed.how.stdout_path = HELIO_TEXT("%x-%A_%a.out");
    bed.how.stderr_path = HELIO_TEXT("%j.err");
    uint64_t number = 0; /* of the array, not of the Slurm job that one task of it is */
    for (size_t k = sizeof bed.order.key.job.bytes - 8; k < sizeof bed.order.key.job.bytes; k++)
        number = number << 8 | bed.order.key.job.bytes[k];
    unsigned long long array = 1000000000 + number % 1000000000;
    char copy[64], array_name[64];
    (void)snprintf(copy, sizeof copy, "work/train-%llu_5.out", array);
    (void)snprintf(array_name, sizeof array_name, "SLURM_ARRAY_JOB_ID=%llu\n", array);
    write_file(&bed, copy, "before\n", 0600);
    assert_int_equal(run(&bed, "pwd; echo bad >&2; env | grep ^SLURM_"), 0);
    char where[256];
    (void)snprintf(where, sizeof where, "before\n%s\n", work);
    expect(&bed, copy, where);
    const char *names[] = {"SLURM_ARRAY_TASK_ID=5\n",    array_name,
                           "SLURM_ARRAY_TASK_COUNT=3\n", "SLURM_ARRAY_TASK_MIN=2\n",
                           "SLURM_ARRAY_TASK_MAX=8\n",   "SLURM_ARRAY_TASK_STEP=3\n",
                           "SLURM_JOB_NAME=train\n"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        expect(&bed, copy, names[i]);
    assert_false(has(&bed, copy, "bad"));
    expect(&bed, "work/4711.err", "bad\n");
    expect(&bed, "@log", "bad\n");
    expect(&bed, "@log", "SLURM_JOB_NAME=train\n");
    close_bed(&bed);
}

static void output__one_file_for_both_and_truncation_when_asked(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    char path[128];
    (void)snprintf(path, sizeof path, "%s/both.txt", bed.dir);
    write_file(&bed, "both.txt", "before\n", 0600);
    bed.how.stdout_path = helio_text_of(path);
    bed.how.truncate = true;
    assert_int_equal(run(&bed, "echo one; echo two >&2"), 0);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t both = {0};
    read_file(&bed, "both.txt", &both);
    assert_string_equal(both.data, "one\ntwo\n");
    close_bed(&bed);
}

static void output__a_place_that_is_not_there_is_a_failed_start(void **state)
{
    (void)state;
    const char *places[] = {"/no/such/folder/x", "missing/x.out", "."};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        bed_t bed = {0};
        open_bed(&bed);
        bed.how.stdout_path = helio_text_of(places[i]);
        assert_int_equal(run(&bed, "touch ran"), 125);
        helio_done_t done = done_of(&bed);
        assert_true(done.failed);
        assert_non_null(strstr(done.reason, "StartFailed: cannot open the job's standard output"));
        close_bed(&bed);
    }
}

static void output__a_working_directory_that_is_not_there_is_a_failed_start(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    bed.how.workdir = HELIO_TEXT("/no/such/place");
    assert_int_equal(run(&bed, "echo ran"), 125);
    assert_non_null(strstr(done_of(&bed).reason, "entering the working directory"));
    close_bed(&bed);
}

/* ---- several nodes ---------------------------------------------------------------------------------------
 */

static void gang__each_node_runs_its_rank(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    ENV(&bed, "SLURM_CPUS_PER_TASK=6");
    bed.order.nodes = 3;
    assert_int_equal(run(&bed,
                         "echo rank $HELIO_NODE_RANK of $HELIO_NODES on $HELIO_HOSTS: $CUDA_VISIBLE_DEVICES "
                         "$HELIO_GPUS $SLURM_STEP_ID $HOME; echo err $HELIO_NODE_RANK >&2"),
                     0);
    const char *home = getpwuid(geteuid())->pw_dir;
    for (int i = 0; i < 3; i++) {
        char line[256];
        (void)snprintf(line, sizeof line, "rank %d of 3 on eu-n1,eu-n2,eu-n3: %d,7 2 0 %s\n", i, i, home);
        expect(&bed, "@log", line);
        (void)snprintf(line, sizeof line, "err %d\n", i);
        expect(&bed, "@log", line);
        (void)snprintf(line, sizeof line, "@rank-%d/done", i);
        expect(&bed, line, "exit_code=0\n");
    }
    char args[512];
    (void)snprintf(args, sizeof args, " --rank %s\n", bed.folder);
    expect(&bed, "srun.args", "--nodes=3 --ntasks=3 --ntasks-per-node=1 --kill-on-bad-exit=1");
    expect(&bed, "srun.args", " --cpus-per-task=6 ");
    expect(&bed, "srun.args", args);
    expect(&bed, "srun.env", "SLURM_CONF=/etc/lab/slurm.conf\n");
    assert_false(has(&bed, "srun.env", "CANARY"));
    assert_false(has(&bed, "srun.env", "HELIO_"));
    char path[512];
    (void)snprintf(path, sizeof path, "%s/env", bed.folder);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_false(done_of(&bed).stopped);
    close_bed(&bed);
}

static void gang__a_rank_that_fails_ends_the_others_politely_and_decides(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    bed.order.nodes = 3;
    assert_int_equal(run(&bed,
                         "[ $HELIO_NODE_RANK = 1 ] && { sleep 0.3; exit 7; }\n"
                         "trap 'echo saved $HELIO_NODE_RANK; exit 9' TERM; while :; do sleep 0.02; done"),
                     7);
    expect(&bed, "@log", "saved 0\n");
    expect(&bed, "@log", "saved 2\n");
    assert_false(has(&bed, "@log", "saved 1\n"));
    helio_done_t done = done_of(&bed);
    assert_int_equal(done.exit_code, 7);
    assert_false(done.stopped || done.failed);
    close_bed(&bed);
}

static void gang__a_polite_stop_reaches_those_alone_that_handle_the_signal(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    bed.order.nodes = 2;
    bed.spec.checkpoint_signal = HELIO_TEXT("USR1");
    bed.spec.checkpoint_grace_ms = 5000;
    prepare(&bed, "bash -c 'trap \"echo saved $HELIO_NODE_RANK; exit 0\" USR1; echo ready $HELIO_NODE_RANK; "
                  "while :; do sleep 0.02; done'; echo shell of $HELIO_NODE_RANK lives; exit 5");
    (void)spawn(&bed);
    wait_log(&bed, "ready 0");
    wait_log(&bed, "ready 1");
    assert_int_equal(kill(bed.shim, SIGTERM), 0);
    assert_int_equal(wait_for(bed.shim), 5);
    expect(&bed, "@log", "saved 0\n");
    expect(&bed, "@log", "saved 1\n");
    expect(&bed, "@log", "shell of 1 lives\n");
    assert_true(done_of(&bed).stopped);
    close_bed(&bed);
}

static void gang__kill_ends_all_that_ignore_everything(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    bed.order.nodes = 2;
    bed.spec.checkpoint_grace_ms = 600000;
    prepare(&bed, "trap '' TERM USR2; setsid sleep 100 & echo $! > orphan$HELIO_NODE_RANK; echo ready "
                  "$HELIO_NODE_RANK; "
                  "while :; do sleep 0.02; done");
    (void)spawn(&bed);
    wait_log(&bed, "ready 0");
    wait_log(&bed, "ready 1");
    assert_int_equal(kill(bed.shim, SIGTERM), 0);
    (void)poll(NULL, 0, 100);
    int64_t before_ms = helio_clock_boot_ms();
    assert_int_equal(kill(bed.shim, SIGUSR2), 0);
    assert_int_equal(wait_for(bed.shim), 137);
    assert_true(helio_clock_boot_ms() - before_ms < 4500); /* the ranks' shims did it, not srun */
    assert_true(done_of(&bed).stopped);
    for (int i = 0; i < 2; i++) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/output/%s/orphan%d", bed.dir, bed.name, i);
        assert_true(read_number(path) > 0);
        assert_false(is_alive(read_number(path)));
    }
    close_bed(&bed);
}

static void gang__the_heads_time_limit_is_that_of_all(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    bed.order.nodes = 2;
    bed.order.time_limit_ms = 600;
    assert_int_equal(run(&bed, "sleep 100"), 124);
    helio_done_t done = done_of(&bed);
    assert_true(done.limit_reached && !done.stopped);
    expect(&bed, "@rank-1/done", "exit_code=143\n");
    close_bed(&bed);
}

static void gang__an_srun_that_cannot_is_a_failed_start(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    bed.order.nodes = 2;
    write_file(&bed, "srun.broken", "", 0600);
    assert_int_equal(run(&bed, "echo ran"), 125);
    helio_done_t done = done_of(&bed);
    assert_true(done.failed);
    assert_non_null(strstr(done.reason, "StartFailed: srun ended with 9 before any rank began"));
    expect(&bed, "@log", "Unable to create step");
    expect(&bed, "@rank-1/claim", "pid=0\n"); /* closed: none can come late */
    close_bed(&bed);
    bed = (bed_t){0};
    open_bed(&bed);
    bed.order.nodes = 2;
    bed.how.srun = HELIO_TEXT("/no/such/place/srun");
    assert_int_equal(run(&bed, "echo ran"), 125);
    assert_true(done_of(&bed).failed);
    close_bed(&bed);
}

static void gang__an_srun_of_the_plan_goes_before_the_path(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    bed.order.nodes = 2;
    char path[128];
    (void)snprintf(path, sizeof path, "%s/srun", bed.dir);
    bed.how.srun = helio_text_of(path);
    (void)snprintf(bed.env_texts[0], sizeof bed.env_texts[0], "SLURM_X=no path at all");
    assert_int_equal(run(&bed, "echo ran $HELIO_NODE_RANK"), 0);
    expect(&bed, "@log", "ran 1\n");
    close_bed(&bed);
}

static void gang__without_a_lease_no_rank_is_started(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    bed.order.nodes = 2;
    char shared[128];
    (void)snprintf(shared, sizeof shared, "%s/shared", bed.dir);
    bed.how.lease = shared; /* no such lease: the head itself refuses */
    bed.order.on_site_loss = HELIO_SITE_LOSS_LEASE;
    assert_int_equal(run(&bed, "echo ran"), 125);
    assert_string_equal(done_of(&bed).reason, "LeaseExpired");
    close_bed(&bed);
}

static void gang__a_rank_that_cannot_start_is_named(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    bed.order.nodes = 2;
    write_file(&bed, "rank.1.broken", "", 0600);
    assert_int_equal(run(&bed, "trap 'exit 0' TERM; while :; do sleep 0.02; done"), 125);
    helio_done_t done = done_of(&bed);
    assert_false(done.failed); /* rank 0 did run */
    assert_string_equal(done.reason, "StartFailed: Slurm's list of nodes makes no sense: 'n[' (rank 1)");
    close_bed(&bed);
    bed = (bed_t){0};
    open_bed(&bed);
    bed.order.nodes = 2;
    write_file(&bed, "rank.0.broken", "", 0600); /* and so for all after it */
    assert_int_equal(run(&bed, "echo ran"), 125);
    done = done_of(&bed);
    assert_true(done.failed);
    assert_non_null(strstr(done.reason, "(rank 0)"));
    assert_false(has(&bed, "@log", "ran"));
    close_bed(&bed);
}

/*  A rank whose shim was killed leaves no end: nobody may say that the attempt is over but who owns the
 * machines. */
static void gang__a_rank_without_an_end_leaves_the_attempt_without_one(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    bed.order.nodes = 2;
    prepare(&bed, "echo ready $HELIO_NODE_RANK; [ $HELIO_NODE_RANK = 1 ] && kill -9 $PPID; sleep 1");
    assert_int_not_equal(wait_for(spawn(&bed)), 0);
    int folder = -1;
    helio_done_t done;
    assert_int_equal(helio_folders_open(bed.folders, bed.name, &folder, NULL), HELIO_OK);
    assert_int_equal(helio_folder_done(folder, &done, NULL), HELIO_NOT_FOUND);
    (void)close(folder);
    expect(&bed, "slurm.log", "1 of 2 ranks left no end");
    close_bed(&bed);
}

static void gang__a_batch_script_starts_once_whatever_the_nodes(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    bed.order.nodes = 3;
    bed.how.batch_script = true;
    char path[160];
    (void)snprintf(path, sizeof path, "PATH=/usr/bin:/bin:%s\n", bed.dir);
    assert_int_equal(run(&bed, "echo once $HELIO_NODES; echo PATH=$PATH"), 0);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t log = {0};
    read_file(&bed, "@log", &log);
    assert_memory_equal(log.data, "once 3\n", 7);
    if (access("/usr/bin/srun", X_OK)) /* a real one is reachable by the job's own PATH */
        assert_non_null(strstr(log.data, path));
    close_bed(&bed);
}

/*  Tasks on other nodes are no children of ours: srun alone can have them ended, and is let do so. */
static void gang__killing_a_batch_script_leaves_its_srun_the_time_to_end_its_tasks(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    bed.order.nodes = 2;
    bed.how.batch_script = true;
    char text[256], path[128];
    (void)snprintf(text, sizeof text,
                   "%s/srun --nodes=2 /bin/sleep 100 & trap '' TERM; echo ready; sleep 100", bed.dir);
    prepare(&bed, text);
    (void)spawn(&bed);
    wait_log(&bed, "ready");
    (void)snprintf(path, sizeof path, "%s/srun.env", bed.dir);
    for (int i = 0; i < 500 && access(path, F_OK); i++)
        (void)poll(NULL, 0, 10);
    assert_int_equal(kill(bed.shim, SIGUSR2), 0);
    assert_int_equal(wait_for(bed.shim), 137);
    (void)snprintf(path, sizeof path, "%s/srun.term", bed.dir);
    assert_int_equal(access(path, F_OK), 0);
    assert_true(done_of(&bed).stopped);
    close_bed(&bed);
}

/* ---- leases of another machine ---------------------------------------------------------------------------
 */

static void lease__of_the_remote_form_is_heeded_and_its_number_rises(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    char lease_path[128];
    (void)snprintf(lease_path, sizeof lease_path, "%s/lease", bed.dir);
    bed.how.lease = lease_path;
    bed.how.clock_tolerance_ms = 100;
    bed.order.on_site_loss = HELIO_SITE_LOSS_EAGER;
    helio_lease_t lease = {
        .number = 5, .written_wall_ms = helio_clock_wall_ms(), .stop_in_ms = 2500, .kill_in_ms = 60000};
    assert_int_equal(helio_folders_lease(bed.folders, &lease, NULL), HELIO_OK);
    prepare(&bed, "sleep 100");
    int64_t before_ms = helio_clock_boot_ms();
    (void)spawn(&bed);
    (void)poll(NULL, 0, 1000);
    lease.number = 1; /* a writer that has forgotten its number: raised */
    lease.written_wall_ms = helio_clock_wall_ms();
    assert_int_equal(helio_folders_lease(bed.folders, &lease, NULL), HELIO_OK);
    expect(&bed, "lease", "number=6\n");
    assert_int_equal(wait_for(bed.shim), 143);
    int64_t took_ms = helio_clock_boot_ms() - before_ms;
    assert_true(took_ms >= 2500); /* the renewal was seen */
    helio_done_t done = done_of(&bed);
    assert_true(done.stopped);
    assert_string_equal(done.reason, "LeaseExpired");
    close_bed(&bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slurm__exits_as_the_job_does),
        cmocka_unit_test(slurm__the_job_finds_what_slurm_gave_and_nothing_of_the_agent),
        cmocka_unit_test(slurm__a_claimed_folder_runs_nothing_and_says_so_once),
        cmocka_unit_test(slurm__a_folder_closed_for_nobody_is_never_run),
        cmocka_unit_test(slurm__a_job_that_shuts_its_folder_ends_as_any_other),
        cmocka_unit_test(slurm__term_is_a_polite_stop_and_done_says_it_was_told),
        cmocka_unit_test(slurm__time_limit_and_kill_are_as_on_one_machine),
        cmocka_unit_test(slurm__another_user_than_the_plans_runs_nothing),
        cmocka_unit_test(output__copies_are_named_and_filled_as_under_sbatch),
        cmocka_unit_test(output__one_file_for_both_and_truncation_when_asked),
        cmocka_unit_test(output__a_place_that_is_not_there_is_a_failed_start),
        cmocka_unit_test(output__a_working_directory_that_is_not_there_is_a_failed_start),
        cmocka_unit_test(gang__each_node_runs_its_rank),
        cmocka_unit_test(gang__a_rank_that_fails_ends_the_others_politely_and_decides),
        cmocka_unit_test(gang__a_polite_stop_reaches_those_alone_that_handle_the_signal),
        cmocka_unit_test(gang__kill_ends_all_that_ignore_everything),
        cmocka_unit_test(gang__the_heads_time_limit_is_that_of_all),
        cmocka_unit_test(gang__an_srun_that_cannot_is_a_failed_start),
        cmocka_unit_test(gang__an_srun_of_the_plan_goes_before_the_path),
        cmocka_unit_test(gang__without_a_lease_no_rank_is_started),
        cmocka_unit_test(gang__a_rank_that_cannot_start_is_named),
        cmocka_unit_test(gang__a_rank_without_an_end_leaves_the_attempt_without_one),
        cmocka_unit_test(gang__a_batch_script_starts_once_whatever_the_nodes),
        cmocka_unit_test(gang__killing_a_batch_script_leaves_its_srun_the_time_to_end_its_tasks),
        cmocka_unit_test(lease__of_the_remote_form_is_heeded_and_its_number_rises),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
