/*  test_explain.c -- when a job that is not in its queue can start, and who may ask. */
#include <stdio.h>

#include "tests/unit/broker/core/dependencies_testing.h"

enum { MINUTE = 60000, HOUR = 3600000 };

static const helio_start_estimate_t *explain(helio_job_key_t key)
{
    const helio_fx_reply_t *reply = harness_command(h, HELIO_BROKER_EV_EXPLAIN, "acme", HELIO_ROLE_USER, key);
    if (reply->rc != HELIO_OK)
        fail_msg("%s: %s", helio_job_state_name(harness_state(h, key)), harness_details(h, &reply->details));
    return &reply->start_estimate;
}

static void assert_basis(const helio_start_estimate_t *estimate, const char *facts)
{
    assert_string_equal(harness_facts(h, estimate->basis), facts);
}

/*  "2026-03-01T01:00Z": minutes after the harness began. */
static void assert_times(const helio_start_estimate_t *estimate, int64_t earliest_ms, int64_t latest_ms)
{
    assert_int_equal(estimate->earliest_ms, earliest_ms);
    assert_int_equal(estimate->latest_ms, latest_ms);
}

/* ---- dependencies ------------------------------------------------------------------------------------------ */

static void a_job_that_waits_for_one_that_runs__starts_after_the_limit_of_that(void **state)
{
    (void)state;
    int64_t began_ms = harness_wall_ms(h);
    helio_job_key_t first = harness_job(h, &spec);
    helio_job_key_t second = harness_job_after(h, &spec, HELIO_AFTER_ANY, first);
    assert_waits(second);
    harness_run_up_to(h, NORTH, first, 1, HELIO_JOB_RUNNING);
    const helio_start_estimate_t *estimate = explain(second);
    assert_basis(estimate, "StartDependenciesEnd jobs=1 end=2026-03-01T01:00:05Z; StartThenCapacity");
    assert_true(estimate->earliest_ms >= began_ms && estimate->earliest_ms <= harness_wall_ms(h));
    assert_int_equal(estimate->latest_ms, 0); /* capacity may not be free then */
}

static void a_job_that_waits_for_one_that_waits__starts_at_an_unknown_time(void **state)
{
    (void)state;
    helio_job_spec_t large = harness_spec(h, "A100", 1); /* the site has none: it never starts there by itself */
    north = harness_site(h, "south");
    harness_pool(h, north, "a", "A100", 1, 8, 2.0);
    harness_join(h, NORTH + 1, north);
    harness_summary(h, NORTH + 1, north, 0, 1); /* full of others' work */
    helio_job_key_t first = harness_job(h, &large);
    helio_job_key_t second = harness_job_after(h, &spec, HELIO_AFTER_OK, first);
    assert_waits(second);
    assert_basis(explain(second), "StartDependenciesOpen jobs=1; StartThenCapacity");
}

static void a_chain__cannot_begin_before_the_begin_time_of_its_first_job(void **state)
{
    (void)state;
    helio_job_spec_t later = spec;
    later.not_before_wall_ms = harness_wall_ms(h) + 3 * HOUR;
    helio_job_key_t first = harness_job(h, &later);
    helio_job_key_t second = harness_job_after(h, &spec, HELIO_AFTER_OK, first);
    helio_job_key_t third = harness_job_after(h, &spec, HELIO_AFTER_NOT_OK, first);
    assert_waits(second);
    const helio_start_estimate_t *estimate = explain(second);
    assert_times(estimate, later.not_before_wall_ms, 0);
    assert_basis(estimate, "StartDependenciesOpen jobs=1 begin=2026-03-01T03:00Z; StartThenCapacity");
    /* The first job may be cancelled before it begins, and that is no success either. */
    estimate = explain(third);
    assert_true(estimate->earliest_ms <= harness_wall_ms(h));
    assert_basis(estimate, "StartDependenciesOpen jobs=1; StartThenCapacity");
}

