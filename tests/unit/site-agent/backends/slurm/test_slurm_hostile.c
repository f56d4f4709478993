/*  test_slurm_hostile.c -- what a job's user can do to the attempt's folder, which belongs to the user, and what is
 *  charged then. */
#include "tests/unit/site-agent/backends/slurm/slurm_testing.h"

/* ---- a folder that cannot be opened -------------------------------------------------------------------- */

/*  As a folder with mode 000 is to an agent that is not root. */
static void shut(const lab_t *lab, const lab_job_t *job)
{
    char there[400], away[400];
    (void)snprintf(there, sizeof there, "%s/shared/attempts/%s", lab->dir, job->name);
    (void)snprintf(away, sizeof away, "%s/away", lab->dir);
    assert_int_equal(rename(there, away), 0);
    assert_int_equal(symlink(away, there), 0);
}

static void a_folder_that_was_shut_stops_no_end_and_is_left(void **state)
{
    (void)state;
    static const struct {
        const char *job_state;
        uint32_t cause;
        const char *says;
        uint32_t word;
    } cases[] = {{"COMPLETED", HELIO_CAUSE_VANISHED, "Slurm reports COMPLETED; the folder", WORD(VANISHED)},
                 {"CANCELLED", HELIO_CAUSE_SITE_CANCELLED, "", WORD(VANISHED)},
                 {"TIMEOUT", HELIO_CAUSE_NONE, "", WORD(ENDED)}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lab_t lab;
        lab_job_t job = {0};
        open_running(&lab, &job);
        shut(&lab, &job);
        lab_pass(&lab, 300000);
        assert_int_equal(lab.heard_count, 1);
        lab_set(&lab, "101", "state", cases[i].job_state);
        lab_pass(&lab, 90000);
        assert_int_equal(lab.heard_count, 2);
        lab_expect(&lab, 1, cases[i].word, cases[i].cause, cases[i].says);
        if (i == 0)
            assert_non_null(strstr(lab.heard[1].explanation, job.name));
        lab.backend->class->forget(lab.backend, lab_key(), 1);
        lab_pass(&lab, 300000);
        assert_true(lab_has(&lab, "shared/attempts/%s", job.name));
        assert_true(lab_has(&lab, "away/run"));
        lab_close(&lab);
    }
}

static void a_new_agent_ends_an_attempt_whose_folder_was_shut(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    shut(&lab, &job);
    lab_drop(&lab, "101");
    lab_reopen(&lab);
    lab.heard_count = 0;
    lab_adopt(&lab, &job);
    lab_pass(&lab, 120000);
    assert_int_equal(lab.heard_count, 1);
    lab_expect(&lab, 0, WORD(VANISHED), HELIO_CAUSE_VANISHED, "Slurm does not know it; the folder");
    lab_close(&lab);
}

static void a_job_whose_folder_was_shut_can_be_stopped(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    shut(&lab, &job);
    lab_reopen(&lab);
    lab.heard_count = 0;
    lab_adopt(&lab, &job);
    lab_pass(&lab, 20000);
    lab_stop(&lab, &job, HELIO_STOP_MODE_KILL);
    lab_pass(&lab, 1000);
    assert_int_equal(lab_calls(&lab, "--batch --signal=USR2 101"), 1);
    lab_set(&lab, "101", "state", "FAILED");
    lab_pass(&lab, 90000);
    assert_int_equal(lab.heard_count, 1);
    lab_expect_word(&lab, 0, WORD(ENDED));
    assert_true(lab.heard[0].event.stopped);
    lab_close(&lab);
}

/* ---- jobs that nobody asks for any more ---------------------------------------------------------------- */

