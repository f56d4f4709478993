/*  test_journal_model.c -- the journal beside a table that a test keeps by itself, and rows at the bounds of
 * their fields. */
#include "federation/base/rng.h"
#include "tests/unit/site-agent/journal/journal_testing.h"

enum { JOBS = 6, EPOCHS = 3, SEQS = 40, STEPS = 1500, SEEDS = 6 };

typedef struct memory {
    bool has_meta;
    uint64_t lease_ms;
    uint32_t attempts[JOBS][EPOCHS]; /* state; 0 = none */
    uint32_t seen[JOBS];             /* epoch; 0 = none */
    int32_t reports[SEQS];           /* exit code + 1; 0 = none */
} memory_t;

typedef struct model {
    helio_rng_t rng;
    memory_t now, committed;
    helio_journal_t *journal;
} model_t;

static uint32_t pick(model_t *model, uint32_t bound)
{
    return (uint32_t)helio_rng_below(&model->rng, bound);
}

static void put_attempt(model_t *model)
{
    static const uint32_t states[] = {HELIO_JOB_QUEUED,  HELIO_JOB_ACCEPTED,  HELIO_JOB_STARTING,
                                      HELIO_JOB_RUNNING, HELIO_JOB_SUSPENDED, HELIO_JOB_STOPPING};
    uint32_t job = pick(model, JOBS), epoch = pick(model, EPOCHS), state = states[pick(model, 6)];
    helio_jrow_attempt_t row = attempt_of((uint8_t)job, epoch + 1, state);
    put(model->journal, HELIO_AGENT_FX_ROW_ATTEMPT, &row);
    model->now.attempts[job][epoch] = state == HELIO_JOB_QUEUED ? 0 : state;
}

static void put_row(model_t *model)
{
    uint32_t which = pick(model, 10);
    if (which < 4) {
        put_attempt(model);
    } else if (which < 6) {
        uint32_t job = pick(model, JOBS), epoch = 1 + pick(model, 9);
        helio_jrow_seen_t row = {key_of((uint8_t)job, 3), epoch, WALL};
        put(model->journal, HELIO_AGENT_FX_ROW_SEEN, &row);
        model->now.seen[job] = epoch;
    } else if (which < 8) {
        uint32_t seq = pick(model, SEQS), code = pick(model, 200);
        helio_report_t row = {.seq = seq, .key = key_of(1, 3), .epoch = 2, .exit_code = (int32_t)code};
        put(model->journal, HELIO_AGENT_FX_ROW_REPORT, &row);
        model->now.reports[seq] = (int32_t)code + 1;
    } else if (which < 9) {
        helio_jrow_acked_t row = {pick(model, SEQS)};
        put(model->journal, HELIO_AGENT_FX_ROW_ACKED, &row);
        memset(model->now.reports, 0, (row.seq + 1) * sizeof model->now.reports[0]);
    } else {
        helio_jrow_meta_t row = {.lease_ms = pick(model, 1000)};
        put(model->journal, HELIO_AGENT_FX_ROW_META, &row);
        model->now.has_meta = true;
        model->now.lease_ms = row.lease_ms;
    }
}

static void remember(void *arg, uint32_t event, const void *payload)
{
    memory_t *memory = arg;
    if (event == HELIO_AGENT_EV_LOAD_META) {
        memory->has_meta = true;
        memory->lease_ms = ((const helio_jrow_meta_t *)payload)->lease_ms;
    } else if (event == HELIO_AGENT_EV_LOAD_SEEN) {
        const helio_jrow_seen_t *row = payload;
        memory->seen[row->key.job.bytes[15]] = row->epoch;
    } else if (event == HELIO_AGENT_EV_LOAD_ATTEMPT) {
        const helio_jrow_attempt_t *row = payload;
        memory->attempts[row->order.key.job.bytes[15]][row->order.epoch - 1] = row->state;
    } else {
        const helio_report_t *row = payload;
        memory->reports[row->seq] = row->exit_code + 1;
    }
}

static void compare(const model_t *model, const memory_t *expected, uint64_t seed, uint32_t at)
{
    memory_t found;
    memset(&found, 0, sizeof found); /* padding too: it is compared */
    assert_int_equal(helio_journal_load(model->journal, remember, &found, NULL), HELIO_OK);
    if (memcmp(&found, expected, sizeof found) != 0)
        fail_msg("seed %llu, step %u: what the journal tells is not what was put", (unsigned long long)seed, at);
}

