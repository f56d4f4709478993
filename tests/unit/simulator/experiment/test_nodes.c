/*  test_nodes.c -- packing, compared with a plain model that walks all nodes. */
#include "tests/unit/simulator/experiment/experiment_testing.h"

#include "federation/base/rng.h"
#include "simulator/experiment/nodes.h"

static void take__fills_the_fullest_nodes_that_suffice(void **state)
{
    (void)state;
    exp_nodes_t nodes;
    uint32_t one[4], two[4], three[4];
    exp_nodes_init(&nodes, 3, 8);
    assert_true(exp_nodes_take(&nodes, 1, 5, one));
    assert_true(exp_nodes_take(&nodes, 1, 3, two));
    assert_int_equal(one[0], two[0]);
    assert_int_equal(nodes.by_gpus[0], 1);
    assert_false(exp_nodes_take(&nodes, 3, 1, three)); /* all nodes or none */
    assert_int_equal(exp_nodes_allocated(&nodes), 8);
    assert_true(exp_nodes_take(&nodes, 2, 8, three));
    assert_true(three[0] != three[1] && three[0] != one[0] && three[1] != one[0]);
    exp_nodes_give(&nodes, two, 1, 3);
    assert_int_equal(nodes.by_gpus[3], 1);
    exp_nodes_clear(&nodes);
}

/*  Random gangs come and go. */
static void model__free_gpus_and_counts_agree(void **state)
{
    (void)state;
    enum { NODES = 9, PER_NODE = 4, GANGS = 24 };
    helio_rng_t rng = {3};
    struct {
        uint32_t nodes[NODES], count, gpus;
    } gangs[GANGS] = {0};
    uint32_t left[NODES], taken = 0, refused = 0;
    exp_nodes_t nodes;
    exp_nodes_init(&nodes, NODES, PER_NODE);
    for (uint32_t i = 0; i < NODES; i++)
        left[i] = PER_NODE;
    for (int round = 0; round < 20000; round++) {
        size_t g = helio_rng_below(&rng, GANGS);
        if (gangs[g].count) {
            exp_nodes_give(&nodes, gangs[g].nodes, gangs[g].count, gangs[g].gpus);
            for (uint32_t i = 0; i < gangs[g].count; i++)
                left[gangs[g].nodes[i]] += gangs[g].gpus;
            gangs[g].count = 0;
        } else {
            uint32_t count = 1 + (uint32_t)helio_rng_below(&rng, NODES);
            uint32_t gpus = 1 + (uint32_t)helio_rng_below(&rng, PER_NODE), able = 0, least = PER_NODE;
            for (uint32_t i = 0; i < NODES; i++)
                able += left[i] >= gpus;
            bool fits = exp_nodes_take(&nodes, count, gpus, gangs[g].nodes);
            assert_true(fits == (able >= count));
            taken += fits;
            refused += !fits;
            for (uint32_t i = 0; i < NODES && fits; i++)
                least = left[i] >= gpus && left[i] < least ? left[i] : least;
            assert_true(!fits || left[gangs[g].nodes[0]] == least);
            for (uint32_t i = 0; i < count && fits; i++)
                left[gangs[g].nodes[i]] -= gpus;
            gangs[g].count = fits ? count : 0;
            gangs[g].gpus = gpus;
        }
        uint32_t by_gpus[PER_NODE + 1] = {0}, allocated = 0;
        for (uint32_t i = 0; i < NODES; i++) {
            by_gpus[left[i]]++;
            allocated += PER_NODE - left[i];
            assert_int_equal(nodes.free_gpus[i], left[i]);
        }
        assert_memory_equal(by_gpus, nodes.by_gpus, sizeof by_gpus);
        assert_int_equal(exp_nodes_allocated(&nodes), allocated);
    }
    assert_true(taken > 1000 && refused > 1000);
    exp_nodes_clear(&nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(take__fills_the_fullest_nodes_that_suffice),
        cmocka_unit_test(model__free_gpus_and_counts_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
