/*  test_instances.c -- instances of one pool: how often a provider takes one away, and what the plan never does. */
#include "simulator/experiment/instances.h"
#include "simulator/experiment/scales.h"
#include "tests/unit/simulator/experiment/fleet_testing.h"

#define HOUR INT64_C(3600000)
#define T0 INT64_C(1696176000000)

static exp_instances_t *instances_of(const exp_fleet_t *fleet, uint64_t seed, exp_nodes_t *nodes)
{
    const helio_pool_t *pool = &fleet->items[0].profile.pools.items[0];
    exp_nodes_init(nodes, helio_pool_nodes_most(pool), pool->gpus_per_node);
    return exp_instances_new(pool, exp_scales_rule(&fleet->items[0], 0), seed, nodes, T0);
}

/*  Nodes that are always wanted: between two interruptions of one are two hours, on average, and the notice. */
static void interruptions__are_as_frequent_as_said(void **state)
{
    (void)state;
    exp_fleet_t fleet =
        fleet_of("sites:\n- name: a\n  pools: [{name: p, gpu: T4, nodes: 50, gpus_per_node: 1, owned: false, "
                 "spot: true, interruptions_per_h: 0.5, spot_usd_per_gpu_h: 1}]\n");
    exp_nodes_t nodes;
    exp_instances_t *self = instances_of(&fleet, 1, &nodes);
    const double expected = 50 * 1000 / (2 + (double)EXP_NOTICE_MS / HOUR);
    uint32_t taken = 0, node;
    for (int64_t now_ms = T0; now_ms < T0 + 1000 * HOUR; now_ms = exp_instances_next_ms(self, true, now_ms)) {
        while (exp_instances_take(self, now_ms, &node))
            taken++;
        (void)exp_instances_renew(self, now_ms);
        assert_true(nodes.offered <= 50);
    }
    assert_true(taken > expected * 0.98 && taken < expected * 1.02);
    exp_instances_destroy(&self);
    exp_nodes_clear(&nodes);
}

/*  Demand and jobs at random: never more than max, never an end of a node with a job (exp_nodes_withdraw asserts that), and
 *  in the end none is left. */
static void random__demand_is_followed_within_bounds(void **state)
{
    (void)state;
    exp_fleet_t fleet = fleet_of(
        "sites:\n- name: a\n  pools: [{name: p, gpu: T4, nodes: 2, gpus_per_node: 4, provision: 3m, owned: false,\n"
        "    spot: true, interruptions_per_h: 1, spot_usd_per_gpu_h: 1}]\n  scale: [{pool: p, max: 6, min: 1, down_for: 1m}]\n");
    exp_nodes_t nodes;
    exp_instances_t *self = instances_of(&fleet, 7, &nodes);
    helio_rng_t rng = {7};
    exp_instance_time_t time;
    bool held[8] = {false};
    uint32_t node, most = 0;
    double paid_h = 0;
    for (int64_t now_ms = T0; now_ms < T0 + 200 * HOUR; now_ms += EXP_SCALE_MS) {
        bool quiet = now_ms > T0 + 190 * HOUR;
        while (exp_instances_take(self, now_ms, &node)) {
            if (held[node])
                exp_nodes_give(&nodes, &node, 1, 4);
            held[node] = false;
        }
        (void)exp_instances_renew(self, now_ms);
        exp_instances_demand(self, quiet ? 0 : (uint32_t)helio_rng_below(&rng, 10), now_ms);
        (void)exp_instances_plan(self, now_ms);
        most = nodes.offered > most ? nodes.offered : most;
        assert_true(nodes.offered <= 8);
        for (uint32_t i = 0; i < 8; i++)
            if (held[i] && helio_rng_below(&rng, 20) == 0) {
                exp_nodes_give(&nodes, &i, 1, 4);
                held[i] = false;
            }
        if (!quiet && helio_rng_below(&rng, 3) == 0 && exp_nodes_take(&nodes, 1, 4, &node)) {
            held[node] = true;
            exp_instances_order(self, now_ms);
        }
        while (exp_instances_account(self, false, now_ms, &time))
            paid_h += (double)(time.to_ms - time.from_ms) / HOUR;
    }
    assert_true(most == 8 && nodes.offered <= 3 && paid_h > 6 * 20 && paid_h < 6 * 200);
    exp_instances_destroy(&self);
    exp_nodes_clear(&nodes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(interruptions__are_as_frequent_as_said),
        CASE(random__demand_is_followed_within_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
