/*  test_exec.c -- attempts of the backend `exec`: submitted, run and ended; and what becomes of them when the adapter or
 *  the agent fails. */
#include "tests/unit/site-agent/backends/exec/exec_testing.h"

/* ---- the plain life ------------------------------------------------------------------------------------ */

static void exec__an_attempt_is_submitted_runs_and_ends_by_its_status_file(void **state)
{
    (void)state;
    bench_t bench;
    bench_open(&bench);
    bench_start(&bench);
    bench_start(&bench); /* repeated */
    bench_pass(&bench, 4000);
    assert_int_equal(bench_asked(&bench, "\"op\":\"submit\""), 1);
    assert_int_equal(bench_asked(&bench, "\"gpus\":2"), 1);
    bench_run(&bench);
    assert_string_equal(bench.local_id[0], "7");
    bench_done(&bench, (helio_done_t){.exit_code = 3, .started_wall_ms = bench.wall_ms - 4000, .run_ms = 4000});
    bench_engine(&bench, NULL);
    bench_pass(&bench, 10000);
    bench_expect(&bench, 1, WORD(ENDED), HELIO_CAUSE_NONE);
    assert_int_equal(bench.heard[1].exit_code, 3);
    assert_int_equal(bench.heard[1].run_ms, 4000);
    bench_pass(&bench, 60000);
    assert_int_equal(bench.heard_count, 2);
    assert_int_equal(bench_asked(&bench, "cancel"), 0);
    bench_close(&bench);
}

static void exec__what_waits_is_not_offered_and_says_why(void **state)
{
    (void)state;
    bench_t bench;
    bench_open(&bench);
    bench_pass(&bench, 100);
    assert_int_equal(bench.free_gpus, 8);
    bench_start(&bench);
    bench_pass(&bench, 10000);
    assert_int_equal(bench.free_gpus, 6);
    bench_expect(&bench, 0, WORD(WAITING), HELIO_CAUSE_WAITS_IN_CLUSTER);
    assert_string_equal(bench.explanation[0], "full");
    bench_pass(&bench, 600000);
    bench_expect(&bench, 1, WORD(FAILED_TO_START), HELIO_CAUSE_WITHDRAWN);
    bench_pass(&bench, 10000);
    assert_int_equal(bench_asked(&bench, "cancel"), 1);
    assert_int_equal(bench.free_gpus, 8);
    bench_close(&bench);
}

static void exec__a_suspension_is_reported(void **state)
{
    (void)state;
    bench_t bench;
    bench_open_running(&bench);
    bench_engine(&bench, "suspended");
    bench_pass(&bench, 4000);
    bench_expect(&bench, 1, WORD(SUSPENDED), HELIO_CAUSE_SITE_SUSPENDED);
    bench_engine(&bench, "running");
    bench_pass(&bench, 4000);
    bench_expect(&bench, 2, WORD(RESUMED), HELIO_CAUSE_NONE);
    bench_close(&bench);
}

static void exec__says_what_runs_on_a_node_and_what_has_waited_for_one(void **state)
{
    (void)state;
    bench_t bench;
    char file[100];
    bench_open(&bench);
    bench_start(&bench);
    bench_pass(&bench, 9000); /* an engine needs a moment */
    assert_int_equal(bench.waiting, 0);
    bench_pass(&bench, 6000);
    assert_true(bench.waiting > 0 && bench.waiting % 2 == 0);
    assert_int_equal(bench.on_node, 0);
    (void)snprintf(file, sizeof file, "jobs/%s", bench.name);
    bench_put(&bench, file, "{\"name\":\"%s\",\"id\":\"7\",\"state\":\"running\",\"node\":\"n1\"}", bench.name);
    bench_claim(&bench);
    bench_began(&bench);
    bench_pass(&bench, 4000);
    assert_int_equal(bench.on_node, 1);
    bench.waiting = 0;
    bench_pass(&bench, 10000);
    assert_int_equal(bench.waiting, 0);
    bench_close(&bench);
}

