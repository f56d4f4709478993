/*  test_scheduling_order.c -- the order in which jobs start, and why a class waits. */
#include "tests/unit/broker/core/place_testing.h"

static void array__no_more_tasks_than_its_throttle_are_placed(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_join(h, NORTH, north);
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    uint32_t tasks[] = {3, 5, 7, 11, 13};
    spec.tasks = (helio_u32s_t){tasks, 5};
    spec.tasks_at_once = 2;
    helio_job_key_t array = harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ORDER), 2);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(harness_state(h, harness_task(array, tasks[i])), HELIO_JOB_OFFERED);
        if (i < 3)
            assert_int_equal(harness_state(h, harness_task(array, tasks[i + 2])), HELIO_JOB_QUEUED);
        harness_run_up_to(h, NORTH, harness_task(array, tasks[i]), 1, HELIO_JOB_RUNNING);
        harness_say(h, NORTH, harness_task(array, tasks[i]), 1, HELIO_REPORT_KIND_ENDED);
        harness_tick(h);
    }
    assert_int_equal(harness_figures(h).jobs[HELIO_JOB_SUCCEEDED], 5);
    assert_int_equal(harness_figures(h).jobs[HELIO_JOB_QUEUED], 0);
}

static void array__a_cancelled_task_of_the_throttle_lets_the_next_one_in(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    uint32_t tasks[] = {0, 1, 2};
    spec.tasks = (helio_u32s_t){tasks, 3};
    spec.tasks_at_once = 1;
    helio_job_key_t array = harness_job(h, &spec);
    harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, harness_task(array, 0));
    harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, harness_task(array, 2));
    harness_join(h, NORTH, north);
    harness_tick(h);
    assert_placed(harness_task(array, 1), "north", "a");
}

static void scheduling_order__tier_and_priority_come_before_age(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 2.0);
    static const char *const queues[] = {"batch", "standard", "express"};
    helio_job_key_t keys[3];
    for (int i = 0; i < 3; i++) {
        helio_job_spec_t spec = harness_spec(h, "H100", 8);
        spec.queue = helio_text_of(queues[i]);
        keys[i] = harness_job(h, &spec);
        harness_advance(h, 1000);
    }
    harness_join(h, NORTH, north);
    for (int i = 2; i >= 0; i--) {
        harness_tick(h);
        assert_placed(keys[i], "north", "a");
        harness_run_up_to(h, NORTH, keys[i], 1, HELIO_JOB_RUNNING);
        harness_say(h, NORTH, keys[i], 1, HELIO_REPORT_KIND_ENDED);
    }
}

static void scheduling_order__equal_jobs_are_fifo_and_a_refused_one_keeps_its_place(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 2.0);
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    helio_job_key_t first = harness_job(h, &spec), second = harness_job(h, &spec);
    harness_join(h, NORTH, north);
    harness_tick(h);
    assert_placed(first, "north", "a");
    harness_say(h, NORTH, first, 1, HELIO_REPORT_KIND_REFUSED);
    harness_summary(h, NORTH, north, 1, 0);
    harness_tick(h);
    assert_placed(first, "north", "a");
    assert_int_equal(harness_state(h, second), HELIO_JOB_QUEUED);
}

static void scheduling_order__jobs_of_a_lost_site_return_by_age_ahead_of_new_ones(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_pool(h, south, "a", "H100", 1, 8, 2.0);
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.on_site_loss = HELIO_SITE_LOSS_EAGER;
    helio_job_key_t keys[6];
    for (int i = 0; i < 6; i++)
        keys[i] = harness_job(h, &spec); /* all in one millisecond */
    harness_join(h, NORTH, north);
    harness_tick(h);
    assert_int_equal(harness_figures(h).jobs[HELIO_JOB_OFFERED], 4);
    harness_gone(h, NORTH);
    harness_wait(h, 61000);
    assert_int_equal(harness_figures(h).jobs[HELIO_JOB_QUEUED], 6);
    harness_join(h, SOUTH, south);
    for (int i = 0; i < 6; i++) {
        harness_tick(h);
        assert_placed(keys[i], "south", "a");
        harness_say(h, SOUTH, keys[i], i < 4 ? 2 : 1, HELIO_REPORT_KIND_ENDED);
    }
}

