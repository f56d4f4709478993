/*  test_backend_bounds.c -- the backend at the double of a cluster: what it does not ask, create, read or believe. */
#include "tests/unit/site-agent/backends/kubernetes/backend_testing.h"

#include "federation/reason/detail.h"

static helio_kube_attempt_t *own_attempt(void)
{
    helio_kube_attempt_t *attempt = helio_kube_find((helio_kube_t *)backend, order.key, order.epoch);
    assert_non_null(attempt);
    return attempt;
}

/* ---- logs ------------------------------------------------------------------------------------------------ */

/*  All that was written; true: nothing follows. */
static bool read_output(helio_buffer_t *out)
{
    helio_error_t err = {0};
    uint64_t next;
    bool end;
    helio_buffer_reset(out);
    assert_int_equal(backend->class->log_read(backend, order.key, order.epoch, 0, 1 << 16, out, &next, &end, &err),
                     HELIO_OK);
    return end;
}

/*  So many others run that no log can be followed any more. */
static void a_log_that_cannot_be_followed_is_read_while_its_pod_runs_and_when_it_ends(void **state)
{
    (void)state;
    reach_double("unfollowed");
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    int64_t until_ms = helio_clock_boot_ms() + 2 * PATIENCE_MS;
    helio_kube_t *self = (helio_kube_t *)backend;
    self->followed = HELIO_KUBE_FOLLOWED_MAX;
    spec.run = helio_text_of(
        helio_arena_printf(arena, "echo first; while [ ! -e %s ]; do sleep 0.1; done; echo last", path_of("go")).data);
    start();
    (void)await(HELIO_BACKEND_REPORT_STARTED);
    while (!out.size && helio_clock_boot_ms() < until_ms) {
        turn();
        (void)read_output(&out);
    }
    assert_non_null(out.data);
    assert_string_equal(out.data, "first\n");
    FILE *go = fopen(path_of("go"), "we");
    assert_non_null(go);
    (void)fclose(go);
    (void)await(HELIO_BACKEND_REPORT_ENDED);
    while (!read_output(&out) && helio_clock_boot_ms() < until_ms)
        turn();
    assert_string_equal(out.data, "first\nlast\n");
    assert_int_equal(self->reads, 0);
    assert_int_equal(self->followed, HELIO_KUBE_FOLLOWED_MAX);
}

/* ---- requests -------------------------------------------------------------------------------------------- */

/*  The pods of a gang, as a watch would have shown them. */
static void a_large_gang_is_killed_in_portions(void **state)
{
    (void)state;
    enum { GANG = 100 };
    reach_double("portions");
    spec.run = HELIO_TEXT("while :; do sleep 0.1; done");
    start();
    (void)await(HELIO_BACKEND_REPORT_STARTED);
    helio_kube_t *self = (helio_kube_t *)backend;
    helio_kube_attempt_t *attempt = own_attempt();
    for (int i = 0; i < GANG; i++)
        helio_kube_set_pod(
            attempt, written(helio_arena_printf(arena, "{'metadata': {'uid': 'u-%d', 'name': 'p-%d'}}", i, i).data),
            false);
    stop(HELIO_STOP_MODE_KILL);
    uint32_t most = 0, killed = 0;
    int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS;
    while (last()->word != HELIO_BACKEND_REPORT_ENDED && helio_clock_boot_ms() < until_ms) {
        turn();
        most = self->asked > most ? self->asked : most;
        killed = (uint32_t)json_object_size(attempt->asked_to_end);
    }
    assert_true(last()->word == HELIO_BACKEND_REPORT_ENDED && last()->stopped);
    assert_int_equal(most, HELIO_KUBE_KILLS_MAX);
    assert_true(killed >= GANG);
}

