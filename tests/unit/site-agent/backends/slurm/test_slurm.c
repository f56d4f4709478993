#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/slurm_double.h"

#define WORD(name) HELIO_BACKEND_WORD_##name

/* ---- the plain life --------------------------------------------------------------------------------------
 */

static void slurm__one_attempt_is_handed_in_runs_and_ends_by_its_mark(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_start(&lab, &job);
    lab_settle(&lab);
    assert_int_equal(lab_calls(&lab, "sbatch "), 1);
    assert_int_equal(lab.heard_count, 0);
    lab_pass(&lab, 20000); /* pending */
    assert_int_equal(lab.heard_count, 0);
    lab_run(&lab, &job, "101");
    lab_pass(&lab, 10000);
    lab_expect(&lab, 0, WORD(STARTED), "");
    assert_string_equal(lab.heard[0].local_id, "101");
    int64_t began_ms = lab.wall_ms - 10000;
    lab_report(&lab, &job, "{\"units\": 5, \"checkpoint\": \"step-5\"}\n", began_ms + 2500);
    lab_done(&lab, &job, (helio_done_t){.exit_code = 3, .started_wall_ms = began_ms, .run_ms = 4000});
    lab_set(&lab, "101", "state", "FAILED");
    lab_pass(&lab, 10000);
    lab_expect(&lab, 1, WORD(ENDED), "");
    assert_int_equal(lab.heard[1].event.exit_code, 3);
    assert_int_equal(lab.heard[1].event.run_ms, 4000);
    assert_int_equal(lab.heard[1].event.units_done, 5);
    assert_int_equal(lab.heard[1].event.saved_run_ms, 2500);
    assert_int_equal(lab.heard[1].event.started_wall_ms, began_ms);
    assert_string_equal(lab.heard[1].reason, "");
    lab_pass(&lab, 60000);
    assert_int_equal(lab.heard_count, 2);
    assert_int_equal(lab_calls(&lab, "sbatch "), 1);
    assert_int_equal(lab_calls(&lab, "scancel "), 0);
    lab_close(&lab);
}

static void slurm__a_start_repeated_is_one_start(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_start(&lab, &job);
    lab_start(&lab, &job);
    lab_settle(&lab);
    lab_start(&lab, &job);
    lab_pass(&lab, 30000);
    assert_int_equal(lab_calls(&lab, "sbatch "), 1);
    lab_reopen(&lab); /* and one of a new agent finds the job */
    lab_start(&lab, &job);
    lab_pass(&lab, 30000);
    assert_int_equal(lab_calls(&lab, "sbatch "), 1);
    lab_run(&lab, &job, "101");
    lab_pass(&lab, 10000);
    lab_expect(&lab, 0, WORD(STARTED), "");
    lab_close(&lab);
}

static void slurm__a_short_job_that_ended_between_two_lists_is_told_whole(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_start(&lab, &job);
    lab_settle(&lab);
    lab_run(&lab, &job, "101");
    lab_done(&lab, &job, (helio_done_t){.exit_code = 0, .started_wall_ms = 5, .run_ms = 1});
    lab_set(&lab, "101", "state", "COMPLETED");
    lab_pass(&lab, 10000);
    lab_expect(&lab, 0, WORD(STARTED), "");
    lab_expect(&lab, 1, WORD(ENDED), "");
    lab_close(&lab);
}

static void slurm__what_the_shim_could_not_begin_failed_to_start(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_start(&lab, &job);
    lab_settle(&lab);
    lab_claim(&lab, &job, "101");
    lab_done(&lab, &job, (helio_done_t){.failed = true, .reason = "StartFailed: no such folder"});
    lab_set(&lab, "101", "state", "FAILED");
    lab_pass(&lab, 10000);
    assert_int_equal(lab.heard_count, 1);
    lab_expect(&lab, 0, WORD(FAILED_TO_START), "StartFailed: no such folder");
    lab_close(&lab);
}

static void slurm__a_tenant_without_a_user_here_is_refused(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {.order = {.tenant = HELIO_TEXT("umbrella"), .user = HELIO_TEXT("eve")}};
    lab_open(&lab);
    lab_start(&lab, &job);
    lab_pass(&lab, 1000);
    lab_expect(&lab, 0, WORD(FAILED_TO_START), "NoUserMapping");
    assert_int_equal(lab_calls(&lab, "sbatch "), 0);
    lab_close(&lab);
}

