/*  The journal against crashes, torn files and flipped bytes: it is intact, or it says that it is not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "site-agent/journal/journal.h"

#define WALL INT64_C(1795000000000)

typedef struct loaded {
    uint32_t kinds[16];
    uint32_t count;
    helio_jrow_meta_t meta;
    uint64_t last_seq;
    helio_arena_t *arena;
    helio_jrow_attempt_t attempt; /* the last one */
    uint32_t attempts, reports, seen;
    uint64_t digest; /* of everything, by value */
} loaded_t;

static char directory[64];

static int begin(void **state)
{
    (void)state;
    (void)snprintf(directory, sizeof directory, "/tmp/helio-journal-XXXXXX");
    return mkdtemp(directory) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

static int end(void **state)
{
    (void)state;
    return nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const char *file_in(const char *name)
{
    static char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static helio_journal_t *open_at(int64_t wall_ms, helio_journal_state_t expected)
{
    helio_journal_t *journal = NULL;
    helio_journal_state_t state;
    helio_error_t err = {0};
    if (helio_journal_open(directory, wall_ms, &journal, &state, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    if (state != expected)
        fail_msg("state %d, not %d: %s", (int)state, (int)expected, err.text);
    return journal;
}

static void on_event(void *arg, uint32_t event, const void *payload)
{
    loaded_t *loaded = arg;
    loaded->kinds[loaded->count++ % 16] = event;
    if (event == HELIO_AGENT_EV_LOAD_META) {
        loaded->meta = *(const helio_jrow_meta_t *)payload;
        loaded->digest = helio_hash(loaded->digest, &loaded->meta, sizeof loaded->meta);
    } else if (event == HELIO_AGENT_EV_LOAD_REPORT) {
        const helio_report_t *report = payload;
        assert_true(report->seq > loaded->last_seq);
        loaded->last_seq = report->seq;
        loaded->reports++;
        loaded->digest = helio_hash(loaded->digest, &report->seq, sizeof report->seq);
        loaded->digest = helio_hash(loaded->digest, &report->exit_code, sizeof report->exit_code);
        loaded->digest = helio_hash(loaded->digest, report->reason.data, report->reason.size);
    } else if (event == HELIO_AGENT_EV_LOAD_ATTEMPT) {
        helio_record_copy(&helio_jrow_attempt_type, loaded->arena, payload, &loaded->attempt);
        loaded->attempts++;
        loaded->digest = helio_hash(loaded->digest, &loaded->attempt.state, sizeof(uint32_t));
        loaded->digest =
            helio_hash(loaded->digest, loaded->attempt.order.source.data, loaded->attempt.order.source.size);
    } else {
        const helio_jrow_seen_t *seen = payload;
        loaded->seen++;
        loaded->digest = helio_hash(loaded->digest, &seen->epoch, sizeof seen->epoch);
    }
}

static loaded_t load(helio_journal_t *journal)
{
    loaded_t loaded = {.arena = helio_arena_new(), .digest = HELIO_HASH_SEED};
    helio_error_t err = {0};
    if (helio_journal_load(journal, on_event, &loaded, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    return loaded;
}

static void put(helio_journal_t *journal, uint32_t kind, const void *record)
{
    helio_error_t err = {0};
    union {
        const void *from;
        void *to;
    } cast = {record};
    helio_effect_t effect = {.kind = kind, .release = HELIO_RELEASE_ROW, .batch = 1, .payload = cast.to};
    if (helio_journal_put(journal, &effect, &err) != HELIO_OK)
        fail_msg("%s", err.text);
}

static void commit(helio_journal_t *journal)
{
    helio_error_t err = {0};
    if (helio_journal_commit(journal, &err) != HELIO_OK)
        fail_msg("%s", err.text);
}

static helio_job_key_t key_of(uint8_t number, int32_t task)
{
    helio_job_key_t key = {.task = task};
    key.job.bytes[15] = number;
    return key;
}

static uint32_t gpus[] = {0, 3, 7};
static helio_slot_t slots[] = {{2, {gpus, 3}}, {9, {gpus, 1}}};

static helio_jrow_attempt_t attempt_of(uint8_t number, uint32_t epoch, uint32_t state)
{
    helio_jrow_attempt_t row = {.incarnation = 4,
                                .state = state,
                                .stop_mode = HELIO_STOP_MODE_KILL,
                                .fenced = true,
                                .started_wall_ms = WALL,
                                .stop_reason = HELIO_TEXT("Cancelled")};
    row.order = (helio_order_t){.dispatch_seq = 9,
                                .key = key_of(number, 3),
                                .epoch = epoch,
                                .tenant = HELIO_TEXT("nlp"),
                                .user = HELIO_TEXT("ada"),
                                .pool = HELIO_TEXT("gpu"),
                                .nodes = 2,
                                .gpus_per_node = 3,
                                .time_limit_ms = 60000,
                                .on_site_loss = HELIO_SITE_LOSS_LEASE,
                                .resume = true,
                                .source = HELIO_TEXT("run: \xc3\xa9\0train")};
    row.slots.items = slots;
    row.slots.count = 2;
    return row;
}

static void put_report(helio_journal_t *journal, uint64_t seq)
{
    helio_report_t report = {.seq = seq,
                             .key = key_of(1, 3),
                             .epoch = 2,
                             .kind = HELIO_REPORT_KIND_ENDED,
                             .exit_code = -7,
                             .run_ms = UINT64_MAX,
                             .reason = HELIO_TEXT("Vanished: node7")};
    put(journal, HELIO_AGENT_FX_ROW_REPORT, &report);
}

static void fill(helio_journal_t *journal, uint32_t count)
{
    helio_jrow_meta_t meta = {.incarnation = 4, .broker_epoch = 11, .report_seq = count, .lease_boot_ms = 5};
    put(journal, HELIO_AGENT_FX_ROW_META, &meta);
    for (uint32_t i = 1; i <= count; i++) {
        helio_jrow_attempt_t attempt = attempt_of((uint8_t)i, i, HELIO_JOB_RUNNING);
        put(journal, HELIO_AGENT_FX_ROW_ATTEMPT, &attempt);
        helio_jrow_seen_t seen = {key_of((uint8_t)i, 3), i, WALL};
        put(journal, HELIO_AGENT_FX_ROW_SEEN, &seen);
        put_report(journal, i);
    }
    commit(journal);
}

static void journal__gives_back_every_field_in_the_order_of_loading(void **state)
{
    (void)state;
    helio_journal_t *journal = open_at(WALL, HELIO_JOURNAL_NEW);
    fill(journal, 1);
    helio_journal_close(&journal);
    journal = open_at(WALL, HELIO_JOURNAL_INTACT);
    loaded_t loaded = load(journal);
    static const uint32_t order[] = {HELIO_AGENT_EV_LOAD_META, HELIO_AGENT_EV_LOAD_SEEN,
                                     HELIO_AGENT_EV_LOAD_ATTEMPT, HELIO_AGENT_EV_LOAD_REPORT};
    assert_int_equal(loaded.count, 4);
    assert_memory_equal(loaded.kinds, order, sizeof order);
    helio_jrow_attempt_t expected = attempt_of(1, 1, HELIO_JOB_RUNNING);
    assert_true(helio_record_equal(&helio_jrow_attempt_type, &loaded.attempt, &expected));
    assert_int_equal(loaded.meta.broker_epoch, 11);
    assert_int_equal(loaded.meta.lease_boot_ms, 5);
    helio_arena_destroy(&loaded.arena);
    helio_journal_close(&journal);
}

static void journal__replaces_by_identity_and_deletes_what_is_over(void **state)
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

static void journal__forgets_what_was_seen_more_than_thirty_days_ago(void **state)
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
        if (helio_journal_commit(journal, NULL) != HELIO_OK ||
            write(fd, &batch, sizeof batch) != sizeof batch)
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

static char *read_all(const char *path, size_t *ret_size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    static char bytes[1 << 20];
    *ret_size = fread(bytes, 1, sizeof bytes, file);
    assert_int_equal(fclose(file), 0);
    return bytes;
}

static void write_all(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static bool moved_aside(void)
{
    return access(file_in("journal.damaged-1795000000000"), F_OK) == 0;
}

/*  Opens whatever lies there: the digest must be the right one, or the damage must have been noticed. */
static helio_journal_state_t open_suspect(uint64_t digest)
{
    helio_journal_t *journal = NULL;
    helio_journal_state_t found = HELIO_JOURNAL_NEW;
    helio_error_t err = {0};
    helio_rc rc = helio_journal_open(directory, WALL, &journal, &found, &err);
    if (rc !=
        HELIO_OK) { /* a format number that reads as a newer one, say: refused, and nothing is touched */
        if (rc != HELIO_VERSION)
            fail_msg("%s", err.text);
        return HELIO_JOURNAL_DAMAGED;
    }
    loaded_t loaded = load(journal);
    if (found == HELIO_JOURNAL_INTACT) {
        if (loaded.digest != digest)
            fail_msg("read as intact, but other: %u attempts, %u seen, %u reports", loaded.attempts,
                     loaded.seen, loaded.reports);
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

static void journal__torn_at_any_length_is_noticed_and_moved_aside(void **state)
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

static void journal__with_a_flipped_byte_is_noticed_or_reads_as_before(void **state)
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

static void journal__that_is_something_else_is_moved_aside(void **state)
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

static void journal__in_a_directory_that_is_missing_says_so(void **state)
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

/*  The file was written by a build of version 2, whose reports had no saved_run_ms: an agent that was updated reads
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
        TEST(journal__gives_back_every_field_in_the_order_of_loading),
        TEST(journal__replaces_by_identity_and_deletes_what_is_over),
        TEST(journal__deletes_reports_up_to_the_acknowledged_one_only),
        TEST(journal__forgets_what_was_seen_more_than_thirty_days_ago),
        TEST(journal__is_locked_against_a_second_opener),
        TEST(journal__drops_a_batch_that_was_not_committed),
        TEST(journal__keeps_every_committed_batch_whole_when_killed_in_between),
        TEST(journal__torn_at_any_length_is_noticed_and_moved_aside),
        TEST(journal__with_a_flipped_byte_is_noticed_or_reads_as_before),
        TEST(journal__that_is_something_else_is_moved_aside),
        TEST(journal__can_be_read_by_its_owner_only),
        TEST(journal__in_a_directory_that_is_missing_says_so),
        TEST(journal__of_an_older_agent_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
