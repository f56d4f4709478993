/*  test_edit.c -- edits of waiting jobs: they count at once and under every leader, and put no other tenant's jobs
 *  back. */
#include "tests/unit/broker/core/edit_testing.h"

static const char *site_of(harness_t *at, helio_job_key_t key)
{
    const helio_row_state_t *row = harness_row(at, key);
    return row ? helio_arena_string(harness_arena(at), row->site) : "";
}

static void edit__another_goal_counts_at_once(void **state)
{
    (void)state;
    helio_job_key_t edited = waiting("standard", 4), as_it_came = waiting("standard", 4);
    assert_int_equal(edit(edited, (helio_ev_edit_t){.goal_given = true, .goal = HELIO_GOAL_GREEN}), HELIO_OK);
    (void)harness_site_command(h, HELIO_BROKER_EV_UNDRAIN, HELIO_ROLE_ADMIN, "north");
    open_site(h, "south");
    assert_string_equal(site_of(h, edited), "south");
    assert_string_equal(site_of(h, as_it_came), "north");
}

static void edit__writes_row_history_event_and_audit_in_one_batch(void **state)
{
    (void)state;
    helio_job_key_t key = waiting("standard", 1);
    helio_ev_edit_t wish = {.goal_given = true,
                            .goal = HELIO_GOAL_GREEN,
                            .priority_given = true,
                            .priority = 7,
                            .max_cost_given = true,
                            .max_cost_micro_usd = 400000000,
                            .max_carbon_given = true,
                            .max_carbon_mg_per_kwh = 250000,
                            .flexible_given = true,
                            .flexible_ms = 90 * 60000};
    const helio_fx_reply_t *reply = harness_edit(h, "acme", HELIO_ROLE_USER, key, wish);
    assert_int_equal(reply->rc, HELIO_OK);
    static const char text[] =
        "Edited field=priority before=0 after=7; Edited field=goal before=cheap after=green; "
        "Edited field=flexible before=none after=1h30m; Edited field=max_cost before=none after=400.00 USD; "
        "Edited field=max_carbon before=none after=250 g/kWh";
    static const char *const parts[] = {
        "{\"code\":\"Edited\",\"params\":{\"field\":\"priority\",\"before\":\"0\",\"after\":\"7\"}}",
        "{\"field\":\"goal\",\"before\":\"cheap\",\"after\":\"green\"}",
        "{\"field\":\"flexible\",\"before\":\"none\",\"after\":\"1h30m\"}",
        "{\"field\":\"max_cost\",\"before\":\"none\",\"after\":\"400.00 USD\"}",
        "{\"field\":\"max_carbon\",\"before\":\"none\",\"after\":\"250 g/kWh\"}"};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        assert_true(says(reply, parts[i]));
    const helio_row_edit_t *row = harness_take(h, HELIO_BROKER_FX_ROW_EDIT);
    assert_true(helio_uuid_equal(row->job, key.job));
    assert_int_equal(row->priority, 7);
    assert_int_equal(row->goal, HELIO_GOAL_GREEN);
    assert_true(row->max_cost_micro_usd == 400000000 && row->max_carbon_mg_per_kwh == 250000);
    assert_true(helio_text_is(row->queue, "standard"));
    const helio_row_transition_t *event = harness_take(h, HELIO_BROKER_FX_ROW_TRANSITION);
    assert_true(event->from == HELIO_JOB_QUEUED && event->to == HELIO_JOB_QUEUED);
    assert_true(helio_text_is(event->actor, "user:acme/ada"));
    assert_string_equal(harness_facts(h, event->why), text);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_EDITED), 5);
    const helio_row_edited_t *edited = harness_take(h, HELIO_BROKER_FX_ROW_EDITED);
    assert_true(edited->seq == event->seq && edited->place == 0);
    assert_true(helio_text_is(edited->field, "priority") && helio_text_is(edited->after, "7"));
    edited = harness_take(h, HELIO_BROKER_FX_ROW_EDITED);
    assert_true(helio_text_is(edited->field, "goal") && helio_text_is(edited->before, "cheap") &&
                helio_text_is(edited->after, "green"));
    const helio_row_audit_t *audit = harness_take(h, HELIO_BROKER_FX_ROW_AUDIT);
    assert_true(helio_text_is(audit->action, "edit") && helio_text_is(audit->actor, "user:acme/ada"));
    assert_null(harness_take(h, HELIO_BROKER_FX_ROW_AUDIT));
}