static void journal__tells_what_was_put_and_after_a_death_what_was_committed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        model_t model;
        memset(&model, 0, sizeof model);
        model.rng.state = seed;
        model.journal = open_at(WALL, HELIO_JOURNAL_NEW);
        for (uint32_t i = 0; i < STEPS; i++) {
            uint32_t what = pick(&model, 60);
            if (what == 0) { /* the agent dies: closing drops the open batch */
                helio_journal_close(&model.journal);
                model.journal = open_at(WALL, HELIO_JOURNAL_INTACT);
                model.now = model.committed;
                compare(&model, &model.committed, seed, i);
            } else if (what < 10) {
                commit(model.journal);
                model.committed = model.now;
            } else if (what < 12) {
                compare(&model, &model.now, seed, i);
            } else {
                put_row(&model);
            }
        }
        helio_journal_close(&model.journal);
        assert_int_equal(unlink(file_in("journal.db")), 0);
    }
}

/* ---- bounds -------------------------------------------------------------------------------------------- */

static void reopen_and_expect(const helio_jrow_attempt_t *expected)
{
    helio_journal_t *journal = open_at(WALL, HELIO_JOURNAL_INTACT);
    loaded_t loaded = load(journal);
    assert_int_equal(loaded.attempts, 1);
    assert_true(helio_record_equal(&helio_jrow_attempt_type, &loaded.attempt, expected));
    helio_arena_destroy(&loaded.arena);
    helio_journal_close(&journal);
}

/*  The largest gang with the largest document that a job may have: accepted, written, and read by the next
 * agent. */
static void journal__gives_back_the_largest_attempt_that_an_agent_can_hold(void **state)
{
    (void)state;
    helio_arena_t *arena = helio_arena_new();
    helio_jrow_attempt_t row = attempt_of(1, UINT32_MAX, HELIO_JOB_RUNNING);
    char *source = helio_arena_alloc(arena, 1, HELIO_JOB_SOURCE_MAX);
    for (size_t i = 0; i < HELIO_JOB_SOURCE_MAX; i++)
        source[i] = (char)i;
    row.order.source = (helio_text_t){source, HELIO_JOB_SOURCE_MAX};
    row.order.nodes = HELIO_JOB_NODES_MAX;
    row.order.gpus_per_node = HELIO_JOB_GPUS_PER_NODE_MAX;
    uint32_t all[HELIO_JOB_GPUS_PER_NODE_MAX];
    for (uint32_t i = 0; i < HELIO_JOB_GPUS_PER_NODE_MAX; i++)
        all[i] = i;
    row.slots.items = helio_arena_alloc(arena, HELIO_JOB_NODES_MAX, sizeof *row.slots.items);
    row.slots.count = HELIO_JOB_NODES_MAX;
    for (uint32_t i = 0; i < HELIO_JOB_NODES_MAX; i++)
        row.slots.items[i] = (helio_slot_t){i, {all, HELIO_JOB_GPUS_PER_NODE_MAX}};
    helio_journal_t *journal = open_at(WALL, HELIO_JOURNAL_NEW);
    put(journal, HELIO_AGENT_FX_ROW_ATTEMPT, &row);
    commit(journal);
    helio_journal_close(&journal);
    reopen_and_expect(&row);
    helio_arena_destroy(&arena);
}

static void journal__gives_back_numbers_at_their_bounds(void **state)
{
    (void)state;
    helio_jrow_attempt_t row = attempt_of(255, UINT32_MAX, HELIO_JOB_STOPPING);
    row.incarnation = UINT64_MAX;
    row.started_wall_ms = INT64_MIN;
    row.order.dispatch_seq = UINT64_MAX;
    row.order.key.task = INT32_MIN;
    row.order.time_limit_ms = UINT64_MAX;
    row.stop_reason = HELIO_TEXT("0123456789012345678901234567890123456789012345678901234567890123");
    row.stop_explanation = row.stop_reason;
    row.slots.count = 0;
    row.slots.items = NULL;
    row.order.source = (helio_text_t){0};
    helio_journal_t *journal = open_at(WALL, HELIO_JOURNAL_NEW);
    put(journal, HELIO_AGENT_FX_ROW_ATTEMPT, &row);
    commit(journal);
    helio_journal_close(&journal);
    reopen_and_expect(&row);
}