static void a_job_with_a_begin_time__starts_then_at_the_earliest(void **state)
{
    (void)state;
    helio_job_spec_t later = spec;
    later.not_before_wall_ms = harness_wall_ms(h) + 2 * HOUR;
    helio_job_key_t key = harness_job(h, &later);
    assert_waits(key);
    const helio_start_estimate_t *estimate = explain(key);
    assert_times(estimate, later.not_before_wall_ms, 0);
    assert_true(harness_says(h, &estimate->basis, "StartThenCapacity"));
    harness_detail(estimate->basis, HELIO_DETAIL_BEGIN_TIME);
}

/*  The latest of the ends counts, and a whole array ends with its last task. */
static void a_job_that_waits_for_several__starts_after_the_last_of_them(void **state)
{
    (void)state;
    helio_job_spec_t longer = spec, array = spec;
    uint32_t tasks[] = {0, 1};
    longer.time_limit_ms = 2 * HOUR;
    array.tasks.items = tasks;
    array.tasks.count = 2;
    array.time_limit_ms = 3 * HOUR;
    helio_job_key_t one = harness_job(h, &spec), two = harness_job(h, &longer), three = harness_job(h, &array);
    harness_tick(h);
    harness_run_up_to(h, NORTH, one, 1, HELIO_JOB_RUNNING);
    harness_run_up_to(h, NORTH, two, 1, HELIO_JOB_RUNNING);
    const harness_after_t both[] = {{HELIO_AFTER_ANY, one}, {HELIO_AFTER_ANY, two}};
    const harness_after_t all[] = {{HELIO_AFTER_ANY, one}, {HELIO_AFTER_ANY, two}, {HELIO_AFTER_ANY, three}};
    helio_submission_t after_both = harness_dependent(h, &spec, both, 2);
    helio_submission_t after_all = harness_dependent(h, &spec, all, 3);
    helio_job_key_t second = {harness_submit_all(h, "acme", &after_both, 1)->jobs.items[0].job, HELIO_NO_TASK};
    helio_job_key_t last = {harness_submit_all(h, "acme", &after_all, 1)->jobs.items[0].job, HELIO_NO_TASK};
    assert_basis(explain(second), "StartDependenciesEnd jobs=2 end=2026-03-01T02:00:00Z; StartThenCapacity");
    harness_run_up_to(h, NORTH, harness_task(three, 0), 1, HELIO_JOB_RUNNING);
    harness_run_up_to(h, NORTH, harness_task(three, 1), 1, HELIO_JOB_RUNNING);
    assert_basis(explain(last), "StartDependenciesEnd jobs=3 end=2026-03-01T03:00:00Z; StartThenCapacity");
}

/* ---- other places ------------------------------------------------------------------------------------------ */

static void a_job_that_is_offered__starts_when_its_site_starts_it(void **state)
{
    (void)state;
    static const uint32_t states[] = {HELIO_JOB_OFFERED, HELIO_JOB_ACCEPTED, HELIO_JOB_STARTING};
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        helio_job_key_t key = harness_job(h, &spec);
        harness_tick(h);
        if (states[i] != HELIO_JOB_OFFERED)
            harness_run_up_to(h, NORTH, key, 1, states[i]);
        assert_int_equal(harness_state(h, key), states[i]);
        const helio_start_estimate_t *estimate = explain(key);
        assert_times(estimate, harness_wall_ms(h), 0);
        assert_basis(estimate, "StartAtSite site=north");
    }
}

static void a_task_beyond_its_throttle__starts_when_another_task_ends(void **state)
{
    (void)state;
    helio_job_spec_t array = spec;
    uint32_t tasks[] = {3, 5, 9};
    array.tasks.items = tasks;
    array.tasks.count = 3;
    array.tasks_at_once = 2;
    helio_job_key_t key = harness_job(h, &array);
    harness_tick(h);
    const helio_start_estimate_t *estimate = explain(harness_task(key, 9));
    assert_times(estimate, harness_wall_ms(h), 0);
    assert_basis(estimate, "StartThrottle tasks=2");
    assert_basis(explain(key), "StartAtSite site=north"); /* the whole array: its first task */
}

