/*  An older copy of the state folder is put back while attempts run, as an operator would after a mistake: their shims
 *  hold folders that nobody sees any more. */
#include "tests/unit/site-agent/backends/local/local_testing.h"

/*  Copies all attempts' folders, with what is known of them: times, modes, owners. */
static void copy_attempts(const site_t *site, const char *from, const char *to)
{
    char command[256];
    (void)snprintf(command, sizeof command, "rm -rf %s/%s && cp -a %s/%s %s/%s", site->dir, to, site->dir, from,
                   site->dir, to);
    assert_int_equal(system(command), 0);
}

static void start_and_copy(site_t *site, const char *run)
{
    site_open(site);
    attempt_t attempt = {.run = run};
    site_start(site, &attempt);
    site_wait_log(site, "ready");
    site_drive(site, 300); /* it is reported as started */
    copy_attempts(site, "attempts", "copy");
}

static void put_back(site_t *site)
{
    copy_attempts(site, "copy", "attempts");
    site_reopen(site);
    site->heard_count = 0;
    site->backend->class->survey(site->backend);
    site_adopt(site, 1);
}

static void put_back__an_attempt_ends_in_the_copy_of_its_folder(void **state)
{
    (void)state;
    site_t site = {0};
    start_and_copy(&site, "echo ready; sleep 1.5; exit 3");
    put_back(&site);
    const heard_t *end = site_wait(&site, 2);
    assert_int_equal(end->event.word, HELIO_BACKEND_REPORT_ENDED);
    assert_int_equal(end->event.exit_code, 3);
    assert_in_range(end->event.run_ms, 1400, 9000);
    assert_false(end->event.estimated);
    site_close(&site);
}

static void put_back__a_stop_reaches_the_attempt(void **state)
{
    (void)state;
    site_t site = {0};
    start_and_copy(&site, "echo ready; sleep 100");
    put_back(&site);
    (void)site_wait(&site, 1);
    site_stop(&site, 1, HELIO_STOP_MODE_KILL);
    const heard_t *end = site_wait(&site, 2);
    assert_int_equal(end->event.word, HELIO_BACKEND_REPORT_ENDED);
    assert_true(end->event.stopped);
    site_close(&site);
}

/*  Without the folder, the processes of the attempt give the times: when the first began, and when the last ended. */
static void put_back__an_attempt_that_the_copy_lacks_is_charged_from_its_first_process_to_its_last(void **state)
{
    (void)state;
    site_t site = {0};
    char command[256];
    start_and_copy(&site, "echo ready; sleep 3");
    const heard_t *began = site_wait(&site, 1);
    int64_t started_wall_ms = began->event.started_wall_ms;
    site_drive(&site, 1000);
    (void)snprintf(command, sizeof command, "rm -rf %s/attempts/* %s/copy", site.dir, site.dir);
    assert_int_equal(system(command), 0);
    site_reopen(&site);
    site.heard_count = 0;
    site.backend->class->survey(site.backend);
    const heard_t *end = site_wait(&site, 2);
    assert_int_equal(end->event.word, HELIO_BACKEND_REPORT_VANISHED);
    assert_true(end->event.estimated);
    assert_in_range(end->event.run_ms, 2000, 9000);
    assert_in_range(end->event.started_wall_ms, started_wall_ms - 1000, started_wall_ms + 1000);
    assert_int_equal(end->event.ended_wall_ms, end->event.started_wall_ms + (int64_t)end->event.run_ms);
    site_close(&site);
}

/*  The survey saw its processes; before anything looks again, they are gone. */
static void put_back__an_attempt_that_ends_right_after_the_survey_is_charged(void **state)
{
    (void)state;
    site_t site = {0};
    char command[256];
    start_and_copy(&site, "echo ready; exec sleep 100");
    long shim = site_shim(&site, 1);
    (void)snprintf(command, sizeof command, "sleep 1; rm -rf %s/attempts/* %s/copy", site.dir, site.dir);
    assert_int_equal(system(command), 0);
    site_reopen(&site);
    site.heard_count = 0;
    site.backend->class->survey(site.backend);
    (void)kill((pid_t)shim, SIGKILL);
    (void)poll(NULL, 0, 1500); /* its guardian kills the job */
    const heard_t *end = site_wait(&site, 2);
    assert_int_equal(end->event.word, HELIO_BACKEND_REPORT_VANISHED);
    assert_true(end->event.estimated);
    assert_in_range(end->event.run_ms, 1000, 9000);
    site_close(&site);
}

/*  Then nothing reads the shim's files, so it does not wait for room on the disk. */
static void put_back__without_the_folder_the_shim_ends_with_its_job(void **state)
{
    (void)state;
    site_t site = {0};
    char command[256];
    start_and_copy(&site, "echo ready; sleep 1");
    long shim = site_shim(&site, 1);
    (void)snprintf(command, sizeof command, "rm -rf %s/attempts/* %s/copy", site.dir, site.dir);
    assert_int_equal(system(command), 0);
    for (int i = 0; i < 300 && is_alive(shim); i++)
        (void)poll(NULL, 0, 10);
    assert_false(is_alive(shim));
    site_close(&site);
}

/*  The copy is older than this attempt: its folder there belongs to another shim, which must keep what it wrote. */
static void put_back__the_folder_of_another_shim_is_not_written_to(void **state)
{
    (void)state;
    site_t site = {0};
    char command[512], path[512];
    start_and_copy(&site, "echo ready; sleep 1");
    long shim = site_shim(&site, 1);
    (void)snprintf(command, sizeof command,
                   "sed -i 's/^pid=.*/pid=1/' %s/copy/*/claim && rm -rf %s/attempts && cp -a %s/copy %s/attempts",
                   site.dir, site.dir, site.dir, site.dir);
    assert_int_equal(system(command), 0);
    for (int i = 0; i < 300 && is_alive(shim); i++)
        (void)poll(NULL, 0, 10);
    assert_false(is_alive(shim));
    helio_buffer_t done = {0};
    assert_false(read_whole(site_path(&site, "attempts", 1, "done", path), &done));
    helio_buffer_clear(&done);
    site_close(&site);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(put_back__an_attempt_ends_in_the_copy_of_its_folder),
        cmocka_unit_test(put_back__a_stop_reaches_the_attempt),
        cmocka_unit_test(put_back__an_attempt_that_the_copy_lacks_is_charged_from_its_first_process_to_its_last),
        cmocka_unit_test(put_back__an_attempt_that_ends_right_after_the_survey_is_charged),
        cmocka_unit_test(put_back__without_the_folder_the_shim_ends_with_its_job),
        cmocka_unit_test(put_back__the_folder_of_another_shim_is_not_written_to),
    };
    return cmocka_run_group_tests_name("put_back", tests, NULL, NULL);
}
