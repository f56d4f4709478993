/*  test_fleet.c -- sums over nodes that each change updates: what an update costs, and that the sums equal those
 *  computed anew. */
#include "tests/unit/site-agent/backends/kubernetes/recorded.h"

#include "federation/base/rng.h"
#include "site-agent/backends/kubernetes/document.h"
#include "site-agent/backends/kubernetes/capacity.h"

enum { NODES = 5000, PODS = 50000, RESOURCES = 3 }; /* nvidia.com/gpu, cpu and memory of each container */

static helio_pool_t pools[3];
static helio_site_profile_t site;
static helio_kube_fleet_t *fleet;

static int begin_fleet(void **state)
{
    pools[0] = (helio_pool_t){.name = HELIO_TEXT("h100"), .gpu = HELIO_TEXT("H100")};
    pools[1] = (helio_pool_t){.name = HELIO_TEXT("h200"), .gpu = HELIO_TEXT("H200")};
    pools[2] = (helio_pool_t){.name = HELIO_TEXT("cpu")};
    site = (helio_site_profile_t){.pools = {pools, 3}};
    fleet = helio_kube_fleet_new(&site, NULL, 0);
    return begin_documents(state);
}

static int end_fleet(void **state)
{
    helio_kube_fleet_destroy(&fleet);
    return end_documents(state);
}

/* ---- documents, each used once -------------------------------------------------------------------------- */

static json_t *node(uint32_t number, const char *product, uint32_t gpus)
{
    return json_pack("{s{so s{ss}} s{s[{ssss}] s{ssss so}}}", "metadata", "name", json_sprintf("node-%u", number),
                     "labels", HELIO_KUBE_PRODUCT, product, "status", "conditions", "type", "Ready", "status", "True",
                     "allocatable", "cpu", "64", "memory", "512Gi", product[0] ? "nvidia.com/gpu" : "pods",
                     json_sprintf("%u", gpus));
}

static json_t *pod(uint32_t number, int64_t on, const char *phase, uint32_t gpus)
{
    return json_pack("{s{ssso} s{so s[{s{s{ssss so}}}]} s{ss}}", "metadata", "namespace", "n", "name",
                     json_sprintf("pod-%u", number), "spec", "nodeName",
                     on < 0 ? json_null() : json_sprintf("node-%d", (int)on), "containers", "resources", "requests",
                     "cpu", "500m", "memory", "1Gi", "nvidia.com/gpu", json_sprintf("%u", gpus), "status", "phase",
                     phase);
}

static bool put_node(helio_kube_fleet_t *into, json_t *document, bool gone)
{
    bool differs = helio_kube_fleet_node(into, document, gone);
    json_decref(document);
    return differs;
}

static bool put_pod(helio_kube_fleet_t *into, json_t *document, const char *owner, bool gone)
{
    bool differs = helio_kube_fleet_pod(into, document, helio_text_of(owner), gone);
    json_decref(document);
    return differs;
}

static const helio_pool_capacity_t *look(helio_kube_fleet_t *at, uint32_t p)
{
    helio_aev_capacity_t *capacity = helio_arena_alloc(arena, 1, sizeof *capacity);
    helio_kube_capacity(at, NULL, 0, arena, capacity);
    return &capacity->pools.items[p];
}

/* ---- the cost ------------------------------------------------------------------------------------------- */

/*  Steps are counted, not timed: a node, a pod or a container that is looked at. */
static void a_change_costs_its_own_document_and_figures_cost_their_nodes(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < NODES; n++)
        (void)put_node(fleet, node(n, n % 3 == 0 ? "NVIDIA-H100" : n % 3 == 1 ? "NVIDIA-H200" : "", 8), false);
    for (uint32_t p = 0; p < PODS; p++)
        (void)put_pod(fleet, pod(p, p % NODES, "Running", p % 3 < 2), "", false);
    assert_true(fleet->steps <= NODES + PODS * (1 + RESOURCES));

    uint64_t before = fleet->steps;
    assert_int_equal(look(fleet, 0)->jobs_running, 11669);
    assert_true(fleet->steps - before <= 3 * NODES); /* the node, its seat, its figures: whatever the number of pods */

    before = fleet->steps;
    assert_true(put_pod(fleet, pod(7, 8, "Running", 1), "", false));
    assert_true(put_pod(fleet, pod(8, 8, "Succeeded", 1), "", false));
    assert_true(put_pod(fleet, pod(9, 9, "Running", 0), "", true));
    assert_true(put_node(fleet, node(10, "NVIDIA-H200", 4), false));
    assert_true(fleet->steps - before <= 3 * (1 + RESOURCES) + 1);
}

