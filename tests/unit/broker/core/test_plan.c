/*  test_plan.c -- a plan is the decision that would be made, and changes nothing. */
#include <stdio.h>
#include <string.h>

#include "federation/base/rng.h"
#include "tests/support/core_harness.h"

enum { NORTH = 1, SOUTH = 2, WEST = 3, HOUR = 3600000 };

static harness_t *h;
static helio_site_profile_t *sites[3];

static int begin(void **state)
{
    (void)state;
    helio_broker_options_t options = helio_broker_options_default();
    options.silent_after_ms = INT64_C(1000) * HOUR;
    h = harness_begin(&options);
    static const char *const names[] = {"north", "south", "west"};
    for (int i = 0; i < 3; i++) {
        sites[i] = harness_site(h, names[i]);
        helio_pool_t *pool = harness_pool(h, sites[i], "a", "H100", 4, 8, 1.5 + i);
        pool->base_w = 700;
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

static void join(void)
{
    for (uint32_t i = 0; i < 3; i++)
        harness_join(h, NORTH + i, sites[i]);
}

static const helio_fx_reply_t *asked(helio_ev_submit_t event)
{
    event.call = 77;
    event.user = HELIO_TEXT("ada");
    harness_step(h, HELIO_BROKER_EV_PLAN, &event);
    const helio_fx_reply_t *reply = harness_take(h, HELIO_BROKER_FX_REPLY);
    assert_non_null(reply);
    assert_true(reply->call == 77);
    return reply;
}

static const helio_fx_reply_t *plan_of(const char *tenant, helio_submission_t *jobs, uint32_t count)
{
    return asked((helio_ev_submit_t){.tenant = helio_text_of(tenant), .jobs = {jobs, count}});
}

/*  price_per_mille: UINT32_MAX = the site drains. */
static const helio_planned_t *plan_supposing(const helio_job_spec_t *spec, const char *site, uint32_t price_per_mille)
{
    helio_submission_t job = harness_submission(h, spec, "", "");
    bool drain = price_per_mille == UINT32_MAX;
    const helio_fx_reply_t *reply = asked((helio_ev_submit_t){.tenant = HELIO_TEXT("acme"),
                                                              .jobs = {&job, 1},
                                                              .supposed_site = helio_text_of(site),
                                                              .supposed_drain = drain,
                                                              .supposed_price_per_mille = drain ? 0 : price_per_mille});
    assert_int_equal(reply->rc, HELIO_OK);
    return &reply->plan;
}

static const helio_planned_t *plan(const helio_job_spec_t *spec)
{
    helio_submission_t job = harness_submission(h, spec, "", "");
    const helio_fx_reply_t *reply = plan_of("acme", &job, 1);
    assert_int_equal(reply->rc, HELIO_OK);
    return &reply->plan;
}

static void tell(uint64_t peer, uint32_t hours, const double *values)
{
    static uint64_t seq = 5000;
    double *copy = helio_arena_alloc(harness_arena(h), hours, sizeof *copy);
    memcpy(copy, values, hours * sizeof *copy);
    helio_series_t series = {.signal = HELIO_SIGNAL_CARBON,
                             .issued_wall_ms = harness_wall_ms(h),
                             .start_wall_ms = harness_wall_ms(h) - harness_wall_ms(h) % HOUR,
                             .step_s = 3600,
                             .values = {copy, hours}};
    helio_ev_site_summary_t event = {
        .peer = peer, .summary = {.seq = ++seq, .dispatch_seen = 0, .series = {&series, 1}, .power_w = -1}};
    harness_step(h, HELIO_BROKER_EV_SITE_SUMMARY, &event);
}

static void plan__has_the_pool_its_cost_and_why_not_elsewhere(void **state)
{
    (void)state;
    join();
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.nodes = 2;
    spec.max_cost_micro_usd = 48000000;
    spec.goal = HELIO_GOAL_BALANCED;
    const helio_planned_t *p = plan(&spec);
    assert_true(helio_text_is(p->decision.chosen_site, "north"));
    assert_true(helio_text_is(p->decision.reason, ""));
    assert_true(helio_text_is(p->decision.policy_version, HELIO_POLICY_VERSION));
    assert_true(p->expected_ms == harness_wall_ms(h));
    assert_int_equal(p->gpus, 16);
    assert_int_equal(p->nodes, 2);
    assert_int_equal(p->run_ms, HOUR); /* the queue's default */
    assert_int_equal(p->candidates.count, 3);
    static const struct {
        const char *site, *reason, *facts;
        int64_t cost;
    } expected[] = {{"north", "", "", 24000000},
                    {"south", "", "", 40000000},
                    {"west", "CostCap", "AboveMaxCost cost_usd=$56.00 max_cost_usd=$48.00", 56000000}};
    for (int i = 0; i < 3; i++) {
        const helio_planned_candidate_t *c = &p->candidates.items[i];
        assert_true(helio_text_is(c->row.site, expected[i].site));
        assert_true(helio_text_is(c->row.rejected_reason, expected[i].reason));
        assert_string_equal(harness_facts(h, c->row.details), expected[i].facts);
        assert_int_equal(c->row.cost_micro_usd, expected[i].cost);
        assert_int_equal(c->row.carbon_micro_usd, 224000); /* 11.2 kWh x 100 g x 200 USD/t */
        assert_int_equal(c->row.score_micro_usd, expected[i].cost + 224000);
        assert_true(helio_text_is(c->backend, "local"));
    }
}

static void plan__changes_nothing(void **state)
{
    (void)state;
    join();
    tell(NORTH, 4, (double[]){500, 500, 10, 500});
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.goal = HELIO_GOAL_GREEN;
    spec.flexible_ms = 5 * HOUR;
    harness_tick(h);
    harness_clear(h);
    helio_broker_figures_t before = harness_figures(h);
    for (int i = 0; i < 3; i++) {
        (void)plan(&spec);
        (void)plan_supposing(&spec, "north", UINT32_MAX);
        (void)plan_supposing(&spec, "north", 5000);
    }
    harness_wait(h, 4 * HOUR);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_DECISION), 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_CANDIDATE), 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_CLASS), 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ORDER), 0);
    helio_broker_figures_t after = harness_figures(h);
    assert_int_equal(after.sites_ready, 0); /* nothing was heard of them for hours */
    after.sites_ready = before.sites_ready;
    assert_memory_equal(&before, &after, sizeof before);
}

