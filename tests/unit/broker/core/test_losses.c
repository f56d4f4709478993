/*  test_losses.c -- how often, and how soon, a job is placed again after attempts that their sites lost or stopped. */
#include "federation/reason/codes.h"
#include "tests/unit/broker/core/observed_run_testing.h"

enum { EAST = 3, LOSSES_MAX = 20, MINUTE_MS = 60000, LONGEST_PAUSE_MS = 300000 };

/* ---- what happens --------------------------------------------------------------------------------------- */

static helio_job_spec_t spec_of_long_job(void)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 2);
    spec.time_limit_ms = 1000 * (uint64_t)HOUR_MS;
    return spec;
}

/*  Only north has such GPUs for it. */
static helio_job_spec_t spec_of_north(void)
{
    helio_job_spec_t spec = spec_of_long_job();
    harness_strings(h, &spec.sites, (const char *[]){"north", NULL});
    return spec;
}

static uint64_t peer_of(helio_job_key_t key)
{
    return helio_text_is(harness_row(h, key)->site, "north") ? NORTH : SOUTH;
}

/*  Its next attempt runs for that long, by everybody's clock. */
static void run(helio_job_key_t key, int64_t ms)
{
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    harness_run_up_to(h, peer_of(key), key, harness_row(h, key)->epoch, HELIO_JOB_RUNNING);
    pass(ms);
}

static helio_report_t end_after(helio_job_key_t key, uint32_t kind, int64_t ms)
{
    helio_report_t report = harness_report_of(h, key, harness_row(h, key)->epoch, kind);
    report.run_ms = (uint64_t)ms;
    report.gpu_ms = 2 * report.run_ms;
    report.started_wall_ms = ms ? report.ended_wall_ms - ms : 0;
    return report;
}

static void run_and_end(helio_job_key_t key, uint32_t kind, int64_t ms)
{
    run(key, ms);
    const helio_report_t report = end_after(key, kind, ms);
    harness_report(h, peer_of(key), &report);
    harness_clear(h);
}

static void withdraw(helio_job_key_t key)
{
    helio_report_t report = end_after(key, HELIO_REPORT_KIND_LOST, 0);
    report.cause = HELIO_CAUSE_WITHDRAWN;
    harness_report(h, peer_of(key), &report);
}

static void expect_held(helio_job_key_t key)
{
    assert_int_equal(harness_state(h, key), HELIO_JOB_HELD);
    assert_int_equal(harness_row(h, key)->losses, LOSSES_MAX);
    harness_assert_value(harness_detail(harness_row(h, key)->why, HELIO_DETAIL_HELD_AFTER_LOSSES), "losses", "20");
    harness_wait(h, 10000);
    assert_int_equal(harness_state(h, key), HELIO_JOB_HELD);
}

/* ---- the bound ------------------------------------------------------------------------------------------ */

static void losses__without_progress_hold_the_job_with_the_twentieth(void **state)
{
    (void)state;
    static const uint32_t kinds[] = {HELIO_REPORT_KIND_LOST, HELIO_REPORT_KIND_STOPPED};
    const helio_job_spec_t spec = spec_of_long_job();
    for (uint32_t k = 0; k < 2; k++) {
        helio_job_key_t key = harness_job(h, &spec);
        for (uint32_t i = 1; i <= LOSSES_MAX; i++) {
            run_and_end(key, kinds[k], 10 * MINUTE_MS);
            assert_int_equal(harness_row(h, key)->losses, i);
            assert_int_equal(harness_state(h, key), i < LOSSES_MAX ? HELIO_JOB_QUEUED : HELIO_JOB_HELD);
        }
        expect_held(key);
        assert_int_equal(harness_row(h, key)->site_failures, 0);
        assert_int_equal(harness_command(h, HELIO_BROKER_EV_RELEASE, "acme", HELIO_ROLE_OPERATOR, key)->rc, HELIO_OK);
        run_and_end(key, kinds[k], 10 * MINUTE_MS);
        assert_int_equal(harness_row(h, key)->losses, 1);
        assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
        harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key);
    }
}

