/*  test_journal.c -- what the journal gives back. */
#include <sys/mount.h>

#include "tests/unit/site-agent/journal/journal_testing.h"

static void journal__returns_every_field_in_the_order_of_loading(void **state)
{
    (void)state;
    helio_journal_t *journal = open_at(WALL, HELIO_JOURNAL_NEW);
    fill(journal, 1);
    helio_journal_close(&journal);
    journal = open_at(WALL, HELIO_JOURNAL_INTACT);
    loaded_t loaded = load(journal);
    static const uint32_t order[] = {HELIO_AGENT_EV_LOAD_META, HELIO_AGENT_EV_LOAD_SEEN, HELIO_AGENT_EV_LOAD_ATTEMPT,
                                     HELIO_AGENT_EV_LOAD_REPORT};
    assert_int_equal(loaded.count, 4);
    assert_memory_equal(loaded.kinds, order, sizeof order);
    helio_jrow_attempt_t expected = attempt_of(1, 1, HELIO_JOB_RUNNING);
    assert_true(helio_record_equal(&helio_jrow_attempt_type, &loaded.attempt, &expected));
    assert_int_equal(loaded.meta.broker_epoch, 11);
    assert_int_equal(loaded.meta.lease_boot_ms, 5);
    helio_arena_destroy(&loaded.arena);
    helio_journal_close(&journal);
}

static void journal__replaces_rows_by_identity_and_deletes_ended_attempts(void **state)
{
    (void)state;
    helio_journal_t *journal = open_at(WALL, HELIO_JOURNAL_NEW);
    fill(journal, 3);
    helio_jrow_attempt_t row = attempt_of(2, 2, HELIO_JOB_STOPPING);
    put(journal, HELIO_AGENT_FX_ROW_ATTEMPT, &row);
    row = attempt_of(1, 1, HELIO_JOB_QUEUED);
    put(journal, HELIO_AGENT_FX_ROW_ATTEMPT, &row);
    row = attempt_of(3, 3, HELIO_JOB_QUEUED);
    put(journal, HELIO_AGENT_FX_ROW_ATTEMPT, &row);
    commit(journal);
    loaded_t loaded = load(journal);
    assert_int_equal(loaded.attempts, 1);
    assert_int_equal(loaded.attempt.state, HELIO_JOB_STOPPING);
    assert_int_equal(loaded.attempt.order.epoch, 2);
    helio_arena_destroy(&loaded.arena);
    helio_journal_close(&journal);
}

static void journal__deletes_reports_up_to_the_acknowledged_one_only(void **state)
{
    (void)state;
    static const uint64_t seqs[] = {1, 255, 256, 257, 65536, UINT64_C(1) << 40, INT64_MAX, UINT64_MAX};
    helio_journal_t *journal = open_at(WALL, HELIO_JOURNAL_NEW);
    for (size_t i = sizeof seqs / sizeof seqs[0]; i-- > 0;)
        put_report(journal, seqs[i]);
    commit(journal);
    for (size_t i = 0; i < sizeof seqs / sizeof seqs[0]; i++) {
        helio_jrow_acked_t acked = {seqs[i]};
        put(journal, HELIO_AGENT_FX_ROW_ACKED, &acked);
        commit(journal);
        loaded_t loaded = load(journal);
        assert_int_equal(loaded.reports, sizeof seqs / sizeof seqs[0] - 1 - i);
        helio_arena_destroy(&loaded.arena);
    }
    helio_journal_close(&journal);
}

static void journal__forgets_epochs_seen_more_than_thirty_days_ago(void **state)
{
    (void)state;
    helio_journal_t *journal = open_at(WALL, HELIO_JOURNAL_NEW);
    fill(journal, 2);
    helio_jrow_seen_t late = {key_of(2, 3), 9, WALL + 1000};
    put(journal, HELIO_AGENT_FX_ROW_SEEN, &late);
    commit(journal);
    helio_journal_close(&journal);
    journal = open_at(WALL + INT64_C(30) * 24 * 3600 * 1000 + 1, HELIO_JOURNAL_INTACT);
    loaded_t loaded = load(journal);
    assert_int_equal(loaded.seen, 1);
    assert_int_equal(loaded.attempts, 2);
    helio_arena_destroy(&loaded.arena);
    helio_journal_close(&journal);
}

static void journal__is_locked_against_a_second_opener(void **state)
{
    (void)state;
    helio_journal_t *journal = open_at(WALL, HELIO_JOURNAL_NEW), *second = NULL;
    fill(journal, 1);
    helio_journal_state_t found;
    helio_error_t err;
    assert_int_equal(helio_journal_open(directory, WALL, &second, &found, &err), HELIO_BUSY);
    assert_null(second);
    helio_journal_close(&journal);
    journal = open_at(WALL, HELIO_JOURNAL_INTACT);
    helio_journal_close(&journal);
}

static void journal__drops_a_batch_that_was_not_committed(void **state)
{
    (void)state;
    helio_journal_t *journal = open_at(WALL, HELIO_JOURNAL_NEW);
    fill(journal, 2);
    put_report(journal, 99);
    helio_journal_close(&journal);
    journal = open_at(WALL, HELIO_JOURNAL_INTACT);
    loaded_t loaded = load(journal);
    assert_int_equal(loaded.last_seq, 2);
    helio_arena_destroy(&loaded.arena);
    helio_journal_close(&journal);
}

