/*  test_migrate_held.c -- the capacity that is held for a migration, and migrations that fail. */
#include "tests/unit/broker/core/migrate_testing.h"

/*  South has 16 GPUs, and 8 of them are held from the time at which the job is told to stop. */
static void migrate__capacity_is_held_and_counted_once(void **state)
{
    (void)state;
    helio_job_key_t key = told_to_migrate();
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    static const char *const there[] = {"south", NULL};
    harness_strings(h, &spec.sites, there);
    helio_job_key_t first = harness_job(h, &spec), second = harness_job(h, &spec);
    harness_tick(h);
    assert_state(first, HELIO_JOB_OFFERED);
    assert_state(second, HELIO_JOB_QUEUED);
    harness_run_up_to(h, SOUTH, first, 1, HELIO_JOB_RUNNING);
    harness_summary(h, SOUTH, south, 1, 1); /* one node is taken, by the first */
    harness_tick(h);
    assert_state(second, HELIO_JOB_QUEUED);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_STOPPED);
    harness_tick(h);
    assert_state(key, HELIO_JOB_OFFERED);
    assert_true(helio_text_is(harness_row(h, key)->site, "south"));
    assert_state(second, HELIO_JOB_QUEUED);
    harness_say(h, SOUTH, first, 1, HELIO_REPORT_KIND_ENDED);
    harness_tick(h);
    assert_state(second, HELIO_JOB_OFFERED);
}

typedef void meddle_fn(helio_job_key_t key);

static void cancels(helio_job_key_t key)
{
    (void)harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key);
}

static void ends_by_itself(helio_job_key_t key)
{
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_ENDED);
}

static void never_leaves(helio_job_key_t key)
{
    (void)key;
    harness_wait(h, 3 * MINUTE);
}

static void loses_its_site(helio_job_key_t key)
{
    (void)key;
    harness_gone(h, NORTH);
    harness_wait(h, 3 * MINUTE);
}

/*  Whatever comes in between, others find the room. */
static void migrate__a_failed_migration_frees_the_held_capacity(void **state)
{
    (void)state;
    meddle_fn *const rows[] = {cancels, ends_by_itself, never_leaves, loses_its_site};
    static const char *const there[] = {"south", NULL};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (i) {
            harness_end(&h);
            begin(NULL);
        }
        helio_job_key_t key = told_to_migrate();
        helio_job_spec_t spec = harness_spec(h, "H100", 8);
        spec.nodes = 2;
        harness_strings(h, &spec.sites, there);
        helio_job_key_t whole = harness_job(h, &spec);
        harness_tick(h);
        assert_state(whole, HELIO_JOB_QUEUED);
        rows[i](key);
        harness_tick(h);
        assert_state(whole, HELIO_JOB_OFFERED);
    }
}

static void migrate__a_job_whose_target_is_gone_is_placed_like_any_other(void **state)
{
    (void)state;
    helio_job_key_t key = told_to_migrate();
    (void)harness_site_command(h, HELIO_BROKER_EV_DRAIN, HELIO_ROLE_OPERATOR, "south");
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_STOPPED);
    harness_tick(h);
    assert_state(key, HELIO_JOB_OFFERED);
    assert_true(helio_text_is(harness_row(h, key)->site, "north"));
    assert_reason(key, "PlacedAt site=north victims=0");
    assert_int_equal(harness_row(h, key)->epoch, 2);
}

static void migrate__a_sites_own_work_can_take_the_capacity_without_double_counting(void **state)
{
    (void)state;
    helio_job_key_t key = told_to_migrate();
    harness_summary(h, SOUTH, south, 0, 2); /* both nodes, by others */
    harness_wait(h, 1000);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_STOPPED);
    harness_tick(h);
    assert_true(helio_text_is(harness_row(h, key)->site, "north"));
    harness_summary(h, SOUTH, south, 0, 0);
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.nodes = 2;
    static const char *const there[] = {"south", NULL};
    harness_strings(h, &spec.sites, there);
    helio_job_key_t whole = harness_job(h, &spec);
    harness_tick(h);
    assert_state(whole, HELIO_JOB_OFFERED);
}

