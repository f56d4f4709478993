/*  test_reserve.c -- the reservation of the gang at the head: which jobs can start before it, and that none delays
 *  it. */
#include <stdio.h>
#include <string.h>

#include "federation/base/rng.h"
#include "tests/support/core_harness.h"

enum { NORTH = 1, SOUTH = 2, MINUTE = 60000, HOUR = 3600000 };

static harness_t *h;
static helio_site_profile_t *north;
static int64_t midnight;

static int begin(void **state)
{
    (void)state;
    helio_broker_options_t options = helio_broker_options_default();
    options.silent_after_ms = INT64_C(1000) * HOUR;
    h = harness_begin(&options);
    midnight = harness_wall_ms(h);
    north = harness_site(h, "north");
    return 0;
}

static int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

static helio_job_key_t job(uint32_t nodes, uint32_t gpus, int64_t limit_ms)
{
    helio_job_spec_t spec = harness_spec(h, "H100", gpus);
    spec.nodes = nodes;
    spec.time_limit_ms = (uint64_t)limit_ms;
    return harness_job(h, &spec);
}

static helio_job_key_t running(uint32_t nodes, uint32_t gpus, int64_t limit_ms)
{
    helio_job_key_t key = job(nodes, gpus, limit_ms);
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    return key;
}

static const helio_row_class_t *last_class(void)
{
    const helio_row_class_t *row, *last = NULL;
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_CLASS)))
        last = row;
    return last;
}

static void assert_state(helio_job_key_t key, uint32_t state)
{
    assert_string_equal(helio_job_state_name(harness_state(h, key)), helio_job_state_name(state));
}

static const char *reserved_for(helio_job_key_t key)
{
    static char text[128];
    char id[HELIO_KEY_SIZE];
    helio_job_key_text(key, id);
    (void)snprintf(text, sizeof text, "ReservedForIt site=north pool=a from=2026-03-01T03:00Z job_id=%s", id);
    return text;
}

static void reserve__is_for_the_first_of_equal_jobs(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 2, 8, 0);
    harness_join(h, NORTH, north);
    running(1, 8, 3 * HOUR);
    helio_job_key_t first = job(2, 8, HOUR), second = job(2, 8, HOUR);
    harness_tick(h);
    assert_string_equal(harness_facts(h, last_class()->details), reserved_for(first));
    (void)harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, first);
    harness_tick(h);
    const helio_row_class_t *row = last_class();
    assert_non_null(row);
    assert_string_equal(harness_facts(h, row->details), reserved_for(second));
}

/*  When what it waits for ends is unknown, so that it is judged for a start now, beside the gang's reservation. */
static void reserve__a_gated_job_is_explained_beside_it(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 3, 8, 0);
    harness_join(h, NORTH, north);
    running(2, 8, 3 * HOUR);
    helio_job_key_t gang = job(3, 8, HOUR);
    harness_tick(h);
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.time_limit_ms = 2 * HOUR;
    helio_job_key_t gated = harness_job_after(h, &spec, HELIO_AFTER_ANY, gang);
    const helio_fx_reply_t *reply = harness_command(h, HELIO_BROKER_EV_EXPLAIN, "acme", HELIO_ROLE_USER, gated);
    assert_int_equal(reply->rc, HELIO_OK);
    assert_non_null(strstr(harness_facts(h, reply->start_estimate.basis), "StartThenCapacity"));
}

static void reserve__only_jobs_that_end_before_the_reservation_start(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 2, 8, 0);
    harness_join(h, NORTH, north);
    running(1, 8, 3 * HOUR);
    helio_job_key_t gang = job(2, 8, HOUR);
    harness_tick(h);
    const helio_row_class_t *row = last_class();
    assert_true(helio_text_is(row->reason, "WaitingForCapacity"));
    assert_string_equal(harness_facts(h, row->details), reserved_for(gang));
    assert_true(row->expected_ms == midnight + 3 * HOUR);
    helio_job_key_t late = job(1, 8, 3 * HOUR + 1), soon = job(1, 4, 3 * HOUR);
    harness_tick(h);
    assert_state(late, HELIO_JOB_QUEUED);
    assert_state(soon, HELIO_JOB_OFFERED);
    assert_state(gang, HELIO_JOB_QUEUED);
}

/*  It can be there through the grace that it asks for: the gang is not delayed by it, and does not count on less. */
static void reserve__counts_the_grace_that_a_job_asks_for(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 2, 8, 0);
    harness_join(h, NORTH, north);
    running(1, 8, 3 * HOUR);
    helio_job_key_t gang = job(2, 8, HOUR);
    harness_tick(h);
    helio_job_spec_t spec = harness_spec(h, "H100", 4);
    spec.time_limit_ms = 3 * HOUR;
    spec.checkpoint_grace_ms = 60000;
    helio_job_key_t late = harness_job(h, &spec);
    spec.time_limit_ms -= 60000;
    helio_job_key_t soon = harness_job(h, &spec);
    harness_tick(h);
    assert_state(late, HELIO_JOB_QUEUED);
    assert_state(soon, HELIO_JOB_OFFERED);
    assert_state(gang, HELIO_JOB_QUEUED);
}

