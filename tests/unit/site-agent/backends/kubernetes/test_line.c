/*  test_line.c -- who stands in line at a ClusterQueue, and after how long whole nodes are to be expected. */
#include "tests/unit/site-agent/backends/kubernetes/recorded.h"

#include "site-agent/backends/kubernetes/line.h"

static helio_pool_t pools[2];
static helio_site_profile_t site;
static helio_kube_line_t *line;
static uint32_t waits[HELIO_KUBE_LINE_SIZES_MAX];

enum { UNKNOWN = -1 };

static const int64_t admitted_ms = INT64_C(1795226792000); /* 2026-11-21T02:06:32Z, as recorded */

static int begin_line(void **state)
{
    pools[0] = (helio_pool_t){.name = HELIO_TEXT("h200"), .gpu = HELIO_TEXT("H200"), .nodes = 8, .gpus_per_node = 8};
    pools[1] = (helio_pool_t){.name = HELIO_TEXT("h100"), .gpu = HELIO_TEXT("H100"), .nodes = 8, .gpus_per_node = 8};
    site = (helio_site_profile_t){.pools = {pools, 2}};
    return begin_documents(state);
}

static int end_line(void **state)
{
    helio_kube_line_destroy(&line);
    return end_documents(state);
}

/*  The waits of 1, 2, 4 nodes, `later_s` after the recorded admission. */
static void expect(uint32_t pool, uint64_t left, int64_t later_s, int64_t one, int64_t two, int64_t four)
{
    const int64_t wanted[] = {one, two, four};
    helio_kube_line_expect(line, pool, left, admitted_ms + later_s * 1000, 3, waits);
    for (size_t i = 0; i < 3; i++)
        if (waits[i] != (wanted[i] == UNKNOWN ? UINT32_MAX : (uint32_t)wanted[i]))
            fail_msg("size %zu: %u s, not %lld", i, waits[i], (long long)wanted[i]);
}

/* ---- recordings ------------------------------------------------------------------------------------------ */

static json_t *first(json_t *list)
{
    return json_array_get(items(list), 0);
}

static void set_deadline(json_t *workload, int seconds)
{
    json_t *set = json_array_get(json_object_get(json_object_get(workload, "spec"), "podSets"), 0);
    json_t *pod = json_object_get(json_object_get(set, "template"), "spec");
    (void)json_object_set_new(pod, "activeDeadlineSeconds", json_integer(seconds));
}

static void begin_recorded(json_t **ret_holder, json_t **ret_waiting)
{
    json_t *holders = recorded("kueue/14-workload-admitted"), *waiting = recorded("kueue/15-workload-pending-quota");
    line = helio_kube_line_new(&site, HELIO_TEXT("fgpu"), recorded("kueue/16-localqueue-one-pending"),
                               recorded("kueue/16-clusterqueue-one-admitted-one-pending"));
    *ret_holder = first(holders);
    *ret_waiting = first(waiting);
    assert_true(helio_kube_line_is_busy(line));
    assert_int_equal(helio_kube_line_waiting(line), 1);
}

/*  One holds all 8 GPUs and one waits for 4; neither says when it will end. */
static void recorded_workloads_without_deadlines_promise_nothing(void **state)
{
    (void)state;
    json_t *holder, *waiting;
    begin_recorded(&holder, &waiting);
    helio_kube_line_take(line, items(recorded("kueue/14-workload-admitted")));
    helio_kube_line_take(line, items(recorded("kueue/15-workload-pending-quota")));
    expect(0, 0, 8, UNKNOWN, UNKNOWN, UNKNOWN);
    expect(1, 0, 8, UNKNOWN, UNKNOWN, UNKNOWN);
}

