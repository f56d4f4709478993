/*  What real clusters have been seen to do to whoever believes them; the worst first. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/support/slurm_double.h"

#define WORD(name) HELIO_BACKEND_WORD_##name

/*  One attempt that runs as job 101; STARTED was said. */
static void open_running(lab_t *lab, lab_job_t *job)
{
    lab_open(lab);
    lab_start(lab, job);
    lab_settle(lab);
    lab_run(lab, job, "101");
    lab_pass(lab, 10000);
    lab_expect(lab, 0, WORD(STARTED), "");
}

/*  One that waits as job 101. */
static void open_pending(lab_t *lab, lab_job_t *job)
{
    lab_open(lab);
    lab_start(lab, job);
    lab_pass(lab, 10000);
    assert_int_equal(lab->heard_count, 0);
}

static void still_runs(lab_t *lab, const lab_job_t *job)
{
    assert_int_equal(lab->heard_count, 1);
    lab_done(lab, job, (helio_done_t){.exit_code = 9, .started_wall_ms = 5, .run_ms = 1});
    lab_set(lab, "101", "state", "FAILED");
    lab_pass(lab, 70000);
    assert_int_equal(lab->heard_count, 2);
    lab_expect(lab, 1, WORD(ENDED), "");
    assert_int_equal(lab->heard[1].event.exit_code, 9);
}

/* ---- lists that are none ---------------------------------------------------------------------------------
 */

static void trap_1__an_empty_list_with_exit_0_and_a_complaint_is_no_list(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_answer(&lab, "squeue", "",
               "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n", 0);
    lab_pass(&lab, 300000);
    assert_int_equal(lab_calls(&lab, "show job"), 0); /* not even suspected */
    lab_answer(&lab, "squeue", NULL, NULL, 0);
    still_runs(&lab, &job);
    lab_close(&lab);
}

static void trap_1__an_empty_list_without_any_complaint_is_held_against_the_job_itself(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_answer(&lab, "squeue", "", "", 0);
    lab_pass(&lab, 300000);
    assert_true(lab_calls(&lab, "show job 101") > 0);
    lab_answer(&lab, "squeue", NULL, NULL, 0);
    still_runs(&lab, &job);
    lab_close(&lab);
}

static void trap_1__lists_that_cannot_be_read_change_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *out, *err;
        int rc;
    } answers[] = {
        {"", "", 1},       {"{\"jobs\":[],\"errors\":[\"Unable to contact slurm controller\"]}\n", "", 0},
        {"helio-", "", 0}, {"slurm_load_jobs error: Socket timed out on send/recv operation\n", "", 0},
        {"\n", "", 0},     {"", "squeue: error: something that nobody has seen before\n", 0},
    };
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        lab_answer(&lab, "squeue", answers[i].out, answers[i].err, answers[i].rc);
        lab_pass(&lab, 70000);
        assert_int_equal(lab.heard_count, 1);
        assert_int_equal(lab_calls(&lab, "show job"), 0);
    }
    lab_answer(&lab, "squeue", NULL, NULL, 0);
    still_runs(&lab, &job);
    lab_close(&lab);
}

static void trap_1__a_squeue_that_hangs_is_ended_and_changes_nothing(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_put(&lab, "hung.squeue", "yes");
    lab_pass(&lab, 60000);
    assert_int_equal(lab.heard_count, 1);
    lab_put(&lab, "hung.squeue", NULL);
    still_runs(&lab, &job);
    lab_close(&lab);
}

static void trap_1__a_controller_that_is_down_ends_nobody_and_marks_are_heard_without_it(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0}, waits = {.epoch = 2};
    open_running(&lab, &job);
    lab_start(&lab, &waits);
    lab_pass(&lab, 10000);
    lab_put(&lab, "down", "yes");
    lab_pass(&lab, 900000);
    assert_int_equal(lab.heard_count, 1);
    lab_done(&lab, &job, (helio_done_t){.exit_code = 4, .started_wall_ms = 5, .run_ms = 1});
    lab_pass(&lab, 11000);
    lab_expect(&lab, 1, WORD(ENDED), "");
    assert_int_equal(lab.heard[1].event.exit_code, 4);
    lab_pass(&lab, 60000);
    assert_int_equal(lab.heard_count, 2);
    lab_close(&lab);
}

