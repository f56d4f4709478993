/*  test_capacity.c -- what a cluster has free at this moment. */
#include "tests/unit/site-agent/backends/slurm/capacity_testing.h"

/* ---- now ----------------------------------------------------------------------------------------------- */

static void free_nodes_are_counted_by_their_free_gpus(void **state)
{
    (void)state;
    two_nodes();
    const helio_pool_capacity_t *pool = look(0);
    assert_true(helio_text_is(pool->pool, "p"));
    assert_int_equal(pool->nodes_up, 2);
    assert_int_equal(pool->gpus_total, 16);
    assert_int_equal(pool->gpus_allocated, 6);
    assert_int_equal(pool->free_nodes.count, 9);
    assert_int_equal(pool->free_nodes.items[8], 1);
    assert_int_equal(pool->free_nodes.items[2], 1);
    assert_int_equal(free_gpus(pool), 10);
    assert_int_equal(pool->cpus_free, 64 + 58);
    assert_true(pool->memory_free_bytes == 2000);
}

static void attempts_handed_in_are_not_promised_twice(void **state)
{
    (void)state;
    two_nodes();
    hand_in("p", 1, 2); /* best fit: n2 */
    hand_in("p", 1, 4); /* n1 */
    hand_in("elsewhere", 1, 8);
    const helio_pool_capacity_t *pool = look(0);
    assert_int_equal(pool->free_nodes.items[0], 1);
    assert_int_equal(pool->free_nodes.items[4], 1);
    assert_int_equal(pool->gpus_allocated, 12);
    hand_in("p", 2, 1); /* a gang that does not fit holds nothing */
    assert_int_equal(free_gpus(look(0)), 4);
    hand_in("p", 2, 0); /* needs CPUs only */
    assert_int_equal(free_gpus(look(0)), 4);
    assert_int_equal(look(0)->cpus_free, 64 + 58 - 2 - 2);
}

static void an_attempt_handed_in_to_one_pool_takes_from_all_that_share_its_nodes(void **state)
{
    (void)state;
    two_nodes();
    add_pool("q", "H100", 8);
    map_pool("q", "urgent", "");
    assert_int_equal(free_gpus(look(0)), 10);
    hand_in("q", 1, 8);
    assert_int_equal(free_gpus(look(0)), 2);
}

static void a_node_of_several_pools_is_offered_by_one(void **state)
{
    (void)state;
    two_nodes();
    add_pool("q", "H100", 8);
    map_pool("q", "urgent", "");
    add_node("n3", "h100", 4, 1)->partitions = HELIO_TEXT("urgent");
    assert_int_equal(look(0)->gpus_total, 16);
    assert_int_equal(free_gpus(look(0)), 10);
    assert_int_equal(look(1)->gpus_total, 4); /* the node that only it has */
    assert_int_equal(free_gpus(look(1)), 3);
    helio_slurm_free_series(&w.view, 1, arena, &w.series);
    assert_true(w.series.series.items[1].values.items[0] == 3);
    w.partition_items[0].up = false; /* the other partition starts jobs on all of them */
    assert_int_equal(free_gpus(look(0)), 0);
    assert_int_equal(look(0)->withheld, HELIO_DETAIL_WITHHELD_SHARED);
    assert_int_equal(look(1)->gpus_total, 20);
    assert_int_equal(free_gpus(look(1)), 13);
    w.partition_items[1].up = false;
    assert_int_equal(look(0)->gpus_total, 16);
    assert_int_equal(look(0)->withheld, HELIO_DETAIL_WITHHELD_PARTITION);
}

static void share_node(helio_slurm_node_t *node, const char *type, uint32_t count, uint32_t used)
{
    node->gpus[node->gpu_kinds++] = (helio_slurm_gres_t){.type = helio_text_of(type), .count = count, .used = used};
}