/*  A deletion with its grace went out for pods that are left without their Job; a kill asks again. */
static void a_kill_follows_a_stop_of_pods_that_are_left(void **state)
{
    (void)state;
    reach_double("escalated");
    start();
    helio_kube_attempt_t *attempt = own_attempt();
    attempt->asked_to_end = json_object();
    (void)json_object_set_new(attempt->asked_to_end, "uid", json_true());
    attempt->stop = attempt->killed = true;
    stop(HELIO_STOP_MODE_KILL);
    assert_false(attempt->killed);
    assert_int_equal(json_object_size(attempt->asked_to_end), 0);
    attempt->killed = true;
    stop(HELIO_STOP_MODE_KILL); /* repeated, it asks no more */
    assert_true(attempt->killed);
}

/* ---- what a job may name --------------------------------------------------------------------------------- */

static void a_job_that_names_what_the_site_does_not_list_is_not_created(void **state)
{
    (void)state;
    static const char *const keys[] = {"queue", "priority-class"};
    helio_string_t listed[] = {{HELIO_TEXT("low")}};
    reach_double("named");
    for (uint32_t i = 0; i < 2; i++) {
        helio_pair_t pair = {helio_text_of(keys[i]), HELIO_TEXT("system-node-critical")};
        spec.kubernetes.items = &pair;
        spec.kubernetes.count = 1;
        order.epoch = i + 1;
        start();
        assert_int_equal(await(HELIO_BACKEND_REPORT_FAILED_TO_START)->cause, HELIO_CAUSE_OPTION_NOT_ALLOWED);
        assert_non_null(strstr(helio_arena_string(arena, last()->explanation), "system-node-critical"));
        assert_false(has_job());
        event_count = 0;
    }
    helio_pair_t pair = {HELIO_TEXT("priority-class"), HELIO_TEXT("low")};
    spec.kubernetes.items = &pair;
    settings.job_priority_classes.items = listed;
    settings.job_priority_classes.count = 1;
    order.epoch = 3;
    start();
    int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS;
    while (!has_job() && helio_clock_boot_ms() < until_ms)
        turn();
    assert_true(has_job());
}

/* ---- what is not believed -------------------------------------------------------------------------------- */

static bool hears_doubt(const char *word)
{
    int64_t until_ms = helio_clock_boot_ms() + 2 * PATIENCE_MS;
    while (!strstr(doubt, word) && helio_clock_boot_ms() < until_ms)
        turn();
    return strstr(doubt, word) != NULL;
}

static void a_list_without_end_is_told_and_nothing_is_offered(void **state)
{
    (void)state;
    reach_double("endless");
    while (!capacities)
        turn();
    assert_int_equal(withheld, 0);
    assert_int_equal(ask("POST", "/double/faults", HELIO_TEXT("{\"endless\": {\"plural\": \"nodes\", \"items\": 1}}")),
                     200);
    assert_int_equal(ask("POST", "/double/faults", HELIO_TEXT("{\"cut\": true}")), 200); /* so that it lists again */
    assert_true(hears_doubt("list of nodes has more pages"));
    while (!withheld)
        turn();
    assert_int_equal(withheld, HELIO_DETAIL_WITHHELD_SCHEDULER);
    assert_int_equal(ask("POST", "/double/faults", HELIO_TEXT("{\"endless\": null}")), 200);
}

static long show_gpus(const char *quantity)
{
    return ask("PATCH", "/api/v1/nodes/gpu-1/status",
               helio_arena_printf(arena, "{\"status\":{\"allocatable\":{\"nvidia.com/gpu\":\"%s\"}}}", quantity));
}

static void a_node_that_has_more_than_any_is_told(void **state)
{
    (void)state;
    reach_double("absurd");
    while (!capacities)
        turn();
    assert_int_equal(doubt[0], '\0');
    assert_int_equal(show_gpus("4000000000"), 200);
    assert_true(hears_doubt("1 nodes report impossible figures"));
    assert_non_null(strstr(doubt, "node gpu-1"));
    assert_int_equal(show_gpus("4"), 200);
}

/* ---- what Kueue would not admit -------------------------------------------------------------------------- */