/* ---- a new agent -----------------------------------------------------------------------------------------
 */

static void slurm__a_new_agent_takes_up_what_runs_and_what_ended_meanwhile(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t runs = {0}, ended = {.epoch = 2};
    lab_open(&lab);
    lab_start(&lab, &runs);
    lab_start(&lab, &ended);
    lab_settle(&lab);
    assert_int_equal(lab_calls(&lab, "sbatch "), 2);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t one = {0};
    lab_read(&lab, "jobs/101", &one);
    const char *id = strstr(one.data, runs.name) ? "101" : "102", *other = id[2] == '1' ? "102" : "101";
    lab_run(&lab, &runs, id);
    lab_run(&lab, &ended, other);
    lab_pass(&lab, 10000);
    assert_int_equal(lab.heard_count, 2);
    lab_reopen(&lab);
    lab.heard_count = 0;
    lab_done(&lab, &ended, (helio_done_t){.exit_code = 7, .started_wall_ms = 5, .run_ms = 1});
    lab_put(&lab, "down", "yes"); /* marks need no controller */
    lab_adopt(&lab, &runs);
    lab_adopt(&lab, &ended);
    lab_settle(&lab);
    assert_int_equal(lab.heard_count, 3); /* two STARTED and one end */
    uint32_t ends = 0;
    for (uint32_t i = 0; i < 3; i++)
        if (lab.heard[i].event.word == WORD(ENDED)) {
            ends++;
            assert_int_equal(lab.heard[i].event.epoch, 2);
            assert_int_equal(lab.heard[i].event.exit_code, 7);
        }
    assert_int_equal(ends, 1);
    lab_close(&lab);
}

static void slurm__what_was_never_there_is_absent_but_only_by_a_list(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_put(&lab, "down", "yes");
    lab_adopt(&lab, &job);
    lab_pass(&lab, 300000);
    assert_int_equal(lab.heard_count, 0);
    lab_put(&lab, "down", NULL);
    lab_pass(&lab, 61000);
    lab_expect(&lab, 0, WORD(ABSENT), "");
    assert_int_equal(lab.heard_count, 1);
    lab_close(&lab);
}

static void slurm__an_sbatch_that_a_killed_agent_left_can_run_nothing_after_absent(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_put(&lab, "hung.sbatch", "yes");
    lab_start(&lab, &job);
    lab_settle(&lab); /* the folder is made, sbatch runs: the agent is killed */
    lab_reopen(&lab);
    lab_put(&lab, "hung.sbatch", NULL);
    lab_adopt(&lab, &job);
    lab_pass(&lab, 10000);
    lab_expect(&lab, 0, WORD(ABSENT), "");
    assert_true(lab_has(&lab, "shared/attempts/%s/claim", job.name)); /* for nobody */
    lab_start(&lab, &job);                                            /* and now it is started anew */
    lab_pass(&lab, 10000);
    assert_int_equal(lab_calls(&lab, "sbatch "), 2);
    assert_false(lab_has(&lab, "shared/attempts/%s/claim", job.name));
    lab_close(&lab);
}

static void slurm__a_survey_finds_every_folder_that_was_not_acknowledged(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0}, old = {.epoch = 2};
    lab_open(&lab);
    lab_start(&lab, &job);
    lab_start(&lab, &old);
    lab_settle(&lab);
    lab.backend->class->forget(lab.backend, lab_key(), 2);
    lab_reopen(&lab);
    lab_claim(&lab, &job, "101");
    lab_started(&lab, &job);
    lab.backend->class->survey(lab.backend);
    lab_settle(&lab);
    assert_int_equal(lab.heard_count, 1);
    lab_expect(&lab, 0, WORD(STARTED), "");
    assert_int_equal(lab.heard[0].event.epoch, 1);
    lab_close(&lab);
}

/* ---- handing in ------------------------------------------------------------------------------------------
 */

static void slurm__a_refusal_is_told_in_slurms_words_and_nothing_can_run_after_it(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_answer(&lab, "sbatch", "",
               "sbatch: error: Batch job submission failed: Requested node configuration is not available\n",
               1);
    lab_start(&lab, &job);
    lab_settle(&lab);
    lab_expect(&lab, 0, WORD(FAILED_TO_START),
               "SubmitRefused: Requested node configuration is not available");
    assert_true(lab_has(&lab, "shared/attempts/%s/claim", job.name));
    lab_pass(&lab, 300000);
    assert_int_equal(lab.heard_count, 1);
    assert_int_equal(lab_calls(&lab, "sbatch "), 1);
    lab_close(&lab);
}

