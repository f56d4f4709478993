/*  test_survey.c -- a survey ends when everything was looked at: what cannot be read is neither absent nor over. */
#include "tests/support/folder.h"
#include "tests/unit/site-agent/backends/local/local_testing.h"

/*  A file of the attempt's name in place of its folder, or a link to nowhere in place of one of its files: it is there,
 *  and cannot be read. */
static void hide(const site_t *site, const char *file)
{
    char path[512], away[520];
    (void)site_path(site, "attempts", 1, file, path);
    (void)snprintf(away, sizeof away, "%s/hidden", site->dir);
    assert_int_equal(rename(path, away), 0);
    if (file[0])
        assert_int_equal(symlink("/nowhere", path), 0);
    else
        assert_int_equal(close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600)), 0);
}

static void show(const site_t *site, const char *file)
{
    char path[512], away[520];
    (void)site_path(site, "attempts", 1, file, path);
    (void)snprintf(away, sizeof away, "%s/hidden", site->dir);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rename(away, path), 0);
}

static void survey(site_t *site)
{
    site_reopen(site);
    site->heard_count = 0;
    site->backend->class->survey(site->backend);
}

static void run_until_ready(site_t *site)
{
    site_open(site);
    attempt_t attempt = {.run = "echo ready; sleep 100"};
    site_start(site, &attempt);
    site_wait_log(site, "ready");
}

static void end(site_t *site)
{
    site_stop(site, 1, HELIO_STOP_MODE_KILL);
    (void)site_wait(site, site->heard_count + 1);
    site_close(site);
}

static void survey__of_what_can_be_read_ends_at_once(void **state)
{
    (void)state;
    site_t site = {0};
    run_until_ready(&site);
    assert_int_equal(site.surveys, 0); /* it was not asked for */
    survey(&site);
    expect(site_wait(&site, 1), HELIO_BACKEND_REPORT_STARTED);
    assert_int_equal(site.surveys, 1);
    site_drive(&site, 2500);
    assert_int_equal(site.surveys, 1);
    assert_int_equal(site.hindrances, 0);
    end(&site);
}

static void survey__waits_for_a_folder_that_cannot_be_read(void **state)
{
    (void)state;
    site_t site = {0};
    run_until_ready(&site);
    hide(&site, "");
    survey(&site);
    site_drive(&site, 2500);
    assert_int_equal(site.surveys, 0);
    assert_int_equal(site.heard_count, 0);
    assert_int_equal(site.hindrances, 1); /* told once */
    assert_non_null(strstr(site.hindrance, "/attempts/helio-"));
    show(&site, "");
    expect(site_wait(&site, 1), HELIO_BACKEND_REPORT_STARTED);
    site_drive(&site, 2500);
    assert_int_equal(site.surveys, 1);
    end(&site);
}

static void survey__does_not_wait_for_an_attempt_that_the_journal_knows(void **state)
{
    (void)state;
    site_t site = {0};
    run_until_ready(&site);
    hide(&site, "");
    survey(&site);
    site_adopt(&site, 1);
    site_drive(&site, 100);
    assert_int_equal(site.surveys, 1);
    assert_int_equal(site.heard_count, 0); /* not ABSENT */
    show(&site, "");
    expect(site_wait(&site, 1), HELIO_BACKEND_REPORT_STARTED);
    end(&site);
}

/*  An attempt that ran must not be taken for one that never began, whose job could run again at no charge. */
static void survey__a_start_mark_that_cannot_be_read_is_not_missing(void **state)
{
    (void)state;
    site_t site = {0};
    run_until_ready(&site);
    pid_t shim = (pid_t)site_shim(&site, 1);
    helio_backend_destroy(&site.backend);
    (void)kill(shim, SIGKILL);
    while (is_alive(shim))
        (void)poll(NULL, 0, 10);
    hide(&site, "started");
    survey(&site);
    site_drive(&site, 1500);
    assert_int_equal(site.heard_count, 0);
    show(&site, "started");
    expect(site_wait(&site, 2), HELIO_BACKEND_REPORT_VANISHED);
    assert_true(site.heard[1].event.run_ms > 0);
    site_close(&site);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survey__of_what_can_be_read_ends_at_once),
        cmocka_unit_test(survey__waits_for_a_folder_that_cannot_be_read),
        cmocka_unit_test(survey__does_not_wait_for_an_attempt_that_the_journal_knows),
        cmocka_unit_test(survey__a_start_mark_that_cannot_be_read_is_not_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
