/*  test_api.c -- requests and watches over TLS, at the double of a cluster (tests/doubles/kubernetes), with its faults. */
#include "tests/unit/site-agent/backends/kubernetes/double_testing.h"

#include "site-agent/backends/kubernetes/api.h"
#include "site-agent/backends/kubernetes/document.h"
#include "site-agent/backends/kubernetes/mirror.h"

#define JOBS "/apis/batch/v1/namespaces/heliostat/jobs"
static helio_kube_access_t access_;
static helio_kube_api_t *api;

static helio_text_t file_text(const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    char *bytes = helio_arena_alloc(arena, 1 << 16, 1);
    size_t size = fread(bytes, 1, (1 << 16) - 1, file);
    (void)fclose(file);
    return (helio_text_t){bytes, (uint32_t)size};
}

static void use(const char *name)
{
    helio_error_t err = {0};
    helio_spec_source_t source = {.text = file_text(name), .name = name};
    assert_int_equal(helio_kubeconfig_read(source, folder, (helio_text_t){0}, arena, &access_, &err), HELIO_OK);
}

/*  Each test begins with it: what a set-up skips counts as failed. */
static void reach_double(void **state)
{
    (void)state;
    helio_error_t err = {0};
    if (!double_has("port")) {
        print_message("SKIPPED: requests to a Kubernetes API: its double needs python3 and openssl\n");
        skip();
    }
    use("agent.kubeconfig");
    assert_int_equal(helio_kube_api_new(&access_, &api, &err), HELIO_OK);
}

static int end_api(void **state)
{
    helio_kube_api_destroy(&api);
    return end_documents(state);
}

/* ---- asking ---------------------------------------------------------------------------------------------- */

typedef struct heard {
    bool over;
    helio_kube_answer_t answer;
    long status;
    uint64_t pause_ms;
    json_t *document; /* held by `documents` */
    char message[512];
    uint32_t events, bookmarks;
    char version[32];
    char last_type[32];
} heard_t;

static void on_reply(void *arg, const helio_kube_reply_t *reply)
{
    heard_t *heard = arg;
    assert_false(heard->over);
    heard->over = true;
    heard->answer = reply->answer;
    heard->status = reply->status;
    heard->pause_ms = reply->pause_ms;
    heard->document = reply->document;
    (void)helio_text_copy(reply->message, heard->message, sizeof heard->message);
    if (reply->document)
        json_array_append(documents, reply->document);
}

static void on_event(void *arg, const helio_kube_event_t *event)
{
    heard_t *heard = arg;
    heard->events++;
    heard->bookmarks += event->change == HELIO_KUBE_BOOKMARK;
    (void)helio_text_copy(event->version, heard->version, sizeof heard->version);
    if (helio_kube_condition(event->object, "Complete"))
        (void)helio_text_copy(HELIO_TEXT("Complete"), heard->last_type, sizeof heard->last_type);
}

static void turn(void)
{
    struct pollfd wait = {.fd = helio_kube_api_fd(api), .events = POLLIN};
    (void)poll(&wait, 1, 10);
    helio_kube_api_process(api, helio_clock_boot_ms());
}

static heard_t ask_with(const char *method, const char *path, helio_text_t body)
{
    heard_t heard = {0};
    helio_error_t err = {0};
    int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS;
    if (helio_kube_api_ask(api, method, path, body, on_reply, &heard, &err))
        fail_msg("%s %s: %s", method, path, err.text);
    while (!heard.over && helio_clock_boot_ms() < until_ms)
        turn();
    assert_true(heard.over);
    return heard;
}

static heard_t ask(const char *method, const char *path)
{
    return ask_with(method, path, (helio_text_t){0});
}

static heard_t create(const char *name, const char *script)
{
    return ask_with(
        "POST", JOBS "?fieldValidation=Strict",
        helio_arena_printf(arena,
                           "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\"},\"spec\":{"
                           "\"backoffLimit\":0,\"template\":{\"spec\":{\"restartPolicy\":\"Never\","
                           "\"containers\":[{\"name\":\"main\",\"image\":\"i:1\",\"command\":[\"sh\",\"-c\",\"%s\"]"
                           "}]}}}}",
                           name, script));
}

