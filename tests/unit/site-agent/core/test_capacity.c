/*  Who gets which GPU. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/rng.h"
#include "site-agent/core/capacity.h"

static helio_pool_t pools[2];
static helio_site_profile_t profile;
static helio_capacity_t *capacity;

static int begin(void **state)
{
    (void)state;
    pools[0] = (helio_pool_t){
        .name = HELIO_TEXT("a"), .nodes = 6, .gpus_per_node = 8, .cpus_per_node = 64, .memory_bytes_per_node = 1000};
    pools[1] = (helio_pool_t){.name = HELIO_TEXT("b"), .nodes = 1, .gpus_per_node = 64};
    profile.pools.items = pools;
    profile.pools.count = 2;
    capacity = helio_capacity_new(&profile);
    return 0;
}

static int end(void **state)
{
    (void)state;
    helio_capacity_destroy(&capacity);
    return 0;
}

typedef struct taken {
    helio_order_t order;
    helio_slot_t *slots;
    uint32_t count;
} taken_t;

static helio_rc take_more(const char *pool, uint32_t nodes, uint32_t gpus, uint32_t cpus, uint64_t memory, taken_t *ret)
{
    helio_error_t err;
    ret->order = (helio_order_t){.pool = helio_text_of(pool),
                                 .nodes = nodes,
                                 .gpus_per_node = gpus,
                                 .cpus_per_node = cpus,
                                 .memory_bytes_per_node = memory};
    return helio_capacity_take(capacity, &ret->order, &ret->slots, &ret->count, &err);
}

static helio_rc take(uint32_t nodes, uint32_t gpus, taken_t *ret)
{
    return take_more("a", nodes, gpus, 0, 0, ret);
}

static void give_back(taken_t *taken)
{
    helio_capacity_give_back(capacity, &taken->order, taken->slots, taken->count);
    free(taken->slots);
    taken->slots = NULL;
}

static uint32_t free_nodes(uint32_t pool, uint32_t gpus)
{
    helio_arena_t *arena = helio_arena_new();
    helio_pool_capacity_t now;
    helio_capacity_pool(capacity, pool, arena, &now);
    uint32_t count = gpus < now.free_nodes.count ? now.free_nodes.items[gpus] : 0;
    helio_arena_destroy(&arena);
    return count;
}

static void capacity__takes_the_fullest_node_that_still_fits(void **state)
{
    (void)state;
    taken_t first, second, third, whole;
    assert_int_equal(take(1, 5, &first), HELIO_OK);
    assert_int_equal(take(1, 4, &second), HELIO_OK); /* does not fit beside the first */
    assert_int_equal(take(1, 3, &third), HELIO_OK);  /* fits best there */
    assert_int_not_equal(second.slots[0].node, first.slots[0].node);
    assert_int_equal(third.slots[0].node, first.slots[0].node);
    assert_int_equal(free_nodes(0, 8), 4);
    assert_int_equal(take(4, 8, &whole), HELIO_OK);
    give_back(&first), give_back(&second), give_back(&third), give_back(&whole);
    assert_int_equal(free_nodes(0, 8), 6);
}

static void capacity__gives_a_gang_distinct_nodes_or_nothing(void **state)
{
    (void)state;
    taken_t gang, one, rest;
    assert_int_equal(take(1, 8, &one), HELIO_OK);
    assert_int_equal(take(6, 1, &gang), HELIO_BUSY);
    assert_int_equal(free_nodes(0, 8), 5); /* nothing was kept of the attempt */
    assert_int_equal(take(5, 8, &rest), HELIO_OK);
    uint32_t seen = 0;
    for (uint32_t i = 0; i < rest.count; i++) {
        assert_false(seen & 1U << rest.slots[i].node);
        seen |= 1U << rest.slots[i].node;
        assert_int_equal(rest.slots[i].gpus.count, 8);
    }
    give_back(&one), give_back(&rest);
}

