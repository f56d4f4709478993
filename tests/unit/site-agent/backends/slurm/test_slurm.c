/*  test_slurm.c -- attempts at Slurm are handed in, run and end, and a new agent takes them up. */
#include "tests/unit/site-agent/backends/slurm/slurm_testing.h"

/* ---- the plain life ------------------------------------------------------------------------------------ */

static void slurm__an_attempt_is_submitted_runs_and_ends_by_its_status_file(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_started(&lab, &job);
    assert_int_equal(lab_calls(&lab, "sbatch "), 1);
    assert_int_equal(lab.heard_count, 0);
    lab_pass(&lab, 20000); /* pending */
    assert_int_equal(lab.heard_count, 0);
    lab_run(&lab, &job, "101");
    lab_pass(&lab, 10000);
    lab_expect_word(&lab, 0, WORD(STARTED));
    assert_string_equal(lab.heard[0].local_id, "101");
    int64_t began_ms = lab.wall_ms - 10000;
    lab_report(&lab, &job, "{\"units\": 5, \"checkpoint\": \"step-5\"}\n", began_ms + 2500);
    lab_done(&lab, &job, (helio_done_t){.exit_code = 3, .started_wall_ms = began_ms, .run_ms = 4000});
    lab_set(&lab, "101", "state", "FAILED");
    lab_pass(&lab, 10000);
    lab_expect_word(&lab, 1, WORD(ENDED));
    assert_int_equal(lab.heard[1].event.exit_code, 3);
    assert_int_equal(lab.heard[1].event.run_ms, 4000);
    assert_int_equal(lab.heard[1].event.units_done, 5);
    assert_int_equal(lab.heard[1].event.saved_run_ms, 2500);
    assert_int_equal(lab.heard[1].event.started_wall_ms, began_ms);
    assert_string_equal(lab.heard[1].explanation, "");
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
    lab_expect_word(&lab, 0, WORD(STARTED));
    lab_close(&lab);
}

static void slurm__a_short_job_that_ended_between_two_lists_is_reported_in_full(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_started(&lab, &job);
    lab_run(&lab, &job, "101");
    lab_done(&lab, &job, (helio_done_t){.exit_code = 0, .started_wall_ms = 5, .run_ms = 1});
    lab_set(&lab, "101", "state", "COMPLETED");
    lab_pass(&lab, 10000);
    lab_expect_word(&lab, 0, WORD(STARTED));
    lab_expect_word(&lab, 1, WORD(ENDED));
    lab_close(&lab);
}

static void slurm__an_attempt_that_the_shim_could_not_start_failed_to_start(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_started(&lab, &job);
    lab_claim(&lab, &job, "101");
    lab_done(&lab, &job,
             (helio_done_t){.failed = true, .cause = HELIO_CAUSE_START_FAILED, .explanation = "no such folder"});
    lab_set(&lab, "101", "state", "FAILED");
    lab_pass(&lab, 10000);
    assert_int_equal(lab.heard_count, 1);
    lab_expect(&lab, 0, WORD(FAILED_TO_START), HELIO_CAUSE_START_FAILED, "no such folder");
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
    lab_expect(&lab, 0, WORD(FAILED_TO_START), HELIO_CAUSE_NO_USER_MAPPING, "");
    assert_int_equal(lab_calls(&lab, "sbatch "), 0);
    lab_close(&lab);
}

/* ---- a new agent --------------------------------------------------------------------------------------- */

static void slurm__a_new_agent_adopts_running_attempts_and_those_that_ended_meanwhile(void **state)
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

static void slurm__an_unknown_attempt_is_absent_only_after_a_list(void **state)
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
    lab_expect_word(&lab, 0, WORD(ABSENT));
    assert_int_equal(lab.heard_count, 1);
    lab_close(&lab);
}

static void slurm__an_sbatch_of_a_killed_agent_can_run_nothing_after_absent(void **state)
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
    lab_expect_word(&lab, 0, WORD(ABSENT));
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
    lab_expect_word(&lab, 0, WORD(STARTED));
    assert_int_equal(lab.heard[0].event.epoch, 1);
    lab_close(&lab);
}

