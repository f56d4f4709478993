/*  test_simulate.c -- `helio simulate` becomes helio-simulate, with the words that follow it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/folder.h"
#include "tests/unit/client/program/run_client.h"

/*  In a process of its own, since the command replaces it; what that process prints is in ret_out. */
static int play(const char *path, const char *const *words, char *ret_out, size_t size)
{
    int ends[2], status;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char *out, *err, *environment[] = {NULL};
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)setenv("PATH", path, 1);
        int code = run_client(words, "", environment, NO_PRESSES, &out, &err);
        ssize_t written = write(STDOUT_FILENO, err, strlen(err));
        _exit(written < 0 ? 99 : code);
    }
    (void)close(ends[1]);
    size_t got = 0;
    ssize_t n;
    while (got < size - 1 && (n = read(ends[0], ret_out + got, size - 1 - got)) > 0)
        got += (size_t)n;
    ret_out[got] = '\0';
    (void)close(ends[0]);
    assert_true(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void words__reach_the_program_as_they_are(void **state)
{
    (void)state;
    char folder[64], path[128], out[512];
    assert_true(folder_make(folder, sizeof folder, "helio-simulate"));
    (void)snprintf(path, sizeof path, "%s/helio-simulate", folder);
    FILE *script = fopen(path, "we");
    assert_non_null(script);
    (void)fputs("#!/bin/sh\nprintf '<%s>' \"$@\"\nexit 42\n", script);
    assert_int_equal(fclose(script), 0);
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(play(folder, WORDS("simulate", "--fleet", "a b.yaml", "-o", "json", "--help"), out, sizeof out),
                     42);
    assert_string_equal(out, "<--fleet><a b.yaml><-o><json><--help>");
    assert_int_equal(folder_remove(folder), 0);
}

static void missing__the_program_is_named_with_the_remedy(void **state)
{
    (void)state;
    char out[512];
    assert_int_equal(play("/nowhere", WORDS("simulate"), out, sizeof out), 125);
    assert_string_equal(out, "helio: cannot run helio-simulate: No such file or directory\n"
                             "help: install it beside helio, or in a folder of PATH\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words__reach_the_program_as_they_are),
        cmocka_unit_test(missing__the_program_is_named_with_the_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