static void edit__to_the_same_values_changes_nothing_and_is_not_audited(void **state)
{
    (void)state;
    helio_job_key_t key = waiting("standard", 1);
    helio_ev_edit_t wish = {
        .goal_given = true, .goal = HELIO_GOAL_GREEN, .queue_given = true, .queue = HELIO_TEXT("batch")};
    assert_int_equal(edit(key, wish), HELIO_OK);
    harness_clear(h);
    const helio_fx_reply_t *reply = harness_edit(h, "acme", HELIO_ROLE_USER, key, wish);
    assert_int_equal(reply->rc, HELIO_OK);
    assert_true(says(reply, "\"Unchanged\""));
    static const uint32_t rows[] = {HELIO_BROKER_FX_ROW_EDIT, HELIO_BROKER_FX_ROW_EDITED,
                                    HELIO_BROKER_FX_ROW_TRANSITION, HELIO_BROKER_FX_ROW_AUDIT,
                                    HELIO_BROKER_FX_ROW_STATE};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(harness_count(h, rows[i]), 0);
}

/*  Checks the order in which jobs are placed at north, one at a time. */
static void assert_order(harness_t *at, const helio_job_key_t *keys, uint32_t count)
{
    open_site(at, "north");
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = i; k < count; k++)
            assert_int_equal(harness_state(at, keys[k]), k == i ? HELIO_JOB_OFFERED : HELIO_JOB_QUEUED);
        harness_run_up_to(at, NORTH, keys[i], 1, HELIO_JOB_RUNNING);
        harness_say(at, NORTH, keys[i], 1, HELIO_REPORT_KIND_ENDED);
        harness_summary(at, NORTH, north, UINT64_MAX, 0);
        harness_tick(at);
    }
}

static void priority__orders_the_jobs_of_a_tenant_in_a_queue(void **state)
{
    (void)state;
    helio_job_key_t a = waiting("standard", 8), b = waiting("standard", 8), c = waiting("standard", 8),
                    d = waiting("standard", 8);
    assert_int_equal(edit(c, (helio_ev_edit_t){.priority_given = true, .priority = 5}), HELIO_OK);
    assert_int_equal(edit(d, (helio_ev_edit_t){.priority_given = true, .priority = 6}), HELIO_OK);
    assert_int_equal(edit(a, (helio_ev_edit_t){.priority_given = true, .priority = -1}), HELIO_OK);
    assert_order(h, (helio_job_key_t[]){d, c, b, a}, 4);
}

static void priority__holds_under_the_next_leader(void **state)
{
    (void)state;
    helio_job_key_t a = waiting("standard", 8), b = waiting("standard", 8), c = waiting("standard", 8);
    assert_int_equal(edit(b, (helio_ev_edit_t){.priority_given = true, .priority = 5}), HELIO_OK);
    harness_t *next = harness_rebuild(h);
    harness_join(next, NORTH, north);
    harness_clear(next);
    assert_order(next, (helio_job_key_t[]){b, a, c}, 3);
    harness_end(&next);
}

static void priority__lifts_no_job_over_another_tenants_jobs(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    const helio_fx_reply_t *reply = harness_submit(h, "other", &spec);
    helio_job_key_t theirs = {reply->jobs.items[0].job, HELIO_NO_TASK}, a = waiting("standard", 8);
    assert_int_equal(edit(a, (helio_ev_edit_t){.priority_given = true, .priority = 100}), HELIO_OK);
    open_site(h, "north");
    assert_int_equal(harness_state(h, theirs), HELIO_JOB_OFFERED);
    assert_int_equal(harness_state(h, a), HELIO_JOB_QUEUED);
}

