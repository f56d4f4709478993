/*  What an attempt waits for in Slurm's queue, when it is taken back, and whose jobs count as an attempt's.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/slurm_double.h"

#define WORD(name) HELIO_BACKEND_REPORT_##name

/*  One that waits as job 101. */
static void open_pending(lab_t *lab, lab_job_t *job)
{
    lab_open(lab);
    lab->settings.withdraw_ms = 600000;
    lab_reopen(lab);
    lab_start(lab, job);
    lab_pass(lab, 10000);
    assert_int_equal(lab->heard_count, 0);
    assert_true(lab_has(lab, "jobs/101"));
}

static void drain(const lab_t *lab, bool drained)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    lab_read(lab, "nodes", &text);
    char *at = strstr(text.data, drained ? "State=IDLE" : "State=IDLE+DRAIN");
    assert_non_null(at);
    *at = '\0';
    if (drained)
        lab_put(lab, "nodes", "%sState=IDLE+DRAIN%s", text.data, at + strlen("State=IDLE"));
    else
        lab_put(lab, "nodes", "%sState=IDLE%s", text.data, at + strlen("State=IDLE+DRAIN"));
}

/* ---- what it waits for --------------------------------------------------------------------------------- */

static void what_slurm_waits_for_is_said_once_and_again_when_it_changes(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_pending(&lab, &job);
    lab_pass(&lab, 30000);
    assert_int_equal(lab.waitings, 1);
    assert_string_equal(lab.waits, "Priority");
    lab_pass(&lab, 600000);
    assert_int_equal(lab.waitings, 1);
    lab_set(&lab, "101", "reason", "QOSMaxJobsPerUserLimit");
    lab_pass(&lab, 11000);
    assert_int_equal(lab.waitings, 2);
    assert_string_equal(lab.waits, "QOSMaxJobsPerUserLimit");
    assert_int_equal(lab.heard_count, 0);
    lab_close(&lab);
}

static void reasons_that_flap_are_said_once_a_minute(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_pending(&lab, &job);
    for (int i = 0; i < 60; i++) { /* ten minutes */
        lab_set(&lab, "101", "reason", i % 2 ? "Resources" : "Priority");
        lab_pass(&lab, 10000);
    }
    assert_in_range(lab.waitings, 4, 11);
    lab_close(&lab);
}

static void a_job_that_starts_at_once_says_nothing_of_waiting(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    lab_open(&lab);
    lab_start(&lab, &job);
    lab_pass(&lab, 1000);
    lab_run(&lab, &job, "101");
    lab_pass(&lab, 120000);
    assert_int_equal(lab.waitings, 0);
    lab_expect_word(&lab, 0, WORD(STARTED));
    lab_close(&lab);
}

static void a_reason_of_any_bytes_is_one_line_of_text(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_pending(&lab, &job);
    lab_set(&lab, "101", "reason", "a\tb|c");
    lab_pass(&lab, 120000);
    assert_string_equal(lab.waits, "a b|c");
    lab_close(&lab);
}

/* ---- what can never start ------------------------------------------------------------------------------ */