#define KUEUE "/apis/kueue.x-k8s.io/v1beta1"
#define OBJECT(kind, name) \
    "{\"apiVersion\":\"kueue.x-k8s.io/v1beta1\",\"kind\":\"" kind "\",\"metadata\":{\"name\":\"" name "\"},\"spec\":"

/*  Or a test before has made it. */
static void make(const char *path, const char *document)
{
    long made = ask("POST", path, helio_text_of(document));
    assert_true(made == 201 || made == 409);
}

/*  A quota of 5 GPUs; gpu-0 has 8, gpu-1 has 4. */
static void make_queue(void)
{
    make(KUEUE "/resourceflavors", OBJECT("ResourceFlavor", "h200") "{}}");
    make(KUEUE "/clusterqueues",
         OBJECT("ClusterQueue",
                "gpu") "{\"namespaceSelector\":{},\"resourceGroups\":[{"
                       "\"coveredResources\":[\"nvidia.com/gpu\"],\"flavors\":[{\"name\":\"h200\",\"resources\":["
                       "{\"name\":\"nvidia.com/gpu\",\"nominalQuota\":5}]}]}]}}");
    make(KUEUE "/namespaces/heliostat/localqueues", OBJECT("LocalQueue", "team") "{\"clusterQueue\":\"gpu\"}}");
}

static void until_offered(uint64_t gpus)
{
    int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS;
    while ((!capacities || offered != gpus) && helio_clock_boot_ms() < until_ms)
        turn();
    assert_int_equal(offered, gpus);
}

static void what_the_queue_would_not_admit_is_not_offered(void **state)
{
    (void)state;
    reach_double("quota");
    make_queue();
    settings.queue = HELIO_TEXT("team");
    helio_backend_destroy(&backend);
    make_backend();
    until_offered(5);
    order.gpus_per_node = 2;
    spec.run = HELIO_TEXT("while :; do sleep 0.1; done");
    start();
    capacities = 0;
    int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS;
    while (told(HELIO_BACKEND_REPORT_STARTED) == 0 && helio_clock_boot_ms() < until_ms) {
        turn();
        assert_true(!capacities || offered <= 3); /* also before Kueue has seen it */
    }
    until_offered(3);
    stop(HELIO_STOP_MODE_KILL);
    (void)await(HELIO_BACKEND_REPORT_ENDED);
    until_offered(5);
}

/*  Nothing says how much that is, so what the nodes have free is offered, as without a queue. */
static void a_queue_that_may_not_be_read_limits_nothing(void **state)
{
    (void)state;
    reach_double("unread");
    assert_int_equal(ask("PATCH", "/apis/rbac.authorization.k8s.io/v1/clusterroles/helio-agent",
                         HELIO_TEXT("{\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"nodes\"],"
                                    "\"verbs\":[\"get\",\"list\",\"watch\"]}]}")),
                     200);
    settings.queue = HELIO_TEXT("team");
    helio_backend_destroy(&backend);
    make_backend();
    until_offered(12);
}

static void until_expected(int64_t least_s, int64_t most_s)
{
    int64_t until_ms = helio_clock_boot_ms() + 3 * PATIENCE_MS;
    while ((!capacities || expected_s < least_s || expected_s > most_s) && helio_clock_boot_ms() < until_ms)
        turn();
    if (expected_s < least_s || expected_s > most_s)
        fail_msg("%lld s are expected, not %lld to %lld", (long long)expected_s, (long long)least_s, (long long)most_s);
}

static void permit(const char *rules_of_kueue)
{
    assert_int_equal(ask("PATCH", "/apis/rbac.authorization.k8s.io/v1/clusterroles/helio-agent",
                         helio_arena_printf(arena,
                                            "{\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"nodes\"],\"verbs\":["
                                            "\"get\",\"list\",\"watch\"]},{\"apiGroups\":[\"kueue.x-k8s.io\"],"
                                            "\"resources\":[%s],\"verbs\":[\"get\",\"list\"]}]}",
                                            rules_of_kueue)),
                     200);
}

