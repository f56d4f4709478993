/*  test_account_totals.c -- no joule is lost or counted twice: random lives of measured GPUs, agents that are
 * killed, and the hours of a year, beside sums that a test can make by itself. */
#include "federation/base/rng.h"
#include "tests/unit/site-agent/telemetry/energy_account_testing.h"

enum { SEEDS = 8, STEPS = 400, HOURS_KEPT = HELIO_ENERGY_ACCOUNT_HOURS - 1 };

/*  Two GPUs that never cease to count, and who holds them. */
typedef struct world {
    fixture_t *self;
    helio_rng_t rng;
    uint64_t seed;
    int64_t now_ms;
    uint64_t counted_j[2];
    bool busy, held[2], shared; /* shared: one attempt holds both */
    double jobs_j;
} world_t;

static uint32_t pick(world_t *world, uint32_t bound)
{
    return (uint32_t)helio_rng_below(&world->rng, bound);
}

static void pass_time(world_t *world, int64_t ms)
{
    world->now_ms += ms;
    for (int i = 0; i < 2; i++)
        world->counted_j[i] += helio_rng_below(&world->rng, (uint64_t)(ms / 1000) * 700 + 1);
    counters(world->self, world->counted_j[0], world->busy, world->counted_j[1]);
}

static const char *name_of(const world_t *world, uint32_t gpu)
{
    return world->shared ? "helio-both-1" : gpu ? "helio-second-1" : "helio-first-1";
}

static void take_some(world_t *world)
{
    if (world->held[0] || world->held[1])
        return;
    world->shared = pick(world, 3) == 0;
    for (uint32_t i = 0; i < 2; i++)
        if (world->shared || pick(world, 2)) {
            helio_energy_account_take(world->self->energy_account, name_of(world, i), (uint32_t[]){i, 1},
                                      world->shared ? 2 : 1, world->now_ms);
            world->held[i] = true;
            if (world->shared) {
                world->held[1] = true;
                return;
            }
        }
}

/*  The end is seen at once, so that all that was counted is the attempt's. An attempt that never ran has
 * taken nothing. */
static void give_some(world_t *world)
{
    for (uint32_t i = 0; i < 2; i++) {
        if (!world->held[i] || (!world->shared && pick(world, 2)))
            continue;
        bool ran = pick(world, 4) > 0;
        uint64_t joules = helio_energy_account_give(world->self->energy_account, name_of(world, i), ran, world->now_ms,
                                                    world->now_ms);
        assert_true(ran || joules == 0);
        world->jobs_j += (double)joules;
        world->held[i] = false;
        if (world->shared)
            world->held[0] = world->held[1] = false;
    }
}

static void step(world_t *world)
{
    fixture_t *self = world->self;
    pass_time(world, 1000 * (int64_t)pick(world, 300));
    switch (pick(world, 6)) {
    case 0:
        take_some(world);
        break;
    case 1:
        give_some(world);
        break;
    case 2:
        world->busy = pick(world, 2);
        break;
    case 3:
        if (pick(world, 4) == 0)
            open_energy_account(self, true, world->now_ms); /* the agent was killed: it goes on from its file */
        break;
    case 4:
        assert_int_equal(helio_energy_account_save(self->energy_account, NULL), HELIO_OK);
        break;
    default:
        helio_energy_account_tick(self->energy_account, world->now_ms);
    }
}

/*  All hours from BEGIN to an hour that just ended. */
static double sum(fixture_t *self, const char *kind, int64_t end_ms)
{
    double all = 0;
    for (int64_t at_ms = BEGIN; at_ms < end_ms; at_ms += H) {
        double hour = joules(self, "a", kind, at_ms, end_ms);
        if (hour < 0)
            fail_msg("%s: nothing is said of hour %lld", kind, (long long)((at_ms - BEGIN) / H));
        all += hour;
    }
    return all;
}