static void a_job_that_is_held__starts_when_it_is_released(void **state)
{
    (void)state;
    helio_job_key_t key = harness_job(h, &spec);
    for (uint32_t epoch = 1; epoch <= 2; epoch++) { /* twice before it ran for a minute */
        wait_ms(15 * MINUTE);
        harness_tick(h);
        harness_run_up_to(h, NORTH, key, epoch, HELIO_JOB_STARTING);
        helio_report_t lost = harness_report_of(h, key, epoch, HELIO_REPORT_KIND_LOST);
        lost.run_ms = lost.gpu_ms = MINUTE - 1;
        harness_report(h, NORTH, &lost);
    }
    assert_int_equal(harness_state(h, key), HELIO_JOB_HELD);
    const helio_start_estimate_t *estimate = explain(key);
    assert_times(estimate, 0, 0);
    assert_basis(estimate, "StartRelease");
}

static void a_job_of_a_silent_site__may_be_running_there(void **state)
{
    (void)state;
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    harness_gone(h, NORTH);
    harness_wait(h, 2 * MINUTE);
    assert_int_equal(harness_state(h, key), HELIO_JOB_SUSPECT);
    const helio_start_estimate_t *estimate = explain(key);
    assert_times(estimate, 0, 0);
    assert_basis(estimate, "StartSiteSilent");
}

/* ---- who may ask ------------------------------------------------------------------------------------------- */

static void an_explanation__is_for_the_tenant_and_operators_and_of_jobs_that_wait(void **state)
{
    (void)state;
    helio_job_key_t offered = harness_job(h, &spec), running = harness_job(h, &spec), ended = harness_job(h, &spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, running, 1, HELIO_JOB_RUNNING);
    harness_run_up_to(h, NORTH, ended, 1, HELIO_JOB_RUNNING);
    harness_say(h, NORTH, ended, 1, HELIO_REPORT_KIND_ENDED);
    const struct {
        const char *tenant;
        helio_role_t role;
        helio_job_key_t key;
        helio_rc rc;
    } cases[] = {
        {"acme", HELIO_ROLE_USER, offered, HELIO_OK},
        {"other", HELIO_ROLE_USER, offered, HELIO_NOT_FOUND},
        {"other", HELIO_ROLE_OPERATOR, offered, HELIO_OK},
        {"acme", HELIO_ROLE_USER, running, HELIO_NOT_FOUND}, /* it asks for no other site */
        {"acme", HELIO_ROLE_USER, ended, HELIO_NOT_FOUND},
        {"acme", HELIO_ROLE_ADMIN, {.task = HELIO_NO_TASK}, HELIO_NOT_FOUND},
        {"acme", HELIO_ROLE_USER, {offered.job, 0}, HELIO_NOT_FOUND}, /* it is no array */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const helio_fx_reply_t *reply =
            harness_command(h, HELIO_BROKER_EV_EXPLAIN, cases[i].tenant, cases[i].role, cases[i].key);
        if (reply->rc != (uint32_t)cases[i].rc)
            fail_msg("case %zu: %s", i, helio_rc_name((helio_rc)reply->rc));
        if (cases[i].rc != HELIO_OK)
            harness_detail(reply->details, HELIO_DETAIL_JOB_NOT_PENDING);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_that_waits_for_one_that_runs__starts_after_the_limit_of_that),
        TEST(a_job_that_waits_for_one_that_waits__starts_at_an_unknown_time),
        TEST(a_chain__cannot_begin_before_the_begin_time_of_its_first_job),
        TEST(a_job_with_a_begin_time__starts_then_at_the_earliest),
        TEST(a_job_that_waits_for_several__starts_after_the_last_of_them),
        TEST(a_job_that_is_offered__starts_when_its_site_starts_it),
        TEST(a_task_beyond_its_throttle__starts_when_another_task_ends),
        TEST(a_job_that_is_held__starts_when_it_is_released),
        TEST(a_job_of_a_silent_site__may_be_running_there),
        TEST(an_explanation__is_for_the_tenant_and_operators_and_of_jobs_that_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
