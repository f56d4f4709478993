/*  test_duration.c -- expected run times from past runs: in decisions, in rows, and under the next leader. */
#include <string.h>

#include "federation/base/rng.h"
#include "federation/policy/fair_share.h"
#include "tests/support/core_harness.h"

enum { NORTH = 1, MINUTE = 60000, HOUR = 3600000 };

static harness_t *h;
static helio_site_profile_t *north;

/*  Two pools, of which the H100's is as dear as it is fast. */
static int begin(void **state)
{
    (void)state;
    helio_broker_options_t options = helio_broker_options_default();
    options.silent_after_ms = INT64_C(1000) * HOUR;
    h = harness_begin(&options);
    north = harness_site(h, "north");
    harness_pool(h, north, "a", "H100", 2, 8, 3.17);
    harness_pool(h, north, "b", "A100", 2, 8, 1.0);
    harness_join(h, NORTH, north);
    return 0;
}

static int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

static helio_job_spec_t named(const char *name, const char *model, uint32_t gpus)
{
    helio_job_spec_t spec = harness_spec(h, model, gpus);
    spec.name = helio_text_of(name);
    return spec;
}

/*  Places a job, lets it run for run_ms, and ends it as the report says. */
static void play(const helio_job_spec_t *spec, int64_t run_ms, uint32_t kind, int32_t exit_code, bool limit_reached)
{
    helio_job_key_t key = harness_job(h, spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    harness_advance(h, run_ms);
    if (kind == HELIO_REPORT_KIND_STOPPED)
        harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key);
    helio_report_t report = harness_report_of(h, key, 1, kind);
    report.started_wall_ms = harness_wall_ms(h) - run_ms;
    report.run_ms = report.gpu_ms = (uint64_t)run_ms;
    report.exit_code = exit_code;
    report.limit_reached = limit_reached;
    harness_report(h, NORTH, &report);
    assert_false(harness_is_open(h, key));
    harness_summary(h, NORTH, north, UINT64_MAX, 0);
    harness_clear(h);
}

static void play_well(const char *name, const char *model, int64_t run_ms, int times)
{
    helio_job_spec_t spec = named(name, model, 1);
    for (int i = 0; i < times; i++)
        play(&spec, run_ms, HELIO_REPORT_KIND_ENDED, 0, false);
}

/*  Ten minutes of six hours. */
static void play_long(const char *name, int times)
{
    helio_job_spec_t spec = named(name, "H100", 1);
    spec.time_limit_ms = 6 * (uint64_t)HOUR;
    for (int i = 0; i < times; i++)
        play(&spec, 10 * MINUTE, HELIO_REPORT_KIND_ENDED, 0, false);
}

static const helio_planned_t *plan_at(harness_t *at, const helio_job_spec_t *spec)
{
    helio_submission_t job = harness_submission(at, spec, "", "");
    helio_ev_submit_t event = {.call = 77, .tenant = HELIO_TEXT("acme"), .user = HELIO_TEXT("ada"), .jobs = {&job, 1}};
    harness_step(at, HELIO_BROKER_EV_PLAN, &event);
    const helio_fx_reply_t *reply = harness_take(at, HELIO_BROKER_FX_REPLY);
    assert_non_null(reply);
    assert_int_equal(reply->rc, HELIO_OK);
    return &reply->plan;
}

static const helio_planned_t *plan(const helio_job_spec_t *spec)
{
    return plan_at(h, spec);
}

static const helio_row_candidate_t *candidate(const helio_planned_t *p, const char *pool)
{
    for (uint32_t i = 0; i < p->candidates.count; i++)
        if (helio_text_is(p->candidates.items[i].row.pool, pool))
            return &p->candidates.items[i].row;
    fail_msg("no such pool");
    return NULL;
}

static void assert_about(uint64_t ms, int64_t want_ms)
{
    assert_in_range(ms, (uint64_t)want_ms * 83 / 100, (uint64_t)want_ms * 120 / 100);
}

