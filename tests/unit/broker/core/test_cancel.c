/*  test_cancel.c -- jobs that people cancel, with their grace and without. */
#include "tests/unit/broker/core/life_testing.h"

static void cancel__of_a_job_without_a_site_is_done_at_once(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_job_key_t queued = harness_job(h, &spec);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, queued)->rc, HELIO_OK);
    assert_int_equal(harness_row(h, queued)->state, HELIO_JOB_CANCELLED);
    assert_int_equal(harness_row(h, queued)->exit_code, 130);
    helio_job_key_t held = north_in_state(HELIO_JOB_STARTING);
    for (uint32_t epoch = 1; epoch <= 2; epoch++) {
        helio_report_t report = harness_report_of(h, held, epoch, HELIO_REPORT_KIND_LOST);
        report.run_ms = 0;
        report.started_wall_ms = 0; /* it never started */
        harness_report(h, NORTH, &report);
        harness_tick(h);
    }
    assert_int_equal(harness_state(h, held), HELIO_JOB_HELD);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, held)->rc, HELIO_OK);
    assert_int_equal(harness_row(h, held)->state, HELIO_JOB_CANCELLED);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_STOP), 0);
}

static void cancel__of_a_job_at_a_site_asks_it_to_stop_and_waits_for_the_report(void **state)
{
    (void)state;
    static const uint32_t states[] = {HELIO_JOB_OFFERED, HELIO_JOB_ACCEPTED, HELIO_JOB_STARTING, HELIO_JOB_RUNNING,
                                      HELIO_JOB_SUSPENDED};
    for (int i = 0; i < 5; i++) {
        helio_job_key_t key = any_in_state(states[i]);
        assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key)->rc, HELIO_OK);
        assert_int_equal(harness_state(h, key), HELIO_JOB_STOPPING);
        const helio_fx_stop_t *stop = harness_take(h, HELIO_BROKER_FX_STOP);
        assert_int_equal(stop->peer, NORTH);
        assert_true(helio_job_key_equal(stop->stop.key, key));
        assert_int_equal(stop->stop.epoch, 1);
        assert_int_equal(stop->stop.mode, HELIO_STOP_MODE_GRACE);
        /* again: neither another transition nor another stop */
        assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key)->rc, HELIO_OK);
        assert_null(harness_take(h, HELIO_BROKER_FX_STOP));
        harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_STOPPED);
        assert_int_equal(harness_row(h, key)->state, HELIO_JOB_CANCELLED);
        assert_int_equal(harness_row(h, key)->exit_code, 130);
        assert_true(((const helio_row_attempt_t *)harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT))->completes);
    }
}

static void cancel__now_gives_no_grace(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_RUNNING);
    assert_int_equal(harness_cancel_now(h, "acme", key)->rc, HELIO_OK);
    assert_stop(HELIO_STOP_MODE_KILL);
    assert_int_equal(harness_cancel_now(h, "acme", key)->rc, HELIO_OK);
    assert_stop(-1);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_STOPPED);
    assert_int_equal(harness_row(h, key)->state, HELIO_JOB_CANCELLED);
}

/*  It leaves a trace; and a site that comes back is told the same. */
static void cancel__now_ends_a_grace_that_was_given(void **state)
{
    (void)state;
    helio_job_key_t key = north_in_state(HELIO_JOB_RUNNING);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key)->rc, HELIO_OK);
    assert_stop(HELIO_STOP_MODE_GRACE);
    harness_clear(h);
    assert_int_equal(harness_cancel_now(h, "acme", key)->rc, HELIO_OK);
    assert_stop(HELIO_STOP_MODE_KILL);
    assert_true(
        helio_text_is(((const helio_row_audit_t *)harness_take(h, HELIO_BROKER_FX_ROW_AUDIT))->action, "cancel-now"));
    rejoin(key, "local", 8);
    assert_stop(HELIO_STOP_MODE_KILL);
}