static void capacity__counts_cpus_and_memory_where_both_sides_name_them(void **state)
{
    (void)state;
    taken_t a, b, c;
    assert_int_equal(take_more("a", 6, 1, 64, 0, &a), HELIO_OK);
    assert_int_equal(take_more("a", 1, 1, 1, 0, &b), HELIO_BUSY);
    assert_int_equal(take_more("a", 1, 1, 0, 0, &b), HELIO_OK);
    give_back(&a), give_back(&b);
    assert_int_equal(take_more("a", 6, 0, 0, 600, &a), HELIO_OK);
    assert_int_equal(take_more("a", 1, 0, 0, 401, &b), HELIO_BUSY);
    assert_int_equal(take_more("a", 1, 0, 0, 400, &b), HELIO_OK);
    assert_int_equal(take_more("b", 1, 1, 4000, UINT64_MAX, &c), HELIO_OK); /* that pool names neither */
    give_back(&a), give_back(&b), give_back(&c);
}

static void capacity__handles_nodes_of_sixty_four_gpus(void **state)
{
    (void)state;
    taken_t all, more;
    assert_int_equal(take_more("b", 1, 64, 0, 0, &all), HELIO_OK);
    assert_int_equal(all.slots[0].gpus.items[63], 63);
    assert_int_equal(take_more("b", 1, 1, 0, 0, &more), HELIO_BUSY);
    give_back(&all);
    assert_int_equal(free_nodes(1, 64), 1);
}

static void capacity__restores_what_an_attempt_holds_and_skips_missing_parts(void **state)
{
    (void)state;
    uint32_t gpus[] = {6, 7, 70};
    helio_slot_t slots[] = {{5, {gpus, 3}}, {99, {gpus, 2}}};
    helio_order_t order = {.pool = HELIO_TEXT("a"), .nodes = 2, .gpus_per_node = 3};
    helio_capacity_retake(capacity, &order, slots, 2);
    assert_int_equal(free_nodes(0, 6), 1);
    order.pool = HELIO_TEXT("renamed");
    helio_capacity_retake(capacity, &order, slots, 2);
    assert_int_equal(free_nodes(0, 8), 5);
}

static void capacity__never_gives_a_gpu_twice_under_random_use(void **state)
{
    (void)state;
    enum { HELD = 64, ROUNDS = 20000 };
    static taken_t held[HELD];
    memset(held, 0, sizeof held);
    helio_rng_t rng = {7};
    uint64_t used[6] = {0};
    for (uint32_t round = 0; round < ROUNDS; round++) {
        taken_t *taken = &held[helio_rng_below(&rng, HELD)];
        bool back = taken->slots != NULL;
        if (!back &&
            take(1 + (uint32_t)helio_rng_below(&rng, 3), 1 + (uint32_t)helio_rng_below(&rng, 8), taken) != HELIO_OK)
            continue;
        for (uint32_t i = 0; i < taken->count; i++)
            for (uint32_t g = 0; g < taken->slots[i].gpus.count; g++) {
                uint64_t bit = UINT64_C(1) << taken->slots[i].gpus.items[g];
                assert_int_equal((used[taken->slots[i].node] & bit) != 0, back);
                used[taken->slots[i].node] ^= bit;
            }
        if (back)
            give_back(taken);
    }
    for (uint32_t i = 0; i < HELD; i++)
        if (held[i].slots)
            give_back(&held[i]);
    assert_int_equal(free_nodes(0, 8), 6);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(capacity__takes_the_fullest_node_that_still_fits),
        TEST(capacity__gives_a_gang_distinct_nodes_or_nothing),
        TEST(capacity__counts_cpus_and_memory_where_both_sides_name_them),
        TEST(capacity__handles_nodes_of_sixty_four_gpus),
        TEST(capacity__restores_what_an_attempt_holds_and_skips_missing_parts),
        TEST(capacity__never_gives_a_gpu_twice_under_random_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