static void plan__of_a_job_that_cannot_start_now_has_an_expected_time(void **state)
{
    (void)state;
    join();
    for (uint32_t i = 0; i < 3; i++)
        harness_summary(h, NORTH + i, sites[i], 0, 4);
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    const helio_planned_t *p = plan(&spec);
    assert_true(helio_text_is(p->decision.reason, "WaitingForCapacity"));
    assert_true(helio_text_is(p->decision.chosen_site, ""));
    for (int i = 0; i < 3; i++) {
        assert_true(helio_text_is(p->candidates.items[i].row.rejected_reason, "NoCapacity"));
        assert_string_equal(harness_facts(h, p->candidates.items[i].row.details), "NoGPUFree");
    }
    spec.gpus.items[0].model = HELIO_TEXT("B300");
    p = plan(&spec);
    assert_true(helio_text_is(p->decision.reason, "NeverFits"));
    for (int i = 0; i < 3; i++)
        assert_true(helio_text_is(p->candidates.items[i].row.rejected_reason, "NoSuchGPU"));
}

static void plan__of_a_job_with_a_begin_time_is_for_that_time(void **state)
{
    (void)state;
    join();
    tell(NORTH, 6, (double[]){10, 10, 10, 10, 10, 900});
    tell(SOUTH, 6, (double[]){900, 900, 900, 900, 900, 10});
    tell(WEST, 6, (double[]){900, 900, 900, 900, 900, 900});
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.goal = HELIO_GOAL_GREEN;
    assert_true(helio_text_is(plan(&spec)->decision.chosen_site, "north"));
    int64_t at_ms = harness_wall_ms(h) + 5 * HOUR;
    spec.not_before_wall_ms = at_ms;
    const helio_planned_t *p = plan(&spec);
    assert_true(helio_text_is(p->decision.reason, "Gated"));
    assert_true(helio_text_is(p->decision.chosen_site, "south"));
    assert_true(p->expected_ms == at_ms);
    assert_true(p->candidates.items[0].row.start_ms == at_ms);
    assert_non_null(strstr(harness_facts(h, p->decision.details), "BeginTime at=2026-03-01T05:00:00Z"));
    spec.not_before_wall_ms = harness_wall_ms(h) - HOUR; /* that has come */
    assert_true(helio_text_is(plan(&spec)->decision.reason, ""));
}

