/*  test_log.c -- the write-ahead log of an agent that died: whatever is left of it, what comes back is the
 * state after some commit, whole, and never a later one than was written. */
#include <sys/resource.h>

#include "tests/unit/site-agent/journal/journal_testing.h"

enum { BATCHES = 7, ROWS = 3 };

/*  The state after each commit, and the two files of a process that never closed them. */
typedef struct left {
    uint64_t digests[BATCHES + 1];
    char *file, *log;
    size_t file_size, log_size;
} left_t;

static void put_batch(helio_journal_t *journal, uint32_t batch)
{
    helio_jrow_meta_t meta = {.incarnation = 4, .broker_epoch = 1, .report_seq = batch * ROWS, .lease_boot_ms = batch};
    put(journal, HELIO_AGENT_FX_ROW_META, &meta);
    for (uint32_t i = 0; i < ROWS; i++)
        put_report(journal, batch * ROWS + i + 1);
    helio_jrow_attempt_t attempt = attempt_of((uint8_t)(batch % 3), 1, HELIO_JOB_ACCEPTED + batch % 3);
    put(journal, HELIO_AGENT_FX_ROW_ATTEMPT, &attempt);
}

static uint64_t digest_of(helio_journal_t *journal)
{
    loaded_t loaded = load(journal);
    helio_arena_destroy(&loaded.arena);
    return loaded.digest;
}

static char *copy_of(const char *name, size_t *ret_size)
{
    const char *bytes = read_all(file_in(name), ret_size);
    char *copy = malloc(*ret_size);
    assert_non_null(copy);
    memcpy(copy, bytes, *ret_size);
    return copy;
}

static left_t die(void)
{
    left_t left = {0};
    helio_journal_t *journal = open_at(WALL, HELIO_JOURNAL_NEW);
    put_batch(journal, 0);
    commit(journal);
    helio_journal_close(&journal);
    journal = open_at(WALL, HELIO_JOURNAL_INTACT);
    left.digests[0] = digest_of(journal);
    left.file = copy_of("journal.db", &left.file_size);
    for (uint32_t batch = 1; batch <= BATCHES; batch++) {
        put_batch(journal, batch);
        commit(journal);
        left.digests[batch] = digest_of(journal);
    }
    left.log = copy_of("journal.db-wal", &left.log_size);
    helio_journal_close(&journal);
    return left;
}

static void put_back(const left_t *left, size_t log_size)
{
    write_all(file_in("journal.db"), left->file, left->file_size);
    write_all(file_in("journal.db-wal"), left->log, log_size);
}

/*  Returns the commit whose state the journal has; fails the test if the state is that of no commit. */
static uint32_t commit_found(const left_t *left, size_t at)
{
    helio_journal_t *journal = open_at(WALL, HELIO_JOURNAL_INTACT);
    uint64_t digest = digest_of(journal);
    helio_journal_close(&journal);
    for (uint32_t batch = 0; batch <= BATCHES; batch++)
        if (left->digests[batch] == digest)
            return batch;
    fail_msg("byte %zu: the state is that of no commit", at);
    return 0;
}

static void forget(left_t *left)
{
    free(left->file);
    free(left->log);
}

static void journal__of_a_log_that_was_cut_anywhere_is_that_of_a_commit(void **state)
{
    (void)state;
    left_t left = die();
    uint32_t last = 0;
    for (size_t cut = 0; cut < left.log_size; cut += 97) {
        put_back(&left, cut);
        uint32_t found = commit_found(&left, cut);
        if (found < last)
            fail_msg("%zu bytes of the log tell less than fewer do", cut);
        last = found;
    }
    put_back(&left, left.log_size);
    last = commit_found(&left, left.log_size);
    assert_int_equal(last, BATCHES); /* and the whole log restores every commit */
    forget(&left);
}

/*  The log is believed up to the flipped byte and no further. */
static void journal__of_a_log_with_a_flipped_byte_is_that_of_a_commit(void **state)
{
    (void)state;
    left_t left = die();
    bool found[BATCHES + 1] = {false};
    for (size_t at = 0; at < left.log_size; at += at < 64 ? 3 : 149) {
        left.log[at] = (char)(left.log[at] ^ 0x10);
        put_back(&left, left.log_size);
        found[commit_found(&left, at)] = true;
        left.log[at] = (char)(left.log[at] ^ 0x10);
    }
    for (uint32_t batch = 0; batch < BATCHES; batch++)
        assert_true(found[batch]); /* a flip within each batch leaves those before it */
    forget(&left);
}