static void trap_3__the_failed_job_that_a_refusal_leaves_behind_is_no_attempt(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_put(&lab, "accept", "yes");
    lab_answer(&lab, "sbatch", "",
               "sbatch: error: Batch job submission failed: Requested node configuration is not available\n",
               1);
    lab_start(&lab, &job);
    lab_settle(&lab);
    lab_set(&lab, "101", "state", "FAILED");
    lab_set(&lab, "101", "reason", "BadConstraints");
    lab_expect(&lab, 0, WORD(FAILED_TO_START), "SubmitRefused");
    lab_pass(&lab, 60000);
    assert_int_equal(lab.heard_count, 1);
    assert_int_equal(lab_calls(&lab, "scancel "), 0);
    lab_close(&lab);
}

static void slurm__a_refusal_whose_answer_was_lost_is_read_from_the_job_it_left(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_put(&lab, "accept", "yes");
    lab_answer(&lab, "sbatch", "",
               "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation\n", 1);
    lab_start(&lab, &job);
    lab_settle(&lab);
    lab_set(&lab, "101", "state", "FAILED");
    lab_set(&lab, "101", "reason", "BadConstraints");
    lab_pass(&lab, 20000);
    lab_expect(&lab, 0, WORD(FAILED_TO_START), "SubmitRefused: BadConstraints");
    assert_int_equal(lab_calls(&lab, "sbatch "), 1);
    lab_close(&lab);
}

static void trap_11__a_job_whose_answer_was_lost_is_found_by_its_name(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_put(&lab, "accept", "yes");
    lab_answer(&lab, "sbatch", "",
               "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation\n", 1);
    lab_start(&lab, &job);
    lab_pass(&lab, 30000);
    assert_int_equal(lab_calls(&lab, "sbatch "), 1);
    assert_int_equal(lab.heard_count, 0);
    lab_run(&lab, &job, "101");
    lab_pass(&lab, 10000);
    lab_expect(&lab, 0, WORD(STARTED), "");
    assert_string_equal(lab.heard[0].local_id, "101");
    lab_close(&lab);
}

static void trap_11__of_two_jobs_of_one_name_the_claim_decides_and_the_other_is_cancelled(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_put(&lab, "twice", "yes");
    lab_start(&lab, &job); /* sbatch says 102 */
    lab_settle(&lab);
    lab_run(&lab, &job, "101");
    lab_pass(&lab, 20000);
    lab_expect(&lab, 0, WORD(STARTED), "");
    assert_string_equal(lab.heard[0].local_id, "101");
    assert_int_equal(lab_calls(&lab, "scancel --name="), 1);
    assert_int_equal(lab_calls(&lab, "--state=PENDING 102"), 1);
    lab_done(&lab, &job, (helio_done_t){.exit_code = 0, .run_ms = 1, .started_wall_ms = 1});
    lab_set(&lab, "101", "state", "COMPLETED");
    lab_pass(&lab, 20000);
    lab_expect(&lab, 1, WORD(ENDED), "");
    lab_close(&lab);
}

static void slurm__a_controller_that_is_down_is_tried_again_and_the_attempt_is_handed_in_once(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_pass(&lab, 1000);
    lab_start(&lab, &job);
    lab_put(&lab, "down", "yes");
    lab_pass(&lab, 20000);
    assert_int_equal(lab_calls(&lab, "sbatch "), 1); /* no list, no second try */
    lab_put(&lab, "down", NULL);
    lab_pass(&lab, 120000);
    assert_int_equal(lab_calls(&lab, "sbatch "), 2);
    assert_int_equal(lab.heard_count, 0);
    assert_true(lab_has(&lab, "jobs/101"));
    assert_false(lab_has(&lab, "jobs/102"));
    lab_close(&lab);
}

static void slurm__a_minute_without_a_controller_gives_it_up_for_good(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_pass(&lab, 1000);
    lab_put(&lab, "down", "yes");
    lab_start(&lab, &job);
    lab_pass(&lab, 59000);
    assert_int_equal(lab.heard_count, 0);
    lab_pass(&lab, 70000);
    lab_expect(&lab, 0, WORD(FAILED_TO_START), "SubmitFailed: Unable to contact slurm controller");
    assert_true(lab_has(&lab, "shared/attempts/%s/claim", job.name));
    lab_close(&lab);
}

