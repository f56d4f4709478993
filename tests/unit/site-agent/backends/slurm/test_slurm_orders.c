/*  test_slurm_orders.c -- what an administrator does to jobs, and what orders meet at Slurm. */
#include "tests/unit/site-agent/backends/slurm/slurm_testing.h"

/* ---- what an administrator does ------------------------------------------------------------------------ */

static void trap_7__a_polite_end_without_our_stop_is_the_sites_doing(void **state)
{
    (void)state;
    static const struct {
        const char *job_state;
        uint32_t cause;
        const char *says;
        uint32_t word;
    } cases[] = {{"CANCELLED", HELIO_CAUSE_SITE_CANCELLED, "", WORD(VANISHED)},
                 {"PREEMPTED", HELIO_CAUSE_PREEMPTED, "", WORD(VANISHED)},
                 {"TIMEOUT", HELIO_CAUSE_DOUBTED, "its status files give times", WORD(ENDED)},
                 {"FAILED", HELIO_CAUSE_SITE_CANCELLED, "it was stopped at the site", WORD(VANISHED)}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lab_t lab;
        lab_job_t job = {0};
        open_running(&lab, &job);
        lab_done(&lab, &job, (helio_done_t){.exit_code = 143, .stopped = true, .started_wall_ms = 5, .run_ms = 4321});
        lab_set(&lab, "101", "state", "COMPLETING");
        lab_pass(&lab, 20000);
        assert_int_equal(lab.heard_count, 1); /* Slurm has not said why yet */
        lab_set(&lab, "101", "state", cases[i].job_state);
        lab_pass(&lab, 20000);
        lab_expect(&lab, 1, cases[i].word, cases[i].cause, cases[i].says);
        assert_int_equal(lab.heard[1].event.run_ms, 4321);
        assert_false(lab.heard[1].event.stopped);
        lab_close(&lab);
    }
}

static void a_lease_that_ran_out_is_a_stop_and_no_doing_of_the_site(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_done(
        &lab, &job,
        (helio_done_t){
            .exit_code = 143, .stopped = true, .started_wall_ms = 5, .run_ms = 1, .cause = HELIO_CAUSE_LEASE_EXPIRED});
    lab_set(&lab, "101", "state", "FAILED");
    lab_pass(&lab, 20000);
    lab_expect(&lab, 1, WORD(ENDED), HELIO_CAUSE_LEASE_EXPIRED, "");
    assert_true(lab.heard[1].event.stopped);
    lab_close(&lab);
}

static void trap_5__a_requeued_job_is_dead_and_its_second_run_is_not_a_success(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_set(&lab, "101", "state", "PENDING");
    lab_set(&lab, "101", "reason", "BeginTime");
    lab_pass(&lab, 45000);
    lab_expect(&lab, 1, WORD(VANISHED), HELIO_CAUSE_SITE_CANCELLED, "queued again at the site");
    assert_true(lab_calls(&lab, "--state=PENDING 101") >= 1);
    lab_close(&lab);
}

static void a_job_that_is_held_only_waits(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_pending(&lab, &job);
    lab_set(&lab, "101", "reason", "JobHeldAdmin");
    lab_pass(&lab, 900000);
    assert_int_equal(lab.heard_count, 0);
    lab_run(&lab, &job, "101");
    lab_pass(&lab, 10000);
    lab_expect_word(&lab, 0, WORD(STARTED));
    lab_close(&lab);
}

static void a_state_that_no_release_of_ours_knows_is_one_that_lives(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_set(&lab, "101", "state", "EXPEDITING");
    lab_pass(&lab, 300000);
    still_runs(&lab, &job);
    lab_close(&lab);
}

/* ---- orders -------------------------------------------------------------------------------------------- */

static void trap_8__a_scancel_that_finds_no_job_is_not_an_end(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_answer(&lab, "scancel", "", "scancel: error: Kill job error on job id 101: Invalid job id specified\n", 0);
    lab_stop(&lab, &job, HELIO_STOP_MODE_KILL);
    lab_pass(&lab, 20000);
    assert_int_equal(lab.heard_count, 1);
    lab_drop(&lab, "101");
    lab_pass(&lab, 90000);
    lab_expect_word(&lab, 1, WORD(ENDED));
    assert_true(lab.heard[1].event.stopped);
    lab_close(&lab);
}