static void migrate__a_new_leader_places_the_job_once_like_any_other(void **state)
{
    (void)state;
    helio_job_key_t key = told_to_migrate();
    harness_t *old = h;
    h = harness_rebuild(old);
    harness_end(&old);
    make_sites();
    join();
    helio_holding_t holding = {.key = key, .epoch = 1, .state = HELIO_JOB_STOPPING};
    harness_hello(h, NORTH + 10, north);
    harness_inventory(h, NORTH + 10, &holding, 1);
    harness_summary(h, NORTH + 10, north, 0, 1);
    harness_tick(h);
    assert_state(key, HELIO_JOB_STOPPING);
    harness_clear(h);
    harness_say(h, NORTH + 10, key, 1, HELIO_REPORT_KIND_STOPPED);
    harness_tick(h);
    assert_state(key, HELIO_JOB_OFFERED);
    assert_int_equal(harness_row(h, key)->epoch, 2);
    assert_int_equal(harness_row(h, key)->migrations, 1);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_PLACEMENT), 1);
}

/*  A job that waits for such GPUs goes first: here a gang that cannot start yet, although half of what it needs is
 *  free. */
static void migrate__capacity_that_a_class_waits_for_is_not_taken(void **state)
{
    (void)state;
    join();
    static const char *const there[] = {"south", NULL};
    helio_job_spec_t small = harness_spec(h, "H100", 8);
    harness_strings(h, &small.sites, there);
    helio_job_key_t runs = harness_job(h, &small);
    harness_tick(h);
    harness_run_up_to(h, SOUTH, runs, 1, HELIO_JOB_RUNNING);
    helio_job_spec_t gang = harness_spec(h, "H100", 8), spec = movable(1, 8);
    gang.nodes = 2;
    harness_strings(h, &gang.sites, there);
    helio_job_key_t key = run(&spec), waits = harness_job(h, &gang);
    settle();
    tell(NORTH, 900);
    harness_wait(h, MINUTE);
    assert_state(waits, HELIO_JOB_QUEUED);
    assert_state(key, HELIO_JOB_RUNNING);
    (void)harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, waits);
    harness_wait(h, MINUTE);
    assert_state(key, HELIO_JOB_RUNNING); /* nothing was given back: it is looked at when the hour begins */
    harness_wait(h, HOUR);
    tell(NORTH, 900);
    harness_wait(h, MINUTE);
    assert_state(key, HELIO_JOB_STOPPING);
}

static void migrate__capacity_that_becomes_free_at_a_better_site_is_taken(void **state)
{
    (void)state;
    join();
    static const char *const there[] = {"south", NULL};
    helio_job_spec_t big = harness_spec(h, "H100", 8), spec = movable(1, 8);
    harness_strings(h, &big.sites, there);
    big.nodes = 2;
    helio_job_key_t runs = harness_job(h, &big), key = run(&spec);
    harness_run_up_to(h, SOUTH, runs, 1, HELIO_JOB_RUNNING);
    settle();
    tell(NORTH, 900);
    harness_wait(h, MINUTE);
    assert_state(key, HELIO_JOB_RUNNING);
    harness_say(h, SOUTH, runs, 1, HELIO_REPORT_KIND_ENDED);
    harness_wait(h, 11000);
    assert_state(key, HELIO_JOB_STOPPING);
}

static void migrate__room_goes_to_the_job_that_gains_most(void **state)
{
    (void)state;
    join();
    static const char *const there[] = {"south", NULL};
    helio_job_spec_t fills = harness_spec(h, "H100", 8), brief = movable(1, 8), lasts = movable(1, 8);
    harness_strings(h, &fills.sites, there);
    fills.time_limit_ms = 20 * HOUR;
    brief.time_limit_ms = 3 * HOUR;
    helio_job_key_t runs = harness_job(h, &fills), more = harness_job(h, &fills), first = run(&brief),
                    second = run(&lasts);
    harness_run_up_to(h, SOUTH, runs, 1, HELIO_JOB_RUNNING);
    harness_run_up_to(h, SOUTH, more, 1, HELIO_JOB_RUNNING);
    settle();
    tell(NORTH, 900);
    harness_wait(h, MINUTE);
    assert_state(first, HELIO_JOB_RUNNING);
    assert_state(second, HELIO_JOB_RUNNING);
    harness_say(h, SOUTH, runs, 1, HELIO_REPORT_KIND_ENDED);
    harness_wait(h, 11000);
    assert_state(first, HELIO_JOB_RUNNING);
    assert_state(second, HELIO_JOB_STOPPING);
}