static void slurm__a_shim_that_came_after_all_is_heard_instead_of_giving_up(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_pass(&lab, 1000);
    lab_put(&lab, "down", "yes");
    lab_start(&lab, &job);
    lab_pass(&lab, 50000);
    lab_claim(&lab, &job, "77"); /* the controller had taken it, and is silent since */
    lab_started(&lab, &job);
    lab_pass(&lab, 80000);
    assert_int_equal(lab.heard_count, 1);
    lab_expect(&lab, 0, WORD(STARTED), "");
    assert_string_equal(lab.heard[0].local_id, "77");
    lab_close(&lab);
}

static void slurm__an_sbatch_that_hangs_is_ended_and_the_queue_is_asked(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_put(&lab, "hung.sbatch", "yes");
    lab_put(&lab, "accept", "yes"); /* it was taken */
    lab_start(&lab, &job);
    lab_pass(&lab, 31000);
    lab_put(&lab, "hung.sbatch", NULL);
    lab_pass(&lab, 60000);
    assert_int_equal(lab_calls(&lab, "sbatch "), 1);
    lab_run(&lab, &job, "101");
    lab_pass(&lab, 10000);
    lab_expect(&lab, 0, WORD(STARTED), "");
    lab_close(&lab);
}

static void slurm__many_orders_at_once_are_handed_in_a_few_at_a_time_and_all_of_them(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t *jobs = calloc(60, sizeof *jobs);
    assert_non_null(jobs);
    lab_open(&lab);
    lab_pass(&lab, 1000);
    for (uint32_t i = 0; i < 60; i++) {
        jobs[i].epoch = i + 1;
        lab_start(&lab, &jobs[i]);
    }
    lab.backend->class->process(lab.backend, lab.boot_ms, lab.wall_ms);
    uint32_t folders = 0;
    for (uint32_t i = 0; i < 60; i++)
        folders += lab_has(&lab, "shared/attempts/%s", jobs[i].name);
    assert_in_range(folders, 1, 20); /* a loop that makes them all would hear nothing else for long */
    lab_pass(&lab, 30000);
    assert_int_equal(lab_calls(&lab, "sbatch "), 60);
    assert_int_equal(lab.heard_count, 0);
    free(jobs);
    lab_close(&lab);
}

/* ---- stopping --------------------------------------------------------------------------------------------
 */

static void
slurm__a_pending_one_is_stopped_by_closing_its_folder_even_when_the_controller_is_down(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_start(&lab, &job);
    lab_pass(&lab, 10000);
    lab_put(&lab, "down", "yes");
    lab_stop(&lab, &job, HELIO_STOP_MODE_GRACE);
    lab_settle(&lab);
    assert_int_equal(lab.heard_count, 1);
    lab_expect(&lab, 0, WORD(ENDED), "");
    assert_true(lab.heard[0].event.stopped);
    assert_int_equal(lab.heard[0].event.started_wall_ms, 0);
    assert_true(lab_has(&lab, "shared/attempts/%s/claim", job.name));
    lab_pass(&lab, 60000);
    lab_put(&lab, "down", NULL);
    lab_pass(&lab, 120000); /* and its job is cancelled as soon as somebody hears it */
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    lab_read(&lab, "jobs/101", &text);
    assert_non_null(strstr(text.data, "CANCELLED"));
    assert_int_equal(lab.heard_count, 1);
    lab_close(&lab);
}

static void slurm__a_stop_while_sbatch_runs_cancels_what_sbatch_brings(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_pass(&lab, 5000);
    lab_put(&lab, "hung.sbatch", "yes");
    lab_put(&lab, "accept", "yes");
    lab_start(&lab, &job);
    lab_settle(&lab);
    lab_stop(&lab, &job, HELIO_STOP_MODE_KILL);
    lab_settle(&lab);
    lab_expect(&lab, 0, WORD(ENDED), "");
    lab_pass(&lab, 60000);
    lab_put(&lab, "hung.sbatch", NULL);
    lab_pass(&lab, 60000);
    assert_true(lab_calls(&lab, "--state=PENDING 101") >= 1);
    assert_int_equal(lab.heard_count, 1);
    lab_close(&lab);
}

