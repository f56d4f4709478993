/*  test_expected_ends.c -- when a full pool will have room, by the time limits of the jobs there: with clocks that differ,
 *  runs that are overdue, and jobs that come and go. After each step the harness compares the order that is kept with
 *  the jobs. */
#include "federation/base/rng.h"
#include "tests/unit/broker/core/preempt_testing.h"

static helio_job_key_t other; /* at the second pool: when it ends, classes are asked again */

static void join_with_other_work(uint32_t nodes)
{
    harness_pool(h, north, "a", "H100", nodes, 8, 1);
    harness_pool(h, north, "b", "T4", 1, 8, 1);
    harness_join(h, NORTH, north);
    helio_job_spec_t spec = harness_spec(h, "T4", 1);
    spec.time_limit_ms = 100 * HOUR;
    other = run(harness_job(h, &spec));
}

static helio_job_key_t job(uint32_t nodes, int64_t limit_ms)
{
    helio_job_spec_t spec = spec_of("standard", nodes, 8);
    spec.time_limit_ms = (uint64_t)limit_ms;
    return harness_job(h, &spec);
}

/*  Runs from then on, by the clock of its site. */
static helio_job_key_t started(int64_t limit_ms, int64_t ahead_ms)
{
    helio_job_key_t key = job(1, limit_ms);
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_STARTING);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_RUNNING);
    report.started_wall_ms += ahead_ms;
    harness_report(h, NORTH, &report);
    return key;
}

/*  When the gang that waits is expected to start, in minutes from now. */
static int64_t expected_in(void)
{
    const helio_row_class_t *row, *last = NULL;
    harness_say(h, NORTH, other, 1, HELIO_REPORT_KIND_ENDED);
    harness_tick(h);
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_CLASS)))
        last = row->expected_ms ? row : last;
    assert_non_null(last);
    return (last->expected_ms - harness_wall_ms(h)) / MINUTE;
}

static void ends__are_in_the_order_of_the_limits(void **state)
{
    (void)state;
    join_with_other_work(3);
    started(5 * HOUR, 0);
    started(2 * HOUR, 0);
    started(3 * HOUR, 0);
    job(2, HOUR);
    harness_advance(h, 30 * MINUTE);
    assert_int_equal(expected_in(), 150); /* the second of the three ends */
}

static void ends__of_jobs_that_have_not_begun_recede(void **state)
{
    (void)state;
    join_with_other_work(2);
    started(2 * HOUR, 0);
    helio_job_key_t offered = job(1, HOUR);
    harness_tick(h);
    assert_state(offered, HELIO_JOB_OFFERED);
    job(2, HOUR);
    harness_advance(h, 90 * MINUTE);
    assert_int_equal(expected_in(), 60); /* the other ends in half an hour; this one could last an hour from now */
}

static void ends__of_a_job_that_is_ahead_of_the_clock_stand_still_once_it_has_begun(void **state)
{
    (void)state;
    join_with_other_work(1);
    started(2 * HOUR, 10 * MINUTE);
    job(1, HOUR);
    harness_tick(h);
    const helio_row_class_t *row = NULL, *last = NULL;
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_CLASS)))
        last = row->expected_ms ? row : last;
    assert_int_equal(last->expected_ms - harness_wall_ms(h), 2 * HOUR); /* as if it began now */
    harness_advance(h, 40 * MINUTE);
    assert_int_equal(expected_in(), 90); /* it began half an hour ago */
}

static void ends__of_a_run_beyond_its_limit_are_in_a_minute(void **state)
{
    (void)state;
    join_with_other_work(2);
    started(HOUR, 0);
    started(3 * HOUR, 0);
    job(1, 2 * HOUR);
    harness_tick(h);
    harness_advance(h, 2 * HOUR);
    assert_int_equal(expected_in(), 1);
}

static void ends__follow_a_clock_that_is_set_back(void **state)
{
    (void)state;
    join_with_other_work(1);
    harness_advance(h, HOUR);
    started(2 * HOUR, 0);
    job(1, HOUR);
    harness_tick(h);
    harness_advance(h, MINUTE);
    harness_tick(h);
    harness_set_wall(h, -HOUR);
    assert_int_equal(expected_in(), 120); /* it begins later than now: as if it began now */
}

/* ---- whatever happens -------------------------------------------------------------------------------------- */

enum { JOBS_MAX = 60, STEPS = 250 };

static helio_job_key_t keys[JOBS_MAX];
static uint32_t key_count;

static void submit_one(helio_rng_t *rng)
{
    static const char *const queues[] = {"batch", "standard", "late"};
    if (key_count == JOBS_MAX)
        return;
    helio_job_spec_t spec = spec_of(queues[helio_rng_below(rng, 3)], 1 + (uint32_t)helio_rng_below(rng, 2),
                                    1 + (uint32_t)helio_rng_below(rng, 8));
    spec.time_limit_ms = (1 + helio_rng_below(rng, 90)) * MINUTE;
    keys[key_count++] = harness_job(h, &spec);
}

