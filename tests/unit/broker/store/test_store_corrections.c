/*  test_store_corrections.c -- the store's part in replacing an estimate: which rows of an attempt that was given up it takes, and what
 *  a new leader is told of it. */
#include "tests/unit/broker/store/store_testing.h"

enum { ESTIMATED_MS = 60000, MEASURED_MS = 90000, HOUR_MS = 3600000 };

/*  The estimate began at start_ms; by the site's own clock it was an hour later. */
static int64_t start_ms, later_ms;

static void append_placement(helio_store_t *store)
{
    const helio_row_job_t job = job_row(1);
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    helio_row_placement_t placement = {.key = {job_id(1), HELIO_NO_TASK},
                                       .epoch = 1,
                                       .site = HELIO_TEXT("lulea"),
                                       .pool = HELIO_TEXT("h100"),
                                       .nodes = 2,
                                       .gpus = 8,
                                       .planned_cost_micro_usd = 5000000,
                                       .transfer_micro_usd = 1000000,
                                       .at_ms = 1,
                                       .gpu_model = HELIO_TEXT("H100")};
    append(store, HELIO_BROKER_FX_ROW_PLACEMENT, &placement);
}

static helio_row_ledger_t row_of(uint32_t part, int64_t at_ms, uint64_t run_ms)
{
    return (helio_row_ledger_t){.key = {job_id(1), HELIO_NO_TASK},
                                .epoch = 1,
                                .tenant = HELIO_TEXT("acme"),
                                .site = HELIO_TEXT("lulea"),
                                .pool = HELIO_TEXT("h100"),
                                .gpu_model = HELIO_TEXT("H100"),
                                .queue = HELIO_TEXT("standard"),
                                .hour_ms = at_ms - at_ms % HOUR_MS,
                                .gpu_ms = run_ms,
                                .energy_j = run_ms / 10,
                                .carbon_mg = run_ms / 20,
                                .cost_micro_usd = (int64_t)run_ms / 30,
                                .provenance = HELIO_TEXT("model"),
                                .fenced = true,
                                .hourly_price_id = 7,
                                .estimated = part == HELIO_LEDGER_ESTIMATE || part == HELIO_LEDGER_REVERSAL,
                                .part = part};
}

static void append_row(helio_store_t *store, uint32_t part, int64_t at_ms, uint64_t run_ms)
{
    helio_row_ledger_t row = row_of(part, at_ms, run_ms);
    append(store, HELIO_BROKER_FX_ROW_LEDGER, &row);
}

/*  An end of the attempt, and what it used. */
static void append_end(helio_store_t *store, uint32_t basis, int64_t started_ms, uint64_t run_ms)
{
    static const uint32_t parts[] = {HELIO_LEDGER_USE, HELIO_LEDGER_ESTIMATE, HELIO_LEDGER_MEASURED};
    bool given_up = basis == HELIO_ATTEMPT_GIVEN_UP;
    helio_row_attempt_t attempt = {.key = {job_id(1), HELIO_NO_TASK},
                                   .epoch = 1,
                                   .site = HELIO_TEXT("lulea"),
                                   .kind = given_up ? HELIO_REPORT_KIND_LOST : HELIO_REPORT_KIND_STOPPED,
                                   .fenced = true,
                                   .started_ms = started_ms,
                                   .run_ms = run_ms,
                                   .gpu_ms = run_ms,
                                   .at_ms = started_ms,
                                   .basis = basis};
    append(store, HELIO_BROKER_FX_ROW_ATTEMPT, &attempt);
    append_row(store, parts[basis], started_ms, run_ms);
}

static void append_correction(helio_store_t *store)
{
    append_end(store, HELIO_ATTEMPT_CORRECTED, later_ms, MEASURED_MS);
    append_row(store, HELIO_LEDGER_REVERSAL, start_ms, ESTIMATED_MS);
}

static void expect(const char *conninfo, const char *use, const char *days, const char *attempt)
{
    assert_value(conninfo,
                 "select row(sum(gpu_ms), sum(energy_j), sum(carbon_mg), sum(cost_micro_usd)) from helio.ledger", use);
    assert_value(conninfo, "select row(sum(gpu_ms), sum(carbon_mg), sum(cost_micro_usd)) from helio.ledger_days", days);
    assert_value(conninfo, "select row(basis, kind, run_ms) from helio.attempts", attempt);
}

static void expect_estimate(const char *conninfo)
{
    expect(conninfo, "(60000,6000,3000,2000)", "(60000,3000,2000)", "(1,7,60000)");
}

