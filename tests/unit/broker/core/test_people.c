/*  test_people.c -- jobs that people hold, release, requeue and signal. */
#include "tests/unit/broker/core/life_testing.h"

/* ---- people -------------------------------------------------------------------------------------------- */

static void release__of_a_job_that_is_not_held_says_so(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_RUNNING);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_RELEASE, "acme", HELIO_ROLE_USER, key)->rc, HELIO_NOT_FOUND);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_AUDIT), 0);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
}

static helio_rc hold(helio_job_key_t key, helio_role_t role)
{
    return harness_command(h, HELIO_BROKER_EV_HOLD, "acme", role, key)->rc;
}

static helio_rc release(helio_job_key_t key, helio_role_t role)
{
    return harness_command(h, HELIO_BROKER_EV_RELEASE, "acme", role, key)->rc;
}

static void hold__of_a_waiting_job_lasts_until_its_user_releases_it(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_job_key_t key = harness_job(h, &spec);
    harness_clear(h);
    assert_int_equal(hold(key, HELIO_ROLE_USER), HELIO_OK);
    const helio_row_transition_t *moved = harness_take(h, HELIO_BROKER_FX_ROW_TRANSITION);
    assert_int_equal(moved->from, HELIO_JOB_QUEUED);
    assert_int_equal(moved->to, HELIO_JOB_HELD);
    const helio_row_audit_t *audit = harness_take(h, HELIO_BROKER_FX_ROW_AUDIT);
    assert_true(helio_text_is(audit->action, "hold"));
    assert_int_equal(harness_row(h, key)->state, HELIO_JOB_HELD);
    assert_string_equal(harness_facts(h, harness_row(h, key)->why), "HeldByUser");
    harness_wait(h, 10000);
    assert_int_equal(harness_state(h, key), HELIO_JOB_HELD);
    assert_int_equal(hold(key, HELIO_ROLE_USER), HELIO_OK); /* again: nothing changes */
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_RELEASE, "other", HELIO_ROLE_USER, key)->rc, HELIO_NOT_FOUND);
    assert_int_equal(release(key, HELIO_ROLE_USER), HELIO_OK);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    assert_int_equal(hold(key, HELIO_ROLE_USER), HELIO_NOT_FOUND); /* it is at a site */
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_HOLD, "other", HELIO_ROLE_USER, key)->rc, HELIO_NOT_FOUND);
}

static void hold__of_an_operator_is_not_ended_by_the_user(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_job_key_t key = harness_job(h, &spec);
    assert_int_equal(hold(key, HELIO_ROLE_USER), HELIO_OK);
    assert_int_equal(hold(key, HELIO_ROLE_OPERATOR), HELIO_OK); /* takes the place of the user's */
    assert_int_equal(hold(key, HELIO_ROLE_USER), HELIO_OK);     /* and not the other way round */
    assert_string_equal(harness_facts(h, harness_row(h, key)->why), "HeldByOperator");
    assert_int_equal(release(key, HELIO_ROLE_USER), HELIO_CONFLICT);
    assert_int_equal(harness_state(h, key), HELIO_JOB_HELD);
    assert_int_equal(release(key, HELIO_ROLE_OPERATOR), HELIO_OK);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
}

static void hold__by_a_user_forgives_no_failures(void **state)
{
    (void)state;
    helio_job_key_t key = north_in_state(HELIO_JOB_STARTING);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_LOST);
    report.run_ms = 0;
    report.started_wall_ms = 0; /* it never started */
    harness_report(h, NORTH, &report);
    assert_int_equal(harness_row(h, key)->site_failures, 1);
    assert_int_equal(hold(key, HELIO_ROLE_USER), HELIO_OK);
    assert_int_equal(release(key, HELIO_ROLE_USER), HELIO_OK);
    assert_int_equal(harness_row(h, key)->site_failures, 1);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    report.epoch = 2;
    harness_report(h, NORTH, &report);
    assert_int_equal(harness_state(h, key), HELIO_JOB_HELD);
    assert_int_equal(release(key, HELIO_ROLE_USER), HELIO_CONFLICT); /* no user holds it */
}

/*  As under one leader: who holds it is in its row. */
static void hold__is_known_to_a_new_leader(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_job_key_t mine = harness_job(h, &spec), theirs = harness_job(h, &spec);
    assert_int_equal(hold(mine, HELIO_ROLE_USER), HELIO_OK);
    assert_int_equal(hold(theirs, HELIO_ROLE_OPERATOR), HELIO_OK);
    harness_t *next = harness_rebuild(h);
    harness_end(&h);
    h = next;
    assert_int_equal(harness_state(h, mine), HELIO_JOB_HELD);
    assert_int_equal(release(theirs, HELIO_ROLE_USER), HELIO_CONFLICT);
    assert_int_equal(release(mine, HELIO_ROLE_USER), HELIO_OK);
    assert_int_equal(harness_state(h, mine), HELIO_JOB_QUEUED);
}

