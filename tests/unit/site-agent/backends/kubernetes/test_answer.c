/*  test_answer.c -- what each answer of the API means. */
#include "tests/unit/site-agent/backends/kubernetes/recorded.h"

#include "site-agent/backends/kubernetes/answer.h"

/*  Everything but success that a real server has answered. */
static const struct {
    const char *name;
    long status;
    helio_kube_answer_t answer;
} answers[] = {
    {"core/13-node-get-404", 404, HELIO_KUBE_ABSENT},
    {"core/20-job-create", 201, HELIO_KUBE_DONE},
    {"core/21-job-create-409-already-exists", 409, HELIO_KUBE_EXISTS},
    {"core/24-403-job-status-subresource-not-granted", 403, HELIO_KUBE_DENIED},
    {"core/26-job-delete-background", 200, HELIO_KUBE_DONE},
    {"core/27-job-delete-404", 404, HELIO_KUBE_ABSENT},
    {"core/42-log-400-no-previous", 400, HELIO_KUBE_REFUSED},
    {"core/52-watch-bad-rv-500", 500, HELIO_KUBE_UNKNOWN},
    {"core/55-list-future-rv-504", 504, HELIO_KUBE_UNKNOWN},
    {"core/60-401-bad-token", 401, HELIO_KUBE_STRANGER},
    {"core/61-403-no-token-anonymous", 403, HELIO_KUBE_DENIED},
    {"core/62-403-no-rights", 403, HELIO_KUBE_DENIED},
    {"core/63-403-cluster-wide-pods", 403, HELIO_KUBE_DENIED},
    {"core/64-404-job", 404, HELIO_KUBE_ABSENT},
    {"core/65-404-namespace", 404, HELIO_KUBE_ABSENT},
    {"core/65-404-unknown-resource", 404, HELIO_KUBE_UNKNOWN},
    {"core/65-404-unknown-path-text", 404, HELIO_KUBE_UNKNOWN},
    {"core/66-400-malformed-json", 400, HELIO_KUBE_REFUSED},
    {"core/67-400-strict-unknown-field", 400, HELIO_KUBE_REFUSED},
    {"core/68-415-bad-content-type", 415, HELIO_KUBE_REFUSED},
    {"core/69-422-gpu-fraction", 422, HELIO_KUBE_REFUSED},
    {"core/69-422-name-too-long", 422, HELIO_KUBE_REFUSED},
    {"core/70-413-too-large", 413, HELIO_KUBE_REFUSED},
    {"core/71-409-stale-resource-version", 409, HELIO_KUBE_CONFLICT},
    {"core/71-409-delete-uid-precondition", 409, HELIO_KUBE_CONFLICT},
    {"kueue/34-webhook-denied-bad-queue-name", 403, HELIO_KUBE_REFUSED},
    {"kueue/43-403-workload-delete-not-granted", 403, HELIO_KUBE_DENIED},
    {"kueue/45-create-webhook-timeout", 504, HELIO_KUBE_UNKNOWN},
    {"resilience/10-401-expired-token", 401, HELIO_KUBE_STRANGER},
    {"resilience/40-410-continue-expired", 410, HELIO_KUBE_EXPIRED},
    {"resilience/40-410-list-exact-old-rv", 410, HELIO_KUBE_EXPIRED},
    {"resilience/42-first-answer", 403, HELIO_KUBE_DENIED},
    {"resilience/50-etcd-frozen-create", 504, HELIO_KUBE_UNKNOWN},
    {"resilience/51-create-outcome-after-thaw", 404, HELIO_KUBE_ABSENT},
    {"resilience/60-429-too-many", 429, HELIO_KUBE_BUSY},
    {"resilience/70-log-kubelet-down", 500, HELIO_KUBE_UNKNOWN},
};

static void recorded_answers_mean_what_they_mean(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        helio_text_t bytes = recorded_bytes(answers[i].name), message;
        json_t *document = json_loadb(bytes.data, bytes.size, 0, NULL);
        if (document)
            json_array_append_new(documents, document);
        helio_kube_answer_t found = helio_kube_answer(answers[i].status, document, &message);
        if (found != answers[i].answer)
            fail_msg("%s is %d", answers[i].name, (int)found);
        if (found != HELIO_KUBE_DONE && document && !message.size)
            fail_msg("%s has no message", answers[i].name);
    }
}

static void only_the_apis_own_404_says_that_an_object_is_absent(void **state)
{
    (void)state;
    helio_text_t message;
    static const char *const bodies[] = {"{}",
                                         "{'reason': 'NotFound'}",
                                         "{'reason': 'NotFound', 'details': {}}",
                                         "{'message': 'default backend - 404'}",
                                         "[]",
                                         "'text'"};
    assert_int_equal(helio_kube_answer(404, NULL, &message), HELIO_KUBE_UNKNOWN);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        assert_int_equal(helio_kube_answer(404, written(bodies[i]), &message), HELIO_KUBE_UNKNOWN);
    assert_int_equal(helio_kube_answer(404, written("{'reason': 'NotFound', 'details': {'name': 'x'}}"), &message),
                     HELIO_KUBE_ABSENT);
}

static void no_answer_and_those_of_proxies_leave_it_open(void **state)
{
    (void)state;
    helio_text_t message;
    static const long open[] = {0, 100, 302, 408, 500, 502, 503, 504, 599};
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        assert_int_equal(helio_kube_answer(open[i], NULL, &message), HELIO_KUBE_UNKNOWN);
    assert_int_equal(helio_kube_answer(403, NULL, &message), HELIO_KUBE_DENIED);
    assert_int_equal(helio_kube_answer(409, NULL, &message), HELIO_KUBE_CONFLICT);
}

/*  A quota or a policy refuses the object itself: asking again is no use. */
static void an_admission_is_not_a_lack_of_rights(void **state)
{
    (void)state;
    helio_text_t message;
    const json_t *quota = written("{'message': 'pods \\'x\\' is forbidden: exceeded quota: q, requested: gpu=2', "
                                  "'reason': 'Forbidden', 'details': {'name': 'x', 'kind': 'pods'}}");
    assert_int_equal(helio_kube_answer(403, quota, &message), HELIO_KUBE_REFUSED);
    assert_true(helio_text_is(message, "pods \"x\" is forbidden: exceeded quota: q, requested: gpu=2"));
}

static void pauses_are_bounded(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        uint64_t ms;
    } cases[] = {{"", 1000},      {"1", 1000},    {"30", 30000}, {"0", 0},
                 {"3600", 60000}, {"soon", 1000}, {"-1", 1000},  {"Wed, 21 Oct 2026 07:28:00 GMT", 1000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(helio_kube_pause_ms(helio_text_of(cases[i].header)), cases[i].ms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DOCUMENT_TEST(recorded_answers_mean_what_they_mean),
        DOCUMENT_TEST(only_the_apis_own_404_says_that_an_object_is_absent),
        DOCUMENT_TEST(no_answer_and_those_of_proxies_leave_it_open),
        DOCUMENT_TEST(an_admission_is_not_a_lack_of_rights),
        DOCUMENT_TEST(pauses_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