static void a_pending_job_of_a_closed_folder_is_cancelled_by_a_new_agent(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0}, open = {.epoch = 2};
    open_started(&lab, &job);
    lab_start(&lab, &open);
    lab_settle(&lab);
    lab_answer(&lab, "scancel", "", "scancel: error: Unable to contact slurm controller\n", 1);
    lab_stop(&lab, &job, HELIO_STOP_MODE_KILL);
    lab_pass(&lab, 20000);
    lab_expect_word(&lab, 0, WORD(ENDED));
    lab_answer(&lab, "scancel", NULL, NULL, 0);
    lab_reopen(&lab); /* its end was reported: nobody asks for it */
    lab_put(&lab, "calls", "%s", "");
    lab_pass(&lab, 20000);
    assert_int_equal(lab_calls(&lab, "--state=PENDING 101"), 1);
    assert_int_equal(lab_calls(&lab, "scancel "), 1); /* the other's folder is open, whoever asks for it */
    assert_int_equal(lab.heard_count, 1);
    lab_close(&lab);
}

/* ---- marks --------------------------------------------------------------------------------------------- */

static void an_acknowledgement_that_the_user_wrote_is_none(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    char file[200];
    open_running(&lab, &job);
    (void)snprintf(file, sizeof file, "shared/attempts/%s/forget", job.name);
    lab_put(&lab, file, "1");
    lab_pass(&lab, 300000);
    assert_true(lab_has(&lab, "%s", file));
    lab_reopen(&lab);
    lab.heard_count = 0;
    lab.backend->class->survey(lab.backend); /* and it is shown to an agent that lost its journal */
    lab_settle(&lab);
    lab_expect_word(&lab, 0, WORD(STARTED));
    lab_done(&lab, &job, (helio_done_t){.exit_code = 0, .started_wall_ms = 5, .run_ms = 1});
    lab_set(&lab, "101", "state", "COMPLETED");
    lab_pass(&lab, 20000);
    lab.backend->class->forget(lab.backend, lab_key(), 1);
    assert_true(lab_has(&lab, "shared/forgotten/%s", job.name));
    lab.wall_ms += INT64_C(400) * 86400000; /* it was marked by this machine's clock */
    lab_pass(&lab, 120000);
    assert_false(lab_has(&lab, "shared/attempts/%s", job.name));
    assert_false(lab_has(&lab, "shared/forgotten/%s", job.name));
    lab_close(&lab);
}

static const struct {
    int64_t for_ms;
    bool late; /* `started` comes at the very end */
    helio_done_t done;
    uint64_t least, most;
    uint32_t cause;
    const char *says;
    uint32_t word;
} charged[] = {
    {700000, false, {.run_ms = 699000}, 699000, 699000, HELIO_CAUSE_NONE, "", WORD(ENDED)},
    {700000, false, {.run_ms = 1}, 640000, 720000, HELIO_CAUSE_DOUBTED, "its status file shows 1 ms", WORD(ENDED)},
    {700000, true, {.run_ms = 1}, 540000, 720000, HELIO_CAUSE_DOUBTED, "its status file shows 1 ms", WORD(ENDED)},
    {700000,
     false,
     {.run_ms = UINT64_C(9000000000000000)},
     640000,
     750000,
     HELIO_CAUSE_DOUBTED,
     "its status file shows 9000000000000000 ms",
     WORD(ENDED)},
    {700000,
     false,
     {.run_ms = 699000, .started_wall_ms = 5},
     699000,
     699000,
     HELIO_CAUSE_DOUBTED,
     "its status files give times",
     WORD(ENDED)},
    {700000,
     true,
     {.failed = true, .cause = HELIO_CAUSE_START_FAILED, .explanation = "so it says"},
     540000,
     720000,
     HELIO_CAUSE_DOUBTED,
     "its status file shows no run",
     WORD(VANISHED)},
    {20000,
     true,
     {.failed = true, .cause = HELIO_CAUSE_START_FAILED, .explanation = "so it was"},
     0,
     0,
     HELIO_CAUSE_START_FAILED,
     "so it was",
     WORD(FAILED_TO_START)},
    {20000, false, {.run_ms = 3}, 3, 3, HELIO_CAUSE_NONE, "", WORD(ENDED)},
};

