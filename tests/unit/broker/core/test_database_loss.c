/*  test_database_loss.c -- a leader that has lost its database grants nothing, lets its sites go, and finds them
 *  again. */
#include "tests/unit/broker/core/silence_testing.h"

static void database(bool connected)
{
    helio_ev_database_t event = {connected};
    harness_step(h, HELIO_BROKER_EV_DATABASE, &event);
}

static void renew(uint64_t peer)
{
    helio_ev_site_renew_t event = {.peer = peer, .sent_boot_ms = 4711};
    harness_step(h, HELIO_BROKER_EV_SITE_RENEW, &event);
}

static uint32_t refused(helio_rc rc)
{
    const helio_fx_peer_t *refusal;
    uint32_t count = 0;
    while ((refusal = harness_take(h, HELIO_BROKER_FX_REFUSAL)))
        count += refusal->rc == (uint32_t)rc;
    return count;
}

/* ---- grants wait for a commit -------------------------------------------------------------------------- */

static void grant__of_a_lease_waits_for_a_commit_that_has_a_row(void **state)
{
    (void)state;
    harness_clear(h);
    renew(NORTH);
    assert_int_equal(helio_broker_effects[HELIO_BROKER_FX_RENEWED].release, HELIO_RELEASE_HELD);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_SITE), 1);
    const helio_fx_renewed_t *renewed = harness_take(h, HELIO_BROKER_FX_RENEWED);
    assert_int_equal(renewed->sent_boot_ms, 4711);
    renew(NORTH); /* at once again: a row each time, since the earlier commit may be of before another leader */
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_SITE), 2);
}

static void grant__of_a_session_waits_for_a_commit_that_has_a_row(void **state)
{
    (void)state;
    harness_gone(h, NORTH);
    harness_clear(h);
    harness_hello(h, NORTH_AGAIN, north);
    assert_int_equal(helio_broker_effects[HELIO_BROKER_FX_WELCOME].release, HELIO_RELEASE_HELD);
    assert_true(harness_count(h, HELIO_BROKER_FX_ROW_SITE) >= 1);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_WELCOME), 1);
}

/* ---- sites are let go ---------------------------------------------------------------------------------- */

static void loss__ends_all_sessions_after_ten_seconds_and_not_before(void **state)
{
    (void)state;
    harness_clear(h);
    database(false);
    harness_wait(h, HELIO_DATABASE_LOSS_MS - 1);
    assert_int_equal(refused(HELIO_UNAVAILABLE), 0);
    harness_wait(h, 1);
    assert_int_equal(refused(HELIO_UNAVAILABLE), 2);
    harness_wait(h, 60000);
    assert_int_equal(refused(HELIO_UNAVAILABLE), 0); /* once */
}

static void loss__refuses_hello_until_the_database_is_back(void **state)
{
    (void)state;
    database(false);
    harness_wait(h, HELIO_DATABASE_LOSS_MS);
    harness_clear(h);
    harness_hello(h, NORTH_AGAIN, north);
    assert_int_equal(refused(HELIO_UNAVAILABLE), 1);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_WELCOME), 0);
    database(true);
    harness_hello(h, NORTH_AGAIN, north);
    assert_int_equal(refused(HELIO_UNAVAILABLE), 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_WELCOME), 1);
}

static void loss__of_a_moment_changes_nothing(void **state)
{
    (void)state;
    harness_clear(h);
    database(false);
    harness_wait(h, HELIO_DATABASE_LOSS_MS / 2);
    database(true);
    harness_wait(h, HELIO_DATABASE_LOSS_MS);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_REFUSAL), 0);
    renew(NORTH);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_RENEWED), 1);
}

/*  The sites were refused, so their silence proves nothing. */
static void loss__makes_no_job_suspect_and_reruns_no_eager_job(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_EAGER, HELIO_JOB_RUNNING);
    database(false);
    harness_wait(h, 300000);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
    database(true);
    harness_wait(h, 30000); /* each site has its full time to come back */
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
    harness_hello(h, NORTH_AGAIN, north);
    helio_holding_t holding = {key, 1, HELIO_JOB_RUNNING, 1};
    harness_inventory(h, NORTH_AGAIN, &holding, 1);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
    assert_int_equal(harness_row(h, key)->epoch, 1);
}

static void loss__does_not_hide_a_site_that_stays_silent_afterwards(void **state)
{
    (void)state;
    helio_job_key_t key = job_of(HELIO_SITE_LOSS_STRICT, HELIO_JOB_RUNNING);
    database(false);
    harness_wait(h, HELIO_DATABASE_LOSS_MS);
    database(true);
    harness_wait(h, 61000);
    assert_int_equal(harness_state(h, key), HELIO_JOB_SUSPECT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(grant__of_a_lease_waits_for_a_commit_that_has_a_row),
        CASE(grant__of_a_session_waits_for_a_commit_that_has_a_row),
        CASE(loss__ends_all_sessions_after_ten_seconds_and_not_before),
        CASE(loss__refuses_hello_until_the_database_is_back),
        CASE(loss__of_a_moment_changes_nothing),
        CASE(loss__makes_no_job_suspect_and_reruns_no_eager_job),
        CASE(loss__does_not_hide_a_site_that_stays_silent_afterwards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
