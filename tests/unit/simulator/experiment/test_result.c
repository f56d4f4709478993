/*  test_result.c -- the figures of a row, by hand. */
#include "tests/unit/simulator/experiment/fleet_testing.h"

#include <math.h>
#include <stdlib.h>

#include "simulator/experiment/result.h"

#define S INT64_C(1000)
#define HOUR (3600 * S)
#define T0 (INT64_C(1696176000) * S)

static exp_fleet_t fleet;
static exp_job_t jobs[100];
static exp_trace_t trace = {.jobs = jobs, .team_count = 1};
static exp_world_t world = {.fleet = &fleet, .trace = &trace};
static exp_result_t result;

/*  Constant grids; `count` jobs that are submitted within ten hours. */
static void open_result(uint32_t count)
{
    const exp_series_unit_t grams = {"carbon_g_per_kwh", 1};
    fleet = fleet_of(three_sites);
    trace.count = count;
    trace.from_ms = T0;
    trace.to_ms = count > 1 ? T0 + 10 * HOUR : T0;
    for (uint32_t i = 0; i < count; i++)
        jobs[i] = (exp_job_t){.submit_ms = T0 + (count > 1 ? 10 * HOUR * i / (count - 1) : 0), .duration_ms = 100 * S};
    const char *path = put("c.csv", "region,utc_hour_iso8601,carbon_g_per_kwh\nNO,2023-10-01T00:00:00Z,50\n"
                                    "SO,2023-10-01T00:00:00Z,500\nWE,2023-10-01T00:00:00Z,250\n");
    assert_int_equal(exp_series_load(path, &grams, 1, 0, &world.carbon, &err), HELIO_OK);
    exp_result_init(&result, &world, "mine");
}

static int end_result(void **state)
{
    exp_result_clear(&result);
    exp_series_free(&world.carbon);
    return end(state);
}

/*  The value of a key in the row, as printed. */
static void expect(const char *key, const char *value)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    exp_results_json(&result, 1, &world, &text);
    const char *json = helio_arena_string(arena, helio_buffer_view(&text));
    const char *wanted = helio_arena_string(
        arena, helio_arena_printf(arena, "\"%s\": %s%s", key, value, strcmp(key, "wall_s") ? "," : ""));
    if (!strstr(json, wanted))
        fail_msg("%s is not in %s", wanted, json);
}

static void waits__are_quantiles_by_nearest_rank(void **state)
{
    (void)state;
    open_result(100);
    for (uint32_t i = 0; i < 100; i++) /* waits 0 s to 99 s, in no order */
        exp_result_add_end(&result, &jobs[i], jobs[i].submit_ms + (i * 37 % 100) * S,
                           jobs[i].submit_ms + (i * 37 % 100 + 100) * S);
    exp_result_close(&result, &world);
    expect("finished", "100");
    expect("wait_mean_s", "49.5");
    expect("wait_p50_s", "50.0");
    expect("wait_p95_s", "95.0");
    expect("wait_max_s", "99.0");
    expect("jct_mean_s", "149.5");
    expect("slowdown_mean", "1.495");
}

static void slowdown__is_bounded_for_short_jobs(void **state)
{
    (void)state;
    open_result(2);
    jobs[0].duration_ms = jobs[1].duration_ms = 1 * S;
    exp_result_add_end(&result, &jobs[0], jobs[0].submit_ms + 39 * S, jobs[0].submit_ms + 40 * S); /* 40 / 10 */
    exp_result_add_end(&result, &jobs[1], jobs[1].submit_ms, jobs[1].submit_ms + 1 * S);           /* not 0.1 */
    exp_result_close(&result, &world);
    expect("slowdown_mean", "2.5");
    expect("slowdown_max", "4.0");
}

static void deadlines__are_missed_by_the_end(void **state)
{
    (void)state;
    open_result(3);
    jobs[0].deadline_ms = jobs[1].deadline_ms = T0 + HOUR;
    exp_result_add_end(&result, &jobs[0], T0, T0 + HOUR);
    exp_result_add_end(&result, &jobs[1], T0, T0 + HOUR + S);
    exp_result_add_end(&result, &jobs[2], T0, T0 + 9 * HOUR); /* has none */
    exp_result_close(&result, &world);
    expect("deadline_misses", "1");
}

/*  8 GPUs at south for ten hours from an hour before the first submission: nine of them count for the utilisation. */
static void use__is_accounted_to_its_end_and_counts_within_the_span(void **state)
{
    (void)state;
    open_result(2);
    const exp_use_t use = {.site = 1, .gpus = 8, .util = 0.5, .from_ms = T0 - HOUR, .to_ms = T0 + 9 * HOUR};
    exp_result_add_use(&result, &world, &use);
    exp_result_close(&result, &world);
    double kwh = (100 + 86 + 0.5 * 243) / 1000 * 1.5 * 8 * 10;
    assert_true(fabs(result.kwh - kwh) < 1e-9 && fabs(result.grams - 500 * kwh) < 1e-6);
    expect("utilization", "0.1125"); /* 72 of 640 */
    assert_true(fabs(result.idle_kwh - 0.05 * (1.1 * 160 + 1.5 * (160 - 72) + 1.2 * 320)) < 1e-9);
    expect("cost_usd", "null");
    fleet.items[1].profile.electricity_usd_per_kwh = 0.1;
    exp_result_add_use(&result, &world, &use);
    assert_true(fabs(result.usd - 0.1 * kwh) < 1e-9);
    fleet.items[1].profile.pools.items[0].owned = false;
    fleet.items[1].profile.pools.items[0].price_usd_per_gpu_h = 2;
    exp_result_add_use(&result, &world, &use);
    assert_true(fabs(result.usd - 0.1 * kwh - 160) < 1e-9);
}

static void nothing__that_ended_is_zero_and_null(void **state)
{
    (void)state;
    open_result(1);
    exp_result_close(&result, &world);
    static const char *const rows[][2] = {{"finished", "0"},     {"unfinished", "1"},       {"utilization", "0.0"},
                                          {"wait_p95_s", "0.0"}, {"slowdown_mean", "null"}, {"decisions_per_s", "null"},
                                          {"energy_kwh", "0.0"}, {"idle_energy_kwh", "0.0"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect(rows[i][0], rows[i][1]);
}

#define OF_RESULT(name) cmocka_unit_test_setup_teardown(name, begin, end_result)
int main(void)
{
    const struct CMUnitTest tests[] = {
        OF_RESULT(waits__are_quantiles_by_nearest_rank),
        OF_RESULT(slowdown__is_bounded_for_short_jobs),
        OF_RESULT(deadlines__are_missed_by_the_end),
        OF_RESULT(use__is_accounted_to_its_end_and_counts_within_the_span),
        OF_RESULT(nothing__that_ended_is_zero_and_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
