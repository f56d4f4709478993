/*  test_slurm_traps.c -- output of Slurm that looks like a list of jobs or the end of a job, and is not. */
#include "tests/unit/site-agent/backends/slurm/slurm_testing.h"

/* ---- lists that are none ------------------------------------------------------------------------------- */

static void trap_1__an_empty_list_with_exit_0_and_an_error_message_does_not_count(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_answer(&lab, "squeue", "", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n", 0);
    lab_pass(&lab, 300000);
    assert_int_equal(lab_calls(&lab, "show job"), 0); /* not even suspected */
    lab_answer(&lab, "squeue", NULL, NULL, 0);
    still_runs(&lab, &job);
    lab_close(&lab);
}

static void trap_1__after_an_empty_list_the_job_itself_is_queried(void **state)
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

static void trap_1__a_hung_squeue_is_ended_and_changes_nothing(void **state)
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

static void trap_1__a_controller_that_is_down_ends_no_attempt_and_status_files_still_count(void **state)
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
    lab_expect_word(&lab, 1, WORD(ENDED));
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

/* ---- ends ---------------------------------------------------------------------------------------------- */

static void trap_12__a_job_unknown_to_a_running_controller_has_vanished_after_three_lists(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_drop(&lab, "101");
    lab_pass(&lab, 29000);
    assert_int_equal(lab.heard_count, 1);
    lab_pass(&lab, 60000);
    lab_expect(&lab, 1, WORD(VANISHED), HELIO_CAUSE_VANISHED, "Slurm no longer knows its job 101");
    assert_true(lab.heard[1].event.run_ms > 0);
    assert_true(lab.heard[1].event.started_wall_ms > 0);
    lab_close(&lab);
}

/*  The shim's sign of life is old, as while the shared folder hangs: only the count of answers protects the job. */
static void trap_12__one_unknown_from_a_restarted_controller_ends_nothing(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_pass(&lab, 60000);
    lab_drop(&lab, "101");
    lab_pass(&lab, 15000);
    assert_true(lab_calls(&lab, "scontrol ping") > 0); /* it was up, and did not know the job */
    lab_set(&lab, "101", "listed", "yes");             /* its nodes have told it */
    lab_set(&lab, "101", "known", "yes");
    still_runs(&lab, &job);
    lab_close(&lab);
}

static void trap_12__unknown_counts_only_from_a_controller_that_is_up(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_drop(&lab, "101");
    lab_pass(&lab, 11000);
    lab_answer(&lab, "scontrol", "", "slurm_load_jobs error: Invalid job id specified\n", 1); /* also to ping */
    lab_pass(&lab, 300000);
    assert_int_equal(lab.heard_count, 1);
    lab_set(&lab, "101", "listed", "yes"); /* the controller has read its state again */
    lab_set(&lab, "101", "known", "yes");
    lab_answer(&lab, "scontrol", NULL, NULL, 0);
    still_runs(&lab, &job);
    lab_close(&lab);
}

static void trap_12__a_job_that_left_before_its_shim_never_ran_and_never_will(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_pending(&lab, &job);
    lab_drop(&lab, "101");
    lab_pass(&lab, 30000);
    lab_expect(&lab, 0, WORD(FAILED_TO_START), HELIO_CAUSE_WITHDRAWN, "Slurm no longer knows its job 101");
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
    lab_expect_word(&lab, 0, WORD(STARTED));
    lab_close(&lab);
}

static void show_life(const lab_t *lab, const lab_job_t *job)
{
    char claim[400];
    static int64_t at_s = 1000000000;
    at_s++;
    struct timespec times[2] = {{.tv_sec = at_s}, {.tv_sec = at_s}};
    (void)snprintf(claim, sizeof claim, "%s/shared/attempts/%s/claim", lab->dir, job->name);
    assert_int_equal(utimensat(AT_FDCWD, claim, times, 0), 0);
}

/*  A node that is cut off runs on what Slurm has given up or cancelled; a controller that came back with an old state shows
 *  it in the queue. */
static void whatever_slurm_says_of_a_shim_that_lives_ends_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *job_state;
        uint32_t word, cause;
    } cases[] = {
        {"NODE_FAIL", WORD(VANISHED), HELIO_CAUSE_NODE_FAILED},
        {"CANCELLED", WORD(VANISHED), HELIO_CAUSE_SITE_CANCELLED},
        {"PREEMPTED", WORD(VANISHED), HELIO_CAUSE_PREEMPTED},
        {"TIMEOUT", WORD(ENDED), HELIO_CAUSE_NONE},
        {"PENDING", WORD(VANISHED), HELIO_CAUSE_SITE_CANCELLED},
        {"REQUEUED", WORD(VANISHED), HELIO_CAUSE_SITE_CANCELLED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lab_t lab;
        lab_job_t job = {0};
        open_running(&lab, &job);
        lab_set(&lab, "101", "state", cases[i].job_state);
        for (int times = 0; times < 20; times++) {
            show_life(&lab, &job);
            lab_pass(&lab, 10000);
        }
        assert_int_equal(lab.heard_count, 1);
        lab_pass(&lab, 60000); /* and silence is believed then */
        assert_int_equal(lab.heard_count, 2);
        lab_expect(&lab, 1, cases[i].word, cases[i].cause, "");
        lab_close(&lab);
    }
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
    lab_expect_word(&lab, 1, WORD(ENDED));
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
    lab_expect(&lab, 1, WORD(VANISHED), HELIO_CAUSE_VANISHED, "it was killed at the site");
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
    lab_expect_word(&lab, 1, WORD(ENDED));
    assert_int_equal(lab_last(&lab)->event.exit_code, 137);
    lab_close(&lab);
}