static void exec__a_job_on_several_nodes_is_refused(void **state)
{
    (void)state;
    bench_t bench;
    bench_open(&bench);
    bench.order.nodes = 2;
    bench_start(&bench);
    bench_pass(&bench, 4000);
    bench_expect(&bench, 0, WORD(FAILED_TO_START), HELIO_CAUSE_BAD_OPTION);
    assert_int_equal(bench_asked(&bench, "submit"), 0);
    bench_close(&bench);
}

static void exec__a_gang_is_submitted_where_the_adapter_says_so(void **state)
{
    (void)state;
    bench_t bench;
    helio_arena_t *arena = helio_arena_new();
    bench_open(&bench);
    bench_put(&bench, "on-capabilities", "echo '{\"end\":{\"helio\":1,\"engine\":\"e\",\"gangs\":true}}'");
    bench.pool.nodes = 1;
    helio_exec_fill_site(&bench.site, &bench.settings, arena);
    assert_int_equal(bench.pool.options.count, 0); /* it was not asked: no pool has two nodes */
    bench.pool.nodes = 2;
    helio_exec_fill_site(&bench.site, &bench.settings, arena);
    assert_true(helio_site_runs_gangs(&bench.site, &bench.pool));
    bench_reopen(&bench);
    bench.order.nodes = 2;
    bench.order.gpus_per_node = 4;
    bench_start(&bench);
    bench_pass(&bench, 4000);
    assert_int_equal(bench_asked(&bench, "submit"), 1);
    assert_int_equal(bench_asked(&bench, "\"nodes\":2,\"gpus\":4"), 1);
    bench_close(&bench);
    helio_arena_destroy(&arena);
}

/* ---- submission ---------------------------------------------------------------------------------------- */

static void exec__a_submission_without_an_answer_is_looked_for_and_found(void **state)
{
    (void)state;
    bench_t bench;
    bench_open(&bench);
    bench_put(
        &bench, "on-submit",
        ("printf '{\"name\":\"%%s\",\"id\":\"7\",\"state\":\"waiting\"}' \"$name\" >\"jobs/$name\"; kill -9 $$\n"));
    bench_start(&bench);
    bench_pass(&bench, 20000);
    assert_int_equal(bench_asked(&bench, "\"op\":\"submit\""), 1);
    bench_run(&bench);
    bench_close(&bench);
}

static void exec__a_submission_that_left_nothing_is_repeated_under_the_same_name(void **state)
{
    (void)state;
    static const char *const faults[] = {"exit 1\n",
                                         "echo garbage\n",
                                         "echo '{\"end\":{}}'\n",
                                         "yes '{}' | head -c 2000000\n",
                                         "echo '{\"end\":{\"later\":\"full\"}}'\n",
                                         "exec sleep 600\n"};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        bench_t bench;
        bench_open(&bench);
        bench_put(&bench, "on-submit", "%s", faults[i]);
        bench_start(&bench);
        bench_pass(&bench, 5000);
        assert_int_equal(bench.heard_count, 0);
        assert_in_range(bench_asked(&bench, "\"op\":\"submit\""), 1, 3);
        bench_put(&bench, "on-submit", NULL);
        bench_pass(&bench, 20000);
        bench_run(&bench);
        bench_close(&bench);
    }
}

static void exec__an_adapter_that_never_submits_is_given_up_after_a_minute(void **state)
{
    (void)state;
    bench_t bench;
    bench_open(&bench);
    bench_put(&bench, "on-submit", "echo 'no qmaster' >&2; exit 1\n");
    bench_start(&bench);
    bench_pass(&bench, 75000);
    bench_expect(&bench, 0, WORD(FAILED_TO_START), HELIO_CAUSE_SUBMIT_FAILED);
    assert_non_null(strstr(bench.explanation[0], "no qmaster"));
    bench_close(&bench);
}

