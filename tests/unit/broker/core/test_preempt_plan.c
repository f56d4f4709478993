/*  test_preempt_plan.c -- plans with preemption: the victims and the start that they show. A plan preempts nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/rng.h"
#include "tests/support/core_harness.h"

enum { NORTH = 1, HOUR = 3600000 };

static harness_t *h;
static helio_site_profile_t *north;

static int begin(void **state)
{
    (void)state;
    helio_broker_options_t options = helio_broker_options_default();
    options.silent_after_ms = INT64_C(1000) * HOUR;
    h = harness_begin(&options);
    north = harness_site(h, "north");
    return 0;
}

static int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

static helio_job_spec_t spec_of(const char *queue, uint32_t gpus)
{
    helio_job_spec_t spec = harness_spec(h, "H100", gpus);
    spec.queue = helio_text_of(queue);
    return spec;
}

static helio_job_key_t of(const char *tenant, const helio_job_spec_t *spec)
{
    const helio_fx_reply_t *reply = harness_submit(h, tenant, spec);
    assert_int_equal(reply->rc, HELIO_OK);
    return (helio_job_key_t){reply->jobs.items[0].job, HELIO_NO_TASK};
}

static helio_job_key_t run(const char *tenant, const helio_job_spec_t *spec)
{
    helio_job_key_t key = of(tenant, spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    return key;
}

static helio_fx_reply_t plan(const char *tenant, const helio_job_spec_t *spec)
{
    helio_submission_t job = harness_submission(h, spec, "", "");
    helio_ev_submit_t event = {
        .call = 77, .tenant = helio_text_of(tenant), .user = HELIO_TEXT("ada"), .jobs = {&job, 1}};
    harness_clear(h);
    harness_step(h, HELIO_BROKER_EV_PLAN, &event);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_STOP), 0);
    const helio_fx_reply_t *reply = harness_take(h, HELIO_BROKER_FX_REPLY);
    assert_non_null(reply);
    assert_int_equal(reply->rc, HELIO_OK);
    return *reply;
}

static void assert_text(helio_text_t text, const char *expected)
{
    char copy[400];
    (void)snprintf(copy, sizeof copy, "%.*s", HELIO_TEXT_ARGS(text));
    assert_string_equal(copy, expected);
}

static void plan__counts_the_victims_by_queue_and_has_the_start(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 1.5);
    harness_join(h, NORTH, north);
    helio_job_spec_t low = spec_of("batch", 4);
    helio_job_key_t first = run("acme", &low), second = run("acme", &low);
    harness_wait(h, 5000);
    helio_job_spec_t urgent = spec_of("express", 8);
    helio_fx_reply_t reply = plan("other", &urgent);
    assert_text(reply.plan.decision.reason, "WaitingForCapacity");
    assert_string_equal(harness_facts(h, reply.plan.decision.details),
                        "ExpectedStart site=north pool=a at=2026-03-01T00:00:05Z; WouldPreempt jobs=2 queue=batch");
    assert_text(reply.plan.decision.chosen_site, "north");
    assert_text(reply.plan.candidates.items[0].row.rejected_reason, "");
    assert_string_equal(harness_facts(h, reply.plan.candidates.items[0].row.details),
                        "WouldPreempt jobs=2 queue=batch");
    assert_true(reply.plan.candidates.items[0].row.start_ms == harness_wall_ms(h));
    assert_true(reply.plan.expected_ms == harness_wall_ms(h));
    assert_true(reply.start_estimate.latest_ms == harness_wall_ms(h));
    assert_int_equal(harness_state(h, first), HELIO_JOB_RUNNING);
    assert_int_equal(harness_state(h, second), HELIO_JOB_RUNNING);
    assert_int_equal(harness_figures(h).preemptions_total[HELIO_PREEMPT_CAUSE_TIER], 0);
    (void)of("other", &urgent);
    harness_tick(h);
    assert_int_equal(harness_state(h, first), HELIO_JOB_STOPPING);
    assert_int_equal(harness_state(h, second), HELIO_JOB_STOPPING);
}

static void plan__starts_when_victims_with_grace_have_left(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 0);
    harness_join(h, NORTH, north);
    helio_job_spec_t train = spec_of("standard", 8);
    train.checkpoint_signal = HELIO_TEXT("USR1");
    train.checkpoint_grace_ms = 90000;
    (void)run("acme", &train);
    helio_job_spec_t urgent = spec_of("express", 8);
    /* it has just begun, and is left alone for twenty seconds */
    helio_fx_reply_t reply = plan("other", &urgent);
    assert_true(reply.plan.expected_ms == harness_wall_ms(h) + HELIO_PREEMPT_PROTECTION_STANDARD_MS + 90000);
    harness_wait(h, 60000);
    reply = plan("other", &urgent);
    assert_string_equal(harness_facts(h, reply.plan.decision.details),
                        "ExpectedStart site=north pool=a at=2026-03-01T00:02:30Z; WouldPreempt jobs=1 queue=standard");
    assert_true(reply.plan.expected_ms == harness_wall_ms(h) + 90000);
    assert_true(reply.start_estimate.earliest_ms == harness_wall_ms(h));
    assert_true(reply.start_estimate.latest_ms == harness_wall_ms(h) + 90000);
    /* if it can preempt nothing, the plan shows how long the others can run, and which queue could */
    helio_job_spec_t equal = spec_of("standard", 8);
    reply = plan("other", &equal);
    assert_null(helio_details_find(&reply.plan.decision.details, HELIO_DETAIL_WOULD_PREEMPT));
    assert_text(reply.plan.decision.chosen_site, "");
    assert_int_equal(reply.start_estimate.hints.count, 1);
    const helio_hint_t *hint = &reply.start_estimate.hints.items[0];
    assert_true(harness_says(h, &hint->change, "\"TryQueue\",\"params\":{\"queue\":\"express\"}"));
    assert_true(
        harness_says(h, &hint->effect, "{\"code\":\"StartsBy\",\"params\":{\"site\":\"north\",\"pool\":\"a\","));
    assert_true(harness_says(h, &hint->effect, "\"at\":\"2026-03-01T00:02:30"));
    assert_non_null(strstr(harness_facts(h, hint->effect), "WouldPreempt jobs=1 queue=standard"));
    assert_int_equal(harness_figures(h).preemptions_total[HELIO_PREEMPT_CAUSE_TIER], 0);
}