static void duration__a_start_is_costed_by_the_run_times_of_similar_jobs(void **state)
{
    (void)state;
    helio_job_spec_t spec = named("finetune-9", "H100", 1);
    assert_int_equal(plan(&spec)->run_ms, HOUR); /* the queue's limit: nothing is known */
    assert_int_equal(plan(&spec)->expected_basis, HELIO_DURATION_BASIS_NONE);
    play_well("finetune-1", "H100", 10 * MINUTE, 5);
    const helio_planned_t *p = plan(&spec);
    assert_about(p->run_ms, 10 * MINUTE);
    assert_int_equal(p->time_limit_ms, HOUR);
    assert_int_equal(p->expected_runs, 5);
    assert_true(helio_text_is(p->expected_of, "finetune"));
    assert_about((uint64_t)p->candidates.items[0].row.cost_micro_usd, 3170000 / 6);
    helio_job_key_t key = harness_job(h, &spec);
    const helio_row_job_t *job = harness_take(h, HELIO_BROKER_FX_ROW_JOB);
    assert_int_equal(job->expected_ms, 10 * MINUTE / 100 * 317); /* exactly, as on an A100 */
    assert_int_equal(job->expected_runs, 5);
    assert_int_equal(job->expected_basis, HELIO_DURATION_BASIS_NAME);
    harness_tick(h);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    const helio_row_placement_t *row = harness_take(h, HELIO_BROKER_FX_ROW_PLACEMENT);
    assert_true(helio_text_is(row->gpu_model, "H100"));
    assert_int_equal(row->expected_ms, p->run_ms);
    assert_int_equal(row->planned_cost_micro_usd, p->candidates.items[0].row.cost_micro_usd);
    const helio_fx_order_t *order = harness_take(h, HELIO_BROKER_FX_ORDER);
    assert_int_equal(order->order.time_limit_ms, HOUR); /* it can still take that long */
}

static void duration__every_alternative_has_the_run_time_of_its_gpu_model(void **state)
{
    (void)state;
    play_well("train", "H100", 6 * MINUTE, 4);
    helio_job_spec_t spec = named("train", "H100", 1);
    harness_or(h, &spec, "A100", 1);
    spec.gpus_any = true;
    const helio_planned_t *p = plan(&spec);
    assert_about(candidate(p, "a")->run_ms, 6 * MINUTE);
    assert_about(candidate(p, "b")->run_ms, 19 * MINUTE);
    assert_true(candidate(p, "a")->run_ms < candidate(p, "b")->run_ms);
    /* an hour costs 3.17 times as much where it takes a 3.17th of the time */
    int64_t fast = candidate(p, "a")->cost_micro_usd, slow = candidate(p, "b")->cost_micro_usd;
    assert_in_range(fast, slow * 99 / 100, slow * 101 / 100);
    spec.time_limit_ms = 12 * MINUTE;
    assert_int_equal(candidate(plan(&spec), "b")->run_ms, 12 * MINUTE); /* never more than the limit */
}

/*  Learnt beside an H100, and the same beside an A100. */
static void duration__a_job_without_gpus_takes_as_long_beside_any_model(void **state)
{
    (void)state;
    helio_job_spec_t spec = named("prepare", "H100", 1);
    spec.gpus.count = 0;
    spec.cpus = 1;
    for (int i = 0; i < 4; i++)
        play(&spec, 6 * MINUTE, HELIO_REPORT_KIND_ENDED, 0, false);
    const helio_planned_t *p = plan(&spec);
    assert_int_equal(p->expected_runs, 4);
    assert_about(candidate(p, "a")->run_ms, 6 * MINUTE);
    assert_int_equal(candidate(p, "a")->run_ms, candidate(p, "b")->run_ms);
    (void)harness_job(h, &spec);
    const helio_row_job_t *job = harness_take(h, HELIO_BROKER_FX_ROW_JOB);
    assert_int_equal(job->expected_ms, 6 * MINUTE);
}

