/*  test_notices.c -- who may write into the folder of interruption notices, and into those above it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "site-agent/scale/notices.h"
#include "tests/support/folder.h"

enum { OTHER = 12345 };

static char top[64];

static char *path_of(const char *name)
{
    static char path[128];
    (void)snprintf(path, sizeof path, "%s%s", top, name);
    return path;
}

static void set_mode(const char *name, mode_t mode)
{
    assert_int_equal(chmod(path_of(name), mode), 0);
}

/*  TOP/shared/notices, and a symbolic link to it. */
static int begin(void **state)
{
    (void)state;
    (void)snprintf(top, sizeof top, "/tmp/helio-notices-XXXXXX");
    assert_non_null(mkdtemp(top));
    assert_int_equal(mkdir(path_of("/shared"), 0755), 0);
    assert_int_equal(mkdir(path_of("/shared/notices"), 0755), 0);
    assert_int_equal(symlink("shared/notices", path_of("/link")), 0);
    set_mode("/shared", 0755);
    set_mode("/shared/notices", 0755);
    return 0;
}

static int end(void **state)
{
    (void)state;
    return folder_remove(top);
}

static void assert_check(const char *name, helio_rc expected, const char *text)
{
    helio_error_t err = {0};
    helio_rc rc = helio_notices_check(path_of(name), &err);
    if (rc != expected || !strstr(err.text, text))
        fail_msg("%s: %d, %s", name, (int)rc, err.text);
}

static void notices__of_a_folder_of_the_agent_are_trusted(void **state)
{
    (void)state;
    assert_check("/shared/notices", HELIO_OK, "");
    assert_check("/link", HELIO_OK, "");
    set_mode("/shared/notices", 0700);
    assert_check("/shared/notices/", HELIO_OK, "");
    set_mode("/shared", 01777); /* nobody else can rename what is in it */
    assert_check("/shared/notices", HELIO_OK, "");
}

static void notices__need_a_folder_that_others_cannot_write(void **state)
{
    (void)state;
    static const mode_t modes[] = {0777, 01777, 0775, 0757};
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        set_mode("/shared/notices", modes[i]);
        assert_check("/shared/notices", HELIO_FORBIDDEN, "/shared/notices can be written by others");
        assert_check("/link", HELIO_FORBIDDEN, "/shared/notices can be written by others");
    }
}

static void notices__need_folders_above_that_others_cannot_write(void **state)
{
    (void)state;
    set_mode("/shared", 0777);
    assert_check("/shared/notices", HELIO_FORBIDDEN, "/shared can be written by others");
    assert_check("/link", HELIO_FORBIDDEN, "/shared can be written by others");
    set_mode("/shared", 0755);
    set_mode("", 0777); /* where the link is */
    assert_check("/link", HELIO_FORBIDDEN, "can be written by others");
}

static void notices__need_an_owner_who_runs_no_jobs(void **state)
{
    (void)state;
    static const char *const names[] = {"/shared/notices", "/shared"};
    if (geteuid() != 0) {
        (void)printf("SKIPPED: only root can give folders to others\n");
        skip();
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(chown(path_of(names[i]), OTHER, (gid_t)-1), 0);
        assert_check("/shared/notices", HELIO_FORBIDDEN, "belongs to user 12345");
        assert_int_equal(chown(path_of(names[i]), 0, (gid_t)-1), 0);
    }
    assert_int_equal(lchown(path_of("/link"), OTHER, (gid_t)-1), 0);
    assert_check("/link", HELIO_FORBIDDEN, "/link belongs to user 12345");
    assert_check("/link/", HELIO_FORBIDDEN, "/link belongs to user 12345");
}

static void notices__need_a_folder(void **state)
{
    (void)state;
    assert_check("/shared/none", HELIO_NOT_FOUND, "there is no such folder");
    FILE *file = fopen(path_of("/shared/file"), "we");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_check("/shared/file", HELIO_NOT_FOUND, "there is no such folder");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(notices__of_a_folder_of_the_agent_are_trusted),
        CASE(notices__need_a_folder_that_others_cannot_write),
        CASE(notices__need_folders_above_that_others_cannot_write),
        CASE(notices__need_an_owner_who_runs_no_jobs),
        CASE(notices__need_a_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