static void expect_measured(const char *conninfo)
{
    expect(conninfo, "(90000,9000,4500,3000)", "(90000,4500,3000)", "(2,6,90000)");
}

static void corrections__replace_an_estimate_once(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    append_placement(store);
    append_end(store, HELIO_ATTEMPT_GIVEN_UP, start_ms, ESTIMATED_MS);
    append_end(store, HELIO_ATTEMPT_GIVEN_UP, start_ms, ESTIMATED_MS);
    commit(store);
    expect_estimate(conninfo);
    append_correction(store);
    commit(store);
    expect_measured(conninfo);
    append_correction(store);
    commit(store);
    expect_measured(conninfo);
    helio_store_destroy(&store);
}

/*  Reports that are repeated, or that nobody connects with the estimate, in any hour. */
static void corrections__are_all_that_changes_an_attempt_that_was_given_up(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    append_placement(store);
    append_end(store, HELIO_ATTEMPT_GIVEN_UP, start_ms, ESTIMATED_MS);
    commit(store);
    for (int corrected = 0; corrected < 2; corrected++) {
        append_end(store, HELIO_ATTEMPT_REPORTED, start_ms, MEASURED_MS);
        append_end(store, HELIO_ATTEMPT_REPORTED, later_ms, MEASURED_MS);
        commit(store);
        if (corrected) {
            expect_measured(conninfo);
            append_end(store, HELIO_ATTEMPT_GIVEN_UP, start_ms, ESTIMATED_MS);
            commit(store);
            expect_measured(conninfo);
        } else {
            expect_estimate(conninfo);
            append_row(store, HELIO_LEDGER_REVERSAL, start_ms, ESTIMATED_MS); /* without the report */
            append_row(store, HELIO_LEDGER_MEASURED, later_ms, MEASURED_MS);
            commit(store);
            expect_estimate(conninfo);
            append_correction(store);
            commit(store);
        }
    }
    helio_store_destroy(&store);
}

/*  A batch holds many steps: the estimate, its correction and the report once more. */
static void corrections__may_come_in_one_batch(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    append_placement(store);
    append_end(store, HELIO_ATTEMPT_GIVEN_UP, start_ms, ESTIMATED_MS);
    append_correction(store);
    append_end(store, HELIO_ATTEMPT_REPORTED, later_ms, MEASURED_MS + 1000);
    commit(store);
    expect_measured(conninfo);
    helio_store_destroy(&store);
}

/*  What was reported in time is not an estimate, and nothing replaces it. */
static void corrections__are_of_nothing_that_was_reported(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    append_placement(store);
    append_end(store, HELIO_ATTEMPT_REPORTED, start_ms, ESTIMATED_MS);
    commit(store);
    append_end(store, HELIO_ATTEMPT_GIVEN_UP, later_ms, ESTIMATED_MS);
    commit(store);
    append_correction(store);
    commit(store);
    expect(conninfo, "(60000,6000,3000,2000)", "(60000,3000,2000)", "(0,6,60000)");
    helio_store_destroy(&store);
}

static helio_row_given_up_t given_up_of(uint32_t epoch, int64_t placed_ms)
{
    return (helio_row_given_up_t){.key = {job_id(1), HELIO_NO_TASK},
                                  .epoch = epoch,
                                  .site = HELIO_TEXT("lulea"),
                                  .nodes = 2,
                                  .gpus = 8,
                                  .time_limit_ms = 86400000,
                                  .placed_ms = placed_ms,
                                  .tenant = HELIO_TEXT("acme"),
                                  .queue = HELIO_TEXT("standard"),
                                  .pool = HELIO_TEXT("h100"),
                                  .gpu_model = HELIO_TEXT("H100"),
                                  .planned_micro_usd = 4000000,
                                  .expected_ms = 86400000}; /* the time limit, where the placement has none */
}

static void expect_loaded(helio_store_t *store, bool loaded)
{
    loaded_t all = load(store);
    const helio_row_ledger_t expected = row_of(HELIO_LEDGER_ESTIMATE, start_ms, ESTIMATED_MS);
    const helio_row_ledger_t *row = nth(&all, HELIO_BROKER_EV_LOAD_ESTIMATE, 0);
    assert_true(loaded == (row && helio_record_equal(&helio_row_ledger_type, row, &expected)));
    assert_null(nth(&all, HELIO_BROKER_EV_LOAD_ESTIMATE, 1));
    const helio_row_given_up_t limits = given_up_of(1, 1);
    const helio_row_given_up_t *given_up = nth(&all, HELIO_BROKER_EV_LOAD_GIVEN_UP, 0);
    assert_true(loaded == (given_up && helio_record_equal(&helio_row_given_up_type, given_up, &limits)));
    assert_null(nth(&all, HELIO_BROKER_EV_LOAD_GIVEN_UP, 1));
    helio_arena_destroy(&all.arena);
}