/*  The next requests meet with a fault. */
static void wish(const char *json)
{
    helio_kube_access_t own = access_;
    use("kubeconfig");
    access_.certificate = access_.key = (helio_kube_secret_t){0};
    access_.token = (helio_kube_secret_t){.text = HELIO_TEXT("admin-token")};
    assert_int_equal(ask_with("POST", "/double/faults", helio_text_of(json)).answer, HELIO_KUBE_DONE);
    access_ = own;
}

static void a_job_is_created_once_and_deleted(void **state)
{
    reach_double(state);
    assert_int_equal(create("once", "true").answer, HELIO_KUBE_DONE);
    assert_int_equal(create("once", "true").answer, HELIO_KUBE_EXISTS);
    heard_t got = ask("GET", JOBS "/once");
    assert_int_equal(got.status, 200);
    assert_true(helio_text_is(helio_kube_text(HELIO_KUBE_AT(got.document, "metadata", "name")), "once"));
    helio_text_t patch = HELIO_TEXT("{\"spec\":{\"activeDeadlineSeconds\":77}} and more");
    patch.size -= (uint32_t)sizeof " and more" - 1; /* a view has its size, and need not end there */
    heard_t patched = ask_with("PATCH", JOBS "/once", patch);
    assert_int_equal(patched.answer, HELIO_KUBE_DONE);
    assert_int_equal(json_integer_value(HELIO_KUBE_AT(patched.document, "spec", "activeDeadlineSeconds")), 77);
    assert_int_equal(ask("DELETE", JOBS "/once?propagationPolicy=Background").answer, HELIO_KUBE_DONE);
    assert_int_equal(ask("GET", JOBS "/once").answer, HELIO_KUBE_ABSENT);
    assert_int_equal(create("Not_Good", "true").answer, HELIO_KUBE_REFUSED);
}

static void rights_and_credentials_are_told_apart(void **state)
{
    reach_double(state);
    assert_int_equal(ask("GET", "/api/v1/pods").answer, HELIO_KUBE_DENIED);
    assert_int_equal(ask("GET", "/api/v1/nodes").answer, HELIO_KUBE_DONE);
    access_.token.text = HELIO_TEXT("wrong");
    assert_int_equal(ask("GET", JOBS).answer, HELIO_KUBE_STRANGER);
    access_.token.text = (helio_text_t){0};
    assert_int_equal(ask("GET", JOBS).answer, HELIO_KUBE_DENIED);
}

static void a_client_certificate_is_shown_from_files_and_from_memory(void **state)
{
    reach_double(state);
    use("kubeconfig");
    assert_true(access_.certificate.path.size && !access_.token.text.size);
    assert_int_equal(ask("GET", "/api/v1/pods").answer, HELIO_KUBE_DONE); /* an administrator's */
    access_.authority = (helio_kube_secret_t){.text = file_text("pki/ca.crt")};
    access_.certificate = (helio_kube_secret_t){.text = file_text("pki/admin.crt")};
    access_.key = (helio_kube_secret_t){.text = file_text("pki/admin.key")};
    assert_int_equal(ask("GET", "/api/v1/pods").answer, HELIO_KUBE_DONE);
}

