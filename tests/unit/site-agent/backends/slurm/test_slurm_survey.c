/*  test_slurm_survey.c -- what an agent finds in Slurm's queue and in the folders that its journal does not know. */
#include "tests/support/folder.h"
#include "tests/unit/site-agent/backends/slurm/slurm_testing.h"

static void survey(lab_t *lab)
{
    lab_reopen(lab);
    lab->heard_count = 0;
    lab->backend->class->survey(lab->backend);
}

static void remove_folder(const lab_t *lab, const lab_job_t *job)
{
    char path[300];
    (void)snprintf(path, sizeof path, "%s/attempts/%s", lab->shared, job->name);
    assert_int_equal(folder_remove(path), 0);
}

static void open_with(lab_t *lab, lab_job_t *job, bool running)
{
    *job = (lab_job_t){0};
    lab_open(lab);
    lab_start(lab, job);
    lab_settle(lab);
    if (running)
        lab_run(lab, job, "101");
}

static void survey__finds_a_job_that_runs_though_its_folder_is_gone(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job;
    open_with(&lab, &job, true);
    remove_folder(&lab, &job);
    survey(&lab);
    lab_pass(&lab, 25000);
    assert_int_equal(lab.heard_count, 1);
    lab_expect_word(&lab, 0, WORD(STARTED));
    assert_int_equal(lab.surveys, 1);
    lab_pass(&lab, 60000);
    assert_int_equal(lab.heard_count, 1);
    lab_stop(&lab, &job, HELIO_STOP_MODE_KILL);
    lab_settle(&lab);
    assert_int_equal(lab_calls(&lab, "scancel --name=helio-"), 1);
    lab_drop(&lab, "101");
    lab_pass(&lab, 180000);
    assert_int_equal(lab.heard_count, 2);
    assert_true(lab.heard[1].event.stopped || lab.heard[1].event.word == WORD(VANISHED));
    lab_close(&lab);
}

static void survey__a_job_without_a_folder_that_ends_by_itself_has_vanished(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job;
    open_with(&lab, &job, true);
    remove_folder(&lab, &job);
    survey(&lab);
    lab_pass(&lab, 20000);
    lab_set(&lab, "101", "state", "COMPLETED");
    lab_pass(&lab, 180000);
    assert_int_equal(lab.heard_count, 2);
    lab_expect_word(&lab, 1, WORD(VANISHED)); /* nobody knows its exit code: no success */
    lab_close(&lab);
}

/*  Its shim can come at any time, after the broker was told that it is not here. */
static void survey__withdraws_what_waits_in_the_queue_and_the_journal_does_not_know(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job;
    open_with(&lab, &job, false);
    survey(&lab);
    lab_pass(&lab, 30000);
    assert_int_equal(lab.heard_count, 1);
    lab_expect(&lab, 0, WORD(FAILED_TO_START), HELIO_CAUSE_WITHDRAWN, "the agent lost its journal");
    assert_true(lab_has(&lab, "shared/attempts/%s/claim", job.name)); /* for nobody */
    assert_int_equal(lab_calls(&lab, "--state=PENDING"), 1);
    assert_int_equal(lab.surveys, 1);
    lab_close(&lab);
}

static void survey__cancels_what_waits_in_the_queue_without_a_folder_before_it_calls_it_over(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job;
    open_with(&lab, &job, false);
    remove_folder(&lab, &job);
    survey(&lab);
    lab_pass(&lab, 11000);
    assert_int_equal(lab_calls(&lab, "--state=PENDING"), 1);
    assert_int_equal(lab.heard_count, 0);
    assert_int_equal(lab.surveys, 0);
    lab_pass(&lab, 180000);
    assert_int_equal(lab.heard_count, 1);
    lab_expect_word(&lab, 0, WORD(VANISHED));
    assert_int_equal(lab.heard[0].event.run_ms, 0);
    assert_int_equal(lab.surveys, 1);
    lab_close(&lab);
}

static void survey__leaves_a_job_that_the_journal_knows_in_the_queue(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job;
    open_with(&lab, &job, false);
    survey(&lab);
    lab_adopt(&lab, &job);
    lab_pass(&lab, 30000);
    assert_int_equal(lab.heard_count, 0);
    assert_int_equal(lab_calls(&lab, "scancel"), 0);
    assert_int_equal(lab.surveys, 1);
    lab_close(&lab);
}

static void survey__takes_no_job_of_another_site_or_user(void **state)
{
    (void)state;
    static const char *const foreign[][2] = {{"script", "/elsewhere/bin/helio-batch-1.sh"},
                                             {"uid", "4242"},
                                             {"script", "(null)"},
                                             {"name", "helio-nonsense"}};
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        lab_t lab;
        lab_job_t job;
        open_with(&lab, &job, true);
        remove_folder(&lab, &job);
        lab_set(&lab, "101", foreign[i][0], foreign[i][1]);
        survey(&lab);
        lab_pass(&lab, 60000);
        assert_int_equal(lab.heard_count, 0);
        assert_int_equal(lab_calls(&lab, "scancel"), 0);
        assert_int_equal(lab.surveys, 1);
        lab_close(&lab);
    }
}

static void survey__waits_for_the_controller_and_says_so(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job;
    open_with(&lab, &job, true);
    remove_folder(&lab, &job);
    lab_put(&lab, "down", "yes");
    survey(&lab);
    lab_pass(&lab, 5000);
    assert_int_equal(lab.hindrances, 0);
    lab_pass(&lab, 60000);
    assert_int_equal(lab.hindrances, 1);
    assert_non_null(strstr(lab.hindrance, "squeue does not list the jobs"));
    assert_int_equal(lab.surveys, 0);
    lab_put(&lab, "down", NULL);
    lab_pass(&lab, 90000);
    assert_int_equal(lab.surveys, 1);
    lab_expect_word(&lab, 0, WORD(STARTED));
    lab_close(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survey__finds_a_job_that_runs_though_its_folder_is_gone),
        cmocka_unit_test(survey__a_job_without_a_folder_that_ends_by_itself_has_vanished),
        cmocka_unit_test(survey__withdraws_what_waits_in_the_queue_and_the_journal_does_not_know),
        cmocka_unit_test(survey__cancels_what_waits_in_the_queue_without_a_folder_before_it_calls_it_over),
        cmocka_unit_test(survey__leaves_a_job_that_the_journal_knows_in_the_queue),
        cmocka_unit_test(survey__takes_no_job_of_another_site_or_user),
        cmocka_unit_test(survey__waits_for_the_controller_and_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