/*  A controller that forgot the job's start has its nodes kill it, and starts it again under its number. */
static void an_exit_code_of_another_run_under_the_same_number_is_not_the_attempts(void **state)
{
    (void)state;
    static const struct {
        bool done;
        const char *exit;
        uint32_t cause;
        const char *says;
        uint32_t word;
    } cases[] = {
        {false, "1:0", HELIO_CAUSE_VANISHED, "Slurm reports FAILED, exit code 1", WORD(VANISHED)},
        {true, "1:0", HELIO_CAUSE_VANISHED, "it was killed at the site", WORD(VANISHED)},
        {true, "137:0", HELIO_CAUSE_DOUBTED, "its status files give times", WORD(ENDED)},
        {true, "9:0", HELIO_CAUSE_DOUBTED, "its status files give times", WORD(ENDED)}}; /* as sacct writes 137 */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lab_t lab;
        lab_job_t job = {0};
        open_running(&lab, &job);
        if (cases[i].done)
            lab_done(&lab, &job, (helio_done_t){.exit_code = 137, .started_wall_ms = 5, .run_ms = 1});
        lab_set(&lab, "101", "state", "FAILED");
        lab_set(&lab, "101", "exit", cases[i].exit);
        lab_pass(&lab, 90000);
        lab_expect(&lab, 1, cases[i].word, cases[i].cause, cases[i].says);
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
    lab_expect(&lab, 1, WORD(VANISHED), HELIO_CAUSE_VANISHED, "Slurm no longer knows");
    lab_pass(&lab, 60000);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    lab_read(&lab, "jobs/101", &text);
    assert_null(strstr(text.data, "CANCELLED"));
    lab_close(&lab);
}

