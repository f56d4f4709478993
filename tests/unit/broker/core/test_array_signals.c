/*  test_array_signals.c -- a signal to a large array is sent batch by batch, and answered with its last task. */
#include "tests/unit/broker/core/dependencies_testing.h"

enum { TASKS = 1200 };

static void send_to(helio_job_key_t key)
{
    const helio_ev_command_t command = {.call = 1,
                                        .tenant = HELIO_TEXT("acme"),
                                        .actor = HELIO_TEXT("user:acme/ada"),
                                        .role = HELIO_ROLE_USER,
                                        .key = key};
    const helio_ev_signal_t event = {command, HELIO_JOB_SIGNAL_USR1, HELIO_SIGNAL_TO_SCRIPT};
    harness_step(h, HELIO_BROKER_EV_SIGNAL, &event);
}

static void signal__to_a_large_array_is_sent_batch_by_batch(void **state)
{
    (void)state;
    static uint32_t tasks[TASKS];
    helio_job_spec_t large = spec;
    for (uint32_t i = 0; i < TASKS; i++)
        tasks[i] = i;
    large.tasks = (helio_u32s_t){tasks, TASKS};
    helio_job_key_t array = harness_job(h, &large);
    harness_tick(h);
    for (uint32_t i = 0; i < TASKS; i++)
        harness_run_up_to(h, NORTH, harness_task(array, i), 1, HELIO_JOB_RUNNING);
    seal();
    harness_clear(h);
    send_to(array);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_SIGNAL), BATCH);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_REPLY), 0);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_HOLD, "acme", HELIO_ROLE_USER, array)->rc, HELIO_BUSY);
    harness_clear(h);
    seal();
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_SIGNAL), TASKS - BATCH);
    const helio_fx_signal_t *fx = harness_take(h, HELIO_BROKER_FX_SIGNAL);
    assert_int_equal(fx->signal.signal, HELIO_JOB_SIGNAL_USR1);
    assert_int_equal(fx->signal.to, HELIO_SIGNAL_TO_SCRIPT);
    const helio_fx_reply_t *reply = harness_take(h, HELIO_BROKER_FX_REPLY);
    assert_int_equal(reply->rc, HELIO_OK);
    assert_string_equal(harness_facts(h, reply->details), "SignalSent signal=USR1 jobs=1200");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        CASE(signal__to_a_large_array_is_sent_batch_by_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
