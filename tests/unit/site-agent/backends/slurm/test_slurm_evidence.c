/*  test_slurm_evidence.c -- what the agent knows of an attempt beside its folder: for how long a touched claim counts, and
 *  what is charged after a restart of the agent. */
#include "tests/unit/site-agent/backends/slurm/slurm_testing.h"

/* ---- claims that are touched for ever ------------------------------------------------------------------ */

static void show_life(const lab_t *lab, const lab_job_t *job, int times)
{
    char claim[400];
    struct timespec at[2] = {{.tv_sec = 1000000000 + times}, {.tv_sec = 1000000000 + times}};
    (void)snprintf(claim, sizeof claim, "%s/shared/attempts/%s/claim", lab->dir, job->name);
    assert_int_equal(utimensat(AT_FDCWD, claim, at, 0), 0);
}

/*  Somebody touches the claim for as long as it helps. Returns how long after `from_ms` its end was reported. */
static int64_t touch_until_it_ends(lab_t *lab, const lab_job_t *job, int64_t from_ms)
{
    uint32_t heard = lab->heard_count;
    for (int times = 0; lab->heard_count == heard; times++) {
        if (times > 100)
            fail_msg("it does not end");
        show_life(lab, job, times);
        lab_pass(lab, 20000);
    }
    return lab->boot_ms - from_ms;
}

/*  300 s and a fiftieth, after a limit of 100 s and a grace of 30 s, or after the stop. */
static const struct {
    const char *job_state;
    bool stopped, restarted;
    uint32_t mode;
    int64_t least_ms, most_ms;
    uint32_t cause;
    uint32_t word;
} touched[] = {
    {"NODE_FAIL", false, false, 0, 420000, 480000, HELIO_CAUSE_NODE_FAILED, WORD(VANISHED)},
    {"CANCELLED", false, true, 0, 420000, 480000, HELIO_CAUSE_SITE_CANCELLED, WORD(VANISHED)},
    {"REQUEUED", false, false, 0, 420000, 480000, HELIO_CAUSE_SITE_CANCELLED, WORD(VANISHED)},
    {"CANCELLED", true, false, HELIO_STOP_MODE_GRACE, 320000, 380000, HELIO_CAUSE_NONE, WORD(ENDED)},
    {"CANCELLED", true, false, HELIO_STOP_MODE_KILL, 290000, 350000, HELIO_CAUSE_NONE, WORD(ENDED)},
};

static void a_claim_that_is_touched_for_ever_counts_only_as_long_as_a_shim_can_live(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof touched / sizeof touched[0]; i++) {
        lab_t lab;
        lab_job_t job = {.order.time_limit_ms = touched[i].stopped ? 36000000 : 100000};
        open_running(&lab, &job);
        int64_t from_ms = lab.boot_ms;
        if (touched[i].restarted) {
            lab_restart(&lab, &job);
            lab_pass(&lab, 20000);
        }
        if (touched[i].stopped)
            lab_stop(&lab, &job, touched[i].mode);
        lab_set(&lab, "101", "state", touched[i].job_state);
        assert_int_equal(lab.heard_count, 1);
        int64_t after_ms = touch_until_it_ends(&lab, &job, from_ms);
        lab_expect(&lab, 1, touched[i].word, touched[i].cause, "");
        assert_true(lab.heard[1].event.stopped == touched[i].stopped);
        if (after_ms < touched[i].least_ms || after_ms > touched[i].most_ms)
            fail_msg("case %zu: after %lld ms", i, (long long)after_ms);
        lab_close(&lab);
    }
}

/*  The bound ends nothing: while Slurm lists the job, or cannot be asked, it stays open. */
static void beyond_its_bound_a_job_that_slurm_lists_stays_open(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {.order.time_limit_ms = 60000};
    open_running(&lab, &job);
    lab_pass(&lab, 900000);
    lab_put(&lab, "down", "%s", "");
    lab_pass(&lab, 300000);
    assert_int_equal(lab.heard_count, 1);
    lab_put(&lab, "down", NULL);
    still_runs(&lab, &job);
    lab_close(&lab);
}

/*  It was stopped for longer than its time limit, goes on, and has its grace: a second copy must not start beside it. */
static void a_shim_that_was_suspended_beyond_its_limit_is_alive_when_it_goes_on(void **state)
{
    (void)state;
    for (int restarted = 0; restarted < 2; restarted++) {
        lab_t lab;
        lab_job_t job = {.order.time_limit_ms = 60000};
        open_running(&lab, &job);
        lab_pass(&lab, 900000);
        if (restarted) {
            lab_restart(&lab, &job);
            lab_pass(&lab, 20000);
        }
        show_life(&lab, &job, 0);
        lab_pass(&lab, 10000);
        lab_set(&lab, "101", "state", "NODE_FAIL");
        for (int times = 1; times < 13; times++) {
            show_life(&lab, &job, times);
            lab_pass(&lab, 20000);
        }
        assert_int_equal(lab.heard_count, 1);
        lab_pass(&lab, 60000);
        lab_expect(&lab, 1, WORD(VANISHED), HELIO_CAUSE_NODE_FAILED, "");
        lab_close(&lab);
    }
}

