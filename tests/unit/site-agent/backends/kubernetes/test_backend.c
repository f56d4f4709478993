/*  test_backend.c -- the backend at the double of a cluster: what it promises the core. Whole lives of jobs are in
 *  tests/integration/kubernetes_life.py. */
#include "tests/unit/site-agent/backends/kubernetes/backend_testing.h"

/* ---- the promises --------------------------------------------------------------------------------------- */

static void what_never_was_is_absent(void **state)
{
    (void)state;
    reach_double("absent");
    adopt();
    (void)await(HELIO_BACKEND_REPORT_ABSENT);
    order.epoch = 2;
    stop(HELIO_STOP_MODE_GRACE);
    while (event_count < 2)
        turn();
    assert_int_equal(last()->word, HELIO_BACKEND_REPORT_ABSENT);
    order.epoch = 1;
    start(); /* what was absent can be started */
    assert_int_equal(await(HELIO_BACKEND_REPORT_ENDED)->exit_code, 3);
}

static void a_repeated_start_runs_once(void **state)
{
    (void)state;
    reach_double("once");
    spec.run = helio_text_of(helio_arena_printf(arena, "echo x >>%s; exit 3", path_of("ran")).data);
    start();
    start();
    assert_int_equal(await(HELIO_BACKEND_REPORT_ENDED)->exit_code, 3);
    assert_false(last()->stopped);
    start();
    while (told(HELIO_BACKEND_REPORT_ENDED) < 2)
        turn();
    helio_backend_destroy(&backend);
    make_backend(); /* knows nothing, and finds the Job */
    start();
    assert_int_equal(await(HELIO_BACKEND_REPORT_ENDED)->exit_code, 3);
    assert_int_equal(told(HELIO_BACKEND_REPORT_ENDED), 1);
    struct stat ran;
    assert_int_equal(stat(path_of("ran"), &ran), 0);
    assert_int_equal(ran.st_size, 2);
}

static void a_stop_before_its_start_makes_no_job(void **state)
{
    (void)state;
    reach_double("stopped");
    start();
    stop(HELIO_STOP_MODE_KILL);
    assert_true(await(HELIO_BACKEND_REPORT_ENDED)->stopped);
    assert_false(has_job());
}

static void a_kill_does_not_wait_for_the_grace(void **state)
{
    (void)state;
    reach_double("killed");
    spec.run = helio_text_of(
        helio_arena_printf(arena, "trap '' TERM; echo x >%s; while :; do sleep 0.1; done", path_of("deaf")).data);
    spec.checkpoint_grace_ms = 3600000;
    start();
    (void)await(HELIO_BACKEND_REPORT_STARTED);
    while (!double_has("deaf"))
        turn();
    stop(HELIO_STOP_MODE_GRACE);
    for (int i = 0; i < 50; i++)
        turn();
    assert_int_equal(told(HELIO_BACKEND_REPORT_ENDED), 0);
    stop(HELIO_STOP_MODE_KILL);
    assert_true(await(HELIO_BACKEND_REPORT_ENDED)->stopped);
    assert_false(has_job());
}

static void a_job_of_others_is_left_alone(void **state)
{
    (void)state;
    reach_double("foreign");
    char name[HELIO_ATTEMPT_NAME_SIZE];
    helio_attempt_name(order.key, order.epoch, name);
    helio_text_t theirs = helio_arena_printf(
        arena,
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\"},\"spec\":{\"template\":{\"spec\":"
        "{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\",\"image\":\"i:1\",\"command\":[\"true\"]}]}}}}",
        name);
    assert_int_equal(ask("POST", JOBS, theirs), 201);
    start();
    assert_int_equal(await(HELIO_BACKEND_REPORT_FAILED_TO_START)->cause, HELIO_CAUSE_SUBMIT_REFUSED);
    assert_true(has_job());
}

static void a_survey_ends_what_waits_without_an_order(void **state)
{
    (void)state;
    reach_double("survey");
    order.gpus_per_node = 60; /* no node has so many */
    start();
    (void)await(HELIO_BACKEND_REPORT_WAITING);
    helio_backend_destroy(&backend);
    make_backend();
    backend->class->survey(backend);
    (void)await(HELIO_BACKEND_REPORT_FAILED_TO_START);
    while (!surveyed)
        turn();
    assert_false(has_job());
}

static void a_survey_finds_what_runs(void **state)
{
    (void)state;
    reach_double("found");
    spec.run = HELIO_TEXT("while :; do sleep 0.1; done");
    order.gpus_per_node = 2;
    start();
    (void)await(HELIO_BACKEND_REPORT_STARTED);
    helio_backend_destroy(&backend);
    make_backend();
    backend->class->survey(backend);
    assert_int_equal(await(HELIO_BACKEND_REPORT_STARTED)->gpus, 2);
    while (!surveyed)
        turn();
    stop(HELIO_STOP_MODE_KILL);
    assert_true(await(HELIO_BACKEND_REPORT_ENDED)->stopped);
}

