/*  test_store_evidence.c -- what a site can book by reports of attempts that the core does not know any more: of what
 *  was placed there, no more than the placement and its job allow. */
#include "tests/unit/broker/store/store_testing.h"

enum { HOUR_MS = 3600000 };

static const int64_t PLACED_MS = INT64_C(1795000000) * 1000, DAY_MS = 86400000;

/*  The job asks first for 16 GPUs on two nodes, for some days at most. It was placed on eight GPUs at lulea. */
static helio_store_t *opened_with_placement(const char *conninfo, uint32_t days)
{
    helio_store_t *store = opened(conninfo);
    helio_row_job_t job = job_row(1);
    job.time_limit_ms = days * (uint64_t)DAY_MS;
    const helio_row_placement_t placement = {.key = {job_id(1), HELIO_NO_TASK},
                                             .epoch = 1,
                                             .site = HELIO_TEXT("lulea"),
                                             .pool = HELIO_TEXT("h100"),
                                             .nodes = 2,
                                             .gpus = 8,
                                             .at_ms = PLACED_MS};
    append(store, HELIO_BROKER_FX_ROW_JOB, &job);
    append(store, HELIO_BROKER_FX_ROW_PLACEMENT, &placement);
    commit(store);
    return store;
}

static helio_row_attempt_t attempt_of(int64_t started_ms, uint64_t run_ms, uint64_t gpu_ms, uint64_t energy_j)
{
    return (helio_row_attempt_t){.key = {job_id(1), HELIO_NO_TASK},
                                 .epoch = 1,
                                 .site = HELIO_TEXT("lulea"),
                                 .kind = HELIO_REPORT_KIND_ENDED,
                                 .fenced = true,
                                 .started_ms = started_ms,
                                 .run_ms = run_ms,
                                 .gpu_ms = gpu_ms,
                                 .energy_j = energy_j,
                                 .at_ms = PLACED_MS + 30 * DAY_MS};
}

/*  The report and its ledger, which the core spreads evenly over the hours of the run, the first 48 at most. */
static void append_evidence(helio_store_t *store, const helio_row_attempt_t *attempt)
{
    append(store, HELIO_BROKER_FX_ROW_ATTEMPT, attempt);
    const int64_t first_ms = attempt->started_ms - attempt->started_ms % HOUR_MS;
    const int64_t spread_ms = attempt->run_ms < 48 * (uint64_t)HOUR_MS ? (int64_t)attempt->run_ms : 48 * HOUR_MS;
    const uint64_t hours = (uint64_t)((attempt->started_ms + spread_ms - 1 - first_ms) / HOUR_MS + 1);
    for (uint64_t i = 0; i < hours; i++) {
        const helio_row_ledger_t row = {.key = attempt->key,
                                        .epoch = attempt->epoch,
                                        .site = attempt->site,
                                        .hour_ms = first_ms + (int64_t)i * HOUR_MS,
                                        .gpu_ms = attempt->gpu_ms / hours,
                                        .energy_j = attempt->energy_j / hours,
                                        .fenced = true};
        append(store, HELIO_BROKER_FX_ROW_LEDGER, &row);
    }
}