static void exec__what_the_engine_refuses_is_not_tried_again(void **state)
{
    (void)state;
    bench_t bench;
    bench_open(&bench);
    bench_put(&bench, "on-submit", "echo '{\"end\":{\"refused\":\"no such queue\"}}'\n");
    bench_start(&bench);
    bench_pass(&bench, 20000);
    assert_int_equal(bench_asked(&bench, "\"op\":\"submit\""), 1);
    bench_expect(&bench, 0, WORD(FAILED_TO_START), HELIO_CAUSE_SUBMIT_REFUSED);
    assert_string_equal(bench.explanation[0], "no such queue");
    bench_close(&bench);
}

/*  The engine took it after all: the folder is closed, and the job is cancelled. */
static void exec__a_job_that_comes_after_it_was_given_up_is_cancelled(void **state)
{
    (void)state;
    bench_t bench;
    bench_open(&bench);
    bench_put(&bench, "on-submit", "exit 1\n");
    bench_start(&bench);
    bench_pass(&bench, 75000);
    bench_expect(&bench, 0, WORD(FAILED_TO_START), HELIO_CAUSE_SUBMIT_FAILED);
    bench_engine(&bench, "waiting");
    bench_pass(&bench, 10000);
    assert_int_equal(bench_asked(&bench, "cancel"), 1);
    assert_int_equal(bench.heard_count, 1);
    bench_close(&bench);
}

/* ---- a new agent --------------------------------------------------------------------------------------- */

static void exec__an_agent_that_was_killed_between_submission_and_answer_submits_once(void **state)
{
    (void)state;
    bench_t bench;
    bench_open(&bench);
    bench_start(&bench);
    bench_settle(&bench);
    bench_reopen(&bench); /* the answer was not heard */
    bench_start(&bench);
    bench_pass(&bench, 10000);
    assert_int_equal(bench_asked(&bench, "\"op\":\"submit\""), 1);
    bench_run(&bench);
    bench_close(&bench);
}

static void exec__a_new_agent_adopts_what_runs_and_what_ended_meanwhile(void **state)
{
    (void)state;
    bench_t bench;
    bench_open_running(&bench);
    bench_reopen(&bench);
    bench.heard_count = 0;
    bench_adopt(&bench);
    bench_pass(&bench, 4000);
    bench_expect(&bench, 0, WORD(STARTED), HELIO_CAUSE_NONE);
    bench_done(&bench, (helio_done_t){.exit_code = 1, .started_wall_ms = 5, .run_ms = 1});
    bench_engine(&bench, NULL);
    bench_reopen(&bench);
    bench.heard_count = 0;
    bench_adopt(&bench);
    bench_pass(&bench, 4000);
    bench_expect(&bench, 1, WORD(ENDED), HELIO_CAUSE_NONE);
    bench_close(&bench);
}

static void exec__what_is_nowhere_is_absent_and_can_never_start(void **state)
{
    (void)state;
    bench_t bench;
    bench_open(&bench);
    bench_start(&bench);
    bench_settle(&bench);
    bench_engine(&bench, NULL);
    bench_reopen(&bench);
    bench_adopt(&bench);
    bench_pass(&bench, 4000);
    bench_expect(&bench, 0, WORD(ABSENT), HELIO_CAUSE_NONE);
    int folder = bench_attempt(&bench);
    helio_claim_t claim = {.shim.pid = 1};
    assert_int_equal(helio_folder_claim(folder, &claim, NULL), HELIO_OK);
    assert_int_equal(claim.shim.pid, 0);
    (void)close(folder);
    bench_close(&bench);
}

