/*  test_slurm_poll.c -- how often the cluster is asked. */
#include "tests/unit/site-agent/backends/slurm/slurm_testing.h"

static void open_with_poll(lab_t *lab, uint64_t poll_ms)
{
    lab_open(lab);
    lab->settings.poll_ms = poll_ms;
    lab_reopen(lab);
    lab_pass(lab, 1000);
}

static uint32_t lists_within(lab_t *lab, int64_t ms)
{
    uint32_t before = lab_calls(lab, "squeue ");
    lab_pass(lab, ms);
    return lab_calls(lab, "squeue ") - before;
}

/*  One list takes that long. */
static void be_slow(lab_t *lab, int64_t ms)
{
    uint32_t before = lab_calls(lab, "squeue ");
    lab_put(lab, "slow.squeue", "yes");
    while (lab_calls(lab, "squeue ") == before)
        lab_pass(lab, 100);
    lab_pass(lab, ms);
    lab_put(lab, "slow.squeue", NULL);
    while (!lab_has(lab, "went.squeue"))
        (void)usleep(5000);
    lab_put(lab, "went.squeue", NULL);
    lab_settle(lab);
}

static void poll__a_controller_that_was_slow_once_is_asked_again_soon(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_with_poll(&lab, 2000);
    lab_start(&lab, &job);
    lab_pass(&lab, 5000);
    be_slow(&lab, 6000);
    assert_in_range(lists_within(&lab, 10000), 4, 6);
    lab_close(&lab);
}

static void poll__a_controller_that_is_always_slow_is_asked_less_often_within_a_bound(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_with_poll(&lab, 2000);
    lab_start(&lab, &job);
    lab_pass(&lab, 5000);
    for (uint32_t i = 0; i < 3; i++)
        be_slow(&lab, 1000);
    assert_int_equal(lists_within(&lab, 9000), 0);
    assert_int_equal(lists_within(&lab, 2000), 1);
    for (uint32_t i = 0; i < 2; i++)
        be_slow(&lab, 8000);
    assert_int_equal(lists_within(&lab, 29000), 0);
    assert_int_equal(lists_within(&lab, 2000), 1);
    lab_close(&lab);
}

static void poll__a_cluster_where_nothing_happens_is_asked_less_often(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {0};
    open_with_poll(&lab, 2000);
    lab_pass(&lab, 20000);
    uint32_t capacities = lab.capacities;
    assert_in_range(lists_within(&lab, 100000), 9, 11);
    assert_in_range(lab.capacities - capacities, 9, 11); /* drained nodes are listed nevertheless */
    lab_put(&lab, "jobs/7", "name=other\nstate=RUNNING\nreason=None\nexit=0:0\nstart=1\nend=N/A\nlisted=yes\n");
    lab_pass(&lab, 10000);
    assert_in_range(lists_within(&lab, 10000), 4, 6);
    lab_pass(&lab, 60000);
    assert_in_range(lists_within(&lab, 20000), 1, 3);
    lab_start(&lab, &job);
    assert_in_range(lists_within(&lab, 10000), 4, 6);
    lab_close(&lab);
}

/*  By its accounting, and only while the configuration says that it enforces limits. */
static void poll__a_limit_of_the_account_takes_back_what_is_offered(void **state)
{
    (void)state;
    for (int enforced = 0; enforced < 2; enforced++) {
        lab_t lab;
        lab_open(&lab);
        lab_put(&lab, "config", "Configuration data\nAccountingStorageEnforce = %s\n", enforced ? "limits" : "none");
        lab_put(&lab, "qos",
                "Current Association Manager state\nAssociation Records\n"
                "ClusterName=eu Account=lab UserName= ParentAccount= DefAssoc=No GrpTRES=cpu=N(0),gres/gpu=5(2) \n"
                "ClusterName=eu Account=lab UserName=%s(1000) DefAssoc=Yes GrpTRES=cpu=N(0) \n"
                "QOS Records\nQOS=normal(1) GrpJobs=N(0) MaxWallPJ= User Limits=No Users\n",
                lab.self_name);
        lab_pass(&lab, 1000);
        assert_int_equal(lab.free_nodes[enforced ? 3 : 8], 1);
        assert_int_equal(lab_calls(&lab, "show assoc_mgr flags=qos,assoc users="), 1);
        lab_close(&lab);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poll__a_controller_that_was_slow_once_is_asked_again_soon),
        cmocka_unit_test(poll__a_controller_that_is_always_slow_is_asked_less_often_within_a_bound),
        cmocka_unit_test(poll__a_limit_of_the_account_takes_back_what_is_offered),
        cmocka_unit_test(poll__a_cluster_where_nothing_happens_is_asked_less_often),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
