/*  test_manifest.c -- the objects that stand for an attempt, as files that a review can read (tests/golden/kubernetes);
 *  tests/integration/kubernetes_clients.py has the same files admitted. */
#include "tests/unit/site-agent/backends/kubernetes/recorded.h"

#include "federation/reason/codes.h"
#include "site-agent/backends/kubernetes/document.h"
#include "site-agent/backends/kubernetes/manifest.h"
#include "tests/support/golden.h"

static helio_order_t order;
static helio_job_spec_t spec;
static helio_pool_t pool;
static helio_kube_manifest_t manifest;

static int begin_manifest(void **state)
{
    uint8_t random[10] = {1, 2, 3};
    static const char *const tolerated[] = {"nvidia.com/gpu"};
    static const helio_text_t products[] = {{"NVIDIA-H200", 11}};
    spec = (helio_job_spec_t){.image = HELIO_TEXT("registry.example/train:1"), .run = HELIO_TEXT("python train.py\n")};
    order = (helio_order_t){.key = {helio_uuid_v7(1700000000000, random), HELIO_NO_TASK},
                            .epoch = 2,
                            .nodes = 1,
                            .gpus_per_node = 4,
                            .cpus_per_node = 16,
                            .memory_bytes_per_node = 64ull << 30,
                            .time_limit_ms = 3600000};
    pool = (helio_pool_t){.name = HELIO_TEXT("h200"), .gpu = HELIO_TEXT("H200")};
    manifest = (helio_kube_manifest_t){.order = &order,
                                       .spec = &spec,
                                       .pool = &pool,
                                       .site = HELIO_TEXT("lab"),
                                       .products = products,
                                       .product_count = 1,
                                       .tolerated = tolerated,
                                       .tolerated_count = 1,
                                       .retention_ms = 86400000};
    return begin_documents(state);
}