static void losses__hold_a_job_from_every_state_in_which_sites_can_end_it(void **state)
{
    (void)state;
    static const uint32_t kinds[] = {HELIO_REPORT_KIND_LOST, HELIO_REPORT_KIND_STOPPED};
    const helio_job_spec_t spec = spec_of_long_job();
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t at = HELIO_JOB_OFFERED; at <= HELIO_JOB_SUSPENDED; at++) {
            helio_job_key_t key = harness_job(h, &spec);
            for (uint32_t i = 1; i < LOSSES_MAX; i++)
                run_and_end(key, HELIO_REPORT_KIND_LOST, MINUTE_MS);
            harness_tick(h);
            if (at != HELIO_JOB_OFFERED)
                harness_run_up_to(h, peer_of(key), key, harness_row(h, key)->epoch, at);
            pass(MINUTE_MS);
            const helio_report_t report = end_after(key, kinds[k], MINUTE_MS);
            harness_report(h, peer_of(key), &report);
            expect_held(key);
            harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key);
        }
}

static void losses__count_across_leaders(void **state)
{
    (void)state;
    const helio_job_spec_t spec = spec_of_long_job();
    helio_job_key_t key = harness_job(h, &spec);
    for (uint32_t i = 1; i < LOSSES_MAX; i++)
        run_and_end(key, HELIO_REPORT_KIND_LOST, MINUTE_MS);
    harness_t *former = h;
    h = harness_rebuild(former);
    harness_join(h, NORTH, north); /* their profiles are the former one's */
    harness_join(h, SOUTH, south);
    run_and_end(key, HELIO_REPORT_KIND_LOST, MINUTE_MS);
    expect_held(key);
    harness_end(&former);
}

/*  Once by its stop, and once lost before that. */
static void losses__of_stops_that_were_asked_for_are_none(void **state)
{
    (void)state;
    static const uint32_t kinds[] = {HELIO_REPORT_KIND_STOPPED, HELIO_REPORT_KIND_LOST};
    helio_site_profile_t *east = harness_site(h, "east");
    harness_pool(h, east, "a", "B200", 1, 8, 2.0);
    harness_join(h, EAST, east);
    helio_job_spec_t all = harness_spec(h, "B200", 8), urgent = all;
    all.queue = HELIO_TEXT("batch");
    urgent.queue = HELIO_TEXT("express");
    helio_job_key_t key = harness_job(h, &all);
    for (uint32_t i = 0; i < 2; i++) {
        harness_tick(h);
        harness_run_up_to(h, EAST, key, i + 1, HELIO_JOB_RUNNING);
        for (int64_t ms = 0; ms < 2 * MINUTE_MS; ms += 10000) {
            harness_renew(h, EAST);
            harness_wait(h, 10000);
        }
        helio_job_key_t first = {harness_submit(h, "other", &urgent)->jobs.items[0].job, HELIO_NO_TASK};
        harness_tick(h);
        assert_int_equal(harness_state(h, key), HELIO_JOB_STOPPING);
        harness_say(h, EAST, key, i + 1, kinds[i]);
        assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
        assert_int_equal(harness_row(h, key)->losses, 0);
        harness_tick(h);
        harness_say(h, EAST, first, 1, HELIO_REPORT_KIND_ENDED);
        harness_clear(h);
    }
}

/*  It begins another session, in which it does not list the job. */
static uint64_t forget(uint64_t peer, helio_job_key_t key)
{
    peer += 10;
    harness_hello(h, peer, north);
    harness_inventory(h, peer, NULL, 0);
    harness_summary(h, peer, north, 0, 0);
    assert_int_equal(harness_state(h, key), HELIO_JOB_STOPPING);
    return peer;
}

/*  The broker asks for that stop only because the site does not know the job any more, whatever its answer. */
static void losses__of_jobs_that_their_site_forgot_count(void **state)
{
    (void)state;
    static const uint32_t kinds[] = {HELIO_REPORT_KIND_STOPPED, HELIO_REPORT_KIND_LOST, HELIO_REPORT_KIND_REFUSED};
    const helio_job_spec_t spec = spec_of_north();
    helio_job_key_t key = harness_job(h, &spec);
    uint64_t peer = NORTH;
    for (uint32_t epoch = 1; epoch <= LOSSES_MAX; epoch++) {
        harness_tick(h);
        harness_run_up_to(h, peer, key, epoch, HELIO_JOB_RUNNING);
        for (int64_t ms = 0; ms < 2 * MINUTE_MS; ms += 10000) {
            harness_advance(h, 10000);
            harness_renew(h, peer);
        }
        peer = forget(peer, key);
        helio_report_t report = harness_report_of(h, key, epoch, kinds[epoch % 3]);
        report.run_ms = 2 * MINUTE_MS;
        harness_report(h, peer, &report);
        assert_int_equal(harness_row(h, key)->losses, epoch);
        assert_int_equal(harness_state(h, key), epoch < LOSSES_MAX ? HELIO_JOB_QUEUED : HELIO_JOB_HELD);
        harness_clear(h);
    }
    expect_held(key);
}