/*  A gang of all nodes costs what one of two nodes costs. */
static void a_gang_of_any_size_costs_two_looks_at_each_node(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < NODES; n++)
        (void)put_node(fleet, node(n, "NVIDIA-H100", 8), false);
    const helio_kube_waiting_t gang = {HELIO_TEXT("h100"), NODES - 1, 8, 1, 0};
    helio_aev_capacity_t capacity;
    uint64_t before = fleet->steps;
    helio_kube_capacity(fleet, &gang, 1, arena, &capacity);
    assert_int_equal(capacity.pools.items[0].free_nodes.items[8], 1);
    assert_true(fleet->steps - before <= 5 * NODES);
}

/* ---- the sums ------------------------------------------------------------------------------------------- */

static void expect_same(const helio_pool_capacity_t *a, const helio_pool_capacity_t *b)
{
    assert_int_equal(a->nodes_up, b->nodes_up);
    assert_int_equal(a->gpus_total, b->gpus_total);
    assert_int_equal(a->gpus_allocated, b->gpus_allocated);
    assert_int_equal(a->cpus_free, b->cpus_free);
    assert_true(a->memory_free_bytes == b->memory_free_bytes);
    assert_int_equal(a->jobs_running, b->jobs_running);
    assert_int_equal(a->jobs_queued, b->jobs_queued);
    assert_int_equal(a->free_nodes.count, b->free_nodes.count);
    for (uint32_t k = 0; k < a->free_nodes.count; k++)
        assert_int_equal(a->free_nodes.items[k], b->free_nodes.items[k]);
}

/*  Random changes in any order, also of pods on nodes that are not listed, against a fleet of what is left of them. */
static void moved_sums_are_the_sums_made_anew(void **state)
{
    (void)state;
    enum { FEW_NODES = 12, FEW_PODS = 60, CHANGES = 4000 };
    static const char *const products[] = {"NVIDIA-H100", "NVIDIA-H200", ""};
    static const char *const phases[] = {"Pending", "Running", "Succeeded"};
    json_t *nodes[FEW_NODES] = {NULL}, *pods[FEW_PODS] = {NULL};
    helio_rng_t rng = {0};
    for (uint32_t change = 0; change < CHANGES; change++) {
        uint32_t n = (uint32_t)helio_rng_below(&rng, FEW_NODES), p = (uint32_t)helio_rng_below(&rng, FEW_PODS);
        bool gone = helio_rng_below(&rng, 3) == 0, of_node = helio_rng_below(&rng, 4) == 0;
        json_t **kept = of_node ? &nodes[n] : &pods[p];
        json_t *now = of_node ? node(n, products[helio_rng_below(&rng, 3)], (uint32_t)helio_rng_below(&rng, 9))
                              : pod(p, (int64_t)helio_rng_below(&rng, FEW_NODES + 1) - 1,
                                    phases[helio_rng_below(&rng, 3)], (uint32_t)helio_rng_below(&rng, 4));
        json_decref(*kept);
        *kept = gone ? NULL : json_incref(now);
        (void)(of_node ? put_node(fleet, now, gone) : put_pod(fleet, now, "owner", gone));
    }
    helio_kube_fleet_t *anew = helio_kube_fleet_new(&site, NULL, 0);
    for (uint32_t n = 0; n < FEW_NODES; n++)
        if (nodes[n])
            (void)put_node(anew, nodes[n], false);
    for (uint32_t p = 0; p < FEW_PODS; p++)
        if (pods[p])
            (void)put_pod(anew, pods[p], "owner", false);
    for (uint32_t p = 0; p < 3; p++)
        expect_same(look(fleet, p), look(anew, p));
    assert_true(look(anew, 0)->jobs_running + look(anew, 1)->jobs_running + look(anew, 2)->jobs_running > 0);
    assert_int_equal(helio_kube_fleet_bound(fleet, HELIO_TEXT("owner")),
                     helio_kube_fleet_bound(anew, HELIO_TEXT("owner")));
    helio_kube_fleet_destroy(&anew);
}

