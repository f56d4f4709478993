/*  test_budget_limits.c -- what short runs in the past can let start: a bound that needs no trust in them. */
#include "tests/unit/broker/core/budget_testing.h"

static helio_job_spec_t named(harness_t *h, uint32_t gpus, uint64_t limit_ms)
{
    helio_job_spec_t spec = harness_spec(h, "H100", gpus);
    spec.name = HELIO_TEXT("pq");
    spec.time_limit_ms = limit_ms;
    return spec;
}

static helio_job_key_t start(harness_t *h, uint32_t gpus, uint64_t limit_ms)
{
    helio_job_spec_t spec = named(h, gpus, limit_ms);
    helio_job_key_t job = harness_job(h, &spec);
    harness_tick(h);
    return job;
}

/*  Three runs of a second. */
static harness_t *with_short_runs(uint64_t limit_ms)
{
    harness_t *h = begin(8);
    for (int i = 0; i < 3; i++) {
        helio_job_key_t job = start(h, 4, limit_ms);
        run(h, job);
        harness_wait(h, SECOND);
        end(h, job, 1, 4, SECOND);
    }
    harness_clear(h);
    return h;
}

static uint32_t started(harness_t *h, uint64_t limit_ms, uint32_t jobs, helio_job_key_t *ret_first)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < jobs; i++) {
        helio_job_key_t job = start(h, 4, limit_ms);
        if (!i)
            *ret_first = job;
        count += !waits(h, job);
    }
    return count;
}

static void limits__of_jobs_that_run_exceed_no_budget_more_than_threefold(void **state)
{
    (void)state;
    static const struct {
        const char *budget;
        uint32_t started; /* 4 GPU-hours and 8 USD each, if they last as long as they may */
    } rows[] = {{"12 gpu-h/month", 8}, {"12 gpu-h/day", 8}, {"24 USD/week", 8}, {"8 gpu-h/month", 5}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        harness_t *h = with_short_runs(HOUR);
        helio_job_key_t first;
        set(h, "acme", "", rows[i].budget);
        assert_int_equal(started(h, HOUR, 12, &first), rows[i].started);
        assert_true(helio_text_is(last_class(h).reason, "PolicyCap"));
        harness_end(&h);
    }
}

/*  A limit of a minute with an hour to save is an hour and a minute. */
static void limits__include_the_grace_that_a_job_asks_for(void **state)
{
    (void)state;
    static const struct {
        uint64_t grace_ms;
        bool waits;
    } rows[] = {{0, false}, {HOUR / 2, false}, {HOUR, true}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        harness_t *h = with_short_runs(HOUR / 60);
        set(h, "acme", "", "1 gpu-h/month");
        helio_job_spec_t spec = named(h, 4, HOUR / 60);
        spec.checkpoint_grace_ms = rows[i].grace_ms;
        helio_job_key_t job = harness_job(h, &spec);
        harness_tick(h);
        assert_int_equal(waits(h, job), rows[i].waits);
        harness_end(&h);
    }
}

static void limits__of_carbon_are_bounded_too(void **state)
{
    (void)state;
    harness_t *h = with_short_runs(HOUR);
    helio_job_key_t first;
    set(h, "acme", "", "0.5 kg/month");
    uint32_t count = started(h, HOUR, 14, &first);
    assert_in_range(count, 1, 13);
    assert_non_null(strstr(harness_facts(h, last_class(h).details), "BudgetLimitsUsed tenant=acme"));
    harness_end(&h);
}

static void limits__say_what_they_wait_for_and_what_helps(void **state)
{
    (void)state;
    harness_t *h = with_short_runs(HOUR);
    helio_job_key_t first;
    set(h, "acme", "", "12 gpu-h/month");
    (void)started(h, HOUR, 9, &first);
    helio_row_class_t row = last_class(h);
    assert_true(helio_text_is(row.reason, "PolicyCap"));
    assert_string_equal(harness_facts(h, row.details),
                        "BudgetLimitsUsed tenant=acme used=32 most=35.99 unit=GPU-hours period=March 2026 needed=4 "
                        "until=2026-04-01T00:00Z; BudgetRemedyTime; BudgetRemedy tenant=acme budget=N gpu-h/month");
    assert_false(waits(h, start(h, 4, HOUR / 2))); /* what helps */
    harness_end(&h);
}

