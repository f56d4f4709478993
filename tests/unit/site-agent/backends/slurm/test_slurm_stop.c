/*  test_slurm_stop.c -- attempts at Slurm are stopped, and the backend has other duties. */
#include "tests/unit/site-agent/backends/slurm/slurm_testing.h"

/* ---- stopping ------------------------------------------------------------------------------------------ */

static void slurm__a_pending_one_is_stopped_by_closing_its_folder_even_when_the_controller_is_down(void **state)
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
    lab_expect_word(&lab, 0, WORD(ENDED));
    assert_true(lab.heard[0].event.stopped);
    assert_int_equal(lab.heard[0].event.started_wall_ms, 0);
    assert_true(lab_has(&lab, "shared/attempts/%s/claim", job.name));
    lab_pass(&lab, 60000);
    lab_put(&lab, "down", NULL);
    lab_pass(&lab, 120000); /* and its job is cancelled as soon as the controller answers */
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    lab_read(&lab, "jobs/101", &text);
    assert_non_null(strstr(text.data, "CANCELLED"));
    assert_int_equal(lab.heard_count, 1);
    lab_close(&lab);
}

static void slurm__a_stop_while_sbatch_runs_cancels_the_job_that_sbatch_makes(void **state)
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
    lab_expect_word(&lab, 0, WORD(ENDED));
    lab_pass(&lab, 60000);
    lab_put(&lab, "hung.sbatch", NULL);
    lab_pass(&lab, 60000);
    assert_true(lab_calls(&lab, "--state=PENDING 101") >= 1);
    assert_int_equal(lab.heard_count, 1);
    lab_close(&lab);
}

static void slurm__a_running_attempt_gets_one_polite_signal_and_finally_slurms_cancel(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_stop(&lab, &job, HELIO_STOP_MODE_GRACE);
    lab_stop(&lab, &job, HELIO_STOP_MODE_GRACE);
    lab_pass(&lab, 85000); /* grace 30 s, and a minute */
    assert_int_equal(lab_calls(&lab, "scancel "), 1);
    assert_int_equal(lab_calls(&lab, "--batch --signal=TERM 101"), 1);
    lab_pass(&lab, 10000);
    assert_int_equal(lab_calls(&lab, "scancel "), 2);
    assert_int_equal(lab_calls(&lab, "USR2"), 0);
    lab_pass(&lab, 20000);
    lab_expect_word(&lab, 1, WORD(ENDED));
    assert_true(lab.heard[1].event.stopped);
    lab_close(&lab);
}

static void slurm__a_kill_follows_a_polite_stop_at_once(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_stop(&lab, &job, HELIO_STOP_MODE_GRACE);
    lab_settle(&lab);
    lab_stop(&lab, &job, HELIO_STOP_MODE_KILL);
    lab_settle(&lab);
    assert_int_equal(lab_calls(&lab, "--batch --signal=USR2 101"), 1);
    lab_done(&lab, &job, (helio_done_t){.exit_code = 137, .stopped = true, .started_wall_ms = 5, .run_ms = 9});
    lab_set(&lab, "101", "state", "FAILED");
    lab_pass(&lab, 10000);
    lab_expect_word(&lab, 1, WORD(ENDED));
    assert_true(lab.heard[1].event.stopped);
    assert_int_equal(lab.heard[1].event.run_ms, 9);
    lab_close(&lab);
}

static void slurm__an_undelivered_stop_is_repeated(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
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

static void slurm__a_stop_of_an_unknown_attempt_gives_absent_and_of_an_existing_one_stops_it(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0}, nothing = {.epoch = 9};
    open_running(&lab, &job);
    lab_reopen(&lab);
    lab.heard_count = 0;
    nothing.order.key = lab_key();
    nothing.order.epoch = 9;
    lab_stop(&lab, &nothing, HELIO_STOP_MODE_KILL);
    lab_stop(&lab, &job, HELIO_STOP_MODE_KILL);
    lab_pass(&lab, 11000);
    lab_expect_word(&lab, 0, WORD(STARTED));
    lab_expect_word(&lab, 1, WORD(ABSENT));
    assert_int_equal(lab.heard[1].event.epoch, 9);
    assert_int_equal(lab_calls(&lab, "--signal=USR2 101"), 1);
    lab_close(&lab);
}

