/*  test_budget.c -- setting budgets, and jobs that wait for them. */
#include "tests/unit/broker/core/budget_testing.h"

/* ---- setting ------------------------------------------------------------------------------------------- */

static void budget__is_stored_audited_and_answered(void **state)
{
    (void)state;
    harness_t *h = begin(1);
    const helio_fx_reply_t *reply = harness_budget(h, "acme", "", "5000 gpu-h/month");
    assert_string_equal(harness_details(h, &reply->details),
                        "[{\"code\":\"QuotaSetUnlimited\",\"params\":{\"guaranteed_gpus\":0,\"weight\":1.0,"
                        "\"budgets\":[\"5000 gpu-h/month\"],\"budgets_total\":1}}]");
    const helio_row_budget_t *row = harness_take(h, HELIO_BROKER_FX_ROW_BUDGET);
    assert_non_null(row);
    assert_int_equal(row->kind, HELIO_BUDGET_GPU);
    assert_int_equal(row->period, HELIO_PERIOD_MONTH);
    assert_true(row->amount == INT64_C(5000) * HOUR);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_QUOTA), 0);
    const helio_row_audit_t *audit = harness_take(h, HELIO_BROKER_FX_ROW_AUDIT);
    assert_true(helio_text_is(audit->action, "quota-set") && helio_text_is(audit->object, "acme"));
    reply = harness_budget(h, "acme", "", "20 USD/day");
    assert_true(harness_says(h, &reply->details, "[\"5000 gpu-h/month\",\"20 USD/day\"]"));
    reply = harness_quota(h, "acme", "", HARNESS_AS_IS, 64, HARNESS_AS_IS); /* what is not given stays */
    assert_true(harness_says(h, &reply->details, "\"burst_gpus\":64"));
    assert_true(harness_says(h, &reply->details, "[\"5000 gpu-h/month\",\"20 USD/day\"]"));
    reply = harness_budget(h, "acme", "", "none gpu-h");
    assert_true(harness_says(h, &reply->details, "\"budgets\":[\"20 USD/day\"]"));
    reply = harness_budget(h, "acme", "", "none");
    assert_true(harness_says(h, &reply->details, "\"budgets\":[]"));
    harness_end(&h);
}

static void budget__invalid_values_are_refused_and_change_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *tenant, *queue, *budget;
        helio_rc rc;
    } cases[] = {
        {"acme", "", "20 dollars/month", HELIO_INVALID},
        {"acme", "", "20 USD/fortnight", HELIO_INVALID},
        {"acme", "", "", HELIO_INVALID},
        {"acme", "nightly", "20 USD/day", HELIO_NOT_FOUND},
        {"nobody", "", "20 USD/day", HELIO_NOT_FOUND},
        {"*", "", "20 USD/day", HELIO_INVALID},
    };
    harness_t *h = begin(1);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(harness_budget(h, cases[i].tenant, cases[i].queue, cases[i].budget)->rc, cases[i].rc);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_BUDGET), 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_AUDIT), 0);
    harness_end(&h);
}

/* ---- holding ------------------------------------------------------------------------------------------- */

static void budget__of_money_limits_starts_by_their_expected_cost(void **state)
{
    (void)state;
    harness_t *h = begin(8);
    set(h, "acme", "", "20 USD/month");
    helio_job_key_t first = submit(h, 4), second = submit(h, 4), third = submit(h, 4);
    assert_int_equal(harness_state(h, first), HELIO_JOB_OFFERED);
    assert_int_equal(harness_state(h, second), HELIO_JOB_OFFERED);
    assert_true(waits(h, third));
    helio_row_class_t row = last_class(h);
    assert_true(helio_text_is(row.reason, "PolicyCap"));
    assert_string_equal(harness_facts(h, row.details),
                        "BudgetUsed tenant=acme used=16 limit=20 unit=USD period=March 2026 needed=8 "
                        "until=2026-04-01T00:00Z; BudgetRemedy tenant=acme budget=N USD/month");
    /* half of it fits into March from half an hour before its end on */
    assert_int_equal(row.expected_ms, helio_period_next(HELIO_PERIOD_MONTH, harness_wall_ms(h)) - HOUR / 2);
    const helio_row_candidate_t *candidate, *last = NULL;
    while ((candidate = harness_take(h, HELIO_BROKER_FX_ROW_CANDIDATE)))
        last = candidate;
    assert_true(helio_text_is(last->rejected_reason, "Budget"));
    helio_job_key_t others = submit_in(h, "other", "standard", 8); /* another tenant is not delayed */
    assert_int_equal(harness_state(h, others), HELIO_JOB_OFFERED);
    harness_end(&h);
}