static void limits__of_one_job_above_three_budgets_keep_it_waiting(void **state)
{
    (void)state;
    harness_t *h = with_short_runs(HOUR);
    set(h, "acme", "", "1 gpu-h/month");
    assert_true(waits(h, start(h, 4, HOUR)));
    helio_row_class_t row = last_class(h);
    assert_string_equal(harness_facts(h, row.details),
                        "BudgetLimitTooLong tenant=acme needed=4 unit=GPU-hours period=month limit=1; "
                        "BudgetRemedyTime; BudgetRemedy tenant=acme budget=N gpu-h/month");
    assert_int_equal(row.expected_ms, 0);
    assert_false(waits(h, start(h, 2, HOUR)));
    harness_end(&h);
}

static void limits__are_free_again_when_a_job_ends_whatever_became_of_it(void **state)
{
    (void)state;
    harness_t *h = with_short_runs(HOUR);
    helio_job_key_t first;
    set(h, "acme", "", "12 gpu-h/month");
    assert_int_equal(started(h, HOUR, 8, &first), 8);
    helio_job_key_t next = start(h, 4, HOUR), last = start(h, 4, HOUR);
    assert_true(waits(h, next) && waits(h, last));
    run(h, first); /* a run that begins later counts from then on */
    harness_say(h, NORTH, first, 1, HELIO_REPORT_KIND_SUSPENDED);
    assert_true(waits(h, next));
    set(h, "acme", "", "11 gpu-h/month");
    set(h, "acme", "", "12 gpu-h/month");
    assert_true(waits(h, next));
    end(h, first, 1, 4, SECOND);
    assert_false(waits(h, next));
    assert_true(waits(h, last));
    set(h, "acme", "", "14 gpu-h/month");
    assert_false(waits(h, last));
    harness_end(&h);
}

static void limits__are_those_of_the_previous_leader(void **state)
{
    (void)state;
    harness_t *h = with_short_runs(HOUR);
    set(h, "acme", "", "1.5 gpu-h/month");
    helio_job_key_t job = start(h, 4, HOUR);
    run(h, job);
    harness_t *next = harness_rebuild(h);
    helio_site_profile_t *site = site_of(next, 8);
    helio_holding_t holding = {job, 1, HELIO_JOB_RUNNING, 1};
    harness_hello(next, NORTH, site);
    harness_inventory(next, NORTH, &holding, 1);
    harness_summary(next, NORTH, site, 0, 0);
    harness_clear(next);
    assert_true(waits(next, start(next, 4, HOUR)));
    assert_non_null(strstr(harness_facts(next, last_class(next).details), "BudgetLimitsUsed tenant=acme used=4 "));
    harness_end(&next);
    harness_end(&h);
}

/*  What a job of a minute took says nothing about one of a day. */
static void limits__that_are_not_comparable_predict_nothing(void **state)
{
    (void)state;
    harness_t *h = with_short_runs(MINUTE);
    helio_job_key_t first;
    set(h, "acme", "", "100 gpu-h/month");
    assert_int_equal(started(h, 24 * HOUR, 3, &first), 1);
    assert_non_null(strstr(harness_facts(h, last_class(h).details), "BudgetUsed tenant=acme used=96."));
    harness_end(&h);
}

/*  Nor do they if the job was submitted as one of a minute, and its limit is edited. */
static void limits__that_are_edited_far_from_the_first_predict_nothing(void **state)
{
    (void)state;
    harness_t *h = with_short_runs(MINUTE);
    helio_job_spec_t spec = named(h, 4, MINUTE);
    set(h, "acme", "", "50 gpu-h/month");
    helio_job_key_t job = harness_job(h, &spec);
    helio_ev_edit_t longer = {.time_given = true, .time_limit_ms = 24 * (uint64_t)HOUR};
    assert_int_equal(harness_edit(h, "acme", HELIO_ROLE_USER, job, longer)->rc, HELIO_OK);
    harness_tick(h);
    assert_true(waits(h, job));
    assert_non_null(strstr(harness_facts(h, last_class(h).details), "BudgetTooSmall tenant=acme needed=96 "));
    harness_end(&h);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits__of_jobs_that_run_exceed_no_budget_more_than_threefold),
        cmocka_unit_test(limits__include_the_grace_that_a_job_asks_for),
        cmocka_unit_test(limits__of_carbon_are_bounded_too),
        cmocka_unit_test(limits__say_what_they_wait_for_and_what_helps),
        cmocka_unit_test(limits__of_one_job_above_three_budgets_keep_it_waiting),
        cmocka_unit_test(limits__are_free_again_when_a_job_ends_whatever_became_of_it),
        cmocka_unit_test(limits__are_those_of_the_previous_leader),
        cmocka_unit_test(limits__that_are_not_comparable_predict_nothing),
        cmocka_unit_test(limits__that_are_edited_far_from_the_first_predict_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
