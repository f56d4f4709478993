/*  test_clouds.c -- elastic and spot pools, by the broker's real core and the agents' real plan: nodes come when jobs wait for
 *  them, go when none does, and are taken away; and whatever happens, every job ends once. */
#include "tests/unit/simulator/experiment/world_testing.h"

#include "federation/base/rng.h"
#include "simulator/experiment/bound.h"

#define CLOUD_SITE "sites:\n  - name: cloud\n    region: NO\n    pools:\n"
#define POOL(name, rest) "      - {name: " name ", gpu: A100, gpus_per_node: 8, owned: false, " rest "}\n"
#define DEMAND POOL("demand", "nodes: 0, max_nodes: 4, provision: 5m, price_usd_per_gpu_h: 2.5")
#define SPOT(nodes, max, rate)               \
    POOL("spot",                             \
         "nodes: " nodes ", max_nodes: " max \
         ", provision: 5m, price_usd_per_gpu_h: 2.5, spot_usd_per_gpu_h: 1, spot: true, interruptions_per_h: " rate)

static void node__comes_for_a_job_that_waits_and_goes_after_it(void **state)
{
    (void)state;
    fleet = fleet_of(CLOUD_SITE DEMAND);
    load(HEAD "1696176000,3600,8,cloud,standard,,,\n");
    run("least-wait");
    assert_int_equal(result.finished, 1);
    assert_true(result.wait_sum_s >= 300 && result.wait_sum_s < 345); /* the demand lasts for 10 s first */
    assert_true(fabs(result.usd - 8 * 2.5) < 1e-9);
    assert_true(fabs(result.cloud.used_usd - result.usd) < 1e-9 && fabs(result.cloud.used_gpu_hours - 8) < 1e-9);
    assert_true(result.cloud.hours > 3900.0 / 3600 - 1e-9); /* it is paid until the run ends, at least */
    assert_true(fabs(result.cloud.usd - result.cloud.hours * 8 * 2.5) < 1e-9);
    assert_true(result.cloud.taken == 0 && result.cloud.interruptions == 0);
}

/*  Two jobs, the second long after the first: in between the instance ends, and another one comes. */
static void node__that_nobody_wants_ends(void **state)
{
    (void)state;
    fleet = fleet_of(CLOUD_SITE DEMAND);
    load(HEAD "1696176000,3600,8,cloud,standard,,,\n1696219200,3600,8,cloud,standard,,,\n");
    run("least-wait");
    assert_int_equal(result.finished, 2);
    assert_true(result.wait_sum_s >= 600 && result.wait_sum_s < 690);
    double idle_h = result.cloud.hours - 2; /* starts, and the first also its ten minutes without a job */
    assert_true(idle_h > (300 + 600 + 300) / 3600.0 && idle_h < (340 + 640 + 340) / 3600.0);
    assert_true(result.idle_kwh >= 0);
}

/*  Jobs that fit on what there is need no more. */
static void nodes__are_no_more_than_jobs_want(void **state)
{
    (void)state;
    fleet = fleet_of(CLOUD_SITE DEMAND);
    load(HEAD "1696176000,3600,4,cloud,standard,,,\n1696176000,3600,4,cloud,standard,,,\n");
    run("least-wait");
    assert_int_equal(result.finished, 2);
    assert_true(fabs(result.cloud.used_gpu_hours - 8) < 1e-9 && result.cloud.gpu_hours < 10);
}

static void spot__serves_jobs_with_checkpoints_alone(void **state)
{
    (void)state;
    fleet = fleet_of(CLOUD_SITE SPOT("0", "4", "0.01") DEMAND);
    load(HEAD "1696176000,3600,8,cloud,standard,,,\n");
    run("cheapest");
    assert_true(result.finished == 1 && fabs(result.usd - 8 * 2.5) < 1e-9);
    load(HEAD "1696176000,3600,8,cloud,standard,600,,\n");
    run("cheapest");
    assert_true(result.finished == 1 && fabs(result.usd - 8 * 1) < 1e-9);
    fleet = fleet_of(CLOUD_SITE SPOT("2", "2", "0.01"));
    load(HEAD "1696176000,3600,8,cloud,standard,,,\n");
    run("cheapest");
    assert_true(result.finished == 0 && result.refused + (result.placements == 0) > 0);
}

