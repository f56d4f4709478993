/*  test_dependencies.c -- jobs that wait for other jobs. */
#include "tests/unit/broker/core/dependencies_testing.h"

/* ---- dependencies -------------------------------------------------------------------------------------- */

static const struct {
    helio_after_t after;
    outcome_t outcome;
    bool starts;
} wishes[] = {
    {HELIO_AFTER_OK, SUCCEEDS, true},      {HELIO_AFTER_OK, FAILS, false},    {HELIO_AFTER_OK, IS_CANCELLED, false},
    {HELIO_AFTER_ANY, SUCCEEDS, true},     {HELIO_AFTER_ANY, FAILS, true},    {HELIO_AFTER_ANY, IS_CANCELLED, true},
    {HELIO_AFTER_NOT_OK, SUCCEEDS, false}, {HELIO_AFTER_NOT_OK, FAILS, true}, {HELIO_AFTER_NOT_OK, IS_CANCELLED, true},
    {HELIO_AFTER_START, SUCCEEDS, true},   {HELIO_AFTER_START, FAILS, true},  {HELIO_AFTER_START, IS_CANCELLED, true},
};

static void assert_wish(size_t i, helio_job_key_t waiting, helio_job_key_t on)
{
    if (wishes[i].starts)
        assert_placed(waiting);
    else
        assert_unsatisfiable(waiting, on, wishes[i].after == HELIO_AFTER_OK ? "did not succeed" : "succeeded");
}

static void depends__a_job_waits_for_the_required_outcome_and_is_cancelled_by_the_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++) {
        helio_job_key_t on = harness_job(h, &spec), waiting = harness_job_after(h, &spec, wishes[i].after, on);
        assert_waits(waiting);
        finish(on, wishes[i].outcome);
        assert_wish(i, waiting, on);
    }
}

static void depends__a_dependency_that_is_over_at_submit_is_judged_at_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++) {
        helio_job_key_t on = harness_job(h, &spec);
        finish(on, wishes[i].outcome);
        assert_false(harness_is_open(h, on));
        assert_wish(i, harness_job_after(h, &spec, wishes[i].after, on), on);
    }
}

static void depends__hold_under_a_new_leader(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++) {
        helio_job_key_t on = harness_job(h, &spec), waiting = harness_job_after(h, &spec, wishes[i].after, on);
        rebuild();
        assert_waits(waiting);
        finish(on, wishes[i].outcome);
        assert_wish(i, waiting, on);
    }
}

static void run(helio_job_key_t key)
{
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, harness_row(h, key)->epoch, HELIO_JOB_RUNNING);
}

static void after_start__a_job_starts_when_the_other_runs(void **state)
{
    (void)state;
    helio_job_key_t on = harness_job(h, &spec), waiting = harness_job_after(h, &spec, HELIO_AFTER_START, on);
    harness_tick(h);
    harness_run_up_to(h, NORTH, on, harness_row(h, on)->epoch, HELIO_JOB_STARTING);
    assert_waits(waiting);
    run(on);
    assert_placed(waiting);
    assert_placed(harness_job_after(h, &spec, HELIO_AFTER_START, on)); /* it runs already */
}

/*  Also when it has gone back to its queue, and under a new leader. */
static void after_start__what_started_once_stays_so(void **state)
{
    (void)state;
    helio_job_key_t on = harness_job(h, &spec), other = harness_job(h, &spec);
    harness_after_t both[] = {{HELIO_AFTER_START, on}, {HELIO_AFTER_OK, other}};
    helio_submission_t document = harness_dependent(h, &spec, both, 2);
    helio_job_key_t waiting = {harness_submit_all(h, "acme", &document, 1)->jobs.items[0].job, HELIO_NO_TASK};
    run(on);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_REQUEUE, "acme", HELIO_ROLE_USER, on)->rc, HELIO_OK);
    harness_say(h, NORTH, on, harness_row(h, on)->epoch, HELIO_REPORT_KIND_STOPPED);
    assert_waits(waiting);
    rebuild();
    assert_waits(waiting);
    finish(other, SUCCEEDS);
    assert_placed(waiting);
}

