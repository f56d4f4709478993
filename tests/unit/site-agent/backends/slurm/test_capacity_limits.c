/*  test_capacity_limits.c -- what accounts and QOS may take bounds what is offered. */
#include "federation/reason/detail.h"
#include "tests/unit/site-agent/backends/slurm/capacity_testing.h"

static helio_user_rule_t lines[2];
static helio_job_rules_t rules;
static helio_slurm_association_t association_items[4];
static helio_slurm_associations_t associations;
static helio_slurm_qos_t qos_items[1];
static helio_slurm_all_qos_t qos;

/*  Ada, in the account lab below the account root; two nodes with 8 and 2 free GPUs. */
static void open_limits(void)
{
    two_nodes();
    lines[0] =
        (helio_user_rule_t){.tenant = HELIO_TEXT("acme"), .user = HELIO_TEXT("*"), .unix_user = HELIO_TEXT("ada")};
    lines[1] = (helio_user_rule_t){.tenant = HELIO_TEXT("other"),
                                   .user = HELIO_TEXT("*"),
                                   .unix_user = HELIO_TEXT("ada"),
                                   .account = HELIO_TEXT("rich")};
    rules = (helio_job_rules_t){.users = {lines, 1}};
    const helio_slurm_room_t all = helio_slurm_room_unlimited();
    association_items[0] = (helio_slurm_association_t){.account = HELIO_TEXT("root"), .left = all};
    association_items[1] =
        (helio_slurm_association_t){.account = HELIO_TEXT("lab"), .parent = HELIO_TEXT("root"), .left = all};
    association_items[2] = (helio_slurm_association_t){
        .account = HELIO_TEXT("lab"), .user = HELIO_TEXT("ada"), .uid = 1000, .is_default = true, .left = all};
    association_items[3] =
        (helio_slurm_association_t){.account = HELIO_TEXT("rich"), .user = HELIO_TEXT("ada"), .uid = 1000, .left = all};
    associations = (helio_slurm_associations_t){association_items, 4};
    qos_items[0] = (helio_slurm_qos_t){.name = HELIO_TEXT("part"), .left = all};
    qos = (helio_slurm_all_qos_t){qos_items, 1};
    w.view.rules = &rules;
    w.view.associations = &associations;
    w.view.qos = &qos;
}

static void limits__of_the_user_and_all_accounts_above_bound_what_is_offered(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        (void)end(NULL);
        (void)begin(NULL);
        open_limits();
        assert_int_equal(free_gpus(look(0)), 10);
        association_items[i].left.gpus = 5;
        const helio_pool_capacity_t *pool = look(0);
        assert_int_equal(free_gpus(pool), 5);
        assert_int_equal(pool->free_nodes.items[5], 1);
        assert_int_equal(pool->free_nodes.items[0], 1);
        association_items[i].left.gpus = 9;
        assert_int_equal(look(0)->free_nodes.items[8], 1);
        assert_int_equal(w.capacity.pools.items[0].free_nodes.items[1], 1);
        assert_int_equal(free_gpus(&w.capacity.pools.items[0]), 9);
        hand_in("p", 1, 2); /* Slurm does not count it yet */
        assert_int_equal(free_gpus(look(0)), 7);
        assert_int_equal(w.capacity.pools.items[0].withheld, HELIO_DETAIL_NONE);
        association_items[i].left.jobs = 1;
        assert_int_equal(free_gpus(look(0)), 0);
        assert_int_equal(w.capacity.pools.items[0].withheld, HELIO_DETAIL_WITHHELD_LIMITS);
    }
}

static void limits__of_the_partitions_qos_bound_it_too(void **state)
{
    (void)state;
    open_limits();
    qos_items[0].left.gpus = 3;
    assert_int_equal(free_gpus(look(0)), 10); /* of another partition */
    w.partition_items[0].qos = HELIO_TEXT("part");
    assert_int_equal(free_gpus(look(0)), 3);
    qos_items[0].users = HELIO_TEXT(" 1000={MaxJobsPU=N(1) MaxTRESPU=cpu=3(1),gres/gpu=3(2)}");
    assert_int_equal(free_gpus(look(0)), 1);
    assert_int_equal(w.capacity.pools.items[0].cpus_free, 2);
}

static void limits__one_line_of_the_rules_that_may_take_more_is_enough(void **state)
{
    (void)state;
    open_limits();
    association_items[1].left.gpus = 0;
    assert_int_equal(free_gpus(look(0)), 0);
    rules.users.count = 2;
    assert_int_equal(free_gpus(look(0)), 10);
    association_items[3].left.gpus = 4;
    assert_int_equal(free_gpus(look(0)), 4);
    rules.users.count = 1;
    lines[0].unix_user = HELIO_TEXT("bob"); /* whom Slurm does not know */
    assert_int_equal(free_gpus(look(0)), 10);
}

static void limits__a_partition_that_starts_nothing_says_so(void **state)
{
    (void)state;
    two_nodes();
    w.partition_items[0].up = false;
    assert_int_equal(free_gpus(look(0)), 0);
    assert_int_equal(w.capacity.pools.items[0].withheld, HELIO_DETAIL_WITHHELD_PARTITION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(limits__of_the_user_and_all_accounts_above_bound_what_is_offered, begin, end),
        cmocka_unit_test_setup_teardown(limits__of_the_partitions_qos_bound_it_too, begin, end),
        cmocka_unit_test_setup_teardown(limits__one_line_of_the_rules_that_may_take_more_is_enough, begin, end),
        cmocka_unit_test_setup_teardown(limits__a_partition_that_starts_nothing_says_so, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
