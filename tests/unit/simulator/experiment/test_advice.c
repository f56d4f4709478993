/*  test_advice.c -- where one more node helps, which teams ask for more than they use, and how often to save. */
#include "tests/unit/simulator/experiment/world_testing.h"

#include <string.h>

#include "simulator/experiment/advice_text.h"

enum { MINUTE_MS = 60000 };

static exp_advice_t advice;
static uint32_t runs_shown, runs_of;

static void show(void *arg, const char *policy, uint32_t runs, uint32_t of)
{
    assert_ptr_equal(arg, &runs_shown);
    assert_string_equal(policy, result.policy);
    assert_int_equal(runs, runs_shown);
    runs_shown++;
    runs_of = of;
}

static void advise(const char *policy)
{
    run(policy);
    runs_shown = 0;
    exp_advice_clear(&advice);
    exp_advice_find(&world, exp_policy_find(helio_text_of(policy)), &result, MINUTE_MS, show, &runs_shown, &advice);
    result.advice = &advice;
}

static int close_advice(void **state)
{
    exp_advice_clear(&advice);
    return close_world(state);
}

static const char *site_of(const exp_gain_t *gain)
{
    return fleet.items[gain->site].profile.name.data;
}

/*  North has two nodes; each job takes both for an hour. */
static void node__helps_where_jobs_wait(void **state)
{
    (void)state;
    load(HEAD "1696176000,3600,16,north,,,,\n1696176000,3600,8,north,,,,\n1696176000,60,1,west,,,,\n");
    advise("isolated");
    assert_int_equal(advice.node_count, 3);
    assert_int_equal(runs_shown, 6);
    assert_int_equal(runs_of, 6);
    assert_memory_equal(site_of(&advice.nodes[0]), "north", 5);
    assert_true(fabs(advice.nodes[0].gpu_hours_waited + 8) < .01); /* 8 GPUs wait an hour less */
    assert_true(fabs(advice.nodes[0].usd) > .01);                  /* power has another price an hour earlier */
    assert_true(fabs(advice.nodes[0].worth_usd - (4 - advice.nodes[0].usd - advice.nodes[0].kg / 1000 * 200)) < .001);
    for (uint32_t i = 1; i < 3; i++)
        assert_true(advice.nodes[i].gpu_hours_waited == 0 && advice.nodes[i].worth_usd == 0);
    assert_int_equal(fleet.items[0].profile.pools.items[0].nodes, 2); /* the fleet is as it was */
}

static void node__is_weighed_by_the_prices_that_are_given(void **state)
{
    (void)state;
    load(HEAD "1696176000,3600,16,north,,,,\n1696176000,3600,8,north,,,,\n");
    world.wait_price_given = world.carbon_price_given = true;
    world.wait_price_micro_usd_per_gpu_h = 10000000;
    advise("isolated");
    assert_true(fabs(advice.nodes[0].worth_usd - (80 - advice.nodes[0].usd)) < .05);
}

/*  What small changes do is found with the same jobs. */
static void chance__is_what_later_submissions_do(void **state)
{
    (void)state;
    load_many(1, 300);
    advise("least-wait");
    double least = advice.by_chance_usd[0], most = advice.by_chance_usd[EXP_CHANCES - 1];
    assert_true(least < most);
    advise("least-wait");
    assert_true(fabs(advice.by_chance_usd[0] - least) < 1e-9); /* by the seed */
    for (uint32_t i = 1; i < trace.count; i++)
        assert_true(trace.jobs[i - 1].submit_ms <= trace.jobs[i].submit_ms);
}

#define ASKED "submit_unix,duration_s,gpus,home_site,team,time_limit_s,util\n"