static void budget__of_gpu_hours_and_of_carbon_limit_starts(void **state)
{
    (void)state;
    static const struct {
        const char *budget, *detail;
    } cases[] = {
        {"10 gpu-h/day", "BudgetUsed tenant=acme used=8 limit=10 unit=GPU-hours period=2026-03-01 needed=4 "
                         "until=2026-03-02T00:00Z; BudgetRemedy tenant=acme budget=N gpu-h/day"},
        {"0.5 kg/week", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        harness_t *h = begin(8);
        set(h, "acme", "", cases[i].budget);
        helio_job_key_t jobs[8], waiting = {.task = HELIO_NO_TASK};
        uint32_t started = 0;
        for (uint32_t k = 0; k < 8; k++) {
            jobs[k] = submit(h, 4);
            started += !waits(h, jobs[k]);
            waiting = jobs[k];
        }
        assert_true(started > 0 && started < 8 && waits(h, waiting));
        if (cases[i].detail)
            assert_detail(h, cases[i].detail);
        else
            assert_non_null(
                strstr(harness_facts(h, last_class(h).details), " unit=kg CO2e period=the week of 2026-02-23 "));
        harness_end(&h);
    }
}

static void budget__is_credited_what_a_run_did_not_cost(void **state)
{
    (void)state;
    harness_t *h = begin(8);
    set(h, "acme", "", "20 USD/month");
    helio_job_key_t first = submit(h, 4), second = submit(h, 4), third = submit(h, 4), fourth = submit(h, 4);
    assert_true(waits(h, third) && waits(h, fourth));
    run(h, first);
    harness_wait(h, 30 * SECOND);
    end(h, first, 1, 4, 30 * SECOND); /* 0.07 USD */
    assert_int_equal(harness_state(h, third), HELIO_JOB_OFFERED);
    assert_true(waits(h, fourth));
    harness_say(h, NORTH, second, 1, HELIO_REPORT_KIND_REFUSED); /* cost nothing, and is first in line again */
    harness_wait(h, 5 * SECOND);
    harness_summary(h, NORTH, site_of(h, 8), 3, 0);
    harness_tick(h);
    assert_int_equal(harness_state(h, second), HELIO_JOB_OFFERED);
    assert_true(waits(h, fourth));
    harness_end(&h);
}

static void budget__that_is_spent_stops_no_running_job(void **state)
{
    (void)state;
    harness_t *h = begin(8);
    helio_job_key_t job = submit(h, 4);
    run(h, job);
    harness_wait(h, 30 * SECOND);
    set(h, "acme", "", "0 USD/day");
    harness_wait(h, 20 * SECOND);
    assert_int_equal(harness_state(h, job), HELIO_JOB_RUNNING);
    assert_true(waits(h, submit(h, 1)));
    helio_job_spec_t cpu = harness_spec(h, "", 0); /* costs nothing */
    helio_job_key_t free_of_charge = harness_job(h, &cpu);
    harness_tick(h);
    assert_int_equal(harness_state(h, free_of_charge), HELIO_JOB_OFFERED);
    harness_end(&h);
}

static void budget__a_job_beyond_the_whole_budget_waits_with_that_reason(void **state)
{
    (void)state;
    harness_t *h = begin(8);
    set(h, "acme", "", "10 USD/month");
    helio_job_key_t job = submit(h, 8);
    helio_row_class_t row = last_class(h);
    assert_true(helio_text_is(row.reason, "PolicyCap"));
    assert_string_equal(harness_facts(h, row.details),
                        "BudgetTooSmall tenant=acme needed=16 unit=USD period=month limit=10; "
                        "BudgetRemedy tenant=acme budget=N USD/month");
    assert_int_equal(row.expected_ms, 0);
    /* nor does it begin where months meet */
    skip_to_end_of_month(h, HOUR / 2);
    assert_true(waits(h, job));
    set(h, "acme", "", "16 USD/month");
    assert_int_equal(harness_state(h, job), HELIO_JOB_OFFERED);
    harness_end(&h);
}

static void budget__of_a_queue_limits_the_queue_and_each_tenant_in_it(void **state)
{
    (void)state;
    harness_t *h = begin(8);
    set(h, "*", "batch", "8 USD/day");
    set(h, "other", "batch", "none");
    (void)submit_in(h, "acme", "batch", 4);
    harness_clear(h);
    assert_true(waits(h, submit_in(h, "acme", "batch", 4)));
    assert_detail(h, "BudgetUsed tenant=acme queue=batch used=8 limit=8 unit=USD period=2026-03-01 needed=8 "
                     "until=2026-03-02T00:00Z; BudgetRemedy tenant=acme queue=batch budget=N USD/day");
    assert_false(waits(h, submit_in(h, "acme", "standard", 4)));
    assert_false(waits(h, submit_in(h, "other", "batch", 4)));
    assert_false(waits(h, submit_in(h, "other", "batch", 4)));
    harness_end(&h);
}

static void budget__a_job_over_budget_reserves_nothing_and_preempts_nothing(void **state)
{
    (void)state;
    harness_t *h = begin(1);
    set(h, "acme", "", "3 USD/day");
    (void)submit_in(h, "other", "batch", 4);
    assert_true(waits(h, submit_in(h, "acme", "express", 8))); /* could preempt best-effort jobs */
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_STOP), 0);
    assert_false(waits(h, submit_in(h, "other", "batch", 4))); /* a whole node would be reserved for the gang */
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(budget__is_stored_audited_and_answered),
        cmocka_unit_test(budget__invalid_values_are_refused_and_change_nothing),
        cmocka_unit_test(budget__of_money_limits_starts_by_their_expected_cost),
        cmocka_unit_test(budget__of_gpu_hours_and_of_carbon_limit_starts),
        cmocka_unit_test(budget__is_credited_what_a_run_did_not_cost),
        cmocka_unit_test(budget__that_is_spent_stops_no_running_job),
        cmocka_unit_test(budget__a_job_beyond_the_whole_budget_waits_with_that_reason),
        cmocka_unit_test(budget__of_a_queue_limits_the_queue_and_each_tenant_in_it),
        cmocka_unit_test(budget__a_job_over_budget_reserves_nothing_and_preempts_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