/*  A give tells whole joules, so each may cut off less than one. */
static void account__of_measured_gpus_is_whole_whoever_held_them_and_whenever_the_agent_was_killed(void **state)
{
    fixture_t *self = *state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        world_t world = {.self = self, .rng = {seed}, .seed = seed, .now_ms = BEGIN, .counted_j = {1000, 5000}};
        (void)unlink(self->path);
        pass_time(&world, 0);
        open_energy_account(self, true, BEGIN);
        helio_energy_account_tick(self->energy_account, BEGIN);
        assert_int_equal(helio_energy_account_save(self->energy_account, NULL), HELIO_OK);
        for (uint32_t i = 0; i < STEPS; i++)
            step(&world);
        int64_t end_ms = (world.now_ms / H + 1) * H;
        pass_time(&world, end_ms - world.now_ms);
        for (uint32_t i = 0; i < 8; i++)
            give_some(&world);
        helio_energy_account_tick(self->energy_account, end_ms);
        double counted = (double)(world.counted_j[0] + world.counted_j[1]) - 6000;
        double free_j = sum(self, "idle", end_ms) + sum(self, "foreign", end_ms);
        if (fabs(free_j + world.jobs_j - counted) > STEPS)
            fail_msg("seed %llu: %g J free and %g J of jobs are not the %g J counted", (unsigned long long)seed, free_j,
                     world.jobs_j, counted);
        double hosts = 1.5 * 2 * 80 * (double)(end_ms - BEGIN) / 1000;
        if (!near(sum(self, "overhead", end_ms), hosts + 0.5 * free_j))
            fail_msg("seed %llu: overhead %g, not %g", (unsigned long long)seed, sum(self, "overhead", end_ms),
                     hosts + 0.5 * free_j);
    }
}

/*  In hour h, others use h GPUs of the pool. Only the newest hours are reported, each with its own figure. */
static void account__keeps_the_newest_week_hour_by_hour_and_nothing_older(void **state)
{
    fixture_t *self = *state;
    const int64_t hours = 3 * HELIO_ENERGY_ACCOUNT_HOURS + 5;
    self->site.pools.count = 2;
    open_energy_account(self, false, BEGIN);
    for (int64_t hour = 0; hour < hours; hour++) {
        helio_energy_account_use(self->energy_account, 1, 32, 0, (uint32_t)(hour % 33));
        for (int64_t part = 1; part <= 6; part++)
            helio_energy_account_tick(self->energy_account, BEGIN + hour * H + part * H / 6);
    }
    helio_series_t series[8];
    const int64_t end_ms = BEGIN + hours * H;
    uint32_t count = helio_energy_account_series(self->energy_account, end_ms, self->arena, series), told = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!helio_text_is(series[i].pool, "b") || !helio_text_is(series[i].kind, "foreign"))
            continue;
        told++;
        assert_int_equal(series[i].values.count, HOURS_KEPT);
        assert_int_equal(series[i].start_wall_ms, end_ms - HOURS_KEPT * H);
        assert_false(series[i].estimated);
        for (uint32_t h = 0; h < series[i].values.count; h++)
            assert_true(near(series[i].values.items[h], 50.0 * (double)((hours - HOURS_KEPT + h) % 33)));
    }
    assert_int_equal(told, 1);
}

/*  What the modelled parts of a pool add up to is bounded by what the pool can draw, whatever the use that
 * was told. */
static void account__of_a_modelled_pool_never_exceeds_what_its_gpus_can_draw(void **state)
{
    fixture_t *self = *state;
    helio_rng_t rng = {77};
    self->site.pools.count = 2;
    for (int round = 0; round < 60; round++) {
        (void)unlink(self->path);
        open_energy_account(self, false, BEGIN);
        uint32_t total = (uint32_t)helio_rng_below(&rng, 40);
        uint32_t ours = helio_rng_below(&rng, 5) ? (uint32_t)helio_rng_below(&rng, 40) : UINT32_MAX;
        uint32_t others = helio_rng_below(&rng, 5) ? (uint32_t)helio_rng_below(&rng, 40) : UINT32_MAX;
        helio_energy_account_use(self->energy_account, 1, total, ours, others);
        helio_energy_account_use(self->energy_account, 2, total, ours, others); /* there is no such pool */
        helio_energy_account_tick(self->energy_account, BEGIN + H);
        double idle = joules(self, "b", "idle", BEGIN, BEGIN + H) / 3600;
        double foreign = joules(self, "b", "foreign", BEGIN, BEGIN + H) / 3600;
        double overhead = joules(self, "b", "overhead", BEGIN, BEGIN + H) / 3600;
        uint32_t left = ours < total ? total - ours : 0, used = others < left ? others : left;
        if (!near(idle, 10.0 * (left - used)) || !near(foreign, 50.0 * used) ||
            !near(overhead, 1.5 * 40 * used + 0.5 * (idle + foreign)))
            fail_msg("of %u: %u ours, %u others: %g, %g, %g W", total, ours, others, idle, foreign, overhead);
    }
}

