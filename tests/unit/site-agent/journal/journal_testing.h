/*  journal_testing.h -- a journal in a folder of its own. Tests kill its process, tear its files and flip bytes:
 *  afterwards the journal is intact, or it reports the damage. */
#ifndef HELIO_TESTS_SITE_AGENT_JOURNAL_JOURNAL_TESTING_H
#define HELIO_TESTS_SITE_AGENT_JOURNAL_JOURNAL_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "site-agent/journal/journal.h"
#include "tests/support/folder.h"

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

static inline int begin(void **state)
{
    (void)state;
    return folder_make(directory, sizeof directory, "helio-journal") ? 0 : -1;
}

static inline int end(void **state)
{
    (void)state;
    return folder_remove(directory);
}

static const char *file_in(const char *name)
{
    static char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static inline char *read_all(const char *path, size_t *ret_size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    static char bytes[1 << 20];
    *ret_size = fread(bytes, 1, sizeof bytes, file);
    assert_int_equal(fclose(file), 0);
    return bytes;
}

static inline void write_all(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static inline helio_journal_t *open_at(int64_t wall_ms, helio_journal_state_t expected)
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

static inline void on_event(void *arg, uint32_t event, const void *payload)
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
        loaded->digest = helio_hash(loaded->digest, report->explanation.data, report->explanation.size);
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

static inline loaded_t load(helio_journal_t *journal)
{
    loaded_t loaded = {.arena = helio_arena_new(), .digest = HELIO_HASH_SEED};
    helio_error_t err = {0};
    if (helio_journal_load(journal, on_event, &loaded, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    return loaded;
}

static inline void put(helio_journal_t *journal, uint32_t kind, const void *record)
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

static inline void commit(helio_journal_t *journal)
{
    helio_error_t err = {0};
    if (helio_journal_commit(journal, &err) != HELIO_OK)
        fail_msg("%s", err.text);
}

static inline helio_job_key_t key_of(uint8_t number, int32_t task)
{
    helio_job_key_t key = {.task = task};
    key.job.bytes[15] = number;
    return key;
}

static uint32_t gpus[] = {0, 3, 7};
static helio_slot_t slots[] = {{2, {gpus, 3}}, {9, {gpus, 1}}};

static inline helio_jrow_attempt_t attempt_of(uint8_t number, uint32_t epoch, uint32_t state)
{
    helio_jrow_attempt_t row = {.incarnation = 4,
                                .state = state,
                                .stop_mode = HELIO_STOP_MODE_KILL,
                                .fenced = true,
                                .started_wall_ms = WALL,
                                .stop_reason = HELIO_TEXT("Cancelled"),
                                .evidence = {WALL - 9, 8, WALL - 7, 6, UINT64_MAX, INT64_MAX}};
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

static inline void put_report(helio_journal_t *journal, uint64_t seq)
{
    helio_report_t report = {.seq = seq,
                             .key = key_of(1, 3),
                             .epoch = 2,
                             .kind = HELIO_REPORT_KIND_ENDED,
                             .exit_code = -7,
                             .run_ms = UINT64_MAX,
                             .explanation = HELIO_TEXT("node7")};
    put(journal, HELIO_AGENT_FX_ROW_REPORT, &report);
}

static inline void fill(helio_journal_t *journal, uint32_t count)
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

#endif