/*  Some job goes one step on, or is cancelled. */
static void move_one(helio_rng_t *rng)
{
    static const uint32_t next[HELIO_JOB_STATE_COUNT] = {
        [HELIO_JOB_OFFERED] = HELIO_REPORT_KIND_ACCEPTED,  [HELIO_JOB_ACCEPTED] = HELIO_REPORT_KIND_STARTING,
        [HELIO_JOB_STARTING] = HELIO_REPORT_KIND_RUNNING,  [HELIO_JOB_RUNNING] = HELIO_REPORT_KIND_ENDED,
        [HELIO_JOB_SUSPENDED] = HELIO_REPORT_KIND_RUNNING, [HELIO_JOB_STOPPING] = HELIO_REPORT_KIND_STOPPED,
        [HELIO_JOB_SUSPECT] = HELIO_REPORT_KIND_RUNNING,
    };
    if (!key_count)
        return;
    helio_job_key_t key = keys[helio_rng_below(rng, key_count)];
    uint32_t at = harness_state(h, key);
    if (!harness_is_open(h, key))
        return;
    if (helio_rng_below(rng, 12) == 0) {
        (void)harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key);
        return;
    }
    if (!helio_job_state_is_live(at))
        return;
    uint32_t kind = at == HELIO_JOB_RUNNING && helio_rng_below(rng, 3) == 0 ? HELIO_REPORT_KIND_SUSPENDED : next[at];
    if (at == HELIO_JOB_OFFERED && helio_rng_below(rng, 6) == 0)
        kind = HELIO_REPORT_KIND_REFUSED;
    helio_report_t report = harness_report_of(h, key, harness_row(h, key)->epoch, kind);
    if (kind == HELIO_REPORT_KIND_RUNNING)
        report.started_wall_ms += ((int64_t)helio_rng_below(rng, 5) - 2) * 2 * MINUTE;
    harness_report(h, NORTH, &report);
}

/*  The site comes back with other pools, or the same ones, and with what it had. */
static void rejoin(helio_rng_t *rng)
{
    helio_holding_t holdings[JOBS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < key_count; i++)
        if (harness_is_open(h, keys[i]) && helio_job_state_is_live(harness_state(h, keys[i])))
            holdings[count++] = (helio_holding_t){keys[i], harness_row(h, keys[i])->epoch, HELIO_JOB_RUNNING, 1};
    harness_gone(h, NORTH);
    if (helio_rng_below(rng, 2)) {
        north = harness_site(h, "north");
        harness_pool(h, north, helio_rng_below(rng, 2) ? "a" : "c", "H100", 3, 8, 1);
        harness_pool(h, north, "b", "H100", 2, 8, 1);
    }
    harness_hello(h, NORTH, north);
    harness_inventory(h, NORTH, holdings, count);
    harness_summary(h, NORTH, north, 100000, 0);
}

static void one_history(uint64_t seed)
{
    helio_rng_t rng = {seed};
    key_count = 0;
    assert_int_equal(harness_queue(h, "late", 50, HELIO_TIER_STANDARD)->rc, HELIO_OK);
    harness_pool(h, north, "a", "H100", 3, 8, 1);
    harness_pool(h, north, "b", "H100", 2, 8, 1);
    harness_join(h, NORTH, north);
    for (uint32_t i = 0; i < STEPS; i++) {
        uint64_t what = helio_rng_below(&rng, 60);
        if (what < 15)
            submit_one(&rng);
        else if (what < 55)
            move_one(&rng);
        else if (what == 55)
            rejoin(&rng);
        else if (what == 56)
            harness_set_wall(h, ((int64_t)helio_rng_below(&rng, 41) - 20) * MINUTE);
        else if (what == 57)
            (void)harness_queue(h, "late", 50, helio_rng_below(&rng, 2) ? HELIO_TIER_STANDARD : HELIO_TIER_BEST_EFFORT);
        harness_advance(h, (int64_t)helio_rng_below(&rng, 3) * 30000);
        harness_tick(h);
    }
}

static void property__the_order_is_that_of_the_jobs_whatever_happens(void **state)
{
    uint64_t placed = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        one_history(seed);
        placed += harness_figures(h).placements_total;
        end(state);
        begin(state);
    }
    assert_true(placed > 400);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(ends__are_in_the_order_of_the_limits),
        CASE(ends__of_jobs_that_have_not_begun_recede),
        CASE(ends__of_a_job_that_is_ahead_of_the_clock_stand_still_once_it_has_begun),
        CASE(ends__of_a_run_beyond_its_limit_are_in_a_minute),
        CASE(ends__follow_a_clock_that_is_set_back),
        CASE(property__the_order_is_that_of_the_jobs_whatever_happens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
