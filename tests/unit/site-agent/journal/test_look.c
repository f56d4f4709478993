/*  test_look.c -- what a check reports of a journal; the check leaves no trace in it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "site-agent/journal/journal.h"
#include "site-agent/journal/inspect.h"
#include "tests/support/folder.h"

#define WALL INT64_C(1795000000000)

static char directory[64];

static int begin(void **state)
{
    (void)state;
    (void)snprintf(directory, sizeof directory, "/tmp/helio-look-XXXXXX");
    return mkdtemp(directory) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return folder_remove(directory);
}

static void expect(helio_rc expected, const char *part)
{
    char text[HELIO_JOURNAL_INSPECT_SIZE] = "";
    helio_error_t err = {.text = ""};
    helio_rc rc = helio_journal_inspect(directory, text, &err);
    if (rc != expected || !strstr(rc ? err.text : text, part))
        fail_msg("%s: '%s%s', not %s '%s'", helio_rc_name(rc), text, err.text, helio_rc_name(expected), part);
}

static bool has(const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    return access(path, F_OK) == 0;
}

static helio_journal_t *opened(void)
{
    helio_journal_t *journal = NULL;
    helio_journal_state_t state;
    assert_int_equal(helio_journal_open(directory, WALL, &journal, &state, NULL), HELIO_OK);
    helio_jrow_seen_t seen = {.key = {.task = HELIO_NO_TASK}, .epoch = 7, .wall_ms = WALL};
    for (int32_t i = 0; i < 300; i++) {
        seen.key.task = i;
        helio_effect_t row = {.kind = HELIO_AGENT_FX_ROW_SEEN, .payload = &seen};
        assert_int_equal(helio_journal_put(journal, &row, NULL), HELIO_OK);
    }
    assert_int_equal(helio_journal_commit(journal, NULL), HELIO_OK);
    return journal;
}

static void overwrite(off_t at, const void *bytes, size_t size)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/journal.db", directory);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, size, at), (ssize_t)size);
    (void)close(fd);
}

static void inspect__before_the_first_run_finds_no_journal_and_creates_none(void **state)
{
    (void)state;
    expect(HELIO_OK, "none yet");
    assert_false(has("journal.db"));
}

static void inspect__leaves_a_closed_journal_unchanged(void **state)
{
    (void)state;
    helio_journal_t *journal = opened();
    helio_journal_close(&journal);
    expect(HELIO_OK, "whole; no agent has it open");
    assert_false(has("journal.db-wal"));
    assert_false(has("journal.db-shm"));
}

/*  In another process, because a process never conflicts with its own locks. */
static void inspect__names_the_process_that_has_the_journal_open(void **state)
{
    (void)state;
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)opened();
        (void)!write(ready[1], "x", 1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    char text[64];
    (void)snprintf(text, sizeof text, "held by the agent that runs (process %ld)", (long)child);
    expect(HELIO_OK, text);
    (void)kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    expect(HELIO_OK, "not closed in order");
    helio_journal_t *journal = NULL;
    helio_journal_state_t found;
    assert_int_equal(helio_journal_open(directory, WALL, &journal, &found, NULL), HELIO_OK);
    assert_int_equal(found, HELIO_JOURNAL_INTACT);
    helio_journal_close(&journal);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

static void inspect__distinguishes_a_newer_release_a_foreign_file_and_damage(void **state)
{
    (void)state;
    static const uint8_t newer[4] = {0, 0, 0, 99}, format[4] = {0, 0, 0, 1};
    char junk[8192];
    helio_journal_t *journal = opened();
    helio_journal_close(&journal);
    overwrite(60, newer, sizeof newer);
    expect(HELIO_VERSION, "format 99");
    overwrite(60, format, sizeof format);
    expect(HELIO_OK, "whole");
    memset(junk, 0x5a, sizeof junk);
    overwrite(8192, junk, sizeof junk);
    expect(HELIO_PROTOCOL, "is damaged");
    overwrite(0, junk, 100);
    expect(HELIO_PROTOCOL, "no journal of this program");
}

static void inspect__refuses_a_journal_that_cannot_be_written(void **state)
{
    (void)state;
    if (geteuid() == 0) {
        print_message("SKIPPED: root may write everything\n");
        skip();
        return;
    }
    helio_journal_t *journal = opened();
    helio_journal_close(&journal);
    char path[128];
    (void)snprintf(path, sizeof path, "%s/journal.db", directory);
    assert_int_equal(chmod(path, 0400), 0);
    expect(HELIO_FORBIDDEN, "journal.db");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(inspect__before_the_first_run_finds_no_journal_and_creates_none),
        TEST(inspect__leaves_a_closed_journal_unchanged),
        TEST(inspect__names_the_process_that_has_the_journal_open),
        TEST(inspect__distinguishes_a_newer_release_a_foreign_file_and_damage),
        TEST(inspect__refuses_a_journal_that_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