static void trap_10__the_number_of_a_federated_cluster_comes_with_its_name(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_put(&lab, "accept", "yes");
    lab_answer(&lab, "sbatch", "101;eu\n", "", 0);
    lab_start(&lab, &job);
    lab_settle(&lab);
    lab_run(&lab, &job, "101");
    lab_pass(&lab, 10000);
    lab_expect_word(&lab, 0, WORD(STARTED));
    assert_string_equal(lab.heard[0].local_id, "101");
    lab_close(&lab);
}

static void answers_of_sbatch_that_are_no_number_are_not_believed(void **state)
{
    (void)state;
    static const char *const answers[] = {"", "Submitted batch job 101\n", "-1\n", "101 102\n", "OK\n"};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        lab_t lab;
        lab_job_t job = {0};
        lab_open(&lab);
        lab_put(&lab, "accept", "yes");
        lab_answer(&lab, "sbatch", answers[i], "", 0);
        lab_start(&lab, &job);
        lab_pass(&lab, 20000);
        assert_int_equal(lab_calls(&lab, "sbatch "), 1); /* the queue was asked, and has it */
        lab_run(&lab, &job, "101");
        lab_pass(&lab, 10000);
        lab_expect_word(&lab, 0, WORD(STARTED));
        lab_close(&lab);
    }
}

static void trap_17__a_job_that_slurm_shows_running_after_its_end_is_cancelled(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_done(&lab, &job, (helio_done_t){.exit_code = 0, .started_wall_ms = 5, .run_ms = 1});
    lab_pass(&lab, 14000);
    lab_expect_word(&lab, 1, WORD(ENDED));
    lab_pass(&lab, 60000);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    lab_read(&lab, "jobs/101", &text);
    assert_non_null(strstr(text.data, "CANCELLED"));
    assert_int_equal(lab.heard_count, 2);
    lab_close(&lab);
}

static void a_claim_of_a_hostile_user_makes_nobody_cancel_another_job(void **state)
{
    (void)state;
    static const char *const claims[] = {"-u root", "55 66", "$(id)", "101;x",
                                         "99999999999999999999999999999999999999"};
    for (size_t i = 0; i < sizeof claims / sizeof claims[0]; i++) {
        lab_t lab;
        lab_job_t job = {0};
        lab_open(&lab);
        lab_start(&lab, &job);
        lab_settle(&lab);
        lab_run(&lab, &job, "101");
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        char file[200], path[300];
        (void)snprintf(file, sizeof file, "shared/attempts/%s/claim", job.name);
        lab_read(&lab, file, &text);
        char *at = strstr(text.data, "101");
        assert_non_null(at);
        *at = '\0';
        (void)snprintf(path, sizeof path, "%s%s%s", text.data, claims[i], at + 3);
        lab_put(&lab, file, "%s", path);
        lab_pass(&lab, 10000);
        lab_stop(&lab, &job, HELIO_STOP_MODE_KILL);
        lab_pass(&lab, 10000);
        assert_int_equal(lab_calls(&lab, "scancel "), 1);
        assert_int_equal(lab_calls(&lab, "--batch --signal=USR2 101"), 1);
        lab_close(&lab);
    }
}

/* ---- the rest of what was seen ------------------------------------------------------------------------- */

/*  scontrol requeue of what was handed in with --no-requeue is refused, so that nothing is run twice behind
 * our back. */