/* ---- charges after a restart --------------------------------------------------------------------------- */

static void seconds(char ret_text[32], int64_t wall_ms)
{
    (void)snprintf(ret_text, 32, "%lld", (long long)(wall_ms / 1000));
}

/*  Its first command removes its claim. Slurm forgets it while no agent runs, or shows it for a while. */
static void a_run_that_hides_is_charged_also_for_the_time_before_a_restart(void **state)
{
    (void)state;
    for (int listed = 0; listed < 2; listed++) {
        lab_t lab;
        lab_job_t job = {0};
        lab_open(&lab);
        lab.settings.prolog_ms = 10000;
        lab_reopen(&lab);
        lab_start(&lab, &job);
        lab_settle(&lab);
        lab_set(&lab, "101", "state", "RUNNING");
        lab_pass(&lab, 600000);
        if (!listed)
            lab_drop(&lab, "101");
        lab_restart(&lab, &job);
        lab_pass(&lab, 30000);
        lab_drop(&lab, "101");
        lab_pass(&lab, 90000);
        lab_expect(&lab, lab.heard_count - 1, WORD(VANISHED), HELIO_CAUSE_DOUBTED, "its status file shows no run");
        assert_in_range(lab_last(&lab)->event.run_ms, listed ? 570000 : 430000, 640000);
        lab_close(&lab);
    }
}

/*  It runs for 40 s, empties its folder, and the agent is away at once, or over its end. Slurm keeps nothing of it. */
static void what_an_earlier_agent_saw_claimed_has_begun_though_its_folder_is_empty(void **state)
{
    (void)state;
    for (int away = 0; away < 2; away++) {
        lab_t lab;
        lab_job_t job = {0};
        char path[400];
        open_running(&lab, &job);
        lab_pass(&lab, away ? 30000 : 0);
        static const char *const files[] = {"claim", "started"};
        for (size_t i = 0; i < 2; i++) {
            (void)snprintf(path, sizeof path, "%s/shared/attempts/%s/%s", lab.dir, job.name, files[i]);
            assert_int_equal(unlink(path), 0);
        }
        lab.boot_ms += 15000;
        lab.wall_ms += 15000;
        if (away)
            lab_drop(&lab, "101");
        lab_restart(&lab, &job);
        lab_pass(&lab, 15000);
        lab_drop(&lab, "101");
        lab_pass(&lab, 90000);
        lab_expect(&lab, lab.heard_count - 1, WORD(VANISHED), HELIO_CAUSE_DOUBTED, "its status files are gone");
        assert_in_range(lab_last(&lab)->event.run_ms, away ? 15000 : 25000, 45000);
        lab_close(&lab);
    }
}

static void slurms_start_is_bounded_by_the_submission_also_after_a_restart(void **state)
{
    (void)state;
    for (int ended = 0; ended < 2; ended++) {
        lab_t lab;
        lab_job_t job = {0};
        char start[32], end[32];
        open_running(&lab, &job);
        seconds(start, lab.wall_ms - 36000000); /* a controller whose clock was wrong */
        lab_set(&lab, "101", "start", start);
        lab_pass(&lab, 200000);
        lab_restart(&lab, &job);
        lab_pass(&lab, 20000);
        seconds(end, lab.wall_ms);
        if (ended)
            lab_set(&lab, "101", "end", end);
        lab_done(&lab, &job, (helio_done_t){.started_wall_ms = lab.wall_ms - 230000, .run_ms = ended ? 1 : 36000000});
        lab_set(&lab, "101", "state", "COMPLETED");
        lab_pass(&lab, 20000);
        lab_expect(&lab, 1, WORD(ENDED), HELIO_CAUSE_DOUBTED, "its status file shows");
        assert_in_range(lab.heard[1].event.run_ms, ended ? 90000 : 220000, 280000);
        lab_close(&lab);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_claim_that_is_touched_for_ever_counts_only_as_long_as_a_shim_can_live),
        cmocka_unit_test(beyond_its_bound_a_job_that_slurm_lists_stays_open),
        cmocka_unit_test(a_shim_that_was_suspended_beyond_its_limit_is_alive_when_it_goes_on),
        cmocka_unit_test(a_run_that_hides_is_charged_also_for_the_time_before_a_restart),
        cmocka_unit_test(what_an_earlier_agent_saw_claimed_has_begun_though_its_folder_is_empty),
        cmocka_unit_test(slurms_start_is_bounded_by_the_submission_also_after_a_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