static void teams__are_those_that_leave_most_unused(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_buffer_text(&text, ASKED "1696176000,3600,1,west,exact,3600,1\n");
    for (int i = 1; i <= 10; i++)
        helio_buffer_printf(&text, "1696176000,%d,1,west,long,3600,1\n", 180 * i);
    helio_buffer_text(&text, "1696176000,3600,8,west,idle,3600,0.25\n");
    helio_buffer_append(&text, "", 1);
    load(text.data);
    exp_asked_t *asked = exp_asked_of(&trace);
    assert_int_equal(trace.team_count, 3);
    assert_memory_equal(trace.teams[asked[0].team].data, "long", 4); /* 10 - 2.75 */
    assert_true(fabs(asked[0].gpu_hours_asked - 10) < 1e-9 && fabs(asked[0].gpu_hours_used - 2.75) < 1e-9);
    assert_true(fabs(asked[0].limit_p90 - .5) < 1e-9);               /* the tenth, by the nearest rank */
    assert_memory_equal(trace.teams[asked[1].team].data, "idle", 4); /* 8 × 0.75 */
    assert_true(fabs(asked[1].gpu_hours_busy - 2) < 1e-9);
    assert_memory_equal(trace.teams[asked[2].team].data, "exact", 5);
    free(asked);
}

static const char *printed(void)
{
    static char text[8192];
    helio_buffer_t out = {0};
    exp_advice_print(&result, 1, &world, &out);
    assert_true(out.size < sizeof text);
    memcpy(text, out.data, out.size);
    text[out.size] = 0;
    helio_buffer_clear(&out);
    return text;
}

static void text__says_what_is_not_known(void **state)
{
    (void)state;
    load(HEAD "1696176000,3600,8,north,,,,\n");
    advise("isolated");
    assert_non_null(strstr(printed(), "The trace has no limits of time"));
    assert_non_null(strstr(printed(), "The trace has no utilisation"));
    assert_non_null(strstr(printed(), "No run was interrupted with isolated: nothing is known of checkpoints."));
    load(ASKED "1696176000,3600,8,north,a,3600,1\n");
    advise("isolated");
    assert_non_null(strstr(printed(), "No team asks for twice the GPU-hours that it uses."));
    load(ASKED "1696176000,3600,8,north,a,7200,0.5\n");
    advise("isolated");
    assert_non_null(strstr(printed(), "a                       1         16.0          8.0         50%    50%\n"));
}

/*  Two runs of an hour and a half and of half an hour end in an outage of north; later, two run for an hour. */
static void checkpoints__follow_from_the_runs_that_outages_ended(void **state)
{
    (void)state;
    fleet = fleet_of("sites:\n" A_SITE(
        "north", "NO", "1.1",
        "2") "    outages: [{from: 2023-10-01T17:30:00Z, to: 2023-10-01T18:00:00Z}]\n" A_SITE("south", "SO", "1.5",
                                                                                              "2"));
    load("submit_unix,duration_s,gpus,home_site,pin,checkpoint_s\n1696176000,9000,8,north,1,1800\n"
         "1696179600,5400,8,north,1,1800\n1696176000,600,8,south,1,\n");
    advise("isolated");
    const exp_exposure_t *north = &result.exposures[0], *south = &result.exposures[1];
    assert_int_equal(north->interrupted, 2);
    assert_int_equal(south->interrupted, 0);
    assert_true(isinf(exp_hours_between(south)));
    assert_true(fabs(south->run_hours - 1 / 6.0) < 1e-6);
    assert_true(north->run_hours > 4 && north->run_hours < 4.3); /* 2 before, 2 after, and restarts */
    assert_true(fabs(exp_hours_between(north) - north->run_hours / 2) < 1e-9);
    assert_non_null(
        strstr(printed(), "\nCheckpoints with isolated, if one takes 1m: by the runs that outages ended.\n"));
    assert_non_null(strstr(printed(), "SAVE    LOSS\nnorth "));
    assert_null(strstr(printed(), "No run was interrupted"));
}

#define ADVISED(name) cmocka_unit_test_setup_teardown(name, open_world, close_advice)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        ADVISED(node__helps_where_jobs_wait),          ADVISED(node__is_weighed_by_the_prices_that_are_given),
        ADVISED(chance__is_what_later_submissions_do), ADVISED(teams__are_those_that_leave_most_unused),
        ADVISED(text__says_what_is_not_known),         ADVISED(checkpoints__follow_from_the_runs_that_outages_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
