/*  test_capacity.c -- what a cluster offers, from its nodes and pods. */
#include "tests/unit/site-agent/backends/kubernetes/recorded.h"

#include "site-agent/backends/kubernetes/capacity.h"
#include "tests/unit/site-agent/backends/kubernetes/figures.h"

static helio_pool_t pools[4];
static helio_site_profile_t site;
static helio_kube_waiting_t waiting[8];
static figures_view_t view;
static uint32_t waiting_count;
static const char *const *tolerated;
static uint32_t tolerated_count;
static helio_aev_capacity_t capacity;

static int begin_view(void **state)
{
    memset(pools, 0, sizeof pools);
    memset(waiting, 0, sizeof waiting);
    site = (helio_site_profile_t){.pools = {pools, 0}};
    view = (figures_view_t){0};
    waiting_count = tolerated_count = 0;
    return begin_documents(state);
}

static void add_pool(const char *name, const char *gpu, uint32_t sharing)
{
    pools[site.pools.count++] =
        (helio_pool_t){.name = helio_text_of(name), .gpu = helio_text_of(gpu), .sharing = sharing};
}

static void hand_in(const char *pool, uint32_t nodes, uint32_t gpus)
{
    waiting[waiting_count++] = (helio_kube_waiting_t){helio_text_of(pool), nodes, gpus, 1, 0};
}

static const helio_pool_capacity_t *look(uint32_t pool)
{
    helio_kube_fleet_t *fleet = helio_kube_fleet_new(&site, tolerated, tolerated_count);
    figures_put(fleet, &view, false);
    helio_kube_capacity(fleet, waiting, waiting_count, arena, &capacity);
    helio_kube_fleet_destroy(&fleet);
    assert_int_equal(capacity.pools.count, site.pools.count);
    return &capacity.pools.items[pool];
}

static uint64_t free_gpus(const helio_pool_capacity_t *pool)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < pool->free_nodes.count; i++)
        sum += (uint64_t)i * pool->free_nodes.items[i];
    return sum;
}

#define READY "'status': {'conditions': [{'type': 'Ready', 'status': 'True'}], "
#define H100 "'labels': {'nvidia.com/gpu.product': 'NVIDIA-H100-80GB-HBM3'}"
#define NODE(name, spec, gpus)                                                \
    "{'metadata': {'name': '" name "', " H100 "}, 'spec': {" spec "}, " READY \
    "'allocatable': {'cpu': '63500m', 'memory': '1000', 'nvidia.com/gpu': '" gpus "'}}}"
#define POD(node, phase, gpus, cpu)                                                           \
    "{'spec': {'nodeName': " node ", 'containers': [{'resources': {'requests': {'cpu': '" cpu \
    "', 'memory': '100', 'nvidia.com/gpu': '" gpus "'}}}]}, 'status': {'phase': '" phase "'}}"

static void two_nodes(void)
{
    add_pool("p", "H100", HELIO_SHARING_NONE);
    view.nodes = written("[" NODE("a", "", "8") ", " NODE("b", "", "8") "]");
}

static void pods_take_what_they_request_until_they_end(void **state)
{
    (void)state;
    two_nodes();
    view.pods = written("[" POD("'a'", "Running", "3", "2500m") ", " POD("'a'", "Pending", "1", "1") ", " POD(
        "'b'", "Succeeded", "8", "60") ", " POD("'b'", "Failed", "8", "60") ", " POD("null", "Pending", "2", "1") "]");
    const helio_pool_capacity_t *pool = look(0);
    assert_int_equal(pool->nodes_up, 2);
    assert_int_equal(pool->gpus_total, 16);
    assert_int_equal(pool->gpus_allocated, 4);
    assert_int_equal(pool->free_nodes.count, 9);
    assert_int_equal(pool->free_nodes.items[8], 1);
    assert_int_equal(pool->free_nodes.items[4], 1);
    assert_int_equal(pool->cpus_free, 60 + 63);
    assert_true(pool->memory_free_bytes == 800 + 1000);
    assert_int_equal(pool->jobs_running, 2);
    assert_int_equal(pool->jobs_queued, 1);
}

