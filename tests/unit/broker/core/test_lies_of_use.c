/*  test_lies_of_use.c -- how long, on how many GPUs and when a run was, by a site that must not be believed: of
 *  attempts that were given up, of jobs that are over, and of months that are closed. */
#include <stdio.h>

#include "tests/unit/broker/core/estimates_testing.h"

static const int64_t DAY_MS = 86400000;

enum { WATTS_MAX = 5000 }; /* that a report of a run can state, of a GPU with its share of the host */

/*  Its job ran again at south, and is over. */
static helio_job_key_t given_up_and_over(void)
{
    helio_job_key_t key = given_up();
    harness_tick(h);
    harness_run_up_to(h, SOUTH, key, 2, HELIO_JOB_RUNNING);
    harness_say(h, SOUTH, key, 2, HELIO_REPORT_KIND_ENDED);
    assert_false(harness_is_open(h, key));
    return key;
}

/*  A year on all GPUs that a job can have, and the largest energy that a report can state. */
static helio_report_t largest(helio_job_key_t key)
{
    helio_report_t report = measured(key, 365 * (uint64_t)DAY_MS);
    report.gpu_ms = UINT64_MAX;
    report.energy_j = UINT64_MAX;
    return report;
}

typedef struct sums {
    uint64_t gpu_ms, energy_j;
    int64_t first_ms; /* the first hour */
} sums_t;

static sums_t of_part(uint32_t part)
{
    sums_t sums = {.first_ms = INT64_MAX};
    for (const helio_row_ledger_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER));) {
        if (row->part != part)
            continue;
        sums.gpu_ms += row->gpu_ms;
        sums.energy_j += row->energy_j;
        sums.first_ms = row->hour_ms < sums.first_ms ? row->hour_ms : sums.first_ms;
    }
    return sums;
}

/*  The job asked for two GPUs, for an hour. Its attempt was placed less than three hours ago. */
static void expect_bounded(const helio_row_attempt_t *attempt, sums_t sums)
{
    assert_non_null(attempt);
    assert_in_range(attempt->run_ms, RAN_MS, 3 * HOUR_MS);
    assert_int_equal(attempt->gpu_ms, 2 * attempt->run_ms);
    assert_int_equal(sums.gpu_ms, attempt->gpu_ms);
    assert_true(attempt->energy_j <= (attempt->run_ms / 1000 + 1) * 2 * WATTS_MAX);
    assert_true(sums.energy_j <= 2 * attempt->energy_j); /* with the PUE */
}

static void correction__has_the_bounds_of_its_placement_when_its_job_is_over(void **state)
{
    for (int successor = 0; successor < 2; successor++) {
        helio_job_key_t key = given_up_and_over();
        if (successor)
            next_leader();
        else
            harness_join(h, BACK, north);
        harness_clear(h);
        const helio_report_t lie = largest(key);
        harness_report(h, BACK, &lie);
        const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
        assert_true(attempt && attempt->basis == HELIO_ATTEMPT_CORRECTED);
        expect_bounded(attempt, of_part(HELIO_LEDGER_MEASURED));
        assert_int_equal(harness_figures(h).illegal_reports_total, 1);
        (void)end(state);
        (void)begin_joined(state);
    }
}

/*  The time limit bounds it too, however long ago it was placed: it has a day for its end. */
static void correction__is_no_longer_than_the_time_limit_and_a_day(void **state)
{
    (void)state;
    helio_job_key_t key = given_up_and_over();
    for (int64_t ms = 0; ms < 3 * DAY_MS; ms += HOUR_MS)
        harness_advance(h, HOUR_MS);
    next_leader();
    const helio_report_t lie = largest(key);
    harness_report(h, BACK, &lie);
    const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
    assert_non_null(attempt);
    assert_int_equal(attempt->run_ms, HOUR_MS + DAY_MS);
    assert_int_equal(attempt->gpu_ms, 2 * (HOUR_MS + DAY_MS));
}

