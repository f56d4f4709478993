/*  test_after_task.c -- arrays whose tasks wait for the tasks of another array, one for one. */
#include <stdlib.h>

#include "tests/unit/broker/core/dependencies_testing.h"

static uint32_t indices[] = {0, 1, 2, 3};

static helio_job_spec_t tasks_of(uint32_t tasks, uint32_t at_once)
{
    helio_job_spec_t array = spec;
    array.tasks = (helio_u32s_t){indices, tasks};
    array.tasks_at_once = at_once;
    return array;
}

static helio_job_key_t array_after(uint32_t tasks, uint32_t at_once, helio_job_key_t on)
{
    helio_job_spec_t array = tasks_of(tasks, at_once);
    return harness_job_after(h, &array, HELIO_AFTER_TASK, on);
}

/*  One letter for each task: q queued, o offered, c cancelled, h held. */
static void assert_tasks(helio_job_key_t array, const char *states)
{
    char found[8] = "";
    harness_tick(h);
    for (uint32_t i = 0; states[i]; i++) {
        uint32_t state = harness_state(h, harness_task(array, i));
        found[i] = state == HELIO_JOB_QUEUED      ? 'q'
                   : state == HELIO_JOB_OFFERED   ? 'o'
                   : state == HELIO_JOB_CANCELLED ? 'c'
                   : state == HELIO_JOB_HELD      ? 'h'
                                                  : '?';
    }
    assert_string_equal(found, states);
}

static void tasks__wait_for_those_of_their_index(void **state)
{
    (void)state;
    helio_job_key_t on = array_of(3), waiting = array_after(3, 0, on);
    assert_tasks(waiting, "qqq");
    assert_null(harness_dependency_hold(h, waiting)); /* views find what each of them waits for */
    finish(harness_task(on, 1), SUCCEEDS);
    assert_tasks(waiting, "qoq");
    finish(harness_task(on, 0), FAILS);
    assert_tasks(waiting, "coq");
    assert_unsatisfiable(harness_task(waiting, 0), harness_task(on, 0), "did not succeed");
    finish(harness_task(on, 2), SUCCEEDS);
    assert_tasks(waiting, "coo");
}

static void tasks__of_what_is_over_at_submission_are_judged_at_once(void **state)
{
    (void)state;
    helio_job_key_t on = array_of(3);
    finish(harness_task(on, 0), SUCCEEDS);
    finish(harness_task(on, 1), IS_CANCELLED);
    helio_job_key_t first = array_after(3, 0, on);
    assert_tasks(first, "ocq");
    finish(harness_task(on, 2), FAILS);
    assert_tasks(first, "occ");
    assert_tasks(array_after(3, 0, on), "occ");
    assert_tasks(array_after(2, 0, on), "oc"); /* it may have fewer */
}

/*  While the array runs, some of its tasks always end between the look-up and the decision. */
static void tasks__whose_like_ended_since_the_look_up_are_judged_by_its_end(void **state)
{
    (void)state;
    helio_job_key_t on = array_of(4);
    helio_job_spec_t array = tasks_of(4, 0);
    helio_submission_t document = harness_dependent(h, &array, &(harness_after_t){HELIO_AFTER_TASK, on}, 1);
    finish(harness_task(on, 0), SUCCEEDS);
    finish(harness_task(on, 1), FAILS);
    cancel(harness_task(on, 2));
    const helio_fx_reply_t *reply = harness_submit_all(h, "acme", &document, 1);
    assert_int_equal(reply->rc, HELIO_OK);
    helio_job_key_t waiting = {reply->jobs.items[0].job, HELIO_NO_TASK};
    assert_tasks(waiting, "occq");
    assert_unsatisfiable(harness_task(waiting, 1), harness_task(on, 1), "did not succeed");
    finish(harness_task(on, 3), SUCCEEDS);
    assert_tasks(waiting, "occo");
    reply = harness_submit_all(h, "acme", &document, 1); /* of the whole array, nothing is open any more */
    assert_int_equal(reply->rc, HELIO_OK);
    assert_tasks((helio_job_key_t){reply->jobs.items[0].job, HELIO_NO_TASK}, "occo");
}