static void attempts_handed_in_are_not_promised_twice(void **state)
{
    (void)state;
    two_nodes();
    view.pods = written("[" POD("'b'", "Running", "6", "1") "]");
    hand_in("p", 1, 2); /* best fit: b */
    hand_in("p", 1, 4); /* a */
    hand_in("elsewhere", 1, 8);
    const helio_pool_capacity_t *pool = look(0);
    assert_int_equal(pool->free_nodes.items[0], 1);
    assert_int_equal(pool->free_nodes.items[4], 1);
    assert_int_equal(pool->gpus_allocated, 12);
}

static void a_gang_takes_different_nodes(void **state)
{
    (void)state;
    two_nodes();
    hand_in("p", 2, 4);
    assert_int_equal(look(0)->free_nodes.items[4], 2);
    waiting_count = 0;
    hand_in("p", 1, 8);
    assert_int_equal(look(0)->free_nodes.items[8], 1);
    assert_int_equal(free_gpus(look(0)), 8);
}

static void closed_and_lost_nodes_offer_nothing(void **state)
{
    (void)state;
    add_pool("p", "H100", HELIO_SHARING_NONE);
    view.nodes = written("[" NODE("cordoned", "'unschedulable': true", "8") ", " NODE(
        "tainted", "'taints': [{'key': 'reserved', 'effect': 'NoSchedule'}]",
        "4") ", " NODE("ours", "'taints': [{'key': 'nvidia.com/gpu', 'effect': 'NoSchedule'}]",
                       "2") ", " NODE("soft", "'taints': [{'key': 'slow', 'effect': 'PreferNoSchedule'}]",
                                      "1") ", "
                                           "{'metadata': {'name': 'lost', " H100
                                           "}, 'status': {'conditions': [{'type': 'Ready', 'status': 'Unknown'}], "
                                           "'allocatable': {'nvidia.com/gpu': '8'}}}]");
    static const char *const gpus[] = {"nvidia.com/gpu"};
    tolerated = gpus;
    tolerated_count = 1;
    const helio_pool_capacity_t *pool = look(0);
    assert_int_equal(pool->nodes_up, 4);
    assert_int_equal(pool->gpus_total, 15);
    assert_int_equal(pool->gpus_reserved, 12);
    assert_int_equal(free_gpus(pool), 3);
    tolerated_count = 0;
    assert_int_equal(free_gpus(look(0)), 1);
}

static void a_node_without_cpu_or_memory_offers_nothing(void **state)
{
    (void)state;
    two_nodes();
    view.pods = written("[" POD("'a'", "Running", "0", "63") "]");
    assert_int_equal(free_gpus(look(0)), 8);
    assert_int_equal(look(0)->gpus_allocated, 0);
    assert_int_equal(look(0)->cpus_free, 63);
}

static void init_containers_count_by_the_greatest(void **state)
{
    (void)state;
    two_nodes();
    view.pods =
        written("[{'spec': {'nodeName': 'a', 'containers': [{'resources': {'requests': {'nvidia.com/gpu': 1}}}, "
                "{'resources': {'requests': {'nvidia.com/gpu': '2'}}}], 'initContainers': [{'resources': "
                "{'requests': {'nvidia.com/gpu': '5'}}}]}, 'status': {'phase': 'Running'}}]");
    assert_int_equal(look(0)->gpus_allocated, 5);
}

static void more_requested_than_there_is_leaves_nothing(void **state)
{
    (void)state;
    two_nodes();
    view.pods = written("[" POD("'a'", "Running", "9", "100") "]");
    assert_int_equal(look(0)->gpus_allocated, 8);
    assert_int_equal(free_gpus(look(0)), 8);
    assert_int_equal(look(0)->cpus_free, 63);
}

