/*  backend_testing.h -- the backend at the double of a cluster (tests/doubles/kubernetes), in a test's hands. */
#ifndef HELIO_TESTS_BACKEND_TESTING_H
#define HELIO_TESTS_BACKEND_TESTING_H

#include "tests/unit/site-agent/backends/kubernetes/double_testing.h"

#include "federation/reason/codes.h"
#include "site-agent/backends/kubernetes/api.h"
#include "site-agent/backends/kubernetes/document.h"
#include "site-agent/backends/kubernetes/kubernetes.h"
#include "site-agent/backends/kubernetes/shell.h"

#define JOBS "/apis/batch/v1/namespaces/heliostat/jobs"
enum { EVENTS_MAX = 64 };

static helio_backend_t *backend;
static helio_kube_access_t access_;
static helio_kube_api_t *api;
static helio_pool_t pool;
static helio_site_profile_t site;
static helio_job_rules_t rules;
static helio_kubernetes_settings_t settings;
static helio_job_spec_t spec;
static helio_order_t order;
static helio_aev_backend_t events[EVENTS_MAX];
static uint32_t event_count, capacities, withheld; /* why nothing was offered last */
static uint64_t offered;                           /* GPUs, last */
static int64_t expected_s;                         /* until a whole node is free, last; -1 = not told */
static char doubt[600];                            /* told last */
static bool surveyed;
static bool within; /* during a call that must not call back */

/* ---- what the backend says -------------------------------------------------------------- */

static inline const char *path_of(const char *name)
{
    return helio_arena_printf(arena, "%s/%s", folder, name).data;
}

static inline void on_event(void *arg, const helio_aev_backend_t *event)
{
    (void)arg;
    assert_false(within);
    if (memcmp(&event->key, &order.key, sizeof order.key) != 0)
        return; /* of another test */
    assert_true(event_count < EVENTS_MAX);
    helio_record_copy(&helio_aev_backend_type, arena, event, &events[event_count++]);
}

static inline void on_capacity(void *arg, const helio_aev_capacity_t *capacity)
{
    (void)arg;
    const helio_pool_capacity_t *only = &capacity->pools.items[0];
    withheld = only->withheld;
    offered = 0;
    for (uint32_t k = 0; k < only->free_nodes.count; k++)
        offered += (uint64_t)k * only->free_nodes.items[k];
    expected_s = only->expected_wait_s.count ? (int64_t)only->expected_wait_s.items[0] : -1;
    capacities++;
}

static inline void on_doubt(void *arg, const char *text)
{
    (void)arg;
    (void)snprintf(doubt, sizeof doubt, "%s", text);
}

static inline void on_survey(void *arg, const char *hindrance)
{
    (void)arg;
    surveyed = surveyed || !hindrance;
}

static inline void make_backend(void)
{
    helio_error_t err = {0};
    helio_kubernetes_options_t options = {
        .site = &site,
        .rules = &rules,
        .settings = &settings,
        .state_dir = path_of("state"),
        .sink = {.on_event = on_event, .on_capacity = on_capacity, .on_survey = on_survey, .on_doubt = on_doubt}};
    event_count = capacities = 0;
    doubt[0] = '\0';
    surveyed = false;
    if (helio_kubernetes_new(&options, &backend, &err))
        fail_msg("%s", err.text);
}

