/*  test_lies_of_names.c -- partitions and features of a site that names more of them, or changes them oftener, than any
 *  cluster does. */
#include <stdio.h>
#include <string.h>

#include "tests/support/core_harness.h"

enum { NORTH = 1, POOLS = 20, VALUES_MAX = 2000, HALF_AN_HOUR_MS = 1800000 };

static harness_t *h;
static helio_site_profile_t *north;
static uint64_t seq;

static int begin(void **state)
{
    (void)state;
    h = harness_begin(NULL);
    north = harness_site(h, "north");
    seq = 1000;
    return 0;
}

static int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

/*  Whether some pool could run a job that names the partition: it has it, or has not reported its partitions. */
static bool could_run(const char *partition)
{
    helio_pair_t pair = {HELIO_TEXT("partition"), helio_text_of(partition)};
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.slurm.items = &pair;
    spec.slurm.count = 1;
    return harness_submit(h, "acme", &spec)->rc == HELIO_OK;
}

static void say(const char *pool, helio_pool_option_t *options, uint32_t count)
{
    helio_pool_capacity_t figures = {.pool = helio_text_of(pool), .options = {options, count}};
    helio_ev_site_summary_t event = {.peer = NORTH, .summary = {.seq = ++seq, .pools = {&figures, 1}, .power_w = -1}};
    harness_step(h, HELIO_BROKER_EV_SITE_SUMMARY, &event);
}

static void say_partition(const char *partition)
{
    helio_pool_option_t option = {HELIO_TEXT("partition"), helio_text_of(partition)};
    say("a", &option, 1);
}

static void say_nothing(bool change)
{
    helio_ev_site_summary_t event = {.peer = NORTH, .summary = {.base_seq = change ? seq : 0, .power_w = -1}};
    event.summary.seq = ++seq;
    harness_step(h, HELIO_BROKER_EV_SITE_SUMMARY, &event);
}

static uint64_t dropped(void)
{
    return harness_figures(h).pool_options_dropped_total;
}

/*  A pool earns four changes in five minutes, and saves up twice as many. */
static void names__that_change_all_the_time_are_taken_now_and_then_and_asked_for_again(void **state)
{
    enum { CHANGES = 150, TAKEN = 8 };
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_join(h, NORTH, north);
    harness_clear(h);
    char name[16];
    for (uint32_t i = 0; i < CHANGES; i++) {
        (void)snprintf(name, sizeof name, "p%u", i);
        say_partition(name);
    }
    assert_int_equal(dropped(), CHANGES - TAKEN);
    (void)snprintf(name, sizeof name, "p%u", TAKEN - 1);
    assert_true(could_run(name));
    assert_false(could_run("p149"));
    const helio_row_site_t *row = harness_take(h, HELIO_BROKER_FX_ROW_SITE);
    assert_true(row && row->refused.size); /* people are told */
    for (int i = 0; i < 20; i++)
        say_partition(name); /* no change */
    assert_int_equal(dropped(), CHANGES - TAKEN);
    say_nothing(true);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_RESYNC), 0);
    harness_advance(h, HALF_AN_HOUR_MS);
    harness_renew(h, NORTH);
    say_nothing(false);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_RESYNC), 0);
    say_nothing(true);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_RESYNC), 1);
    say_partition("p149");
    assert_true(could_run("p149"));
    say_nothing(true);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_RESYNC), 1); /* once */
}

/*  As large as a message allows, with the partitions last. */
static helio_pool_option_t *largest(void)
{
    static char values[VALUES_MAX + 1], names[HELIO_POOL_OPTIONS_MAX][24];
    static helio_pool_option_t options[HELIO_POOL_OPTIONS_MAX];
    memset(values, 'v', VALUES_MAX);
    for (int i = 0; i < HELIO_POOL_OPTIONS_MAX; i++) {
        (void)snprintf(names[i], sizeof names[i], "option-%d", i);
        options[i] = (helio_pool_option_t){helio_text_of(names[i]), helio_text_of(values)};
    }
    options[HELIO_POOL_OPTIONS_MAX - 1].option = HELIO_TEXT("partition");
    return options;
}