static void what_can_never_start_is_refused_with_the_reason(void **state)
{
    (void)state;
    static const struct {
        const char *reason;
        bool never;
    } cases[] = {
        {"PartitionTimeLimit", true},
        {"PartitionNodeLimit", true},
        {"QOSMaxWallDurationPerJobLimit", true},
        {"AssocMaxGRESPerJob", true},
        {"QOSMinGRES", true},
        {"InvalidQOS", true},
        {"AssocMaxJobsLimit", false},
        {"QOSMaxJobsPerUserLimit", false},
        {"Resources", false},
        {"AssocGrpGRES", false},
        {"Licenses", false},
        {"BeginTime", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lab_t lab;
        lab_job_t job = {0};
        char whole[128];
        print_message("%s\n", cases[i].reason);
        open_pending(&lab, &job);
        lab_set(&lab, "101", "reason", cases[i].reason);
        lab_pass(&lab, 60000);
        assert_int_equal(lab.heard_count, cases[i].never);
        if (cases[i].never) {
            (void)snprintf(whole, sizeof whole, "the cluster accepted it but would never start it: %s",
                           cases[i].reason);
            lab_expect(&lab, 0, WORD(FAILED_TO_START), HELIO_CAUSE_SUBMIT_REFUSED, whole);
            assert_int_equal(lab_calls(&lab, "--state=PENDING 101"), 1); /* and it leaves Slurm's queue */
        }
        lab_close(&lab);
    }
}

static void a_limit_that_somebody_raises_in_time_refuses_nothing(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_pending(&lab, &job);
    for (int i = 0; i < 10; i++) {
        lab_set(&lab, "101", "reason", "PartitionTimeLimit");
        lab_pass(&lab, 20000);
        lab_set(&lab, "101", "reason", "Resources");
        lab_pass(&lab, 20000);
    }
    assert_int_equal(lab.heard_count, 0);
    lab_close(&lab);
}

/* ---- taking back --------------------------------------------------------------------------------------- */

static void a_job_before_drained_nodes_is_taken_back_after_the_settings_time(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_pending(&lab, &job);
    lab_set(&lab, "101", "reason", "Nodes required for job are DOWN, DRAINED");
    drain(&lab, true);
    lab_pass(&lab, 560000);
    assert_int_equal(lab.heard_count, 0);
    lab_pass(&lab, 120000);
    assert_int_equal(lab.heard_count, 1);
    lab_expect(&lab, 0, WORD(FAILED_TO_START), HELIO_CAUSE_WITHDRAWN,
               "the cluster has too few nodes that can start jobs");
    lab_pass(&lab, 20000);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    lab_read(&lab, "jobs/101", &text);
    assert_non_null(strstr(text.data, "CANCELLED"));
    assert_int_equal(lab.heard_count, 1);
    lab_close(&lab);
}

static void nodes_that_come_back_in_time_keep_it(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_pending(&lab, &job);
    for (int i = 0; i < 4; i++) {
        drain(&lab, true);
        lab_pass(&lab, 400000);
        drain(&lab, false);
        lab_pass(&lab, 100000);
    }
    assert_int_equal(lab.heard_count, 0);
    lab_close(&lab);
}

static void busy_nodes_are_no_reason_to_take_it_back(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_pending(&lab, &job);
    lab_set(&lab, "101", "reason", "Resources");
    lab_pass(&lab, 7200000);
    assert_int_equal(lab.heard_count, 0);
    lab_close(&lab);
}

static void a_held_job_is_taken_back_and_one_with_withdraw_0_never(void **state)
{
    (void)state;
    static const char *const reasons[] = {"JobHeldAdmin",  "JobHeldUser",
                                          "PartitionDown", "ReqNodeNotAvail, UnavailableNodes:n1",
                                          "AssocGrpGRES",  "QOSMaxJobsPerUserLimit"};
    for (size_t i = 0; i < 2 * sizeof reasons / sizeof reasons[0]; i++) {
        lab_t lab;
        lab_job_t job = {0};
        open_pending(&lab, &job);
        if (i % 2) {
            lab.settings.withdraw_ms = 0;
            lab_reopen(&lab);
            lab_adopt(&lab, &job);
        }
        lab_set(&lab, "101", "reason", reasons[i / 2]);
        lab_pass(&lab, 700000);
        assert_int_equal(lab.heard_count, i % 2 == 0);
        if (i % 2 == 0)
            lab_expect(
                &lab, 0, WORD(FAILED_TO_START), HELIO_CAUSE_WITHDRAWN,
                i / 2 < 4 ? "the cluster does not let it start: " : "a limit of its account or QOS keeps it waiting: ");
        lab_close(&lab);
    }
}

/*  The claim decides, whatever the list says: a shim started after the list and before the job was taken back. */
static void one_that_has_begun_is_never_taken_back(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_pending(&lab, &job);
    lab_set(&lab, "101", "reason", "JobHeldAdmin");
    lab_pass(&lab, 580000);
    lab_claim(&lab, &job, "101");
    lab_started(&lab, &job);
    lab_pass(&lab, 41000); /* the list that would have taken it back, and one more */
    lab_expect_word(&lab, 0, WORD(STARTED));
    lab_set(&lab, "101", "state", "RUNNING");
    lab_pass(&lab, 60000);
    assert_int_equal(lab.heard_count, 1);
    assert_int_equal(lab_calls(&lab, "scancel "), 0);
    lab_close(&lab);
}

static void a_silent_controller_takes_nothing_back(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_pending(&lab, &job);
    lab_set(&lab, "101", "reason", "JobHeldAdmin");
    lab_put(&lab, "down", "yes");
    lab_pass(&lab, 3600000);
    assert_int_equal(lab.heard_count, 0);
    lab_close(&lab);
}

/* ---- suspension ---------------------------------------------------------------------------------------- */

static void a_suspended_job_is_said_to_be_and_to_run_again(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_pending(&lab, &job);
    lab_run(&lab, &job, "101");
    lab_pass(&lab, 20000);
    lab_expect_word(&lab, 0, WORD(STARTED));
    lab_set(&lab, "101", "state", "SUSPENDED");
    lab_pass(&lab, 60000);
    assert_int_equal(lab.heard_count, 2);
    lab_expect(&lab, 1, WORD(SUSPENDED), HELIO_CAUSE_SITE_SUSPENDED, "");
    lab_set(&lab, "101", "state", "RUNNING");
    lab_pass(&lab, 60000);
    assert_int_equal(lab.heard_count, 3);
    lab_expect_word(&lab, 2, WORD(RESUMED));
    lab_set(&lab, "101", "state", "SUSPENDED");
    lab_pass(&lab, 20000);
    lab_reopen(&lab); /* a new agent says it anew */
    lab_adopt(&lab, &job);
    lab_pass(&lab, 30000);
    assert_int_equal(lab.heard_count, 6);
    lab_expect_word(&lab, 4, WORD(STARTED));
    lab_expect_word(&lab, 5, WORD(SUSPENDED));
    lab_close(&lab);
}

static void a_suspended_job_is_stopped_by_slurms_own_cancelling(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_pending(&lab, &job);
    lab_run(&lab, &job, "101");
    lab_set(&lab, "101", "state", "SUSPENDED");
    lab_pass(&lab, 20000);
    lab_stop(&lab, &job, HELIO_STOP_MODE_GRACE);
    lab_pass(&lab, 1000);
    assert_int_equal(lab_calls(&lab, "--signal"), 0);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    lab_read(&lab, "jobs/101", &text);
    assert_non_null(strstr(text.data, "CANCELLED"));
    lab_close(&lab);
}

/* ---- whose job ----------------------------------------------------------------------------------------- */

static void put_foreign(const lab_t *lab, const lab_job_t *job, const char *state)
{
    lab_put(lab, "jobs/7",
            "name='%s'\nstate=%s\nreason=None\nexit=0:0\nstart=N/A\nend=N/A\nlisted=yes\nknown=yes\nuid=54321\n",
            job->name, state);
}

static void a_foreign_job_of_the_name_holds_up_no_start(void **state)
{
    (void)state;
    static const char *const states[] = {"PENDING", "RUNNING", "COMPLETED", "FAILED"};
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        lab_t lab;
        lab_job_t job = {0};
        char name[HELIO_ATTEMPT_NAME_SIZE];
        lab_open(&lab);
        helio_attempt_name(lab_key(), 1, name);
        put_foreign(&lab, &(lab_job_t){.name = name}, states[i]);
        lab_start(&lab, &job);
        lab_pass(&lab, 30000);
        assert_int_equal(lab_calls(&lab, "sbatch "), 1);
        lab_run(&lab, &job, "101");
        lab_pass(&lab, 10000);
        lab_expect_word(&lab, 0, WORD(STARTED));
        assert_int_equal(lab_calls(&lab, "scancel "), 0);
        lab_close(&lab);
    }
}

