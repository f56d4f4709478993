/*  test_damage.c -- journals that are damaged, foreign, or of an older agent. */
#include "tests/unit/site-agent/journal/journal_testing.h"

static bool moved_aside(void)
{
    return access(file_in("journal.damaged-1795000000000"), F_OK) == 0;
}

/*  Opens the files as they are now. Either the digest is right, or the journal has reported the damage. */
static helio_journal_state_t open_suspect(uint64_t digest)
{
    helio_journal_t *journal = NULL;
    helio_journal_state_t found = HELIO_JOURNAL_NEW;
    helio_error_t err = {0};
    helio_rc rc = helio_journal_open(directory, WALL, &journal, &found, &err);
    if (rc != HELIO_OK) { /* such as a format number that looks newer: refused and left as it is */
        if (rc != HELIO_VERSION)
            fail_msg("%s", err.text);
        return HELIO_JOURNAL_DAMAGED;
    }
    loaded_t loaded = load(journal);
    if (found == HELIO_JOURNAL_INTACT) {
        if (loaded.digest != digest)
            fail_msg("read as intact, but other: %u attempts, %u seen, %u reports", loaded.attempts, loaded.seen,
                     loaded.reports);
    } else {
        assert_int_equal(found, HELIO_JOURNAL_DAMAGED);
        assert_int_equal(loaded.count, 0);
        assert_true(moved_aside());
        assert_true(err.text[0]);
    }
    helio_arena_destroy(&loaded.arena);
    helio_journal_close(&journal);
    (void)unlink(file_in("journal.damaged-1795000000000"));
    return found;
}

static uint64_t make_file(char **ret_bytes, size_t *ret_size)
{
    helio_journal_t *journal = open_at(WALL, HELIO_JOURNAL_NEW);
    fill(journal, 20);
    loaded_t loaded = load(journal);
    helio_arena_destroy(&loaded.arena);
    helio_journal_close(&journal); /* folds the log into the file */
    *ret_bytes = read_all(file_in("journal.db"), ret_size);
    return loaded.digest;
}

static void journal__truncated_at_any_length_is_detected_and_moved_away(void **state)
{
    (void)state;
    char *bytes;
    size_t size;
    uint64_t digest = make_file(&bytes, &size);
    uint32_t damaged = 0, torn = 0;
    for (size_t cut = 0; cut < size; cut += 509, torn++) {
        write_all(file_in("journal.db"), bytes, cut);
        damaged += open_suspect(digest) == HELIO_JOURNAL_DAMAGED;
    }
    assert_int_equal(damaged, torn);
}

static void journal__with_a_flipped_byte_is_detected_or_reads_as_before(void **state)
{
    (void)state;
    char *bytes;
    size_t size;
    uint64_t digest = make_file(&bytes, &size);
    uint32_t damaged = 0;
    for (size_t at = 0; at < size; at += at < 100 ? 1 : 7) {
        bytes[at] = (char)(bytes[at] ^ 0x55);
        write_all(file_in("journal.db"), bytes, size);
        damaged += open_suspect(digest) == HELIO_JOURNAL_DAMAGED;
        bytes[at] = (char)(bytes[at] ^ 0x55);
    }
    assert_true(damaged > 20);
}

static void journal__that_is_another_file_is_moved_away(void **state)
{
    (void)state;
    static const char *const contents[] = {"", "hello", "SQLite format 3"};
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        write_all(file_in("journal.db"), contents[i], strlen(contents[i]));
        assert_int_equal(open_suspect(0), HELIO_JOURNAL_DAMAGED);
    }
}

static void journal__can_be_read_by_its_owner_only(void **state)
{
    (void)state;
    helio_journal_t *journal = open_at(WALL, HELIO_JOURNAL_NEW);
    fill(journal, 1);
    static const char *const names[] = {"journal.db", "journal.db-wal"};
    for (size_t i = 0; i < 2; i++) {
        struct stat status;
        assert_int_equal(stat(file_in(names[i]), &status), 0);
        assert_int_equal(status.st_mode & 0777, 0600);
    }
    helio_journal_close(&journal);
}