static void slices_and_shares_are_the_gpus_of_their_pools(void **state)
{
    (void)state;
    add_pool("whole", "H100", 8);
    add_pool("slices", "A100/1g.5gb", 7)->sharing = HELIO_SHARING_MIG;
    add_pool("shares", "L4", 8)->sharing = HELIO_SHARING_TIMESLICE;
    add_pool("quarters", "A10", 4)->sharing = HELIO_SHARING_MPS;
    map_pool("shares", "main", "shard");
    map_pool("quarters", "main", "mps");
    w.mappings[1].units = 25;
    helio_slurm_node_t *node = add_node("n1", "h100", 8, 2);
    share_node(node, "nvidia_a100-sxm4-80gb_1g.5gb", 7, 3);
    share_node(node, "a100_2g.10gb", 3, 0);
    share_node(add_node("n2", "l4", 2, 1), "shard", 8, 5);
    share_node(add_node("n3", "a10", 1, 1), "mps", 100, 30);
    assert_int_equal(look(0)->gpus_total, 8);
    assert_int_equal(free_gpus(look(0)), 6);
    assert_int_equal(look(1)->gpus_total, 7);
    assert_int_equal(free_gpus(look(1)), 4);
    assert_int_equal(look(2)->gpus_total, 8);
    assert_int_equal(free_gpus(look(2)), 3);
    assert_int_equal(look(3)->gpus_total, 4);
    assert_int_equal(free_gpus(look(3)), 2); /* 70 of 100 are two quarters */
    hand_in("slices", 1, 3);
    hand_in("shares", 1, 2);
    hand_in("quarters", 1, 1);
    assert_int_equal(free_gpus(look(0)), 6);
    assert_int_equal(free_gpus(look(1)), 1);
    assert_int_equal(free_gpus(look(2)), 1);
    assert_int_equal(free_gpus(look(3)), 1);
}

static void shares_in_use_are_those_that_running_jobs_asked_for(void **state)
{
    (void)state;
    add_pool("shares", "L4", 8)->sharing = HELIO_SHARING_TIMESLICE;
    map_pool("shares", "main", "shard");
    share_node(add_node("n1", "l4", 2, 2), "shard", 8, 2); /* Slurm: on two GPUs, "shard:l4:2(IDX:0-1)" */
    for (int i = 0; i < 5; i++)
        add_running("n1", 1, HOUR)->gpu_type = HELIO_TEXT("shard");
    add_running("n1", 1, HOUR)->gpu_type = HELIO_TEXT("l4");
    assert_int_equal(free_gpus(look(0)), 3);
    assert_int_equal(look(0)->gpus_allocated, 5);
}

static void gpus_and_their_shares_are_not_both_offered(void **state)
{
    (void)state;
    add_pool("shares", "L4", 8)->sharing = HELIO_SHARING_TIMESLICE;
    add_pool("whole", "L4", 2);
    map_pool("shares", "main", "shard");
    share_node(add_node("n1", "l4", 2, 0), "shard", 8, 0);
    add_node("n2", "l4", 2, 0);
    assert_int_equal(look(0)->gpus_total, 8);
    assert_int_equal(look(1)->gpus_total, 2); /* of the node without shares */
}

static void what_will_be_free_is_offered_within_what_is_in_use(void **state)
{
    (void)state;
    helio_slurm_ahead_t ahead[] = {{HELIO_TEXT("p"), 5, 2, 4, 10, 1}, {HELIO_TEXT("elsewhere"), 5, 1, 1, 1, 9}};
    two_nodes(); /* 8 and 2 free */
    w.view.ahead = ahead;
    w.view.ahead_count = 2;
    const helio_pool_capacity_t *pool = look(0);
    assert_int_equal(pool->free_nodes.items[2], 1 + 3); /* six GPUs are in use */
    assert_int_equal(pool->cpus_free, 64 + 58 + 12);
    assert_true(pool->memory_free_bytes == 2000 + 30);
    assert_int_equal(pool->gpus_allocated, 6);
    for (uint32_t i = 0; i < 7; i++)
        hand_in("p", 1, 2); /* five of them fit now */
    pool = look(0);
    assert_int_equal(pool->free_nodes.items[2], 1);
    ahead[0].nodes = 20;
    ahead[0].turns = 3; /* what is queued ends within moments, too */
    assert_int_equal(look(0)->free_nodes.items[2], (2 * 16 + 6 - 2 * 2) / 2); /* two of the seven wait */
    ahead[0].nodes = 5;
    ahead[0].turns = 1;
    w.node_items[1].closed = true; /* what ends there leaves nothing */
    assert_int_equal(free_gpus(look(0)), 0);
    w.node_items[1].closed = false;
    w.partition_items[0].up = false;
    assert_int_equal(free_gpus(look(0)), 0);
}