static void slurm__a_running_one_gets_the_polite_signal_once_and_in_the_end_slurms_own(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_start(&lab, &job);
    lab_settle(&lab);
    lab_run(&lab, &job, "101");
    lab_pass(&lab, 10000);
    lab_stop(&lab, &job, HELIO_STOP_MODE_GRACE);
    lab_stop(&lab, &job, HELIO_STOP_MODE_GRACE);
    lab_pass(&lab, 85000); /* grace 30 s, and a minute */
    assert_int_equal(lab_calls(&lab, "scancel "), 1);
    assert_int_equal(lab_calls(&lab, "--batch --signal=TERM 101"), 1);
    lab_pass(&lab, 10000);
    assert_int_equal(lab_calls(&lab, "scancel "), 2);
    assert_int_equal(lab_calls(&lab, "USR2"), 0);
    lab_pass(&lab, 20000);
    lab_expect(&lab, 1, WORD(ENDED), "");
    assert_true(lab.heard[1].event.stopped);
    lab_close(&lab);
}

static void slurm__a_kill_follows_a_polite_stop_at_once(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_start(&lab, &job);
    lab_settle(&lab);
    lab_run(&lab, &job, "101");
    lab_pass(&lab, 10000);
    lab_stop(&lab, &job, HELIO_STOP_MODE_GRACE);
    lab_settle(&lab);
    lab_stop(&lab, &job, HELIO_STOP_MODE_KILL);
    lab_settle(&lab);
    assert_int_equal(lab_calls(&lab, "--batch --signal=USR2 101"), 1);
    lab_done(&lab, &job,
             (helio_done_t){.exit_code = 137, .stopped = true, .started_wall_ms = 5, .run_ms = 9});
    lab_set(&lab, "101", "state", "FAILED");
    lab_pass(&lab, 10000);
    lab_expect(&lab, 1, WORD(ENDED), "");
    assert_true(lab.heard[1].event.stopped);
    assert_int_equal(lab.heard[1].event.run_ms, 9);
    lab_close(&lab);
}

static void slurm__a_stop_that_could_not_be_said_is_said_again(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_start(&lab, &job);
    lab_settle(&lab);
    lab_run(&lab, &job, "101");
    lab_pass(&lab, 10000);
    lab_put(&lab, "down", "yes");
    lab_stop(&lab, &job, HELIO_STOP_MODE_KILL);
    lab_pass(&lab, 30000);
    assert_true(lab_calls(&lab, "--signal=USR2 101") >= 10);
    lab_put(&lab, "down", NULL);
    lab_pass(&lab, 10000);
    uint32_t said = lab_calls(&lab, "--signal=USR2 101");
    lab_pass(&lab, 15000);
    assert_int_equal(lab_calls(&lab, "--signal=USR2 101"), said);
    lab_close(&lab);
}

static void slurm__a_stop_of_what_nobody_knows_is_absent_and_of_what_is_there_a_stop(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0}, nothing = {.epoch = 9};
    lab_open(&lab);
    lab_start(&lab, &job);
    lab_settle(&lab);
    lab_run(&lab, &job, "101");
    lab_pass(&lab, 10000);
    lab_reopen(&lab);
    lab.heard_count = 0;
    nothing.order.key = lab_key();
    nothing.order.epoch = 9;
    lab_stop(&lab, &nothing, HELIO_STOP_MODE_KILL);
    lab_stop(&lab, &job, HELIO_STOP_MODE_KILL);
    lab_pass(&lab, 11000);
    lab_expect(&lab, 0, WORD(STARTED), "");
    lab_expect(&lab, 1, WORD(ABSENT), "");
    assert_int_equal(lab.heard[1].event.epoch, 9);
    assert_int_equal(lab_calls(&lab, "--signal=USR2 101"), 1);
    lab_close(&lab);
}

/* ---- other duties ----------------------------------------------------------------------------------------
 */

static void slurm__capacity_leaves_out_what_was_handed_in_at_once(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_pass(&lab, 1000);
    assert_true(lab.capacities >= 1);
    assert_int_equal(lab.free_nodes[8], 1);
    assert_int_equal(lab.series, 1);
    uint32_t before = lab.capacities;
    lab_start(&lab, &job);
    lab_settle(&lab);
    assert_true(lab.capacities > before);
    assert_int_equal(lab.free_nodes[8], 0);
    assert_int_equal(lab.free_nodes[6], 1);
    lab_close(&lab);
}