static void trap_4__without_done_ends_are_read_from_slurms_states(void **state)
{
    (void)state;
    static const struct {
        const char *job_state, *exit, *reason;
        uint32_t word;
        int exit_code;
        bool limit;
        uint32_t cause;
        const char *says;
    } cases[] = {
        {"FAILED", "3:0", "NonZeroExitCode", WORD(VANISHED), 0, false, HELIO_CAUSE_VANISHED,
         "Slurm reports FAILED, exit code 3, but helio-shim left no status file of the end"},
        {"FAILED", "0:11", "JobLaunchFailure", WORD(VANISHED), 0, false, HELIO_CAUSE_VANISHED,
         "helio-shim was killed by signal 11"},
        {"COMPLETED", "0:0", "None", WORD(VANISHED), 0, false, HELIO_CAUSE_VANISHED,
         "Slurm reports COMPLETED, exit code 0, but helio-shim"},
        {"TIMEOUT", "0:0", "TimeLimit", WORD(ENDED), 124, true, HELIO_CAUSE_NONE, ""},
        {"OUT_OF_MEMORY", "0:125", "OutOfMemory", WORD(ENDED), 137, false, HELIO_CAUSE_OUT_OF_MEMORY, ""},
        {"NODE_FAIL", "0:0", "NodeDown", WORD(VANISHED), 0, false, HELIO_CAUSE_NODE_FAILED, ""},
        {"PREEMPTED", "0:0", "None", WORD(VANISHED), 0, false, HELIO_CAUSE_PREEMPTED, ""},
        {"CANCELLED", "0:15", "None", WORD(VANISHED), 0, false, HELIO_CAUSE_SITE_CANCELLED, ""},
        {"BOOT_FAIL", "0:0", "None", WORD(VANISHED), 0, false, HELIO_CAUSE_NODE_FAILED, ""},
        {"DEADLINE", "0:0", "None", WORD(VANISHED), 0, false, HELIO_CAUSE_SITE_CANCELLED, ""},
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
        lab_expect(&lab, 1, cases[i].word, cases[i].cause, cases[i].says);
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
        const char *job_state, *reason;
        uint32_t cause;
        const char *says;
    } cases[] = {
        {"CANCELLED", "None", HELIO_CAUSE_SITE_CANCELLED, "cancelled at the site before it began"},
        {"NODE_FAIL", "NodeDown", HELIO_CAUSE_NODE_FAILED, ""},
        {"PREEMPTED", "None", HELIO_CAUSE_PREEMPTED, ""},
        {"FAILED", "JobLaunchFailure", HELIO_CAUSE_START_FAILED, "Slurm reports FAILED, JobLaunchFailure"},
        {"FAILED", "BadConstraints", HELIO_CAUSE_SUBMIT_REFUSED, "BadConstraints"},
        {"COMPLETED", "None", HELIO_CAUSE_START_FAILED, "Slurm reports COMPLETED"},
        {"TIMEOUT", "TimeLimit", HELIO_CAUSE_START_FAILED, "Slurm reports TIMEOUT"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lab_t lab;
        lab_job_t job = {0};
        open_pending(&lab, &job);
        lab_set(&lab, "101", "reason", cases[i].reason);
        lab_set(&lab, "101", "state", cases[i].job_state);
        lab_pass(&lab, 30000);
        assert_int_equal(lab.heard_count, 1);
        lab_expect(&lab, 0, WORD(FAILED_TO_START), cases[i].cause, cases[i].says);
        assert_true(lab_has(&lab, "shared/attempts/%s/claim", job.name));
        lab_close(&lab);
    }
}

static void what_waited_in_a_partition_that_was_removed_had_no_node_to_fail(void **state)
{
    (void)state;
    static const struct {
        int64_t start_s;
        uint32_t cause;
        const char *says;
    } cases[] = {{0, HELIO_CAUSE_WITHDRAWN, "Slurm ended it in the queue"},
                 {1790000061, HELIO_CAUSE_WITHDRAWN, ""}, /* scontrol has no start that is not its end */
                 {1790000060, HELIO_CAUSE_NODE_FAILED, "before it began"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lab_t lab;
        lab_job_t job = {0};
        open_pending(&lab, &job);
        lab_account(&lab, &job, "101", "NODE_FAIL", "0:0", cases[i].start_s, 1790000061);
        lab_set(&lab, "101", "reason", "NodeDown");
        lab_set(&lab, "101", "state", "NODE_FAIL");
        lab_pass(&lab, 30000);
        assert_int_equal(lab.heard_count, 1);
        lab_expect(&lab, 0, WORD(FAILED_TO_START), cases[i].cause, cases[i].says);
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
    lab_drop(&lab, "101");
    lab_pass(&lab, 45000);
    lab_expect(&lab, 1, WORD(VANISHED), HELIO_CAUSE_SITE_CANCELLED, "cancelled at the site by uid 1017");
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
    lab_expect(&lab, 1, WORD(VANISHED), HELIO_CAUSE_NODE_FAILED, "");
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
    lab_expect_word(&lab, 1, WORD(ENDED));
    assert_int_equal(lab.heard[1].event.run_ms, 77);
    lab_close(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trap_1__an_empty_list_with_exit_0_and_an_error_message_does_not_count),
        cmocka_unit_test(trap_1__after_an_empty_list_the_job_itself_is_queried),
        cmocka_unit_test(trap_1__lists_that_cannot_be_read_change_nothing),
        cmocka_unit_test(trap_1__a_hung_squeue_is_ended_and_changes_nothing),
        cmocka_unit_test(trap_1__a_controller_that_is_down_ends_no_attempt_and_status_files_still_count),
        cmocka_unit_test(trap_2__one_squeue_serves_every_attempt),
        cmocka_unit_test(trap_12__a_job_unknown_to_a_running_controller_has_vanished_after_three_lists),
        cmocka_unit_test(trap_12__one_unknown_from_a_restarted_controller_ends_nothing),
        cmocka_unit_test(trap_12__unknown_counts_only_from_a_controller_that_is_up),
        cmocka_unit_test(trap_12__a_job_that_left_before_its_shim_never_ran_and_never_will),
        cmocka_unit_test(a_folder_that_is_gone_while_slurm_has_its_job_is_no_absence),
        cmocka_unit_test(whatever_slurm_says_of_a_shim_that_lives_ends_nothing),
        cmocka_unit_test(a_job_that_slurm_knows_by_another_name_runs_on_and_can_be_stopped),
        cmocka_unit_test(a_kill_that_slurm_does_not_own_up_to_is_not_the_jobs_end),
        cmocka_unit_test(a_program_that_was_killed_by_its_own_doing_ends_with_137),
        cmocka_unit_test(an_exit_code_of_another_run_under_the_same_number_is_not_the_attempts),
        cmocka_unit_test(another_run_under_the_same_number_ends_nothing_while_the_shim_lives),
        cmocka_unit_test(a_number_that_was_given_again_is_somebody_elses_job),
        cmocka_unit_test(trap_4__without_done_ends_are_read_from_slurms_states),
        cmocka_unit_test(the_same_words_before_a_shim_came_are_failures_to_start),
        cmocka_unit_test(what_waited_in_a_partition_that_was_removed_had_no_node_to_fail),
        cmocka_unit_test(accounting_is_asked_before_the_queue_and_says_who_cancelled),
        cmocka_unit_test(accounting_that_lags_behind_is_asked_again_and_then_left),
        cmocka_unit_test(a_mark_that_comes_late_over_a_slow_file_system_is_the_one_that_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