/*  Beyond 64 bits, as a quantity, when it is rounded up, and as a sum of two. */
static void requests_of_any_size_leave_nothing(void **state)
{
    (void)state;
    two_nodes();
    view.pods = written("[" POD("'a'", "Running", "18446744073709551615m", "1E") "]");
    assert_int_equal(look(0)->gpus_allocated, 8);
    assert_int_equal(look(0)->cpus_free, 63);
    view.pods = written("[" POD("'a'", "Running", "9223372036854775808m", "9223372036854775808m") ", " POD(
        "'a'", "Running", "9223372036854775808m", "9223372036854775808m") "]");
    assert_int_equal(look(0)->gpus_allocated, 8);
    assert_int_equal(look(0)->cpus_free, 63);
    view.pods = written("[{'spec': {'nodeName': 'a', 'containers': [{'resources': {'requests': {'nvidia.com/gpu': "
                        "2305843009213693952}}}]}}]"); /* a thousand times that is 0 in 64 bits */
    assert_int_equal(look(0)->gpus_allocated, 8);
}

/*  Whoever may write the status of nodes; the figures of others stay as they are. */
static void a_node_cannot_have_more_than_any_has(void **state)
{
    (void)state;
    add_pool("p", "H100", HELIO_SHARING_NONE);
    view.nodes = written("[" NODE("a", "", "8") ", " NODE("b", "", "18446744073709551615") ", " NODE(
        "c", "", "4294967304") ", " NODE("d", "", "4097") "]");
    assert_int_equal(look(0)->nodes_up, 1);
    assert_int_equal(look(0)->gpus_total, 8);
    assert_int_equal(free_gpus(look(0)), 8);
    view.nodes = written("[{'metadata': {'name': 'a', " H100 "}, " READY
                         "'allocatable': {'cpu': '1E', 'memory': '1Ei', 'nvidia.com/gpu': '8'}}}]");
    assert_int_equal(look(0)->gpus_total, 8);
    assert_int_equal(look(0)->cpus_free, 0);
    assert_true(look(0)->memory_free_bytes == 0);
    assert_int_equal(free_gpus(look(0)), 0);
}

static void nothing_known_is_nothing_offered(void **state)
{
    (void)state;
    add_pool("p", "H100", HELIO_SHARING_NONE);
    assert_int_equal(look(0)->nodes_up, 0);
    assert_int_equal(free_gpus(look(0)), 0);
}

static void resources_follow_from_gpu_and_sharing(void **state)
{
    (void)state;
    static const struct {
        const char *gpu;
        uint32_t sharing;
        const char *resource;
    } cases[] = {
        {"H100", HELIO_SHARING_NONE, "nvidia.com/gpu"},
        {"H200/3g.71gb", HELIO_SHARING_MIG, "nvidia.com/mig-3g.71gb"},
        {"H100", HELIO_SHARING_TIMESLICE, "nvidia.com/gpu.shared"},
        {"H100", HELIO_SHARING_MPS, "nvidia.com/gpu.shared"},
        {"", HELIO_SHARING_NONE, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        helio_pool_t pool = {.gpu = helio_text_of(cases[i].gpu), .sharing = cases[i].sharing};
        char name[HELIO_KUBE_RESOURCE_SIZE];
        helio_kube_resource(&pool, name);
        assert_string_equal(name, cases[i].resource);
    }
}

static void products_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *product, *gpu;
        bool is;
        uint32_t sharing;
    } cases[] = {
        {"NVIDIA-H200-MIG-3g.71gb", "H200", false,
         0}, /* by the strategy `single` its slices are called nvidia.com/gpu */
        {"NVIDIA-L4-SHARED", "L4", false, 0},
        {"NVIDIA-L4-SHARED", "L4", true, HELIO_SHARING_TIMESLICE},
        {"NVIDIA-L4", "L4", true, HELIO_SHARING_MPS},
        {"NVIDIA-H100-80GB-HBM3", "H100", true, 0},
        {"NVIDIA-H200", "H200", true, 0},
        {"NVIDIA-H200", "h200", true, 0},
        {"Tesla-V100-SXM2-16GB", "V100", true, 0},
        {"NVIDIA-H200-MIG-3g.71gb", "H200/3g.71gb", true, 0},
        {"NVIDIA-GH200-480GB", "H200", false, 0},
        {"NVIDIA-A100-SXM4-40GB", "A10", false, 0},
        {"NVIDIA-A10", "A100", false, 0},
        {"NVIDIA-L40S", "L40", false, 0},
        {"", "H100", false, 0},
        {"NVIDIA-H100", "", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        helio_pool_t pool = {.gpu = helio_text_of(cases[i].gpu), .sharing = cases[i].sharing};
        if (helio_kube_is_product(helio_text_of(cases[i].product), &pool) != cases[i].is)
            fail_msg("%s and %s", cases[i].product, cases[i].gpu);
    }
}