/*  The eight come back after ten minutes; the one in line takes four of them for five more. */
static void recorded_workloads_with_deadlines_return_their_quota_in_turn(void **state)
{
    (void)state;
    json_t *holder, *waiting;
    begin_recorded(&holder, &waiting);
    set_deadline(holder, 600);
    set_deadline(waiting, 300);
    json_t *both = json_pack("[O, O]", holder, waiting);
    helio_kube_line_take(line, both);
    json_decref(both);
    expect(0, 0, 8, 892, UNKNOWN, UNKNOWN);
    expect(0, 0, 700, 301, UNKNOWN, UNKNOWN); /* it should be over: any moment */
    pools[0].gpus_per_node = 4;
    expect(0, 0, 8, 592, 892, UNKNOWN);
}

static void recorded_queues_without_workloads_are_not_busy(void **state)
{
    (void)state;
    line = helio_kube_line_new(&site, HELIO_TEXT("fgpu"), recorded("kueue/00-localqueue-get"),
                               recorded("kueue/01-clusterqueue-get"));
    assert_false(helio_kube_line_is_busy(line));
    expect(0, 8, 0, 0, UNKNOWN, UNKNOWN);
}

/*  What has ended, what another queue has, and what cannot be admitted stand in no line. */
static void recorded_workloads_that_are_over_or_inadmissible_do_not_count(void **state)
{
    (void)state;
    json_t *holder, *waiting;
    begin_recorded(&holder, &waiting);
    static const char *const lists[] = {"kueue/19-workload-finished", "kueue/33-workload-unknown-queue",
                                        "kueue/41-workload-evicted"};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        json_t *list = recorded(lists[i]);
        set_deadline(first(list), 60);
        helio_kube_line_take(line, items(list));
    }
    set_deadline(holder, 600);
    json_t *one = json_pack("[O]", holder);
    helio_kube_line_take(line, one); /* and one is not seen, with the mean deadline and size: it takes all 8 */
    json_decref(one);
    expect(0, 0, 0, 1200, UNKNOWN, UNKNOWN);
}

/* ---- what a recording does not have ---------------------------------------------------------------------- */

#define LOCAL "{'metadata': {'name': 'team', 'namespace': 'a'}, 'spec': {'clusterQueue': 'gpu'}}"
#define HOLDS(gpus, limit)                                                                                            \
    "{'metadata': {'namespace': 'z'}, 'spec': {'maximumExecutionTimeSeconds': " #limit "}, 'status': {'admission': {" \
    "'clusterQueue': 'gpu', 'podSetAssignments': [{'flavors': {'nvidia.com/gpu': 'x'}, 'resourceUsage': {"            \
    "'nvidia.com/gpu': '" #gpus "'}}]}, 'conditions': [{'type': 'QuotaReserved', 'status': 'True', "                  \
    "'lastTransitionTime': '2026-11-21T02:06:32Z'}]}}"
#define WAITS(space, queue, minute, priority, gpus, limit)                                                    \
    "{'metadata': {'namespace': '" space "', 'creationTimestamp': '2026-11-21T02:" minute ":00Z'}, 'spec': {" \
    "'queueName': '" queue "', 'priority': " #priority ", 'podSets': [{'count': 2, 'template': {'spec': {"    \
    "'activeDeadlineSeconds': " #limit ", 'containers': [{'resources': {'limits': {'nvidia.com/gpu': '" #gpus \
    "'}}}]}}}]}}"

static void begin_queue(const char *strategy, uint32_t waiting)
{
    char cluster[400];
    helio_kube_line_destroy(&line);
    (void)snprintf(cluster, sizeof cluster,
                   "{'spec': {'queueingStrategy': '%s'}, 'status': {'pendingWorkloads': %u, 'reservingWorkloads': 2, "
                   "'flavorsReservation': [{'name': 'x', 'resources': [{'name': 'nvidia.com/gpu', 'total': '24'}]}]}}",
                   strategy, waiting);
    line = helio_kube_line_new(&site, HELIO_TEXT("a"), written(LOCAL), written(cluster));
}

