/*  test_class_doubts.c -- a pool where a job failed at once, for the jobs like it: how long that counts, and what
 *  becomes of it when the site has other pools. */
#include "tests/unit/broker/core/migrate_testing.h"

static void lose_at_once(uint64_t peer, helio_job_key_t key, uint32_t epoch)
{
    harness_run_up_to(h, peer, key, epoch, HELIO_JOB_STARTING);
    helio_report_t report = harness_report_of(h, key, epoch, HELIO_REPORT_KIND_LOST);
    report.run_ms = report.gpu_ms = 0;
    report.started_wall_ms = 0; /* it never started */
    report.cause = HELIO_CAUSE_SUBMIT_REFUSED;
    report.explanation = HELIO_TEXT("Invalid partition name specified");
    harness_report(h, peer, &report);
    harness_tick(h);
}

static void assert_at(helio_job_key_t key, const char *site)
{
    assert_state(key, HELIO_JOB_OFFERED);
    assert_true(helio_text_is(harness_row(h, key)->site, site));
}

/*  South is better from the beginning. */
static void doubt__keeps_jobs_from_migrating_there_for_five_minutes(void **state)
{
    (void)state;
    join();
    tell(NORTH, 900);
    helio_job_spec_t spec = movable(1, 8);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_at(key, "south");
    lose_at_once(SOUTH, key, 1);
    assert_at(key, "north");
    harness_run_up_to(h, NORTH, key, 2, HELIO_JOB_RUNNING);
    settle();
    tell(SOUTH, 300);
    harness_wait(h, 20000);
    assert_state(key, HELIO_JOB_RUNNING);
    harness_wait(h, 3 * MINUTE);
    tell(SOUTH, 290);
    harness_wait(h, 20000);
    assert_state(key, HELIO_JOB_STOPPING);
}

/*  The harness checks after each step that every doubt is of a pool that exists. */
static void doubt__ends_with_the_pools_of_a_former_profile(void **state)
{
    (void)state;
    join();
    helio_job_spec_t spec = movable(1, 8);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_at(key, "north");
    lose_at_once(NORTH, key, 1);
    assert_at(key, "south");
    helio_job_key_t before = harness_job(h, &spec);
    harness_tick(h);
    assert_at(before, "south");
    harness_pool(h, north, "b", "A100", 1, 8, 0); /* so that the pools are made anew */
    harness_join(h, NORTH + 10, north);
    harness_tick(h);
    helio_job_key_t after = harness_job(h, &spec);
    harness_tick(h);
    assert_at(after, "north");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(doubt__keeps_jobs_from_migrating_there_for_five_minutes, begin, end),
        cmocka_unit_test_setup_teardown(doubt__ends_with_the_pools_of_a_former_profile, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