/*  Word for word, and code for code. */
static void plan__of_an_impossible_deadline_has_the_text_of_a_submission(void **state)
{
    (void)state;
    join();
    helio_job_spec_t spec = harness_spec(h, "H100", 8); /* an hour */
    spec.deadline_wall_ms = harness_wall_ms(h) + HOUR - 1000;
    const helio_planned_t *p = plan(&spec);
    assert_true(helio_text_is(p->decision.reason, "Deadline"));
    assert_int_equal(p->decision.chosen_site.size, 0);
    const helio_fx_reply_t *reply = harness_submit(h, "acme", &spec);
    assert_true(helio_text_is(reply->reason, "Deadline"));
    const helio_detail_t *planned = helio_details_find(&p->decision.details, HELIO_DETAIL_DEADLINE_MISSED),
                         *refused = helio_details_find(&reply->details, HELIO_DETAIL_DEADLINE_MISSED);
    assert_true(planned && refused && helio_record_equal(&helio_detail_type, planned, refused));
    assert_non_null(helio_details_find(&p->decision.details, HELIO_DETAIL_DEADLINE_REMEDY));
    spec.deadline_wall_ms = harness_wall_ms(h) - HOUR; /* no run is short enough */
    p = plan(&spec);
    assert_non_null(helio_details_find(&p->decision.details, HELIO_DETAIL_DEADLINE_REMEDY_LATER));
    reply = harness_submit(h, "acme", &spec);
    assert_non_null(helio_details_find(&reply->details, HELIO_DETAIL_DEADLINE_REMEDY_LATER));
    assert_null(helio_details_find(&reply->details, HELIO_DETAIL_DEADLINE_REMEDY));
    spec.deadline_wall_ms = harness_wall_ms(h) + HOUR; /* it would end in time */
    assert_true(helio_text_is(plan(&spec)->decision.reason, ""));
}

static void plan__of_a_dependent_job_has_the_latest_end_of_its_dependencies(void **state)
{
    (void)state;
    join();
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    helio_job_key_t first = harness_job(h, &spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, first, 1, HELIO_JOB_RUNNING);
    harness_after_t after = {HELIO_AFTER_OK, first};
    helio_submission_t job = harness_dependent(h, &spec, &after, 1);
    const helio_fx_reply_t *reply = plan_of("acme", &job, 1);
    assert_int_equal(reply->rc, HELIO_OK);
    assert_true(helio_text_is(reply->plan.decision.reason, "Gated"));
    assert_true(reply->plan.expected_ms == harness_wall_ms(h) + HOUR);
    assert_true(harness_says(h, &reply->start_estimate.basis,
                             "\"StartDependenciesEnd\",\"params\":{\"jobs\":1,\"end\":\"2026-03-01T01:00:00"));
    helio_job_key_t waits = harness_job_after(h, &spec, HELIO_AFTER_OK, first); /* the end of that one is unknown */
    after.on = waits;
    job = harness_dependent(h, &spec, &after, 1);
    reply = plan_of("acme", &job, 1);
    assert_true(helio_text_is(reply->plan.decision.reason, "Gated"));
    assert_true(reply->plan.expected_ms == 0);
    assert_true(harness_says(h, &reply->start_estimate.basis, "\"StartDependenciesOpen\",\"params\":{\"jobs\":1}"));
    int64_t tomorrow_ms = harness_wall_ms(h) + 24 * HOUR;
    spec.not_before_wall_ms = tomorrow_ms;
    after.on = harness_job(h, &spec); /* that it does not begin before is known */
    spec.not_before_wall_ms = 0;
    job = harness_dependent(h, &spec, &after, 1);
    reply = plan_of("acme", &job, 1);
    assert_true(reply->start_estimate.earliest_ms == tomorrow_ms);
    assert_true(harness_says(h, &reply->start_estimate.basis,
                             "\"StartDependenciesOpen\",\"params\":{\"jobs\":1,\"begin\":\"2026-03-02T"));
    after.after = HELIO_AFTER_ANY; /* a cancel would do */
    job = harness_dependent(h, &spec, &after, 1);
    assert_true(plan_of("acme", &job, 1)->start_estimate.earliest_ms < tomorrow_ms);
    job.depends.items[0].found = HELIO_FOUND_UNKNOWN;
    assert_int_equal(plan_of("acme", &job, 1)->rc, HELIO_INVALID);
    after.on = waits;
    job = harness_dependent(h, &spec, &after, 1);
    (void)harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, waits); /* after its look-up */
    reply = plan_of("acme", &job, 1);
    assert_int_equal(reply->rc, HELIO_OK);
    assert_false(helio_text_is(reply->plan.decision.reason, "Gated"));
}