static void evidence__beyond_its_placement_is_left_out(void **state)
{
    enum { GPUS = 16, RUN_MS = HOUR_MS };
    const uint64_t most_j = (RUN_MS / 1000 + 1) * GPUS * UINT64_C(5000);
    const struct {
        int64_t started_ms;
        uint64_t run_ms, gpu_ms, energy_j;
        bool counts;
    } cases[] = {
        {PLACED_MS, RUN_MS, 8 * RUN_MS, 0, true},
        {PLACED_MS, RUN_MS, GPUS * (uint64_t)RUN_MS, most_j, true}, /* by an agent that does not know its GPUs */
        {PLACED_MS, RUN_MS, GPUS * (uint64_t)RUN_MS + 1, 0, false},
        {PLACED_MS, RUN_MS, INT64_MAX, 0, false},
        {PLACED_MS, RUN_MS, 8 * RUN_MS, most_j + 1, false},
        {PLACED_MS, RUN_MS, 8 * RUN_MS, INT64_MAX, false},
        {PLACED_MS, 2 * (uint64_t)DAY_MS, 16 * (uint64_t)DAY_MS, 0, true},
        {PLACED_MS, 2 * (uint64_t)DAY_MS + 1, 16 * (uint64_t)DAY_MS, 0, false},
        {PLACED_MS, 366 * (uint64_t)DAY_MS, 8 * 366 * (uint64_t)DAY_MS, 0, false},
        {PLACED_MS - DAY_MS, RUN_MS, 8 * RUN_MS, 0, true}, /* by a clock that is a day off */
        {PLACED_MS - DAY_MS - 1000, RUN_MS, 8 * RUN_MS, 0, false},
        {PLACED_MS - 31 * DAY_MS, RUN_MS, 8 * RUN_MS, 0, false}, /* a month that is closed */
        {1, RUN_MS, 8 * RUN_MS, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *conninfo = helio_pg_database(*state);
        helio_store_t *store = opened_with_placement(conninfo, 1);
        const helio_row_attempt_t attempt =
            attempt_of(cases[i].started_ms, cases[i].run_ms, cases[i].gpu_ms, cases[i].energy_j);
        append_evidence(store, &attempt);
        commit(store);
        assert_value(conninfo, "select count(*) from helio.attempts", cases[i].counts ? "1" : "0");
        assert_value(conninfo, "select count(*) > 0 from helio.ledger", cases[i].counts ? "t" : "f");
        helio_store_destroy(&store);
    }
}

/*  An hour after the placement, it cannot have run for two days; a leader's clock may be a day off. */
static void evidence__is_no_longer_than_since_its_placement(void **state)
{
    for (int longer = 0; longer < 2; longer++) {
        const char *conninfo = helio_pg_database(*state);
        helio_store_t *store = opened_with_placement(conninfo, 6);
        const uint64_t run_ms = (uint64_t)DAY_MS + HOUR_MS + (longer ? 1 : 0);
        helio_row_attempt_t attempt = attempt_of(PLACED_MS, run_ms, run_ms, 0);
        attempt.at_ms = PLACED_MS + HOUR_MS;
        append_evidence(store, &attempt);
        commit(store);
        assert_value(conninfo, "select count(*) from helio.attempts", longer ? "0" : "1");
        helio_store_destroy(&store);
    }
}

/*  The first story counts. Of a run of six days it has rows of the first two, and no other story adds those of the
 *  others. */
static void evidence__of_one_attempt_is_one_story(void **state)
{
    for (int apart = 0; apart < 2; apart++) {
        const char *conninfo = helio_pg_database(*state);
        helio_store_t *store = opened_with_placement(conninfo, 6);
        const uint64_t run_ms = 6 * (uint64_t)DAY_MS;
        for (int64_t days = 0; days < 6; days++) {
            helio_row_attempt_t story = attempt_of(PLACED_MS + days * DAY_MS, run_ms, run_ms, 0);
            append_evidence(store, &story);
            if (apart)
                commit(store);
        }
        if (!apart)
            commit(store);
        assert_value(conninfo, "select row(count(*), max(gpu_ms)) from helio.attempts", "(1,518400000)");
        assert_value(conninfo, "select row(count(*), sum(gpu_ms) <= 518400000) from helio.ledger", "(49,t)");
        helio_store_destroy(&store);
    }
}

/*  Which the core would not write. */
static void evidence__has_no_hour_with_more_than_its_attempt(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_store_t *store = opened_with_placement(conninfo, 1);
    const helio_row_attempt_t attempt = attempt_of(PLACED_MS, HOUR_MS, HOUR_MS, 0);
    append(store, HELIO_BROKER_FX_ROW_ATTEMPT, &attempt);
    helio_row_ledger_t row = {.key = attempt.key,
                              .epoch = 1,
                              .site = attempt.site,
                              .hour_ms = PLACED_MS - PLACED_MS % HOUR_MS,
                              .gpu_ms = HOUR_MS + 1,
                              .fenced = true};
    append(store, HELIO_BROKER_FX_ROW_LEDGER, &row);
    commit(store);
    assert_value(conninfo, "select count(*) from helio.ledger", "0");
    helio_store_destroy(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evidence__beyond_its_placement_is_left_out),
        cmocka_unit_test(evidence__is_no_longer_than_since_its_placement),
        cmocka_unit_test(evidence__of_one_attempt_is_one_story),
        cmocka_unit_test(evidence__has_no_hour_with_more_than_its_attempt),
    };
    return cmocka_run_group_tests(tests, up, down);
}