static void trap_6__every_attempt_is_submitted_without_requeue(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_pending(&lab, &job);
    assert_int_equal(lab_calls(&lab, "sbatch "), 1);
    assert_int_equal(lab_calls(&lab, " --no-requeue "), 1);
    lab_job_t asks = {.epoch = 2};
    helio_pair_t pair = {HELIO_TEXT("requeue"), HELIO_TEXT("")};
    asks.spec.slurm.items = &pair;
    asks.spec.slurm.count = 1;
    lab_start(&lab, &asks); /* nor by the job's own wish */
    lab_pass(&lab, 1000);
    lab_expect(&lab, 0, WORD(FAILED_TO_START), HELIO_CAUSE_BAD_OPTION, "--requeue");
    lab_close(&lab);
}

/*  Without a time limit Slurm cannot put a job into a gap: it waits behind the first that is blocked. */
static void trap_9__every_attempt_has_a_time_limit_at_slurm(void **state)
{
    (void)state;
    lab_t lab;
    static const uint64_t limits_ms[] = {1000, 60000, 3600000};
    lab_open(&lab);
    for (uint32_t i = 0; i < 3; i++) {
        lab_job_t job = {.epoch = i + 1, .order = {.time_limit_ms = limits_ms[i]}};
        lab_start(&lab, &job);
        lab_pass(&lab, 1000);
        assert_int_equal(lab_calls(&lab, "sbatch "), i + 1);
        assert_int_equal(lab_calls(&lab, " --time="), i + 1);
    }
    lab_close(&lab);
}

/*  Slurm looks for jobs to start every few seconds: one that has just been handed in is no lost one. */
static void trap_13__a_job_that_slurm_starts_late_is_waited_for(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_started(&lab, &job);
    lab_set(&lab, "101", "reason", "None"); /* Slurm has not looked at it yet */
    lab_pass(&lab, 30000);
    assert_int_equal(lab.waitings, 0);
    assert_int_equal(lab.heard_count, 0);
    lab_run(&lab, &job, "101");
    lab_pass(&lab, 10000);
    lab_expect_word(&lab, 0, WORD(STARTED));
    assert_int_equal(lab_calls(&lab, "sbatch "), 1);
    lab_close(&lab);
}

/*  sacct that cannot speak to slurmdbd says so on standard error, with whatever exit code: no answer, and no
 * end. */
static void trap_14__unreachable_accounting_ends_no_attempt(void **state)
{
    (void)state;
    static const char *const complaints[] = {
        "sacct: error: slurm_persist_conn_open: Protocol authentication error\n",
        "sacct: error: Problem talking to the slurmdbd at localhost: Connection refused\n"};
    for (int i = 0; i < 4; i++) {
        lab_t lab;
        lab_job_t job = {0};
        open_running(&lab, &job);
        lab_answer(&lab, "sacct", "", complaints[i / 2], i % 2);
        lab_set(&lab, "101", "listed", "no");
        lab_pass(&lab, 20000);
        lab_set(&lab, "101", "listed", "yes"); /* scontrol has known it all the time */
        lab_pass(&lab, 20000);
        assert_int_equal(lab.heard_count, 1);
        still_runs(&lab, &job);
        lab_close(&lab);
    }
}

/*  Slurm's own warning signal depends on the cluster's settings, and on its release: none is asked for. TERM
 * and KILL after a preemption come at times of Slurm's choosing, and what it says afterwards decides. */
static void trap_15__slurms_warning_signals_are_not_used(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {.spec = {.checkpoint_signal = HELIO_TEXT("USR1"), .checkpoint_grace_ms = 30000}};
    open_running(&lab, &job);
    assert_int_equal(lab_calls(&lab, "--signal"), 0);
    lab_done(&lab, &job, (helio_done_t){.exit_code = 143, .stopped = true, .started_wall_ms = 5, .run_ms = 7});
    lab_set(&lab, "101", "state", "PREEMPTED");
    lab_pass(&lab, 30000);
    lab_expect(&lab, 1, WORD(VANISHED), HELIO_CAUSE_PREEMPTED, "");
    lab_close(&lab);
}