static void trap_2__one_squeue_serves_every_attempt(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t jobs[8] = {0};
    lab_open(&lab);
    lab_pass(&lab, 1000);
    for (uint32_t i = 0; i < 8; i++) {
        jobs[i].epoch = i + 1;
        lab_start(&lab, &jobs[i]);
    }
    lab_settle(&lab);
    uint32_t before = lab_calls(&lab, "squeue ");
    lab_pass(&lab, 100000);
    assert_in_range(lab_calls(&lab, "squeue ") - before, 9, 11);
    assert_int_equal(lab_calls(&lab, "--json"), 0);
    lab_close(&lab);
}

/* ---- ends ------------------------------------------------------------------------------------------------
 */

static void trap_12__a_job_that_an_up_controller_no_longer_knows_vanished_after_three_lists(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_set(&lab, "101", "listed", "no");
    lab_set(&lab, "101", "known", "no");
    lab_pass(&lab, 29000);
    assert_int_equal(lab.heard_count, 1);
    lab_pass(&lab, 60000);
    lab_expect(&lab, 1, WORD(VANISHED), "Vanished: Slurm knows nothing of its job 101 any more");
    assert_true(lab.heard[1].event.run_ms > 0);
    assert_true(lab.heard[1].event.started_wall_ms > 0);
    lab_close(&lab);
}

static void trap_12__unknown_counts_from_a_controller_alone_that_is_up(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_set(&lab, "101", "listed", "no");
    lab_set(&lab, "101", "known", "no");
    lab_pass(&lab, 11000);
    lab_answer(&lab, "scontrol", "", "slurm_load_jobs error: Invalid job id specified\n",
               1); /* also to ping */
    lab_pass(&lab, 300000);
    assert_int_equal(lab.heard_count, 1);
    lab_set(&lab, "101", "listed", "yes"); /* the controller has read its state again */
    lab_set(&lab, "101", "known", "yes");
    lab_answer(&lab, "scontrol", NULL, NULL, 0);
    still_runs(&lab, &job);
    lab_close(&lab);
}

static void trap_12__one_that_left_before_a_shim_came_never_ran_and_never_will(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_pending(&lab, &job);
    lab_set(&lab, "101", "listed", "no");
    lab_set(&lab, "101", "known", "no");
    lab_pass(&lab, 30000);
    lab_expect(&lab, 0, WORD(FAILED_TO_START), "StartFailed: Slurm knows nothing of its job 101");
    assert_true(lab_has(&lab, "shared/attempts/%s/claim", job.name));
    lab_close(&lab);
}

/*  A shared folder that is not mounted (yet), or that somebody has emptied. */
static void a_folder_that_is_gone_while_slurm_has_its_job_is_no_absence(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    char there[400], away[400];
    open_running(&lab, &job);
    (void)snprintf(there, sizeof there, "%s/shared/attempts/%s", lab.dir, job.name);
    (void)snprintf(away, sizeof away, "%s/away", lab.dir);
    assert_int_equal(rename(there, away), 0);
    lab_reopen(&lab);
    lab.heard_count = 0;
    lab_adopt(&lab, &job);
    lab_pass(&lab, 120000);
    assert_int_equal(lab.heard_count, 0);
    assert_int_equal(rename(away, there), 0);
    lab_pass(&lab, 20000);
    lab_expect(&lab, 0, WORD(STARTED), "");
    lab_close(&lab);
}

static void show_life(const lab_t *lab, const lab_job_t *job)
{
    char claim[400];
    static int64_t at_s = 1000000000;
    struct timespec times[2] = {{.tv_sec = ++at_s}, {.tv_sec = at_s}};
    (void)snprintf(claim, sizeof claim, "%s/shared/attempts/%s/claim", lab->dir, job->name);
    assert_int_equal(utimensat(AT_FDCWD, claim, times, 0), 0);
}