static void hold__of_an_array_holds_what_is_not_placed(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    uint32_t tasks[] = {0, 1, 2, 3};
    spec.tasks = (helio_u32s_t){tasks, 4};
    spec.tasks_at_once = 2;
    helio_job_key_t array = harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(harness_state(h, harness_task(array, 1)), HELIO_JOB_OFFERED);
    assert_int_equal(hold(array, HELIO_ROLE_USER), HELIO_OK);
    assert_int_equal(harness_state(h, harness_task(array, 1)), HELIO_JOB_OFFERED);
    assert_int_equal(harness_state(h, harness_task(array, 3)), HELIO_JOB_HELD);
    assert_int_equal(release(harness_task(array, 3), HELIO_ROLE_USER), HELIO_OK);
    assert_int_equal(harness_state(h, harness_task(array, 2)), HELIO_JOB_HELD);
    assert_int_equal(harness_state(h, harness_task(array, 3)), HELIO_JOB_QUEUED);
    assert_int_equal(release(array, HELIO_ROLE_USER), HELIO_OK);
    assert_int_equal(harness_state(h, harness_task(array, 2)), HELIO_JOB_QUEUED);
}

static void requeue__of_a_running_job_stops_it_and_places_it_again(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_job_key_t queued = harness_job(h, &spec);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_REQUEUE, "acme", HELIO_ROLE_USER, queued)->rc, HELIO_NOT_FOUND);
    static const uint32_t states[] = {HELIO_JOB_RUNNING, HELIO_JOB_SUSPENDED};
    for (int i = 0; i < 2; i++) {
        helio_job_key_t key = any_in_state(states[i]);
        assert_int_equal(harness_command(h, HELIO_BROKER_EV_REQUEUE, "other", HELIO_ROLE_USER, key)->rc,
                         HELIO_NOT_FOUND);
        assert_int_equal(harness_command(h, HELIO_BROKER_EV_REQUEUE, "acme", HELIO_ROLE_USER, key)->rc, HELIO_OK);
        assert_int_equal(harness_state(h, key), HELIO_JOB_STOPPING);
        const helio_row_transition_t *moved = harness_take(h, HELIO_BROKER_FX_ROW_TRANSITION);
        assert_false(helio_text_is(moved->actor, "broker")); /* who asked for it */
        const helio_fx_stop_t *stop = harness_take(h, HELIO_BROKER_FX_STOP);
        assert_int_equal(stop->stop.mode, HELIO_STOP_MODE_GRACE);
        assert_true(
            helio_text_is(((const helio_row_audit_t *)harness_take(h, HELIO_BROKER_FX_ROW_AUDIT))->action, "requeue"));
        /* again: it is stopping already */
        assert_int_equal(harness_command(h, HELIO_BROKER_EV_REQUEUE, "acme", HELIO_ROLE_USER, key)->rc,
                         HELIO_NOT_FOUND);
        harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_STOPPED);
        assert_int_equal(harness_row(h, key)->state, HELIO_JOB_QUEUED);
        assert_string_equal(harness_facts(h, harness_row(h, key)->why), "Requeued");
        assert_int_equal(harness_row(h, key)->losses, 0);
        harness_tick(h);
        assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
        assert_int_equal(harness_row(h, key)->epoch, 2);
    }
}

/*  A best-effort job that is preempted is killed; one that is requeued gets its grace. */
static void requeue__gives_best_effort_jobs_their_grace(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    assert_int_equal(harness_queue(h, "late", 50, HELIO_TIER_BEST_EFFORT)->rc, HELIO_OK);
    spec.queue = HELIO_TEXT("late");
    helio_job_key_t key = job_in_state(&spec, HELIO_JOB_RUNNING);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_REQUEUE, "acme", HELIO_ROLE_USER, key)->rc, HELIO_OK);
    assert_int_equal(((const helio_fx_stop_t *)harness_take(h, HELIO_BROKER_FX_STOP))->stop.mode,
                     HELIO_STOP_MODE_GRACE);
}

/* ---- signals ----------------------------------------------------------------------------------------------- */