static void duration__a_deadline_must_be_met_by_nine_runs_in_ten(void **state)
{
    (void)state;
    helio_job_spec_t spec = named("nightly-1", "H100", 1);
    spec.deadline_wall_ms = harness_wall_ms(h) + 5 * HOUR;
    spec.time_limit_ms = 6 * (uint64_t)HOUR;
    const helio_planned_t *p = plan(&spec);
    assert_true(helio_text_is(p->decision.reason, "Deadline"));
    assert_true(helio_text_is(candidate(p, "a")->rejected_reason, "Deadline"));
    play_long("nightly", 10);
    helio_job_spec_t slow = named("nightly", "H100", 1);
    slow.time_limit_ms = 6 * (uint64_t)HOUR;
    assert_true(helio_text_is(plan(&spec)->decision.reason, ""));
    play(&slow, 2 * HOUR, HELIO_REPORT_KIND_ENDED, 0, false);
    p = plan(&spec); /* one of eleven took two hours: p90 has it, p50 has not */
    assert_about(p->run_ms, 10 * MINUTE);
    assert_about(p->run_high_ms, 2 * HOUR);
    spec.deadline_wall_ms = harness_wall_ms(h) + HOUR;
    assert_true(helio_text_is(candidate(plan(&spec), "a")->rejected_reason, "Deadline"));
    spec.deadline_wall_ms = harness_wall_ms(h) + 3 * HOUR;
    assert_true(helio_text_is(plan(&spec)->decision.reason, ""));
}

static void duration__caps_must_hold_for_nine_runs_in_ten(void **state)
{
    (void)state;
    play_long("cap", 10);
    helio_job_spec_t spec = named("cap", "H100", 1);
    spec.time_limit_ms = 6 * (uint64_t)HOUR;
    spec.max_cost_micro_usd = 2000000;
    assert_true(helio_text_is(plan(&spec)->decision.reason, ""));
    helio_job_spec_t slow = spec;
    slow.max_cost_micro_usd = 0;
    play(&slow, 2 * HOUR, HELIO_REPORT_KIND_ENDED, 0, false);
    const helio_row_candidate_t *c = candidate(plan(&spec), "a");
    assert_true(helio_text_is(c->rejected_reason, "CostCap")); /* about 6 USD, which the text says */
    const helio_detail_t *above = harness_detail(c->details, HELIO_DETAIL_ABOVE_MAX_COST);
    assert_true(helio_detail_value(above, 0).number > 2000000);
}

/*  Ten runs of her other jobs say what to expect of a new one, but not that it may start. */
static void duration__runs_of_other_names_decide_no_caps(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        helio_job_spec_t other = named(i % 2 ? "eval" : "test", "H100", 1);
        other.time_limit_ms = 6 * (uint64_t)HOUR;
        play(&other, 10 * MINUTE, HELIO_REPORT_KIND_ENDED, 0, false);
    }
    helio_job_spec_t spec = named("novel", "H100", 1);
    spec.time_limit_ms = 6 * (uint64_t)HOUR;
    assert_about(plan(&spec)->run_ms, 10 * MINUTE);
    spec.max_cost_micro_usd = 2000000;
    assert_true(helio_text_is(candidate(plan(&spec), "a")->rejected_reason, "CostCap"));
    spec.max_cost_micro_usd = 0;
    spec.deadline_wall_ms = harness_wall_ms(h) + 3 * HOUR;
    assert_true(helio_text_is(candidate(plan(&spec), "a")->rejected_reason, "Deadline"));
}