static void a_node_that_is_given_up_while_its_shim_lives_ends_nothing(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_set(&lab, "101", "state", "NODE_FAIL");
    for (int i = 0; i < 20; i++) {
        show_life(&lab, &job);
        lab_pass(&lab, 10000);
    }
    assert_int_equal(lab.heard_count, 1);
    lab_pass(&lab, 60000); /* and silence is believed then */
    lab_expect(&lab, 1, WORD(VANISHED), "NodeFailed");
    lab_close(&lab);
}

static void a_job_that_slurm_knows_by_another_name_runs_on_and_can_be_stopped(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_set(&lab, "101", "name", "innocent");
    for (int i = 0; i < 20; i++) {
        show_life(&lab, &job);
        lab_pass(&lab, 10000);
    }
    assert_int_equal(lab.heard_count, 1);
    lab_stop(&lab, &job, HELIO_STOP_MODE_GRACE);
    lab_pass(&lab, 5000);
    assert_true(lab_has(&lab, "shared/attempts/%s/stop", job.name));
    lab_done(&lab, &job, (helio_done_t){.stopped = true, .started_wall_ms = 5, .run_ms = 7});
    lab_pass(&lab, 30000);
    lab_expect(&lab, 1, WORD(ENDED), "");
    lab_close(&lab);
}

/*  Slurm kills process by process: the shim may live long enough to write that its rank was killed. */
static void a_kill_that_slurm_does_not_own_up_to_is_not_the_jobs_end(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_done(&lab, &job, (helio_done_t){.exit_code = 137, .started_wall_ms = 5, .run_ms = 1});
    lab_set(&lab, "101", "listed", "no"); /* a controller that was killed has forgotten it, */
    lab_set(&lab, "101", "known", "no");  /* and had its nodes end what it did not know */
    lab_pass(&lab, 300000);
    lab_expect(&lab, 1, WORD(VANISHED), "Vanished: killed at the site");
    lab_close(&lab);
}

static void a_program_that_was_killed_by_its_own_doing_ends_with_137(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_done(&lab, &job, (helio_done_t){.exit_code = 137, .started_wall_ms = 5, .run_ms = 1});
    lab_set(&lab, "101", "state", "FAILED");
    lab_set(&lab, "101", "exit", "137:0");
    lab_pass(&lab, 30000);
    lab_expect(&lab, 1, WORD(ENDED), "");
    assert_int_equal(lab_last(&lab)->event.exit_code, 137);
    lab_close(&lab);
}

/*  A controller that forgot the job's start has its nodes kill it, and starts it again under its number. */
static void an_exit_code_of_another_run_under_the_same_number_is_not_the_attempts(void **state)
{
    (void)state;
    static const struct {
        bool done;
        const char *exit, *says;
        uint32_t word;
    } cases[] = {{false, "1:0", "Vanished: Slurm says FAILED, exit code 1", WORD(VANISHED)},
                 {true, "1:0", "Vanished: killed at the site", WORD(VANISHED)},
                 {true, "137:0", "", WORD(ENDED)},
                 {true, "9:0", "", WORD(ENDED)}}; /* as sacct writes 137 */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lab_t lab;
        lab_job_t job = {0};
        open_running(&lab, &job);
        if (cases[i].done)
            lab_done(&lab, &job, (helio_done_t){.exit_code = 137, .started_wall_ms = 5, .run_ms = 1});
        lab_set(&lab, "101", "state", "FAILED");
        lab_set(&lab, "101", "exit", cases[i].exit);
        lab_pass(&lab, 90000);
        lab_expect(&lab, 1, cases[i].word, cases[i].says);
        lab_close(&lab);
    }
}

static void another_run_under_the_same_number_ends_nothing_while_the_shim_lives(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_set(&lab, "101", "state", "COMPLETED"); /* it found the folder taken */
    for (int i = 0; i < 20; i++) {
        show_life(&lab, &job);
        lab_pass(&lab, 10000);
    }
    still_runs(&lab, &job);
    lab_close(&lab);
}