static void exec__a_survey_finds_what_runs_and_sweeps_what_waits(void **state)
{
    (void)state;
    bench_t bench;
    bench_open_running(&bench);
    bench_reopen(&bench);
    bench.heard_count = 0;
    bench.backend->class->survey(bench.backend);
    bench_pass(&bench, 4000);
    bench_expect(&bench, 0, WORD(STARTED), HELIO_CAUSE_NONE);
    assert_int_equal(bench.surveys, 1);
    bench_close(&bench);
    bench_open(&bench);
    bench_start(&bench);
    bench_settle(&bench);
    bench_reopen(&bench); /* without its journal */
    bench.backend->class->survey(bench.backend);
    bench_pass(&bench, 10000);
    bench_expect(&bench, 0, WORD(FAILED_TO_START), HELIO_CAUSE_WITHDRAWN);
    assert_int_equal(bench_asked(&bench, "cancel"), 1);
    assert_int_equal(bench.surveys, 1);
    bench_close(&bench);
}

static void exec__a_job_whose_folder_is_gone_is_swept(void **state)
{
    (void)state;
    bench_t bench;
    bench_open(&bench);
    bench_engine(&bench, "running");
    bench.backend->class->survey(bench.backend);
    bench_pass(&bench, 15000);
    assert_int_equal(bench_asked(&bench, "\"mode\":\"kill\""), 1);
    bench_expect(&bench, 0, WORD(ABSENT), HELIO_CAUSE_NONE);
    assert_int_equal(bench.surveys, 1);
    bench_close(&bench);
}

/* ---- ends without proof -------------------------------------------------------------------------------- */

static void exec__silence_of_the_adapter_ends_nothing(void **state)
{
    (void)state;
    static const char *const faults[] = {"exit 1\n", "echo '{\"end\":{\"nodes\":0}}'\n",
                                         "echo '{\"end\":{\"nodes\":0,\"attempts\":1}}'\n",
                                         "echo '{\"node\":{\"name\":\"n1\"}}'\n", "cat /dev/zero | head -c 20000000\n"};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        bench_t bench;
        bench_open_running(&bench);
        bench_put(&bench, "on-inventory", "%s", faults[i]);
        bench_pass(&bench, 60000);
        assert_int_equal(bench.heard_count, 1);
        assert_int_equal(bench.silences, 1);
        assert_int_equal(bench.doubts, 1);
        assert_int_equal(bench.nodes_up, 0);
        bench_put(&bench, "on-inventory", NULL);
        bench_pass(&bench, 31000);
        assert_int_equal(bench.returns, 1);
        assert_int_equal(bench.nodes_up, 1);
        assert_int_equal(bench.heard_count, 1);
        bench_close(&bench);
    }
}

static void exec__an_attempt_that_the_engine_lost_runs_on_while_its_shim_shows_life(void **state)
{
    (void)state;
    bench_t bench;
    bench_open_running(&bench);
    bench_engine(&bench, NULL);
    for (int i = 0; i < 6; i++) {
        int folder = bench_attempt(&bench);
        struct timespec now[2] = {{.tv_sec = 2000000000 + i}, {.tv_sec = 2000000000 + i}};
        assert_int_equal(utimensat(folder, "claim", now, AT_SYMLINK_NOFOLLOW), 0);
        (void)close(folder);
        bench_pass(&bench, 10000);
    }
    assert_int_equal(bench.heard_count, 1);
    bench_pass(&bench, 60000); /* then it shows none */
    bench_expect(&bench, 1, WORD(VANISHED), HELIO_CAUSE_VANISHED);
    assert_true(bench.heard[1].estimated);
    assert_in_range(bench.heard[1].run_ms, 50000, 75000);
    bench_close(&bench);
}

static void exec__an_attempt_that_ended_before_it_began_failed_to_start(void **state)
{
    (void)state;
    bench_t bench;
    bench_open(&bench);
    bench_start(&bench);
    bench_settle(&bench);
    bench_engine(&bench, "ended");
    bench_pass(&bench, 10000);
    bench_expect(&bench, 0, WORD(FAILED_TO_START), HELIO_CAUSE_START_FAILED);
    assert_non_null(strstr(bench.explanation[0], "as it is"));
    bench_close(&bench);
}