/*  Of eight GPUs elsewhere, which the job would take too, this attempt had none. */
static void correction__has_the_gpus_of_its_placement_while_its_job_is_open(void **state)
{
    (void)state;
    harness_clear(h);
    helio_job_spec_t spec = spec_of_run(HELIO_SITE_LOSS_EAGER);
    harness_or(h, &spec, "A100", 8);
    helio_job_key_t key = begin_run_of(&spec);
    give_up(key);
    harness_tick(h);
    harness_run_up_to(h, SOUTH, key, 2, HELIO_JOB_RUNNING);
    harness_join(h, BACK, north);
    harness_clear(h);
    const helio_report_t lie = largest(key);
    harness_report(h, BACK, &lie);
    const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
    assert_true(attempt && attempt->basis == HELIO_ATTEMPT_CORRECTED);
    expect_bounded(attempt, of_part(HELIO_LEDGER_MEASURED));
}

/*  What the broker had proof of stays charged, but for five minutes and a fiftieth. A measurement of a millisecond is not of
 *  that run. */
static void correction__is_no_shorter_than_what_was_seen(void **state)
{
    for (int i = 0; i < 4; i++) {
        bool over = i & 1, successor = i & 2;
        const int64_t placed_ms = harness_wall_ms(h);
        helio_job_key_t key = over ? given_up_and_over() : given_up();
        const uint64_t seen_ms = RAN_MS - 31000, own_ms = over ? harness_row(h, key)->gpu_ms : 0;
        if (successor)
            next_leader();
        else
            harness_join(h, BACK, north);
        harness_clear(h);
        helio_report_t lie = measured(key, 1);
        lie.gpu_ms = lie.energy_j = 1;
        harness_report(h, BACK, &lie);
        const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
        assert_true(attempt && attempt->basis == HELIO_ATTEMPT_CORRECTED);
        assert_in_range(attempt->run_ms, seen_ms / 50 * 49 - 300000, RAN_MS);
        assert_int_equal(attempt->gpu_ms, 2 * attempt->run_ms);
        assert_true(attempt->started_ms >= placed_ms && attempt->ended_ms <= harness_wall_ms(h));
        assert_int_equal(attempt->ended_ms - attempt->started_ms, attempt->run_ms);
        const sums_t sums = of_part(HELIO_LEDGER_MEASURED);
        assert_int_equal(sums.gpu_ms, attempt->gpu_ms);
        assert_true(sums.energy_j > attempt->run_ms / 1000); /* modelled: more than a watt */
        assert_int_equal(in_ledger(), own_ms + attempt->gpu_ms);
        assert_int_equal(harness_figures(h).illegal_reports_total, 1);
        for (int again = 0; again < 2; again++) { /* and another story */
            lie.run_ms += again ? MEASURED_MS : 0;
            harness_report(h, BACK, &lie);
        }
        assert_int_equal(in_ledger(), own_ms + attempt->gpu_ms);
        (void)end(state);
        (void)begin_joined(state);
    }
}

/*  A meter that shows less than idle GPUs take was not at that run. */
static void correction__has_the_energy_of_idle_gpus_at_least(void **state)
{
    static const struct {
        uint64_t said_part; /* of what was estimated */
        bool believed;
    } cases[] = {{1, true}, {10, true}, {29, true}, {40, false}, {1000000, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_job_key_t key = begin_run(HELIO_SITE_LOSS_EAGER);
        harness_clear(h);
        give_up(key);
        const uint64_t estimated_j = of_part(HELIO_LEDGER_ESTIMATE).energy_j;
        assert_true(estimated_j > 1000000);
        harness_join(h, BACK, north);
        harness_clear(h);
        helio_report_t report = measured(key, RAN_MS);
        report.energy_j = estimated_j / cases[i].said_part;
        harness_report(h, BACK, &report);
        const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
        assert_true(attempt && attempt->basis == HELIO_ATTEMPT_CORRECTED);
        if (cases[i].believed)
            assert_int_equal(attempt->energy_j, report.energy_j);
        else
            assert_in_range(attempt->energy_j, estimated_j / 32, estimated_j / 30 + 1);
        assert_int_equal(harness_figures(h).illegal_reports_total, !cases[i].believed);
        (void)end(state);
        (void)begin_joined(state);
    }
}

/*  Two of them for the whole run, whether the broker saw it run or not. */
static void correction__has_no_fewer_gpus_than_its_placement(void **state)
{
    for (int seen = 0; seen < 2; seen++) {
        const helio_job_spec_t spec = spec_of_run(HELIO_SITE_LOSS_EAGER);
        helio_job_key_t key;
        if (seen) {
            key = given_up();
        } else {
            key = harness_job(h, &spec);
            harness_tick(h);
            harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_ACCEPTED);
            pass(RAN_MS);
            give_up(key);
        }
        harness_join(h, BACK, north);
        harness_clear(h);
        helio_report_t lie = measured(key, RAN_MS);
        lie.gpu_ms = 1;
        harness_report(h, BACK, &lie);
        const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
        assert_true(attempt && attempt->basis == (seen ? HELIO_ATTEMPT_CORRECTED : HELIO_ATTEMPT_REPORTED));
        assert_int_equal(attempt->run_ms, RAN_MS);
        assert_int_equal(attempt->gpu_ms, 2 * RAN_MS);
        assert_int_equal(in_ledger(), 2 * RAN_MS);
        assert_int_equal(harness_figures(h).illegal_reports_total, 1);
        (void)end(state);
        (void)begin_joined(state);
    }
}