/*  Whole GPUs, two sizes of slices and nodes without any, from one list. */
static void recorded_nodes_become_pools(void **state)
{
    (void)state;
    view.nodes = items(recorded("core/10-node-list"));
    add_pool("h200", "H200", HELIO_SHARING_NONE);
    add_pool("large", "H200/3g.71gb", HELIO_SHARING_MIG);
    add_pool("small", "H200/1g.18gb", HELIO_SHARING_MIG);
    add_pool("cpu", "", HELIO_SHARING_NONE);
    assert_int_equal(look(0)->gpus_total, 8);
    assert_int_equal(look(0)->nodes_up, 1);
    assert_int_equal(look(0)->cpus_free, 191);
    assert_int_equal(look(1)->gpus_total, 4);
    assert_int_equal(look(1)->free_nodes.items[4], 1);
    assert_int_equal(look(2)->gpus_total, 14);
    assert_int_equal(look(3)->nodes_up, 1);
    assert_int_equal(look(3)->cpus_free, 0); /* tainted, since it is not ready yet */
}

static void recorded_pods_are_subtracted(void **state)
{
    (void)state;
    view.nodes = items(recorded("core/10-node-list"));
    add_pool("h200", "H200", HELIO_SHARING_NONE);
    view.pods = items(recorded("core/23-pod-list-running"));
    assert_int_equal(look(0)->gpus_allocated, 2);
    assert_int_equal(look(0)->cpus_free, 191); /* 191.5 less a half */
    view.pods = items(recorded("core/25-pod-list-succeeded"));
    assert_int_equal(look(0)->gpus_allocated, 0);
    view.pods = items(recorded("core/35-pod-list-unschedulable"));
    assert_int_equal(look(0)->gpus_allocated, 0);
    assert_int_equal(look(0)->jobs_queued, 1);
}

static void a_recorded_lost_node_is_not_up(void **state)
{
    (void)state;
    json_t *list = written("[]");
    json_array_append(list, recorded("resilience/71-node-not-ready"));
    view.nodes = list;
    add_pool("h200", "H200", HELIO_SHARING_NONE);
    assert_int_equal(look(0)->nodes_up, 0);
    assert_int_equal(json_array_append(list, recorded("resilience/73-node-ready-again")), 0);
    assert_int_equal(look(0)->nodes_up, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_view, end_documents)
    const struct CMUnitTest tests[] = {
        TEST(pods_take_what_they_request_until_they_end),
        TEST(attempts_handed_in_are_not_promised_twice),
        TEST(a_gang_takes_different_nodes),
        TEST(closed_and_lost_nodes_offer_nothing),
        TEST(a_node_without_cpu_or_memory_offers_nothing),
        TEST(init_containers_count_by_the_greatest),
        TEST(more_requested_than_there_is_leaves_nothing),
        TEST(requests_of_any_size_leave_nothing),
        TEST(a_node_cannot_have_more_than_any_has),
        TEST(nothing_known_is_nothing_offered),
        TEST(resources_follow_from_gpu_and_sharing),
        TEST(products_are_told_apart),
        TEST(recorded_nodes_become_pools),
        TEST(recorded_pods_are_subtracted),
        TEST(a_recorded_lost_node_is_not_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
