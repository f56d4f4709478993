/*  test_edit_time.c -- edits of the time limits of waiting jobs. */
#include "tests/unit/broker/core/edit_testing.h"

static helio_ev_edit_t time_of(uint32_t change, uint64_t ms)
{
    return (helio_ev_edit_t){.time_given = true, .time_change = change, .time_limit_ms = ms};
}

static void time__is_set_and_changed_and_the_order_has_it(void **state)
{
    (void)state;
    helio_job_key_t key = waiting("standard", 1);
    const helio_fx_reply_t *reply =
        harness_edit(h, "acme", HELIO_ROLE_USER, key, time_of(HELIO_TIME_CHANGE_SET, 3 * HOUR));
    assert_int_equal(reply->rc, HELIO_OK);
    assert_true(says(reply, "{\"field\":\"time\",\"before\":\"1h\",\"after\":\"3h\"}"));
    assert_int_equal(edit(key, time_of(HELIO_TIME_CHANGE_ADD, HOUR)), HELIO_OK);
    harness_clear(h);
    assert_int_equal(edit(key, time_of(HELIO_TIME_CHANGE_SUBTRACT, 2 * HOUR)), HELIO_OK);
    assert_true(((const helio_row_edit_t *)harness_take(h, HELIO_BROKER_FX_ROW_EDIT))->time_limit_ms == 2 * HOUR);
    open_site(h, "north");
    assert_true(((const helio_fx_order_t *)harness_take(h, HELIO_BROKER_FX_ORDER))->order.time_limit_ms == 2 * HOUR);
    harness_t *next = harness_rebuild(h);
    harness_join(next, NORTH, north);
    harness_tick(next);
    assert_true(((const helio_fx_order_t *)harness_take(next, HELIO_BROKER_FX_ORDER))->order.time_limit_ms == 2 * HOUR);
    harness_end(&next);
}

static void time__without_a_value_is_that_of_the_queue(void **state)
{
    (void)state;
    helio_job_key_t key = waiting("standard", 1);
    assert_int_equal(edit(key, time_of(HELIO_TIME_CHANGE_ADD, 2 * HOUR)), HELIO_OK);
    harness_clear(h);
    assert_int_equal(edit(key, time_of(HELIO_TIME_CHANGE_SET, 0)), HELIO_OK);
    assert_true(((const helio_row_edit_t *)harness_take(h, HELIO_BROKER_FX_ROW_EDIT))->time_limit_ms == HOUR);
}

static void time__is_bounded(void **state)
{
    (void)state;
    helio_job_key_t key = waiting("standard", 1);
    const helio_ev_edit_t wrong[] = {
        time_of(HELIO_TIME_CHANGE_SET, UINT64_C(367) * 24 * HOUR),
        time_of(HELIO_TIME_CHANGE_ADD, UINT64_C(366) * 24 * HOUR), time_of(HELIO_TIME_CHANGE_ADD, UINT64_MAX),
        time_of(HELIO_TIME_CHANGE_SUBTRACT, HOUR), time_of(HELIO_TIME_CHANGE_SUBTRACT, UINT64_MAX)};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        const helio_fx_reply_t *reply = harness_edit(h, "acme", HELIO_ROLE_USER, key, wrong[i]);
        assert_int_equal(reply->rc, HELIO_INVALID);
        assert_true(says(reply, "OutOfRange") && says(reply, "\"time\""));
    }
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_EDIT), 0);
}

static void time__that_misses_the_deadline_is_refused(void **state)
{
    (void)state;
    helio_job_key_t key = waiting("standard", 8);
    int64_t at_ms = harness_wall_ms(h) + 2 * HOUR;
    assert_int_equal(edit(key, (helio_ev_edit_t){.deadline_given = true, .deadline_wall_ms = at_ms}), HELIO_OK);
    const helio_fx_reply_t *reply =
        harness_edit(h, "acme", HELIO_ROLE_USER, key, time_of(HELIO_TIME_CHANGE_SET, 3 * HOUR));
    assert_int_equal(reply->rc, HELIO_INFEASIBLE);
    assert_true(says(reply, "DeadlineMissed") && says(reply, "NothingChanged"));
    assert_int_equal(edit(key, time_of(HELIO_TIME_CHANGE_SET, HOUR + HOUR / 2)), HELIO_OK);
}

static void time__of_an_array_changes_while_no_task_is_placed(void **state)
{
    (void)state;
    helio_job_key_t array = waiting_array(3, 8);
    assert_int_equal(edit(array, time_of(HELIO_TIME_CHANGE_SET, 2 * HOUR)), HELIO_OK);
    open_site(h, "north");
    const helio_fx_reply_t *reply =
        harness_edit(h, "acme", HELIO_ROLE_USER, array, time_of(HELIO_TIME_CHANGE_SET, 3 * HOUR));
    assert_int_equal(reply->rc, HELIO_CONFLICT);
    assert_true(says(reply, "\"EditTimePlaced\",\"params\":{\"tasks\":1}"));
}

/*  A late report of the attempt that its site lost is judged by the limit. */
static void time__of_a_job_that_was_placed_before_only_grows(void **state)
{
    (void)state;
    helio_job_key_t key = waiting("standard", 8);
    open_site(h, "north");
    (void)harness_site_command(h, HELIO_BROKER_EV_DRAIN, HELIO_ROLE_ADMIN, "north");
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_LOST);
    harness_report(h, NORTH, &report);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    const helio_fx_reply_t *reply =
        harness_edit(h, "acme", HELIO_ROLE_USER, key, time_of(HELIO_TIME_CHANGE_SUBTRACT, HOUR / 2));
    assert_int_equal(reply->rc, HELIO_CONFLICT);
    assert_true(says(reply, "EditTimeShorter"));
    assert_int_equal(edit(key, time_of(HELIO_TIME_CHANGE_ADD, HOUR)), HELIO_OK);
}

static void time__a_shorter_job_fits_before_a_reservation(void **state)
{
    (void)state;
    helio_job_key_t small = waiting("standard", 2);
    open_site(h, "north");
    harness_run_up_to(h, NORTH, small, 1, HELIO_JOB_RUNNING);
    harness_advance(h, 60000); /* later jobs end after it */
    helio_job_key_t gang = waiting("standard", 8), behind = waiting("standard", 6);
    assert_int_equal(harness_state(h, behind), HELIO_JOB_QUEUED); /* capacity is reserved for the gang */
    assert_int_equal(edit(behind, time_of(HELIO_TIME_CHANGE_SET, HOUR / 4)), HELIO_OK);
    harness_tick(h);
    assert_int_equal(harness_state(h, behind), HELIO_JOB_OFFERED);
    assert_int_equal(harness_state(h, gang), HELIO_JOB_QUEUED);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(time__is_set_and_changed_and_the_order_has_it),
        CASE(time__without_a_value_is_that_of_the_queue),
        CASE(time__is_bounded),
        CASE(time__that_misses_the_deadline_is_refused),
        CASE(time__of_an_array_changes_while_no_task_is_placed),
        CASE(time__of_a_job_that_was_placed_before_only_grows),
        CASE(time__a_shorter_job_fits_before_a_reservation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
