/*  test_slurm_times.c -- ends that status files tell before Slurm does, and what is charged by Slurm's own times. */
#include "tests/unit/site-agent/backends/slurm/slurm_testing.h"

#include "site-agent/backends/slurm/slurm_internal.h"

/*  Slurm's whole seconds; 0 = it does not tell. */
static void set_times(const lab_t *lab, int64_t start_s, int64_t end_s)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", (long long)start_s);
    if (start_s)
        lab_set(lab, "101", "start", text);
    (void)snprintf(text, sizeof text, "%lld", (long long)end_s);
    if (end_s)
        lab_set(lab, "101", "end", text);
}

/*  One that began at once, and ran for so long by its shim. Slurm began the job `before_ms` earlier, and ended it
 *  `after_ms` later; both negative: it does not tell. */
static void run_one(lab_t *lab, int64_t before_ms, int64_t run_ms, int64_t after_ms)
{
    lab_job_t job = {0};
    lab_open(lab);
    lab->settings.prolog_ms = 10000;
    lab->settings.poll_ms = 2000;
    lab_reopen(lab);
    lab_start(lab, &job);
    lab_settle(lab);
    lab_pass(lab, before_ms > 0 ? before_ms : 0);
    int64_t began_ms = lab->wall_ms;
    set_times(lab, before_ms < 0 ? 0 : (began_ms - before_ms) / 1000, 0);
    lab_run(lab, &job, "101");
    lab_pass(lab, run_ms);
    lab_done(lab, &job, (helio_done_t){.started_wall_ms = began_ms, .run_ms = (uint64_t)run_ms});
    int64_t ended_ms = lab->wall_ms;
    lab_pass(lab, after_ms > 0 ? after_ms : 0);
    set_times(lab, 0, after_ms < 0 ? 0 : (ended_ms + after_ms) / 1000);
    lab_set(lab, "101", "state", "COMPLETED");
    lab_pass(lab, 10000);
    lab_expect_word(lab, lab->heard_count - 1, WORD(ENDED));
}

/*  The ledger has what sacct shows, to the second, but no more than what comes before the shim accounts for. */
static void times__slurms_own_count_within_what_comes_before_the_shim(void **state)
{
    (void)state;
    static const struct {
        int64_t before_ms, run_ms, after_ms;
        uint64_t charged_ms;
    } cases[] = {
        {100, 3400, 200, 3000},  /* 3.7 s, of which Slurm counts 3: 1790000000.0 to .3 */
        {900, 3000, 200, 4000},  /* 4.1 s */
        {8000, 3000, 0, 11000},  /* a prolog */
        {30000, 3000, 0, 21000}, /* more than prologs take is doubted: Slurm's own, less the longest prolog and 2 s */
        {-1, 3400, -1, 3400},    /* it tells nothing */
        {100, 3400, -1, 3000},   /* its start, and half a second less: but never much less than the shim */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lab_t lab;
        run_one(&lab, cases[i].before_ms, cases[i].run_ms, cases[i].after_ms);
        const lab_event_t *last = lab_last(&lab);
        if (last->event.run_ms != cases[i].charged_ms)
            fail_msg("case %zu: %llu ms, '%s'", i, (unsigned long long)last->event.run_ms, last->explanation);
        assert_true(last->event.cause == HELIO_CAUSE_DOUBTED ||
                    last->event.ended_wall_ms - last->event.started_wall_ms >= (int64_t)last->event.run_ms);
        lab_close(&lab);
    }
}

/*  Whatever Slurm says of the start, a job is charged for no longer than since it was submitted. */
static void times__an_odd_start_of_slurm_inflates_nothing(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab.settings.prolog_ms = 600000;
    lab.settings.poll_ms = 2000;
    lab_reopen(&lab);
    lab_start(&lab, &job);
    lab_settle(&lab);
    lab_pass(&lab, 5000);
    set_times(&lab, lab.wall_ms / 1000 - 300, 0);
    lab_run(&lab, &job, "101");
    int64_t began_ms = lab.wall_ms;
    lab_pass(&lab, 3000);
    lab_done(&lab, &job, (helio_done_t){.started_wall_ms = began_ms, .run_ms = 3000});
    set_times(&lab, 0, lab.wall_ms / 1000);
    lab_set(&lab, "101", "state", "COMPLETED");
    lab_pass(&lab, 2000);
    lab_expect_word(&lab, lab.heard_count - 1, WORD(ENDED));
    assert_in_range(lab_last(&lab)->event.run_ms, 8000, 10000);
    lab_close(&lab);
}