/* ---- handing in ---------------------------------------------------------------------------------------- */

static void slurm__a_refusal_is_explained_by_slurms_message_and_nothing_runs_after_it(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_answer(&lab, "sbatch", "",
               "sbatch: error: Batch job submission failed: Requested node configuration is not available\n", 1);
    lab_start(&lab, &job);
    lab_settle(&lab);
    lab_expect(&lab, 0, WORD(FAILED_TO_START), HELIO_CAUSE_SUBMIT_REFUSED,
               "Requested node configuration is not available");
    assert_true(lab_has(&lab, "shared/attempts/%s/claim", job.name));
    lab_pass(&lab, 300000);
    assert_int_equal(lab.heard_count, 1);
    assert_int_equal(lab_calls(&lab, "sbatch "), 1);
    lab_close(&lab);
}

#define NO_PARTITION                                     \
    "sbatch: error: invalid partition specified: main\n" \
    "sbatch: error: Batch job submission failed: Invalid partition name specified\n"

static void slurm__a_missing_partition_of_a_pool_is_retried_for_a_minute(void **state)
{
    (void)state;
    for (int back = 0; back < 2; back++) {
        lab_t lab;
        lab_job_t job = {0};
        lab_open(&lab);
        lab_answer(&lab, "sbatch", "", NO_PARTITION, 1);
        lab_start(&lab, &job);
        lab_pass(&lab, 20000);
        assert_int_equal(lab.heard_count, 0);
        assert_true(lab_calls(&lab, "sbatch ") > 1);
        if (back) {
            lab_answer(&lab, "sbatch", NULL, NULL, 0);
            lab_pass(&lab, 30000);
            assert_int_equal(lab.heard_count, 0);
            lab_run(&lab, &job, "101");
            lab_pass(&lab, 10000);
            lab_expect_word(&lab, 0, WORD(STARTED));
        } else {
            lab_pass(&lab, 60000);
            lab_expect(&lab, 0, WORD(FAILED_TO_START), HELIO_CAUSE_SUBMIT_FAILED, "Invalid partition name specified");
        }
        assert_int_equal(lab.heard_count, 1);
        lab_close(&lab);
    }
}

static void slurm__a_missing_partition_of_the_jobs_own_choice_is_refused_at_once(void **state)
{
    (void)state;
    helio_pair_t own = {HELIO_TEXT("partition"), HELIO_TEXT("nosuch")};
    lab_t lab;
    lab_job_t job = {.spec.slurm = {.items = &own, .count = 1}};
    lab_open(&lab);
    lab_answer(&lab, "sbatch", "", NO_PARTITION, 1);
    lab_start(&lab, &job);
    lab_settle(&lab);
    lab_expect(&lab, 0, WORD(FAILED_TO_START), HELIO_CAUSE_SUBMIT_REFUSED, "Invalid partition name specified");
    lab_close(&lab);
}

static void trap_3__the_failed_job_that_a_refusal_leaves_behind_does_not_count(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_put(&lab, "accept", "yes");
    lab_answer(&lab, "sbatch", "",
               "sbatch: error: Batch job submission failed: Requested node configuration is not available\n", 1);
    lab_start(&lab, &job);
    lab_settle(&lab);
    lab_set(&lab, "101", "state", "FAILED");
    lab_set(&lab, "101", "reason", "BadConstraints");
    lab_expect(&lab, 0, WORD(FAILED_TO_START), HELIO_CAUSE_SUBMIT_REFUSED, "");
    lab_pass(&lab, 60000);
    assert_int_equal(lab.heard_count, 1);
    assert_int_equal(lab_calls(&lab, "scancel "), 0);
    lab_close(&lab);
}

static void slurm__a_refusal_whose_reply_was_lost_is_read_from_the_job_it_left(void **state)
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
    lab_expect(&lab, 0, WORD(FAILED_TO_START), HELIO_CAUSE_SUBMIT_REFUSED, "BadConstraints");
    assert_int_equal(lab_calls(&lab, "sbatch "), 1);
    lab_close(&lab);
}