static void closed_and_lost_nodes_offer_nothing(void **state)
{
    (void)state;
    add_pool("p", "H100", 8);
    add_node("closed", "h100", 8, 2)->closed = true;
    add_node("down", "h100", 8, 0)->up = false;
    helio_slurm_node_t *asleep = add_node("asleep", "h100", 8, 0);
    asleep->up = false;
    asleep->idle_off = true;
    add_node("no_cpu", "h100", 8, 1)->cpus_allocated = 64;
    add_node("no_memory", "h100", 8, 1)->memory_allocated_bytes = 1000;
    const helio_pool_capacity_t *pool = look(0);
    assert_int_equal(pool->nodes_up, 4);
    assert_int_equal(pool->gpus_total, 32);
    assert_int_equal(pool->gpus_allocated, 4);
    assert_int_equal(free_gpus(pool), 8); /* Slurm would wake that one */
    assert_int_equal(pool->cpus_free, 64);
    w.partition_items[0].up = false;
    assert_int_equal(free_gpus(look(0)), 0);
    assert_int_equal(look(0)->nodes_up, 4);
}

static void a_pool_is_the_gpus_of_a_type_in_a_partition(void **state)
{
    (void)state;
    helio_slurm_node_t *mixed = add_node("n1", "h100", 4, 1);
    mixed->gpus[1] = (helio_slurm_gres_t){.type = HELIO_TEXT("a100"), .count = 4, .used = 2};
    mixed->gpu_kinds = 2;
    add_node("n2", "", 2, 0);
    add_node("n3", "a100", 8, 0)->partitions = HELIO_TEXT("urgent,maintenance");
    add_pool("h", "H100", 8); /* by its model, in lower case */
    add_pool("h_only", "H100", 8);
    map_pool("h_only", "main", "h100");
    add_pool("a", "NVIDIA A100", 8);
    map_pool("a", "urgent", "a100");
    add_pool("all", "any", 8);
    map_pool("all", "", "*");
    add_pool("none", "T4", 8);
    add_pool("unknown", "H100", 8);
    map_pool("unknown", "no-such", "");
    static const struct {
        uint32_t nodes, total, allocated;
    } expected[] = {{1, 4, 1}, {0, 0, 0}, {2, 12, 2}, {1, 2, 0}, {0, 0, 0}, {0, 0, 0}};
    for (uint32_t p = 0; p < 6; p++) {
        const helio_pool_capacity_t *pool = look(p);
        print_message("pool %u\n", p);
        assert_int_equal(pool->nodes_up, expected[p].nodes);
        assert_int_equal(pool->gpus_total, expected[p].total);
        assert_int_equal(pool->gpus_allocated, expected[p].allocated);
        assert_int_equal(free_gpus(pool), expected[p].total - expected[p].allocated);
    }
}

static void where_no_gpu_has_a_type_they_are_the_pools(void **state)
{
    (void)state;
    add_node("n1", "", 8, 1);
    add_pool("p", "H100", 8);
    add_pool("q", "H100", 8);
    map_pool("q", "", "h100"); /* insists */
    assert_int_equal(free_gpus(look(0)), 7);
    assert_int_equal(look(1)->nodes_up, 0);
    add_node("n2", "t4", 4, 0); /* now it matters */
    assert_int_equal(look(0)->nodes_up, 0);
}