/*  A node is taken away every half hour on average, and the job works for ten: it keeps what it has saved. */
static void interrupted__goes_on_from_its_last_checkpoint(void **state)
{
    (void)state;
    fleet = fleet_of(CLOUD_SITE SPOT("1", "1", "2"));
    load(HEAD "1696176000,36000,8,cloud,standard,300,,\n");
    run("least-wait");
    assert_int_equal(result.finished, 1);
    uint32_t times = result.cloud.interruptions;
    assert_true(times > 3 && result.placements == times + 1 && result.cloud.taken >= times && result.moves == 0);
    assert_true(result.cloud.lost_gpu_hours > 0 && result.cloud.lost_gpu_hours <= times * 8 * 300 / 3600.0 + 1e-9);
    /* its GPU-hours: the work, what was lost of it, and a minute at each restart that was not cut short */
    double most = 80 + result.cloud.lost_gpu_hours + times * 8 * 60 / 3600.0;
    assert_true(result.usd <= most + 1e-9 && result.usd >= 80 + result.cloud.lost_gpu_hours - 1e-9);
    assert_true(result.exposures[0].interrupted == times);
    assert_true(result.cloud.hours == 0); /* it is always there, or comes again */
}

static void rent__by_the_hour_is_paid_and_chosen_by(void **state)
{
    (void)state;
    fleet = fleet_of(CLOUD_SITE POOL("a", "nodes: 1, price_usd_per_gpu_h: 1")
                         POOL("b", "nodes: 1, price_usd_per_gpu_h: 3"));
    const char *path = put("rent.csv", "site,pool,utc_hour_iso8601,usd_per_gpu_h\ncloud,a,2023-10-01T00:00:00Z,4\n"
                                       "cloud,a,2023-10-01T15:00:00Z,4\ncloud,a,2023-10-01T17:00:00Z,5\n");
    assert_int_equal(exp_series_load_rents(path, 0, &world.rent, &err), HELIO_OK);
    load(HEAD "1696176000,7200,8,cloud,standard,,,\n");
    run("cheapest");
    assert_true(result.finished == 1 && fabs(result.usd - 2 * 8 * 3) < 1e-9);
    load(HEAD "1696176000,7200,8,cloud,standard,,,\n1696176000,7200,8,cloud,standard,,,\n");
    run("cheapest"); /* the hour without a row has the last good value */
    assert_true(result.finished == 2 && fabs(result.usd - 8 * (3 + 3 + 4 + 5)) < 1e-9);
    exp_series_free(&world.rent);
}

static const char *row_of(const char *policy)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    run(policy);
    exp_results_json(&result, 1, &world, &text);
    return helio_arena_string(arena, helio_buffer_view(&text));
}

static void load_at_random(uint64_t seed, int count)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_rng_t rng = {seed};
    helio_buffer_text(&text, HEAD);
    for (int i = 0; i < count; i++)
        helio_buffer_printf(&text, "%lld,%llu,%u,%s,%s,%s,,\n", (long long)(T0 + (int64_t)helio_rng_below(&rng, 86400)),
                            (unsigned long long)(1 + helio_rng_below(&rng, 4 * 3600)), 1u << helio_rng_below(&rng, 5),
                            helio_rng_below(&rng, 2) ? "cloud" : "north",
                            helio_rng_below(&rng, 8) ? "standard" : "preemptible",
                            helio_rng_below(&rng, 3) ? "900" : "");
    helio_buffer_append(&text, "", 1);
    load(text.data);
}