/*  Slurm shows it on its nodes for ten minutes and more, or for twenty seconds, and the mark says else. */
static void what_is_booked_is_what_was_seen_whatever_the_mark_says(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof charged / sizeof charged[0]; i++) {
        lab_t lab;
        lab_job_t job = {0};
        lab_open(&lab);
        lab_start(&lab, &job);
        lab_settle(&lab);
        helio_done_t done = charged[i].done;
        if (!done.started_wall_ms && !done.failed)
            done.started_wall_ms = lab.wall_ms;
        lab_claim(&lab, &job, "101");
        lab_set(&lab, "101", "state", "RUNNING");
        if (!charged[i].late)
            lab_started(&lab, &job);
        lab_pass(&lab, charged[i].for_ms);
        if (charged[i].late && !done.failed)
            lab_started(&lab, &job);
        lab_done(&lab, &job, done);
        lab_set(&lab, "101", "state", "COMPLETED");
        lab_pass(&lab, 20000);
        const lab_event_t *last = lab_last(&lab);
        assert_non_null(last);
        lab_expect(&lab, lab.heard_count - 1, charged[i].word, charged[i].cause, charged[i].says);
        if (!charged[i].says[0])
            assert_string_equal(last->explanation, "");
        if (last->event.run_ms < charged[i].least || last->event.run_ms > charged[i].most)
            fail_msg("case %zu: %llu ms", i, (unsigned long long)last->event.run_ms);
        assert_true(last->event.ended_wall_ms <= lab.wall_ms);
        assert_true(last->event.word == WORD(FAILED_TO_START) ||
                    last->event.started_wall_ms >= INT64_C(1790000000000) - 15000);
        lab_close(&lab);
    }
}

/*  A job of 119 s says that it ran for 1 ms: what it may leave out is what the cluster's prologs take. One that leaves out
 *  no more is charged what Slurm counts. */