static void a_pool_has_the_partitions_and_features_of_its_nodes(void **state)
{
    (void)state;
    add_pool("p", "H100", 8);
    add_pool("q", "A100", 8);
    add_node("n1", "h100", 8, 0)->features = HELIO_TEXT("ib,rack1");
    add_node("n2", "h100", 8, 0)->features = HELIO_TEXT("rack2,ib");
    helio_slurm_node_t *node = add_node("n3", "a100", 8, 0);
    node->partitions = HELIO_TEXT("main,old");
    const helio_pool_capacity_t *pool = look(0);
    assert_int_equal(pool->options.count, 2);
    assert_true(helio_text_is(pool->options.items[0].option, "partition"));
    assert_true(helio_text_is(pool->options.items[0].values, "main,urgent"));
    assert_true(helio_text_is(pool->options.items[1].option, "constraint"));
    assert_true(helio_text_is(pool->options.items[1].values, "ib,rack1,rack2"));
    pool = look(1);
    assert_true(helio_text_is(pool->options.items[0].values, "main,old"));
    assert_int_equal(pool->options.items[1].values.size, 0);
    static char many[3000];
    for (uint32_t i = 0; i < 2999; i++)
        many[i] = i % 10 ? (char)('a' + i / 10 % 26) : ',';
    for (uint32_t i = 0; i < 2990; i += 10)
        many[i + 1] = (char)('a' + i / 260), many[i + 2] = (char)('a' + i / 10 % 26);
    node->features = (helio_text_t){many + 1, 2998};
    assert_int_equal(look(1)->options.count, 1); /* too many to report: any may be there */
    node->partitions = HELIO_TEXT("elsewhere");
    assert_int_equal(look(1)->options.count, 0);
}

static void a_pool_without_gpus_offers_nodes_with_cpus(void **state)
{
    (void)state;
    add_pool("cpu", "", 0);
    add_node("n1", "h100", 8, 8)->cpus_allocated = 8;
    add_node("n2", "", 0, 0)->gpu_kinds = 0;
    add_node("n3", "", 0, 0)->cpus_allocated = 64;
    const helio_pool_capacity_t *pool = look(0);
    assert_int_equal(pool->nodes_up, 3);
    assert_int_equal(pool->gpus_total, 0);
    assert_int_equal(pool->free_nodes.count, 1);
    assert_int_equal(pool->free_nodes.items[0], 2);
    assert_int_equal(pool->cpus_free, 56 + 64);
    helio_slurm_free_series(&w.view, 48, arena, &w.series);
    assert_int_equal(w.series.series.count, 0);
}

static void more_gpus_than_the_site_file_says_are_counted_at_its_most(void **state)
{
    (void)state;
    add_pool("p", "H100", 4);
    add_node("n1", "h100", 8, 1);
    assert_int_equal(look(0)->free_nodes.count, 5);
    assert_int_equal(look(0)->free_nodes.items[4], 1);
    w.pool_items[0].gpus_per_node = 0;
    assert_int_equal(look(0)->free_nodes.count, 9);
    assert_int_equal(look(0)->free_nodes.items[7], 1);
}

static void reservations_keep_their_nodes_while_they_last(void **state)
{
    (void)state;
    two_nodes();
    reserve("n[1-2]", NOW_S + 1, NOW_S + HOUR);
    assert_int_equal(look(0)->gpus_reserved, 0);
    w.view.wall_ms += 1000;
    assert_int_equal(look(0)->gpus_reserved, 10); /* less what runs on */
    assert_int_equal(look(0)->gpus_allocated, 6);
    assert_int_equal(free_gpus(look(0)), 0);
    w.view.wall_ms += HOUR * 1000;
    assert_int_equal(look(0)->gpus_reserved, 0);
    assert_int_equal(free_gpus(look(0)), 10);
}