static void scheduling_order__a_class_that_does_not_fit_does_not_block_others(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 2, 8, 2.0);
    harness_join(h, NORTH, north);
    harness_summary(h, NORTH, north, 0, 1);
    helio_job_spec_t gang = harness_spec(h, "H100", 8), single = harness_spec(h, "H100", 1);
    gang.nodes = 2;
    helio_job_key_t big = harness_job(h, &gang), small = harness_job(h, &single);
    harness_tick(h);
    assert_int_equal(harness_state(h, big), HELIO_JOB_QUEUED);
    assert_placed(small, "north", "a");
}

static void drain__stops_new_offers_and_nothing_else(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_join(h, NORTH, north);
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_job_key_t before = harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(harness_site_command(h, HELIO_BROKER_EV_DRAIN, HELIO_ROLE_OPERATOR, "north")->rc, HELIO_OK);
    const helio_row_audit_t *audit = harness_take(h, HELIO_BROKER_FX_ROW_AUDIT);
    assert_true(helio_text_is(audit->action, "drain"));
    assert_true(helio_text_is(audit->object, "north"));
    harness_run_up_to(h, NORTH, before, 1, HELIO_JOB_RUNNING);
    helio_job_key_t after = harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(harness_state(h, after), HELIO_JOB_QUEUED);
    assert_null(harness_take(h, HELIO_BROKER_FX_STOP));
    harness_say(h, NORTH, before, 1, HELIO_REPORT_KIND_ENDED);
    assert_int_equal(harness_state(h, before), HELIO_JOB_SUCCEEDED);
    harness_tick(h);
    assert_int_equal(harness_state(h, after), HELIO_JOB_QUEUED);
    assert_int_equal(harness_site_command(h, HELIO_BROKER_EV_UNDRAIN, HELIO_ROLE_OPERATOR, "north")->rc, HELIO_OK);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_AUDIT), 1);
    harness_tick(h);
    assert_placed(after, "north", "a");
}

static void drain__of_a_site_that_is_not_drained_is_taken_back_without_an_entry(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_join(h, NORTH, north);
    const helio_fx_reply_t *reply = harness_site_command(h, HELIO_BROKER_EV_UNDRAIN, HELIO_ROLE_OPERATOR, "north");
    assert_int_equal(reply->rc, HELIO_OK);
    assert_string_equal(harness_facts(h, reply->details), "SiteNotDrained site=north");
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_AUDIT), 0);
}

static void drain__needs_an_operator_and_a_known_site(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_join(h, NORTH, north);
    static const uint32_t kinds[] = {HELIO_BROKER_EV_DRAIN, HELIO_BROKER_EV_UNDRAIN, HELIO_BROKER_EV_ATTEST};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(harness_site_command(h, kinds[i], HELIO_ROLE_USER, "north")->rc, HELIO_FORBIDDEN);
        const helio_fx_reply_t *reply = harness_site_command(h, kinds[i], HELIO_ROLE_ADMIN, "nowhere");
        assert_int_equal(reply->rc, HELIO_NOT_FOUND);
        assert_string_equal(harness_facts(h, reply->details), "UnknownSite site=nowhere");
    }
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_AUDIT), 0);
}

static const helio_row_class_t *last_class(void)
{
    const helio_row_class_t *row, *last = NULL;
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_CLASS)))
        last = row;
    return last;
}