/*  Each test begins with it: what a set-up skips counts as failed. */
static inline void reach_double(const char *name)
{
    helio_error_t err = {0};
    uint8_t random[10] = {0};
    if (!double_has("port")) {
        print_message("SKIPPED: the backend at a Kubernetes API: its double needs python3 and openssl\n");
        skip();
    }
    memcpy(random, name, strlen(name) < sizeof random ? strlen(name) : sizeof random);
    pool = (helio_pool_t){.name = HELIO_TEXT("h200"), .gpu = HELIO_TEXT("H200"), .nodes = 2, .gpus_per_node = 8};
    site = (helio_site_profile_t){.name = HELIO_TEXT("lab"), .pools = {&pool, 1}};
    rules = (helio_job_rules_t){.retention_ms = 86400000, .log_max_bytes = 1 << 20};
    settings = (helio_kubernetes_settings_t){.kubeconfig = helio_text_of(path_of("agent.kubeconfig"))};
    spec = (helio_job_spec_t){.image = HELIO_TEXT("image:1"), .run = HELIO_TEXT("exit 3")};
    order = (helio_order_t){.key = {helio_uuid_v7(1700000000000, random), HELIO_NO_TASK},
                            .epoch = 1,
                            .pool = HELIO_TEXT("h200"),
                            .nodes = 1,
                            .gpus_per_node = 1};
    make_backend();
    access_ = (helio_kube_access_t){.server = HELIO_TEXT("https://127.0.0.1:"),
                                    .token = {.text = HELIO_TEXT("admin-token")},
                                    .authority = {.path = helio_text_of(path_of("pki/ca.crt"))}};
    FILE *port = fopen(path_of("port"), "re");
    unsigned number = 0;
    assert_int_equal(port ? fscanf(port, "%u", &number) : 0, 1);
    (void)fclose(port);
    access_.server = helio_arena_printf(arena, "https://127.0.0.1:%u", number);
    assert_int_equal(helio_kube_api_new(&access_, &api, &err), HELIO_OK);
}

static inline int end_backend(void **state)
{
    helio_backend_destroy(&backend);
    helio_kube_api_destroy(&api);
    return end_documents(state);
}

static inline void turn(void)
{
    struct pollfd wait = {.fd = backend->class->fd(backend), .events = POLLIN};
    (void)poll(&wait, 1, backend->class->next_ms(backend) == 0 ? 0 : 10);
    backend->class->process(backend, helio_clock_boot_ms(), helio_clock_wall_ms());
}

static inline const helio_aev_backend_t *last(void)
{
    return event_count ? &events[event_count - 1] : NULL;
}

static inline const helio_aev_backend_t *await(uint32_t word)
{
    int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS;
    while ((!last() || last()->word != word) && helio_clock_boot_ms() < until_ms)
        turn();
    if (!last() || last()->word != word)
        fail_msg("no event '%s' after %u", helio_backend_report_name(word), event_count);
    return last();
}

static inline uint32_t told(uint32_t word)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < event_count; i++)
        count += events[i].word == word;
    return count;
}

static inline void start(void)
{
    helio_backend_task_t task = {.order = &order, .spec = &spec};
    within = true;
    backend->class->start(backend, &task);
    within = false;
}

static inline void adopt(void)
{
    helio_backend_task_t task = {.order = &order, .spec = &spec};
    within = true;
    backend->class->adopt(backend, &task);
    within = false;
}

static inline void stop(uint32_t mode)
{
    helio_stop_t stop = {.key = order.key, .epoch = order.epoch, .mode = mode, .cause = HELIO_CAUSE_STOPPED};
    within = true;
    backend->class->stop(backend, &stop);
    within = false;
}

/* ---- what the cluster has ------------------------------------------------------------------------------- */

static long status;

static inline void on_reply(void *arg, const helio_kube_reply_t *reply)
{
    *(bool *)arg = true;
    status = reply->status;
}

static inline long ask(const char *method, const char *path, helio_text_t body)
{
    bool over = false;
    helio_error_t err = {0};
    assert_int_equal(helio_kube_api_ask(api, method, path, body, on_reply, &over, &err), HELIO_OK);
    while (!over) {
        struct pollfd wait = {.fd = helio_kube_api_fd(api), .events = POLLIN};
        (void)poll(&wait, 1, 10);
        helio_kube_api_process(api, helio_clock_boot_ms());
    }
    return status;
}

static inline const char *job_path(void)
{
    char name[HELIO_ATTEMPT_NAME_SIZE];
    helio_attempt_name(order.key, order.epoch, name);
    return helio_arena_printf(arena, JOBS "/%s", name).data;
}

static inline bool has_job(void)
{
    return ask("GET", job_path(), (helio_text_t){0}) == 200;
}

#endif