static void plan__of_a_job_whose_dependency_has_failed_says_that_it_would_be_cancelled(void **state)
{
    (void)state;
    join();
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    helio_job_key_t first = harness_job(h, &spec);
    const struct {
        uint32_t after;
        helio_found_t found;
        const char *outcome; /* NULL: it would start */
    } cases[] = {
        {HELIO_AFTER_OK, HELIO_FOUND_NOT_OK, "did not succeed"},
        {HELIO_AFTER_OK, HELIO_FOUND_OK, NULL},
        {HELIO_AFTER_NOT_OK, HELIO_FOUND_OK, "succeeded"},
        {HELIO_AFTER_NOT_OK, HELIO_FOUND_NOT_OK, NULL},
        {HELIO_AFTER_ANY, HELIO_FOUND_NOT_OK, NULL},
        {HELIO_AFTER_START, HELIO_FOUND_NOT_OK, NULL},
    };
    (void)harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, first);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        harness_after_t after = {cases[i].after, first};
        helio_submission_t job = harness_dependent(h, &spec, &after, 1);
        job.depends.items[0].found = cases[i].found;
        const helio_fx_reply_t *reply = plan_of("acme", &job, 1);
        assert_int_equal(reply->rc, HELIO_OK);
        assert_true(helio_text_is(reply->plan.decision.reason, cases[i].outcome ? "DependencyFailed" : ""));
        assert_true((reply->plan.decision.chosen_site.size > 0) == !cases[i].outcome);
        if (!cases[i].outcome)
            continue;
        char id[HELIO_KEY_SIZE], expected[200];
        helio_job_key_text(first, id);
        (void)snprintf(expected, sizeof expected, "PlanCancelled job_id=%s outcome=%s", id, cases[i].outcome);
        assert_string_equal(harness_facts(h, reply->plan.decision.details), expected);
        assert_true(reply->plan.expected_ms == 0);
    }
}

static void assert_silent(const char *facts)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    const helio_planned_t *p = plan(&spec);
    for (uint32_t i = 0; i < p->candidates.count; i++) {
        const helio_row_candidate_t *row = &p->candidates.items[i].row;
        if (!helio_text_is(row->site, "north"))
            continue;
        assert_true(helio_text_is(row->rejected_reason, facts[0] ? "SiteSilent" : ""));
        assert_string_equal(harness_facts(h, row->details), facts);
        return;
    }
    fail();
}

static void plan__says_what_a_site_that_is_not_ready_lacks(void **state)
{
    (void)state;
    harness_join(h, SOUTH, sites[1]);
    harness_join(h, NORTH, sites[0]);
    assert_silent("");
    harness_gone(h, NORTH);
    assert_silent("SiteNoSession");
    harness_hello(h, WEST + 1, sites[0]);
    assert_silent("SiteNoInventory");
    harness_inventory(h, WEST + 1, NULL, 0);
    assert_silent("SiteNoFigures");
    harness_summary(h, WEST + 1, sites[0], 0, 0);
    assert_silent("");
}

static void plan__has_hints(void **state)
{
    (void)state;
    join();
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.max_cost_micro_usd = 1000000;
    helio_submission_t job = harness_submission(h, &spec, "", "");
    const helio_start_estimate_t *p = &plan_of("acme", &job, 1)->start_estimate;
    assert_int_equal(p->hints.count, 1);
    assert_int_equal(p->hints.items[0].kind, HELIO_HINT_KIND_MAX_COST);
    assert_true(harness_says(h, &p->hints.items[0].change, "\"TryMaxCost\",\"params\":{\"max_cost_usd\":12.0}"));
    spec.max_cost_micro_usd = 12000000; /* it is true */
    assert_true(helio_text_is(plan(&spec)->decision.chosen_site, "north"));
    assert_true(helio_text_is(plan(&spec)->decision.reason, ""));
    spec.max_cost_micro_usd = 0;
    harness_strings(h, &spec.sites, (const char *const[]){"nowhere", NULL});
    job = harness_submission(h, &spec, "", "");
    p = &plan_of("acme", &job, 1)->start_estimate;
    assert_int_equal(p->hints.count, 1);
    assert_int_equal(p->hints.items[0].kind, HELIO_HINT_KIND_SITES);
}