static json_t *made(void)
{
    helio_buffer_t out = {0};
    helio_kube_job(&manifest, &out);
    assert_false(out.overflow);
    json_t *job = json_loadb(out.data, out.size, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(job);
    json_array_append_new(documents, job);
    helio_buffer_clear(&out);
    return job;
}

static json_int_t number(const json_t *job, const char *name)
{
    return json_integer_value(HELIO_KUBE_AT(job, "spec", name));
}

static json_t *container(const json_t *job)
{
    return json_array_get(HELIO_KUBE_AT(job, "spec", "template", "spec", "containers"), 0);
}

static helio_text_t variable(const json_t *job, const char *name)
{
    const json_t *found = helio_kube_named(json_object_get(container(job), "env"), "name", name);
    return helio_kube_text(json_object_get(found, "value"));
}

static void check_golden(const char *path)
{
    helio_buffer_t out = {0};
    helio_kube_job(&manifest, &out);
    helio_buffer_text(&out, "\n");
    golden_check(path, helio_buffer_view(&out));
    helio_buffer_clear(&out);
}

static void a_job_on_one_node(void **state)
{
    (void)state;
    check_golden("tests/golden/kubernetes/one_node.json");
}

static void a_gang_with_everything(void **state)
{
    (void)state;
    helio_pair_t env[] = {{HELIO_TEXT("LR"), HELIO_TEXT("0.1")}, {HELIO_TEXT("HELIO_EPOCH"), HELIO_TEXT("99")}};
    helio_string_t secrets[] = {{HELIO_TEXT("TOKEN")}};
    order.nodes = 3;
    order.key.task = 7;
    order.resume = true;
    spec.env.items = env;
    spec.env.count = 2;
    spec.secrets.items = secrets;
    spec.secrets.count = 1;
    spec.checkpoint_signal = HELIO_TEXT("USR1");
    spec.checkpoint_grace_ms = 120000;
    pool.gpu = HELIO_TEXT("H200/3g.71gb");
    pool.sharing = HELIO_SHARING_MIG;
    manifest.queue = HELIO_TEXT("team-a");
    manifest.priority_class = HELIO_TEXT("critical");
    manifest.service_account = HELIO_TEXT("runner");
    manifest.secret = HELIO_TEXT("helio-acme");
    manifest.lease_ms = 90500;
    check_golden("tests/golden/kubernetes/gang.json");
    helio_buffer_t out = {0};
    helio_kube_service(&manifest, HELIO_TEXT("9e11dd28-23cc-4b17-a7ff-a823e2feb266"), &out);
    helio_buffer_text(&out, "\n");
    golden_check("tests/golden/kubernetes/gang_service.json", helio_buffer_view(&out));
    helio_buffer_clear(&out);
}

static void nothing_runs_an_epoch_twice(void **state)
{
    (void)state;
    const json_t *job = made();
    assert_true(json_is_integer(HELIO_KUBE_AT(job, "spec", "backoffLimit")) && number(job, "backoffLimit") == 0);
    assert_true(helio_text_is(helio_kube_text(HELIO_KUBE_AT(job, "spec", "podReplacementPolicy")), "Failed"));
    assert_true(
        helio_text_is(helio_kube_text(HELIO_KUBE_AT(job, "spec", "template", "spec", "restartPolicy")), "Never"));
}

static void the_deadline_is_the_earlier_of_limit_and_lease(void **state)
{
    (void)state;
    static const struct {
        uint64_t limit_ms, grace_ms, lease_ms;
        json_int_t job_s, pod_s;
    } cases[] = {
        {3600000, 0, 0, 3690, 3690},       /* 30 s of grace and a minute */
        {3600000, 600000, 0, 4260, 4260},  /* a longer grace */
        {3600000, 0, 60999, 60, 3690},     /* the lease is earlier; the pod's own clock has the limit */
        {3600000, 0, 7200000, 3690, 3690}, /* the limit is */
        {0, 0, 60000, 60, 0},              /* no limit */
        {0, 0, 1, 1, 0},
        {0, 0, 0, 0, 0},   /* neither */
        {1, 0, 0, 91, 91}, /* rounded up */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        order.time_limit_ms = cases[i].limit_ms;
        spec.checkpoint_grace_ms = cases[i].grace_ms;
        manifest.lease_ms = cases[i].lease_ms;
        const json_t *job = made();
        if (number(job, "activeDeadlineSeconds") != cases[i].job_s ||
            json_integer_value(HELIO_KUBE_AT(job, "spec", "template", "spec", "activeDeadlineSeconds")) !=
                cases[i].pod_s)
            fail_msg("case %zu", i);
        assert_true(json_is_integer(HELIO_KUBE_AT(job, "spec", "activeDeadlineSeconds")) == (cases[i].job_s != 0));
    }
}

/*  The longest name that an attempt can have is a label's value, and each pod's host name is one too. */
static void the_longest_name_is_allowed(void **state)
{
    (void)state;
    order.key.task = 2147483647;
    order.epoch = UINT32_MAX;
    helio_text_t name = helio_kube_text(HELIO_KUBE_AT(made(), "metadata", "name"));
    assert_true(name.size >= 50 && name.size + sizeof "-1023" - 1 <= 63);
    for (uint32_t i = 0; i < name.size; i++)
        assert_true(name.data[i] == '-' || (name.data[i] >= '0' && name.data[i] <= '9') ||
                    (name.data[i] >= 'a' && name.data[i] <= 'z'));
}

static void a_queue_suspends_and_is_no_label_of_pods(void **state)
{
    (void)state;
    assert_true(json_is_false(HELIO_KUBE_AT(made(), "spec", "suspend")));
    manifest.queue = HELIO_TEXT("team-a");
    const json_t *job = made();
    assert_true(json_is_true(HELIO_KUBE_AT(job, "spec", "suspend")));
    assert_non_null(HELIO_KUBE_AT(job, "metadata", "labels", "kueue.x-k8s.io/queue-name"));
    assert_null(HELIO_KUBE_AT(job, "spec", "template", "metadata", "labels", "kueue.x-k8s.io/queue-name"));
}

/*  Kubernetes takes the last of two entries; ours is never the job's. */
static void the_jobs_environment_cannot_replace_ours(void **state)
{
    (void)state;
    helio_pair_t env[] = {{HELIO_TEXT("HELIO_SITE"), HELIO_TEXT("elsewhere")}, {HELIO_TEXT("A"), HELIO_TEXT("\"b\n")}};
    spec.env.items = env;
    spec.env.count = 2;
    const json_t *job = made();
    assert_true(helio_text_is(variable(job, "HELIO_SITE"), "lab"));
    assert_true(helio_text_is(variable(job, "A"), "\"b\n"));
    assert_true(helio_text_is(variable(job, "HELIO_HOSTS"), "localhost"));
    assert_true(helio_text_is(variable(job, "HELIO_NODE_RANK"), "0"));
    assert_null(helio_kube_named(json_object_get(container(job), "env"), "name", "HELIO_ARRAY_INDEX"));
}

/*  Kubernetes takes "$(NAME)" for a variable's value and "$$" for "$", in commands and values. */
static void a_dollar_is_what_the_job_file_says(void **state)
{
    (void)state;
    helio_pair_t env[] = {{HELIO_TEXT("PASSWORD"), HELIO_TEXT("pa$$word$(HELIO_SITE)")}};
    spec.env.items = env;
    spec.env.count = 1;
    spec.run = HELIO_TEXT("echo $$ $HOME $(HELIO_SITE)");
    const json_t *job = made();
    assert_true(helio_text_is(variable(job, "PASSWORD"), "pa$$$$word$$(HELIO_SITE)"));
    assert_string_equal(json_string_value(json_array_get(json_object_get(container(job), "command"), 2)),
                        "echo $$$$ $$HOME $$(HELIO_SITE)");
}

static void a_cpu_job_asks_for_no_gpu(void **state)
{
    (void)state;
    pool.gpu = HELIO_TEXT("");
    order.gpus_per_node = 0;
    order.memory_bytes_per_node = 0;
    order.cpus_per_node = 0;
    const json_t *resources = json_object_get(container(made()), "resources");
    assert_int_equal(json_object_size(json_object_get(resources, "limits")), 0);
    assert_int_equal(json_object_size(json_object_get(resources, "requests")), 0);
}

static void a_checkpoint_signal_is_passed_on_unless_it_is_term(void **state)
{
    (void)state;
    assert_int_equal(json_array_size(json_object_get(container(made()), "command")), 3);
    spec.checkpoint_signal = HELIO_TEXT("TERM");
    assert_int_equal(json_array_size(json_object_get(container(made()), "command")), 3);
    spec.checkpoint_signal = HELIO_TEXT("USR1");
    const json_t *command = json_object_get(container(made()), "command");
    assert_int_equal(json_array_size(command), 5);
    assert_non_null(strstr(json_string_value(json_array_get(command, 2)), "kill -USR1 $$job"));
    assert_string_equal(json_string_value(json_array_get(command, 4)), "python train.py\n");
}

static void what_no_pod_can_run_is_refused(void **state)
{
    (void)state;
    helio_string_t secrets[] = {{HELIO_TEXT("TOKEN")}};
    helio_error_t err = {0};
    uint32_t cause = HELIO_CAUSE_NONE;
    assert_int_equal(helio_kube_manifest_check(&manifest, &cause, &err), HELIO_OK);
    spec.secrets.items = secrets;
    spec.secrets.count = 1;
    assert_int_equal(helio_kube_manifest_check(&manifest, &cause, &err), HELIO_NOT_FOUND);
    assert_int_equal(cause, HELIO_CAUSE_MISSING_SECRET);
    manifest.secret = HELIO_TEXT("helio-acme");
    assert_int_equal(helio_kube_manifest_check(&manifest, &cause, &err), HELIO_OK);
    spec.image = HELIO_TEXT("");
    assert_int_equal(helio_kube_manifest_check(&manifest, &cause, &err), HELIO_INVALID);
    assert_int_equal(cause, HELIO_CAUSE_BAD_OPTION);
}

static void a_job_says_its_queue_and_priority_and_nothing_else(void **state)
{
    (void)state;
    helio_pair_t pairs[] = {{HELIO_TEXT("queue"), HELIO_TEXT("team-b")},
                            {HELIO_TEXT("priority-class"), HELIO_TEXT("low")},
                            {HELIO_TEXT("service-account"), HELIO_TEXT("admin")}};
    const helio_string_t queues[] = {{HELIO_TEXT("team-a")}, {HELIO_TEXT("team-b")}};
    const helio_string_t classes[] = {{HELIO_TEXT("low")}};
    helio_error_t err = {0};
    uint32_t cause;
    spec.kubernetes.items = pairs;
    spec.kubernetes.count = 2;
    manifest.queues = (helio_kube_choice_t){queues, 2};
    manifest.priority_classes = (helio_kube_choice_t){classes, 1};
    assert_int_equal(helio_kube_options(&spec, &manifest, &cause, &err), HELIO_OK);
    assert_true(helio_text_is(manifest.queue, "team-b") && helio_text_is(manifest.priority_class, "low"));
    spec.kubernetes.count = 3;
    assert_int_equal(helio_kube_options(&spec, &manifest, &cause, &err), HELIO_FORBIDDEN);
    assert_int_equal(cause, HELIO_CAUSE_BAD_OPTION);
    assert_non_null(strstr(err.text, "service-account"));
}

static void a_job_names_only_what_the_site_lists(void **state)
{
    (void)state;
    const helio_string_t listed[] = {{HELIO_TEXT("team-b")}, {HELIO_TEXT("")}};
    static const struct {
        const char *key, *value;
        uint32_t listed;
        bool good;
    } cases[] = {
        {"queue", "team-a", 0, true},
        {"queue", "team-b", 0, false},
        {"queue", "team-b", 2, true},
        {"queue", "team", 2, false},
        {"queue", "", 2, false},
        {"priority-class", "own", 0, true},
        {"priority-class", "", 2, false},
        {"priority-class", "team-b", 2, true},
        {"priority-class", "system-node-critical", 2, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        helio_pair_t pair = {helio_text_of(cases[i].key), helio_text_of(cases[i].value)};
        helio_error_t err = {0};
        uint32_t cause = HELIO_CAUSE_NONE;
        spec.kubernetes.items = &pair;
        spec.kubernetes.count = 1;
        manifest.queue = HELIO_TEXT("team-a");
        manifest.priority_class = HELIO_TEXT("own");
        manifest.queues = manifest.priority_classes = (helio_kube_choice_t){listed, cases[i].listed};
        helio_rc rc = helio_kube_options(&spec, &manifest, &cause, &err);
        if (cases[i].good != (rc == HELIO_OK))
            fail_msg("%s '%s': %s", cases[i].key, cases[i].value, err.text);
        if (cases[i].good)
            continue;
        assert_int_equal(rc, HELIO_FORBIDDEN);
        assert_int_equal(cause, HELIO_CAUSE_OPTION_NOT_ALLOWED);
        assert_non_null(strstr(err.text, cases[i].key[0] == 'q' ? "job_queues" : "job_priority_classes"));
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_manifest, end_documents)
    const struct CMUnitTest tests[] = {
        TEST(a_job_on_one_node),
        TEST(a_gang_with_everything),
        TEST(nothing_runs_an_epoch_twice),
        TEST(the_deadline_is_the_earlier_of_limit_and_lease),
        TEST(the_longest_name_is_allowed),
        TEST(a_queue_suspends_and_is_no_label_of_pods),
        TEST(the_jobs_environment_cannot_replace_ours),
        TEST(a_dollar_is_what_the_job_file_says),
        TEST(a_cpu_job_asks_for_no_gpu),
        TEST(a_checkpoint_signal_is_passed_on_unless_it_is_term),
        TEST(what_no_pod_can_run_is_refused),
        TEST(a_job_says_its_queue_and_priority_and_nothing_else),
        TEST(a_job_names_only_what_the_site_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