/* ---- when it was ---------------------------------------------------------------------------------------- */

static const int64_t starts_ago_ms[] = {INT64_C(40) * 86400000, INT64_C(20000) * 86400000, INT64_MAX};

static helio_report_t long_ago(helio_job_key_t key, int64_t ago_ms)
{
    helio_report_t report = measured(key, RAN_MS);
    report.started_wall_ms = ago_ms < harness_wall_ms(h) ? harness_wall_ms(h) - ago_ms : 1;
    report.ended_wall_ms = report.started_wall_ms + RAN_MS;
    return report;
}

static void expect_no_earlier(const helio_row_attempt_t *attempt, sums_t sums, int64_t placed_ms)
{
    assert_non_null(attempt);
    assert_int_equal(attempt->run_ms, RAN_MS);
    assert_int_equal(sums.gpu_ms, 2 * RAN_MS);
    assert_true(attempt->started_ms >= placed_ms - DAY_MS && attempt->ended_ms >= attempt->started_ms);
    assert_true(sums.first_ms >= placed_ms - DAY_MS - HOUR_MS);
    assert_true(attempt->ended_ms <= harness_wall_ms(h) + DAY_MS);
}

static void start__of_a_run_is_no_more_than_a_day_before_its_placement(void **state)
{
    for (size_t i = 0; i < sizeof starts_ago_ms / sizeof starts_ago_ms[0]; i++) {
        int64_t placed_ms = harness_wall_ms(h);
        helio_job_key_t key = begin_run(HELIO_SITE_LOSS_STRICT);
        helio_report_t lie = long_ago(key, starts_ago_ms[i]);
        lie.kind = HELIO_REPORT_KIND_RUNNING;
        harness_report(h, NORTH, &lie);
        lie.kind = HELIO_REPORT_KIND_ENDED;
        harness_report(h, NORTH, &lie);
        assert_int_equal(harness_state(h, key), HELIO_JOB_SUCCEEDED);
        assert_true(harness_row(h, key)->started_ms >= placed_ms - DAY_MS);
        assert_true(harness_row(h, key)->finished_ms >= placed_ms - DAY_MS);
        const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
        expect_no_earlier(attempt, of_part(HELIO_LEDGER_USE), placed_ms);
        (void)end(state);
        (void)begin_joined(state);
    }
}

static void start__of_a_correction_is_no_more_than_a_day_before_its_placement(void **state)
{
    for (size_t i = 0; i < sizeof starts_ago_ms / sizeof starts_ago_ms[0]; i++)
        for (int over = 0; over < 2; over++) {
            int64_t placed_ms = harness_wall_ms(h);
            helio_job_key_t key = over ? given_up_and_over() : given_up();
            harness_join(h, BACK, north);
            harness_clear(h);
            const helio_report_t lie = long_ago(key, starts_ago_ms[i]);
            harness_report(h, BACK, &lie);
            const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
            expect_no_earlier(attempt, of_part(HELIO_LEDGER_MEASURED), placed_ms);
            (void)end(state);
            (void)begin_joined(state);
        }
}