static void duration__a_job_that_might_delay_the_gang_at_the_head_does_not_start(void **state)
{
    (void)state;
    play_well("short", "H100", MINUTE, 10);
    helio_job_spec_t busy = named("busy", "H100", 8), gang = named("gang", "H100", 8),
                     lower = named("short", "H100", 8);
    busy.time_limit_ms = HOUR;
    helio_job_key_t runs = harness_job(h, &busy);
    harness_tick(h);
    harness_run_up_to(h, NORTH, runs, 1, HELIO_JOB_RUNNING);
    gang.nodes = 2;
    helio_job_key_t waits = harness_job(h, &gang);
    harness_tick(h);
    assert_int_equal(harness_state(h, waits), HELIO_JOB_QUEUED);
    lower.time_limit_ms = 3 * (uint64_t)HOUR; /* a minute, most likely; but it may take three hours */
    helio_job_key_t behind = harness_job(h, &lower);
    harness_tick(h);
    assert_int_equal(harness_state(h, behind), HELIO_JOB_QUEUED);
    lower.time_limit_ms = HOUR / 2; /* over in any case before the busy one must be */
    helio_job_key_t passes = harness_job(h, &lower);
    harness_tick(h);
    assert_int_equal(harness_state(h, passes), HELIO_JOB_OFFERED);
}

static void duration__failed_and_cancelled_runs_are_no_samples_and_timeouts_are(void **state)
{
    (void)state;
    helio_job_spec_t spec = named("x", "H100", 1);
    for (int i = 0; i < 4; i++) {
        play(&spec, MINUTE, HELIO_REPORT_KIND_ENDED, 1, false);
        play(&spec, MINUTE, HELIO_REPORT_KIND_STOPPED, 130, false);
    }
    assert_int_equal(plan(&spec)->expected_basis, HELIO_DURATION_BASIS_NONE);
    for (int i = 0; i < 3; i++)
        play(&spec, HOUR, HELIO_REPORT_KIND_ENDED, 124, true);
    const helio_planned_t *p = plan(&spec);
    assert_int_equal(p->expected_runs, 3);
    assert_int_equal(p->expected_failed, 8);
    assert_int_equal(p->run_ms, HOUR);
}

static void duration__a_job_that_was_placed_twice_is_no_sample(void **state)
{
    (void)state;
    helio_job_spec_t spec = named("twice", "H100", 1);
    spec.retries = 1;
    for (int i = 0; i < 4; i++) {
        helio_job_key_t key = harness_job(h, &spec);
        for (uint32_t epoch = 1; epoch <= 2; epoch++) {
            harness_tick(h);
            harness_run_up_to(h, NORTH, key, epoch, HELIO_JOB_RUNNING);
            harness_advance(h, MINUTE);
            helio_report_t report = harness_report_of(h, key, epoch, HELIO_REPORT_KIND_ENDED);
            report.exit_code = epoch == 1;
            harness_report(h, NORTH, &report);
            harness_summary(h, NORTH, north, UINT64_MAX, 0);
        }
        assert_false(harness_is_open(h, key));
    }
    assert_int_equal(plan(&spec)->expected_basis, HELIO_DURATION_BASIS_NONE);
}

static void duration__only_jobs_of_similar_length_share_a_class(void **state)
{
    (void)state;
    play_well("one", "H100", 10 * MINUTE, 3);
    play_well("two", "H100", 10 * MINUTE + 7000, 3);
    play_well("three", "H100", 45 * MINUTE, 3);
    uint64_t before = harness_figures(h).classes;
    harness_site_command(h, HELIO_BROKER_EV_DRAIN, HELIO_ROLE_ADMIN, "north");
    static const char *const names[] = {"one", "two", "three", "one-2"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        helio_job_spec_t spec = named(names[i], "H100", 1);
        (void)harness_job(h, &spec);
    }
    assert_int_equal(harness_figures(h).classes - before, 2);
}

/* ---- the next leader ----------------------------------------------------------------------------------- */