/*  What a client sends again for want of an answer is no second request. */
static void cancel__of_an_operator_who_insists_ends_the_grace(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_RUNNING);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_OPERATOR, key)->rc, HELIO_OK);
        assert_stop(i ? -1 : HELIO_STOP_MODE_GRACE);
        harness_wait(h, 5000);
        (void)harness_take(h, HELIO_BROKER_FX_STOP);
    }
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key)->rc, HELIO_OK);
    assert_stop(-1); /* a user says so */
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_OPERATOR, key)->rc, HELIO_OK);
    assert_stop(HELIO_STOP_MODE_KILL);
}

static void cancel_as(helio_role_t role, helio_job_key_t key, int mode)
{
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", role, key)->rc, HELIO_OK);
    assert_stop(mode);
}

static void wait_ten_seconds(void)
{
    harness_wait(h, 10000);
    while (harness_take(h, HELIO_BROKER_FX_STOP))
        ;
}

static void take_over(void)
{
    harness_t *next = harness_rebuild(h);
    harness_end(&h);
    h = next;
}

/*  The user was the one who gave the grace: the operator has seen nothing yet. */
static void cancel__of_an_operator_after_the_users_leaves_the_grace(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_RUNNING);
    cancel_as(HELIO_ROLE_USER, key, HELIO_STOP_MODE_GRACE);
    wait_ten_seconds();
    harness_clear(h);
    cancel_as(HELIO_ROLE_OPERATOR, key, -1);
    assert_non_null(harness_take(h, HELIO_BROKER_FX_ROW_AUDIT));
    cancel_as(HELIO_ROLE_OPERATOR, key, -1); /* the same request, sent again for want of an answer */
    assert_null(harness_take(h, HELIO_BROKER_FX_ROW_AUDIT));
    wait_ten_seconds();
    cancel_as(HELIO_ROLE_OPERATOR, key, HELIO_STOP_MODE_KILL);
}

/*  The site is away while it is asked, and comes back under the next leader. */
static void kill_while_away(int64_t away_ms, helio_job_state_t state)
{
    helio_job_key_t key = north_in_state(HELIO_JOB_RUNNING);
    cancel_as(HELIO_ROLE_USER, key, HELIO_STOP_MODE_GRACE);
    harness_gone(h, NORTH);
    harness_wait(h, away_ms);
    assert_int_equal(harness_state(h, key), state);
    assert_int_equal(harness_cancel_now(h, "acme", key)->rc, HELIO_OK);
    assert_stop(-1);
    take_over();
    rejoin(key, "local", 8);
    assert_stop(HELIO_STOP_MODE_KILL);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_STOPPED);
    assert_int_equal(harness_row(h, key)->state, HELIO_JOB_CANCELLED);
    assert_int_equal(harness_row(h, key)->haste, HELIO_HASTE_NONE);
}

static void cancel__now_outlives_its_leader(void **state)
{
    (void)state;
    kill_while_away(0, HELIO_JOB_STOPPING);
}

static void cancel__now_outlives_its_leader_while_the_site_is_silent(void **state)
{
    (void)state;
    kill_while_away(120000, HELIO_JOB_SUSPECT);
}

/*  So does the note that an operator cancelled; the ten seconds count from the begin of the new leader. */
static void cancel__of_an_operator_who_insists_outlives_its_leader(void **state)
{
    (void)state;
    helio_job_key_t key = north_in_state(HELIO_JOB_RUNNING);
    cancel_as(HELIO_ROLE_OPERATOR, key, HELIO_STOP_MODE_GRACE);
    take_over();
    rejoin(key, "local", 8);
    assert_stop(HELIO_STOP_MODE_GRACE);
    cancel_as(HELIO_ROLE_OPERATOR, key, -1);
    wait_ten_seconds();
    cancel_as(HELIO_ROLE_OPERATOR, key, HELIO_STOP_MODE_KILL);
}