static void a_foreign_job_of_the_name_neither_runs_nor_ends_for_an_attempt(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_pending(&lab, &job);
    put_foreign(&lab, &job, "COMPLETED");
    lab_pass(&lab, 60000);
    put_foreign(&lab, &job, "RUNNING");
    lab_pass(&lab, 60000);
    assert_int_equal(lab.heard_count, 0);
    lab_run(&lab, &job, "101");
    lab_pass(&lab, 10000);
    lab_set(&lab, "101", "listed", "no"); /* its own is gone; the other's is no sign of its life, and no end of it */
    lab_set(&lab, "101", "known", "no");
    lab_pass(&lab, 300000);
    assert_int_equal(lab.heard_count, 2);
    lab_expect(&lab, 1, WORD(VANISHED), HELIO_CAUSE_VANISHED, "Slurm no longer knows its job 101");
    assert_int_equal(lab_calls(&lab, "scancel "), 0);
    lab_close(&lab);
}

static void accounting_of_a_foreign_job_of_number_and_name_is_no_end(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_pending(&lab, &job);
    lab_run(&lab, &job, "101");
    lab_pass(&lab, 10000);
    lab_put(&lab, "accounting", "%-56s %-40s %-32s %-12s %-20d %-20d %-20d %-12u \n", job.name, "101", "COMPLETED",
            "0:0", 5, 5, 9, 54321U);
    lab_drop(&lab, "101");
    lab_pass(&lab, 300000);
    lab_expect(&lab, 1, WORD(VANISHED), HELIO_CAUSE_VANISHED, "Slurm no longer knows its job 101");
    lab_close(&lab);
}