static void assert_same_plan(harness_t *next, const helio_job_spec_t *spec)
{
    helio_planned_t a = *plan_at(h, spec), b = *plan_at(next, spec);
    assert_int_equal(a.expected_basis, b.expected_basis);
    assert_int_equal(a.expected_runs, b.expected_runs);
    assert_int_equal(a.expected_failed, b.expected_failed);
    assert_int_equal(a.run_ms, b.run_ms);
    assert_int_equal(a.run_high_ms, b.run_high_ms);
    assert_true(helio_text_equal(a.expected_of, b.expected_of));
}

static void rebuild__a_new_leader_expects_the_same_durations(void **state)
{
    (void)state;
    static const char *const names[] = {"a-1", "b", "", "c_3_c"}, *const models[] = {"H100", "A100"};
    helio_rng_t rng = {77};
    for (int round = 0; round < 12; round++) {
        for (int i = 0; i < 60; i++) {
            helio_job_spec_t spec = named(names[helio_rng_below(&rng, 4)], models[helio_rng_below(&rng, 2)], 1);
            spec.kind = (uint32_t)helio_rng_below(&rng, HELIO_JOB_KIND_COUNT);
            uint32_t how = (uint32_t)helio_rng_below(&rng, 8);
            play(&spec, 1000 + (int64_t)helio_rng_below(&rng, HOUR),
                 how == 0 ? HELIO_REPORT_KIND_STOPPED : HELIO_REPORT_KIND_ENDED, how == 1, how == 2);
        }
        harness_t *next = harness_rebuild(h);
        harness_join(next, 20, north);
        for (int i = 0; i < 4; i++)
            for (uint32_t kind = 0; kind < HELIO_JOB_KIND_COUNT; kind++) {
                helio_job_spec_t spec = named(names[i], "H100", 1);
                spec.kind = kind;
                assert_same_plan(next, &spec);
            }
        harness_end(&next);
        end(NULL);
        begin(NULL);
    }
}

static void rebuild__an_open_job_keeps_its_expectation_and_its_class(void **state)
{
    (void)state;
    play_well("kept", "H100", 10 * MINUTE, 3);
    harness_site_command(h, HELIO_BROKER_EV_DRAIN, HELIO_ROLE_ADMIN, "north");
    helio_job_spec_t spec = named("kept", "H100", 1);
    helio_job_key_t key = harness_job(h, &spec);
    uint64_t class_id = ((const helio_row_job_t *)harness_take(h, HELIO_BROKER_FX_ROW_JOB))->class_id;
    harness_t *next = harness_rebuild(h);
    harness_site_command(next, HELIO_BROKER_EV_UNDRAIN, HELIO_ROLE_ADMIN, "north");
    harness_join(next, 20, north);
    harness_tick(next);
    assert_int_equal(harness_state(next, key), HELIO_JOB_OFFERED);
    assert_about(((const helio_row_placement_t *)harness_take(next, HELIO_BROKER_FX_ROW_PLACEMENT))->expected_ms,
                 10 * MINUTE);
    const helio_row_decision_t *decision = harness_take(next, HELIO_BROKER_FX_ROW_DECISION);
    assert_true(decision->class_id == class_id);
    harness_end(&next);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(duration__a_start_is_costed_by_the_run_times_of_similar_jobs),
        CASE(duration__every_alternative_has_the_run_time_of_its_gpu_model),
        CASE(duration__a_job_without_gpus_takes_as_long_beside_any_model),
        CASE(duration__a_deadline_must_be_met_by_nine_runs_in_ten),
        CASE(duration__caps_must_hold_for_nine_runs_in_ten),
        CASE(duration__runs_of_other_names_decide_no_caps),
        CASE(duration__a_job_that_might_delay_the_gang_at_the_head_does_not_start),
        CASE(duration__failed_and_cancelled_runs_are_no_samples_and_timeouts_are),
        CASE(duration__a_job_that_was_placed_twice_is_no_sample),
        CASE(duration__only_jobs_of_similar_length_share_a_class),
        CASE(rebuild__a_new_leader_expects_the_same_durations),
        CASE(rebuild__an_open_job_keeps_its_expectation_and_its_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