static void losses__of_sites_that_were_lost_count_too(void **state)
{
    (void)state;
    helio_job_spec_t spec = spec_of_north();
    spec.on_site_loss = HELIO_SITE_LOSS_EAGER;
    helio_job_key_t key = harness_job(h, &spec);
    run_and_end(key, HELIO_REPORT_KIND_LOST, MINUTE_MS);
    run(key, MINUTE_MS);
    harness_gone(h, NORTH);
    harness_wait(h, 2 * MINUTE_MS);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    assert_int_equal(harness_row(h, key)->losses, 2);
}

/* ---- progress ------------------------------------------------------------------------------------------- */

/*  A long job on nodes that fail or are taken away. */
static void progress__that_the_site_reports_takes_losses_back(void **state)
{
    (void)state;
    static const uint32_t kinds[] = {HELIO_REPORT_KIND_LOST, HELIO_REPORT_KIND_STOPPED};
    const helio_job_spec_t spec = spec_of_long_job();
    helio_job_key_t key = harness_job(h, &spec);
    for (uint32_t i = 0; i < 5 * LOSSES_MAX; i++) {
        run(key, 10 * MINUTE_MS);
        helio_report_t report = end_after(key, kinds[i % 2], 10 * MINUTE_MS);
        report.saved_run_ms = i % 10 ? 0 : MINUTE_MS; /* now and then */
        harness_report(h, peer_of(key), &report);
        harness_clear(h);
        assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
        assert_int_equal(harness_row(h, key)->losses, i % 10 + 1);
    }
}

/*  Two nodes that fail within a minute, weeks apart, are no reason to hold it. */
static void progress__takes_quick_failures_back(void **state)
{
    (void)state;
    const helio_job_spec_t spec = spec_of_long_job();
    helio_job_key_t key = harness_job(h, &spec);
    for (uint32_t i = 0; i < 5; i++) {
        run_and_end(key, HELIO_REPORT_KIND_LOST, 5000);
        assert_int_equal(harness_row(h, key)->site_failures, 1);
        run(key, 10 * MINUTE_MS);
        helio_report_t report = end_after(key, HELIO_REPORT_KIND_LOST, 10 * MINUTE_MS);
        report.saved_run_ms = report.run_ms;
        harness_report(h, peer_of(key), &report);
        harness_clear(h);
        assert_int_equal(harness_row(h, key)->site_failures, 0);
    }
}

/*  A node that failed cannot say what its job had saved. */
static void progress__of_a_job_that_declares_checkpoints_need_not_be_reported(void **state)
{
    (void)state;
    static const struct {
        uint64_t every_ms;
        int64_t runs_ms;
        bool held;
    } cases[] = {{10 * MINUTE_MS, 30 * MINUTE_MS, false},
                 {10 * MINUTE_MS, 29 * MINUTE_MS, true},
                 {HOUR_MS, HOUR_MS, false},
                 {HOUR_MS, 59 * MINUTE_MS, true},
                 {0, 2 * HOUR_MS, true}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        helio_job_spec_t spec = spec_of_long_job();
        spec.checkpoint_every_ms = cases[c].every_ms;
        helio_job_key_t key = harness_job(h, &spec);
        for (uint32_t i = 0; i < LOSSES_MAX; i++)
            run_and_end(key, HELIO_REPORT_KIND_LOST, cases[c].runs_ms);
        assert_int_equal(harness_state(h, key), cases[c].held ? HELIO_JOB_HELD : HELIO_JOB_QUEUED);
        harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key);
    }
}