static void cancel__an_end_that_came_first_counts(void **state)
{
    (void)state;
    static const struct {
        int32_t exit_code;
        bool limit;
        uint32_t state;
    } rows[] = {{0, false, HELIO_JOB_SUCCEEDED}, {3, false, HELIO_JOB_FAILED}, {124, true, HELIO_JOB_TIMEOUT}};
    for (int i = 0; i < 3; i++) {
        helio_job_spec_t spec = harness_spec(h, "H100", 1);
        spec.retries = 4; /* a cancelled job is not retried */
        helio_job_key_t key = job_in_state(&spec, HELIO_JOB_STOPPING);
        helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_ENDED);
        report.exit_code = rows[i].exit_code;
        report.limit_reached = rows[i].limit;
        harness_report(h, NORTH, &report);
        assert_int_equal(harness_row(h, key)->state, rows[i].state);
        assert_int_equal(harness_row(h, key)->exit_code, rows[i].exit_code);
    }
}

static void cancel__a_lost_or_refused_attempt_is_cancelled_too(void **state)
{
    (void)state;
    static const uint32_t kinds[] = {HELIO_REPORT_KIND_LOST, HELIO_REPORT_KIND_REFUSED};
    for (int i = 0; i < 2; i++) {
        helio_job_key_t key = any_in_state(HELIO_JOB_STOPPING);
        harness_say(h, NORTH, key, 1, kinds[i]);
        assert_int_equal(harness_row(h, key)->state, HELIO_JOB_CANCELLED);
    }
}

static void cancel__of_another_tenants_job_finds_nothing_unless_an_operator_asks(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_RUNNING);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "other", HELIO_ROLE_USER, key)->rc, HELIO_NOT_FOUND);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_AUDIT), 0);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "other", HELIO_ROLE_OPERATOR, key)->rc, HELIO_OK);
    assert_int_equal(harness_state(h, key), HELIO_JOB_STOPPING);
    const helio_row_audit_t *audit = harness_take(h, HELIO_BROKER_FX_ROW_AUDIT);
    assert_true(helio_text_is(audit->action, "cancel"));
    assert_true(helio_text_is(audit->actor, "user:other/ada"));
}

static void cancel__of_an_array_reaches_every_task_whatever_its_index(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    uint32_t tasks[] = {0, 9999, 10000, 9999999};
    spec.tasks = (helio_u32s_t){tasks, 4};
    helio_job_key_t array = harness_job(h, &spec);
    harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, harness_task(array, 0));
    assert_int_equal(harness_figures(h).jobs[HELIO_JOB_CANCELLED], 1);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "other", HELIO_ROLE_USER, array)->rc, HELIO_NOT_FOUND);
    assert_int_equal(harness_figures(h).jobs[HELIO_JOB_CANCELLED], 1);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, array)->rc, HELIO_OK);
    assert_int_equal(harness_figures(h).jobs[HELIO_JOB_CANCELLED], 4);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, array)->rc, HELIO_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(cancel__of_a_job_without_a_site_is_done_at_once),
        CASE(cancel__of_a_job_at_a_site_asks_it_to_stop_and_waits_for_the_report),
        CASE(cancel__now_gives_no_grace),
        CASE(cancel__now_ends_a_grace_that_was_given),
        CASE(cancel__of_an_operator_who_insists_ends_the_grace),
        CASE(cancel__of_an_operator_after_the_users_leaves_the_grace),
        CASE(cancel__now_outlives_its_leader),
        CASE(cancel__now_outlives_its_leader_while_the_site_is_silent),
        CASE(cancel__of_an_operator_who_insists_outlives_its_leader),
        CASE(cancel__an_end_that_came_first_counts),
        CASE(cancel__a_lost_or_refused_attempt_is_cancelled_too),
        CASE(cancel__of_another_tenants_job_finds_nothing_unless_an_operator_asks),
        CASE(cancel__of_an_array_reaches_every_task_whatever_its_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