static void after_start__of_an_array_every_task_starts(void **state)
{
    (void)state;
    helio_job_spec_t three = spec;
    uint32_t tasks[] = {0, 1, 2};
    three.tasks = (helio_u32s_t){tasks, 3};
    helio_job_key_t array = harness_job(h, &three), waiting = harness_job_after(h, &spec, HELIO_AFTER_START, array),
                    first = harness_job_after(h, &spec, HELIO_AFTER_START, harness_task(array, 0));
    run(harness_task(array, 0));
    assert_placed(first);
    cancel(harness_task(array, 1));
    rebuild();
    assert_waits(waiting);
    run(harness_task(array, 2));
    assert_placed(waiting);
}

/*  A job that its user holds still depends on other jobs, also under a new leader, and ends with the job that it
 *  depends on. */
static void depends__a_held_job_keeps_waiting_and_is_cancelled_with_what_fails(void **state)
{
    (void)state;
    helio_job_key_t a = harness_job(h, &spec), waiting = harness_job_after(h, &spec, HELIO_AFTER_OK, a),
                    other = harness_job_after(h, &spec, HELIO_AFTER_OK, a);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_HOLD, "acme", HELIO_ROLE_USER, waiting)->rc, HELIO_OK);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_HOLD, "acme", HELIO_ROLE_USER, other)->rc, HELIO_OK);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_RELEASE, "acme", HELIO_ROLE_USER, waiting)->rc, HELIO_OK);
    assert_waits(waiting);
    rebuild();
    assert_waits(waiting);
    assert_int_equal(harness_state(h, other), HELIO_JOB_HELD);
    cancel(a);
    assert_int_equal(harness_row(h, waiting)->state, HELIO_JOB_CANCELLED);
    assert_int_equal(harness_row(h, other)->state, HELIO_JOB_CANCELLED);
}

static void depends__an_ended_hold_is_ended_for_a_new_leader(void **state)
{
    (void)state;
    helio_job_key_t on = harness_job(h, &spec), waiting = harness_job_after(h, &spec, HELIO_AFTER_OK, on);
    finish(on, SUCCEEDS);
    assert_int_equal(harness_state(h, waiting), HELIO_JOB_QUEUED); /* open, and not placed yet */
    rebuild();
    assert_placed(waiting);
}

static void depends__the_job_shows_what_it_waits_for(void **state)
{
    (void)state;
    helio_job_key_t a = harness_job(h, &spec), b = harness_job(h, &spec), c = harness_job(h, &spec),
                    d = harness_job(h, &spec);
    assert_detail(harness_job_after(h, &spec, HELIO_AFTER_OK, a), a, "succeed");
    assert_detail(harness_job_after(h, &spec, HELIO_AFTER_ANY, a), a, "end");
    assert_detail(harness_job_after(h, &spec, HELIO_AFTER_NOT_OK, a), a, "end without success");
    harness_after_t all[] = {{HELIO_AFTER_ANY, a}, {HELIO_AFTER_ANY, b}, {HELIO_AFTER_ANY, c}, {HELIO_AFTER_ANY, d}};
    helio_submission_t job = harness_dependent(h, &spec, all, 4);
    helio_job_key_t key = {harness_submit_all(h, "acme", &job, 1)->jobs.items[0].job, HELIO_NO_TASK};
    harness_assert_value(harness_detail(harness_dependency_hold(h, key)->details, HELIO_DETAIL_DEPENDENCY_MORE), "jobs",
                         "1");
    cancel(b);
    cancel(a);
    cancel(d);
    assert_detail(key, c, "end");
    cancel(c);
    assert_true(harness_dependency_hold(h, key)->opened_ms == harness_wall_ms(h));
}