/*  The one that stands, whether its job is open or not, until it is corrected or no site can know it any more. */
static void estimates__are_loaded_by_the_next_leader(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    append_placement(store);
    append_end(store, HELIO_ATTEMPT_GIVEN_UP, start_ms, ESTIMATED_MS);
    commit(store);
    expect_loaded(store, true);
    append_correction(store);
    commit(store);
    expect_loaded(store, false);
    helio_store_destroy(&store);
    conninfo = helio_pg_database(*state);
    store = opened(conninfo);
    append_placement(store);
    append_end(store, HELIO_ATTEMPT_GIVEN_UP, start_ms - INT64_C(36) * 86400000, ESTIMATED_MS);
    commit(store);
    expect_loaded(store, false);
    helio_store_destroy(&store);
}

static void append_placed(helio_store_t *store, uint32_t job, uint32_t epoch)
{
    helio_row_placement_t placement = {.key = {job_id(job), HELIO_NO_TASK},
                                       .epoch = epoch,
                                       .site = HELIO_TEXT("lulea"),
                                       .pool = HELIO_TEXT("h100"),
                                       .nodes = 2,
                                       .gpus = 8,
                                       .planned_cost_micro_usd = 5000000,
                                       .transfer_micro_usd = 1000000,
                                       .expected_ms = 86400000,
                                       .at_ms = start_ms + epoch,
                                       .gpu_model = HELIO_TEXT("H100")};
    append(store, HELIO_BROKER_FX_ROW_PLACEMENT, &placement);
}

/*  Attempts whose end no site reported and that no site holds any more: those of open jobs alone. */
static void attempts__without_an_end_are_loaded_of_open_jobs(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened(conninfo);
    for (uint32_t job = 1; job <= 2; job++) {
        const helio_row_job_t row = job_row(job);
        append(store, HELIO_BROKER_FX_ROW_JOB, &row);
        for (uint32_t epoch = 1; epoch <= 3; epoch++)
            append_placed(store, job, epoch);
    }
    helio_row_attempt_t told = {.key = {job_id(1), HELIO_NO_TASK},
                                .epoch = 2,
                                .site = HELIO_TEXT("lulea"),
                                .kind = HELIO_REPORT_KIND_STOPPED,
                                .fenced = true,
                                .started_ms = start_ms,
                                .run_ms = 1000,
                                .at_ms = start_ms};
    append(store, HELIO_BROKER_FX_ROW_ATTEMPT, &told);
    static const uint32_t states[] = {HELIO_JOB_RUNNING, HELIO_JOB_QUEUED};
    helio_row_state_t over = state_row(2, HELIO_NO_TASK, HELIO_JOB_SUCCEEDED);
    append(store, HELIO_BROKER_FX_ROW_STATE, &over);
    for (uint32_t i = 0; i < 2; i++) { /* the third is there, and then it has left */
        helio_row_state_t row = state_row(1, HELIO_NO_TASK, states[i]);
        append(store, HELIO_BROKER_FX_ROW_STATE, &row);
        commit(store);
        loaded_t all = load(store);
        const helio_row_given_up_t expected[] = {given_up_of(1, start_ms + 1), given_up_of(3, start_ms + 3)};
        for (uint32_t n = 0; n <= i; n++)
            assert_true(helio_record_equal(&helio_row_given_up_type, the(&all, HELIO_BROKER_EV_LOAD_GIVEN_UP, n),
                                           &expected[n]));
        assert_null(nth(&all, HELIO_BROKER_EV_LOAD_GIVEN_UP, i + 1));
        helio_arena_destroy(&all.arena);
    }
    helio_store_destroy(&store);
}

int main(void)
{
    start_ms = helio_clock_wall_ms() / HOUR_MS * HOUR_MS - 2 * HOUR_MS + 600000;
    later_ms = start_ms + HOUR_MS;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(corrections__replace_an_estimate_once),
        cmocka_unit_test(corrections__are_all_that_changes_an_attempt_that_was_given_up),
        cmocka_unit_test(corrections__may_come_in_one_batch),
        cmocka_unit_test(corrections__are_of_nothing_that_was_reported),
        cmocka_unit_test(estimates__are_loaded_by_the_next_leader),
        cmocka_unit_test(attempts__without_an_end_are_loaded_of_open_jobs),
    };
    return cmocka_run_group_tests(tests, up, down);
}
