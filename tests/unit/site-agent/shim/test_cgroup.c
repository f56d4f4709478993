/*  test_cgroup.c -- what is written into control groups. Files of a temporary folder stand in for the kernel's, because
 *  machines differ in the controllers that they delegate. test_unattended.c of the backend `local` uses real groups. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "site-agent/shim/cgroup.h"
#include "tests/support/folder.h"

typedef struct group {
    char path[64];
} group_t;

static void group_open(group_t *group)
{
    (void)snprintf(group->path, sizeof group->path, "/tmp/helio-group-XXXXXX");
    assert_non_null(mkdtemp(group->path));
}

static void put(const group_t *group, const char *name, const char *text)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", group->path, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void expect_text(const group_t *group, const char *name, const char *want)
{
    char path[128], text[128] = "";
    (void)snprintf(path, sizeof path, "%s/%s", group->path, name);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    if (strcmp(text, want) != 0)
        fail_msg("%s is '%s' instead of '%s'", name, text, want);
}

static void cgroup__limits_are_written_where_the_parent_has_the_power(void **state)
{
    (void)state;
    static const char *const names[] = {"pids.max", "memory.max", "memory.swap.max", "memory.oom.group"};
    static const struct {
        helio_cgroup_limits_t limits;
        helio_cgroup_powers_t powers;
        const char *want[4];
    } rows[] = {{{500, 1 << 30}, {true, true}, {"500", "1073741824", "0", "1"}},
                {{500, 0}, {true, true}, {"500", "", "", ""}},
                {{0, 1 << 30}, {true, true}, {"", "1073741824", "0", "1"}},
                {{500, 1 << 30}, {false, true}, {"", "1073741824", "0", "1"}},
                {{500, 1 << 30}, {true, false}, {"500", "", "", ""}},
                {{500, 1 << 30}, {false, false}, {"", "", "", ""}}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        group_t group;
        group_open(&group);
        for (size_t n = 0; n < 4; n++)
            put(&group, names[n], "");
        assert_int_equal(helio_cgroup_make(group.path, &rows[i].limits, rows[i].powers, NULL), HELIO_OK);
        for (size_t n = 0; n < 4; n++)
            expect_text(&group, names[n], rows[i].want[n]);
        (void)folder_remove(group.path);
    }
}

/*  A job without its limit would be one that can take the machine: it is not started. */
static void cgroup__a_limit_that_cannot_be_set_is_a_failure(void **state)
{
    (void)state;
    group_t group;
    group_open(&group);
    helio_error_t err = {0};
    helio_cgroup_limits_t limits = {.processes = 500};
    assert_int_equal(helio_cgroup_make(group.path, &limits, (helio_cgroup_powers_t){.pids = true}, &err), HELIO_IO);
    assert_non_null(strstr(err.text, "pids.max"));
    assert_int_not_equal(access(group.path, F_OK), 0);
    limits.processes = 0;
    char below[128];
    (void)snprintf(below, sizeof below, "%s/no/such", group.path);
    assert_int_equal(helio_cgroup_make(below, &limits, (helio_cgroup_powers_t){0}, &err), HELIO_NOT_FOUND);
}

static void cgroup__delegation_passes_on_what_there_is(void **state)
{
    (void)state;
    group_t group;
    group_open(&group);
    helio_cgroup_powers_t powers;
    assert_int_equal(helio_cgroup_delegate(group.path, &powers, NULL), HELIO_NOT_FOUND); /* no group: no such files */
    put(&group, "cgroup.procs", "");
    put(&group, "cgroup.controllers", "cpu io memory hugetlb rdma misc\n");
    put(&group, "cgroup.subtree_control", "");
    assert_int_equal(helio_cgroup_look(group.path, &powers, NULL), HELIO_OK);
    assert_true(powers.memory && !powers.pids);
    assert_int_equal(helio_cgroup_delegate(group.path, &powers, NULL), HELIO_OK);
    expect_text(&group, "cgroup.subtree_control", "+memory");
    (void)folder_remove(group.path);
}

/*  Kernels before 5.14 have no cgroup.kill. */
static void cgroup__without_a_kill_file_each_process_is_killed(void **state)
{
    (void)state;
    group_t group;
    group_open(&group);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)pause();
        _exit(0);
    }
    char text[32];
    (void)snprintf(text, sizeof text, "0\n%ld\n", (long)child); /* 0: a process of another namespace */
    put(&group, "cgroup.procs", text);
    put(&group, "cgroup.events", "populated 1\nfrozen 0\n");
    put(&group, "cgroup.freeze", "");
    assert_false(helio_cgroup_kill(group.path));
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    expect_text(&group, "cgroup.freeze", "0");
    put(&group, "cgroup.events", "populated 0\nfrozen 0\n");
    assert_true(helio_cgroup_kill(group.path));
    (void)folder_remove(group.path);
    assert_true(helio_cgroup_kill(group.path)); /* and one that is gone */
}

static void cgroup__deaths_for_want_of_memory_are_counted(void **state)
{
    (void)state;
    group_t group;
    group_open(&group);
    assert_int_equal(helio_cgroup_oom_kills(group.path), 0);
    put(&group, "memory.events", "low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 1\n");
    assert_int_equal(helio_cgroup_oom_kills(group.path), 2);
    (void)folder_remove(group.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cgroup__limits_are_written_where_the_parent_has_the_power),
        cmocka_unit_test(cgroup__a_limit_that_cannot_be_set_is_a_failure),
        cmocka_unit_test(cgroup__delegation_passes_on_what_there_is),
        cmocka_unit_test(cgroup__without_a_kill_file_each_process_is_killed),
        cmocka_unit_test(cgroup__deaths_for_want_of_memory_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