static void depends__all_dependencies_must_be_satisfied(void **state)
{
    (void)state;
    harness_after_t all[256];
    for (uint32_t i = 0; i < 256; i++)
        all[i] = (harness_after_t){i % 2 ? HELIO_AFTER_OK : HELIO_AFTER_ANY, harness_job(h, &spec)};
    helio_submission_t job = harness_dependent(h, &spec, all, 256);
    helio_job_key_t key = {harness_submit_all(h, "acme", &job, 1)->jobs.items[0].job, HELIO_NO_TASK};
    for (uint32_t i = 0; i < 256; i++) {
        assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
        assert_true(harness_dependency_hold(h, key)->opened_ms == 0);
        finish(all[i].on, i % 2 ? SUCCEEDS : FAILS);
    }
    assert_placed(key);
}

static void depends__one_unsatisfiable_dependency_cancels_the_job(void **state)
{
    (void)state;
    helio_job_key_t a = harness_job(h, &spec), b = harness_job(h, &spec);
    harness_after_t both[] = {{HELIO_AFTER_OK, a}, {HELIO_AFTER_OK, b}, {HELIO_AFTER_ANY, a}, {HELIO_AFTER_NOT_OK, a}};
    helio_submission_t job = harness_dependent(h, &spec, both, 4);
    helio_job_key_t key = {harness_submit_all(h, "acme", &job, 1)->jobs.items[0].job, HELIO_NO_TASK};
    assert_waits(key);
    finish(a, SUCCEEDS);
    assert_unsatisfiable(key, a, "succeeded");
    finish(b, SUCCEEDS); /* no job waits any more */
}

static void depends__a_waiting_job_can_be_cancelled(void **state)
{
    (void)state;
    helio_job_key_t on = harness_job(h, &spec), waiting = harness_job_after(h, &spec, HELIO_AFTER_OK, on),
                    last = harness_job_after(h, &spec, HELIO_AFTER_ANY, waiting);
    cancel(waiting);
    assert_int_equal(harness_state(h, waiting), HELIO_JOB_CANCELLED);
    assert_string_equal(harness_facts(h, harness_row(h, waiting)->why), "Cancelled");
    assert_placed(last);
    finish(on, SUCCEEDS);
}

static void depends__a_job_that_comes_back_from_a_site_does_not_wait_again(void **state)
{
    (void)state;
    spec.retries = 1;
    helio_job_key_t on = harness_job(h, &spec), waiting = harness_job_after(h, &spec, HELIO_AFTER_ANY, on);
    cancel(on);
    finish(waiting, FAILS);
    assert_int_equal(harness_state(h, waiting), HELIO_JOB_QUEUED);
    assert_placed(waiting);
}

/* ---- arrays -------------------------------------------------------------------------------------------- */

static void arrays__whole_succeeds_when_each_task_does(void **state)
{
    (void)state;
    helio_job_key_t array = array_of(2), ok = harness_job_after(h, &spec, HELIO_AFTER_OK, array),
                    not_ok = harness_job_after(h, &spec, HELIO_AFTER_NOT_OK, array),
                    any = harness_job_after(h, &spec, HELIO_AFTER_ANY, array);
    finish(harness_task(array, 0), SUCCEEDS);
    assert_waits(ok);
    rebuild();
    assert_waits(any);
    helio_job_key_t late = harness_job_after(h, &spec, HELIO_AFTER_OK, array);
    finish(harness_task(array, 1), SUCCEEDS);
    assert_unsatisfiable(not_ok, array, "succeeded");
    assert_placed(ok);
    assert_placed(any);
    assert_placed(late);
    assert_placed(harness_job_after(h, &spec, HELIO_AFTER_OK, array));
}