static void reserve__capacity_beyond_the_reservation_can_be_used(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 0);
    harness_join(h, NORTH, north);
    running(2, 8, 3 * HOUR);
    helio_job_key_t gang = job(3, 8, HOUR);
    harness_tick(h);
    helio_job_key_t first = job(1, 8, 9 * HOUR), second = job(1, 8, 9 * HOUR);
    harness_tick(h);
    assert_state(first, HELIO_JOB_OFFERED); /* four nodes at three o'clock, and three are asked for */
    assert_state(second, HELIO_JOB_QUEUED);
    assert_state(gang, HELIO_JOB_QUEUED);
}

static void reserve__the_sites_own_estimate_counts_where_foreign_work_runs(void **state)
{
    (void)state;
    helio_pool_t *pool = harness_pool(h, north, "a", "H100", 2, 8, 0);
    harness_join(h, NORTH, north);
    uint32_t free_nodes[9] = {1, 0, 0, 0, 0, 0, 0, 0, 1}, waits[] = {0, 7200};
    helio_pool_capacity_t figures = {.pool = pool->name,
                                     .nodes_up = 2,
                                     .gpus_total = 16,
                                     .gpus_allocated = 8,
                                     .free_nodes = {free_nodes, 9},
                                     .cpus_free = 64,
                                     .memory_free_bytes = UINT64_C(512) << 30,
                                     .expected_wait_s = {waits, 2}};
    helio_ev_site_summary_t event = {.peer = NORTH, .summary = {.seq = 900, .pools = {&figures, 1}, .power_w = -1}};
    harness_step(h, HELIO_BROKER_EV_SITE_SUMMARY, &event);
    waits[1] = 1; /* what the message showed is gone */
    job(2, 8, HOUR);
    harness_tick(h);
    assert_true(last_class()->expected_ms == midnight + 2 * HOUR);
    helio_job_key_t late = job(1, 8, 3 * HOUR), soon = job(1, 8, 2 * HOUR);
    harness_tick(h);
    assert_state(late, HELIO_JOB_QUEUED);
    assert_state(soon, HELIO_JOB_OFFERED);
}

static void reserve__an_unknown_time_reserves_nothing(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 2, 8, 0);
    harness_join(h, NORTH, north);
    harness_summary(h, NORTH, north, 0, 1);
    job(2, 8, HOUR);
    harness_tick(h);
    helio_job_key_t small = job(1, 8, 9 * HOUR);
    harness_tick(h);
    assert_state(small, HELIO_JOB_OFFERED);
}

static void reserve__does_not_limit_a_class_ahead_of_the_gang(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 2, 8, 0);
    harness_join(h, NORTH, north);
    running(1, 8, 3 * HOUR);
    helio_job_key_t gang = job(2, 8, HOUR);
    harness_tick(h);
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.queue = HELIO_TEXT("express");
    spec.time_limit_ms = 9 * HOUR;
    helio_job_key_t urgent = harness_job(h, &spec);
    harness_tick(h);
    assert_state(urgent, HELIO_JOB_OFFERED);
    assert_state(gang, HELIO_JOB_QUEUED);
}

static void reserve__a_cancelled_gang_frees_its_reservation(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 2, 8, 0);
    harness_join(h, NORTH, north);
    helio_job_key_t runs = running(1, 8, 3 * HOUR), gang = job(2, 8, HOUR), late = job(1, 8, 9 * HOUR);
    harness_tick(h);
    assert_state(late, HELIO_JOB_QUEUED);
    harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, gang);
    harness_say(h, NORTH, runs, 1, HELIO_REPORT_KIND_ENDED);
    harness_tick(h);
    assert_state(late, HELIO_JOB_OFFERED);
}

static void reserve__a_site_that_returns_drops_it(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 2, 8, 0);
    harness_join(h, NORTH, north);
    running(1, 8, 3 * HOUR);
    job(2, 8, HOUR);
    harness_tick(h);
    harness_hello(h, SOUTH, north); /* another connection of the same site: its pools are made anew */
    helio_job_key_t small = job(1, 8, HOUR);
    harness_tick(h);
    assert_state(small, HELIO_JOB_QUEUED); /* and it is not in session yet */
}

/* ---- no job delays it ---------------------------------------------------------------------------------- */

enum { JOBS_MAX = 400, POOL_NODES = 12 };

