/*  test_slurm_shim.c -- the shim under Slurm on one node. */
#include <sys/prctl.h>

#include "federation/reason/codes.h"
#include "tests/unit/site-agent/backends/slurm/shim_testing.h"

/* ---- one node ------------------------------------------------------------------------------------------ */

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

static void slurm__the_job_has_slurms_environment_and_nothing_of_the_agents(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    ENV(&bed, "CUDA_VISIBLE_DEVICES=4,6");
    assert_int_equal(
        run(&bed, "env | sort; [ -e $HELIO_REPORT ] && [ ! -e ${HELIO_REPORT%/*}/env ] && echo env is gone"), 0);
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

static void slurm__a_claimed_folder_runs_nothing_and_logs_it_once(void **state)
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

static void slurm__a_folder_claimed_for_no_shim_never_runs(void **state)
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
static void slurm__a_job_that_locks_its_folder_ends_like_any_other(void **state)
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

static void slurm__term_is_a_polite_stop_that_done_records(void **state)
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

static void slurm__time_limit_and_kill_work_as_on_one_machine(void **state)
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
    tell_to_kill(&bed);
    assert_int_equal(wait_for(bed.shim), 137);
    assert_true(done_of(&bed).stopped);
    close_bed(&bed);
}

static void slurm__a_script_that_ends_itself_takes_along_what_it_left(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    bed.spec.checkpoint_grace_ms = 3600000;
    prepare(&bed, "trap 'exit 4' TERM; (trap '' TERM; echo ready; exec sleep 1000) & while :; do sleep 0.02; done");
    (void)spawn(&bed);
    wait_log(&bed, "ready");
    assert_int_equal(kill(bed.shim, SIGTERM), 0);
    assert_int_equal(wait_for(bed.shim), 4);
    assert_true(done_of(&bed).stopped);
    close_bed(&bed);
}

static void slurm__a_program_whose_shell_was_killed_saves_its_work(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    prepare(&bed, "(trap 'sleep 0.2; echo saved; exit 0' TERM; echo ready; while :; do sleep 0.02; done); exit 4");
    (void)spawn(&bed);
    wait_log(&bed, "ready");
    assert_int_equal(kill(bed.shim, SIGTERM), 0);
    assert_int_equal(wait_for(bed.shim), 143);
    expect(&bed, "@log", "saved");
    close_bed(&bed);
}

/*  What passes between the end of the program and the shim's own. */
static int64_t afterwards_ms(const char *daemon)
{
    int64_t least = INT64_MAX;
    for (int i = 0; i < 5; i++) {
        bed_t bed = {0};
        char mine[16];
        open_bed(&bed);
        assert_int_equal(prctl(PR_GET_NAME, mine), 0);
        assert_int_equal(prctl(PR_SET_NAME, daemon), 0);
        assert_int_equal(run(&bed, "true"), 0);
        assert_int_equal(prctl(PR_SET_NAME, mine), 0);
        helio_done_t done = done_of(&bed);
        int64_t after_ms = done.ended_wall_ms - done.started_wall_ms - (int64_t)done.run_ms;
        least = after_ms < least ? after_ms : least;
        close_bed(&bed);
    }
    return least;
}

/*  While the daemon that would signal it sleeps, the shim does not wait: a job's GPUs are held meanwhile. */
static void slurm__a_job_ends_without_delay_while_slurms_daemon_sleeps(void **state)
{
    (void)state;
    assert_true(afterwards_ms("slurmstepd") < 150);
    assert_true(afterwards_ms("another") >= 190);
}

/*  The daemon has killed a program of the script, and the script was faster than the daemon: the signal counts. */
static void slurm__a_signal_after_the_end_counts_while_slurms_daemon_is_at_it(void **state)
{
    (void)state;
    bed_t bed = {0};
    char mine[16], over[128];
    open_bed(&bed);
    (void)snprintf(over, sizeof over, "%s/over", bed.dir);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_buffer_printf(&text, ": >%s", over);
    assert_int_equal(prctl(PR_GET_NAME, mine), 0);
    assert_int_equal(prctl(PR_SET_NAME, "slurmstepd"), 0);
    prepare(&bed, text.data);
    (void)spawn(&bed);
    int64_t give_up_ms = helio_clock_boot_ms() + 20000;
    while (access(over, F_OK) && helio_clock_boot_ms() < give_up_ms) /* awake all the time */
        continue;
    for (int64_t until_ms = helio_clock_boot_ms() + 60; helio_clock_boot_ms() < until_ms;)
        continue;
    assert_int_equal(kill(bed.shim, SIGTERM), 0);
    assert_int_equal(wait_for(bed.shim), 0);
    assert_int_equal(prctl(PR_SET_NAME, mine), 0);
    assert_true(done_of(&bed).stopped);
    close_bed(&bed);
}