/*  `done` is found soon after it was written; what the job leaves is offered at once, and its end reported with Slurm's. */
static void times__an_end_is_noticed_early_and_reported_with_slurms_own(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab.settings.poll_ms = 4000;
    lab.settings.ahead_ms = 8000;
    lab_reopen(&lab);
    lab_start(&lab, &job);
    lab_settle(&lab);
    set_times(&lab, lab.wall_ms / 1000, 0);
    lab_run(&lab, &job, "101");
    lab_pass(&lab, 5000);
    lab_expect_word(&lab, 0, WORD(STARTED));
    lab_put(&lab, "hung.squeue", "yes");
    lab_pass(&lab, 4000);
    lab_done(&lab, &job, (helio_done_t){.started_wall_ms = lab.wall_ms - 9000, .run_ms = 9000});
    uint32_t before = lab.capacities;
    lab_pass(&lab, 1000);
    assert_true(lab.capacities > before);
    assert_int_equal(lab.heard_count, 1);
    lab_pass(&lab, 8000); /* Slurm does not answer: it waits no longer */
    assert_int_equal(lab.heard_count, 2);
    lab_expect_word(&lab, 1, WORD(ENDED));
    assert_in_range(lab_last(&lab)->event.run_ms, 8500, 9500);
    lab_close(&lab);
}

/*  While the controller does not answer, nothing of its own is awaited. */
static void times__a_silent_controller_delays_no_end(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab.settings.poll_ms = 2000;
    lab_reopen(&lab);
    lab_start(&lab, &job);
    lab_settle(&lab);
    lab_run(&lab, &job, "101");
    lab_pass(&lab, 3000);
    lab_put(&lab, "down", "yes");
    lab_pass(&lab, 4000);
    lab_done(&lab, &job, (helio_done_t){.started_wall_ms = lab.wall_ms - 7000, .run_ms = 7000});
    lab_pass(&lab, 1000);
    assert_int_equal(lab.heard_count, 2);
    lab_expect_word(&lab, 1, WORD(ENDED));
    assert_int_equal(lab_last(&lab)->event.run_ms, 7000);
    lab_close(&lab);
}

/*  The site cancels a job, Slurm kills the script's program, and the script ends with 0 before it is killed itself. */
static void times__a_script_that_outlives_its_cancelled_program_is_no_success(void **state)
{
    (void)state;
    static const struct {
        const char *job_state;
        uint32_t cause;
    } cases[] = {{"CANCELLED", HELIO_CAUSE_SITE_CANCELLED}, {"PREEMPTED", HELIO_CAUSE_PREEMPTED}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lab_t lab;
        lab_job_t job = {0};
        open_running(&lab, &job);
        lab_done(&lab, &job, (helio_done_t){.started_wall_ms = lab.wall_ms - 10000, .run_ms = 10000});
        lab_set(&lab, "101", "state", cases[i].job_state);
        lab_pass(&lab, 30000);
        assert_int_equal(lab.heard_count, 2);
        lab_expect(&lab, 1, WORD(VANISHED), cases[i].cause, "");
        lab_close(&lab);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times__slurms_own_count_within_what_comes_before_the_shim),
        cmocka_unit_test(times__an_odd_start_of_slurm_inflates_nothing),
        cmocka_unit_test(times__an_end_is_noticed_early_and_reported_with_slurms_own),
        cmocka_unit_test(times__a_silent_controller_delays_no_end),
        cmocka_unit_test(times__a_script_that_outlives_its_cancelled_program_is_no_success),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