static void a_number_that_was_given_again_is_somebody_elses_job(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_set(&lab, "101", "name", "thesis");
    lab_set(&lab, "101", "state", "COMPLETED");
    lab_pass(&lab, 90000);
    lab_expect(&lab, 1, WORD(VANISHED), "Vanished: Slurm knows nothing");
    lab_pass(&lab, 60000);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    lab_read(&lab, "jobs/101", &text);
    assert_null(strstr(text.data, "CANCELLED"));
    lab_close(&lab);
}

static void trap_4__ends_are_read_from_slurms_own_words_when_no_mark_says_them(void **state)
{
    (void)state;
    static const struct {
        const char *job_state, *exit, *reason;
        uint32_t word;
        int exit_code;
        bool limit;
        const char *says;
    } cases[] = {
        {"FAILED", "3:0", "NonZeroExitCode", WORD(VANISHED), 0, false,
         "Vanished: Slurm says FAILED, exit code 3, but helio-shim left no end"},
        {"FAILED", "0:11", "JobLaunchFailure", WORD(VANISHED), 0, false,
         "Vanished: helio-shim was killed by signal 11"},
        {"COMPLETED", "0:0", "None", WORD(VANISHED), 0, false,
         "Vanished: Slurm says COMPLETED, exit code 0, but helio-shim"},
        {"TIMEOUT", "0:0", "TimeLimit", WORD(ENDED), 124, true, ""},
        {"OUT_OF_MEMORY", "0:125", "OutOfMemory", WORD(ENDED), 137, false, "OutOfMemory"},
        {"NODE_FAIL", "0:0", "NodeDown", WORD(VANISHED), 0, false, "NodeFailed: "},
        {"PREEMPTED", "0:0", "None", WORD(VANISHED), 0, false, "Preempted: "},
        {"CANCELLED", "0:15", "None", WORD(VANISHED), 0, false, "SiteCancelled: "},
        {"BOOT_FAIL", "0:0", "None", WORD(VANISHED), 0, false, "NodeFailed: "},
        {"DEADLINE", "0:0", "None", WORD(VANISHED), 0, false, "SiteCancelled: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lab_t lab;
        lab_job_t job = {0};
        open_running(&lab, &job);
        lab_set(&lab, "101", "exit", cases[i].exit);
        lab_set(&lab, "101", "reason", cases[i].reason);
        lab_set(&lab, "101", "start", "1790000001");
        lab_set(&lab, "101", "end", "1790000009");
        lab_set(&lab, "101", "state", cases[i].job_state);
        lab_pass(&lab, 90000);
        lab_expect(&lab, 1, cases[i].word, cases[i].says);
        assert_int_equal(lab.heard[1].event.exit_code, cases[i].exit_code);
        assert_int_equal(lab.heard[1].event.limit_reached, cases[i].limit);
        assert_false(lab.heard[1].event.stopped);
        assert_int_equal(lab.heard[1].event.ended_wall_ms, INT64_C(1790000009000));
        assert_true(lab.heard[1].event.run_ms > 0);
        lab_close(&lab);
    }
}

static void the_same_words_before_a_shim_came_are_failures_to_start(void **state)
{
    (void)state;
    static const struct {
        const char *job_state, *reason, *says;
    } cases[] = {
        {"CANCELLED", "None", "SiteCancelled: cancelled at the site before it began"},
        {"NODE_FAIL", "NodeDown", "NodeFailed: "},
        {"PREEMPTED", "None", "Preempted: "},
        {"FAILED", "JobLaunchFailure", "StartFailed: Slurm says FAILED, JobLaunchFailure"},
        {"FAILED", "BadConstraints", "SubmitRefused: BadConstraints"},
        {"COMPLETED", "None", "StartFailed: Slurm says COMPLETED"},
        {"TIMEOUT", "TimeLimit", "StartFailed: Slurm says TIMEOUT"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lab_t lab;
        lab_job_t job = {0};
        open_pending(&lab, &job);
        lab_set(&lab, "101", "reason", cases[i].reason);
        lab_set(&lab, "101", "state", cases[i].job_state);
        lab_pass(&lab, 30000);
        assert_int_equal(lab.heard_count, 1);
        lab_expect(&lab, 0, WORD(FAILED_TO_START), cases[i].says);
        assert_true(lab_has(&lab, "shared/attempts/%s/claim", job.name));
        lab_close(&lab);
    }
}

static void what_waited_in_a_partition_that_was_removed_had_no_node_to_fail(void **state)
{
    (void)state;
    static const struct {
        int64_t start_s;
        const char *says;
    } cases[] = {{0, "Withdrawn: Slurm ended it in its queue"},
                 {1790000061, "Withdrawn: "}, /* scontrol has no start that is not its end */
                 {1790000060, "NodeFailed: before it began"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lab_t lab;
        lab_job_t job = {0};
        open_pending(&lab, &job);
        lab_account(&lab, &job, "101", "NODE_FAIL", "0:0", cases[i].start_s, 1790000061);
        lab_set(&lab, "101", "reason", "NodeDown");
        lab_set(&lab, "101", "state", "NODE_FAIL");
        lab_pass(&lab, 30000);
        assert_int_equal(lab.heard_count, 1);
        lab_expect(&lab, 0, WORD(FAILED_TO_START), cases[i].says);
        lab_close(&lab);
    }
}

static void accounting_is_asked_before_the_queue_and_says_who_cancelled(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_account(&lab, &job, "101", "CANCELLED by 1017", "0:0", 1790000001, 1790000061);
    lab_set(&lab, "101", "listed", "no");
    lab_set(&lab, "101", "known", "no");
    lab_pass(&lab, 20000);
    lab_expect(&lab, 1, WORD(VANISHED), "SiteCancelled: cancelled at the site by uid 1017");
    assert_int_equal(lab_calls(&lab, "show job"), 0);
    lab_close(&lab);
}

static void accounting_that_lags_behind_is_asked_again_and_then_left(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_account(&lab, &job, "101", "RUNNING", "0:0", 1790000001, 0);
    lab_set(&lab, "101", "state", "NODE_FAIL");
    lab_pass(&lab, 30000);
    lab_expect(&lab, 1, WORD(VANISHED), "NodeFailed");
    assert_int_equal(lab_calls(&lab, "sacct "), 3);
    lab_close(&lab);
}

static void a_mark_that_comes_late_over_a_slow_file_system_is_the_one_that_counts(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_set(&lab, "101", "exit", "6:0");
    lab_set(&lab, "101", "state", "FAILED");
    lab_pass(&lab, 40000);
    assert_int_equal(lab.heard_count, 1);
    lab_done(&lab, &job, (helio_done_t){.exit_code = 6, .started_wall_ms = 5, .run_ms = 77});
    lab_pass(&lab, 5000);
    lab_expect(&lab, 1, WORD(ENDED), "");
    assert_int_equal(lab.heard[1].event.run_ms, 77);
    lab_close(&lab);
}

/* ---- what an administrator does --------------------------------------------------------------------------
 */

static void trap_7__a_polite_end_that_we_did_not_ask_for_is_the_sites_doing(void **state)
{
    (void)state;
    static const struct {
        const char *job_state, *says;
        uint32_t word;
    } cases[] = {{"CANCELLED", "SiteCancelled: ", WORD(VANISHED)},
                 {"PREEMPTED", "Preempted: ", WORD(VANISHED)},
                 {"TIMEOUT", "", WORD(ENDED)},
                 {"FAILED", "SiteCancelled: it was told to stop at the site", WORD(VANISHED)}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lab_t lab;
        lab_job_t job = {0};
        open_running(&lab, &job);
        lab_done(&lab, &job,
                 (helio_done_t){.exit_code = 143, .stopped = true, .started_wall_ms = 5, .run_ms = 4321});
        lab_set(&lab, "101", "state", "COMPLETING");
        lab_pass(&lab, 20000);
        assert_int_equal(lab.heard_count, 1); /* Slurm has not said why yet */
        lab_set(&lab, "101", "state", cases[i].job_state);
        lab_pass(&lab, 20000);
        lab_expect(&lab, 1, cases[i].word, cases[i].says);
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
            .exit_code = 143, .stopped = true, .started_wall_ms = 5, .run_ms = 1, .reason = "LeaseExpired"});
    lab_set(&lab, "101", "state", "FAILED");
    lab_pass(&lab, 20000);
    lab_expect(&lab, 1, WORD(ENDED), "LeaseExpired");
    assert_true(lab.heard[1].event.stopped);
    lab_close(&lab);
}

static void trap_5__a_job_that_was_queued_again_is_dead_and_its_second_run_is_no_success(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_set(&lab, "101", "state", "PENDING");
    lab_set(&lab, "101", "reason", "BeginTime");
    lab_pass(&lab, 30000);
    lab_expect(&lab, 1, WORD(VANISHED), "SiteCancelled: queued again at the site");
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
    lab_expect(&lab, 0, WORD(STARTED), "");
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

/* ---- orders ----------------------------------------------------------------------------------------------
 */

static void trap_8__scancel_of_what_is_not_there_ends_nothing_by_itself(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_answer(&lab, "scancel", "",
               "scancel: error: Kill job error on job id 101: Invalid job id specified\n", 0);
    lab_stop(&lab, &job, HELIO_STOP_MODE_KILL);
    lab_pass(&lab, 20000);
    assert_int_equal(lab.heard_count, 1);
    lab_set(&lab, "101", "listed", "no");
    lab_set(&lab, "101", "known", "no");
    lab_pass(&lab, 90000);
    lab_expect(&lab, 1, WORD(ENDED), "");
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
    lab_expect(&lab, 0, WORD(STARTED), "");
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
        lab_expect(&lab, 0, WORD(STARTED), "");
        lab_close(&lab);
    }
}

static void trap_17__a_job_that_slurm_takes_for_running_after_its_end_is_cancelled(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_done(&lab, &job, (helio_done_t){.exit_code = 0, .started_wall_ms = 5, .run_ms = 1});
    lab_pass(&lab, 11000);
    lab_expect(&lab, 1, WORD(ENDED), "");
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

/* ---- the rest of what was seen ---------------------------------------------------------------------------
 */

/*  scontrol requeue of what was handed in with --no-requeue is refused, so that nothing is run twice behind
 * our back. */
static void trap_6__every_attempt_is_handed_in_so_that_it_cannot_be_queued_again(void **state)
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
    lab_expect(&lab, 0, WORD(FAILED_TO_START), "BadOption: --requeue");
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
    lab_open(&lab);
    lab_start(&lab, &job);
    lab_settle(&lab);
    lab_set(&lab, "101", "reason", "None"); /* Slurm has not looked at it yet */
    lab_pass(&lab, 30000);
    assert_int_equal(lab.waitings, 0);
    assert_int_equal(lab.heard_count, 0);
    lab_run(&lab, &job, "101");
    lab_pass(&lab, 10000);
    lab_expect(&lab, 0, WORD(STARTED), "");
    assert_int_equal(lab_calls(&lab, "sbatch "), 1);
    lab_close(&lab);
}

/*  sacct that cannot speak to slurmdbd says so on standard error, with whatever exit code: no answer, and no
 * end. */
static void trap_14__accounting_that_cannot_be_reached_ends_nobody(void **state)
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
static void trap_15__slurms_warning_signals_are_not_counted_on(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {.spec = {.checkpoint_signal = HELIO_TEXT("USR1"), .checkpoint_grace_ms = 30000}};
    open_running(&lab, &job);
    assert_int_equal(lab_calls(&lab, "--signal"), 0);
    lab_done(&lab, &job,
             (helio_done_t){.exit_code = 143, .stopped = true, .started_wall_ms = 5, .run_ms = 7});
    lab_set(&lab, "101", "state", "PREEMPTED");
    lab_pass(&lab, 30000);
    lab_expect(&lab, 1, WORD(VANISHED), "Preempted: ");
    lab_close(&lab);
}

/*  Slurm keeps time by the minute: its limit lies above ours and the grace, and the shim keeps ours. */
static void trap_16__slurms_coarse_limit_never_comes_before_ours(void **state)
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
            assert_true(minutes * UINT64_C(60000) >= cases[i].limit_ms + 30000 + 60000 ||
                        !lab_calls(&lab, option));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trap_1__an_empty_list_with_exit_0_and_a_complaint_is_no_list),
        cmocka_unit_test(trap_1__an_empty_list_without_any_complaint_is_held_against_the_job_itself),
        cmocka_unit_test(trap_1__lists_that_cannot_be_read_change_nothing),
        cmocka_unit_test(trap_1__a_squeue_that_hangs_is_ended_and_changes_nothing),
        cmocka_unit_test(trap_1__a_controller_that_is_down_ends_nobody_and_marks_are_heard_without_it),
        cmocka_unit_test(trap_2__one_squeue_serves_every_attempt),
        cmocka_unit_test(trap_12__a_job_that_an_up_controller_no_longer_knows_vanished_after_three_lists),
        cmocka_unit_test(trap_12__unknown_counts_from_a_controller_alone_that_is_up),
        cmocka_unit_test(trap_12__one_that_left_before_a_shim_came_never_ran_and_never_will),
        cmocka_unit_test(a_folder_that_is_gone_while_slurm_has_its_job_is_no_absence),
        cmocka_unit_test(a_node_that_is_given_up_while_its_shim_lives_ends_nothing),
        cmocka_unit_test(a_job_that_slurm_knows_by_another_name_runs_on_and_can_be_stopped),
        cmocka_unit_test(a_kill_that_slurm_does_not_own_up_to_is_not_the_jobs_end),
        cmocka_unit_test(a_program_that_was_killed_by_its_own_doing_ends_with_137),
        cmocka_unit_test(an_exit_code_of_another_run_under_the_same_number_is_not_the_attempts),
        cmocka_unit_test(another_run_under_the_same_number_ends_nothing_while_the_shim_lives),
        cmocka_unit_test(a_number_that_was_given_again_is_somebody_elses_job),
        cmocka_unit_test(trap_4__ends_are_read_from_slurms_own_words_when_no_mark_says_them),
        cmocka_unit_test(the_same_words_before_a_shim_came_are_failures_to_start),
        cmocka_unit_test(what_waited_in_a_partition_that_was_removed_had_no_node_to_fail),
        cmocka_unit_test(accounting_is_asked_before_the_queue_and_says_who_cancelled),
        cmocka_unit_test(accounting_that_lags_behind_is_asked_again_and_then_left),
        cmocka_unit_test(a_mark_that_comes_late_over_a_slow_file_system_is_the_one_that_counts),
        cmocka_unit_test(trap_7__a_polite_end_that_we_did_not_ask_for_is_the_sites_doing),
        cmocka_unit_test(a_lease_that_ran_out_is_a_stop_and_no_doing_of_the_site),
        cmocka_unit_test(trap_5__a_job_that_was_queued_again_is_dead_and_its_second_run_is_no_success),
        cmocka_unit_test(a_job_that_is_held_only_waits),
        cmocka_unit_test(a_state_that_no_release_of_ours_knows_is_one_that_lives),
        cmocka_unit_test(trap_8__scancel_of_what_is_not_there_ends_nothing_by_itself),
        cmocka_unit_test(trap_10__the_number_of_a_federated_cluster_comes_with_its_name),
        cmocka_unit_test(answers_of_sbatch_that_are_no_number_are_not_believed),
        cmocka_unit_test(trap_17__a_job_that_slurm_takes_for_running_after_its_end_is_cancelled),
        cmocka_unit_test(a_claim_of_a_hostile_user_makes_nobody_cancel_another_job),
        cmocka_unit_test(trap_6__every_attempt_is_handed_in_so_that_it_cannot_be_queued_again),
        cmocka_unit_test(trap_9__every_attempt_has_a_time_limit_at_slurm),
        cmocka_unit_test(trap_13__a_job_that_slurm_starts_late_is_waited_for),
        cmocka_unit_test(trap_14__accounting_that_cannot_be_reached_ends_nobody),
        cmocka_unit_test(trap_15__slurms_warning_signals_are_not_counted_on),
        cmocka_unit_test(trap_16__slurms_coarse_limit_never_comes_before_ours),
        cmocka_unit_test(trap_18__commands_leave_no_zombies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