typedef struct load {
    helio_job_key_t key;
    int64_t limit_ms;
    int64_t ends_ms; /* 0 = does not run */
    bool over;
} load_t;

static load_t loads[JOBS_MAX];
static uint32_t load_count;

static load_t *submit(uint32_t nodes, int64_t limit_ms)
{
    loads[load_count] = (load_t){.key = job(nodes, 8, limit_ms), .limit_ms = limit_ms};
    return &loads[load_count++];
}

/*  Whatever was offered runs from now on. */
static void start_all(void)
{
    harness_tick(h);
    for (uint32_t i = 0; i < load_count; i++)
        if (harness_state(h, loads[i].key) == HELIO_JOB_OFFERED) {
            harness_run_up_to(h, NORTH, loads[i].key, 1, HELIO_JOB_RUNNING);
            loads[i].ends_ms = harness_wall_ms(h) + loads[i].limit_ms;
        }
}

/*  Everything takes as long as it may: the worst that can happen to a reservation. */
static void end_due(void)
{
    for (uint32_t i = 0; i < load_count; i++)
        if (loads[i].ends_ms && !loads[i].over && loads[i].ends_ms <= harness_wall_ms(h)) {
            loads[i].over = true;
            helio_report_t report = harness_report_of(h, loads[i].key, 1, HELIO_REPORT_KIND_ENDED);
            report.started_wall_ms = loads[i].ends_ms - loads[i].limit_ms;
            report.run_ms = report.gpu_ms = (uint64_t)loads[i].limit_ms;
            harness_report(h, NORTH, &report);
        }
}

static int64_t minutes(helio_rng_t *rng, uint64_t most)
{
    return (int64_t)(1 + helio_rng_below(rng, most)) * MINUTE;
}

/*  Returns how many passed the gang while it waited. */
static uint32_t one_world(uint64_t seed)
{
    helio_rng_t rng = {seed};
    load_count = 0;
    harness_pool(h, north, "a", "H100", POOL_NODES, 8, 0);
    harness_join(h, NORTH, north);
    for (uint32_t left = POOL_NODES - (uint32_t)helio_rng_below(&rng, 3); left;) {
        uint32_t nodes = 1 + (uint32_t)helio_rng_below(&rng, left < 4 ? left : 4);
        submit(nodes, minutes(&rng, 240));
        left -= nodes;
    }
    start_all();
    harness_advance(h, MINUTE);
    end_due();
    load_t *gang = submit(POOL_NODES / 2 + (uint32_t)helio_rng_below(&rng, POOL_NODES / 2), minutes(&rng, 120));
    start_all();
    uint32_t passed = 0;
    const helio_row_class_t *row, *last = NULL;
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_CLASS)))
        last = row->expected_ms ? row : last;
    int64_t expected_ms = last ? last->expected_ms : 0;
    if (gang->ends_ms || !expected_ms)
        return 0; /* at once */
    while (!gang->ends_ms) {
        if (load_count < JOBS_MAX - 2 && helio_rng_below(&rng, 2))
            submit(1 + (uint32_t)helio_rng_below(&rng, 3), minutes(&rng, 300));
        uint32_t before = (uint32_t)harness_figures(h).placements_total;
        start_all();
        passed += (uint32_t)harness_figures(h).placements_total - before;
        if (gang->ends_ms)
            break;
        if (harness_wall_ms(h) >= expected_ms + MINUTE)
            fail_msg("seed %llu: not placed at %lld, %lld minutes after it was expected", (unsigned long long)seed,
                     (long long)(harness_wall_ms(h) - midnight) / MINUTE,
                     (long long)(harness_wall_ms(h) - expected_ms) / MINUTE);
        harness_advance(h, MINUTE);
        end_due();
    }
    return passed;
}

static void property__no_backfilled_job_delays_the_gang(void **state)
{
    uint32_t passed = 0;
    for (uint64_t seed = 1; seed <= 120; seed++) {
        passed += one_world(seed);
        end(state);
        begin(state);
    }
    assert_true(passed > 200); /* and it does not delay every other job */
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(reserve__is_for_the_first_of_equal_jobs),
        CASE(reserve__a_gated_job_is_explained_beside_it),
        CASE(reserve__only_jobs_that_end_before_the_reservation_start),
        CASE(reserve__counts_the_grace_that_a_job_asks_for),
        CASE(reserve__capacity_beyond_the_reservation_can_be_used),
        CASE(reserve__the_sites_own_estimate_counts_where_foreign_work_runs),
        CASE(reserve__an_unknown_time_reserves_nothing),
        CASE(reserve__does_not_limit_a_class_ahead_of_the_gang),
        CASE(reserve__a_cancelled_gang_frees_its_reservation),
        CASE(reserve__a_site_that_returns_drops_it),
        CASE(property__no_backfilled_job_delays_the_gang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
