/*  test_local.c -- jobs of the sites' own users: the file, and the queue of a pool. */
#include "tests/unit/simulator/experiment/fleet_testing.h"

#include "simulator/experiment/local.h"

static const char *const two_pools =
    "sites:\n- name: a\n  region: R\n  pools:\n  - {name: cpu, cpus_per_node: 8, nodes: 4}\n"
    "  - {name: t4, gpu: T4, nodes: 4, gpus_per_node: 4}\n  - {name: h100, gpu: H100, nodes: 2, gpus_per_node: 8}\n";

static void file__jobs_are_in_the_order_of_their_submission(void **state)
{
    (void)state;
    exp_fleet_t fleet = fleet_of(two_pools);
    exp_local_trace_t trace;
    const char *path =
        put("local.csv", "site,submit_unix,duration_s,gpus,pool,nodes\na,300,60,10,,\na,100,61,16,h100,\n"
                         "a,100,62,2,h100,2\n");
    assert_int_equal(exp_local_load(path, &fleet, &trace, &err), HELIO_OK);
    assert_int_equal(trace.count, 3);
    static const exp_local_job_t expected[] = {
        {100000, 61000, 0, 2, 2, 8}, {100000, 62000, 0, 2, 2, 1}, {300000, 60000, 0, 1, 3, 4}};
    for (uint32_t i = 0; i < 3; i++) {
        const exp_local_job_t *job = &trace.jobs[i], *wanted = &expected[i];
        assert_true(job->submit_ms == wanted->submit_ms && job->duration_ms == wanted->duration_ms);
        assert_true(job->site == wanted->site && job->pool == wanted->pool);
        assert_true(job->nodes == wanted->nodes && job->gpus_per_node == wanted->gpus_per_node);
    }
    exp_local_free(&trace);
}

static void file__errors_name_line_and_column(void **state)
{
    (void)state;
    exp_fleet_t fleet = fleet_of(two_pools);
    static const struct {
        const char *row, *error;
    } rows[] = {
        {"b,1,1,1,,", ":2: column 'site': the fleet has no site 'b'"},
        {"a,1,1,1,a100,", ":2: column 'pool': site 'a' has no pool 'a100' with GPUs"},
        {"a,1,1,1,cpu,", ":2: column 'pool': site 'a' has no pool 'cpu' with GPUs"},
        {"a,1,1,17,t4,", ":2: column 'gpus': a job of pool 't4' has 1 to 16 GPUs"},
        {"a,1,1,0,t4,", ":2: column 'gpus': a job of pool 't4' has 1 to 16 GPUs"},
        {"a,1,1,1,t4,5", ":2: column 'nodes': 5 is not within 0..4"},
        {"a,0,1,1,,", ":2: column 'submit_unix': a job needs the time of its submission"},
        {"a,1,0,1,,", ":2: column 'duration_s': a job needs a duration of at least a second"},
        {"a,1,x,1,,", ":2: column 'duration_s': 'x' is not a number"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[256];
        exp_local_trace_t trace;
        (void)snprintf(text, sizeof text, "site,submit_unix,duration_s,gpus,pool,nodes\n%s\n", rows[i].row);
        assert_int_equal(exp_local_load(put("local.csv", text), &fleet, &trace, &err), HELIO_INVALID);
        assert_error("local.csv", rows[i].error);
    }
}

static void queue__is_first_in_first_out(void **state)
{
    (void)state;
    exp_local_queue_t queue = {0};
    uint32_t in = 0, out = 0;
    for (int turn = 0; turn < 50; turn++) {
        for (int i = 0; i < 7; i++)
            exp_local_put(&queue, in++);
        for (int i = 0; i < (turn % 3 ? 9 : 2) && queue.count; i++) {
            assert_int_equal(exp_local_first(&queue), out++);
            exp_local_drop_first(&queue);
        }
        assert_int_equal(queue.count, in - out);
    }
    exp_local_queue_clear(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(file__jobs_are_in_the_order_of_their_submission),
        CASE(file__errors_name_line_and_column),
        CASE(queue__is_first_in_first_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
