/*  test_state.c -- the table of states, row by row, on recorded objects and on written ones. */
#include "tests/unit/site-agent/backends/kubernetes/recorded.h"

#include "site-agent/backends/kubernetes/state.h"

static helio_kube_sight_t sight;
static helio_kube_verdict_t verdict;

static int begin_sight(void **state)
{
    sight = (helio_kube_sight_t){.nodes = 1, .known = true};
    return begin_documents(state);
}

static void look(void)
{
    helio_kube_look(&sight, &verdict);
}

static void see(const char *job, const char *pods)
{
    sight.job = job ? recorded(job) : NULL;
    sight.pods = pods ? items(recorded(pods)) : NULL;
    look();
}

#define ASSERT_REPORT(word_, cause_)                                  \
    do {                                                              \
        assert_int_equal(verdict.kind, HELIO_KUBE_REPORT);            \
        assert_int_equal(verdict.word, HELIO_BACKEND_REPORT_##word_); \
        assert_int_equal(verdict.cause, HELIO_CAUSE_##cause_);        \
    } while (0)
#define ASSERT_GIVEN_UP(word_, cause_)                                \
    do {                                                              \
        assert_int_equal(verdict.kind, HELIO_KUBE_GIVE_UP);           \
        assert_int_equal(verdict.word, HELIO_BACKEND_REPORT_##word_); \
        assert_int_equal(verdict.cause, HELIO_CAUSE_##cause_);        \
    } while (0)

/* ---- waiting and beginning ----------------------------------------------------------------------------- */

static void a_new_job_waits_for_its_pods(void **state)
{
    (void)state;
    see("core/20-job-create", NULL);
    ASSERT_REPORT(WAITING, WAITS_IN_CLUSTER);
    assert_string_equal(verdict.why, "the Job has no pods yet");
}

static void a_pod_that_fits_nowhere_waits_with_the_schedulers_words(void **state)
{
    (void)state;
    see("core/35-job-get-unschedulable", "core/35-pod-list-unschedulable");
    ASSERT_REPORT(WAITING, WAITS_IN_CLUSTER);
    assert_non_null(strstr(verdict.why, "3 Insufficient nvidia.com/gpu"));
}

/*  The Job itself says nothing of a quota: only an event does. */
static void a_job_over_quota_waits_with_the_events_words(void **state)
{
    (void)state;
    sight.creation = HELIO_TEXT("exceeded quota: q");
    see("core/38-job-get-over-quota", NULL);
    ASSERT_REPORT(WAITING, WAITS_IN_CLUSTER);
    assert_string_equal(verdict.why, "exceeded quota: q");
}

static void a_container_that_is_created_waits(void **state)
{
    (void)state;
    see("core/22-job-get-running", "core/43-pod-list-container-creating");
    ASSERT_REPORT(WAITING, WAITS_IN_CLUSTER);
    assert_string_equal(verdict.why, "ContainerCreating");
    assert_false(verdict.image_waits);
}

static void an_image_that_cannot_be_had_is_given_up_after_a_while(void **state)
{
    (void)state;
    see("core/22-job-get-running", "core/34-pod-list-image-pull-backoff");
    ASSERT_REPORT(WAITING, WAITS_IN_CLUSTER);
    assert_true(verdict.image_waits);
    assert_string_equal(verdict.why, "Back-off pulling image \"registry.example/train:1\"");
    sight.image_since_ms = 1000;
    sight.server_wall_ms = 1000 + HELIO_KUBE_IMAGE_PATIENCE_MS - 1;
    look();
    ASSERT_REPORT(WAITING, WAITS_IN_CLUSTER);
    sight.server_wall_ms++;
    look();
    ASSERT_GIVEN_UP(FAILED_TO_START, SUBMIT_REFUSED);
}

static void it_has_begun_when_its_container_has(void **state)
{
    (void)state;
    see("core/22-job-get-running", "core/23-pod-list-running");
    ASSERT_REPORT(STARTED, NONE);
    assert_true(verdict.started_wall_ms == 1795227189000); /* 2026-11-21T02:13:09Z */
    sight.begun = true;
    look();
    assert_int_equal(verdict.kind, HELIO_KUBE_KEEP);
}

static void a_gang_has_begun_when_all_of_it_has(void **state)
{
    (void)state;
    sight.nodes = 2;
    see("core/22-job-get-running", "core/23-pod-list-running");
    ASSERT_REPORT(WAITING, WAITS_IN_CLUSTER);
    json_t *pods = json_deep_copy(sight.pods);
    json_array_append_new(documents, pods);
    assert_int_equal(json_array_append(pods, json_array_get(sight.pods, 0)), 0);
    sight.pods = pods;
    look();
    ASSERT_REPORT(STARTED, NONE);
}

/* ---- ends ---------------------------------------------------------------------------------------------- */

static void success_is_an_end_with_0(void **state)
{
    (void)state;
    sight.begun = true;
    see("core/24-job-get-complete", "core/25-pod-list-succeeded");
    ASSERT_REPORT(ENDED, NONE);
    assert_int_equal(verdict.exit_code, 0);
    assert_true(verdict.started_wall_ms == 1795227189000 && verdict.ended_wall_ms == 1795227192000);
}

/*  A Job says first that it will be over: the pods' processes may still be there. */
static void a_criterion_is_no_end(void **state)
{
    (void)state;
    static const char *const jobs[] = {
        "{'spec': {}, 'status': {'conditions': [{'type': 'SuccessCriteriaMet', 'status': 'True'}]}}",
        "{'spec': {}, 'status': {'conditions': [{'type': 'FailureTarget', 'status': 'True'}]}}"};
    for (uint32_t i = 0; i < 4; i++) {
        sight.begun = i % 2;
        sight.job = written(jobs[i / 2]);
        look();
        assert_int_equal(verdict.kind, HELIO_KUBE_KEEP);
    }
}

static void failure_is_an_end_with_the_containers_code(void **state)
{
    (void)state;
    sight.begun = true;
    see("core/31-job-get-failed-backoff", "core/31-pod-list-failed");
    ASSERT_REPORT(ENDED, NONE);
    assert_int_equal(verdict.exit_code, 3);
    assert_string_equal(verdict.why, "Job has reached the specified backoff limit");
    see("core/31-job-get-failed-backoff", "core/32-pod-list-oomkilled");
    ASSERT_REPORT(ENDED, OUT_OF_MEMORY);
    assert_int_equal(verdict.exit_code, 137);
}

/*  It began and ended between two looks. */
static void an_end_needs_no_beginning_before_it(void **state)
{
    (void)state;
    see("core/31-job-get-failed-backoff", "core/31-pod-list-failed");
    ASSERT_REPORT(ENDED, NONE);
    assert_true(verdict.started_wall_ms && verdict.ended_wall_ms);
}

static void of_a_gang_the_first_that_failed_gives_the_code(void **state)
{
    (void)state;
    sight.begun = true;
    sight.nodes = 3;
    sight.job = recorded("core/31-job-get-failed-backoff");
    sight.pods = written(
        "[{'status': {'phase': 'Failed', 'containerStatuses': [{'state': {'terminated': {'exitCode': 143, 'startedAt': "
        "'2026-01-01T00:00:00Z', 'finishedAt': '2026-01-01T00:00:09Z'}}}]}}, {'status': {'phase': 'Failed', "
        "'containerStatuses': [{'state': {'terminated': {'exitCode': 5, 'startedAt': '2026-01-01T00:00:00Z', "
        "'finishedAt': '2026-01-01T00:00:07Z'}}}]}}, {'status': {'phase': 'Succeeded', 'containerStatuses': [{'state': "
        "{'terminated': {'exitCode': 0, 'startedAt': '2026-01-01T00:00:01Z', 'finishedAt': '2026-01-01T00:00:03Z'}}}]}}]");
    look();
    ASSERT_REPORT(ENDED, NONE);
    assert_int_equal(verdict.exit_code, 5);
    assert_int_equal(verdict.ended_wall_ms - verdict.started_wall_ms, 8000);
}

/*  An evicted pod, or one whose node is gone, has no code. */
static void failure_without_a_code_is_the_nodes(void **state)
{
    (void)state;
    sight.begun = true;
    sight.job = recorded("core/31-job-get-failed-backoff");
    sight.pods = written("[{'status': {'phase': 'Failed', 'reason': 'Evicted'}}]");
    look();
    ASSERT_REPORT(VANISHED, NODE_FAILED);
    sight.begun = false;
    look();
    ASSERT_REPORT(FAILED_TO_START, NODE_FAILED);
}

static void the_deadline_is_the_limit_or_the_lease(void **state)
{
    (void)state;
    sight.begun = true;
    sight.time_limit_ms = 3000;
    see("core/33-job-get-failed-deadline", NULL);
    ASSERT_REPORT(ENDED, NONE);
    assert_int_equal(verdict.exit_code, 124);
    assert_true(verdict.limit_reached && !verdict.stopped);
    sight.time_limit_ms = 60000; /* so it was the lease that ended after 3 s */
    look();
    ASSERT_REPORT(ENDED, LEASE_EXPIRED);
    assert_true(verdict.stopped && !verdict.limit_reached);
    sight.begun = false;
    look();
    ASSERT_REPORT(FAILED_TO_START, LEASE_EXPIRED);
}

/* ---- absent, deleted, lost ----------------------------------------------------------------------------- */

static void what_was_never_seen_is_absent(void **state)
{
    (void)state;
    sight.known = false;
    see(NULL, NULL);
    ASSERT_REPORT(ABSENT, NONE);
}

static void what_others_deleted_has_vanished(void **state)
{
    (void)state;
    sight.begun = true;
    see(NULL, NULL);
    ASSERT_REPORT(VANISHED, SITE_CANCELLED);
    sight.begun = false;
    look();
    ASSERT_REPORT(FAILED_TO_START, SITE_CANCELLED);
}

/*  A deletion is answered at once; it is over when no pod runs any more, however long its kubelet is away. */
static void a_deleted_job_is_over_when_its_pods_are(void **state)
{
    (void)state;
    sight.begun = sight.deleted = true;
    see("core/22-job-get-running", "core/23-pod-list-running");
    assert_int_equal(verdict.kind, HELIO_KUBE_KEEP);
    see(NULL, "core/23-pod-list-running");
    assert_int_equal(verdict.kind, HELIO_KUBE_KEEP);
    json_t *stuck = written("[]");
    json_array_append(stuck, recorded("resilience/72-pod-stuck-terminating"));
    sight.pods = stuck;
    look();
    assert_int_equal(verdict.kind, HELIO_KUBE_KEEP);
    see(NULL, "core/77-pod-list-terminating");
    ASSERT_REPORT(ENDED, NONE);
    assert_true(verdict.stopped);
    assert_int_equal(verdict.exit_code, 143);
    see(NULL, NULL);
    ASSERT_REPORT(ENDED, NONE);
    assert_true(verdict.stopped);
}

static void a_lost_node_is_waited_for(void **state)
{
    (void)state;
    sight.begun = true;
    sight.job = recorded("resilience/71-job-on-lost-node");
    json_t *pods = written("[]");
    json_array_append(pods, recorded("resilience/71-pod-on-lost-node"));
    sight.pods = pods;
    look();
    assert_int_equal(verdict.kind, HELIO_KUBE_KEEP);
}

/* ---- Kueue --------------------------------------------------------------------------------------------- */

static void see_workload(const char *job, const char *workloads)
{
    sight.job = recorded(job);
    sight.workload = json_array_get(items(recorded(workloads)), 0);
    look();
}

static void a_job_without_quota_waits_with_kueues_words(void **state)
{
    (void)state;
    see_workload("kueue/13-job-get-waiting", "kueue/15-workload-pending-quota");
    ASSERT_REPORT(WAITING, WAITS_IN_CLUSTER);
    assert_non_null(strstr(verdict.why, "4 more needed"));
    see_workload("kueue/30-job-create-over-nominal", "kueue/31-workload-over-nominal");
    ASSERT_REPORT(WAITING, WAITS_IN_CLUSTER);
    sight.workload = NULL; /* not made yet */
    look();
    ASSERT_REPORT(WAITING, WAITS_IN_CLUSTER);
    assert_string_equal(verdict.why, "the Job is suspended");
}

static void an_unknown_queue_is_refused(void **state)
{
    (void)state;
    see_workload("kueue/33-job-unknown-queue", "kueue/33-workload-unknown-queue");
    ASSERT_GIVEN_UP(FAILED_TO_START, SUBMIT_REFUSED);
    assert_string_equal(verdict.why, "LocalQueue nosuch doesn't exist");
}

/*  A stopped queue is inadmissible too, and opens again. */
static void a_stopped_queue_is_waited_for(void **state)
{
    (void)state;
    see_workload("kueue/41-job-evicted-by-drain", "kueue/41-workload-evicted");
    ASSERT_REPORT(WAITING, WAITS_IN_CLUSTER);
    assert_string_equal(verdict.why, "ClusterQueue gpu is inactive");
}

static void an_evicted_job_is_given_up_before_it_runs_again(void **state)
{
    (void)state;
    sight.begun = true;
    see_workload("kueue/41-job-evicted-by-drain", "kueue/41-workload-evicted");
    ASSERT_GIVEN_UP(VANISHED, PREEMPTED);
    assert_string_equal(verdict.why, "The ClusterQueue is stopped");
}

static void an_admitted_job_goes_on_like_any_other(void **state)
{
    (void)state;
    see_workload("kueue/11-job-get-admitted", "kueue/14-workload-admitted");
    ASSERT_REPORT(WAITING, WAITS_IN_CLUSTER);
    assert_string_equal(verdict.why, "the Job has no pods yet");
    see_workload("kueue/20-job-b-complete", "kueue/19-workload-finished");
    ASSERT_REPORT(ENDED, NONE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_sight, end_documents)
    const struct CMUnitTest tests[] = {
        TEST(a_new_job_waits_for_its_pods),
        TEST(a_pod_that_fits_nowhere_waits_with_the_schedulers_words),
        TEST(a_job_over_quota_waits_with_the_events_words),
        TEST(a_container_that_is_created_waits),
        TEST(an_image_that_cannot_be_had_is_given_up_after_a_while),
        TEST(it_has_begun_when_its_container_has),
        TEST(a_gang_has_begun_when_all_of_it_has),
        TEST(success_is_an_end_with_0),
        TEST(a_criterion_is_no_end),
        TEST(failure_is_an_end_with_the_containers_code),
        TEST(an_end_needs_no_beginning_before_it),
        TEST(of_a_gang_the_first_that_failed_gives_the_code),
        TEST(failure_without_a_code_is_the_nodes),
        TEST(the_deadline_is_the_limit_or_the_lease),
        TEST(what_was_never_seen_is_absent),
        TEST(what_others_deleted_has_vanished),
        TEST(a_deleted_job_is_over_when_its_pods_are),
        TEST(a_lost_node_is_waited_for),
        TEST(a_job_without_quota_waits_with_kueues_words),
        TEST(an_unknown_queue_is_refused),
        TEST(a_stopped_queue_is_waited_for),
        TEST(an_evicted_job_is_given_up_before_it_runs_again),
        TEST(an_admitted_job_goes_on_like_any_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
