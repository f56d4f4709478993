/*  test_spot.c -- spot capacity: who goes there, what the explanation says, and what an interruption does to the job. */
#include "tests/unit/broker/core/observed_run_testing.h"

#include "federation/reason/codes.h"

enum { MINUTE = 60000 };

/*  North sells spot capacity for 1 USD that is 3 on demand, south has the same GPUs on demand for 2. */
static int begin(void **state)
{
    (void)begin_apart(state);
    helio_pool_t *spot = harness_pool(h, north, "spot", "H100", 4, 8, 3.0);
    spot->spot = true;
    spot->spot_usd_per_gpu_h = 1;
    spot->interruptions_per_h = 0.05;
    harness_pool(h, south, "a", "H100", 4, 8, 2.0);
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    return 0;
}

static helio_job_spec_t spec_of(uint64_t every_ms)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 2);
    spec.time_limit_ms = 10 * (uint64_t)HOUR_MS;
    spec.checkpoint_every_ms = every_ms;
    spec.goal = HELIO_GOAL_CHEAP; /* 5 cents per GPU-hour of waiting */
    return spec;
}

static const helio_row_candidate_t *candidate(const helio_job_spec_t *spec, const char *site)
{
    helio_submission_t job = harness_submission(h, spec, "", "");
    helio_ev_submit_t event = {.call = 77, .tenant = HELIO_TEXT("acme"), .user = HELIO_TEXT("ada"), .jobs = {&job, 1}};
    harness_step(h, HELIO_BROKER_EV_PLAN, &event);
    const helio_fx_reply_t *reply = harness_take(h, HELIO_BROKER_FX_REPLY);
    for (uint32_t i = 0; i < reply->plan.candidates.count; i++)
        if (helio_text_is(reply->plan.candidates.items[i].row.site, site))
            return &reply->plan.candidates.items[i].row;
    fail();
    return NULL;
}

static bool placed_at(const helio_job_spec_t *spec, const char *site)
{
    helio_job_key_t key = harness_job(h, spec);
    harness_tick(h);
    return harness_state(h, key) == HELIO_JOB_OFFERED && helio_text_is(harness_row(h, key)->site, site);
}

static void spot__takes_jobs_with_checkpoints_for_its_discount(void **state)
{
    (void)state;
    helio_job_spec_t saves = spec_of(30 * MINUTE), loses = spec_of(0);
    assert_true(placed_at(&saves, "north"));
    assert_true(placed_at(&loses, "south"));
    saves.spot = HELIO_SPOT_NEVER;
    assert_true(placed_at(&saves, "south"));
    assert_true(helio_text_is(candidate(&saves, "north")->rejected_reason, "NoSpot"));
    assert_non_null(harness_detail(candidate(&saves, "north")->details, HELIO_DETAIL_SPOT_NEEDS_CONSENT));
}

static void spot__says_what_it_expects_to_lose(void **state)
{
    (void)state;
    helio_job_spec_t saves = spec_of(30 * MINUTE);
    const helio_row_candidate_t *row = candidate(&saves, "north");
    const helio_detail_t *risk = harness_detail(row->details, HELIO_DETAIL_SPOT_RISK);
    assert_non_null(risk);
    /* 0.05/h x (15 + 1) min = 1.3 %, rounded up, of 20 USD and of 20 GPU-hours later at 0.05 USD */
    harness_assert_value(risk, "redo_percent", "2 %");
    harness_assert_value(risk, "loss_usd", "$0.28");
    harness_assert_value(risk, "on_demand_usd", "$3.00");
    assert_int_equal(row->cost_micro_usd, 20000000);
    assert_int_equal(row->risk_micro_usd, 279993);
    assert_int_equal(candidate(&saves, "south")->risk_micro_usd, 0);
}

static void spot__a_hazard_that_eats_the_discount_keeps_jobs_away(void **state)
{
    (void)state;
    harness_gone(h, NORTH);
    north->pools.items[0].interruptions_per_h = 4; /* a quarter of an hour each */
    harness_join(h, 10, north);
    helio_job_spec_t saves = spec_of(30 * MINUTE);
    assert_true(placed_at(&saves, "south"));
}

static helio_report_t interrupted(helio_job_key_t key, uint32_t kind, uint32_t cause, uint64_t run_ms)
{
    helio_report_t report = harness_report_of(h, key, harness_row(h, key)->epoch, kind);
    report.cause = cause;
    report.run_ms = run_ms;
    report.gpu_ms = 2 * run_ms;
    report.saved_run_ms = run_ms;
    report.started_wall_ms = report.ended_wall_ms - (int64_t)run_ms;
    return report;
}

static void spot__an_interruption_requeues_and_counts_no_failure(void **state)
{
    (void)state;
    static const struct {
        uint32_t kind, cause;
    } ends[] = {{HELIO_REPORT_KIND_STOPPED, HELIO_CAUSE_PREEMPTED}, /* after a notice */
                {HELIO_REPORT_KIND_LOST, HELIO_CAUSE_NODE_FAILED},  /* without one */
                {HELIO_REPORT_KIND_LOST, HELIO_CAUSE_VANISHED}};
    helio_job_spec_t saves = spec_of(30 * MINUTE);
    harness_strings(h, &saves.sites, (const char *[]){"north", NULL});
    helio_job_key_t key = harness_job(h, &saves);
    for (uint32_t i = 0; i < 9; i++) { /* each within a minute */
        pass(6 * MINUTE);              /* as long as it pauses at most */
        harness_tick(h);
        assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
        harness_run_up_to(h, NORTH, key, harness_row(h, key)->epoch, HELIO_JOB_RUNNING);
        harness_advance(h, 20000);
        helio_report_t report = interrupted(key, ends[i % 3].kind, ends[i % 3].cause, 20000);
        harness_report(h, NORTH, &report);
        assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
        assert_int_equal(harness_row(h, key)->site_failures, 0);
    }
}

/*  A pool that is the last choice does not grow for its class, so that must not last. */
static void spot__an_interruption_is_forgotten_within_seconds(void **state)
{
    (void)state;
    helio_job_spec_t saves = spec_of(30 * MINUTE);
    helio_job_key_t key = harness_job(h, &saves);
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    pass(20000);
    helio_report_t report = interrupted(key, HELIO_REPORT_KIND_LOST, HELIO_CAUSE_VANISHED, 20000);
    harness_report(h, NORTH, &report);
    assert_true(placed_at(&saves, "south"));
    pass(11000);
    assert_true(placed_at(&saves, "north"));
}

static void spot__what_ran_is_charged_at_the_spot_price(void **state)
{
    (void)state;
    helio_job_spec_t saves = spec_of(30 * MINUTE);
    helio_job_key_t key = harness_job(h, &saves);
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    pass(HOUR_MS);
    harness_clear(h);
    helio_report_t report = interrupted(key, HELIO_REPORT_KIND_STOPPED, HELIO_CAUSE_PREEMPTED, HOUR_MS);
    harness_report(h, NORTH, &report);
    int64_t cost = 0;
    for (const helio_row_ledger_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER));)
        cost += row->cost_micro_usd;
    assert_int_equal(cost, 2000000);
    assert_int_equal(harness_state(h, key), HELIO_JOB_QUEUED);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(spot__takes_jobs_with_checkpoints_for_its_discount),
        CASE(spot__says_what_it_expects_to_lose),
        CASE(spot__a_hazard_that_eats_the_discount_keeps_jobs_away),
        CASE(spot__an_interruption_requeues_and_counts_no_failure),
        CASE(spot__an_interruption_is_forgotten_within_seconds),
        CASE(spot__what_ran_is_charged_at_the_spot_price),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
