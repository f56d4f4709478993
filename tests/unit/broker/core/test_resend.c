/*  test_resend.c -- instructions that a site does not answer are sent again, and shed summaries count as life. */
#include "broker/core/sites/resend.h"
#include "tests/unit/broker/core/silence_testing.h"

static void alive(uint64_t peer, uint32_t seconds)
{
    helio_ev_site_alive_t event = {peer};
    for (uint32_t s = 0; s < seconds; s++) {
        harness_wait(h, 1000);
        harness_step(h, HELIO_BROKER_EV_SITE_ALIVE, &event);
    }
}

static uint32_t orders(helio_job_key_t key)
{
    const helio_fx_order_t *fx;
    uint32_t count = 0;
    while ((fx = harness_take(h, HELIO_BROKER_FX_ORDER)))
        count += helio_uuid_equal(fx->order.key.job, key.job) && fx->order.epoch == 1;
    return count;
}

static void order__that_is_not_answered_is_sent_again_until_it_is(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_OFFERED);
    orders(key);
    alive(NORTH, RESEND_MS / 1000 - 1);
    assert_int_equal(orders(key), 0);
    alive(NORTH, RESEND_MS / 1000 + 2);
    assert_int_equal(orders(key), 1);
    alive(NORTH, 2 * RESEND_MS / 1000);
    assert_in_range(orders(key), 1, 2);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_ACCEPTED);
    alive(NORTH, 3 * RESEND_MS / 1000);
    assert_int_equal(orders(key), 0);
    assert_int_equal(harness_row(h, key)->epoch, 1);
}

static void order__that_cannot_have_left_is_not_sent_again(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_OFFERED);
    orders(key);
    helio_ev_database_t lost = {false};
    harness_step(h, HELIO_BROKER_EV_DATABASE, &lost);
    alive(NORTH, 9);
    alive(NORTH, 4 * RESEND_MS / 1000);
    assert_int_equal(orders(key), 0);
}

static void stop__that_is_not_answered_is_sent_again(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    (void)harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key);
    assert_int_equal(harness_state(h, key), HELIO_JOB_STOPPING);
    harness_clear(h);
    alive(NORTH, 2 * RESEND_MS / 1000 + 2);
    const helio_fx_stop_t *fx = harness_take(h, HELIO_BROKER_FX_STOP);
    assert_non_null(fx);
    assert_true(helio_uuid_equal(fx->stop.key.job, key.job) && fx->stop.epoch == 1);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_STOPPED);
    harness_clear(h);
    alive(NORTH, 3 * RESEND_MS / 1000);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_STOP), 0);
}

/*  Under overload summaries are dropped, and renewals are further apart than silence begins. */
static void silence__does_not_begin_while_summaries_are_dropped(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_EAGER, HELIO_JOB_RUNNING);
    alive(NORTH, 80);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
    harness_wait(h, 62000);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(order__that_is_not_answered_is_sent_again_until_it_is),
        CASE(order__that_cannot_have_left_is_not_sent_again),
        CASE(stop__that_is_not_answered_is_sent_again),
        CASE(silence__does_not_begin_while_summaries_are_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
