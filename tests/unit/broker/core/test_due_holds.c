/*  test_due_holds.c -- what one end changes of many jobs is changed batch by batch. */
#include "tests/unit/broker/core/dependencies_testing.h"

enum { JOBS = 2500, AT_ONCE = 100 };

static uint32_t rows(void)
{
    return harness_count(h, HELIO_BROKER_FX_ROW_DEPENDENCY_HOLD);
}

static helio_job_key_t jobs_after(helio_job_key_t on, uint32_t count)
{
    helio_job_key_t last = on;
    for (uint32_t i = 0; i < count; i++)
        last = open_after(HELIO_AFTER_ANY, on);
    return last;
}

static bool is_in_queue(helio_job_key_t key)
{
    const helio_row_dependency_hold_t *hold = harness_dependency_hold(h, key);
    return hold && hold->opened_ms;
}

static const char *basis(helio_job_key_t key)
{
    const helio_fx_reply_t *reply = harness_command(h, HELIO_BROKER_EV_EXPLAIN, "acme", HELIO_ROLE_USER, key);
    assert_int_equal(reply->rc, HELIO_OK);
    return harness_facts(h, reply->start_estimate.basis);
}

/*  In the order in which they came. Others' commits would wait for the rows of all. */
static void success__opens_holds_batch_by_batch(void **state)
{
    (void)state;
    helio_job_key_t on = harness_job(h, &spec), first = open_after(HELIO_AFTER_ANY, on),
                    last = jobs_after(on, JOBS - 1);
    harness_clear(h);
    finish(on, SUCCEEDS);
    assert_int_equal(rows(), BATCH);
    assert_true(is_in_queue(first));
    assert_false(is_in_queue(last));
    assert_string_equal(basis(last), "GoesOnInTurn; StartThenCapacity");
    seal();
    assert_int_equal(rows(), 2 * BATCH);
    seal();
    assert_int_equal(rows(), JOBS);
    assert_true(is_in_queue(last));
    for (int i = 0; i < 3; i++)
        seal();
    assert_int_equal(rows(), JOBS);
}

/*  While no batch is sealed, because the database is away, it goes on all the same. */
static void success__does_not_depend_on_commits_alone(void **state)
{
    (void)state;
    helio_job_key_t on = harness_job(h, &spec), last = jobs_after(on, JOBS);
    finish(on, SUCCEEDS);
    wait_ms(2 * BATCH_MS);
    assert_true(is_in_queue(last));
}

static void begin_time__opens_holds_batch_by_batch(void **state)
{
    (void)state;
    helio_job_spec_t later = spec;
    later.not_before_wall_ms = harness_wall_ms(h) + 60000;
    for (int i = 0; i < JOBS; i++)
        (void)harness_job(h, &later);
    wait_ms(59000);
    harness_clear(h);
    harness_wait(h, 1000);
    assert_int_equal(rows(), BATCH);
    seal();
    assert_int_equal(rows(), 2 * BATCH);
    seal();
    assert_int_equal(rows(), JOBS);
}

/*  What was not opened under one leader is opened under the next, which does not do it at once either. */
static void leader__goes_on_where_the_last_one_ended(void **state)
{
    (void)state;
    helio_job_key_t on = harness_job(h, &spec), last = jobs_after(on, 2 * BATCH + JOBS);
    finish(on, SUCCEEDS);
    harness_clear(h);
    harness_t *next = harness_rebuild(h);
    harness_end(&h);
    h = next;
    assert_string_equal(basis(last), "GoesOnInTurn; StartThenCapacity");
    harness_clear(h);
    for (int i = 0; i < 3; i++)
        seal();
    assert_int_equal(rows(), JOBS); /* the new leader began with a batch of its own */
    assert_true(is_in_queue(last));
}

/*  Few jobs go on at once, whatever is left of others'. */
static void few__do_not_wait_for_many(void **state)
{
    (void)state;
    helio_job_key_t on = harness_job(h, &spec), other = harness_job(h, &spec), many = jobs_after(on, JOBS),
                    few = jobs_after(other, AT_ONCE);
    finish(on, SUCCEEDS);
    finish(other, SUCCEEDS);
    assert_true(is_in_queue(few));
    assert_false(is_in_queue(many));
}

/*  Neither a long command on an array nor the end of a job that many depend on waits for all of the other. */
static void many__take_turns_with_commands_on_arrays(void **state)
{
    (void)state;
    static uint32_t tasks[6 * BATCH];
    helio_job_spec_t large = spec;
    for (uint32_t i = 0; i < 6 * BATCH; i++)
        tasks[i] = i;
    large.tasks = (helio_u32s_t){tasks, 6 * BATCH};
    helio_job_key_t on = harness_job(h, &spec), last = jobs_after(on, JOBS);
    harness_tick(h);
    const helio_ev_command_t cancel_all = {.call = 1,
                                           .tenant = HELIO_TEXT("acme"),
                                           .actor = HELIO_TEXT("user:acme/ada"),
                                           .role = HELIO_ROLE_USER,
                                           .key = harness_job(h, &large)};
    harness_step(h, HELIO_BROKER_EV_CANCEL, &cancel_all);
    finish(on, SUCCEEDS);
    for (int i = 0; i < 6; i++)
        seal();
    assert_true(is_in_queue(last));
    helio_broker_figures_t figures = harness_figures(h);
    assert_true(figures.jobs[HELIO_JOB_CANCELLED] + figures.jobs[HELIO_JOB_STOPPING] >= 3 * BATCH);
}

/*  A change of what jobs wait for is a row of each. */
static void text__of_jobs_that_wait_for_more_follows_batch_by_batch(void **state)
{
    (void)state;
    helio_job_key_t on = harness_job(h, &spec), other = harness_job(h, &spec), last = on;
    harness_after_t both[] = {{HELIO_AFTER_ANY, on}, {HELIO_AFTER_ANY, other}};
    for (int i = 0; i < JOBS; i++) {
        helio_submission_t job = harness_dependent(h, &spec, both, 2);
        last = (helio_job_key_t){harness_submit_all(h, "acme", &job, 1)->jobs.items[0].job, HELIO_NO_TASK};
    }
    harness_clear(h);
    finish(on, SUCCEEDS);
    assert_int_equal(rows(), BATCH);
    seal();
    seal();
    assert_int_equal(rows(), JOBS);
    assert_detail(last, other, "end");
}

/*  Of a job that is cancelled in its turn, nobody is told that it will start. */
static void failed__job_is_said_to_end(void **state)
{
    (void)state;
    char text[HELIO_KEY_SIZE + 64], id[HELIO_KEY_SIZE];
    helio_job_key_t on = harness_job(h, &spec), last = on;
    for (int i = 0; i < JOBS; i++)
        last = open_after(HELIO_AFTER_OK, on);
    finish(on, FAILS);
    helio_job_key_text(on, id);
    (void)snprintf(text, sizeof text, "DependencyFailed job_id=%s outcome=did not succeed", id);
    assert_int_equal(harness_state(h, last), HELIO_JOB_QUEUED);
    assert_string_equal(basis(last), text);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(success__opens_holds_batch_by_batch),
        CASE(success__does_not_depend_on_commits_alone),
        CASE(begin_time__opens_holds_batch_by_batch),
        CASE(leader__goes_on_where_the_last_one_ended),
        CASE(few__do_not_wait_for_many),
        CASE(many__take_turns_with_commands_on_arrays),
        CASE(text__of_jobs_that_wait_for_more_follows_batch_by_batch),
        CASE(failed__job_is_said_to_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
