/*  test_summary_model.c -- summaries beside a broker that only knows what it was told: a full one, then
 * changes. What it puts together is what the backend said last, whatever was lost, repeated or asked for
 * again in between. */
#include "harness.h"

#include "federation/base/rng.h"

enum { NAMES = 6, SEEDS = 60, STEPS = 150, SERIES_NAMES = 9 };

static const char *const pool_names[NAMES] = {"gpu", "cpu", "a", "b", "c", "d"};

/*  What a receiver holds of a site. */
typedef struct receiver {
    uint64_t seq; /* of the last summary; 0 = nothing yet */
    bool has[NAMES];
    uint32_t gpus[NAMES];
    double series[SERIES_NAMES]; /* first value; 0 = never told */
} receiver_t;

typedef struct world {
    site_t site;
    helio_rng_t rng;
    uint64_t seed;
    receiver_t told, truth;
    uint32_t fulls, changes;
} world_t;

static uint32_t pick(world_t *world, uint32_t bound)
{
    return (uint32_t)helio_rng_below(&world->rng, bound);
}

static uint32_t index_of(helio_text_t name)
{
    for (uint32_t i = 0; i < NAMES; i++)
        if (helio_text_is(name, pool_names[i]))
            return i;
    fail_msg("a pool that nobody has");
    return 0;
}

static void receive(world_t *world, const helio_site_summary_t *summary)
{
    receiver_t *told = &world->told;
    if (summary->base_seq == 0)
        memset(told, 0, sizeof *told);
    else if (summary->base_seq != told->seq)
        fail_msg("seed %llu: a change of %llu follows %llu", (unsigned long long)world->seed,
                 (unsigned long long)summary->base_seq, (unsigned long long)told->seq);
    assert_true(summary->seq > told->seq);
    told->seq = summary->seq;
    world->fulls += summary->base_seq == 0;
    world->changes += summary->base_seq != 0;
    for (uint32_t i = 0; i < summary->pools.count; i++) {
        uint32_t p = index_of(summary->pools.items[i].pool);
        told->has[p] = true;
        told->gpus[p] = summary->pools.items[i].gpus_total;
    }
    for (uint32_t i = 0; i < summary->series.count; i++)
        told->series[summary->series.items[i].signal % SERIES_NAMES] = summary->series.items[i].values.items[0];
}

static void listen(world_t *world)
{
    for (uint32_t i = 0; i < world->site.log_count; i++)
        if (world->site.log[i].kind == HELIO_AGENT_FX_SEND_SUMMARY)
            receive(world, world->site.log[i].record);
    clear_log(&world->site);
}

/*  Any pools with any figures, in any order. */
static void backend_tells(world_t *world)
{
    helio_pool_capacity_t pools[NAMES];
    uint32_t count = 0, first = pick(world, NAMES);
    memset(world->truth.has, 0, sizeof world->truth.has);
    for (uint32_t n = 0; n < NAMES; n++) {
        uint32_t p = (first + n) % NAMES;
        if (pick(world, 12) == 0)
            continue;
        world->truth.has[p] = true;
        if (pick(world, 3) == 0)
            world->truth.gpus[p] = 1 + pick(world, 4);
        pools[count++] =
            (helio_pool_capacity_t){.pool = helio_text_of(pool_names[p]), .gpus_total = world->truth.gpus[p]};
    }
    helio_aev_capacity_t capacity = {.pools = {pools, count}};
    step(&world->site, HELIO_AGENT_EV_CAPACITY, &capacity);
}

/*  Series by their signals, some of them gone for a time. */
static void feeds_tell(world_t *world)
{
    helio_series_t series[SERIES_NAMES];
    double values[SERIES_NAMES];
    uint32_t count = 0;
    for (uint32_t signal = 0; signal < HELIO_SIGNAL_COUNT && signal < SERIES_NAMES; signal++) {
        if (pick(world, 25) == 0) {
            world->truth.series[signal] = 0;
            continue;
        }
        if (world->truth.series[signal] == 0 || pick(world, 4) == 0)
            world->truth.series[signal] = 1 + pick(world, 1000);
        values[count] = world->truth.series[signal];
        series[count] = (helio_series_t){
            .signal = signal, .source = HELIO_TEXT("x"), .step_s = 3600, .values = {&values[count], 1}};
        count++;
    }
    helio_aev_series_t all = {.series = {series, count}, .power_w = -1};
    step(&world->site, HELIO_AGENT_EV_SERIES, &all);
}

static void connect_anew(world_t *world)
{
    step(&world->site, HELIO_AGENT_EV_DISCONNECTED, NULL);
    memset(&world->told, 0, sizeof world->told); /* the broker begins a session knowing nothing */
    open_session(&world->site);
}

/*  After a summary has been due, all that is true has been told, and nothing else. */
static void compare(world_t *world)
{
    listen(world);
    later(&world->site, 1000);
    listen(world);
    for (uint32_t p = 0; p < NAMES; p++)
        if (world->told.has[p] != world->truth.has[p] ||
            (world->truth.has[p] && world->told.gpus[p] != world->truth.gpus[p]))
            fail_msg("seed %llu: of pool %s the broker believes %s with %u GPUs; it is %s with %u",
                     (unsigned long long)world->seed, pool_names[p], world->told.has[p] ? "there" : "gone",
                     world->told.gpus[p], world->truth.has[p] ? "there" : "gone", world->truth.gpus[p]);
    for (uint32_t signal = 0; signal < SERIES_NAMES; signal++)
        if (world->told.series[signal] != world->truth.series[signal])
            fail_msg("seed %llu: of signal %u the broker believes %g, not %g", (unsigned long long)world->seed, signal,
                     world->told.series[signal], world->truth.series[signal]);
}

static void summaries__put_together_are_what_the_backend_and_the_feeds_said_last(void **state)
{
    (void)state;
    static world_t world;
    uint32_t fulls = 0, changes = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        memset(&world, 0, sizeof world);
        world.seed = seed;
        world.rng.state = seed;
        site_begin_with(&world.site, (helio_agent_options_t){.attempts_max = 10, .kill_margin_ms = 60000});
        backend_tells(&world);
        feeds_tell(&world);
        connect_anew(&world);
        for (uint32_t i = 0; i < STEPS; i++) {
            uint32_t what = pick(&world, 12);
            if (what < 4)
                backend_tells(&world);
            else if (what < 6)
                feeds_tell(&world);
            else if (what < 7)
                step(&world.site, HELIO_AGENT_EV_RESYNC, NULL);
            else if (what < 8 && pick(&world, 3) == 0)
                connect_anew(&world);
            else
                compare(&world);
            listen(&world);
        }
        fulls += world.fulls;
        changes += world.changes;
        site_end(&world.site);
    }
    assert_true(fulls > SEEDS && changes > fulls); /* or the worlds would show little of changes */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(summaries__put_together_are_what_the_backend_and_the_feeds_said_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