static void arrays__first_failure_cancels_after_ok_and_others_wait_for_the_last_task(void **state)
{
    (void)state;
    helio_job_key_t array = array_of(3), ok = harness_job_after(h, &spec, HELIO_AFTER_OK, array),
                    not_ok = harness_job_after(h, &spec, HELIO_AFTER_NOT_OK, array),
                    any = harness_job_after(h, &spec, HELIO_AFTER_ANY, array);
    finish(harness_task(array, 1), FAILS);
    assert_unsatisfiable(ok, array, "did not succeed");
    assert_waits(not_ok);
    rebuild();
    assert_waits(any);
    assert_unsatisfiable(harness_job_after(h, &spec, HELIO_AFTER_OK, array), array, "did not succeed");
    cancel(harness_task(array, 0));
    assert_waits(not_ok);
    finish(harness_task(array, 2), SUCCEEDS);
    assert_placed(not_ok);
    assert_placed(any);
}

static void arrays__one_task_can_be_waited_for(void **state)
{
    (void)state;
    helio_job_key_t array = array_of(2), one = harness_task(array, 1),
                    waiting = harness_job_after(h, &spec, HELIO_AFTER_OK, one),
                    other = harness_job_after(h, &spec, HELIO_AFTER_OK, harness_task(array, 0));
    assert_detail(waiting, one, "succeed");
    finish(one, SUCCEEDS);
    assert_placed(waiting);
    assert_waits(other);
    assert_placed(harness_job_after(h, &spec, HELIO_AFTER_OK, one)); /* over, while its array is not */
    rebuild();
    assert_waits(other);
    assert_placed(harness_job_after(h, &spec, HELIO_AFTER_OK, one));
}

static void arrays__all_tasks_share_one_hold_and_then_wait_for_their_throttle(void **state)
{
    (void)state;
    static uint32_t indices[] = {0, 1, 2, 3};
    helio_job_key_t on = harness_job(h, &spec);
    helio_job_spec_t array = spec;
    array.tasks = (helio_u32s_t){indices, 4};
    array.tasks_at_once = 2;
    helio_job_key_t waiting = harness_job_after(h, &array, HELIO_AFTER_OK, on);
    wait_ms(5000);
    assert_int_equal(harness_state(h, harness_task(waiting, 0)), HELIO_JOB_QUEUED);
    cancel(harness_task(waiting, 0));
    finish(on, SUCCEEDS);
    harness_tick(h);
    assert_int_equal(harness_state(h, harness_task(waiting, 1)), HELIO_JOB_OFFERED);
    assert_int_equal(harness_state(h, harness_task(waiting, 2)), HELIO_JOB_OFFERED);
    assert_int_equal(harness_state(h, harness_task(waiting, 3)), HELIO_JOB_QUEUED);
    helio_job_key_t dead = harness_job_after(h, &array, HELIO_AFTER_NOT_OK, on);
    for (uint32_t i = 0; i < 4; i++)
        assert_unsatisfiable(harness_task(dead, i), on, "succeeded");
}

/* ---- many ---------------------------------------------------------------------------------------------- */

static uint64_t cancelled(void)
{
    return harness_figures(h).jobs[HELIO_JOB_CANCELLED];
}

static void many__a_chain_of_10000_is_cancelled_batch_by_batch(void **state)
{
    (void)state;
    helio_job_key_t first = harness_job(h, &spec), last = first;
    for (int i = 0; i < MANY; i++)
        last = open_after(HELIO_AFTER_OK, last);
    int64_t before_us = helio_clock_boot_us();
    cancel(first);
    for (int i = 1; i < MANY / BATCH; i++) {
        assert_int_equal(cancelled(), i * BATCH + 1);
        seal();
    }
    assert_true(helio_clock_boot_us() - before_us < 5000000);
    assert_int_equal(harness_state(h, last), HELIO_JOB_CANCELLED);
    assert_int_equal(harness_figures(h).jobs[HELIO_JOB_QUEUED], 0);
    assert_int_equal(cancelled(), MANY + 1);
}