static void slurm__a_controller_that_does_not_answer_offers_nothing_soon(void **state)
{
    (void)state;
    lab_t lab;
    lab_open(&lab);
    lab_pass(&lab, 1000);
    assert_int_equal(lab.free_nodes[8], 1);
    lab_put(&lab, "down", "yes");
    lab_pass(&lab, 5000);
    assert_int_equal(lab.free_nodes[8], 1);
    lab_pass(&lab, 60000);
    assert_int_equal(lab.free_nodes[8], 0);
    lab_put(&lab, "down", NULL);
    lab_pass(&lab, 120000);
    assert_int_equal(lab.free_nodes[8], 1);
    lab_close(&lab);
}

static void slurm__the_queue_is_asked_less_often_while_it_does_not_answer(void **state)
{
    (void)state;
    lab_t lab;
    lab_open(&lab);
    lab_pass(&lab, 1000);
    lab_put(&lab, "down", "yes");
    uint32_t before = lab_calls(&lab, "squeue ");
    lab_pass(&lab, 600000);
    uint32_t asked = lab_calls(&lab, "squeue ") - before;
    assert_in_range(asked, 8, 16); /* 10, 20, 40, 60, 60, … */
    lab_close(&lab);
}

static void slurm__the_lease_rises_and_names_no_machine(void **state)
{
    (void)state;
    lab_t lab;
    helio_lease_t first, second;
    lab_open(&lab);
    for (int i = 0; i < 2; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        assert_int_equal(lab.backend->class->lease(lab.backend, INT64_MAX / 4, NULL), HELIO_OK);
        lab_read(&lab, "shared/lease", &text);
        assert_int_equal(helio_lease_parse(helio_buffer_view(&text), i ? &second : &first), HELIO_OK);
        if (!i)
            lab_reopen(&lab);
    }
    assert_true(first.number > 0 && second.number > first.number);
    assert_string_equal(second.boot_id, "");
    assert_true(second.stop_in_ms > 0 && second.kill_in_ms > second.stop_in_ms);
    lab_close(&lab);
}