static void trap_11__a_job_whose_number_was_lost_is_found_by_its_name(void **state)
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
    lab_expect_word(&lab, 0, WORD(STARTED));
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
    lab_expect_word(&lab, 0, WORD(STARTED));
    assert_string_equal(lab.heard[0].local_id, "101");
    assert_int_equal(lab_calls(&lab, "scancel --name="), 1);
    assert_int_equal(lab_calls(&lab, "--state=PENDING 102"), 1);
    lab_done(&lab, &job, (helio_done_t){.exit_code = 0, .run_ms = 1, .started_wall_ms = 1});
    lab_set(&lab, "101", "state", "COMPLETED");
    lab_pass(&lab, 20000);
    lab_expect_word(&lab, 1, WORD(ENDED));
    lab_close(&lab);
}

static void slurm__an_attempt_is_submitted_once_although_the_controller_was_down(void **state)
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

static void slurm__after_a_minute_without_a_controller_the_submission_fails(void **state)
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
    lab_expect(&lab, 0, WORD(FAILED_TO_START), HELIO_CAUSE_SUBMIT_FAILED, "Unable to contact slurm controller");
    assert_true(lab_has(&lab, "shared/attempts/%s/claim", job.name));
    lab_close(&lab);
}

static void slurm__a_late_shim_counts_instead_of_a_failed_submission(void **state)
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
    lab_expect_word(&lab, 0, WORD(STARTED));
    assert_string_equal(lab.heard[0].local_id, "77");
    lab_close(&lab);
}

static void slurm__a_hung_sbatch_is_ended_and_the_queue_is_checked(void **state)
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
    lab_expect_word(&lab, 0, WORD(STARTED));
    lab_close(&lab);
}

static void slurm__many_orders_at_once_are_all_submitted_a_few_at_a_time(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slurm__an_attempt_is_submitted_runs_and_ends_by_its_status_file),
        cmocka_unit_test(slurm__a_start_repeated_is_one_start),
        cmocka_unit_test(slurm__a_short_job_that_ended_between_two_lists_is_reported_in_full),
        cmocka_unit_test(slurm__an_attempt_that_the_shim_could_not_start_failed_to_start),
        cmocka_unit_test(slurm__a_tenant_without_a_user_here_is_refused),
        cmocka_unit_test(slurm__a_new_agent_adopts_running_attempts_and_those_that_ended_meanwhile),
        cmocka_unit_test(slurm__an_unknown_attempt_is_absent_only_after_a_list),
        cmocka_unit_test(slurm__an_sbatch_of_a_killed_agent_can_run_nothing_after_absent),
        cmocka_unit_test(slurm__a_survey_finds_every_folder_that_was_not_acknowledged),
        cmocka_unit_test(slurm__a_refusal_is_explained_by_slurms_message_and_nothing_runs_after_it),
        cmocka_unit_test(slurm__a_missing_partition_of_a_pool_is_retried_for_a_minute),
        cmocka_unit_test(slurm__a_missing_partition_of_the_jobs_own_choice_is_refused_at_once),
        cmocka_unit_test(trap_3__the_failed_job_that_a_refusal_leaves_behind_does_not_count),
        cmocka_unit_test(slurm__a_refusal_whose_reply_was_lost_is_read_from_the_job_it_left),
        cmocka_unit_test(trap_11__a_job_whose_number_was_lost_is_found_by_its_name),
        cmocka_unit_test(trap_11__of_two_jobs_of_one_name_the_claim_decides_and_the_other_is_cancelled),
        cmocka_unit_test(slurm__an_attempt_is_submitted_once_although_the_controller_was_down),
        cmocka_unit_test(slurm__after_a_minute_without_a_controller_the_submission_fails),
        cmocka_unit_test(slurm__a_late_shim_counts_instead_of_a_failed_submission),
        cmocka_unit_test(slurm__a_hung_sbatch_is_ended_and_the_queue_is_checked),
        cmocka_unit_test(slurm__many_orders_at_once_are_all_submitted_a_few_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
