/*  test_slurm_ahead.c -- what is offered before it is free, by how long attempts ran, and taken back if it did not become
 *  free. */
#include "tests/unit/site-agent/backends/slurm/slurm_testing.h"

#include "site-agent/backends/slurm/slurm_internal.h"

/*  The node's GPUs that are in use by all jobs. */
static void use(const lab_t *lab, uint32_t gpus)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    lab_read(lab, "nodes", &text);
    char *at = strstr(text.data, "GresUsed=gpu:h100:");
    assert_non_null(at);
    at[strlen("GresUsed=gpu:h100:")] = (char)('0' + gpus);
    lab_put(lab, "nodes", "%s", text.data);
}

/*  Runs of that many seconds, one after the other: epochs from 1 on, jobs from 101 on. */
static void open_after_runs(lab_t *lab, uint32_t runs, int64_t seconds)
{
    lab_open(lab);
    lab->settings.ahead_ms = 8000;
    lab->settings.poll_ms = 500;
    lab_reopen(lab);
    for (uint32_t i = 0; i < runs; i++) {
        lab_job_t job = {.epoch = i + 1};
        char id[8];
        (void)snprintf(id, sizeof id, "%u", 101 + i);
        lab_start(lab, &job);
        lab_settle(lab);
        lab_run(lab, &job, id);
        int64_t from_ms = lab->wall_ms;
        lab_pass(lab, seconds * 1000);
        lab_done(lab, &job, (helio_done_t){.started_wall_ms = from_ms, .run_ms = (uint64_t)seconds * 1000});
        lab_set(lab, id, "state", "COMPLETED");
        lab_pass(lab, 6000);
        lab_drop(lab, id);
    }
}

/*  The next one, which runs; all other GPUs are somebody else's. */
static void run_next(lab_t *lab, lab_job_t *job, const char *id)
{
    use(lab, 8);
    lab_start(lab, job);
    lab_settle(lab);
    lab_run(lab, job, id);
    lab_pass(lab, 10000);
    assert_int_equal(lab->free_nodes[2], 0);
}

static void ahead__the_place_of_a_job_that_will_end_is_offered_before(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {.epoch = 3}, next = {.epoch = 4};
    open_after_runs(&lab, 2, 20);
    run_next(&lab, &job, "103");
    lab_pass(&lab, 5000);
    assert_int_equal(lab.free_nodes[2], 1);
    assert_int_equal(lab.free_nodes[0], 1); /* the node itself has none */
    lab_start(&lab, &next);
    lab_pass(&lab, 100);
    assert_int_equal(lab.free_nodes[2], 0); /* it is there for that one */
    lab_close(&lab);
}

