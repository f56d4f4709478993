/*  test_command_rate.c -- commands and edits leave rows that stay: those that change nothing leave none, and a tenant's
 *  users change only so many jobs in a minute. */
#include "tests/unit/broker/core/life_testing.h"

static const helio_fx_reply_t *command(uint32_t kind, helio_job_key_t key)
{
    return harness_command(h, kind, "acme", HELIO_ROLE_USER, key);
}

static const helio_fx_reply_t *prioritize(helio_job_key_t key, int32_t priority)
{
    return harness_edit(h, "acme", HELIO_ROLE_USER, key,
                        (helio_ev_edit_t){.priority_given = true, .priority = priority});
}

static void assert_rows(uint32_t audits, uint32_t transitions)
{
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_AUDIT), audits);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_TRANSITION), transitions);
    harness_clear(h);
}

/*  Answered as before. */
static void command__that_changes_nothing_leaves_no_rows(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_job_key_t job = harness_job(h, &spec);
    harness_clear(h);
    for (int i = 0; i < 3; i++) {
        const helio_fx_reply_t *reply = command(HELIO_BROKER_EV_HOLD, job);
        assert_int_equal(reply->rc, HELIO_OK);
        assert_true(harness_says(h, &reply->details, "HeldByUser"));
        assert_rows(!i, !i);
    }
    for (int i = 0; i < 3; i++) { /* an operator's hold takes the place of the user's, once */
        assert_int_equal(harness_command(h, HELIO_BROKER_EV_HOLD, "acme", HELIO_ROLE_OPERATOR, job)->rc, HELIO_OK);
        assert_rows(!i, 0);
    }
    helio_job_key_t stopping = any_in_state(HELIO_JOB_STOPPING);
    for (int i = 0; i < 3; i++) {
        const helio_fx_reply_t *reply = command(HELIO_BROKER_EV_CANCEL, stopping);
        assert_int_equal(reply->rc, HELIO_OK);
        assert_true(harness_says(h, &reply->details, "Cancelling"));
        assert_rows(0, 0);
    }
    helio_job_key_t edited = harness_job(h, &spec);
    harness_clear(h);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(prioritize(edited, 7)->rc, HELIO_OK);
        assert_rows(!i, !i);
    }
}

static void command__on_an_array_is_audited_if_it_changes_any_task(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    uint32_t tasks[] = {0, 1, 2};
    spec.tasks = (helio_u32s_t){tasks, 3};
    helio_job_key_t array = harness_job(h, &spec);
    assert_int_equal(command(HELIO_BROKER_EV_HOLD, harness_task(array, 1))->rc, HELIO_OK);
    harness_clear(h);
    assert_int_equal(command(HELIO_BROKER_EV_HOLD, array)->rc, HELIO_OK);
    assert_rows(1, 2);
    assert_int_equal(command(HELIO_BROKER_EV_HOLD, array)->rc, HELIO_OK);
    assert_rows(0, 0);
}

static void begin_with(uint32_t rate)
{
    harness_end(&h);
    helio_broker_options_t options = helio_broker_options_default();
    options.commands_per_minute = rate;
    h = harness_begin(&options);
}

static void rate__of_commands_and_edits_is_of_each_tenant_and_says_when_there_is_room(void **state)
{
    (void)state;
    begin_with(4);
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_job_key_t job = harness_job(h, &spec), other = {harness_submit(h, "other", &spec)->jobs.items[0].job, -1};
    assert_int_equal(command(HELIO_BROKER_EV_HOLD, job)->rc, HELIO_OK);
    for (int i = 0; i < 9; i++) /* what changes nothing costs nothing */
        assert_int_equal(command(HELIO_BROKER_EV_HOLD, job)->rc, HELIO_OK);
    assert_int_equal(command(HELIO_BROKER_EV_RELEASE, job)->rc, HELIO_OK);
    assert_int_equal(prioritize(job, 1)->rc, HELIO_OK);
    assert_int_equal(prioritize(job, 2)->rc, HELIO_OK);
    harness_clear(h);
    const helio_fx_reply_t *reply = prioritize(job, 3);
    assert_int_equal(reply->rc, HELIO_BUSY);
    assert_true(harness_says(h, &reply->details, "\"TenantCommandsTooFast\",\"params\":{\"limit\":4,\"wait_s\":15.0}"));
    assert_int_equal(prioritize(job, 2)->rc, HELIO_OK);
    assert_int_equal(command(HELIO_BROKER_EV_HOLD, job)->rc, HELIO_BUSY);
    assert_int_equal(command(HELIO_BROKER_EV_RELEASE, job)->rc, HELIO_BUSY);
    assert_int_equal(command(HELIO_BROKER_EV_REQUEUE, job)->rc, HELIO_BUSY);
    assert_rows(0, 0);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_HOLD, "other", HELIO_ROLE_USER, other)->rc, HELIO_OK);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_HOLD, "acme", HELIO_ROLE_OPERATOR, job)->rc, HELIO_OK);
    harness_wait(h, 14999);
    assert_int_equal(prioritize(job, 3)->rc, HELIO_BUSY);
    harness_wait(h, 1);
    assert_int_equal(prioritize(job, 3)->rc, HELIO_OK);
    assert_int_equal(prioritize(job, 4)->rc, HELIO_BUSY);
    assert_int_equal(command(HELIO_BROKER_EV_CANCEL, job)->rc, HELIO_OK); /* never refused */
}

/*  It is carried out whole; the next one waits until there is room for all of its tasks. */
static void rate__counts_the_tasks_of_an_array(void **state)
{
    (void)state;
    begin_with(4);
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    uint32_t tasks[10];
    for (uint32_t i = 0; i < 10; i++)
        tasks[i] = i;
    spec.tasks = (helio_u32s_t){tasks, 10};
    helio_job_key_t array = harness_job(h, &spec);
    assert_int_equal(command(HELIO_BROKER_EV_HOLD, array)->rc, HELIO_OK);
    assert_int_equal(harness_figures(h).jobs[HELIO_JOB_HELD], 10);
    const helio_fx_reply_t *reply = command(HELIO_BROKER_EV_RELEASE, array);
    assert_int_equal(reply->rc, HELIO_BUSY);
    assert_true(harness_says(h, &reply->details, "\"wait_s\":105.0"));
    harness_wait(h, 105000);
    assert_int_equal(command(HELIO_BROKER_EV_RELEASE, array)->rc, HELIO_OK);
}

static void rate__counts_signals(void **state)
{
    (void)state;
    begin_with(1);
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_job_key_t job = harness_job(h, &spec);
    assert_int_equal(command(HELIO_BROKER_EV_HOLD, job)->rc, HELIO_OK);
    assert_int_equal(harness_signal(h, "acme", HELIO_ROLE_USER, job)->rc, HELIO_BUSY);
    assert_int_equal(harness_signal(h, "acme", HELIO_ROLE_OPERATOR, job)->rc, HELIO_NOT_FOUND);
}

static void rate__of_none_bounds_nothing(void **state)
{
    (void)state;
    begin_with(0);
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_job_key_t job = harness_job(h, &spec);
    for (int i = 0; i < 20000; i++)
        assert_int_equal(prioritize(job, i % 90)->rc, HELIO_OK);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(command__that_changes_nothing_leaves_no_rows),
        CASE(command__on_an_array_is_audited_if_it_changes_any_task),
        CASE(rate__of_commands_and_edits_is_of_each_tenant_and_says_when_there_is_room),
        CASE(rate__counts_the_tasks_of_an_array),
        CASE(rate__counts_signals),
        CASE(rate__of_none_bounds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