static void priority__is_bounded(void **state)
{
    (void)state;
    static const struct {
        int32_t priority;
        helio_rc rc;
    } rows[] = {
        {100, HELIO_OK}, {-100, HELIO_OK}, {101, HELIO_INVALID}, {-101, HELIO_INVALID}, {INT32_MIN, HELIO_INVALID}};
    helio_job_key_t key = waiting("standard", 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(edit(key, (helio_ev_edit_t){.priority_given = true, .priority = rows[i].priority}),
                         rows[i].rc);
}

static void start_estimate__the_jobs_ahead_follow_from_the_priority(void **state)
{
    (void)state;
    open_site(h, "north");
    helio_job_key_t runs = waiting("standard", 8);
    harness_run_up_to(h, NORTH, runs, 1, HELIO_JOB_RUNNING);
    helio_job_key_t a = waiting("standard", 8), b = waiting("standard", 8);
    assert_true(harness_command(h, HELIO_BROKER_EV_EXPLAIN, "acme", HELIO_ROLE_USER, b)->start_estimate.ahead_jobs ==
                1);
    assert_int_equal(edit(b, (helio_ev_edit_t){.priority_given = true, .priority = 1}), HELIO_OK);
    harness_tick(h);
    assert_true(harness_command(h, HELIO_BROKER_EV_EXPLAIN, "acme", HELIO_ROLE_USER, b)->start_estimate.ahead_jobs ==
                0);
    assert_true(harness_command(h, HELIO_BROKER_EV_EXPLAIN, "acme", HELIO_ROLE_USER, a)->start_estimate.ahead_jobs ==
                1);
}

static void edit__of_a_placed_job_is_refused_with_the_reason(void **state)
{
    (void)state;
    helio_job_key_t key = waiting("standard", 1);
    open_site(h, "north");
    harness_clear(h);
    const helio_fx_reply_t *reply =
        harness_edit(h, "acme", HELIO_ROLE_USER, key, (helio_ev_edit_t){.goal_given = true, .goal = HELIO_GOAL_FAST});
    assert_int_equal(reply->rc, HELIO_CONFLICT);
    assert_true(says(reply, "EditPlaced") && says(reply, "\"state\":\"offered\",\"site\":\"north\""));
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_EDIT), 0);
}

static void edit__of_an_array_applies_to_waiting_tasks(void **state)
{
    (void)state;
    helio_job_key_t array = waiting_array(3, 8);
    open_site(h, "north");
    harness_clear(h);
    const helio_fx_reply_t *reply = harness_edit(h, "acme", HELIO_ROLE_USER, array,
                                                 (helio_ev_edit_t){.goal_given = true, .goal = HELIO_GOAL_GREEN});
    assert_int_equal(reply->rc, HELIO_OK);
    assert_true(says(reply, "\"EditTasksPlaced\",\"params\":{\"tasks\":1}"));
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_STOP), 0);
    open_site(h, "south");
    assert_string_equal(site_of(h, harness_task(array, 0)), "north");
    assert_string_equal(site_of(h, harness_task(array, 1)), "south");
    reply = harness_edit(h, "acme", HELIO_ROLE_USER, array,
                         (helio_ev_edit_t){.queue_given = true, .queue = HELIO_TEXT("batch")});
    assert_int_equal(reply->rc, HELIO_CONFLICT);
    assert_true(says(reply, "EditQueuePlaced"));
    reply = harness_edit(h, "acme", HELIO_ROLE_USER, harness_task(array, 2),
                         (helio_ev_edit_t){.goal_given = true, .goal = HELIO_GOAL_FAST});
    assert_int_equal(reply->rc, HELIO_CONFLICT);
    assert_true(says(reply, "EditWholeArray"));
}

static void edit__is_allowed_to_the_jobs_tenant_and_to_operators(void **state)
{
    (void)state;
    helio_job_key_t key = waiting("standard", 1);
    helio_ev_edit_t wish = {.goal_given = true, .goal = HELIO_GOAL_FAST};
    assert_int_equal(harness_edit(h, "other", HELIO_ROLE_USER, key, wish)->rc, HELIO_NOT_FOUND);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_EDIT), 0);
    assert_int_equal(harness_edit(h, "other", HELIO_ROLE_OPERATOR, key, wish)->rc, HELIO_OK);
    helio_job_key_t nobody = key;
    nobody.job.bytes[15] ^= 1;
    assert_int_equal(harness_edit(h, "acme", HELIO_ROLE_USER, nobody, wish)->rc, HELIO_NOT_FOUND);
}