static void exec__a_stop_by_the_site_is_told_apart_from_one_by_the_agent(void **state)
{
    (void)state;
    bench_t bench;
    bench_open_running(&bench);
    bench_done(&bench, (helio_done_t){
                           .exit_code = 143, .stopped = true, .started_wall_ms = bench.wall_ms - 4000, .run_ms = 4000});
    bench_pass(&bench, 4000);
    bench_expect(&bench, 1, WORD(ENDED), HELIO_CAUSE_SITE_CANCELLED);
    bench_close(&bench);
    bench_open_running(&bench);
    bench_stop(&bench, HELIO_STOP_MODE_GRACE);
    bench_done(&bench, (helio_done_t){
                           .exit_code = 143, .stopped = true, .started_wall_ms = bench.wall_ms - 4000, .run_ms = 4000});
    bench_pass(&bench, 4000);
    bench_expect(&bench, 1, WORD(ENDED), HELIO_CAUSE_NONE);
    bench_close(&bench);
}

/* ---- stopping ------------------------------------------------------------------------------------------ */

static void exec__what_waits_is_stopped_by_closing_its_folder(void **state)
{
    (void)state;
    bench_t bench;
    bench_open(&bench);
    bench_start(&bench);
    bench_settle(&bench);
    bench_put(&bench, "on-inventory", "exit 1\n"); /* whatever the engine does */
    bench_stop(&bench, HELIO_STOP_MODE_GRACE);
    bench_settle(&bench);
    bench_expect(&bench, 0, WORD(ENDED), HELIO_CAUSE_NONE);
    assert_true(bench.heard[0].stopped);
    bench_put(&bench, "on-inventory", NULL);
    bench_pass(&bench, 40000);
    assert_int_equal(bench_asked(&bench, "cancel"), 1);
    assert_int_equal(bench.heard_count, 1);
    bench_close(&bench);
}

static void exec__what_runs_is_told_by_its_folder_and_then_by_the_engine(void **state)
{
    (void)state;
    bench_t bench;
    bench_open_running(&bench);
    bench_stop(&bench, HELIO_STOP_MODE_GRACE);
    bench_pass(&bench, 1000);
    int folder = bench_attempt(&bench);
    assert_true(helio_status_file_exists(folder, "stop"));
    (void)close(folder);
    bench_pass(&bench, 80000);
    assert_int_equal(bench_asked(&bench, "cancel"), 0);
    bench_pass(&bench, 20000);
    assert_in_range(bench_asked(&bench, "\"mode\":\"kill\""), 1, 2);
    bench_close(&bench);
}

static void exec__a_stop_of_nothing_is_absent(void **state)
{
    (void)state;
    bench_t bench;
    bench_open(&bench);
    bench_stop(&bench, HELIO_STOP_MODE_KILL);
    bench_pass(&bench, 4000);
    bench_expect(&bench, 0, WORD(ABSENT), HELIO_CAUSE_NONE);
    bench_close(&bench);
}

/* ---- an adapter that carries the folders --------------------------------------------------------------------- */