/*  Of a quota of 5, a job of this site has 3 for ten minutes and its grace of 30 s; a node has 4. */
static void who_holds_quota_returns_it_at_its_deadline(bool narrow)
{
    make_queue();
    settings.queue = HELIO_TEXT("team");
    pool.gpus_per_node = 4;
    helio_backend_destroy(&backend);
    make_backend();
    until_offered(5);
    assert_true(expected_s == -1);
    order.gpus_per_node = 3;
    order.time_limit_ms = 600000;
    spec.run = HELIO_TEXT("while :; do sleep 0.1; done");
    start();
    (void)await(HELIO_BACKEND_REPORT_STARTED);
    until_expected(560, 700);
    assert_true(((helio_kube_t *)backend)->reading.narrow == narrow);
    stop(HELIO_STOP_MODE_KILL);
    (void)await(HELIO_BACKEND_REPORT_ENDED);
    until_offered(5);
}

static void a_wait_for_the_queue_is_expected(void **state)
{
    (void)state;
    reach_double("line");
    permit("\"clusterqueues\",\"localqueues\",\"workloads\"");
    who_holds_quota_returns_it_at_its_deadline(false);
}

/*  Without the right to see other namespaces the own one is read. */
static void a_wait_for_the_queue_is_expected_from_its_own_namespace(void **state)
{
    (void)state;
    reach_double("narrow");
    permit("\"clusterqueues\"");
    who_holds_quota_returns_it_at_its_deadline(true);
}

/*  Then nothing is expected, and what the quota leaves is offered as before. */
static void a_line_that_may_not_be_seen_promises_nothing(void **state)
{
    (void)state;
    reach_double("unseen");
    permit("\"clusterqueues\"");
    make_queue();
    assert_int_equal(
        ask("PATCH", "/apis/rbac.authorization.k8s.io/v1/namespaces/heliostat/roles/helio-agent",
            HELIO_TEXT("{\"rules\":[{\"apiGroups\":[\"batch\"],\"resources\":[\"jobs\"],\"verbs\":[\"*\"]},"
                       "{\"apiGroups\":[\"\"],\"resources\":[\"pods\",\"pods/log\",\"events\"],\"verbs\":[\"*\"]},"
                       "{\"apiGroups\":[\"kueue.x-k8s.io\"],\"resources\":[\"localqueues\"],\"verbs\":[\"get\"]}]}")),
        200);
    settings.queue = HELIO_TEXT("team");
    helio_backend_destroy(&backend);
    make_backend();
    until_offered(5);
    order.gpus_per_node = 3;
    order.time_limit_ms = 600000;
    spec.run = HELIO_TEXT("while :; do sleep 0.1; done");
    start();
    const helio_kube_reading_t *reading = &((helio_kube_t *)backend)->reading;
    int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS;
    while (!(reading->narrow && !reading->coming && !reading->line) && helio_clock_boot_ms() < until_ms)
        turn();
    assert_true(reading->narrow && !reading->coming && !reading->line);
    until_offered(2);
    assert_true(expected_s == -1);
    stop(HELIO_STOP_MODE_KILL);
    (void)await(HELIO_BACKEND_REPORT_ENDED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_documents, end_backend)
    const struct CMUnitTest tests[] = {
        TEST(a_log_that_cannot_be_followed_is_read_while_its_pod_runs_and_when_it_ends),
        TEST(a_large_gang_is_killed_in_portions),
        TEST(a_kill_follows_a_stop_of_pods_that_are_left),
        TEST(a_job_that_names_what_the_site_does_not_list_is_not_created),
        TEST(a_node_that_has_more_than_any_is_told),
        TEST(a_list_without_end_is_told_and_nothing_is_offered),
        TEST(what_the_queue_would_not_admit_is_not_offered),
        TEST(a_queue_that_may_not_be_read_limits_nothing),
        TEST(a_wait_for_the_queue_is_expected),
        TEST(a_wait_for_the_queue_is_expected_from_its_own_namespace),
        TEST(a_line_that_may_not_be_seen_promises_nothing),
    };
    return cmocka_run_group_tests(tests, begin_double, end_double);
}
