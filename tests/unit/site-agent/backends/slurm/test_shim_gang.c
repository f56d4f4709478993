/*  test_slurm_shim_gang.c -- the shim on several nodes, and under a lease of another machine. */
#include "federation/reason/codes.h"
#include "tests/unit/site-agent/backends/slurm/shim_testing.h"

/* ---- several nodes ------------------------------------------------------------------------------------- */

static void gang__each_node_runs_its_rank(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    ENV(&bed, "SLURM_CPUS_PER_TASK=6");
    bed.order.nodes = 3;
    assert_int_equal(run(&bed, "echo rank $HELIO_NODE_RANK of $HELIO_NODES on $HELIO_HOSTS: $CUDA_VISIBLE_DEVICES "
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

static void gang__a_failed_rank_ends_the_others_politely_and_gives_the_exit_code(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    bed.order.nodes = 3;
    assert_int_equal(run(&bed, "[ $HELIO_NODE_RANK = 1 ] && { sleep 0.3; exit 7; }\n"
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

static void gang__a_polite_stop_reaches_only_processes_that_handle_the_signal(void **state)
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

static void gang__kill_ends_ranks_that_ignore_all_signals(void **state)
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
    tell_to_kill(&bed);
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

static void gang__the_heads_time_limit_ends_all_ranks(void **state)
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

static void gang__an_srun_that_cannot_run_is_a_failed_start(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    bed.order.nodes = 2;
    write_file(&bed, "srun.broken", "", 0600);
    assert_int_equal(run(&bed, "echo ran"), 125);
    helio_done_t done = done_of(&bed);
    assert_true(done.failed);
    assert_int_equal(done.cause, HELIO_CAUSE_START_FAILED);
    assert_non_null(strstr(done.explanation, "srun ended with 9 before any rank began"));
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

static void gang__the_srun_of_the_plan_precedes_the_path(void **state)
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
    assert_int_equal(done_of(&bed).cause, HELIO_CAUSE_LEASE_EXPIRED);
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
    assert_int_equal(done.cause, HELIO_CAUSE_START_FAILED);
    assert_string_equal(done.explanation, "Slurm's list of nodes makes no sense: 'n[' (rank 1)");
    close_bed(&bed);
    bed = (bed_t){0};
    open_bed(&bed);
    bed.order.nodes = 2;
    write_file(&bed, "rank.0.broken", "", 0600); /* and so for all after it */
    assert_int_equal(run(&bed, "echo ran"), 125);
    done = done_of(&bed);
    assert_true(done.failed);
    assert_non_null(strstr(done.explanation, "(rank 0)"));
    assert_false(has(&bed, "@log", "ran"));
    close_bed(&bed);
}

/*  A rank whose shim was killed leaves no end: only the owner of the machines can say that the attempt is over. */
static void gang__a_rank_without_done_leaves_the_attempt_without_done(void **state)
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

/*  Tasks on other nodes are not children of the shim: only srun can end them, so the shim gives it time to do so. */
static void gang__killing_a_batch_script_gives_its_srun_time_to_end_its_tasks(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    bed.order.nodes = 2;
    bed.how.batch_script = true;
    char text[256], path[128];
    (void)snprintf(text, sizeof text, "%s/srun --nodes=2 /bin/sleep 100 & trap '' TERM; echo ready; sleep 100",
                   bed.dir);
    prepare(&bed, text);
    (void)spawn(&bed);
    wait_log(&bed, "ready");
    (void)snprintf(path, sizeof path, "%s/srun.env", bed.dir);
    for (int i = 0; i < 500 && access(path, F_OK); i++)
        (void)poll(NULL, 0, 10);
    tell_to_kill(&bed);
    assert_int_equal(wait_for(bed.shim), 137);
    (void)snprintf(path, sizeof path, "%s/srun.term", bed.dir);
    assert_int_equal(access(path, F_OK), 0);
    assert_true(done_of(&bed).stopped);
    close_bed(&bed);
}

/* ---- leases of another machine ------------------------------------------------------------------------- */

static void lease__of_the_remote_form_is_heeded_and_its_number_rises(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_bed(&bed);
    char lease_path[128];
    (void)snprintf(lease_path, sizeof lease_path, "%s/leases", bed.dir);
    bed.how.lease = lease_path;
    bed.how.clock_tolerance_ms = 100;
    bed.order.on_site_loss = HELIO_SITE_LOSS_EAGER;
    helio_attempt_ref_t mine = {bed.order.key, bed.order.epoch};
    helio_afx_lease_t granted = {.attempts = {&mine, 1}};
    helio_lease_t lease = {
        .number = 5, .written_wall_ms = helio_clock_wall_ms(), .stop_in_ms = 2500, .kill_in_ms = 60000};
    assert_int_equal(helio_folders_lease(bed.folders, &lease, &granted, NULL), HELIO_OK);
    prepare(&bed, "sleep 100");
    int64_t before_ms = helio_clock_boot_ms();
    (void)spawn(&bed);
    (void)poll(NULL, 0, 1000);
    lease.number = 1; /* a writer that has forgotten its number: raised */
    lease.written_wall_ms = helio_clock_wall_ms();
    assert_int_equal(helio_folders_lease(bed.folders, &lease, &granted, NULL), HELIO_OK);
    expect(&bed, "leases", "number=6\n");
    assert_int_equal(wait_for(bed.shim), 143);
    int64_t took_ms = helio_clock_boot_ms() - before_ms;
    assert_true(took_ms >= 2500); /* the renewal was seen */
    helio_done_t done = done_of(&bed);
    assert_true(done.stopped);
    assert_int_equal(done.cause, HELIO_CAUSE_LEASE_EXPIRED);
    close_bed(&bed);
}

/* ---- under an engine that an adapter speaks to ------------------------------------------------------------ */

/*  Three hosts; each rank knows its number, and the launcher's exit code is the largest of theirs. */
static const char launcher[] =
    "#!/bin/sh\n"
    "echo \"$@\" >\"${0%/*}/launch.args\"; pids=; worst=0\n"
    "for rank in 0 1 2; do HELIO_BATCH_RANK=$rank HELIO_BATCH_HOSTS=a,b,c CUDA_VISIBLE_DEVICES=$rank,7 \"$@\" & "
    "pids=\"$pids $!\"; done\n"
    "for pid in $pids; do wait $pid; code=$?; [ $code -le $worst ] || worst=$code; done; exit $worst\n";

static void open_batch(bed_t *bed)
{
    open_bed(bed);
    bed->how.launcher = HELIO_LAUNCHER_BATCH;
    bed->order.nodes = 3;
    write_file(bed, "launch", launcher, 0755);
    ENV(bed, "HELIO_BATCH_ID=job 17");
    ENV(bed, "HELIO_BATCH_LAUNCH=%s/launch", bed->dir);
}

static void gang__of_an_adapter_is_started_by_its_launcher(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_batch(&bed);
    assert_int_equal(
        run(&bed, "echo rank $HELIO_NODE_RANK of $HELIO_NODES on $HELIO_HOSTS: $CUDA_VISIBLE_DEVICES $HELIO_GPUS"), 0);
    for (int i = 0; i < 3; i++) {
        char line[256];
        (void)snprintf(line, sizeof line, "rank %d of 3 on a,b,c: %d,7 2\n", i, i);
        expect(&bed, "@log", line);
    }
    char args[512];
    (void)snprintf(args, sizeof args, " --rank %s\n", bed.folder);
    expect(&bed, "launch.args", args);
    expect(&bed, "@claim", "scheduler_id=job 17\n");
    close_bed(&bed);
}

static void gang__of_an_adapter_ends_with_the_rank_that_failed(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_batch(&bed);
    assert_int_equal(run(&bed, "[ $HELIO_NODE_RANK = 1 ] && { sleep 0.3; exit 7; }\n"
                               "trap 'echo saved $HELIO_NODE_RANK; exit 9' TERM; while :; do sleep 0.02; done"),
                     7);
    expect(&bed, "@log", "saved 0\n");
    expect(&bed, "@log", "saved 2\n");
    assert_false(done_of(&bed).stopped);
    close_bed(&bed);
}

static void gang__of_an_adapter_that_starts_none_fails_with_the_reason(void **state)
{
    (void)state;
    bed_t bed = {0};
    open_batch(&bed);
    write_file(&bed, "launch", "#!/bin/sh\necho no such host >&2; exit 6\n", 0755);
    assert_int_equal(run(&bed, "echo ran"), 125);
    assert_non_null(strstr(done_of(&bed).explanation, "the adapter's launcher ended with 6 before any rank began"));
    expect(&bed, "@log", "no such host\n");
    close_bed(&bed);
    bed = (bed_t){0};
    open_batch(&bed);
    bed.env_count--; /* no HELIO_BATCH_LAUNCH */
    assert_int_equal(run(&bed, "echo ran"), 125);
    assert_non_null(strstr(done_of(&bed).explanation, "the adapter gave no HELIO_BATCH_LAUNCH"));
    close_bed(&bed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gang__each_node_runs_its_rank),
        cmocka_unit_test(gang__a_failed_rank_ends_the_others_politely_and_gives_the_exit_code),
        cmocka_unit_test(gang__a_polite_stop_reaches_only_processes_that_handle_the_signal),
        cmocka_unit_test(gang__kill_ends_ranks_that_ignore_all_signals),
        cmocka_unit_test(gang__the_heads_time_limit_ends_all_ranks),
        cmocka_unit_test(gang__an_srun_that_cannot_run_is_a_failed_start),
        cmocka_unit_test(gang__the_srun_of_the_plan_precedes_the_path),
        cmocka_unit_test(gang__without_a_lease_no_rank_is_started),
        cmocka_unit_test(gang__a_rank_that_cannot_start_is_named),
        cmocka_unit_test(gang__a_rank_without_done_leaves_the_attempt_without_done),
        cmocka_unit_test(gang__a_batch_script_starts_once_whatever_the_nodes),
        cmocka_unit_test(gang__killing_a_batch_script_gives_its_srun_time_to_end_its_tasks),
        cmocka_unit_test(gang__of_an_adapter_is_started_by_its_launcher),
        cmocka_unit_test(gang__of_an_adapter_ends_with_the_rank_that_failed),
        cmocka_unit_test(gang__of_an_adapter_that_starts_none_fails_with_the_reason),
        cmocka_unit_test(lease__of_the_remote_form_is_heeded_and_its_number_rises),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