/*  What starts and ends elsewhere is no reason to compare all sites again for each job that would go. */
static void migrate__jobs_that_wait_for_room_are_not_judged_again_by_any_change(void **state)
{
    (void)state;
    join();
    static const char *const here[] = {"north", NULL}, *const there[] = {"south", NULL};
    helio_job_spec_t big = harness_spec(h, "H100", 8), small = harness_spec(h, "H100", 1), spec = movable(1, 2);
    harness_strings(h, &big.sites, there);
    harness_strings(h, &small.sites, here);
    big.nodes = 2;
    helio_job_key_t runs = harness_job(h, &big), keys[4];
    for (uint32_t i = 0; i < 4; i++)
        keys[i] = run(&spec);
    harness_run_up_to(h, SOUTH, runs, 1, HELIO_JOB_RUNNING);
    settle();
    tell(NORTH, 900);
    harness_wait(h, 11000);
    harness_wait(h, 11000);
    uint64_t judged = harness_figures(h).migrants_judged_total;
    assert_true(judged >= 4);
    for (uint32_t i = 0; i < 10; i++) {
        helio_job_key_t passes = run(&small);
        harness_wait(h, 11000);
        harness_say(h, NORTH, passes, 1, HELIO_REPORT_KIND_ENDED);
        harness_wait(h, 11000);
    }
    assert_int_equal(harness_figures(h).migrants_judged_total, judged);
    assert_state(keys[0], HELIO_JOB_RUNNING);
    harness_say(h, SOUTH, runs, 1, HELIO_REPORT_KIND_ENDED);
    harness_wait(h, 11000);
    for (uint32_t i = 0; i < 4; i++)
        assert_state(keys[i], HELIO_JOB_STOPPING);
    assert_int_equal(harness_figures(h).migrants_judged_total, judged);
}

static void migrate__many_jobs_migrate_in_portions_and_within_the_capacity(void **state)
{
    (void)state;
    join();
    helio_job_spec_t spec = movable(1, 1);
    helio_job_key_t keys[16];
    for (uint32_t i = 0; i < 16; i++)
        keys[i] = run(&spec);
    helio_job_spec_t there = harness_spec(h, "H100", 6);
    static const char *const at[] = {"south", NULL};
    harness_strings(h, &there.sites, at);
    helio_job_key_t runs = harness_job(h, &there);
    harness_tick(h);
    harness_run_up_to(h, SOUTH, runs, 1, HELIO_JOB_RUNNING);
    settle();
    tell(NORTH, 900);
    harness_tick(h);
    assert_int_equal(migrations(), 8);
    harness_wait(h, 20000);
    assert_int_equal(migrations(), 10);
    uint32_t stopping = 0;
    for (uint32_t i = 0; i < 16; i++)
        stopping += harness_state(h, keys[i]) == HELIO_JOB_STOPPING;
    assert_int_equal(stopping, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(migrate__capacity_is_held_and_counted_once, begin, end),
        cmocka_unit_test_setup_teardown(migrate__a_failed_migration_frees_the_held_capacity, begin, end),
        cmocka_unit_test_setup_teardown(migrate__a_job_whose_target_is_gone_is_placed_like_any_other, begin, end),
        cmocka_unit_test_setup_teardown(migrate__a_sites_own_work_can_take_the_capacity_without_double_counting, begin,
                                        end),
        cmocka_unit_test_setup_teardown(migrate__a_new_leader_places_the_job_once_like_any_other, begin, end),
        cmocka_unit_test_setup_teardown(migrate__capacity_that_a_class_waits_for_is_not_taken, begin, end),
        cmocka_unit_test_setup_teardown(migrate__capacity_that_becomes_free_at_a_better_site_is_taken, begin, end),
        cmocka_unit_test_setup_teardown(migrate__room_goes_to_the_job_that_gains_most, begin, end),
        cmocka_unit_test_setup_teardown(migrate__jobs_that_wait_for_room_are_not_judged_again_by_any_change,
                                        begin_calmly, end),
        cmocka_unit_test_setup_teardown(migrate__many_jobs_migrate_in_portions_and_within_the_capacity, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