/*  Others' commits would wait for the rows of all of them. What is left survives a takeover, and does not depend on
 *  commits alone. */
static void many__dependents_of_one_job_are_cancelled_batch_by_batch(void **state)
{
    (void)state;
    enum { ARRAYS = 4, TASKS = 900 };
    static uint32_t tasks[TASKS];
    helio_job_spec_t array = spec;
    helio_job_key_t on = harness_job(h, &spec), last = on;
    for (uint32_t i = 0; i < TASKS; i++)
        tasks[i] = i;
    array.tasks = (helio_u32s_t){tasks, TASKS};
    for (int i = 0; i < ARRAYS; i++)
        last = harness_job_after(h, &array, HELIO_AFTER_OK, on);
    helio_job_key_t behind = harness_job_after(h, &spec, HELIO_AFTER_ANY, last);
    cancel(on);
    assert_int_equal(cancelled(), 1 + BATCH);
    harness_tick(h);
    assert_int_equal(cancelled(), 1 + BATCH);
    seal();
    assert_int_equal(cancelled(), 1 + 2 * BATCH);
    assert_int_equal(harness_figures(h).jobs[HELIO_JOB_QUEUED], ARRAYS * TASKS - 2 * BATCH + 1);
    rebuild();
    assert_int_equal(harness_figures(h).jobs[HELIO_JOB_QUEUED], ARRAYS * TASKS - 3 * BATCH + 1);
    wait_ms(BATCH_MS);
    assert_false(harness_is_open(h, harness_task(last, TASKS - 1)));
    assert_placed(behind);
}

static void many__held_jobs_cost_a_round_nothing(void **state)
{
    (void)state;
    helio_job_key_t on = harness_job(h, &spec), last = on;
    for (int i = 0; i < MANY; i++)
        last = open_after(HELIO_AFTER_ANY, on);
    assert_int_equal(harness_figures(h).classes, 1);
    wait_ms(10000);
    harness_clear(h);
    wait_ms(10000);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_DEPENDENCY_HOLD), 0);
    finish(on, SUCCEEDS);
    for (int i = 1; i <= MANY / BATCH; i++)
        seal();
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_DEPENDENCY_HOLD), MANY);
    harness_tick(h);
    assert_int_equal(harness_figures(h).jobs[HELIO_JOB_OFFERED], 2000); /* a round's worth */
    assert_int_equal(harness_state(h, last), HELIO_JOB_QUEUED);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(depends__a_job_waits_for_the_required_outcome_and_is_cancelled_by_the_other),
        CASE(depends__a_dependency_that_is_over_at_submit_is_judged_at_once),
        CASE(depends__hold_under_a_new_leader),
        CASE(after_start__a_job_starts_when_the_other_runs),
        CASE(after_start__what_started_once_stays_so),
        CASE(after_start__of_an_array_every_task_starts),
        CASE(depends__a_held_job_keeps_waiting_and_is_cancelled_with_what_fails),
        CASE(depends__an_ended_hold_is_ended_for_a_new_leader),
        CASE(depends__the_job_shows_what_it_waits_for),
        CASE(depends__all_dependencies_must_be_satisfied),
        CASE(depends__one_unsatisfiable_dependency_cancels_the_job),
        CASE(depends__a_waiting_job_can_be_cancelled),
        CASE(depends__a_job_that_comes_back_from_a_site_does_not_wait_again),
        CASE(arrays__whole_succeeds_when_each_task_does),
        CASE(arrays__first_failure_cancels_after_ok_and_others_wait_for_the_last_task),
        CASE(arrays__one_task_can_be_waited_for),
        CASE(arrays__all_tasks_share_one_hold_and_then_wait_for_their_throttle),
        CASE(many__a_chain_of_10000_is_cancelled_batch_by_batch),
        CASE(many__dependents_of_one_job_are_cancelled_batch_by_batch),
        CASE(many__held_jobs_cost_a_round_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