static void tasks__wait_under_a_new_leader(void **state)
{
    (void)state;
    helio_job_key_t on = array_of(4), waiting = array_after(4, 0, on);
    finish(harness_task(on, 0), SUCCEEDS);
    finish(harness_task(on, 1), FAILS);
    rebuild();
    assert_tasks(waiting, "ocqq");
    finish(harness_task(on, 2), SUCCEEDS);
    assert_tasks(waiting, "ocoq");
    rebuild();
    finish(harness_task(on, 3), FAILS);
    assert_tasks(waiting, "ococ");
}

/*  Also those that a user holds, and releases. */
static void tasks__held_ones_keep_waiting(void **state)
{
    (void)state;
    helio_job_key_t on = array_of(3), waiting = array_after(3, 0, on);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_HOLD, "acme", HELIO_ROLE_USER, waiting)->rc, HELIO_OK);
    finish(harness_task(on, 0), SUCCEEDS);
    finish(harness_task(on, 1), FAILS);
    rebuild();
    assert_tasks(waiting, "hch");
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_RELEASE, "acme", HELIO_ROLE_USER, waiting)->rc, HELIO_OK);
    assert_tasks(waiting, "ocq");
    finish(harness_task(on, 2), SUCCEEDS);
    assert_tasks(waiting, "oco");
}

/*  The limit counts those that may start, in the order in which they could. */
static void tasks__that_wait_take_no_place_of_their_arrays_limit(void **state)
{
    (void)state;
    helio_job_key_t on = array_of(4), waiting = array_after(4, 1, on);
    finish(harness_task(on, 3), SUCCEEDS);
    assert_tasks(waiting, "qqqo");
    finish(harness_task(on, 1), SUCCEEDS);
    assert_tasks(waiting, "qqqo");
    cancel(harness_task(waiting, 3));
    assert_tasks(waiting, "qoqc");
    cancel(harness_task(waiting, 0)); /* while it waits */
    finish(harness_task(on, 0), SUCCEEDS);
    finish(harness_task(on, 2), SUCCEEDS);
    assert_tasks(waiting, "coqc");
    finish(harness_task(waiting, 1), SUCCEEDS);
    assert_tasks(waiting, "c?oc");
}

static void tasks__wait_for_everything_that_the_document_names(void **state)
{
    (void)state;
    helio_job_key_t one = array_of(2), two = array_of(2), single = harness_job(h, &spec);
    harness_after_t all[] = {{HELIO_AFTER_TASK, one}, {HELIO_AFTER_OK, single}, {HELIO_AFTER_TASK, two}};
    helio_job_spec_t array = tasks_of(2, 0);
    helio_submission_t document = harness_dependent(h, &array, all, 3);
    helio_job_key_t waiting = {harness_submit_all(h, "acme", &document, 1)->jobs.items[0].job, HELIO_NO_TASK};
    finish(harness_task(one, 0), SUCCEEDS);
    finish(harness_task(two, 0), SUCCEEDS);
    assert_tasks(waiting, "qq");
    assert_detail(waiting, single, "succeed");
    rebuild();
    finish(single, SUCCEEDS);
    assert_tasks(waiting, "oq");
    finish(harness_task(two, 1), SUCCEEDS);
    assert_tasks(waiting, "oq");
    finish(harness_task(one, 1), SUCCEEDS);
    assert_tasks(waiting, "oo");
}