static void slurm__signals_for_the_script_reach_it(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    prepare(&bed, "trap 'echo one' USR1; trap 'echo up' HUP; trap 'echo two; exit 5' USR2; echo ready; "
                  "while :; do sleep 0.02; done");
    (void)spawn(&bed);
    wait_log(&bed, "ready");
    assert_int_equal(kill(bed.shim, SIGUSR1), 0);
    wait_log(&bed, "one");
    assert_int_equal(kill(bed.shim, SIGHUP), 0);
    wait_log(&bed, "up");
    assert_int_equal(kill(bed.shim, SIGUSR2), 0);
    assert_int_equal(wait_for(bed.shim), 5);
    assert_false(done_of(&bed).stopped);
    close_bed(&bed);
    bed = (bed_t){0};
    open_bed(&bed);
    prepare(&bed, "echo ready; while :; do sleep 0.02; done");
    (void)spawn(&bed);
    wait_log(&bed, "ready");
    assert_int_equal(kill(bed.shim, SIGUSR1), 0);
    assert_int_equal(wait_for(bed.shim),
                     138); /* as without the federation: it ends by the signal, and that is its end */
    assert_false(done_of(&bed).stopped);
    close_bed(&bed);
}

static void slurm__a_shim_of_another_user_than_the_plans_runs_nothing(void **state)
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
    assert_int_equal(done.cause, HELIO_CAUSE_START_FAILED);
    assert_non_null(strstr(done.explanation, "the scheduler runs the job as user"));
    close_bed(&bed);
}

/* ---- output as sbatch would name it -------------------------------------------------------------------- */

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

static void output__a_missing_folder_is_a_failed_start(void **state)
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
        assert_int_equal(done.cause, HELIO_CAUSE_START_FAILED);
        assert_non_null(strstr(done.explanation, "cannot open the job's standard output"));
        close_bed(&bed);
    }
}

static void output__a_missing_working_directory_is_a_failed_start(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    bed.how.workdir = HELIO_TEXT("/no/such/place");
    assert_int_equal(run(&bed, "echo ran"), 125);
    assert_non_null(strstr(done_of(&bed).explanation, "entering the working directory"));
    close_bed(&bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slurm__exits_as_the_job_does),
        cmocka_unit_test(slurm__the_job_has_slurms_environment_and_nothing_of_the_agents),
        cmocka_unit_test(slurm__a_claimed_folder_runs_nothing_and_logs_it_once),
        cmocka_unit_test(slurm__a_folder_claimed_for_no_shim_never_runs),
        cmocka_unit_test(slurm__a_job_that_locks_its_folder_ends_like_any_other),
        cmocka_unit_test(slurm__term_is_a_polite_stop_that_done_records),
        cmocka_unit_test(slurm__time_limit_and_kill_work_as_on_one_machine),
        cmocka_unit_test(slurm__a_script_that_ends_itself_takes_along_what_it_left),
        cmocka_unit_test(slurm__a_program_whose_shell_was_killed_saves_its_work),
        cmocka_unit_test(slurm__a_job_ends_without_delay_while_slurms_daemon_sleeps),
        cmocka_unit_test(slurm__a_signal_after_the_end_counts_while_slurms_daemon_is_at_it),
        cmocka_unit_test(slurm__signals_for_the_script_reach_it),
        cmocka_unit_test(slurm__a_shim_of_another_user_than_the_plans_runs_nothing),
        cmocka_unit_test(output__copies_are_named_and_filled_as_under_sbatch),
        cmocka_unit_test(output__one_file_for_both_and_truncation_when_asked),
        cmocka_unit_test(output__a_missing_folder_is_a_failed_start),
        cmocka_unit_test(output__a_missing_working_directory_is_a_failed_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
