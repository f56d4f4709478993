/*  world_testing.h -- three sites with day-shaped series, a trace of the test's own, and the result of a policy's run. */
#ifndef HELIO_TESTS_SIMULATOR_WORLD_TESTING_H
#define HELIO_TESTS_SIMULATOR_WORLD_TESTING_H

#include "tests/unit/simulator/experiment/fleet_testing.h"

#include <math.h>
#include <stdlib.h>

#include "federation/base/rng.h"
#include "simulator/experiment/run.h"

#define HOUR INT64_C(3600000)
#define T0 INT64_C(1696176000) /* 2023-10-01T16:00:00Z */
enum { HISTORY_H = 20 * 24, AHEAD_H = 10 * 24 };

static exp_fleet_t fleet;
static exp_trace_t trace;
static exp_world_t world;
static exp_result_t result;

/*  A day-shaped series from 20 days before T0 to 10 days after it. */
static inline exp_series_t *add(exp_series_set_t *set, const char *region, double mean, double swing)
{
    exp_series_t *series = helio_new(1, sizeof *series);
    (void)snprintf(series->region, sizeof series->region, "%s", region);
    series->first_hour = T0 / 3600 - HISTORY_H;
    series->count = HISTORY_H + AHEAD_H;
    series->values = helio_new(series->count, sizeof *series->values);
    series->sums = helio_new(series->count + 1, sizeof *series->sums);
    for (uint32_t i = 0; i < series->count; i++) {
        series->values[i] = mean - swing * sin((double)(series->first_hour + i) * acos(-1) / 12);
        series->sums[i + 1] = series->sums[i] + series->values[i];
    }
    series->first = series->values[0];
    series->last = series->values[series->count - 1];
    HASH_ADD_KEYPTR(hh, *set, series->region, strlen(series->region), series);
    return series;
}

static inline int open_world(void **state)
{
    if (begin(state))
        return -1;
    fleet = fleet_of(three_sites);
    world = (exp_world_t){.fleet = &fleet, .trace = &trace, .seed = 1};
    (void)add(&world.carbon, "NO", 50, 10);
    (void)add(&world.carbon, "SO", 500, 100);
    (void)add(&world.carbon, "WE", 250, 100);
    (void)add(&world.price, "NO", 0.3, 0.05);
    (void)add(&world.price, "SO", 0.05, 0.01);
    (void)add(&world.price, "WE", 0.15, 0.05);
    return 0;
}

static inline int close_world(void **state)
{
    exp_result_clear(&result);
    exp_trace_free(&trace);
    exp_series_free(&world.carbon);
    exp_series_free(&world.price);
    return end(state);
}

static inline void load(const char *text)
{
    const exp_trace_defaults_t defaults = {.from_ms = INT64_MIN, .to_ms = INT64_MAX};
    exp_trace_free(&trace);
    if (exp_trace_load(put("jobs.csv", text), &fleet, &defaults, arena, &trace, &err) != HELIO_OK)
        fail_msg("%s", err.text);
}

#define HEAD "submit_unix,duration_s,gpus,home_site,queue,checkpoint_s,flexible_s,pin\n"

static inline void run(const char *policy)
{
    const exp_policy_t *row;
    uint32_t count;
    assert_int_equal(exp_policies_parse(policy, &row, &count, &err), HELIO_OK);
    exp_result_clear(&result);
    exp_run(&world, row, NULL, NULL, &result);
}

/*  `count` jobs of one to 16 GPUs over two days. */
static inline void load_many(uint64_t seed, int count)
{
    static const char *const homes[] = {"north", "south", "west"};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_rng_t rng = {seed};
    helio_buffer_text(&text, HEAD);
    for (int i = 0; i < count; i++)
        helio_buffer_printf(&text, "%lld,%llu,%u,%s,standard,,,\n",
                            (long long)(T0 + (int64_t)helio_rng_below(&rng, 2 * 86400)),
                            (unsigned long long)(1 + helio_rng_below(&rng, 4 * 3600)), 1u << helio_rng_below(&rng, 5),
                            homes[helio_rng_below(&rng, 3)]);
    helio_buffer_append(&text, "", 1);
    load(text.data);
}

#define IN_WORLD(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

#endif