static void journal__in_a_missing_directory_is_an_error(void **state)
{
    (void)state;
    helio_journal_t *journal = NULL;
    helio_journal_state_t found;
    helio_error_t err = {0};
    assert_int_not_equal(helio_journal_open("/nonexistent/helio", WALL, &journal, &found, &err), HELIO_OK);
    assert_non_null(strstr(err.text, "/nonexistent/helio"));
}

static void copy_in(const char *from, const char *name)
{
    char bytes[4096];
    size_t size;
    FILE *in = fopen(from, "re"), *out = fopen(file_in(name), "we");
    assert_non_null(in);
    assert_non_null(out);
    while ((size = fread(bytes, 1, sizeof bytes, in)) > 0)
        assert_int_equal(fwrite(bytes, 1, size, out), size);
    (void)fclose(in);
    assert_int_equal(fclose(out), 0);
}

typedef struct older {
    helio_report_t reports[2];
    helio_arena_t *arena;
    uint32_t count;
} older_t;

static void keep_report(void *arg, uint32_t event, const void *payload)
{
    older_t *self = arg;
    if (event != HELIO_AGENT_EV_LOAD_REPORT)
        return;
    assert_true(self->count < 2);
    helio_record_copy(&helio_report_type, self->arena, payload, &self->reports[self->count++]);
}

/*  The file was written by a build of version 2, whose reports had no saved_run_ms, and whose attempts no evidence: an agent that was updated reads
 *  its own. */
static void journal__of_an_older_agent_is_read(void **state)
{
    (void)state;
    copy_in(HELIO_SOURCE_DIR "/tests/golden/journal/version-2.db", "journal.db");
    helio_journal_t *journal = open_at(WALL, HELIO_JOURNAL_INTACT);
    loaded_t loaded = load(journal);
    assert_int_equal(loaded.attempts, 1);
    assert_int_equal(loaded.reports, 2);
    assert_int_equal(loaded.seen, 1);
    assert_int_equal(loaded.meta.report_seq, 12);
    assert_int_equal(loaded.meta.lease_ms, 900000);
    assert_int_equal(loaded.attempt.order.epoch, 7);
    assert_int_equal(loaded.attempt.slots.items[0].gpus.items[1], 3);
    assert_true(helio_text_is(loaded.attempt.order.source, "name: hello\nrun: sleep 600\n"));
    const helio_evidence_t none = {0}; /* version 9 */
    assert_true(helio_record_equal(&helio_evidence_type, &loaded.attempt.evidence, &none));
    older_t older = {.arena = loaded.arena};
    assert_int_equal(helio_journal_load(journal, keep_report, &older, NULL), HELIO_OK);
    assert_int_equal(older.reports[0].kind, HELIO_REPORT_KIND_RUNNING);
    assert_int_equal(older.reports[1].kind, HELIO_REPORT_KIND_ENDED);
    assert_int_equal(older.reports[1].exit_code, 3);
    assert_int_equal(older.reports[1].units_done, 17);
    assert_true(helio_text_is(older.reports[1].local_id, "4712"));
    assert_int_equal(older.reports[1].saved_run_ms, 0);
    helio_arena_destroy(&loaded.arena);
    /* What it writes from now on stands beside the older rows. */
    put_report(journal, 13);
    commit(journal);
    helio_journal_close(&journal);
    journal = open_at(WALL, HELIO_JOURNAL_INTACT);
    loaded = load(journal);
    assert_int_equal(loaded.reports, 3);
    helio_arena_destroy(&loaded.arena);
    helio_journal_close(&journal);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(journal__truncated_at_any_length_is_detected_and_moved_away),
        TEST(journal__with_a_flipped_byte_is_detected_or_reads_as_before),
        TEST(journal__that_is_another_file_is_moved_away),
        TEST(journal__can_be_read_by_its_owner_only),
        TEST(journal__in_a_missing_directory_is_an_error),
        TEST(journal__of_an_older_agent_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