/*  A job that begins anew does the same units again, and a second saves nothing. */
static void progress__is_neither_units_nor_moments(void **state)
{
    (void)state;
    const helio_job_spec_t spec = spec_of_long_job();
    helio_job_key_t key = harness_job(h, &spec);
    for (uint32_t i = 0; i < LOSSES_MAX; i++) {
        run(key, MINUTE_MS);
        helio_report_t report = end_after(key, HELIO_REPORT_KIND_LOST, MINUTE_MS);
        report.units_done = 1000;
        report.saved_run_ms = MINUTE_MS - 1;
        harness_report(h, peer_of(key), &report);
        harness_clear(h);
    }
    expect_held(key);
}

/* ---- a site that must not be believed -------------------------------------------------------------------- */

/*  Ten minutes, and all of them saved, of an attempt that was placed just now. */
static void lie__of_the_length_makes_no_quick_failure_slow(void **state)
{
    (void)state;
    const helio_job_spec_t spec = spec_of_north();
    helio_job_key_t key = harness_job(h, &spec);
    for (uint32_t i = 1; i <= 2; i++) {
        run(key, 1000);
        helio_report_t lie = end_after(key, HELIO_REPORT_KIND_LOST, 10 * MINUTE_MS);
        lie.saved_run_ms = lie.run_ms;
        harness_clear(h);
        harness_report(h, NORTH, &lie);
        assert_int_equal(harness_row(h, key)->site_failures, i);
        assert_int_equal(harness_row(h, key)->losses, i);
    }
    assert_int_equal(harness_state(h, key), HELIO_JOB_HELD);
    harness_detail(harness_row(h, key)->why, HELIO_DETAIL_HELD_AFTER_FAILURES);
}

/*  Two hundredths for clocks that drift, and a minute. */
static void lie__of_the_length_is_cut_by_the_clock_of_the_leader_that_placed_it(void **state)
{
    (void)state;
    static const int64_t run_for_ms[] = {1000, 10 * MINUTE_MS, 5 * HOUR_MS};
    for (size_t i = 0; i < sizeof run_for_ms / sizeof run_for_ms[0]; i++) {
        const helio_job_spec_t spec = spec_of_north();
        helio_job_key_t key = harness_job(h, &spec);
        const int64_t ms = run_for_ms[i], most_ms = ms + ms / 50 + MINUTE_MS;
        run(key, ms);
        const helio_report_t lie = end_after(key, HELIO_REPORT_KIND_ENDED, most_ms + 1000);
        harness_clear(h);
        harness_report(h, NORTH, &lie);
        const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
        assert_non_null(attempt);
        assert_int_equal(attempt->run_ms, most_ms);
        assert_int_equal(charged().gpu_ms, 2 * most_ms);
        assert_int_equal(harness_figures(h).illegal_reports_total, i + 1);
    }
}

/* ---- pauses --------------------------------------------------------------------------------------------- */

/*  How long it takes from now until the job is placed. */
static int64_t placed_after_ms(helio_job_key_t key)
{
    int64_t ms = 0;
    harness_tick(h);
    for (; harness_state(h, key) == HELIO_JOB_QUEUED && ms < 2 * LONGEST_PAUSE_MS; ms += 500) {
        harness_renew(h, NORTH);
        harness_renew(h, SOUTH);
        harness_wait(h, 500);
    }
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    return ms;
}

static void pause__of_a_job_whose_attempts_are_withdrawn_doubles_and_never_holds_it(void **state)
{
    (void)state;
    const helio_job_spec_t spec = spec_of_north();
    helio_job_key_t key = harness_job(h, &spec);
    assert_int_equal(placed_after_ms(key), 0);
    withdraw(key);
    assert_int_equal(placed_after_ms(key), 0); /* the first one can be an accident */
    int64_t expected_ms = 1000;
    for (uint32_t i = 0; i < 2 * LOSSES_MAX; i++) {
        withdraw(key);
        assert_int_equal(placed_after_ms(key), expected_ms);
        expected_ms = 2 * expected_ms < LONGEST_PAUSE_MS ? 2 * expected_ms : LONGEST_PAUSE_MS;
        harness_clear(h);
    }
    assert_int_equal(harness_row(h, key)->losses, 0);
    assert_int_equal(harness_row(h, key)->site_failures, 0);
    run_and_end(key, HELIO_REPORT_KIND_LOST, MINUTE_MS); /* an attempt that runs ends it */
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(placed_after_ms(key), i == 2 ? 1000 : 0);
        withdraw(key);
    }
}