/*  A task that came back from its site does not wait again. */
static void tasks__that_were_placed_wait_no_more(void **state)
{
    (void)state;
    helio_job_key_t on = array_of(2), waiting = array_after(2, 0, on), first = harness_task(waiting, 0);
    finish(harness_task(on, 0), SUCCEEDS);
    harness_tick(h);
    harness_run_up_to(h, NORTH, first, harness_row(h, first)->epoch, HELIO_JOB_RUNNING);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_REQUEUE, "acme", HELIO_ROLE_USER, first)->rc, HELIO_OK);
    harness_say(h, NORTH, first, harness_row(h, first)->epoch, HELIO_REPORT_KIND_STOPPED);
    rebuild();
    assert_tasks(waiting, "oq");
}

static void tasks__without_a_like_are_refused_by_name(void **state)
{
    (void)state;
    helio_job_key_t on = array_of(2);
    harness_after_t after[] = {{HELIO_AFTER_TASK, on}, {HELIO_AFTER_TASK, on}};
    helio_job_spec_t array = tasks_of(3, 0);
    helio_submission_t document = harness_dependent(h, &array, after, 2);
    for (uint32_t i = 0; i < 2; i++)
        document.depends.items[2 + 3 * i].found = i ? HELIO_FOUND_UNKNOWN : HELIO_FOUND_OK;
    const helio_fx_reply_t *reply = harness_submit_all(h, "acme", &document, 1);
    assert_int_equal(reply->rc, HELIO_INVALID);
    assert_true(harness_says(h, &reply->details, "depends.after_task[1]"));
}

static void many__tasks_of_two_arrays_of_10000(void **state)
{
    (void)state;
    uint32_t *all = calloc(MANY, sizeof *all);
    for (uint32_t i = 0; i < MANY; i++)
        all[i] = i;
    helio_job_spec_t array = spec;
    array.tasks = (helio_u32s_t){all, MANY};
    helio_job_key_t on = harness_job(h, &array);
    helio_dependency_t *depends = calloc(MANY, sizeof *depends);
    for (uint32_t i = 0; i < MANY; i++)
        depends[i] = (helio_dependency_t){HELIO_TEXT("array"), HELIO_AFTER_TASK, HELIO_FOUND_OPEN, harness_task(on, i)};
    helio_submission_t job = harness_submission(h, &array, "", "");
    helio_string_t word = {HELIO_TEXT("array")};
    job.spec.after_task.items = &word;
    job.spec.after_task.count = 1;
    job.depends.items = depends;
    job.depends.count = MANY;
    int64_t before_us = helio_clock_boot_us();
    helio_job_key_t key = {harness_submit_all(h, "acme", &job, 1)->jobs.items[0].job, HELIO_NO_TASK};
    harness_clear(h);
    const helio_ev_command_t cancel_all = {
        .tenant = HELIO_TEXT("acme"), .actor = HELIO_TEXT("user:acme/ada"), .role = HELIO_ROLE_USER, .key = on};
    harness_step(h, HELIO_BROKER_EV_CANCEL, &cancel_all); /* it is answered with its last batch */
    for (int i = 0; i < 2 * MANY / BATCH; i++) {
        helio_ev_sealed_t sealed = {harness_figures(h).open_batch};
        harness_step(h, HELIO_BROKER_EV_SEALED, &sealed);
    }
    assert_true(helio_clock_boot_us() - before_us < 5000000);
    assert_int_equal(harness_state(h, harness_task(key, MANY - 1)), HELIO_JOB_CANCELLED);
    assert_int_equal(harness_figures(h).jobs[HELIO_JOB_QUEUED], 0);
    free(depends);
    free(all);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(tasks__wait_for_those_of_their_index),
        CASE(tasks__of_what_is_over_at_submission_are_judged_at_once),
        CASE(tasks__whose_like_ended_since_the_look_up_are_judged_by_its_end),
        CASE(tasks__wait_under_a_new_leader),
        CASE(tasks__held_ones_keep_waiting),
        CASE(tasks__that_wait_take_no_place_of_their_arrays_limit),
        CASE(tasks__wait_for_everything_that_the_document_names),
        CASE(tasks__that_were_placed_wait_no_more),
        CASE(tasks__without_a_like_are_refused_by_name),
        CASE(many__tasks_of_two_arrays_of_10000),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
