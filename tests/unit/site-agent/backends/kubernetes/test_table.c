/*  test_table.c -- what the backend keeps of an attempt from its Job, whoever wrote that. */
#include "tests/unit/site-agent/backends/kubernetes/recorded.h"

#include "site-agent/backends/kubernetes/shell.h"

static helio_kube_t self;
static helio_kube_attempt_t *attempt;

static int begin_table(void **state)
{
    memset(&self, 0, sizeof self);
    attempt = helio_kube_add(&self, (helio_job_key_t){.task = HELIO_NO_TASK}, 1);
    return begin_documents(state);
}

static int end_table(void **state)
{
    helio_kube_remove(attempt);
    return end_documents(state);
}

static void show(const char *spec)
{
    helio_kube_set_job(attempt, written(helio_arena_printf(arena, "{'spec': %s}", spec).data));
}

static void size_and_limit_are_learnt_from_the_job(void **state)
{
    (void)state;
    show("{'completions': 2, 'activeDeadlineSeconds': 500, 'template': {'spec': {'activeDeadlineSeconds': 690, "
         "'terminationGracePeriodSeconds': 30, 'containers': [{'resources': {'limits': {'nvidia.com/gpu': '4'}}}]}}}");
    assert_int_equal(attempt->nodes, 2);
    assert_int_equal(attempt->gpus_per_node, 4);
    assert_true(attempt->deadline_s == 500);
    assert_true(attempt->grace_ms == 30000);
    assert_true(attempt->time_limit_ms == 600000);
    show("{}");
    assert_int_equal(attempt->nodes, 1);
    assert_true(attempt->grace_ms == 0);
}

/*  A Job that has our labels and was written by another hand. */
static void numbers_of_any_size_are_bounded(void **state)
{
    (void)state;
    show("{'completions': 4294967297, 'activeDeadlineSeconds': 9223372036854775807, 'template': {'spec': "
         "{'activeDeadlineSeconds': 9223372036854775807, 'terminationGracePeriodSeconds': 9223372036854775807, "
         "'containers': [{'resources': {'limits': {'nvidia.com/gpu': '4294967297'}}}]}}}");
    assert_int_equal(attempt->nodes, HELIO_JOB_NODES_MAX);
    assert_int_equal(attempt->gpus_per_node, HELIO_JOB_GPUS_PER_NODE_MAX);
    assert_true(attempt->deadline_s == INT32_MAX);
    assert_true(attempt->grace_ms == INT32_MAX * INT64_C(1000));
    assert_true(attempt->time_limit_ms == 0);
    show("{'completions': -1, 'activeDeadlineSeconds': -1, 'template': {'spec': {'activeDeadlineSeconds': "
         "9223372036854775807, 'terminationGracePeriodSeconds': -9223372036854775807}}}");
    assert_int_equal(attempt->nodes, 1);
    assert_true(attempt->deadline_s == 0);
    assert_true(attempt->grace_ms == 0);
    assert_true(attempt->time_limit_ms == INT32_MAX * UINT64_C(1000) - HELIO_KUBE_MARGIN_MS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_table, end_table)
    const struct CMUnitTest tests[] = {
        TEST(size_and_limit_are_learnt_from_the_job),
        TEST(numbers_of_any_size_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