static void of_a_short_job_no_more_is_hidden_than_prologs_take(void **state)
{
    (void)state;
    static const struct {
        uint64_t prolog_ms, says_ms, least, most;
    } cases[] = {{10000, 1, 107000, 107000},
                 {60000, 1, 57000, 90000},
                 {0, 1, 57000, 90000},
                 {10000, 118500, 119000, 119000},
                 {10000, 107500, 119000, 119000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lab_t lab;
        lab_job_t job = {0};
        char start[32], end[32];
        lab_open(&lab);
        lab.settings.prolog_ms = cases[i].prolog_ms;
        lab_reopen(&lab);
        lab_start(&lab, &job);
        lab_settle(&lab);
        (void)snprintf(start, sizeof start, "%lld", (long long)(lab.wall_ms / 1000));
        lab_set(&lab, "101", "start", start);
        lab_run(&lab, &job, "101");
        lab_pass(&lab, 119000);
        (void)snprintf(end, sizeof end, "%lld", (long long)(lab.wall_ms / 1000));
        lab_set(&lab, "101", "end", end);
        lab_set(&lab, "101", "state", "COMPLETED");
        lab_done(&lab, &job, (helio_done_t){.started_wall_ms = lab.wall_ms - 119000, .run_ms = cases[i].says_ms});
        lab.backend->class->process(lab.backend, lab.boot_ms, lab.wall_ms);
        lab_pass(&lab, 20000);
        const lab_event_t *last = lab_last(&lab);
        assert_non_null(last);
        assert_int_equal(last->event.word, WORD(ENDED));
        if (last->event.run_ms < cases[i].least || last->event.run_ms > cases[i].most)
            fail_msg("case %zu: %llu ms, '%s'", i, (unsigned long long)last->event.run_ms, last->explanation);
        assert_int_equal(last->event.cause == HELIO_CAUSE_DOUBTED, cases[i].says_ms == 1);
        lab_close(&lab);
    }
}

/*  The job's first command removes what the shim has written of it. */
static void a_job_that_removes_its_claim_is_charged_what_slurm_showed(void **state)
{
    (void)state;
    static const struct {
        const char *job_state;
        uint32_t word, cause;
        uint64_t charged_ms;
    } cases[] = {
        {"COMPLETED", WORD(VANISHED), HELIO_CAUSE_DOUBTED, 48000},
        {"CANCELLED", WORD(VANISHED), HELIO_CAUSE_DOUBTED, 48000},
        {"NODE_FAIL", WORD(FAILED_TO_START), HELIO_CAUSE_NODE_FAILED, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lab_t lab;
        lab_job_t job = {0};
        char start[32], end[32];
        lab_open(&lab);
        lab.settings.prolog_ms = 10000;
        lab_reopen(&lab);
        lab_start(&lab, &job);
        lab_settle(&lab);
        (void)snprintf(start, sizeof start, "%lld", (long long)(lab.wall_ms / 1000));
        lab_set(&lab, "101", "start", start);
        lab_set(&lab, "101", "state", "RUNNING");
        lab_pass(&lab, 60000);
        (void)snprintf(end, sizeof end, "%lld", (long long)(lab.wall_ms / 1000));
        lab_set(&lab, "101", "end", end);
        lab_set(&lab, "101", "state", cases[i].job_state);
        lab_pass(&lab, 90000);
        const lab_event_t *last = lab_last(&lab);
        assert_non_null(last);
        lab_expect(&lab, lab.heard_count - 1, cases[i].word, cases[i].cause,
                   cases[i].charged_ms ? "its status file shows no run" : "");
        assert_int_equal(last->event.run_ms, cases[i].charged_ms);
        lab_close(&lab);
    }
}

static void a_job_that_removes_its_claim_is_stopped_when_slurm_has_ended_it(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab.settings.prolog_ms = 10000;
    lab_reopen(&lab);
    lab_start(&lab, &job);
    lab_settle(&lab);
    lab_set(&lab, "101", "state", "RUNNING");
    lab_pass(&lab, 100000);
    lab_answer(&lab, "scancel", "", "scancel: error: Unable to contact slurm controller\n", 1);
    lab_stop(&lab, &job, HELIO_STOP_MODE_KILL);
    lab_pass(&lab, 20000);
    assert_int_equal(lab.heard_count, 0);
    lab_answer(&lab, "scancel", NULL, NULL, 0);
    lab_pass(&lab, 20000);
    assert_true(lab_calls(&lab, "scancel ") >= 2);
    lab_drop(&lab, "101");
    lab_pass(&lab, 90000);
    lab_expect(&lab, lab.heard_count - 1, WORD(ENDED), HELIO_CAUSE_DOUBTED, "its status file shows no run");
    assert_true(lab_last(&lab)->event.stopped);
    assert_in_range(lab_last(&lab)->event.run_ms, 60000, 130000);
    lab_close(&lab);
}

/*  A list can give the expected end of a job as its end. */
static void no_end_is_later_than_now(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    char start[32], end[32];
    lab_open(&lab);
    lab_start(&lab, &job);
    lab_settle(&lab);
    (void)snprintf(start, sizeof start, "%lld", (long long)(lab.wall_ms / 1000));
    (void)snprintf(end, sizeof end, "%lld", (long long)(lab.wall_ms / 1000 + 720));
    lab_set(&lab, "101", "start", start);
    lab_run(&lab, &job, "101");
    lab_pass(&lab, 40000);
    lab_set(&lab, "101", "end", end);
    lab_set(&lab, "101", "state", "COMPLETED");
    lab_pass(&lab, 2000);
    lab_done(&lab, &job, (helio_done_t){.started_wall_ms = lab.wall_ms - 40000, .run_ms = 40000});
    lab_pass(&lab, 20000);
    assert_int_equal(lab_last(&lab)->event.word, WORD(ENDED));
    assert_in_range(lab_last(&lab)->event.run_ms, 40000, 49000);
    lab_close(&lab);
}

static void what_runs_on_after_its_own_done_is_killed_without_more_time(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_done(&lab, &job, (helio_done_t){.started_wall_ms = lab.wall_ms, .run_ms = 20});
    lab_pass(&lab, 14000);
    lab_expect_word(&lab, 1, WORD(ENDED));
    lab_pass(&lab, 30000); /* Slurm shows it on its nodes still */
    assert_int_equal(lab_calls(&lab, "--full --signal=KILL 101"), 1);
    lab_pass(&lab, 30000);
    assert_true(lab_calls(&lab, "scancel ") > 1); /* and then the plain form, which has it gone */
    lab_close(&lab);
}

static void slurms_own_start_and_end_go_before_the_mark_also_after_a_restart(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_running(&lab, &job);
    lab_set(&lab, "101", "start", "1789996400"); /* an hour ago */
    lab_reopen(&lab);
    lab.heard_count = 0;
    lab_adopt(&lab, &job);
    lab_pass(&lab, 20000);
    lab_expect_word(&lab, 0, WORD(STARTED));
    lab_done(&lab, &job, (helio_done_t){.exit_code = 0, .started_wall_ms = lab.wall_ms, .run_ms = 20});
    lab_set(&lab, "101", "state", "COMPLETED");
    lab_pass(&lab, 20000);
    lab_expect(&lab, 1, WORD(ENDED), HELIO_CAUSE_DOUBTED, "its status file shows 20 ms");
    assert_true(lab.heard[1].event.run_ms > 3000000);
    lab_close(&lab);
}

static void a_claim_by_a_job_that_slurm_does_not_list_under_our_name_is_not_believed(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_started(&lab, &job);
    lab_claim(&lab, &job, "77"); /* from an interactive job, say */
    lab_started(&lab, &job);
    lab_pass(&lab, 60000);
    assert_int_equal(lab.heard_count, 0);
    lab_done(&lab, &job, (helio_done_t){.exit_code = 0, .started_wall_ms = lab.wall_ms, .run_ms = 1});
    lab_pass(&lab, 60000);
    assert_int_equal(lab.heard_count, 0);
    lab_set(&lab, "101", "state", "COMPLETED"); /* its own job found the folder taken */
    lab_pass(&lab, 90000);
    assert_int_equal(lab.heard_count, 1);
    lab_expect(&lab, 0, WORD(FAILED_TO_START), HELIO_CAUSE_START_FAILED, "");
    assert_int_equal(lab_calls(&lab, " 77") + lab_calls(&lab, "=77"),
                     0); /* and nobody asks or cancels by that number */
    lab_close(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_that_was_shut_stops_no_end_and_is_left),
        cmocka_unit_test(a_new_agent_ends_an_attempt_whose_folder_was_shut),
        cmocka_unit_test(a_job_whose_folder_was_shut_can_be_stopped),
        cmocka_unit_test(a_pending_job_of_a_closed_folder_is_cancelled_by_a_new_agent),
        cmocka_unit_test(what_is_booked_is_what_was_seen_whatever_the_mark_says),
        cmocka_unit_test(of_a_short_job_no_more_is_hidden_than_prologs_take),
        cmocka_unit_test(a_job_that_removes_its_claim_is_charged_what_slurm_showed),
        cmocka_unit_test(a_job_that_removes_its_claim_is_stopped_when_slurm_has_ended_it),
        cmocka_unit_test(no_end_is_later_than_now),
        cmocka_unit_test(what_runs_on_after_its_own_done_is_killed_without_more_time),
        cmocka_unit_test(slurms_own_start_and_end_go_before_the_mark_also_after_a_restart),
        cmocka_unit_test(a_claim_by_a_job_that_slurm_does_not_list_under_our_name_is_not_believed),
        cmocka_unit_test(an_acknowledgement_that_the_user_wrote_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