static void exec__a_carrying_adapter_closes_the_folder_and_hears_of_leases_and_ends(void **state)
{
    (void)state;
    bench_t bench;
    bench_open(&bench);
    bench.settings.carries = true;
    bench_reopen(&bench);
    bench_start(&bench);
    bench_settle(&bench);
    bench_put(&bench, "on-fence", "exit 1\n"); /* the node does not answer: it may have begun */
    bench_stop(&bench, HELIO_STOP_MODE_GRACE);
    bench_pass(&bench, 10000);
    for (uint32_t i = 0; i < bench.heard_count; i++)
        assert_int_equal(bench.heard[i].word, WORD(WAITING));
    bench_put(&bench, "on-fence", NULL);
    bench_pass(&bench, 10000);
    bench_expect(&bench, bench.heard_count - 1, WORD(ENDED), HELIO_CAUSE_NONE);
    assert_true(bench.heard[bench.heard_count - 1].stopped);
    helio_afx_lease_t lease = {.deadline_boot_ms = helio_clock_boot_ms() + 60000};
    assert_int_equal(bench.backend->class->lease(bench.backend, &lease, NULL), HELIO_OK);
    bench.backend->class->forget(bench.backend, bench.order.key, 1);
    bench_pass(&bench, 100);
    assert_int_equal(bench_asked(&bench, "\"op\":\"lease\""), 1);
    assert_int_equal(bench_asked(&bench, "\"op\":\"forget\""), 1);
    bench_close(&bench);
}

static void exec__a_shim_that_was_faster_than_the_fence_runs(void **state)
{
    (void)state;
    bench_t bench;
    bench_open(&bench);
    bench.settings.carries = true;
    bench_reopen(&bench);
    bench_start(&bench);
    bench_settle(&bench);
    bench_put(&bench, "on-fence", "echo '{\"end\":{\"fenced\":false}}'\n");
    bench_stop(&bench, HELIO_STOP_MODE_GRACE);
    bench_pass(&bench, 1000);
    assert_int_equal(bench.heard_count, 0);
    bench_pass(&bench, 5000);
    assert_in_range(bench_asked(&bench, "\"mode\":\"grace\""), 1, 2);
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exec__an_attempt_is_submitted_runs_and_ends_by_its_status_file),
        cmocka_unit_test(exec__what_waits_is_not_offered_and_says_why),
        cmocka_unit_test(exec__says_what_runs_on_a_node_and_what_has_waited_for_one),
        cmocka_unit_test(exec__a_suspension_is_reported),
        cmocka_unit_test(exec__a_job_on_several_nodes_is_refused),
        cmocka_unit_test(exec__a_gang_is_submitted_where_the_adapter_says_so),
        cmocka_unit_test(exec__a_submission_without_an_answer_is_looked_for_and_found),
        cmocka_unit_test(exec__a_submission_that_left_nothing_is_repeated_under_the_same_name),
        cmocka_unit_test(exec__an_adapter_that_never_submits_is_given_up_after_a_minute),
        cmocka_unit_test(exec__what_the_engine_refuses_is_not_tried_again),
        cmocka_unit_test(exec__a_job_that_comes_after_it_was_given_up_is_cancelled),
        cmocka_unit_test(exec__an_agent_that_was_killed_between_submission_and_answer_submits_once),
        cmocka_unit_test(exec__a_new_agent_adopts_what_runs_and_what_ended_meanwhile),
        cmocka_unit_test(exec__what_is_nowhere_is_absent_and_can_never_start),
        cmocka_unit_test(exec__a_survey_finds_what_runs_and_sweeps_what_waits),
        cmocka_unit_test(exec__a_job_whose_folder_is_gone_is_swept),
        cmocka_unit_test(exec__silence_of_the_adapter_ends_nothing),
        cmocka_unit_test(exec__an_attempt_that_the_engine_lost_runs_on_while_its_shim_shows_life),
        cmocka_unit_test(exec__an_attempt_that_ended_before_it_began_failed_to_start),
        cmocka_unit_test(exec__a_stop_by_the_site_is_told_apart_from_one_by_the_agent),
        cmocka_unit_test(exec__what_waits_is_stopped_by_closing_its_folder),
        cmocka_unit_test(exec__what_runs_is_told_by_its_folder_and_then_by_the_engine),
        cmocka_unit_test(exec__a_stop_of_nothing_is_absent),
        cmocka_unit_test(exec__a_carrying_adapter_closes_the_folder_and_hears_of_leases_and_ends),
        cmocka_unit_test(exec__a_shim_that_was_faster_than_the_fence_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