/* ---- silence ------------------------------------------------------------------------------------------- */

static void a_silent_controller_is_said_once_and_its_return_once(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_pending(&lab, &job);
    assert_int_equal(lab.silences + lab.returns, 0);
    lab_put(&lab, "down", "yes");
    lab_pass(&lab, 300000);
    assert_int_equal(lab.silences, 1);
    assert_int_equal(lab.returns, 0);
    assert_true(lab.silent_ms >= 12000);
    lab_put(&lab, "down", NULL);
    lab_pass(&lab, 120000);
    assert_int_equal(lab.silences, 1);
    assert_int_equal(lab.returns, 1);
    assert_true(lab.silent_ms >= 280000);
    lab_pass(&lab, 120000);
    assert_int_equal(lab.silences + lab.returns, 2);
    lab_close(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_slurm_waits_for_is_said_once_and_again_when_it_changes),
        cmocka_unit_test(reasons_that_flap_are_said_once_a_minute),
        cmocka_unit_test(a_job_that_starts_at_once_says_nothing_of_waiting),
        cmocka_unit_test(a_reason_of_any_bytes_is_one_line_of_text),
        cmocka_unit_test(what_can_never_start_is_refused_with_the_reason),
        cmocka_unit_test(a_limit_that_somebody_raises_in_time_refuses_nothing),
        cmocka_unit_test(a_job_before_drained_nodes_is_taken_back_after_the_settings_time),
        cmocka_unit_test(nodes_that_come_back_in_time_keep_it),
        cmocka_unit_test(busy_nodes_are_no_reason_to_take_it_back),
        cmocka_unit_test(a_held_job_is_taken_back_and_one_with_withdraw_0_never),
        cmocka_unit_test(one_that_has_begun_is_never_taken_back),
        cmocka_unit_test(a_silent_controller_takes_nothing_back),
        cmocka_unit_test(a_suspended_job_is_said_to_be_and_to_run_again),
        cmocka_unit_test(a_suspended_job_is_stopped_by_slurms_own_cancelling),
        cmocka_unit_test(a_foreign_job_of_the_name_holds_up_no_start),
        cmocka_unit_test(a_foreign_job_of_the_name_neither_runs_nor_ends_for_an_attempt),
        cmocka_unit_test(accounting_of_a_foreign_job_of_number_and_name_is_no_end),
        cmocka_unit_test(a_silent_controller_is_said_once_and_its_return_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