/*  Slurm keeps time by the minute: its limit lies above ours and the grace, and the shim keeps ours. */
static void trap_16__slurms_coarse_limit_is_never_below_the_shims(void **state)
{
    (void)state;
    static const struct {
        uint64_t limit_ms;
        uint32_t minutes;
    } cases[] = {{10000, 2}, {60000, 3}, {61000, 3}, {119000, 3}, {600000, 12}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lab_t lab;
        lab_job_t job = {.order = {.time_limit_ms = cases[i].limit_ms}};
        char option[32];
        open_pending(&lab, &job);
        for (uint32_t minutes = 0; minutes < cases[i].minutes; minutes++) {
            (void)snprintf(option, sizeof option, " --time=%u ", minutes);
            assert_true(minutes * UINT64_C(60000) >= cases[i].limit_ms + 30000 + 60000 || !lab_calls(&lab, option));
        }
        assert_int_equal(lab_calls(&lab, " --time="), 1);
        lab_close(&lab);
    }
}

/*  A daemon that has ended may stay a zombie for a while: a command of ours that ends is reaped at once, and
 * one that lives on is not taken for ended because its parent is. */
static void trap_18__commands_leave_no_zombies(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_pending(&lab, &job);
    lab_pass(&lab, 120000);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left, neither living nor dead */
    assert_int_equal(errno, ECHILD);
    lab_close(&lab);
}

/*  The share of the node that has least for each GPU, so that it fits each of them. */
static void slurm_orders__a_job_that_names_no_cpus_gets_a_share_that_every_node_has(void **state)
{
    (void)state;
    for (int mixed = 0; mixed < 2; mixed++) {
        lab_t lab;
        lab_job_t job = {0};
        helio_slurm_pool_t mapping = {.pool = HELIO_TEXT("h100"), .gres = HELIO_TEXT("h100")};
        lab_open(&lab);
        lab.pool.cpus_per_node = 128;
        lab.pool.memory_bytes_per_node = UINT64_C(80) << 20;
        mapping.cpus_per_gpu = mixed ? 4 : 0;
        mapping.memory_bytes_per_gpu = mixed ? UINT64_C(5) << 20 : 0;
        lab.settings.pools.items = &mapping;
        lab.settings.pools.count = 1;
        lab_reopen(&lab);
        lab_start(&lab, &job);
        lab_pass(&lab, 1000);
        assert_int_equal(lab_calls(&lab, mixed ? "--cpus-per-task=8 --mem=10M" : "--cpus-per-task=32 --mem=20M"), 1);
        lab_close(&lab);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slurm_orders__a_job_that_names_no_cpus_gets_a_share_that_every_node_has),
        cmocka_unit_test(trap_7__a_polite_end_without_our_stop_is_the_sites_doing),
        cmocka_unit_test(a_lease_that_ran_out_is_a_stop_and_no_doing_of_the_site),
        cmocka_unit_test(trap_5__a_requeued_job_is_dead_and_its_second_run_is_not_a_success),
        cmocka_unit_test(a_job_that_is_held_only_waits),
        cmocka_unit_test(a_state_that_no_release_of_ours_knows_is_one_that_lives),
        cmocka_unit_test(trap_8__a_scancel_that_finds_no_job_is_not_an_end),
        cmocka_unit_test(trap_10__the_number_of_a_federated_cluster_comes_with_its_name),
        cmocka_unit_test(answers_of_sbatch_that_are_no_number_are_not_believed),
        cmocka_unit_test(trap_17__a_job_that_slurm_shows_running_after_its_end_is_cancelled),
        cmocka_unit_test(a_claim_of_a_hostile_user_makes_nobody_cancel_another_job),
        cmocka_unit_test(trap_6__every_attempt_is_submitted_without_requeue),
        cmocka_unit_test(trap_9__every_attempt_has_a_time_limit_at_slurm),
        cmocka_unit_test(trap_13__a_job_that_slurm_starts_late_is_waited_for),
        cmocka_unit_test(trap_14__unreachable_accounting_ends_no_attempt),
        cmocka_unit_test(trap_15__slurms_warning_signals_are_not_used),
        cmocka_unit_test(trap_16__slurms_coarse_limit_is_never_below_the_shims),
        cmocka_unit_test(trap_18__commands_leave_no_zombies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