static void pause__keeps_no_job_from_other_pools(void **state)
{
    (void)state;
    const helio_job_spec_t spec = spec_of_long_job();
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(peer_of(key), NORTH);
    withdraw(key);
    assert_int_equal(placed_after_ms(key), 0);
    assert_int_equal(peer_of(key), SOUTH);
    withdraw(key);
    assert_int_equal(placed_after_ms(key), 1000); /* both have failed it */
    withdraw(key);
    helio_site_profile_t *east = harness_site(h, "east");
    harness_pool(h, east, "a", "H100", 4, 8, 9.0);
    harness_join(h, 3, east);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    assert_true(helio_text_is(harness_row(h, key)->site, "east"));
}

static void pause__of_a_job_keeps_no_equal_job_waiting(void **state)
{
    (void)state;
    const helio_job_spec_t spec = spec_of_north();
    helio_job_key_t key = harness_job(h, &spec);
    for (uint32_t i = 0; i < 8; i++) {
        (void)placed_after_ms(key);
        withdraw(key);
    }
    helio_job_key_t other = harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
    assert_int_equal(harness_state(h, other), HELIO_JOB_OFFERED);
}

/*  More pools than a class remembers, as if one owner had all of them. */
/*  The pool takes offers again at once, since a summary follows. */
static void refuse_for(helio_job_key_t key, uint32_t cause)
{
    helio_report_t report = harness_report_of(h, key, harness_row(h, key)->epoch, HELIO_REPORT_KIND_REFUSED);
    report.cause = cause;
    const uint64_t peer = peer_of(key);
    harness_report(h, peer, &report);
    harness_summary(h, peer, peer == NORTH ? north : south, UINT64_MAX, 0);
    harness_clear(h);
}

static void refuse(helio_job_key_t key)
{
    refuse_for(key, HELIO_CAUSE_NO_CAPACITY);
}

/*  Each offer, however often: after those that an honest site can refuse, it gets one in five minutes. */
static void pause__of_a_job_that_is_refused_begins_after_twenty_refusals(void **state)
{
    (void)state;
    static const uint32_t causes[] = {HELIO_CAUSE_NO_CAPACITY, HELIO_CAUSE_STALE_EPOCH, HELIO_CAUSE_NONE};
    const helio_job_spec_t spec = spec_of_north();
    for (uint32_t c = 0; c < sizeof causes / sizeof causes[0]; c++) {
        helio_job_key_t key = harness_job(h, &spec);
        int64_t expected_ms = 1000;
        for (uint32_t i = 0; i < 2 * LOSSES_MAX; i++) {
            const int64_t waits_ms = placed_after_ms(key);
            if (i <= LOSSES_MAX + 1) {
                assert_int_equal(waits_ms, 0);
            } else {
                assert_int_equal(waits_ms, expected_ms);
                expected_ms = 2 * expected_ms < LONGEST_PAUSE_MS ? 2 * expected_ms : LONGEST_PAUSE_MS;
            }
            refuse_for(key, causes[c]);
        }
        assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
        assert_int_equal(harness_row(h, key)->losses, 0);
        assert_int_equal(harness_row(h, key)->site_failures, 0);
        harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key);
    }
}

static void pause__of_a_job_that_is_refused_ends_with_a_run_and_keeps_no_other_pool_from_it(void **state)
{
    (void)state;
    helio_job_spec_t spec = spec_of_long_job();
    helio_job_key_t key = harness_job(h, &spec);
    for (uint32_t i = 0; i < LOSSES_MAX + 4; i++) {
        (void)placed_after_ms(key);
        if (i == LOSSES_MAX + 1) /* the one that refused it last is the last choice */
            assert_int_equal(peer_of(key), SOUTH);
        refuse(key);
    }
    (void)placed_after_ms(key);
    run_and_end(key, HELIO_REPORT_KIND_LOST, 2 * MINUTE_MS);
    for (uint32_t i = 0; i < LOSSES_MAX; i++) {
        assert_int_equal(placed_after_ms(key), 0);
        refuse(key);
    }
}