/*  As after a backup that was put back beside the log of a later life. */
static void journal__takes_no_log_of_another_file_for_its_own(void **state)
{
    (void)state;
    left_t left = die();
    assert_int_equal(unlink(file_in("journal.db")), 0);
    (void)unlink(file_in("journal.db-wal"));
    helio_journal_t *journal = open_at(WALL, HELIO_JOURNAL_NEW);
    fill(journal, 2);
    uint64_t digest = digest_of(journal);
    helio_journal_close(&journal);
    size_t size;
    char *own = copy_of("journal.db", &size);
    for (size_t i = 16; i < 24; i++)
        left.log[i] = (char)(left.log[i] ^ 0xff); /* the salts of another life */
    write_all(file_in("journal.db"), own, size);
    write_all(file_in("journal.db-wal"), left.log, left.log_size);
    journal = open_at(WALL, HELIO_JOURNAL_INTACT);
    assert_true(digest_of(journal) == digest);
    helio_journal_close(&journal);
    free(own);
    forget(&left);
}

/* ---- a full disk --------------------------------------------------------------------------------------- */

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static helio_rc try_batch(helio_journal_t *journal, uint32_t batch, helio_error_t *err)
{
    for (uint32_t i = 0; i < ROWS; i++) {
        helio_report_t report = {.seq = batch * ROWS + i + 1, .kind = HELIO_REPORT_KIND_RUNNING};
        helio_effect_t effect = {HELIO_AGENT_FX_ROW_REPORT, HELIO_RELEASE_ROW, batch, &report};
        helio_rc rc = helio_journal_put(journal, &effect, err);
        if (rc != HELIO_OK)
            return rc;
    }
    return helio_journal_commit(journal, err);
}

static void journal__on_a_full_disk_says_so_and_keeps_every_commit(void **state)
{
    (void)state;
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    uint32_t fullest = 0;
    for (rlim_t room = 12000; room < 90000; room += 7001) {
        helio_journal_t *journal = open_at(WALL, HELIO_JOURNAL_NEW);
        helio_error_t err = {0};
        uint32_t committed = 0;
        limit_files(room);
        helio_rc rc = HELIO_OK;
        while (rc == HELIO_OK && committed < 1000) {
            rc = try_batch(journal, committed, &err);
            committed += rc == HELIO_OK;
        }
        helio_journal_close(&journal);
        limit_files(RLIM_INFINITY);
        if (rc != HELIO_IO || !strstr(err.text, "journal: "))
            fail_msg("room for %lu bytes: %d, '%s'", (unsigned long)room, (int)rc, err.text);
        journal = open_at(WALL, HELIO_JOURNAL_INTACT);
        loaded_t loaded = load(journal);
        helio_arena_destroy(&loaded.arena);
        /* the batch that failed is whole or absent */
        if (loaded.reports != committed * ROWS && loaded.reports != (committed + 1) * ROWS)
            fail_msg("room for %lu bytes: %u reports of %u batches", (unsigned long)room, loaded.reports, committed);
        assert_int_equal(try_batch(journal, committed + 1, &err), HELIO_OK);
        helio_journal_close(&journal);
        assert_int_equal(unlink(file_in("journal.db")), 0);
        fullest = committed > fullest ? committed : fullest;
    }
    assert_true(fullest > 2);
}

/*  Without room for a first file the agent has none, and the next start makes one. */
static void journal__that_cannot_be_made_for_want_of_room_is_made_later(void **state)
{
    (void)state;
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    for (rlim_t room = 0; room <= 8192; room += 2048) {
        helio_journal_t *journal = NULL;
        helio_journal_state_t found;
        helio_error_t err = {0};
        limit_files(room);
        helio_rc rc = helio_journal_open(directory, WALL, &journal, &found, &err);
        limit_files(RLIM_INFINITY);
        if (rc == HELIO_OK)
            fail_msg("%lu bytes were enough", (unsigned long)room);
        assert_int_equal(rc, HELIO_IO);
        assert_null(journal);
        assert_true(err.text[0]);
        assert_int_equal(helio_journal_open(directory, WALL, &journal, &found, &err), HELIO_OK);
        fill(journal, 1);
        helio_journal_close(&journal);
        journal = open_at(WALL, HELIO_JOURNAL_INTACT);
        helio_journal_close(&journal);
        assert_int_equal(unlink(file_in("journal.db")), 0);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(journal__of_a_log_that_was_cut_anywhere_is_that_of_a_commit),
        TEST(journal__of_a_log_with_a_flipped_byte_is_that_of_a_commit),
        TEST(journal__takes_no_log_of_another_file_for_its_own),
        TEST(journal__on_a_full_disk_says_so_and_keeps_every_commit),
        TEST(journal__that_cannot_be_made_for_want_of_room_is_made_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