/*  A document of an older release, which no reader has cut, keeps nobody waiting for longer than the most. */
static void plan__no_grace_keeps_others_waiting_for_days(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 0);
    harness_join(h, NORTH, north);
    helio_job_spec_t train = spec_of("standard", 8);
    train.checkpoint_grace_ms = UINT64_C(300) * 86400000;
    (void)run("acme", &train);
    helio_job_spec_t urgent = spec_of("express", 8);
    harness_wait(h, 60000);
    helio_fx_reply_t reply = plan("other", &urgent);
    assert_true(reply.plan.expected_ms == harness_wall_ms(h) + HELIO_JOB_GRACE_MAX_MS);
}

static void plan__over_its_quota_would_preempt_nothing(void **state)
{
    (void)state;
    harness_pool(h, north, "a", "H100", 1, 8, 0);
    harness_join(h, NORTH, north);
    helio_job_spec_t low = spec_of("batch", 8), urgent = spec_of("express", 8);
    (void)run("acme", &low);
    harness_wait(h, 5000);
    (void)harness_quota(h, "other", "", -1, 4, -1);
    helio_fx_reply_t reply = plan("other", &urgent);
    assert_text(reply.plan.decision.reason, "PolicyCap");
}

/*  "would preempt 2 jobs of queue batch and 1 job of queue standard at …": 3 */
/*  How many jobs the plan would preempt. */
static uint64_t named_in(helio_details_t details)
{
    uint64_t named = 0;
    for (uint32_t i = 0; i < details.items.count; i++)
        if (details.items.items[i].code == HELIO_DETAIL_WOULD_PREEMPT)
            named += (uint64_t)helio_detail_value(&details.items.items[i], 0).number;
    return named;
}

/*  Whatever runs: as many jobs as the plan names leave when the job comes, and by then. */
static void property__the_victims_of_a_plan_leave_when_the_job_is_submitted(void **state)
{
    helio_rng_t rng = {17};
    uint32_t preempted = 0, not = 0;
    static const char *const queues[] = {"batch", "standard", "express"};
    for (int round = 0; round < 200; round++) {
        harness_pool(h, north, "a", "H100", 1 + (uint32_t)helio_rng_below(&rng, 2), 8, 0);
        harness_join(h, NORTH, north);
        for (int i = 0; i < 12; i++) {
            helio_job_spec_t spec = spec_of(queues[helio_rng_below(&rng, 2)], 1 + (uint32_t)helio_rng_below(&rng, 8));
            spec.checkpoint_grace_ms = 1000 * (1 + helio_rng_below(&rng, 60));
            helio_job_key_t key = of("acme", &spec);
            harness_tick(h);
            if (harness_state(h, key) == HELIO_JOB_OFFERED)
                harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
            else
                (void)harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key);
            harness_wait(h, (int64_t)helio_rng_below(&rng, 40000));
        }
        helio_job_spec_t spec = spec_of(queues[1 + helio_rng_below(&rng, 2)], 1 + (uint32_t)helio_rng_below(&rng, 8));
        harness_wait(h, 30000); /* the minimum-runtime protection is over */
        helio_fx_reply_t reply = plan("other", &spec);
        uint64_t named = named_in(reply.plan.decision.details);
        int64_t expected_ms = reply.plan.expected_ms;
        uint64_t before = harness_figures(h).preemptions_total[HELIO_PREEMPT_CAUSE_TIER];
        helio_job_key_t key = of("other", &spec);
        harness_tick(h);
        assert_true(harness_figures(h).preemptions_total[HELIO_PREEMPT_CAUSE_TIER] - before == named);
        const helio_row_class_t *row, *last = NULL;
        while ((row = harness_take(h, HELIO_BROKER_FX_ROW_CLASS)))
            last = row;
        assert_true(!named || harness_state(h, key) == HELIO_JOB_QUEUED);
        assert_true(!named || (last && last->expected_ms == expected_ms));
        preempted += named > 0;
        not += named == 0;
        end(state);
        begin(state);
    }
    print_message("%u of them preempt, %u do not\n", preempted, not );
    assert_true(preempted > 20 && not > 20);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(plan__counts_the_victims_by_queue_and_has_the_start),
        CASE(plan__starts_when_victims_with_grace_have_left),
        CASE(plan__no_grace_keeps_others_waiting_for_days),
        CASE(plan__over_its_quota_would_preempt_nothing),
        CASE(property__the_victims_of_a_plan_leave_when_the_job_is_submitted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
