/*  test_bound.c -- bounds of whole runs: what they count, and that no policy goes below them. */
#include "tests/unit/simulator/experiment/world_testing.h"

#include "simulator/experiment/bound.h"

static exp_classes_t classes;

static int close_bounds(void **state)
{
    exp_classes_clear(&classes);
    world.classes = NULL;
    return close_world(state);
}

/*  The trace's classes, for the runs that follow. */
static void want_bounds(void)
{
    exp_classes_clear(&classes);
    exp_classes_init(&classes, &fleet, &trace);
    world.classes = &classes;
}

#define WIDE "submit_unix,duration_s,gpus,home_site,nodes,gpu_type,sites,pin,util\n"

static void jobs__are_grouped_by_where_they_can_run_and_what_they_draw(void **state)
{
    (void)state;
    load(WIDE "1696176000,3600,8,west,1,,,,\n"        /* 0: anywhere */
              "1696176000,7200,2,south,1,A100,,0,1\n" /* the same */
              "1696176000,3600,24,west,3,,,,\n"       /* 1: only west has three nodes */
              "1696176000,3600,8,west,1,,,1,\n"       /* the same: pinned to it */
              "1696176000,3600,8,west,1,,w*;!x*,,\n"  /* the same, by its name */
              "1696176000,3600,8,west,1,,!west,,\n"   /* 2 */
              "1696176000,3600,8,west,1,H100,,,\n"    /* none has it */
              "1696176000,3600,8,west,1,,,,0.61\n"    /* 3: anywhere, at another load */
              "1696176000,3600,8,west,1,,,,0.69\n");  /* the same */
    want_bounds();
    static const uint32_t expected[] = {0, 0, 1, 1, 1, 2, EXP_CLASS_NONE, 3, 3};
    for (uint32_t i = 0; i < trace.count; i++)
        if (classes.of_job[i] != expected[i])
            fail_msg("job %u is of class %u", i, classes.of_job[i]);
    assert_int_equal(classes.count, 4);
    assert_int_equal(classes.items[0].place_count, 3);
    assert_int_equal(classes.items[1].place_count, 1);
    assert_int_equal(classes.items[1].places[0], 2);
    assert_true(classes.items[3].util_low == .61 && classes.items[3].util_high == .69);
}

/*  150 sites with jobs of their own at ten utilisations each are more classes than there may be. */
static void classes__beyond_the_most_share_one_that_may_run_anywhere(void **state)
{
    (void)state;
    enum { SITES = 150, JOBS = SITES * 10 };
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_buffer_text(&text, "sites:\n");
    for (int i = 0; i < SITES; i++)
        helio_buffer_printf(
            &text, "  - {name: s%d, region: NO, pools: [{name: a, gpu: A100, nodes: 1, gpus_per_node: 8}]}\n", i);
    fleet = fleet_of(helio_arena_string(arena, helio_buffer_view(&text)));
    helio_buffer_reset(&text);
    helio_buffer_text(&text, "submit_unix,duration_s,gpus,home_site,pin,util\n");
    for (int i = 0; i < JOBS; i++)
        helio_buffer_printf(&text, "1696176000,3600,8,s%d,1,%.2f\n", i / 10, i % 10 * .1 + .05);
    load(helio_arena_string(arena, helio_buffer_view(&text)));
    want_bounds();
    const exp_class_t *last = &classes.items[EXP_CLASSES_MAX - 1];
    assert_int_equal(classes.count, EXP_CLASSES_MAX);
    assert_int_equal(classes.of_job[JOBS - 1], EXP_CLASSES_MAX - 1);
    assert_int_equal(last->place_count, SITES);
    assert_true(last->util_low < .1 && last->util_high > .9);
    assert_int_equal(classes.items[0].place_count, 1);
}

/*  One job of two hours with all GPUs of a node, submitted at T0: later hours of north are cleaner. */
static void one_job__has_the_bounds_of_its_hours_and_of_any_hours(void **state)
{
    (void)state;
    load(HEAD "1696176000,7200,8,west,standard,,,\n");
    want_bounds();
    run("isolated");
    exp_bounds_find(&world, &result, 1);
    const exp_series_t *carbon = exp_series_find(world.carbon, HELIO_TEXT("NO")),
                       *price = exp_series_find(world.price, HELIO_TEXT("SO"));
    double kw = 0.429 * 8, from = T0 * 1000;
    assert_true(fabs(result.same_hours.grams -
                     kw * 1.1 * exp_series_integral(carbon, (int64_t)from, (int64_t)from + 2 * HOUR)) < 1e-6);
    assert_true(fabs(result.same_hours.usd -
                     kw * 1.5 * exp_series_integral(price, (int64_t)from, (int64_t)from + 2 * HOUR)) < 1e-9);
    assert_int_equal(result.bound_until_ms, T0 * 1000 + 2 * HOUR);
    assert_true(result.least.grams <= result.same_hours.grams && result.least.grams > 0);
}