/*  The kubelet replaces the file of a pod's token. */
static void a_tokens_file_is_read_for_each_request(void **state)
{
    reach_double(state);
    helio_error_t err = {0};
    heard_t heard = {0};
    char path[512];
    (void)snprintf(path, sizeof path, "%s/token", folder);
    access_.token = (helio_kube_secret_t){.path = helio_text_of(path)};
    assert_int_equal(helio_kube_api_ask(api, NULL, JOBS, (helio_text_t){0}, on_reply, &heard, &err), HELIO_IO);
    static const struct {
        const char *token;
        helio_kube_answer_t answer;
    } cases[] = {{"wrong\n", HELIO_KUBE_STRANGER}, {"agent-token\n", HELIO_KUBE_DONE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        (void)fputs(cases[i].token, file);
        (void)fclose(file);
        assert_int_equal(ask("GET", JOBS).answer, cases[i].answer);
    }
    assert_false(heard.over);
}

static void a_server_that_is_not_the_clusters_is_not_spoken_to(void **state)
{
    reach_double(state);
    access_.authority = (helio_kube_secret_t){0};
    heard_t heard = ask("GET", JOBS);
    assert_int_equal(heard.answer, HELIO_KUBE_UNKNOWN);
    assert_int_equal(heard.status, 0);
    assert_non_null(strstr(heard.message, "certificate"));
}

static void a_busy_server_names_a_pause(void **state)
{
    reach_double(state);
    wish("{\"too_many\": 1}");
    heard_t heard = ask("GET", JOBS);
    assert_int_equal(heard.answer, HELIO_KUBE_BUSY);
    assert_int_equal(heard.pause_ms, 1000);
    assert_non_null(strstr(heard.message, "Too many requests"));
    assert_int_equal(ask("GET", JOBS).answer, HELIO_KUBE_DONE);
}

/*  One answer stands for two outcomes: only reading the object tells which. */
static void a_late_create_may_have_happened(void **state)
{
    reach_double(state);
    wish("{\"create\": \"lost\"}");
    heard_t heard = create("late", "true");
    assert_int_equal(heard.answer, HELIO_KUBE_UNKNOWN);
    assert_int_equal(heard.status, 504);
    assert_non_null(strstr(heard.message, "did not complete"));
    assert_int_equal(ask("GET", JOBS "/late").answer, HELIO_KUBE_ABSENT);
    wish("{\"create\": \"done\"}");
    assert_int_equal(create("late", "true").answer, HELIO_KUBE_UNKNOWN);
    assert_int_equal(ask("GET", JOBS "/late").answer, HELIO_KUBE_DONE);
}

static void a_server_that_is_gone_leaves_it_open(void **state)
{
    reach_double(state);
    wish("{\"outage_seconds\": 1}");
    heard_t heard = {0};
    for (int i = 0; i < 50 && heard.answer != HELIO_KUBE_UNKNOWN; i++)
        heard = ask("GET", JOBS);
    assert_int_equal(heard.answer, HELIO_KUBE_UNKNOWN);
    assert_true(heard.message[0] != '\0');
    int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS;
    while (heard.answer != HELIO_KUBE_DONE && helio_clock_boot_ms() < until_ms)
        heard = ask("GET", JOBS);
    assert_int_equal(heard.answer, HELIO_KUBE_DONE);
}

/* ---- watching -------------------------------------------------------------------------------------------- */

static const char *listed_version(void)
{
    heard_t heard = ask("GET", JOBS);
    return json_string_value(HELIO_KUBE_AT(heard.document, "metadata", "resourceVersion"));
}

static void watch(const char *version, heard_t *heard)
{
    helio_error_t err = {0};
    assert_int_equal(helio_kube_api_watch(api, JOBS, version, on_event, on_reply, heard, &err), HELIO_OK);
}

static void until(const bool *over, const char *what)
{
    int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS;
    while (!*over && helio_clock_boot_ms() < until_ms)
        turn();
    if (!*over)
        fail_msg("%s did not come", what);
}

static void a_watch_sees_a_life_while_requests_go_on(void **state)
{
    reach_double(state);
    heard_t watched = {0};
    watch(listed_version(), &watched);
    assert_int_equal(create("seen", "true").answer, HELIO_KUBE_DONE);
    int64_t until_ms = helio_clock_boot_ms() + PATIENCE_MS;
    while (!watched.last_type[0] && helio_clock_boot_ms() < until_ms)
        turn();
    assert_string_equal(watched.last_type, "Complete");
    assert_true(watched.events >= 4 && !watched.over);
}

static void a_watch_that_is_cut_off_is_no_end(void **state)
{
    reach_double(state);
    heard_t watched = {0};
    watch(listed_version(), &watched);
    assert_int_equal(create("cut", "true").answer, HELIO_KUBE_DONE);
    while (!watched.events)
        turn();
    wish("{\"cut\": true}");
    until(&watched.over, "the cut");
    assert_int_equal(watched.answer, HELIO_KUBE_UNKNOWN);
    assert_int_equal(watched.status, 0);
}

static void a_version_that_is_too_old_expires_in_the_stream(void **state)
{
    reach_double(state);
    const char *version = listed_version();
    assert_int_equal(create("older", "true").answer, HELIO_KUBE_DONE);
    wish("{\"compact\": true}");
    heard_t watched = {0};
    watch(version, &watched);
    until(&watched.over, "the expiry");
    assert_int_equal(watched.answer, HELIO_KUBE_EXPIRED);
    assert_int_equal(watched.events, 0);
}

static void a_watch_without_rights_or_sense_is_refused(void **state)
{
    reach_double(state);
    heard_t watched = {0}, elsewhere = {0};
    helio_error_t err = {0};
    watch("abc", &watched);
    until(&watched.over, "the refusal");
    assert_int_equal(watched.answer, HELIO_KUBE_UNKNOWN);
    assert_int_equal(watched.status, 500);
    assert_int_equal(helio_kube_api_watch(api, "/api/v1/pods", "1", on_event, on_reply, &elsewhere, &err), HELIO_OK);
    until(&elsewhere.over, "the refusal");
    assert_int_equal(elsewhere.answer, HELIO_KUBE_DENIED);
}

/* ---- listing --------------------------------------------------------------------------------------------- */

static void on_changed(void *arg, const json_t *object, bool gone)
{
    (void)object;
    *(uint32_t *)arg += !gone;
}

static void on_heard(void *arg, const helio_kube_reply_t *reply)
{
    (void)arg;
    (void)reply;
}

static json_t *nothing_of(const json_t *object)
{
    (void)object;
    return json_true();
}

static void list(helio_kube_mirror_t *mirror, int64_t ahead_ms)
{
    int64_t until_ms = helio_clock_boot_ms() + 3 * PATIENCE_MS;
    bool synced = mirror->synced;
    while (mirror->synced == synced && (ahead_ms || !mirror->excess) && helio_clock_boot_ms() < until_ms) {
        helio_kube_mirror_serve(mirror, helio_clock_boot_ms() + ahead_ms);
        turn();
    }
}

/*  A proxy that loses the token of a page, or makes pages up. */
static void a_list_without_end_is_left_and_begun_again_later(void **state)
{
    reach_double(state);
    static const struct {
        const char *wish, *excess;
    } cases[] = {{"{\"endless\": {\"plural\": \"nodes\", \"items\": 1}}", "pages"},
                 {"{\"endless\": {\"plural\": \"nodes\", \"items\": 500}}", "objects"},
                 {"{\"endless\": {\"plural\": \"nodes\", \"items\": 1, \"token\": 10000}}", "bytes of a `continue`"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t seen = 0;
        helio_kube_mirror_t mirror = {.api = api,
                                      .path = "/api/v1/nodes",
                                      .changed = on_changed,
                                      .heard = on_heard,
                                      .prune = nothing_of,
                                      .arg = &seen};
        helio_kube_mirror_init(&mirror);
        wish(cases[i].wish);
        list(&mirror, 0);
        assert_non_null(mirror.excess);
        assert_string_equal(mirror.excess, cases[i].excess);
        assert_false(mirror.synced);
        assert_null(mirror.coming);
        assert_true(helio_kube_mirror_next_ms(&mirror) > helio_clock_boot_ms() + HELIO_KUBE_EXCESS_MS / 2);
        assert_int_equal(seen, 0);
        wish("{\"endless\": null}");
        list(&mirror, HELIO_KUBE_EXCESS_MS);
        assert_true(mirror.synced);
        assert_null(mirror.excess);
        assert_int_equal(seen, 3);
        helio_kube_mirror_clear(&mirror);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_documents, end_api)
    const struct CMUnitTest tests[] = {
        TEST(a_job_is_created_once_and_deleted),
        TEST(rights_and_credentials_are_told_apart),
        TEST(a_client_certificate_is_shown_from_files_and_from_memory),
        TEST(a_tokens_file_is_read_for_each_request),
        TEST(a_server_that_is_not_the_clusters_is_not_spoken_to),
        TEST(a_busy_server_names_a_pause),
        TEST(a_late_create_may_have_happened),
        TEST(a_watch_sees_a_life_while_requests_go_on),
        TEST(a_watch_that_is_cut_off_is_no_end),
        TEST(a_version_that_is_too_old_expires_in_the_stream),
        TEST(a_watch_without_rights_or_sense_is_refused),
        TEST(a_list_without_end_is_left_and_begun_again_later),
        TEST(a_server_that_is_gone_leaves_it_open),
    };
    return cmocka_run_group_tests(tests, begin_double, end_double);
}