static void load_fleet_of_all_kinds(void)
{
    fleet = fleet_of("sites:\n" A_SITE("north", "NO", "1.1", "2") "  - name: cloud\n    region: SO\n    pools:\n" SPOT(
        "1", "4", "0.5") DEMAND "    scale: [{pool: demand, max: 4, min: 1, up_for: 30s, down_for: 2m}]\n"
                                "    outages: [{from: 2023-10-02T01:00:00Z, to: 2023-10-02T02:30:00Z}]\n");
}

/*  Whatever comes, goes and is taken away: every job ends once, and the GPU-hours of instances are at least those of jobs on
 *  them. exp_attempts_take_ends asserts that no job ends twice. */
static void random__jobs_all_end_and_the_sums_agree(void **state)
{
    (void)state;
    static const char *const policies[] = {"least-wait", "cheapest", "greenest", "clairvoyant"};
    uint32_t interruptions = 0;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        load_fleet_of_all_kinds();
        world.seed = seed;
        load_at_random(seed, 120);
        double work = 0;
        for (uint32_t i = 0; i < trace.count; i++)
            work +=
                (double)trace.jobs[i].nodes * trace.jobs[i].gpus_per_node * (double)trace.jobs[i].duration_ms / HOUR;
        exp_classes_t classes;
        exp_classes_init(&classes, &fleet, &trace);
        world.classes = &classes;
        run(policies[seed % 4]);
        exp_bounds_find(&world, &result, 1);
        assert_true(result.least.usd <= result.usd && result.least.grams <= result.grams);
        const exp_cloud_sum_t *cloud = &result.cloud;
        assert_int_equal(result.finished + result.refused, 120);
        assert_true(cloud->used_gpu_hours <= cloud->gpu_hours + 1e-9 && cloud->used_usd <= cloud->usd + 1e-9);
        assert_true(cloud->in_span_gpu_hours <= cloud->gpu_hours + 1e-9 && cloud->used_gpu_hours > 0);
        assert_true(result.detail.teams[0].gpu_hours >= work - 1e-6);
        assert_true(result.placements >= 120 + cloud->interruptions);
        assert_true(exp_result_utilization(&result, &world) > 0 && exp_result_utilization(&result, &world) < 1);
        interruptions += cloud->interruptions;
        world.classes = NULL;
        exp_classes_clear(&classes);
    }
    assert_true(interruptions > 50);
}

static void seed__decides_what_is_taken_away(void **state)
{
    (void)state;
    load_fleet_of_all_kinds();
    load_at_random(3, 80);
    const char *first = row_of("cheapest"), *again = row_of("cheapest");
    assert_string_equal(first, again);
    world.seed = 2;
    assert_true(strcmp(first, row_of("cheapest")) != 0);
}

/*  A fleet without such pools has none of the figures. */
static void row__has_figures_of_instances_where_there_are_any(void **state)
{
    (void)state;
    load(HEAD "1696176000,3600,8,west,standard,,,\n");
    assert_non_null(strstr(row_of("least-wait"), "\"instance_hours\": null"));
    fleet = fleet_of(CLOUD_SITE DEMAND);
    load(HEAD "1696176000,3600,8,cloud,standard,,,\n");
    assert_non_null(strstr(row_of("least-wait"), "\"interruptions\": 0"));
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    exp_results_table(&result, 1, &world, &text);
    helio_buffer_append(&text, "", 1);
    assert_non_null(
        strstr(text.data, "\nINSTANCES          HOURS  IDLE GPU-H    IDLE USD NODES TAKEN  INTERRUPTED LOST GPU-H\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(node__comes_for_a_job_that_waits_and_goes_after_it),
        IN_WORLD(node__that_nobody_wants_ends),
        IN_WORLD(nodes__are_no_more_than_jobs_want),
        IN_WORLD(spot__serves_jobs_with_checkpoints_alone),
        IN_WORLD(interrupted__goes_on_from_its_last_checkpoint),
        IN_WORLD(rent__by_the_hour_is_paid_and_chosen_by),
        IN_WORLD(random__jobs_all_end_and_the_sums_agree),
        IN_WORLD(seed__decides_what_is_taken_away),
        IN_WORLD(row__has_figures_of_instances_where_there_are_any),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
