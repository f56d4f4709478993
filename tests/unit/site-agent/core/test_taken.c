/*  test_taken.c -- nodes that their owner takes away: what runs there stops with its grace, and ends as preempted. */
#include "tests/unit/site-agent/core/orders_testing.h"

static void take(uint8_t number, uint32_t epoch)
{
    helio_attempt_ref_t ref = {.key = order_of(number, epoch, 1, 8).key, .epoch = epoch};
    helio_aev_taken_t event = {.explanation = HELIO_TEXT("the provider takes gpu-1 away"), .attempts = {&ref, 1}};
    step(&site, HELIO_AGENT_EV_TAKEN, &event);
}

static void assert_preempted(void)
{
    const helio_report_t *report = report_row(&site, HELIO_REPORT_KIND_STOPPED);
    assert_non_null(report);
    assert_int_equal(report->cause, HELIO_CAUSE_PREEMPTED);
    assert_true(helio_text_is(report->explanation, "the provider takes gpu-1 away"));
}

static void taken__an_attempt_gets_its_grace_and_ends_as_preempted(void **state)
{
    (void)state;
    open_session(&site);
    give_one(1, 1, 1, 8);
    give_one(2, 1, 1, 8);
    backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_STARTED);
    backend_says(&site, 2, 1, HELIO_BACKEND_REPORT_STARTED);
    take(1, 1);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_STOP), 1);
    const helio_stop_t *stop = last_of(&site, HELIO_AGENT_FX_STOP);
    assert_int_equal(stop->mode, HELIO_STOP_MODE_GRACE);
    take(1, 1); /* each inventory says so again */
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_STOP), 1);
    helio_aev_backend_t ended = backend_of(1, 1, HELIO_BACKEND_REPORT_ENDED);
    ended.stopped = true;
    ended.exit_code = 0;
    step(&site, HELIO_AGENT_EV_BACKEND, &ended);
    assert_preempted();
    assert_int_equal(figures(&site).attempts, 2); /* until the broker has acknowledged it */
}

static void taken__an_instance_that_is_gone_before_the_grace_is_over_is_no_loss(void **state)
{
    (void)state;
    open_session(&site);
    give_one(1, 1, 1, 8);
    backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_STARTED);
    take(1, 1);
    backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_VANISHED);
    assert_preempted();
    assert_null(report_row(&site, HELIO_REPORT_KIND_LOST));
}

static void taken__a_restarted_agent_knows_why_it_stops(void **state)
{
    (void)state;
    open_session(&site);
    give_one(1, 1, 1, 8);
    backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_STARTED);
    take(1, 1);
    commit(&site);
    restart(&site);
    helio_aev_backend_t ended = backend_of(1, 1, HELIO_BACKEND_REPORT_ENDED);
    ended.stopped = true;
    step(&site, HELIO_AGENT_EV_BACKEND, &ended);
    assert_preempted();
}

static void taken__what_is_not_here_or_over_is_left_alone(void **state)
{
    (void)state;
    open_session(&site);
    give_one(1, 1, 1, 8);
    backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_ENDED);
    clear_log(&site);
    take(1, 1);
    take(9, 4);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_STOP), 0);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_ROW_REPORT), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(taken__an_attempt_gets_its_grace_and_ends_as_preempted),
        CASE(taken__an_instance_that_is_gone_before_the_grace_is_over_is_no_loss),
        CASE(taken__a_restarted_agent_knows_why_it_stops),
        CASE(taken__what_is_not_here_or_over_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