/*  What is left out counts as not reported, so a job is not kept from a pool by it. */
static void names__of_a_site_are_bounded_over_all_its_pools(void **state)
{
    static char pools[POOLS][16];
    (void)state;
    for (int in_profile = 0; in_profile < 2; in_profile++) {
        if (in_profile) {
            (void)end(NULL);
            (void)begin(NULL);
        }
        for (int i = 0; i < POOLS; i++) {
            (void)snprintf(pools[i], sizeof pools[i], "p%d", i);
            helio_pool_t *pool = harness_pool(h, north, pools[i], "H100", 1, 8, 2.0);
            pool->options.items = largest();
            pool->options.count = in_profile ? HELIO_POOL_OPTIONS_MAX : 0;
        }
        harness_hello(h, NORTH, north);
        harness_inventory(h, NORTH, NULL, 0);
        assert_true(could_run("main"));
        if (in_profile) /* repeated by the first summary */
            harness_summary(h, NORTH, north, 0, 0);
        for (int i = 0; i < POOLS && !in_profile; i++)
            say(pools[i], largest(), HELIO_POOL_OPTIONS_MAX);
        assert_in_range(dropped(), 1, POOLS - 1);
        assert_true(could_run("main"));
        harness_clear(h);
        for (int i = 0; i < POOLS; i++) /* as many as there are: all are known, and none is "main" */
            say(pools[i], largest() + HELIO_POOL_OPTIONS_MAX - 1, 1);
        assert_false(could_run("main"));
    }
}

/* ---- sessions ------------------------------------------------------------------------------------------- */

/*  Each pool of it has another name in each session. */
static void rename_pools(uint32_t session)
{
    for (uint32_t i = 0; i < north->pools.count; i++) {
        char name[33];
        (void)snprintf(name, sizeof name, "p%u-%u", session, i);
        north->pools.items[i].name = helio_arena_text(harness_arena(h), helio_text_of(name));
    }
}

/*  Rows of pools are never removed. */
static void sessions__with_other_pools_each_time_write_rows_within_a_bound(void **state)
{
    enum { SESSIONS = 40, TAKEN = 2 * HELIO_SITE_POOLS_MAX / POOLS };
    (void)state;
    for (int i = 0; i < POOLS; i++)
        harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_clear(h);
    for (uint32_t i = 0; i < SESSIONS; i++) {
        rename_pools(i);
        harness_hello(h, NORTH + i, north);
    }
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_WELCOME), TAKEN);
    assert_in_range(harness_count(h, HELIO_BROKER_FX_ROW_POOL), 1, 2 * TAKEN * POOLS); /* made, and closed */
    const helio_fx_peer_t *refusal = harness_take(h, HELIO_BROKER_FX_REFUSAL), *next;
    while ((next = harness_take(h, HELIO_BROKER_FX_REFUSAL)))
        refusal = next;
    assert_true(refusal && refusal->peer == NORTH + SESSIONS - 1 && refusal->rc == HELIO_BUSY);
    harness_clear(h);
    uint32_t tries = 0;
    for (; !harness_count(h, HELIO_BROKER_FX_WELCOME) && tries < 100; tries++) { /* and it goes on trying */
        harness_advance(h, 5000);
        harness_hello(h, NORTH + SESSIONS + tries, north);
    }
    assert_in_range(tries, 10, 300 / 5);
}

/*  A connection that breaks again and again must not keep a site out, and a site that begins sessions without need must
 *  not make the broker judge every class each time. */
static void sessions__are_begun_twice_in_a_second_at_most(void **state)
{
    enum { A_SECOND = 100, SECONDS = 600, SAVED = 1200 };
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_clear(h);
    uint64_t peer = NORTH;
    for (uint32_t s = 0; s < SECONDS; s++) {
        for (uint32_t i = 0; i < A_SECOND; i++)
            harness_hello(h, ++peer, north);
        harness_advance(h, 1000);
    }
    assert_in_range(harness_count(h, HELIO_BROKER_FX_WELCOME), SAVED + 2 * (SECONDS - 1) - 1, SAVED + 2 * SECONDS + 1);
    harness_advance(h, HALF_AN_HOUR_MS);
    harness_clear(h);
    for (uint32_t s = 0; s < SECONDS; s++) { /* an honest one */
        harness_hello(h, ++peer, north);
        harness_hello(h, ++peer, north);
        harness_advance(h, 1000);
    }
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_WELCOME), 2 * SECONDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names__that_change_all_the_time_are_taken_now_and_then_and_asked_for_again,
                                        begin, end),
        cmocka_unit_test_setup_teardown(names__of_a_site_are_bounded_over_all_its_pools, begin, end),
        cmocka_unit_test_setup_teardown(sessions__with_other_pools_each_time_write_rows_within_a_bound, begin, end),
        cmocka_unit_test_setup_teardown(sessions__are_begun_twice_in_a_second_at_most, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