/*  Tasks of one array, and epochs of one job, are different attempts. */
static void journal__keeps_tasks_and_epochs_of_a_job_apart(void **state)
{
    (void)state;
    static const int32_t tasks[] = {HELIO_NO_TASK, 0, 1, 255, 256, INT32_MAX};
    helio_journal_t *journal = open_at(WALL, HELIO_JOURNAL_NEW);
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++)
        for (uint32_t epoch = 1; epoch <= 257; epoch += 256) {
            helio_jrow_attempt_t row = attempt_of(1, epoch, HELIO_JOB_RUNNING);
            row.order.key.task = tasks[i];
            put(journal, HELIO_AGENT_FX_ROW_ATTEMPT, &row);
        }
    commit(journal);
    loaded_t loaded = load(journal);
    assert_int_equal(loaded.attempts, 12);
    helio_arena_destroy(&loaded.arena);
    helio_jrow_attempt_t row = attempt_of(1, 257, HELIO_JOB_QUEUED);
    row.order.key.task = 255;
    put(journal, HELIO_AGENT_FX_ROW_ATTEMPT, &row);
    commit(journal);
    loaded = load(journal);
    assert_int_equal(loaded.attempts, 11);
    helio_arena_destroy(&loaded.arena);
    helio_journal_close(&journal);
}

/*  An effect that is no row is an error of the caller, and nothing of it is written. */
static void journal__refuses_effects_that_are_no_rows(void **state)
{
    (void)state;
    helio_journal_t *journal = open_at(WALL, HELIO_JOURNAL_NEW);
    helio_afx_renew_t renew = {1};
    for (uint32_t kind = 0; kind < HELIO_AGENT_EFFECT_COUNT; kind++) {
        if (helio_agent_effects[kind].release == HELIO_RELEASE_ROW)
            continue;
        helio_effect_t effect = {kind, helio_agent_effects[kind].release, 1, &renew};
        assert_int_equal(helio_journal_put(journal, &effect, NULL), HELIO_INVALID);
    }
    commit(journal);
    loaded_t loaded = load(journal);
    assert_int_equal(loaded.count, 0);
    helio_arena_destroy(&loaded.arena);
    helio_journal_close(&journal);
}

/*  A month to the millisecond, and a clock that was ahead when the job was seen. */
static void journal__forgets_what_was_seen_by_the_clock_of_its_opening(void **state)
{
    (void)state;
    const int64_t month_ms = INT64_C(30) * 24 * 3600 * 1000;
    helio_journal_t *journal = open_at(WALL, HELIO_JOURNAL_NEW);
    static const int64_t ages_ms[] = {0, 1, -1, -INT64_C(400) * 24 * 3600 * 1000};
    for (uint8_t i = 0; i < 4; i++) {
        helio_jrow_seen_t row = {key_of(i, 3), 1, WALL - ages_ms[i]};
        put(journal, HELIO_AGENT_FX_ROW_SEEN, &row);
    }
    commit(journal);
    helio_journal_close(&journal);
    static const struct {
        int64_t after_ms;
        uint32_t left;
    } rows[] = {{-1, 4}, {0, 3}, {1, 2}, {2, 1}, {INT64_C(399) * 24 * 3600 * 1000, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        journal = open_at(WALL + month_ms + rows[i].after_ms, HELIO_JOURNAL_INTACT);
        loaded_t loaded = load(journal);
        if (loaded.seen != rows[i].left)
            fail_msg("a month and %lld ms later: %u of %u", (long long)rows[i].after_ms, loaded.seen, rows[i].left);
        helio_arena_destroy(&loaded.arena);
        helio_journal_close(&journal);
    }
}

static void journal__counts_rows_and_batches(void **state)
{
    (void)state;
    helio_journal_t *journal = open_at(WALL, HELIO_JOURNAL_NEW);
    uint64_t rows, batches;
    commit(journal); /* empty: no batch */
    helio_journal_counts(journal, &rows, &batches);
    assert_true(rows == 0 && batches == 0);
    fill(journal, 2);
    fill(journal, 1);
    put_report(journal, 9);
    helio_journal_counts(journal, &rows, &batches);
    assert_int_equal(rows, 1 + 3 * 2 + 1 + 3 + 1);
    assert_int_equal(batches, 2);
    helio_journal_close(&journal);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(journal__tells_what_was_put_and_after_a_death_what_was_committed),
        TEST(journal__gives_back_the_largest_attempt_that_an_agent_can_hold),
        TEST(journal__gives_back_numbers_at_their_bounds),
        TEST(journal__keeps_tasks_and_epochs_of_a_job_apart),
        TEST(journal__refuses_effects_that_are_no_rows),
        TEST(journal__forgets_what_was_seen_by_the_clock_of_its_opening),
        TEST(journal__counts_rows_and_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