static void a_reservation_of_some_cores_leaves_the_rest_to_everybody(void **state)
{
    (void)state;
    two_nodes();
    w.node_items[0].reserved = w.node_items[1].reserved = true;
    helio_slurm_reservation_t *one = reserve("n[1-2]", NOW_S - 1, NOW_S + HOUR);
    one->cpus = 4;
    assert_int_equal(free_gpus(look(0)), 10);
    one->gpus = 3; /* on which of them is not told: two on each */
    assert_int_equal(look(0)->gpus_reserved, 4);
    assert_int_equal(free_gpus(look(0)), 6);
    one->cpus = 128;
    assert_int_equal(free_gpus(look(0)), 0);
    w.reservations.count = 0; /* the node says so and nobody explains it */
    assert_int_equal(free_gpus(look(0)), 0);
    assert_int_equal(look(0)->gpus_reserved, 10);
}

static void everybodys_jobs_are_counted(void **state)
{
    (void)state;
    two_nodes();
    add_pool("q", "H100", 8);
    map_pool("q", "urgent", "");
    (void)add_running("n[1-2]", 1, 0);
    add_running("n2", 1, 0)->partition = HELIO_TEXT("urgent"); /* on nodes of both */
    (void)add_running("login1", 0, 0);
    add_running("n1", 1, 0)->state = HELIO_SLURM_COMPLETED;
    add_running("n1", 1, 0)->state = HELIO_SLURM_COMPLETING;
    (void)add_pending(1, 1, "", 0, 0);
    add_pending(1, 1, "", 0, 0)->partition = HELIO_TEXT("shut,urgent");
    add_pending(1, 1, "", 0, 0)->gpu_type = HELIO_TEXT("a100");
    add_pending(1, 1, "", 0, 0)->state = HELIO_SLURM_FAILED; /* refused, and still listed */
    assert_int_equal(look(0)->jobs_running, 3);
    assert_int_equal(look(1)->jobs_running, 0); /* its nodes are offered by the other */
    assert_int_equal(look(0)->jobs_queued, 1);
    assert_int_equal(look(1)->jobs_queued, 1);
}

static void nothing_known_is_nothing_offered(void **state)
{
    (void)state;
    two_nodes();
    (void)add_running("n2", 6, NOW_S + 100);
    w.view.nodes = NULL;
    assert_int_equal(look(0)->nodes_up, 0);
    assert_int_equal(look(0)->expected_wait_s.count, 0);
    w.view.nodes = &w.nodes;
    w.view.jobs = NULL;
    w.view.reservations = NULL;
    w.view.partitions = NULL;
    w.view.settings = NULL;
    const helio_pool_capacity_t *pool = look(0);
    assert_int_equal(free_gpus(pool), 10);
    assert_true(pool->expected_wait_s.items[0] == 0 && pool->expected_wait_s.items[1] == UINT32_MAX);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(free_nodes_are_counted_by_their_free_gpus),
        TEST(attempts_handed_in_are_not_promised_twice),
        TEST(an_attempt_handed_in_to_one_pool_takes_from_all_that_share_its_nodes),
        TEST(a_node_of_several_pools_is_offered_by_one),
        TEST(slices_and_shares_are_the_gpus_of_their_pools),
        TEST(shares_in_use_are_those_that_running_jobs_asked_for),
        TEST(gpus_and_their_shares_are_not_both_offered),
        TEST(what_will_be_free_is_offered_within_what_is_in_use),
        TEST(closed_and_lost_nodes_offer_nothing),
        TEST(a_pool_is_the_gpus_of_a_type_in_a_partition),
        TEST(where_no_gpu_has_a_type_they_are_the_pools),
        TEST(a_pool_has_the_partitions_and_features_of_its_nodes),
        TEST(a_pool_without_gpus_offers_nodes_with_cpus),
        TEST(more_gpus_than_the_site_file_says_are_counted_at_its_most),
        TEST(reservations_keep_their_nodes_while_they_last),
        TEST(a_reservation_of_some_cores_leaves_the_rest_to_everybody),
        TEST(everybodys_jobs_are_counted),
        TEST(nothing_known_is_nothing_offered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