/*  In an outage of north, only dirtier sites are left. */
static void outages__leave_no_room(void **state)
{
    (void)state;
    exp_outage_t outage = {T0 * 1000, T0 * 1000 + HOUR / 2};
    load(HEAD "1696176000,3600,16,west,standard,,,\n");
    want_bounds();
    run("isolated");
    exp_bounds_find(&world, &result, 1);
    double grams = result.same_hours.grams;
    fleet.items[0].outages = (exp_outages_t){&outage, 1};
    run("isolated");
    exp_bounds_find(&world, &result, 1);
    const exp_series_t *clean = exp_series_find(world.carbon, HELIO_TEXT("NO")),
                       *next = exp_series_find(world.carbon, HELIO_TEXT("WE"));
    double kw = 0.429 * 8, hour = (double)T0 / 3600;
    assert_true(fabs(grams - 2 * kw * 1.1 * exp_series_at(clean, (int64_t)hour)) < 1e-6);
    assert_true(fabs(result.same_hours.grams - kw * 1.1 * exp_series_at(clean, (int64_t)hour) -
                     kw * 1.2 * exp_series_at(next, (int64_t)hour)) < 1e-6);
}

static void money__has_no_bound_without_prices(void **state)
{
    (void)state;
    load(HEAD "1696176000,7200,8,west,standard,,,\n");
    exp_series_free(&world.price);
    want_bounds();
    run("isolated");
    exp_bounds_find(&world, &result, 1);
    assert_true(isnan(result.least.usd) && isnan(result.same_hours.usd) && result.least.grams > 0);
    assert_true(isnan(exp_bound_reached(&result, &result, true)));
}

/* ---- no policy goes below ------------------------------------------------------------------------------------- */

/*  Some are pinned, some may wait or move, some draw less. */
static void load_mixed(helio_rng_t *rng)
{
    static const char *const homes[] = {"north", "south", "west"};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    uint32_t count = 10 + (uint32_t)helio_rng_below(rng, 60);
    bool plain = helio_rng_below(rng, 3) == 0;
    helio_buffer_text(&text, "submit_unix,duration_s,gpus,home_site,pin,util,flexible_s,checkpoint_s\n");
    for (uint32_t i = 0; i < count; i++)
        helio_buffer_printf(&text, "%lld,%llu,%u,%s,%d,%s,%s,%s\n",
                            (long long)(T0 + (int64_t)helio_rng_below(rng, 86400)),
                            (unsigned long long)(1 + helio_rng_below(rng, 6 * 3600)), 1u << helio_rng_below(rng, 5),
                            homes[helio_rng_below(rng, 3)], !plain && helio_rng_below(rng, 4) == 0,
                            plain || helio_rng_below(rng, 3) ? "1" : "0.5", helio_rng_below(rng, 2) ? "" : "14400",
                            helio_rng_below(rng, 2) ? "" : "1800");
    load(helio_arena_string(arena, helio_buffer_view(&text)));
}

static void check_below(const exp_result_t *row)
{
    const double slack = 1 + 1e-9;
    assert_int_equal(row->finished, trace.count);
    if (row->same_hours.grams > row->grams * slack || row->same_hours.usd > row->usd * slack)
        fail_msg("%s: %.9g g and %.9g USD, of the same hours %.9g and %.9g", row->policy, row->grams, row->usd,
                 row->same_hours.grams, row->same_hours.usd);
    if (row->least.grams > row->grams * slack || row->least.usd > row->usd * slack)
        fail_msg("%s: %.9g g and %.9g USD, of any hours %.9g and %.9g", row->policy, row->grams, row->usd,
                 row->least.grams, row->least.usd);
}

static void no_policy__goes_below_its_bounds(void **state)
{
    (void)state;
    enum { WORLDS = 12 };
    exp_result_t *rows = helio_new(exp_policy_count, sizeof *rows);
    helio_rng_t rng = {4};
    for (uint32_t i = 0; i < WORLDS; i++) {
        load_mixed(&rng);
        want_bounds();
        uint32_t count = 0;
        for (uint32_t k = 0; k < exp_policy_count; k++)
            if (exp_policies[k].objective != HELIO_OBJECTIVE_NEAREST) /* needs distances */
                exp_run(&world, &exp_policies[k], NULL, NULL, &rows[count++]);
        exp_bounds_find(&world, rows, count);
        for (uint32_t k = 0; k < count; k++) {
            check_below(&rows[k]);
            exp_result_clear(&rows[k]);
        }
    }
    free(rows);
}

static void reached__is_the_part_of_what_places_could_save(void **state)
{
    (void)state;
    exp_result_t base = {.finished = 9, .grams = 1000, .usd = 50, .same_hours = {600, 50}};
    exp_result_t row = {.finished = 9, .grams = 700, .usd = 40};
    assert_true(fabs(exp_bound_reached(&row, &base, false) - .75) < 1e-12);
    assert_true(fabs(exp_bound_reached(&base, &base, false)) < 1e-12);
    assert_true(isnan(exp_bound_reached(&row, &base, true))); /* there is nothing to save */
    row.finished = 8;
    assert_true(isnan(exp_bound_reached(&row, &base, false)));
}

#define BOUND(name) cmocka_unit_test_setup_teardown(name, open_world, close_bounds)
int main(void)
{
    const struct CMUnitTest tests[] = {
        BOUND(jobs__are_grouped_by_where_they_can_run_and_what_they_draw),
        BOUND(classes__beyond_the_most_share_one_that_may_run_anywhere),
        BOUND(one_job__has_the_bounds_of_its_hours_and_of_any_hours),
        BOUND(outages__leave_no_room),
        BOUND(money__has_no_bound_without_prices),
        BOUND(no_policy__goes_below_its_bounds),
        BOUND(reached__is_the_part_of_what_places_could_save),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