/*  Of an older attempt that was not given up, the core knows only when its job was submitted. */
static void start__of_an_older_attempt_is_no_more_than_a_day_before_its_submission(void **state)
{
    (void)state;
    int64_t submitted_ms = harness_wall_ms(h);
    helio_job_key_t key = begin_run(HELIO_SITE_LOSS_STRICT);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_LOST);
    harness_tick(h);
    harness_clear(h);
    const helio_report_t lie = long_ago(key, starts_ago_ms[0]);
    harness_report(h, NORTH, &lie);
    const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
    assert_true(attempt && attempt->fenced);
    expect_no_earlier(attempt, of_part(HELIO_LEDGER_USE), submitted_ms);
}

/*  A run of 40 hours that has ended did not begin just now: most of it would be charged to a month that has not
 *  begun. */
static void start__of_a_run_is_as_early_as_its_length_says(void **state)
{
    (void)state;
    helio_job_spec_t spec = spec_of_run(HELIO_SITE_LOSS_STRICT);
    spec.time_limit_ms = 48 * (uint64_t)HOUR_MS;
    helio_job_key_t key = begin_run_of(&spec);
    pass(40 * (int64_t)HOUR_MS);
    harness_clear(h);
    helio_report_t lie = measured(key, 40 * (uint64_t)HOUR_MS);
    lie.kind = HELIO_REPORT_KIND_ENDED;
    lie.started_wall_ms = lie.ended_wall_ms = harness_wall_ms(h);
    harness_report(h, NORTH, &lie);
    const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
    assert_non_null(attempt);
    assert_int_equal(attempt->run_ms, 40 * HOUR_MS);
    assert_true(attempt->started_ms == attempt->ended_ms - 40 * (int64_t)HOUR_MS);
}

/*  A clock that is a day off, and no more, is believed. */
static void start__by_a_clock_that_is_less_than_a_day_off_stays(void **state)
{
    (void)state;
    helio_job_key_t key = begin_run(HELIO_SITE_LOSS_STRICT);
    helio_report_t report = measured(key, RAN_MS);
    report.kind = HELIO_REPORT_KIND_ENDED;
    report.started_wall_ms -= 23 * (int64_t)HOUR_MS;
    report.ended_wall_ms -= 23 * (int64_t)HOUR_MS;
    harness_report(h, NORTH, &report);
    const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
    assert_true(attempt && attempt->started_ms == report.started_wall_ms && attempt->ended_ms == report.ended_wall_ms);
}

/*  The broker's own clock is set back by more than a day after the placement: no end comes before its start. */
static void start__stays_before_its_end_when_the_brokers_clock_goes_back(void **state)
{
    (void)state;
    helio_job_key_t key = begin_run(HELIO_SITE_LOSS_STRICT);
    harness_set_wall(h, -(DAY_MS + HOUR_MS));
    helio_report_t report = measured(key, RAN_MS);
    report.kind = HELIO_REPORT_KIND_ENDED;
    report.ended_wall_ms = harness_wall_ms(h);
    report.started_wall_ms = report.ended_wall_ms - RAN_MS;
    harness_report(h, NORTH, &report);
    const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
    assert_non_null(attempt);
    assert_true(attempt->ended_ms == attempt->started_ms + RAN_MS);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_joined, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(correction__has_the_bounds_of_its_placement_when_its_job_is_over),
        CASE(correction__is_no_longer_than_the_time_limit_and_a_day),
        CASE(correction__has_the_gpus_of_its_placement_while_its_job_is_open),
        CASE(correction__is_no_shorter_than_what_was_seen),
        CASE(correction__has_the_energy_of_idle_gpus_at_least),
        CASE(correction__has_no_fewer_gpus_than_its_placement),
        CASE(start__of_a_run_is_no_more_than_a_day_before_its_placement),
        CASE(start__of_a_correction_is_no_more_than_a_day_before_its_placement),
        CASE(start__of_an_older_attempt_is_no_more_than_a_day_before_its_submission),
        CASE(start__of_a_run_is_as_early_as_its_length_says),
        CASE(start__by_a_clock_that_is_less_than_a_day_off_stays),
        CASE(start__stays_before_its_end_when_the_brokers_clock_goes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