static void pause__is_for_all_pools_after_more_than_a_class_remembers(void **state)
{
    (void)state;
    enum { SITES = 3, POOLS = 4, FIRST = 3 };
    static const char *const sites[SITES] = {"east", "far-east", "near-east"};
    static const char *const pools[POOLS] = {"a", "b", "c", "d"};
    for (uint32_t s = 0; s < SITES; s++) {
        helio_site_profile_t *east = harness_site(h, sites[s]);
        for (uint32_t i = 0; i < POOLS; i++)
            harness_pool(h, east, pools[i], "B200", 4, 8, 2.0);
        harness_join(h, FIRST + s, east);
    }
    helio_job_spec_t spec = harness_spec(h, "B200", 2);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    uint32_t placed = 0;
    for (; harness_state(h, key) == HELIO_JOB_OFFERED && placed < 10 * SITES * POOLS; placed++) {
        uint32_t at = 0;
        while (at + 1 < SITES && !helio_text_is(harness_row(h, key)->site, sites[at]))
            at++;
        helio_report_t report = end_after(key, HELIO_REPORT_KIND_LOST, 0);
        report.cause = HELIO_CAUSE_WITHDRAWN;
        harness_report(h, FIRST + at, &report);
        harness_tick(h);
    }
    assert_int_equal(placed, 9); /* each of the eight pools that it remembers, and one more */
}

static void pause__is_why_the_job_waits(void **state)
{
    (void)state;
    const helio_job_spec_t spec = spec_of_north();
    helio_job_key_t key = harness_job(h, &spec);
    for (uint32_t i = 0; i < 8; i++) {
        (void)placed_after_ms(key);
        harness_clear(h);
        withdraw(key);
    }
    int64_t until_ms = harness_wall_ms(h) + 64000;
    harness_tick(h);
    const helio_row_class_t *row = harness_take(h, HELIO_BROKER_FX_ROW_CLASS);
    assert_non_null(row);
    assert_true(helio_text_is(row->reason, "WaitingForCapacity"));
    harness_detail(row->details, HELIO_DETAIL_PAUSED_AFTER_LOSSES);
    assert_in_range(row->expected_ms, until_ms, until_ms + 999);
    const helio_row_candidate_t *candidate = harness_take(h, HELIO_BROKER_FX_ROW_CANDIDATE);
    assert_true(candidate && helio_text_is(candidate->rejected_reason, "NoCapacity"));
    harness_detail(candidate->details, HELIO_DETAIL_FAILED_THERE);
    const helio_fx_reply_t *reply = harness_command(h, HELIO_BROKER_EV_EXPLAIN, "acme", HELIO_ROLE_USER, key);
    harness_detail(reply->start_estimate.basis, HELIO_DETAIL_PAUSED_AFTER_LOSSES);
    assert_in_range(reply->start_estimate.latest_ms, until_ms, until_ms + 999);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_joined, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(losses__without_progress_hold_the_job_with_the_twentieth),
        CASE(losses__hold_a_job_from_every_state_in_which_sites_can_end_it),
        CASE(losses__count_across_leaders),
        CASE(losses__of_stops_that_were_asked_for_are_none),
        CASE(losses__of_jobs_that_their_site_forgot_count),
        CASE(losses__of_sites_that_were_lost_count_too),
        CASE(progress__that_the_site_reports_takes_losses_back),
        CASE(progress__takes_quick_failures_back),
        CASE(progress__of_a_job_that_declares_checkpoints_need_not_be_reported),
        CASE(progress__is_neither_units_nor_moments),
        CASE(lie__of_the_length_makes_no_quick_failure_slow),
        CASE(lie__of_the_length_is_cut_by_the_clock_of_the_leader_that_placed_it),
        CASE(pause__of_a_job_whose_attempts_are_withdrawn_doubles_and_never_holds_it),
        CASE(pause__keeps_no_job_from_other_pools),
        CASE(pause__of_a_job_keeps_no_equal_job_waiting),
        CASE(pause__of_a_job_that_is_refused_begins_after_twenty_refusals),
        CASE(pause__of_a_job_that_is_refused_ends_with_a_run_and_keeps_no_other_pool_from_it),
        CASE(pause__is_for_all_pools_after_more_than_a_class_remembers),
        CASE(pause__is_why_the_job_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