static void a_pod_can_come_before_its_node_and_outlive_it(void **state)
{
    (void)state;
    assert_true(put_pod(fleet, pod(1, 0, "Running", 3), "mine", false));
    assert_int_equal(look(fleet, 0)->gpus_total, 0);
    assert_true(put_node(fleet, node(0, "NVIDIA-H100", 8), false));
    assert_int_equal(look(fleet, 0)->gpus_allocated, 3);
    assert_true(put_node(fleet, node(0, "NVIDIA-H100", 8), true));
    assert_int_equal(look(fleet, 0)->gpus_total, 0);
    assert_int_equal(helio_kube_fleet_bound(fleet, HELIO_TEXT("mine")), 1);
    assert_true(put_node(fleet, node(0, "NVIDIA-H100", 8), false));
    assert_int_equal(look(fleet, 0)->gpus_allocated, 3);
    assert_true(put_pod(fleet, pod(1, 0, "Running", 3), "mine", true));
    assert_int_equal(look(fleet, 0)->gpus_allocated, 0);
    assert_int_equal(helio_kube_fleet_bound(fleet, HELIO_TEXT("mine")), 0);
}

/*  Heartbeats and conditions change documents all the time. */
static void what_changes_no_figure_is_told_apart(void **state)
{
    (void)state;
    assert_true(put_node(fleet, node(0, "NVIDIA-H100", 8), false));
    assert_false(put_node(fleet, node(0, "NVIDIA-H100", 8), false));
    assert_true(put_pod(fleet, pod(1, 0, "Pending", 3), "mine", false));
    assert_false(put_pod(fleet, pod(1, 0, "Running", 3), "mine", false));
    assert_true(put_pod(fleet, pod(1, 0, "Succeeded", 3), "mine", false));
    assert_int_equal(helio_kube_fleet_bound(fleet, HELIO_TEXT("mine")), 1); /* it needs no other node */
    assert_false(put_pod(fleet, pod(2, 0, "Running", 3), "mine", true));
    assert_true(put_node(fleet, node(0, "NVIDIA-H100", 8), true));
    assert_false(put_node(fleet, node(0, "NVIDIA-H100", 8), true));
}

static void figures_that_cannot_be_are_counted_by_nodes(void **state)
{
    (void)state;
    (void)put_node(fleet, node(0, "NVIDIA-H100", 8), false);
    assert_int_equal(fleet->absurd, 0);
    (void)put_node(fleet, node(1, "NVIDIA-H100", 4000000000u), false);
    (void)put_node(fleet, node(1, "NVIDIA-H100", 4000000001u), false);
    assert_int_equal(fleet->absurd, 1);
    assert_non_null(strstr(fleet->remark, "node-1"));
    assert_non_null(strstr(fleet->remark, "4000000001 of nvidia.com/gpu"));
    (void)put_node(fleet, node(1, "NVIDIA-H100", 8), false);
    assert_int_equal(fleet->absurd, 0);
    assert_int_equal(look(fleet, 0)->gpus_total, 16);
}

/*  A sum that overflowed would not be undone by a subtraction. */
static void requests_beyond_64_bits_come_and_go(void **state)
{
    (void)state;
    (void)put_node(fleet, node(0, "NVIDIA-H100", 8), false);
    for (uint32_t p = 0; p < 3; p++) {
        json_t *huge = pod(p, 0, "Running", 1);
        json_t *requests =
            HELIO_KUBE_AT(json_array_get(HELIO_KUBE_AT(huge, "spec", "containers"), 0), "resources", "requests");
        static const char *const names[] = {"cpu", "nvidia.com/gpu"};
        for (size_t i = 0; i < 2; i++)
            (void)json_object_set_new(requests, names[i], json_string("9223372036854775809m"));
        (void)put_pod(fleet, huge, "", false);
        assert_int_equal(look(fleet, 0)->gpus_allocated, 8);
        assert_int_equal(look(fleet, 0)->cpus_free, 0);
    }
    for (uint32_t p = 0; p < 3; p++)
        (void)put_pod(fleet, pod(p, 0, "Running", 1), "", true);
    assert_int_equal(look(fleet, 0)->gpus_allocated, 0);
    assert_int_equal(look(fleet, 0)->cpus_free, 64);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_fleet, end_fleet)
    const struct CMUnitTest tests[] = {
        TEST(a_change_costs_its_own_document_and_figures_cost_their_nodes),
        TEST(a_gang_of_any_size_costs_two_looks_at_each_node),
        TEST(moved_sums_are_the_sums_made_anew),
        TEST(a_pod_can_come_before_its_node_and_outlive_it),
        TEST(what_changes_no_figure_is_told_apart),
        TEST(figures_that_cannot_be_are_counted_by_nodes),
        TEST(requests_beyond_64_bits_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