static void queue__an_edited_job_is_charged_and_ordered_in_its_new_queue(void **state)
{
    (void)state;
    helio_job_key_t first = waiting("standard", 8), moved = waiting("batch", 8);
    const helio_fx_reply_t *reply = harness_edit(h, "acme", HELIO_ROLE_USER, moved,
                                                 (helio_ev_edit_t){.queue_given = true, .queue = HELIO_TEXT("expres")});
    assert_int_equal(reply->rc, HELIO_INVALID);
    assert_true(says(reply, "\"UnknownQueue\",\"params\":{\"queue\":\"expres\""));
    assert_int_equal(edit(moved, (helio_ev_edit_t){.queue_given = true, .queue = HELIO_TEXT("express")}), HELIO_OK);
    assert_int_equal(harness_queue(h, "batch", HARNESS_AS_IS, HARNESS_AS_IS)->rc,
                     HELIO_OK); /* the queue has no open job */
    assert_int_equal(harness_queue(h, "express", HARNESS_AS_IS, HARNESS_AS_IS)->rc, HELIO_CONFLICT);
    open_site(h, "north");
    assert_int_equal(harness_state(h, moved), HELIO_JOB_OFFERED);
    assert_int_equal(harness_state(h, first), HELIO_JOB_QUEUED);
    assert_true(harness_gpus(h, "acme", "express") == 8);
}

static void queue__the_limits_of_the_new_queue_apply(void **state)
{
    (void)state;
    assert_int_equal(harness_quota(h, "acme", "express", HARNESS_AS_IS, 4, HARNESS_AS_IS)->rc, HELIO_OK);
    helio_job_key_t key = waiting("standard", 8);
    assert_int_equal(edit(key, (helio_ev_edit_t){.queue_given = true, .queue = HELIO_TEXT("express")}), HELIO_OK);
    open_site(h, "north");
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    assert_int_equal(edit(key, (helio_ev_edit_t){.queue_given = true, .queue = HELIO_TEXT("standard")}), HELIO_OK);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
}

static void deadline__is_checked_as_at_submission(void **state)
{
    (void)state;
    helio_job_key_t key = waiting("standard", 8);
    const helio_fx_reply_t *reply =
        harness_edit(h, "acme", HELIO_ROLE_USER, key,
                     (helio_ev_edit_t){.deadline_given = true, .deadline_wall_ms = harness_wall_ms(h) + HOUR / 2});
    assert_int_equal(reply->rc, HELIO_INFEASIBLE);
    assert_true(helio_text_is(reply->reason, "Deadline"));
    assert_true(says(reply, "DeadlineMissed") && says(reply, "NothingChanged"));
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_EDIT), 0);
    int64_t at_ms = harness_wall_ms(h) + 2 * HOUR;
    assert_int_equal(edit(key, (helio_ev_edit_t){.deadline_given = true, .deadline_wall_ms = at_ms}), HELIO_OK);
    harness_advance(h, HOUR + 60000); /* too late by now: it stays, and does not start */
    open_site(h, "north");
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    assert_int_equal(edit(key, (helio_ev_edit_t){.goal_given = true, .goal = HELIO_GOAL_FAST}), HELIO_OK);
    assert_int_equal(edit(key, (helio_ev_edit_t){.deadline_given = true}), HELIO_OK);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
}

static void edit__of_a_held_job_counts_when_it_is_released(void **state)
{
    (void)state;
    helio_job_key_t key = waiting("standard", 8);
    open_site(h, "north");
    for (uint32_t epoch = 1; harness_state(h, key) != HELIO_JOB_HELD; epoch++) {
        assert_true(epoch < 10);
        helio_report_t report = harness_report_of(h, key, epoch, HELIO_REPORT_KIND_LOST);
        report.run_ms = 0;
        report.started_wall_ms = 0; /* it never started */
        harness_report(h, NORTH, &report);
        harness_tick(h);
        harness_wait(h, 120000);
    }
    assert_int_equal(edit(key, (helio_ev_edit_t){.goal_given = true, .goal = HELIO_GOAL_GREEN}), HELIO_OK);
    open_site(h, "south");
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_RELEASE, "acme", HELIO_ROLE_OPERATOR, key)->rc, HELIO_OK);
    harness_tick(h);
    assert_string_equal(site_of(h, key), "south");
}

