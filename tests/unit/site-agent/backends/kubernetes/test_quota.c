/*  test_quota.c -- what Kueue's queues have left for pools, and what that leaves of their figures. */
#include "tests/unit/site-agent/backends/kubernetes/recorded.h"

#include "site-agent/backends/kubernetes/quota.h"

static helio_pool_t pools[3];
static helio_site_profile_t site;
static helio_kube_quota_t quota;

static int begin_quota(void **state)
{
    pools[0] = (helio_pool_t){.name = HELIO_TEXT("h200"), .gpu = HELIO_TEXT("H200")};
    pools[1] = (helio_pool_t){.name = HELIO_TEXT("h100"), .gpu = HELIO_TEXT("H100")};
    pools[2] = (helio_pool_t){.name = HELIO_TEXT("cpu")};
    site = (helio_site_profile_t){.pools = {pools, 3}};
    return begin_documents(state);
}

/* ---- the queues ------------------------------------------------------------------------------------------ */

/*  64 CPUs, 512 GiB and 8 GPUs of the flavor h200, whose nodes have NVIDIA-H200. */
static void a_recorded_queue_has_its_nominal_quota_left(void **state)
{
    (void)state;
    helio_kube_quota_read(recorded("kueue/00-localqueue-get"), recorded("kueue/01-clusterqueue-get"), &site, &quota);
    assert_true(quota.known);
    assert_true(quota.pools[0].gpus == 8);
    assert_true(quota.pools[0].cpu_milli == 64000);
    assert_true(quota.pools[0].memory_bytes == UINT64_C(512) << 30);
    assert_true(quota.pools[1].gpus == 0); /* no flavor is an H100's */
    assert_true(quota.pools[2].gpus == UINT64_MAX);
}

static void a_recorded_reservation_is_subtracted(void **state)
{
    (void)state;
    helio_kube_quota_read(recorded("kueue/16-localqueue-one-pending"),
                          recorded("kueue/16-clusterqueue-one-admitted-one-pending"), &site, &quota);
    assert_true(quota.pools[0].gpus == 0);
    assert_true(quota.pools[0].cpu_milli == 63500);
    assert_true(quota.pools[0].memory_bytes == UINT64_C(511) << 30);
}

static void a_recorded_queue_that_is_stopped_admits_nothing(void **state)
{
    (void)state;
    helio_kube_quota_read(recorded("kueue/00-localqueue-get"), recorded("kueue/41-clusterqueue-stopped"), &site,
                          &quota);
    assert_true(quota.known && quota.pools[0].gpus == 0 && quota.pools[2].cpu_milli == 0);
}

static void a_queue_that_does_not_exist_admits_nothing(void **state)
{
    (void)state;
    helio_kube_quota_read(NULL, NULL, &site, &quota);
    assert_true(quota.known && quota.pools[0].gpus == 0);
    helio_kube_quota_read(written("{'spec': {'clusterQueue': 'gone'}}"), NULL, &site, &quota);
    assert_true(quota.known && quota.pools[0].gpus == 0);
}

/*  Two flavors of a GPU, one of another, and one whose nodes have no label of a GPU. */
static void flavors_are_added_for_the_pool_whose_gpu_they_are(void **state)
{
    (void)state;
    const json_t *local = written(
        "{'status': {'flavors': [{'name': 'a', 'nodeLabels': {'nvidia.com/gpu.product': 'NVIDIA-H200'}}, {'name': 'b', "
        "'nodeLabels': {'nvidia.com/gpu.product': 'NVIDIA-H200-NVL', 'zone': 'x'}}, {'name': 'c', 'nodeLabels': "
        "{'nvidia.com/gpu.product': 'NVIDIA-H100-80GB-HBM3'}}, {'name': 'd'}]}}");
    const json_t *cluster = written(
        "{'spec': {'resourceGroups': [{'coveredResources': ['nvidia.com/gpu'], 'flavors': ["
        "{'name': 'a', 'resources': [{'name': 'nvidia.com/gpu', 'nominalQuota': '8'}]},"
        "{'name': 'b', 'resources': [{'name': 'nvidia.com/gpu', 'nominalQuota': 16}]},"
        "{'name': 'c', 'resources': [{'name': 'nvidia.com/gpu', 'nominalQuota': '32'}]},"
        "{'name': 'd', 'resources': [{'name': 'nvidia.com/gpu', 'nominalQuota': '64'}]}]}]},"
        "'status': {'flavorsReservation': [{'name': 'a', 'resources': [{'name': 'nvidia.com/gpu', 'total': '3'}]}, "
        "{'name': 'b', 'resources': [{'name': 'nvidia.com/gpu', 'borrowed': '4', 'total': '20'}]}]}}");
    helio_kube_quota_read(local, cluster, &site, &quota);
    assert_true(quota.pools[0].gpus == 5 + 0 + 64); /* what is borrowed is not owed */
    assert_true(quota.pools[1].gpus == 32 + 64);
    assert_true(quota.pools[0].cpu_milli == UINT64_MAX && quota.pools[0].memory_bytes == UINT64_MAX);
}

/* ---- the figures ----------------------------------------------------------------------------------------- */

static uint32_t nodes[9];
static helio_pool_capacity_t figures;

static uint64_t limited(uint64_t gpus, uint64_t waiting)
{
    static const uint32_t before[9] = {1, 0, 1, 0, 0, 0, 0, 0, 2}; /* 18 GPUs free */
    helio_kube_left_t left = {gpus, 5000, 100};
    memcpy(nodes, before, sizeof nodes);
    figures = (helio_pool_capacity_t){.nodes_up = 4,
                                      .gpus_total = 32,
                                      .gpus_allocated = 14,
                                      .free_nodes = {nodes, 9},
                                      .cpus_free = 10,
                                      .memory_free_bytes = 50};
    helio_kube_quota_limit(&left, waiting, &figures);
    uint64_t free_gpus = 0, count = 0;
    for (uint32_t k = 0; k < 9; k++) {
        free_gpus += (uint64_t)k * nodes[k];
        count += nodes[k];
    }
    assert_true(count == 4);
    assert_true(free_gpus + figures.gpus_allocated + figures.gpus_reserved == 32);
    return free_gpus;
}

static void what_the_quota_leaves_is_offered_and_the_rest_is_reserved(void **state)
{
    (void)state;
    for (uint64_t left = 0; left < 25; left++)
        assert_true(limited(left, 0) == (left < 18 ? left : 18));
    assert_true(limited(UINT64_MAX, 5) == 18);
    assert_true(limited(12, 5) == 7);
    assert_int_equal(nodes[7], 1);
    assert_true(limited(4, 5) == 0);
    assert_true(limited(11, 0) == 11);
    assert_int_equal(nodes[8], 1);
    assert_int_equal(nodes[3], 1); /* of the second node, and none of the third */
    assert_int_equal(figures.cpus_free, 5);
    assert_true(figures.memory_free_bytes == 50);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_quota, end_documents)
    const struct CMUnitTest tests[] = {
        TEST(a_recorded_queue_has_its_nominal_quota_left),
        TEST(a_recorded_reservation_is_subtracted),
        TEST(a_recorded_queue_that_is_stopped_admits_nothing),
        TEST(a_queue_that_does_not_exist_admits_nothing),
        TEST(flavors_are_added_for_the_pool_whose_gpu_they_are),
        TEST(what_the_quota_leaves_is_offered_and_the_rest_is_reserved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