static void account__counts_with_the_pue_that_holds_and_passes_over_what_is_none(void **state)
{
    fixture_t *self = *state;
    static const struct {
        double pue, counts;
    } rows[] = {{1, 1},   {1.2, 1.2},  {10, 10},   {0.99, 1.5},     {10.01, 1.5},
                {0, 1.5}, {-1.2, 1.5}, {NAN, 1.5}, {INFINITY, 1.5}, {-INFINITY, 1.5}};
    self->site.pools.count = 2;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)unlink(self->path);
        open_energy_account(self, false, BEGIN);
        helio_energy_account_use(self->energy_account, 1, 32, 32, 0);
        helio_energy_account_use(self->energy_account, 1, 32, 0, 0);
        helio_energy_account_pue(self->energy_account, rows[i].pue);
        helio_energy_account_tick(self->energy_account, BEGIN + H);
        double expected = (rows[i].counts - 1) * 32 * 10 * 3600;
        if (!near(joules(self, "b", "overhead", BEGIN, BEGIN + H), expected))
            fail_msg("PUE %g: %g J, not %g", rows[i].pue, joules(self, "b", "overhead", BEGIN, BEGIN + H), expected);
    }
}

static void account__keeps_its_pue_over_a_restart(void **state)
{
    fixture_t *self = *state;
    self->site.pools.count = 2;
    open_energy_account(self, false, BEGIN);
    helio_energy_account_pue(self->energy_account, 1.25);
    assert_int_equal(helio_energy_account_save(self->energy_account, NULL), HELIO_OK);
    open_energy_account(self, false, BEGIN + 1000);
    helio_energy_account_use(self->energy_account, 1, 32, 0, 0);
    helio_energy_account_tick(self->energy_account, BEGIN + H);
    assert_true(near(joules(self, "b", "overhead", BEGIN, BEGIN + H), 0.25 * 320 * 3600));
}

/*  The hour of a silent counter is an estimate and is marked as one; the hours around it are measured. */
static void account__says_which_energy_is_estimated(void **state)
{
    fixture_t *self = *state;
    open_energy_account(self, true, BEGIN);
    helio_energy_account_tick(self->energy_account, BEGIN);
    helio_energy_account_tick(self->energy_account, BEGIN + H);
    helio_series_t series[8];
    uint32_t count = helio_energy_account_series(self->energy_account, BEGIN + H, self->arena, series);
    assert_int_equal(count, 3);
    for (uint32_t i = 0; i < count; i++)
        assert_false(series[i].estimated);
    (void)setenv("NVML_DOUBLE_SILENT", "1", 1);
    helio_energy_account_tick(self->energy_account, BEGIN + 2 * H);
    (void)unsetenv("NVML_DOUBLE_SILENT");
    assert_true(near(joules(self, "a", "idle", BEGIN + H, BEGIN + 2 * H), 50 * 3600));
    count = helio_energy_account_series(self->energy_account, BEGIN + 2 * H, self->arena, series);
    uint32_t estimated = 0;
    for (uint32_t i = 0; i < count; i++)
        estimated += series[i].estimated && helio_text_is(series[i].source, "nvml");
    assert_int_equal(estimated, 3); /* with all parts of the hour: whose energy it was is unknown, too */
}

/*  The counter comes back higher than it was: what it counted while nobody could read it was modelled
 * already. */
static void account__of_a_counter_that_was_silent_counts_no_energy_twice(void **state)
{
    fixture_t *self = *state;
    open_energy_account(self, true, BEGIN);
    helio_energy_account_tick(self->energy_account, BEGIN);
    (void)setenv("NVML_DOUBLE_SILENT", "1", 1);
    counters(self, 1000, 0, 6000);
    helio_energy_account_tick(self->energy_account, BEGIN + H / 2);
    (void)unsetenv("NVML_DOUBLE_SILENT");
    counters(self, 1000, 0, 900000);
    helio_energy_account_tick(self->energy_account, BEGIN + H / 2 + 1000);
    counters(self, 1000, 0, 900070);
    helio_energy_account_tick(self->energy_account, BEGIN + H);
    double expected = 50.0 * 1801 + 70;
    assert_true(near(joules(self, "a", "idle", BEGIN, BEGIN + H), expected));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make, unmake)
    static const struct CMUnitTest tests[] = {
        TEST(account__of_measured_gpus_is_whole_whoever_held_them_and_whenever_the_agent_was_killed),
        TEST(account__keeps_the_newest_week_hour_by_hour_and_nothing_older),
        TEST(account__of_a_modelled_pool_never_exceeds_what_its_gpus_can_draw),
        TEST(account__counts_with_the_pue_that_holds_and_passes_over_what_is_none),
        TEST(account__keeps_its_pue_over_a_restart),
        TEST(account__says_which_energy_is_estimated),
        TEST(account__of_a_counter_that_was_silent_counts_no_energy_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