static void what_the_lease_does_not_name_does_not_start(void **state)
{
    (void)state;
    reach_double("leased");
    order.on_site_loss = HELIO_SITE_LOSS_LEASE;
    start();
    int64_t until_ms = helio_clock_boot_ms() + 2500;
    while (helio_clock_boot_ms() < until_ms)
        turn();
    assert_false(has_job());
    helio_error_t err = {0};
    helio_attempt_ref_t named = {order.key, order.epoch};
    helio_afx_lease_t lease = {.deadline_boot_ms = helio_clock_boot_ms() + 600000, .attempts = {&named, 1}};
    assert_int_equal(backend->class->lease(backend, &lease, &err), HELIO_OK);
    assert_int_equal(await(HELIO_BACKEND_REPORT_ENDED)->exit_code, 3);
}

static void a_job_without_an_image_is_refused(void **state)
{
    (void)state;
    reach_double("image");
    spec.image = (helio_text_t){0};
    start();
    assert_int_equal(await(HELIO_BACKEND_REPORT_FAILED_TO_START)->cause, HELIO_CAUSE_BAD_OPTION);
    settings.image = HELIO_TEXT("base:1");
    order.epoch = 2;
    start();
    (void)await(HELIO_BACKEND_REPORT_ENDED);
    assert_true(capacities > 0);
}

static bool has_pod(const json_t *pods, const char *name)
{
    for (void *at = json_object_iter((json_t *)(uintptr_t)pods); at;
         at = json_object_iter_next((json_t *)(uintptr_t)pods, at))
        if (helio_text_is(helio_kube_text(HELIO_KUBE_AT(json_object_iter_value(at), "metadata", "name")), name))
            return true;
    return false;
}

/*  Whoever may make a pod in any namespace gives it the labels of an attempt, and the name of another's pod. */
static void a_pod_of_another_namespace_is_nobodys(void **state)
{
    (void)state;
    static const char pods[] = "/api/v1/namespaces/others/pods";
    reach_double("forged");
    assert_int_equal(
        ask("POST", "/api/v1/namespaces",
            HELIO_TEXT("{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"others\"}}")),
        201);
    assert_int_equal(ask("PATCH", "/apis/rbac.authorization.k8s.io/v1/clusterroles/helio-agent",
                         HELIO_TEXT("{\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"nodes\",\"pods\"],"
                                    "\"verbs\":[\"get\",\"list\",\"watch\"]}]}")),
                     200);
    helio_backend_destroy(&backend);
    make_backend(); /* with the right to see all pods */
    order.gpus_per_node = 60;
    start();
    (void)await(HELIO_BACKEND_REPORT_WAITING);
    char name[HELIO_ATTEMPT_NAME_SIZE];
    helio_attempt_name(order.key, order.epoch, name);
    helio_text_t forged = helio_arena_printf(
        arena,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"forged\",\"labels\":{"
        "\"app.kubernetes.io/managed-by\":\"heliostat\",\"heliostat/site\":\"%.*s\",\"heliostat/attempt\":\"%s\"}},"
        "\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"main\",\"image\":\"i:1\","
        "\"command\":[\"sleep\",\"60\"]}]}}",
        HELIO_TEXT_ARGS(site.name), name);
    assert_int_equal(ask("POST", pods, forged), 201);
    const helio_kube_t *self = (const helio_kube_t *)backend;
    while (!has_pod(self->pods.items, "forged"))
        turn();
    const helio_kube_attempt_t *attempt = helio_kube_find((helio_kube_t *)backend, order.key, order.epoch);
    assert_non_null(attempt);
    assert_false(has_pod(attempt->pods, "forged"));
    assert_int_equal(told(HELIO_BACKEND_REPORT_STARTED), 0);
}

/*  While the API is away, a load balancer answers with a clock of its own. */
static void the_clock_of_an_answer_that_is_not_the_apis_is_ignored(void **state)
{
    (void)state;
    reach_double("clock");
    helio_kube_t *self = (helio_kube_t *)backend;
    int64_t ahead_ms = self->server_ahead_ms;
    const helio_kube_reply_t reply = {.answer = HELIO_KUBE_UNKNOWN,
                                      .server_wall_ms = helio_clock_wall_ms() + INT64_C(3600000)};
    helio_kube_hear(backend, &reply);
    assert_int_equal(self->server_ahead_ms, ahead_ms);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_documents, end_backend)
    const struct CMUnitTest tests[] = {
        TEST(what_never_was_is_absent),
        TEST(a_repeated_start_runs_once),
        TEST(a_stop_before_its_start_makes_no_job),
        TEST(a_kill_does_not_wait_for_the_grace),
        TEST(a_job_of_others_is_left_alone),
        TEST(a_survey_ends_what_waits_without_an_order),
        TEST(a_survey_finds_what_runs),
        TEST(what_the_lease_does_not_name_does_not_start),
        TEST(a_job_without_an_image_is_refused),
        TEST(a_pod_of_another_namespace_is_nobodys),
        TEST(the_clock_of_an_answer_that_is_not_the_apis_is_ignored),
    };
    return cmocka_run_group_tests(tests, begin_double, end_double);
}