static void slurm__shim_and_script_are_put_into_the_shared_folder_whole(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t calls = {0};
    lab_open(&lab);
    lab_start(&lab, &job);
    lab_settle(&lab);
    lab_read(&lab, "calls", &calls);
    const char *at = strstr(calls.data, "/shared/bin/helio-batch-");
    assert_non_null(at);
    char script[300], shim[300];
    assert_int_equal(sscanf(at, "%299s %299s", script, shim), 2);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    lab_read(&lab, strstr(shim, "shared/"), &text);
    assert_string_equal(text.data, "#!/bin/sh\nexit 0\n");
    helio_buffer_reset(&text);
    lab_read(&lab, script + 1, &text);
    assert_non_null(strstr(text.data, "exec \"$1\" --slurm \"$2\""));
    assert_null(strstr(text.data, job.name));
    struct stat status;
    assert_int_equal(stat(shim, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0755);
    lab_close(&lab);
}

static void slurm__no_settings_of_the_agents_own_environment_reach_slurm(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    assert_int_equal(setenv("SBATCH_PARTITION", "elsewhere", 1), 0);
    assert_int_equal(setenv("SQUEUE_FORMAT", "%i", 1), 0);
    lab_open(&lab);
    lab.settings.conf = HELIO_TEXT("/etc/somewhere/slurm.conf");
    lab_reopen(&lab);
    lab_start(&lab, &job);
    lab_settle(&lab);
    static const char *const files[] = {"env.sbatch", "env.squeue"};
    for (int i = 0; i < 2; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t env = {0};
        lab_read(&lab, files[i], &env);
        assert_null(strstr(env.data, "SBATCH_"));
        assert_null(strstr(env.data, "SQUEUE_"));
        assert_non_null(strstr(env.data, "TZ=UTC\n"));
        assert_non_null(strstr(env.data, "LC_ALL=C\n"));
        assert_non_null(strstr(env.data, "SLURM_CONF=/etc/somewhere/slurm.conf\n"));
        assert_int_equal(strstr(env.data, "SLURM_TIME_FORMAT=%s\n") != NULL,
                         i == 1); /* jobs would inherit it */
    }
    lab_close(&lab);
    (void)unsetenv("SBATCH_PARTITION");
    (void)unsetenv("SQUEUE_FORMAT");
}

static void slurm__a_log_ends_when_its_attempt_did_with_a_mark_or_without(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_start(&lab, &job);
    lab_settle(&lab);
    lab_run(&lab, &job, "101");
    char file[200];
    (void)snprintf(file, sizeof file, "shared/attempts/%s/log", job.name);
    lab_put(&lab, file, "hello\n");
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    uint64_t next = 0;
    bool end = true;
    assert_int_equal(lab.backend->class->log_read(lab.backend, lab_key(), 1, 0, 100, &out, &next, &end, NULL),
                     HELIO_OK);
    assert_int_equal(next, 6);
    assert_false(end);
    lab_reopen(&lab); /* over and told, or never adopted: nothing follows */
    assert_int_equal(lab.backend->class->log_read(lab.backend, lab_key(), 1, 6, 100, &out, &next, &end, NULL),
                     HELIO_OK);
    assert_true(end);
    assert_int_equal(lab.backend->class->log_read(lab.backend, lab_key(), 5, 0, 100, &out, &next, &end, NULL),
                     HELIO_NOT_FOUND);
    lab_close(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slurm__one_attempt_is_handed_in_runs_and_ends_by_its_mark),
        cmocka_unit_test(slurm__a_start_repeated_is_one_start),
        cmocka_unit_test(slurm__a_short_job_that_ended_between_two_lists_is_told_whole),
        cmocka_unit_test(slurm__what_the_shim_could_not_begin_failed_to_start),
        cmocka_unit_test(slurm__a_tenant_without_a_user_here_is_refused),
        cmocka_unit_test(slurm__a_new_agent_takes_up_what_runs_and_what_ended_meanwhile),
        cmocka_unit_test(slurm__what_was_never_there_is_absent_but_only_by_a_list),
        cmocka_unit_test(slurm__an_sbatch_that_a_killed_agent_left_can_run_nothing_after_absent),
        cmocka_unit_test(slurm__a_survey_finds_every_folder_that_was_not_acknowledged),
        cmocka_unit_test(slurm__a_refusal_is_told_in_slurms_words_and_nothing_can_run_after_it),
        cmocka_unit_test(trap_3__the_failed_job_that_a_refusal_leaves_behind_is_no_attempt),
        cmocka_unit_test(slurm__a_refusal_whose_answer_was_lost_is_read_from_the_job_it_left),
        cmocka_unit_test(trap_11__a_job_whose_answer_was_lost_is_found_by_its_name),
        cmocka_unit_test(trap_11__of_two_jobs_of_one_name_the_claim_decides_and_the_other_is_cancelled),
        cmocka_unit_test(slurm__a_controller_that_is_down_is_tried_again_and_the_attempt_is_handed_in_once),
        cmocka_unit_test(slurm__a_minute_without_a_controller_gives_it_up_for_good),
        cmocka_unit_test(slurm__a_shim_that_came_after_all_is_heard_instead_of_giving_up),
        cmocka_unit_test(slurm__an_sbatch_that_hangs_is_ended_and_the_queue_is_asked),
        cmocka_unit_test(slurm__many_orders_at_once_are_handed_in_a_few_at_a_time_and_all_of_them),
        cmocka_unit_test(
            slurm__a_pending_one_is_stopped_by_closing_its_folder_even_when_the_controller_is_down),
        cmocka_unit_test(slurm__a_stop_while_sbatch_runs_cancels_what_sbatch_brings),
        cmocka_unit_test(slurm__a_running_one_gets_the_polite_signal_once_and_in_the_end_slurms_own),
        cmocka_unit_test(slurm__a_kill_follows_a_polite_stop_at_once),
        cmocka_unit_test(slurm__a_stop_that_could_not_be_said_is_said_again),
        cmocka_unit_test(slurm__a_stop_of_what_nobody_knows_is_absent_and_of_what_is_there_a_stop),
        cmocka_unit_test(slurm__capacity_leaves_out_what_was_handed_in_at_once),
        cmocka_unit_test(slurm__a_controller_that_does_not_answer_offers_nothing_soon),
        cmocka_unit_test(slurm__the_queue_is_asked_less_often_while_it_does_not_answer),
        cmocka_unit_test(slurm__the_lease_rises_and_names_no_machine),
        cmocka_unit_test(slurm__shim_and_script_are_put_into_the_shared_folder_whole),
        cmocka_unit_test(slurm__no_settings_of_the_agents_own_environment_reach_slurm),
        cmocka_unit_test(slurm__a_log_ends_when_its_attempt_did_with_a_mark_or_without),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