static void why__a_class_has_a_row_of_its_reason_and_one_when_it_ends(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    harness_job(h, &spec);
    harness_tick(h);
    assert_true(helio_text_is(last_class()->reason, "WaitingForCapacity"));
    harness_pool(h, north, "a", "H100", 1, 8, 2.0);
    harness_join(h, NORTH, north);
    harness_tick(h);
    const helio_row_class_t *row = last_class();
    assert_true(helio_text_is(row->reason, ""));
    assert_true(helio_text_is(row->summary, "8×H100"));
    const helio_fx_order_t *fx = harness_take(h, HELIO_BROKER_FX_ORDER);
    harness_run_up_to(h, NORTH, fx->order.key, 1, HELIO_JOB_ACCEPTED);
    spec.max_cost_micro_usd = 1;
    harness_job(h, &spec);
    harness_tick(h);
    row = last_class();
    assert_true(helio_text_is(row->reason, "PolicyCap"));
    assert_string_equal(harness_facts(h, row->details), "RejectedFirstAt site=north rejection=CostCap");
}

static void why__a_decision_has_every_candidate_in_order_of_preference(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 2.0);
    harness_pool(h, north, "b", "A100", 1, 8, 1.0);
    harness_pool(h, south, "a", "H100", 1, 8, 3.0);
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    harness_job(h, &spec);
    harness_tick(h);
    const helio_row_decision_t *decision = harness_take(h, HELIO_BROKER_FX_ROW_DECISION);
    assert_true(helio_text_is(decision->reason, ""));
    assert_true(helio_text_is(decision->chosen_site, "north"));
    assert_true(helio_text_is(decision->chosen_pool, "a"));
    assert_true(helio_text_is(decision->policy_version, HELIO_POLICY_VERSION));
    static const char *const expected[][3] = {{"north", "a", ""}, {"south", "a", ""}, {"north", "b", "NoSuchGPU"}};
    for (uint32_t i = 0; i < 3; i++) {
        const helio_row_candidate_t *row = harness_take(h, HELIO_BROKER_FX_ROW_CANDIDATE);
        assert_true(row->decision_id == decision->decision_id);
        assert_int_equal(row->rank, i);
        assert_true(helio_text_is(row->site, expected[i][0]));
        assert_true(helio_text_is(row->pool, expected[i][1]));
        assert_true(helio_text_is(row->rejected_reason, expected[i][2]));
    }
    assert_null(harness_take(h, HELIO_BROKER_FX_ROW_CANDIDATE));
}

static void why__an_unchanged_evaluation_is_not_written_again(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 2.0);
    harness_join(h, NORTH, north);
    harness_summary(h, NORTH, north, 0, 1);
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    for (int i = 0; i < 20; i++) {
        harness_job(h, &spec);
        harness_summary(h, NORTH, north, 0, 1);
        harness_tick(h);
        harness_advance(h, 100);
    }
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_DECISION), 1);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_CLASS), 1);
}

static void round__placements_beyond_the_maximum_wait_for_the_next_round(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 400, 8, 2.0);
    harness_join(h, NORTH, north);
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    static uint32_t tasks[2500];
    for (uint32_t i = 0; i < 2500; i++)
        tasks[i] = i;
    spec.tasks = (helio_u32s_t){tasks, 2500};
    harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(harness_figures(h).jobs[HELIO_JOB_OFFERED], 2000);
    harness_tick(h);
    assert_int_equal(harness_figures(h).jobs[HELIO_JOB_OFFERED], 2500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(array__no_more_tasks_than_its_throttle_are_placed),
        CASE(array__a_cancelled_task_of_the_throttle_lets_the_next_one_in),
        CASE(scheduling_order__tier_and_priority_come_before_age),
        CASE(scheduling_order__equal_jobs_are_fifo_and_a_refused_one_keeps_its_place),
        CASE(scheduling_order__jobs_of_a_lost_site_return_by_age_ahead_of_new_ones),
        CASE(scheduling_order__a_class_that_does_not_fit_does_not_block_others),
        CASE(drain__stops_new_offers_and_nothing_else),
        CASE(drain__of_a_site_that_is_not_drained_is_taken_back_without_an_entry),
        CASE(drain__needs_an_operator_and_a_known_site),
        CASE(why__a_class_has_a_row_of_its_reason_and_one_when_it_ends),
        CASE(why__a_decision_has_every_candidate_in_order_of_preference),
        CASE(why__an_unchanged_evaluation_is_not_written_again),
        CASE(round__placements_beyond_the_maximum_wait_for_the_next_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