/* ---- other duties -------------------------------------------------------------------------------------- */

static void slurm__capacity_excludes_submitted_attempts_at_once(void **state)
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

static void slurm__a_silent_controller_soon_offers_no_capacity(void **state)
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

static void slurm__a_silent_controller_is_polled_less_often(void **state)
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

static void slurm__the_lease_has_a_rising_number_and_names_no_machine(void **state)
{
    (void)state;
    lab_t lab;
    helio_lease_t first, second;
    const helio_afx_lease_t granted = {.deadline_boot_ms = INT64_MAX / 4};
    lab_open(&lab);
    for (int i = 0; i < 2; i++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        assert_int_equal(lab.backend->class->lease(lab.backend, &granted, NULL), HELIO_OK);
        lab_read(&lab, "shared/leases", &text);
        assert_int_equal(helio_lease_parse(helio_buffer_view(&text), (helio_text_t){0}, i ? &second : &first),
                         HELIO_OK);
        if (!i)
            lab_reopen(&lab);
    }
    assert_true(first.number > 0 && second.number > first.number);
    assert_string_equal(second.boot_id, "");
    assert_true(second.stop_in_ms > 0 && second.kill_in_ms > second.stop_in_ms);
    lab_close(&lab);
}

static void slurm__shim_and_script_are_complete_in_the_shared_folder(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t calls = {0};
    open_started(&lab, &job);
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

static void slurm__no_variable_of_the_agents_environment_reaches_slurm(void **state)
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
        assert_non_null(strstr(env.data, "TZ='UTC'\n"));
        assert_non_null(strstr(env.data, "LC_ALL='C'\n"));
        assert_non_null(strstr(env.data, "SLURM_CONF='/etc/somewhere/slurm.conf'\n"));
        assert_int_equal(strstr(env.data, "SLURM_TIME_FORMAT='%s'\n") != NULL, i == 1); /* jobs would inherit it */
    }
    lab_close(&lab);
    (void)unsetenv("SBATCH_PARTITION");
    (void)unsetenv("SQUEUE_FORMAT");
}

static void slurm__a_log_ends_with_its_attempt_with_or_without_done(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_started(&lab, &job);
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
        cmocka_unit_test(slurm__a_pending_one_is_stopped_by_closing_its_folder_even_when_the_controller_is_down),
        cmocka_unit_test(slurm__a_stop_while_sbatch_runs_cancels_the_job_that_sbatch_makes),
        cmocka_unit_test(slurm__a_running_attempt_gets_one_polite_signal_and_finally_slurms_cancel),
        cmocka_unit_test(slurm__a_kill_follows_a_polite_stop_at_once),
        cmocka_unit_test(slurm__an_undelivered_stop_is_repeated),
        cmocka_unit_test(slurm__a_stop_of_an_unknown_attempt_gives_absent_and_of_an_existing_one_stops_it),
        cmocka_unit_test(slurm__capacity_excludes_submitted_attempts_at_once),
        cmocka_unit_test(slurm__a_silent_controller_soon_offers_no_capacity),
        cmocka_unit_test(slurm__a_silent_controller_is_polled_less_often),
        cmocka_unit_test(slurm__the_lease_has_a_rising_number_and_names_no_machine),
        cmocka_unit_test(slurm__shim_and_script_are_complete_in_the_shared_folder),
        cmocka_unit_test(slurm__no_variable_of_the_agents_environment_reaches_slurm),
        cmocka_unit_test(slurm__a_log_ends_with_its_attempt_with_or_without_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