static void signal__is_sent_once_to_a_job_that_runs(void **state)
{
    (void)state;
    helio_job_key_t starting = any_in_state(HELIO_JOB_STARTING), key = any_in_state(HELIO_JOB_RUNNING);
    assert_int_equal(harness_signal(h, "acme", HELIO_ROLE_USER, starting)->rc, HELIO_NOT_FOUND);
    assert_int_equal(harness_signal(h, "other", HELIO_ROLE_USER, key)->rc, HELIO_NOT_FOUND);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_SIGNAL), 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_AUDIT), 0);
    const helio_fx_reply_t *reply = harness_signal(h, "acme", HELIO_ROLE_USER, key);
    assert_int_equal(reply->rc, HELIO_OK);
    assert_true(harness_says(h, &reply->details, "\"SignalSent\",\"params\":{\"signal\":\"USR1\",\"jobs\":1}"));
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_SIGNAL), 1);
    const helio_fx_signal_t *fx = harness_take(h, HELIO_BROKER_FX_SIGNAL);
    assert_true(helio_job_key_equal(fx->signal.key, key) && fx->peer == NORTH && fx->signal.epoch == 1);
    assert_true(fx->signal.signal == HELIO_JOB_SIGNAL_USR1 && fx->signal.to == HELIO_SIGNAL_TO_SCRIPT);
    const helio_row_audit_t *audit = harness_take(h, HELIO_BROKER_FX_ROW_AUDIT);
    assert_true(helio_text_is(audit->action, "signal") && helio_text_is(audit->detail, "USR1 to script"));
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
    assert_int_equal(harness_signal(h, "other", HELIO_ROLE_OPERATOR, key)->rc, HELIO_OK);
}

/*  Whatever it is stopped for: a job that is requeued, or preempted, ends at once and goes on elsewhere. */
static void signal__kill_reaches_a_job_that_is_stopping(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_RUNNING);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_REQUEUE, "acme", HELIO_ROLE_USER, key)->rc, HELIO_OK);
    assert_stop(HELIO_STOP_MODE_GRACE);
    assert_int_equal(harness_signal(h, "acme", HELIO_ROLE_USER, key)->rc, HELIO_NOT_FOUND);
    assert_int_equal(harness_kill(h, "acme", key)->rc, HELIO_OK);
    assert_stop(HELIO_STOP_MODE_KILL);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_SIGNAL), 0);
    harness_clear(h);
    assert_int_equal(harness_kill(h, "acme", key)->rc, HELIO_OK);
    assert_stop(-1);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_AUDIT), 0);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_STOPPED);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    harness_tick(h);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key)->rc, HELIO_OK);
    assert_stop(HELIO_STOP_MODE_GRACE); /* its next attempt has its grace again */
}

static void signal__that_cannot_arrive_is_refused_with_the_reason(void **state)
{
    (void)state;
    static const struct {
        const char *backend, *says;
        uint32_t protocol;
    } rows[] = {{"slurm", "SignalAgentOld", 7},
                {"kubernetes", "\"SignalBackend\",\"params\":{\"site\":\"north\",\"backend\":\"kubernetes\"}", 8}};
    helio_job_key_t key = north_in_state(HELIO_JOB_RUNNING);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rejoin(key, rows[i].backend, rows[i].protocol);
        const helio_fx_reply_t *reply = harness_signal(h, "acme", HELIO_ROLE_USER, key);
        assert_int_equal(reply->rc, HELIO_CONFLICT);
        assert_true(harness_says(h, &reply->details, rows[i].says));
    }
    rejoin(key, "slurm", 8);
    assert_int_equal(harness_signal(h, "acme", HELIO_ROLE_USER, key)->rc, HELIO_OK);
    harness_clear(h);
    harness_gone(h, NORTH);
    const helio_fx_reply_t *reply = harness_signal(h, "acme", HELIO_ROLE_USER, key);
    assert_true(reply->rc == HELIO_CONFLICT && harness_says(h, &reply->details, "SignalSiteAway"));
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_SIGNAL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(release__of_a_job_that_is_not_held_says_so),
        CASE(hold__of_a_waiting_job_lasts_until_its_user_releases_it),
        CASE(hold__of_an_operator_is_not_ended_by_the_user),
        CASE(hold__by_a_user_forgives_no_failures),
        CASE(hold__is_known_to_a_new_leader),
        CASE(hold__of_an_array_holds_what_is_not_placed),
        CASE(requeue__of_a_running_job_stops_it_and_places_it_again),
        CASE(requeue__gives_best_effort_jobs_their_grace),
        CASE(signal__is_sent_once_to_a_job_that_runs),
        CASE(signal__kill_reaches_a_job_that_is_stopping),
        CASE(signal__that_cannot_arrive_is_refused_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