/*  Of those that last moments several are queued for each GPU. */
static void ahead__short_ones_follow_one_another(void **state)
{
    (void)state;
    static const struct {
        int64_t seconds;
        uint32_t offered;
    } cases[] = {{1, 4}, {3, 2}, {5, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        lab_t lab;
        lab_job_t job = {.epoch = 3};
        open_after_runs(&lab, 2, cases[i].seconds);
        use(&lab, 8);
        lab_start(&lab, &job);
        lab_settle(&lab);
        lab_run(&lab, &job, "103");
        lab_pass(&lab, 600);
        assert_int_equal(lab.free_nodes[2], cases[i].offered);
        lab_close(&lab);
    }
}

/*  Also on a GPU that is free between two of them: otherwise the queue runs dry whenever all end at once. */
static void ahead__turns_follow_on_a_gpu_that_a_short_one_left(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {.epoch = 3};
    open_after_runs(&lab, 2, 1);
    use(&lab, 0);
    lab_start(&lab, &job);
    lab_settle(&lab);
    lab_run(&lab, &job, "103");
    int64_t from_ms = lab.wall_ms;
    lab_pass(&lab, 1000);
    lab_done(&lab, &job, (helio_done_t){.started_wall_ms = from_ms, .run_ms = 1000});
    lab_set(&lab, "103", "state", "COMPLETED");
    lab_pass(&lab, 1600);
    assert_int_equal(lab.free_nodes[8], 1); /* the node, ... */
    assert_int_equal(lab.free_nodes[2], 3); /* ... and those after the next one */
    lab_pass(&lab, 6000);
    assert_int_equal(lab.free_nodes[8], 1);
    assert_int_equal(lab.free_nodes[2], 0);
    lab_close(&lab);
}

/*  For a while. Then the pause between lists is that of the settings again. */
static void brisk__are_jobs_that_end_soon_after_they_start(void **state)
{
    (void)state;
    lab_t lab;
    lab_open(&lab);
    lab.settings.ahead_ms = 8000;
    lab.settings.poll_ms = 2000;
    lab_reopen(&lab);
    for (uint32_t i = 0; i < 4; i++) {
        lab_job_t job = {.epoch = i + 1};
        char id[8];
        (void)snprintf(id, sizeof id, "%u", 101 + i);
        lab_start(&lab, &job);
        lab_settle(&lab);
        lab_run(&lab, &job, id);
        int64_t from_ms = lab.wall_ms;
        lab_pass(&lab, 1000);
        lab_done(&lab, &job, (helio_done_t){.started_wall_ms = from_ms, .run_ms = 1000});
        lab_set(&lab, id, "state", "COMPLETED");
        lab_pass(&lab, 2100);
        lab_drop(&lab, id);
    }
    assert_true(helio_slurm_is_brisk(helio_slurm_of(lab.backend)));
    lab_pass(&lab, 30000);
    assert_false(helio_slurm_is_brisk(helio_slurm_of(lab.backend)));
    lab_close(&lab);
}

static void ahead__one_that_outlasts_its_kind_is_not_expected_to_end(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {.epoch = 3};
    open_after_runs(&lab, 2, 20);
    run_next(&lab, &job, "103");
    lab_pass(&lab, 15000);
    assert_int_equal(lab.free_nodes[2], 0);
    lab_close(&lab);
}

static void ahead__one_run_or_another_kind_of_job_tells_nothing(void **state)
{
    (void)state;
    for (int alike = 0; alike < 2; alike++) {
        lab_t lab;
        lab_job_t job = {.epoch = 3};
        if (!alike)
            job.order.time_limit_ms = 3600000;
        open_after_runs(&lab, alike ? 1 : 2, 20);
        run_next(&lab, &job, alike ? "102" : "103");
        lab_pass(&lab, 5000);
        assert_int_equal(lab.free_nodes[2], 0);
        lab_close(&lab);
    }
}

static void ahead__nothing_is_queued_behind_somebody_elses_job(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {.epoch = 3};
    open_after_runs(&lab, 2, 20);
    lab_put(&lab, "jobs/9",
            "name=other\nstate=PENDING\nreason=Resources\nexit=0:0\nstart=N/A\nend=N/A\nlisted=yes\nknown=yes\n");
    run_next(&lab, &job, "103");
    lab_pass(&lab, 5000);
    assert_int_equal(lab.free_nodes[2], 0);
    lab_set(&lab, "9", "state", "CANCELLED");
    lab_pass(&lab, 2500);
    assert_int_equal(lab.free_nodes[2], 1);
    lab_close(&lab);
}

/*  As seen in its status files, before the nodes' figures show it. */
static void ahead__what_has_just_ended_is_free_at_once(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {.epoch = 1};
    open_after_runs(&lab, 0, 0);
    run_next(&lab, &job, "101");
    lab_put(&lab, "hung.scontrol", "yes");
    lab_done(&lab, &job, (helio_done_t){.started_wall_ms = lab.wall_ms - 10000, .run_ms = 10000});
    lab_set(&lab, "101", "state", "COMPLETED");
    lab_pass(&lab, 2500);
    assert_int_equal(lab.free_nodes[2], 1);
    lab_close(&lab);
}

static void ahead__it_is_taken_back_when_nothing_becomes_free(void **state)
{
    (void)state;
    lab_t lab;
    lab_job_t job = {.epoch = 3}, next = {.epoch = 4};
    open_after_runs(&lab, 2, 20);
    run_next(&lab, &job, "103");
    lab_pass(&lab, 5000);
    uint32_t heard = lab.heard_count;
    lab_start(&lab, &next);
    lab_settle(&lab);
    lab_set(&lab, "104", "reason", "Resources");
    lab_pass(&lab, 28000);
    assert_int_equal(lab.heard_count, heard);
    lab_pass(&lab, 6000);
    lab_expect(&lab, heard, WORD(FAILED_TO_START), HELIO_CAUSE_WITHDRAWN,
               "the capacity that it waited for did not become free: Resources");
    lab_close(&lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ahead__the_place_of_a_job_that_will_end_is_offered_before),
        cmocka_unit_test(ahead__short_ones_follow_one_another),
        cmocka_unit_test(ahead__turns_follow_on_a_gpu_that_a_short_one_left),
        cmocka_unit_test(brisk__are_jobs_that_end_soon_after_they_start),
        cmocka_unit_test(ahead__one_that_outlasts_its_kind_is_not_expected_to_end),
        cmocka_unit_test(ahead__one_run_or_another_kind_of_job_tells_nothing),
        cmocka_unit_test(ahead__nothing_is_queued_behind_somebody_elses_job),
        cmocka_unit_test(ahead__what_has_just_ended_is_free_at_once),
        cmocka_unit_test(ahead__it_is_taken_back_when_nothing_becomes_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