static void edit__sites_get_the_document_as_submitted(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_submission_t job = harness_submission(h, &spec, "", "goal: cheap");
    helio_job_key_t key = {harness_submit_all(h, "acme", &job, 1)->jobs.items[0].job, HELIO_NO_TASK};
    assert_int_equal(
        edit(key,
             (helio_ev_edit_t){
                 .goal_given = true, .goal = HELIO_GOAL_GREEN, .queue_given = true, .queue = HELIO_TEXT("express")}),
        HELIO_OK);
    open_site(h, "north");
    const helio_fx_order_t *fx = harness_take(h, HELIO_BROKER_FX_ORDER);
    assert_non_null(fx);
    assert_true(helio_text_is(fx->order.source, "goal: cheap"));
    assert_true(fx->order.time_limit_ms == HOUR);
}

static void rebuild__a_new_leader_has_the_edited_job_in_the_same_class(void **state)
{
    (void)state;
    helio_job_key_t key = waiting("standard", 4), array = waiting_array(3, 2);
    assert_int_equal(edit(key, (helio_ev_edit_t){.goal_given = true,
                                                 .goal = HELIO_GOAL_GREEN,
                                                 .flexible_given = true,
                                                 .flexible_ms = 0,
                                                 .max_carbon_given = true,
                                                 .max_carbon_mg_per_kwh = 500000}),
                     HELIO_OK);
    uint64_t class_id = ((const helio_row_edit_t *)harness_take(h, HELIO_BROKER_FX_ROW_EDIT))->class_id;
    assert_int_equal(edit(array, (helio_ev_edit_t){.queue_given = true, .queue = HELIO_TEXT("express")}), HELIO_OK);
    harness_t *next = harness_rebuild(h);
    harness_join(next, NORTH, north);
    harness_join(next, SOUTH, south);
    harness_clear(next);
    open_site(next, "north");
    assert_int_equal(harness_state(next, key), HELIO_JOB_QUEUED); /* 900 g/kWh there */
    assert_true(harness_gpus(next, "acme", "express") == 6);
    open_site(next, "south");
    assert_string_equal(site_of(next, key), "south");
    bool found = false;
    const helio_row_decision_t *decision;
    while ((decision = harness_take(next, HELIO_BROKER_FX_ROW_DECISION)))
        found = found || decision->class_id == class_id;
    assert_true(found);
    harness_end(&next);
}

static void edit__leaves_a_reservation_to_the_next_class(void **state)
{
    (void)state;
    helio_job_key_t small = waiting("standard", 2);
    open_site(h, "north");
    harness_run_up_to(h, NORTH, small, 1, HELIO_JOB_RUNNING);
    harness_advance(h, 60000); /* later jobs end after it */
    helio_job_key_t gang = waiting("standard", 8), behind = waiting("standard", 6);
    assert_int_equal(harness_state(h, behind), HELIO_JOB_QUEUED); /* capacity is reserved for the gang */
    assert_int_equal(edit(gang, (helio_ev_edit_t){.priority_given = true, .priority = -1}), HELIO_OK);
    harness_tick(h);
    assert_int_equal(harness_state(h, behind), HELIO_JOB_OFFERED);
    assert_int_equal(harness_state(h, gang), HELIO_JOB_QUEUED);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(edit__another_goal_counts_at_once),
        CASE(edit__writes_row_history_event_and_audit_in_one_batch),
        CASE(edit__to_the_same_values_changes_nothing_and_is_not_audited),
        CASE(priority__orders_the_jobs_of_a_tenant_in_a_queue),
        CASE(priority__holds_under_the_next_leader),
        CASE(priority__lifts_no_job_over_another_tenants_jobs),
        CASE(priority__is_bounded),
        CASE(start_estimate__the_jobs_ahead_follow_from_the_priority),
        CASE(edit__of_a_placed_job_is_refused_with_the_reason),
        CASE(edit__of_an_array_applies_to_waiting_tasks),
        CASE(edit__is_allowed_to_the_jobs_tenant_and_to_operators),
        CASE(queue__an_edited_job_is_charged_and_ordered_in_its_new_queue),
        CASE(queue__the_limits_of_the_new_queue_apply),
        CASE(deadline__is_checked_as_at_submission),
        CASE(edit__of_a_held_job_counts_when_it_is_released),
        CASE(edit__sites_get_the_document_as_submitted),
        CASE(rebuild__a_new_leader_has_the_edited_job_in_the_same_class),
        CASE(edit__leaves_a_reservation_to_the_next_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