/*  16 come back after 100 s, 8 after 300. A gang of 24 waits before a job of 8. */
static void a_strict_queue_lets_none_pass(void **state)
{
    (void)state;
    static const char workloads[] = "[" HOLDS(16, 100) "," HOLDS(8, 300) "," WAITS("a", "team", "07", 0, 12, 50) "]";
    begin_queue("BestEffortFIFO", 1);
    helio_kube_line_take(line, written(workloads));
    expect(0, 0, 0, 100, 100, UNKNOWN); /* past the gang */
    begin_queue("StrictFIFO", 1);
    helio_kube_line_take(line, written(workloads));
    expect(0, 0, 0, 350, 350, UNKNOWN); /* it starts after 300 s, for 50 */
    expect(0, 8, 0, 150, 150, 300);     /* 24 + 8 of quota: the gang starts after 100 s */
}

static void a_line_is_ordered_by_priority_and_age(void **state)
{
    (void)state;
    static const char workloads[] = "[" HOLDS(8, 100) "," WAITS("a", "team", "08", 0, 4, 1000) "," WAITS(
        "a", "team", "09", 5, 4, 10) "," WAITS("a", "team", "07", 0, 4, 40) "]";
    begin_queue("StrictFIFO", 3);
    helio_kube_line_take(line, written(workloads));
    expect(0, 0, 0, 1150, UNKNOWN, UNKNOWN); /* 100, and 10, 40 and 1000 one after another */
}

/*  Without the other namespaces' LocalQueues theirs is one of those that are not seen, of the mean of 12 and 550 s. */
static void other_namespaces_stand_in_the_line_by_their_local_queues(void **state)
{
    (void)state;
    static const char workloads[] = "[" HOLDS(8, 100) "," HOLDS(16, 1000) "," WAITS(
        "b", "ours", "07", 0, 4, 60) "," WAITS("b", "other", "07", 0, 4, 9) "]";
    begin_queue("BestEffortFIFO", 1);
    helio_kube_line_take_queues(
        line, written("[{'metadata': {'name': 'ours', 'namespace': 'b'}, 'spec': {'clusterQueue': 'gpu'}},"
                      "{'metadata': {'name': 'other', 'namespace': 'b'}, 'spec': {'clusterQueue': 'cpu'}}]"));
    helio_kube_line_take(line, written(workloads));
    expect(0, 0, 0, 160, 1000, UNKNOWN);
    begin_queue("StrictFIFO", 1);
    helio_kube_line_take(line, written(workloads));
    expect(0, 0, 0, 1000, 1550, UNKNOWN);
    begin_queue("StrictFIFO", 0);
    helio_kube_line_take(line, written(workloads));
    expect(0, 0, 0, 100, 1000, UNKNOWN);
}

static void a_line_beyond_its_bounds_is_cut(void **state)
{
    (void)state;
    json_t *holds = written(HOLDS(1, 100)), *waits_too = written(WAITS("a", "team", "07", 0, 1, 10));
    json_t *many = json_array();
    for (int i = 0; i < 6000; i++) {
        (void)json_array_append(many, holds);
        (void)json_array_append(many, waits_too);
    }
    begin_queue("StrictFIFO", 6000);
    helio_kube_line_take(line, many);
    json_decref(many);
    helio_kube_line_expect(line, 0, 0, admitted_ms, 3, waits);
    assert_true(waits[0] >= 100);
    begin_queue("", 4000000000);
    helio_kube_line_take(line, written("[7, null, {}, {'status': 3}]"));
    expect(0, 0, 0, UNKNOWN, UNKNOWN, UNKNOWN);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_line, end_line)
    const struct CMUnitTest tests[] = {
        TEST(recorded_workloads_without_deadlines_promise_nothing),
        TEST(recorded_workloads_with_deadlines_return_their_quota_in_turn),
        TEST(recorded_queues_without_workloads_are_not_busy),
        TEST(recorded_workloads_that_are_over_or_inadmissible_do_not_count),
        TEST(a_strict_queue_lets_none_pass),
        TEST(a_line_is_ordered_by_priority_and_age),
        TEST(other_namespaces_stand_in_the_line_by_their_local_queues),
        TEST(a_line_beyond_its_bounds_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