/*  The child commits batches of two rows and says so after each; it is killed wherever it is. */
static void child_writes(int fd)
{
    helio_journal_t *journal = NULL;
    helio_journal_state_t found;
    if (helio_journal_open(directory, WALL, &journal, &found, NULL) != HELIO_OK)
        _exit(1);
    for (uint64_t batch = 1;; batch++) {
        for (uint64_t row = 0; row < 2; row++) {
            helio_report_t report = {.seq = 2 * batch + row};
            helio_effect_t effect = {HELIO_AGENT_FX_ROW_REPORT, HELIO_RELEASE_ROW, batch, &report};
            if (helio_journal_put(journal, &effect, NULL) != HELIO_OK)
                _exit(1);
        }
        if (helio_journal_commit(journal, NULL) != HELIO_OK || write(fd, &batch, sizeof batch) != sizeof batch)
            _exit(1);
    }
}

static void journal__keeps_every_committed_batch_whole_when_killed_in_between(void **state)
{
    (void)state;
    for (int round = 0; round < 12; round++) {
        int fds[2];
        assert_int_equal(pipe(fds), 0);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            (void)close(fds[0]);
            child_writes(fds[1]);
        }
        (void)close(fds[1]);
        uint64_t said = 0, batch;
        int enough = 3 + 7 * round;
        while (enough-- > 0 && read(fds[0], &batch, sizeof batch) == sizeof batch)
            said = batch;
        assert_int_equal(kill(child, SIGKILL), 0);
        while (read(fds[0], &batch, sizeof batch) == sizeof batch)
            said = batch;
        (void)close(fds[0]);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        helio_journal_t *journal = open_at(WALL, HELIO_JOURNAL_INTACT);
        loaded_t loaded = load(journal);
        assert_true(said >= 3);
        assert_true(loaded.last_seq >= 2 * said + 1);
        assert_int_equal(loaded.reports % 2, 0); /* no half batch */
        helio_arena_destroy(&loaded.arena);
        helio_journal_close(&journal);
        assert_int_equal(unlink(file_in("journal.db")), 0);
    }
}

static helio_rc put_row(helio_journal_t *journal, uint64_t number)
{
    char text[250];
    memset(text, 'x', sizeof text);
    helio_report_t report = {.seq = number, .explanation = {text, sizeof text}};
    helio_effect_t effect = {HELIO_AGENT_FX_ROW_REPORT, HELIO_RELEASE_ROW, 1, &report};
    helio_rc rc = helio_journal_put(journal, &effect, NULL);
    return rc ? rc : helio_journal_commit(journal, NULL);
}

static void fill_disk(void)
{
    FILE *file = fopen(file_in("hog"), "we");
    assert_non_null(file);
    (void)setvbuf(file, NULL, _IONBF, 0);
    static const char block[4096];
    while (fwrite(block, 1, sizeof block, file) == sizeof block)
        continue;
    (void)fclose(file);
}

static void journal__goes_on_while_the_disk_is_full(void **state)
{
    (void)state;
    enum { ROWS = 3000 };
    for (int reserved = 0; reserved < 2; reserved++) {
        if (geteuid() != 0 || mount("tmpfs", directory, "tmpfs", 0, "size=32m,mode=0700")) {
            print_message("SKIPPED: only root can mount a small disk\n");
            skip();
        }
        helio_journal_t *journal = open_at(WALL, HELIO_JOURNAL_NEW);
        if (reserved)
            helio_journal_reserve(journal);
        uint64_t row = 0;
        fill_disk();
        while (row < ROWS && put_row(journal, row + 1) == HELIO_OK)
            row++;
        helio_journal_close(&journal);
        assert_int_equal(unlink(file_in("hog")), 0);
        journal = open_at(WALL, HELIO_JOURNAL_INTACT);
        loaded_t loaded = load(journal);
        helio_arena_destroy(&loaded.arena);
        if (reserved)
            helio_journal_reserve(journal); /* once more, and the file does not grow without end */
        helio_journal_close(&journal);
        struct stat file = {0};
        assert_int_equal(stat(file_in("journal.db"), &file), 0);
        assert_int_equal(umount2(directory, MNT_DETACH), 0);
        if (reserved)
            assert_int_equal(row, ROWS);
        else
            assert_true(row < ROWS); /* so only the reserve lets the journal continue */
        assert_int_equal(loaded.reports, row);
        assert_true(file.st_size < 10 << 20);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(journal__returns_every_field_in_the_order_of_loading),
        TEST(journal__replaces_rows_by_identity_and_deletes_ended_attempts),
        TEST(journal__deletes_reports_up_to_the_acknowledged_one_only),
        TEST(journal__forgets_epochs_seen_more_than_thirty_days_ago),
        TEST(journal__is_locked_against_a_second_opener),
        TEST(journal__drops_a_batch_that_was_not_committed),
        TEST(journal__keeps_every_committed_batch_whole_when_killed_in_between),
        TEST(journal__goes_on_while_the_disk_is_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