static const helio_planned_t *plan_array(uint32_t tasks, uint32_t at_once)
{
    static const uint32_t indices[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.tasks.items = (uint32_t *)(uintptr_t)indices;
    spec.tasks.count = tasks;
    spec.tasks_at_once = at_once;
    const helio_planned_t *p = plan(&spec);
    assert_int_equal(p->tasks, tasks);
    return p;
}

static void plan__of_an_array_counts_the_starts_and_explains_the_rest(void **state)
{
    (void)state;
    join(); /* three sites of four nodes with 8 GPUs each */
    assert_int_equal(plan_array(0, 0)->tasks_now, 0);
    const helio_planned_t *p = plan_array(12, 0);
    assert_int_equal(p->tasks_now, 12);
    assert_non_null(helio_details_find(&p->tasks_details, HELIO_DETAIL_TASKS_ALL));
    p = plan_array(13, 0);
    assert_int_equal(p->tasks_now, 12);
    assert_true(harness_says(h, &p->tasks_details, "\"TasksCapacity\",\"params\":{\"tasks\":12}"));
    p = plan_array(13, 4);
    assert_int_equal(p->tasks_now, 4);
    assert_true(harness_says(h, &p->tasks_details, "\"TasksThrottle\",\"params\":{\"tasks\":4}"));
    (void)harness_quota(h, "acme", "", HARNESS_AS_IS, 20, HARNESS_AS_IS);
    p = plan_array(3, 0);
    assert_int_equal(p->tasks_now, 2);
    assert_true(harness_says(h, &p->tasks_details, "\"TasksSome\",\"params\":{\"tasks\":2}"));
    assert_non_null(
        strstr(harness_facts(h, p->tasks_details), "QuotaTooSmall tenant=acme limit_gpus=20 needed_gpus=24"));
    assert_true(helio_text_is(p->decision.reason, "")); /* of one task */
    (void)harness_quota(h, "acme", "", HARNESS_AS_IS, 4, HARNESS_AS_IS);
    p = plan_array(3, 0);
    assert_int_equal(p->tasks_now, 0);
    assert_true(helio_text_is(p->decision.reason, "PolicyCap"));
    assert_non_null(helio_details_find(&p->tasks_details, HELIO_DETAIL_TASKS_NONE));
}

/*  The verdict of each pool as text. */
static const char *verdicts(const helio_planned_t *p)
{
    char *text = helio_arena_alloc(harness_arena(h), 512, 1);
    size_t at = 0;
    for (uint32_t i = 0; i < p->candidates.count; i++) {
        const helio_row_candidate_t *row = &p->candidates.items[i].row;
        at += (size_t)snprintf(text + at, 512 - at, "%.*s %lld %lld %.*s, ", HELIO_TEXT_ARGS(row->site),
                               (long long)row->score_micro_usd, (long long)row->cost_micro_usd,
                               HELIO_TEXT_ARGS(row->rejected_reason));
    }
    (void)snprintf(text + at, 512 - at, "-> %.*s", HELIO_TEXT_ARGS(p->decision.chosen_site));
    return text;
}

static void plan__supposing_a_drain_is_the_plan_of_when_it_is_drained(void **state)
{
    (void)state;
    join();
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    const char *before = verdicts(plan(&spec));
    assert_non_null(strstr(before, "-> north"));
    const char *supposed = verdicts(plan_supposing(&spec, "north", UINT32_MAX));
    assert_non_null(strstr(supposed, "Draining"));
    assert_non_null(strstr(supposed, "-> south"));
    assert_string_equal(verdicts(plan(&spec)), before);
    assert_int_equal(harness_site_command(h, HELIO_BROKER_EV_DRAIN, HELIO_ROLE_ADMIN, "north")->rc, HELIO_OK);
    assert_string_equal(verdicts(plan(&spec)), supposed);
}

static void plan__supposing_a_price_is_the_plan_at_that_price(void **state)
{
    (void)state;
    join();
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    const char *before = verdicts(plan(&spec)), *dearer = verdicts(plan_supposing(&spec, "north", 2000)),
               *free_of_charge = verdicts(plan_supposing(&spec, "west", 0));
    assert_string_equal(verdicts(plan_supposing(&spec, "north", 1000)), before);
    assert_non_null(strstr(dearer, "-> south"));
    assert_non_null(strstr(free_of_charge, "-> west"));
    assert_string_equal(verdicts(plan(&spec)), before);
    sites[0]->pools.items[0].price_usd_per_gpu_h *= 2;
    harness_join(h, NORTH, sites[0]);
    assert_string_equal(verdicts(plan(&spec)), dearer);
}

static const helio_planned_t *plan_curtailed(const helio_job_spec_t *spec, helio_job_key_t key, uint32_t percent)
{
    helio_submission_t job = harness_submission(h, spec, "", "");
    const helio_fx_reply_t *reply = asked((helio_ev_submit_t){.tenant = HELIO_TEXT("acme"),
                                                              .jobs = {&job, 1},
                                                              .supposed_site = HELIO_TEXT("north"),
                                                              .supposed_price_per_mille = 1000,
                                                              .supposed_curtailed_ms = 2 * HOUR,
                                                              .supposed_percent = percent,
                                                              .supposed_job = key});
    assert_int_equal(reply->rc, HELIO_OK);
    return &reply->plan;
}

static void plan__supposing_a_curtailment_says_who_would_go_elsewhere_and_who_would_be_stopped(void **state)
{
    (void)state;
    join();
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    const helio_job_key_t none = {.task = HELIO_NO_TASK};
    const char *before = verdicts(plan(&spec));
    assert_non_null(strstr(before, "-> north"));
    const helio_planned_t *curtailed = plan_curtailed(&spec, none, 0);
    assert_non_null(strstr(verdicts(curtailed), "-> south"));
    assert_false(curtailed->stops);
    assert_string_equal(verdicts(plan_curtailed(&spec, none, 100)), before);
    assert_string_equal(verdicts(plan(&spec)), before);
    helio_job_key_t runs = harness_job(h, &spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, runs, 1, HELIO_JOB_RUNNING);
    harness_wait(h, 30 * 60000); /* it has run for long enough */
    assert_true(plan_curtailed(&spec, runs, 0)->stops);
    assert_false(plan_curtailed(&spec, runs, 100)->stops);
    assert_int_equal(harness_state(h, runs), HELIO_JOB_RUNNING);
}

/*  The verdicts of a class that waits are kept between rounds; those of a supposition are not among them. */
static void plan__supposing_something_leaves_what_waits_as_it_is(void **state)
{
    (void)state;
    join();
    tell(NORTH, 4, (double[]){900, 900, 10, 900});
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.goal = HELIO_GOAL_GREEN;
    spec.flexible_ms = 5 * HOUR;
    helio_job_key_t waiting = harness_job(h, &spec);
    harness_tick(h);
    const char *before = verdicts(plan(&spec));
    for (uint32_t per_mille = 0; per_mille <= 3000; per_mille += 500) {
        (void)plan_supposing(&spec, "north", per_mille);
        (void)plan_supposing(&spec, "south", UINT32_MAX);
        harness_tick(h);
        assert_string_equal(verdicts(plan(&spec)), before);
    }
    assert_true(harness_is_open(h, waiting));
}

static void plan__supposing_something_of_no_site_is_refused(void **state)
{
    (void)state;
    join();
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    helio_submission_t job = harness_submission(h, &spec, "", "");
    const helio_fx_reply_t *reply = asked((helio_ev_submit_t){
        .tenant = HELIO_TEXT("acme"), .jobs = {&job, 1}, .supposed_site = HELIO_TEXT("nort"), .supposed_drain = true});
    assert_int_equal(reply->rc, HELIO_NOT_FOUND);
    assert_string_equal(harness_facts(h, reply->details), "UnknownSite site=nort suggestion=north");
}

static void plan__without_sites_is_answered(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    const helio_planned_t *p = plan(&spec);
    assert_int_equal(p->candidates.count, 0);
    assert_true(helio_text_is(p->decision.reason, "WaitingForCapacity"));
    assert_int_equal(p->gpus, 8);
}

static void plan__refuses_invalid_requests(void **state)
{
    (void)state;
    join();
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    helio_submission_t jobs[2] = {harness_submission(h, &spec, "", ""), harness_submission(h, &spec, "", "")};
    assert_int_equal(plan_of("acme", jobs, 2)->rc, HELIO_INVALID);
    assert_int_equal(plan_of("acme", jobs, 0)->rc, HELIO_INVALID);
    assert_int_equal(plan_of("nobody", jobs, 1)->rc, HELIO_FORBIDDEN);
    jobs[0].spec.queue = HELIO_TEXT("fast-lane");
    const helio_fx_reply_t *reply = plan_of("acme", jobs, 1);
    assert_int_equal(reply->rc, HELIO_INVALID);
    assert_true(harness_says(h, &reply->details, "\"UnknownQueue\",\"params\":{\"queue\":\"fast-lane\""));
}

/*  Whatever the world: what is planned is what happens when the same job comes next. */
static void property__the_next_submission_gets_its_plan(void **state)
{
    helio_rng_t rng = {41};
    uint32_t placed = 0, waited = 0;
    for (int round = 0; round < 150; round++) {
        join();
        double values[12];
        for (uint32_t i = 0; i < 3; i++) {
            for (int k = 0; k < 12; k++)
                values[k] = 1000 * helio_rng_unit(&rng);
            tell(NORTH + i, 12, values);
        }
        for (int i = 0; i < 6; i++) {
            helio_job_spec_t spec = harness_spec(h, "H100", 1 + (uint32_t)helio_rng_below(&rng, 8));
            spec.nodes = 1 + (uint32_t)helio_rng_below(&rng, 3);
            spec.goal = (uint32_t)helio_rng_below(&rng, HELIO_GOAL_COUNT);
            spec.flexible_ms = helio_rng_below(&rng, 2) * helio_rng_below(&rng, 12 * HOUR);
            spec.time_limit_ms = 60000 + helio_rng_below(&rng, 5 * HOUR);
            spec.max_carbon_mg_per_kwh = helio_rng_below(&rng, 3) ? 0 : helio_rng_below(&rng, 900000);
            const helio_planned_t *p = plan(&spec);
            helio_job_key_t key = harness_job(h, &spec);
            harness_tick(h);
            bool now = !p->decision.reason.size;
            assert_int_equal(harness_state(h, key), now ? HELIO_JOB_OFFERED : HELIO_JOB_QUEUED);
            if (now) {
                assert_true(helio_text_equal(harness_row(h, key)->site, p->decision.chosen_site));
                const helio_row_placement_t *row, *last = NULL;
                while ((row = harness_take(h, HELIO_BROKER_FX_ROW_PLACEMENT)))
                    last = row;
                assert_true(last->score_micro_usd == p->candidates.items[0].row.score_micro_usd);
            } else {
                const helio_row_class_t *row, *last = NULL;
                while ((row = harness_take(h, HELIO_BROKER_FX_ROW_CLASS)))
                    last = row;
                assert_true(!last || helio_text_equal(last->reason, p->decision.reason));
                assert_true(!last || last->expected_ms == p->expected_ms);
            }
            harness_clear(h);
            placed += now;
            waited += !now;
            harness_advance(h, (int64_t)helio_rng_below(&rng, 1800000));
            harness_tick(h);
        }
        end(state);
        begin(state);
    }
    assert_true(placed > 100 && waited > 100);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(plan__has_the_pool_its_cost_and_why_not_elsewhere),
        CASE(plan__changes_nothing),
        CASE(plan__of_a_job_that_cannot_start_now_has_an_expected_time),
        CASE(plan__of_a_job_with_a_begin_time_is_for_that_time),
        CASE(plan__of_an_impossible_deadline_has_the_text_of_a_submission),
        CASE(plan__of_a_dependent_job_has_the_latest_end_of_its_dependencies),
        CASE(plan__of_a_job_whose_dependency_has_failed_says_that_it_would_be_cancelled),
        CASE(plan__says_what_a_site_that_is_not_ready_lacks),
        CASE(plan__has_hints),
        CASE(plan__of_an_array_counts_the_starts_and_explains_the_rest),
        CASE(plan__supposing_a_drain_is_the_plan_of_when_it_is_drained),
        CASE(plan__supposing_a_curtailment_says_who_would_go_elsewhere_and_who_would_be_stopped),
        CASE(plan__supposing_a_price_is_the_plan_at_that_price),
        CASE(plan__supposing_something_leaves_what_waits_as_it_is),
        CASE(plan__supposing_something_of_no_site_is_refused),
        CASE(plan__without_sites_is_answered),
        CASE(plan__refuses_invalid_requests),
        CASE(property__the_next_submission_gets_its_plan),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
