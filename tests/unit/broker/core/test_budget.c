/*  Budgets: what a tenant may spend in a period. Runs here are foreseen by their limit of an hour, at 2 USD a
 * GPU-hour, unless a test has taught the broker otherwise. */
#include "tests/support/core_harness.h"

#include <stdio.h>
#include <string.h>

#include "federation/base/rng.h"
#include "federation/policy/budget.h"

enum { NORTH = 1, SECOND = 1000, MINUTE = 60000, HOUR = 3600000, DAY = 86400000, USD = 1000000 };

static helio_site_profile_t *site_of(harness_t *h, uint32_t nodes)
{
    helio_site_profile_t *site = harness_site(h, "north");
    (void)harness_pool(h, site, "h100", "H100", nodes, 8, 2);
    return site;
}

static harness_t *begin(uint32_t nodes)
{
    harness_t *h = harness_begin(NULL);
    harness_join(h, NORTH, site_of(h, nodes));
    harness_tick(h);
    harness_advance(h, 6 * HOUR); /* the month begins with the harness */
    harness_summary(h, NORTH, site_of(h, nodes), 0, 0);
    harness_tick(h);
    harness_clear(h);
    return h;
}

/*  At once, the site being heard of. */
static void let_pass(harness_t *h, int64_t ms)
{
    harness_advance(h, ms);
    harness_summary(h, NORTH, site_of(h, 8), 0, 0);
    harness_tick(h);
}

/*  To so much before the month ends. */
static void skip_to_end_of_month(harness_t *h, int64_t before_ms)
{
    int64_t end_ms = helio_period_next(HELIO_PERIOD_MONTH, harness_wall_ms(h));
    let_pass(h, end_ms - before_ms - harness_wall_ms(h));
}

static helio_job_key_t submit_in(harness_t *h, const char *tenant, const char *queue, uint32_t gpus)
{
    helio_job_spec_t spec = harness_spec(h, "H100", gpus);
    spec.queue = helio_text_of(queue);
    const helio_fx_answer_t *answer = harness_submit(h, tenant, &spec);
    assert_int_equal(answer->rc, HELIO_OK);
    helio_job_key_t key = {answer->jobs.items[0].job, HELIO_NO_TASK};
    harness_tick(h);
    return key;
}

static helio_job_key_t submit(harness_t *h, uint32_t gpus)
{
    return submit_in(h, "acme", "standard", gpus);
}

static void set(harness_t *h, const char *tenant, const char *queue, const char *budget)
{
    const helio_fx_answer_t *answer = harness_budget(h, tenant, queue, budget);
    if (answer->rc != HELIO_OK)
        fail_msg("%s: %.*s", budget, HELIO_TEXT_ARGS(answer->text));
    harness_tick(h);
}

static helio_row_class_t last_class(harness_t *h)
{
    const helio_row_class_t *row, *last = NULL;
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_CLASS)))
        last = row;
    assert_non_null(last);
    return *last;
}

static void assert_detail(harness_t *h, const char *detail)
{
    helio_row_class_t row = last_class(h);
    if (!helio_text_is(row.reason, "PolicyCap") || !helio_text_is(row.detail, detail))
        fail_msg("%.*s: %.*s", HELIO_TEXT_ARGS(row.reason), HELIO_TEXT_ARGS(row.detail));
}

static bool waits(const harness_t *h, helio_job_key_t key)
{
    return harness_state(h, key) == HELIO_JOB_QUEUED;
}

static void run(harness_t *h, helio_job_key_t key)
{
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
}

/*  It ran for so long on so many GPUs, and succeeded. */
static void end(harness_t *h, helio_job_key_t key, uint32_t epoch, uint32_t gpus, int64_t run_ms)
{
    helio_report_t report = harness_report_of(h, key, epoch, HELIO_REPORT_KIND_ENDED);
    report.run_ms = (uint64_t)run_ms;
    report.gpu_ms = (uint64_t)run_ms * gpus;
    report.started_wall_ms = harness_wall_ms(h) - run_ms;
    harness_report(h, NORTH, &report);
    harness_tick(h);
}

/* ---- setting ------------------------------------------------------------------------------------------- */

static void budget__is_stored_audited_and_answered(void **state)
{
    (void)state;
    harness_t *h = begin(1);
    const helio_fx_answer_t *answer = harness_budget(h, "acme", "", "5000 gpu-h/month");
    assert_true(
        helio_text_is(answer->text, "guaranteed 0, burst none, weight 1.000, budget 5000 gpu-h/month"));
    const helio_row_budget_t *row = harness_take(h, HELIO_BROKER_FX_ROW_BUDGET);
    assert_non_null(row);
    assert_int_equal(row->kind, HELIO_BUDGET_GPU);
    assert_int_equal(row->period, HELIO_PERIOD_MONTH);
    assert_true(row->amount == INT64_C(5000) * HOUR);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_QUOTA), 0);
    const helio_row_audit_t *audit = harness_take(h, HELIO_BROKER_FX_ROW_AUDIT);
    assert_true(helio_text_is(audit->action, "quota-set") && helio_text_is(audit->object, "acme"));
    answer = harness_budget(h, "acme", "", "20 USD/day");
    assert_true(helio_text_is(
        answer->text, "guaranteed 0, burst none, weight 1.000, budget 5000 gpu-h/month and 20 USD/day"));
    answer = harness_quota(h, "acme", "", HARNESS_AS_IS, 64, HARNESS_AS_IS); /* what is not given stays */
    assert_true(helio_text_is(
        answer->text, "guaranteed 0, burst 64, weight 1.000, budget 5000 gpu-h/month and 20 USD/day"));
    answer = harness_budget(h, "acme", "", "none gpu-h");
    assert_true(helio_text_is(answer->text, "guaranteed 0, burst 64, weight 1.000, budget 20 USD/day"));
    answer = harness_budget(h, "acme", "", "none");
    assert_true(helio_text_is(answer->text, "guaranteed 0, burst 64, weight 1.000"));
    harness_end(&h);
}

static void budget__nonsense_is_refused_and_changes_nothing(void **state)
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
        assert_int_equal(harness_budget(h, cases[i].tenant, cases[i].queue, cases[i].budget)->rc,
                         cases[i].rc);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_BUDGET), 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_AUDIT), 0);
    harness_end(&h);
}

/* ---- holding ------------------------------------------------------------------------------------------- */

static void budget__of_money_is_kept_by_what_is_foreseen(void **state)
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
    assert_true(helio_text_is(
        row.detail, "budget of acme: 16 of 20 USD of March 2026 used or committed, it needs 8; begins again "
                    "2026-04-01T00:00Z; more: `helio quota set acme --budget 'N USD/month'`"));
    /* half of it fits into March from half an hour before its end on */
    assert_int_equal(row.expected_ms, helio_period_next(HELIO_PERIOD_MONTH, harness_wall_ms(h)) - HOUR / 2);
    const helio_row_candidate_t *candidate, *last = NULL;
    while ((candidate = harness_take(h, HELIO_BROKER_FX_ROW_CANDIDATE)))
        last = candidate;
    assert_true(helio_text_is(last->rejected_reason, "Budget"));
    helio_job_key_t others = submit_in(h, "other", "standard", 8); /* another tenant is not held up */
    assert_int_equal(harness_state(h, others), HELIO_JOB_OFFERED);
    harness_end(&h);
}

static void budget__of_gpu_hours_and_of_carbon_are_kept_too(void **state)
{
    (void)state;
    static const struct {
        const char *budget, *detail;
    } cases[] = {
        {"10 gpu-h/day",
         "budget of acme: 8 of 10 GPU-hours of 2026-03-01 used or committed, it needs 4; begins again "
         "2026-03-02T00:00Z; more: `helio quota set acme --budget 'N gpu-h/day'`"},
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
            assert_non_null(strstr(helio_arena_string(harness_arena(h), last_class(h).detail),
                                   "kg CO2e of the week of 2026-02-23"));
        harness_end(&h);
    }
}

static void budget__is_given_back_what_a_run_did_not_cost(void **state)
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
    harness_say(h, NORTH, second, 1,
                HELIO_REPORT_KIND_REFUSED); /* cost nothing, and is first in line again */
    harness_wait(h, 5 * SECOND);
    harness_summary(h, NORTH, site_of(h, 8), 3, 0);
    harness_tick(h);
    assert_int_equal(harness_state(h, second), HELIO_JOB_OFFERED);
    assert_true(waits(h, fourth));
    harness_end(&h);
}

static void budget__that_is_spent_stops_nobody(void **state)
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

static void budget__a_job_beyond_the_whole_is_told_so(void **state)
{
    (void)state;
    harness_t *h = begin(8);
    set(h, "acme", "", "10 USD/month");
    helio_job_key_t job = submit(h, 8);
    helio_row_class_t row = last_class(h);
    assert_true(helio_text_is(row.reason, "PolicyCap"));
    assert_true(helio_text_is(
        row.detail, "budget of acme: it needs 16 USD, and a whole month has 10; more: `helio quota set acme "
                    "--budget 'N USD/month'`"));
    assert_int_equal(row.expected_ms, 0);
    /* nor does it begin where months meet */
    skip_to_end_of_month(h, HOUR / 2);
    assert_true(waits(h, job));
    set(h, "acme", "", "16 USD/month");
    assert_int_equal(harness_state(h, job), HELIO_JOB_OFFERED);
    harness_end(&h);
}

static void budget__of_a_queue_and_of_each_in_it(void **state)
{
    (void)state;
    harness_t *h = begin(8);
    set(h, "*", "batch", "8 USD/day");
    set(h, "other", "batch", "none");
    (void)submit_in(h, "acme", "batch", 4);
    harness_clear(h);
    assert_true(waits(h, submit_in(h, "acme", "batch", 4)));
    assert_detail(
        h, "budget of acme in batch: 8 of 8 USD of 2026-03-01 used or committed, it needs 8; begins again "
           "2026-03-02T00:00Z; more: `helio quota set acme --queue batch --budget 'N USD/day'`");
    assert_false(waits(h, submit_in(h, "acme", "standard", 4)));
    assert_false(waits(h, submit_in(h, "other", "batch", 4)));
    assert_false(waits(h, submit_in(h, "other", "batch", 4)));
    harness_end(&h);
}

static void budget__who_is_over_it_keeps_no_room_and_evicts_nobody(void **state)
{
    (void)state;
    harness_t *h = begin(1);
    set(h, "acme", "", "3 USD/day");
    (void)submit_in(h, "other", "batch", 4);
    assert_true(waits(h, submit_in(h, "acme", "express", 8))); /* could take the place of best-effort work */
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_STOP), 0);
    assert_false(
        waits(h, submit_in(h, "other", "batch", 4))); /* a whole node would be reserved for the gang */
    harness_end(&h);
}

/* ---- the calendar -------------------------------------------------------------------------------------- */

static void budget__begins_again_in_the_second_in_which_the_period_does(void **state)
{
    (void)state;
    harness_t *h = begin(8);
    skip_to_end_of_month(h, 2 * HOUR);
    set(h, "acme", "", "8 USD/month");
    helio_job_key_t first = submit(h, 4), second = submit(h, 4);
    run(h, first);
    let_pass(h, HOUR);
    end(h, first, 1, 4, HOUR); /* all of March is gone */
    assert_true(waits(h, second));
    skip_to_end_of_month(h, 10 * SECOND);
    harness_wait(h, 9 * SECOND);
    assert_true(waits(h, second));
    harness_wait(h, SECOND);
    assert_int_equal(harness_state(h, second), HELIO_JOB_OFFERED);
    harness_end(&h);
}

static void budget__a_run_across_the_end_is_charged_to_its_hours(void **state)
{
    (void)state;
    harness_t *h = begin(8);
    skip_to_end_of_month(h, 30 * MINUTE);
    set(h, "acme", "", "8 USD/month");
    helio_job_key_t first = submit(h, 4), second = submit(h, 4), third = submit(h, 1);
    assert_int_equal(harness_state(h, first), HELIO_JOB_OFFERED); /* 4 USD in each month */
    assert_int_equal(harness_state(h, second), HELIO_JOB_OFFERED);
    assert_true(waits(h, third)); /* of April as much is committed as of March */
    run(h, first);
    let_pass(h, 40 * MINUTE); /* ten minutes into April */
    int64_t april_ms = helio_period_begin(HELIO_PERIOD_MONTH, harness_wall_ms(h));
    end(h, first, 1, 4, 40 * MINUTE);
    assert_int_equal(harness_booked(h, "acme", HELIO_BUDGET_MONEY, april_ms - HOUR, april_ms), 4 * USD);
    assert_int_equal(harness_booked(h, "acme", HELIO_BUDGET_MONEY, april_ms, april_ms + HOUR), 4 * USD / 3);
    harness_end(&h);
}

/*  A job of another length is foreseen by its limit. */
static void budget__a_start_is_held_against_the_next_period_too(void **state)
{
    (void)state;
    harness_t *h = begin(8);
    let_pass(h, 17 * HOUR + 50 * MINUTE);
    set(h, "acme", "", "100 gpu-h/day");
    helio_job_spec_t spec = harness_spec(h, "H100", 8); /* eight hours: 62.7 of the next day, 1.3 of this */
    spec.time_limit_ms = 8 * HOUR;
    helio_job_key_t first = harness_job(h, &spec);
    harness_tick(h);
    assert_int_equal(harness_state(h, first), HELIO_JOB_OFFERED);
    harness_clear(h);
    helio_job_key_t second = harness_job(h, &spec);
    harness_tick(h);
    assert_true(waits(h, second));
    assert_detail(
        h,
        "budget of acme: 62.6 of 100 GPU-hours of 2026-03-02 used or committed, it needs 62.6; begins again "
        "2026-03-03T00:00Z; more: `helio quota set acme --budget 'N gpu-h/day'`");
    harness_end(&h);
}

static void budget__a_run_that_lasts_longer_commits_more(void **state)
{
    (void)state;
    harness_t *h = begin(8);
    helio_job_spec_t spec = harness_spec(h, "H100", 4);
    spec.name = HELIO_TEXT("finetune");
    for (int i = 0; i < 8; i++) { /* a minute each */
        helio_job_key_t job = harness_job(h, &spec);
        harness_tick(h);
        run(h, job);
        end(h, job, 1, 4, MINUTE);
    }
    harness_clear(h);
    helio_job_key_t job = harness_job(h, &spec);
    harness_tick(h);
    const helio_row_placement_t *placed = harness_take(h, HELIO_BROKER_FX_ROW_PLACEMENT);
    assert_in_range(placed->expected_ms, MINUTE / 2, 2 * MINUTE);
    run(h, job);
    set(h, "acme", "", "9 USD/month"); /* 1.07 are booked, and about as much as 0.2 is committed */
    helio_job_key_t second = harness_job(h, &spec), third = harness_job(h, &spec);
    harness_tick(h);
    assert_false(waits(h, second));
    harness_wait(h, 30 * SECOND);
    assert_false(waits(h, third));
    let_pass(h, 5 * MINUTE); /* longer than any before it: what is committed is its limit */
    harness_clear(h);
    helio_job_key_t fourth = harness_job(h, &spec);
    harness_tick(h);
    assert_true(waits(h, fourth));
    assert_true(helio_text_is(last_class(h).reason, "PolicyCap"));
    harness_end(&h);
}

/* ---- a new leader -------------------------------------------------------------------------------------- */

static void budget__a_new_leader_knows_what_is_booked_and_committed(void **state)
{
    (void)state;
    harness_t *h = begin(8);
    set(h, "acme", "", "21 USD/month");
    set(h, "acme", "batch", "1 gpu-h/week");
    helio_job_key_t first = submit(h, 4), second = submit(h, 4);
    run(h, first);
    run(h, second);
    harness_wait(h, 40 * SECOND);
    end(h, first, 1, 4, 50 * SECOND); /* 0.11 USD */
    harness_t *next = harness_rebuild(h);
    helio_site_profile_t *site = site_of(next, 8);
    helio_holding_t holding = {second, 1, HELIO_JOB_RUNNING, 1};
    harness_hello(next, NORTH, site);
    harness_inventory(next, NORTH, &holding, 1);
    harness_summary(next, NORTH, site, 0, 0);
    harness_clear(next);
    assert_false(waits(next, submit(next, 4)));
    helio_job_key_t waiting = submit(next, 4);
    assert_true(waits(next, waiting));
    assert_detail(next,
                  "budget of acme: 16.1 of 21 USD of March 2026 used or committed, it needs 8; begins again "
                  "2026-04-01T00:00Z; more: `helio quota set acme --budget 'N USD/month'`");
    assert_true(waits(next, submit_in(next, "acme", "batch", 2)));
    harness_end(&next);
    harness_end(&h);
}

static void budget__an_end_that_is_told_twice_is_booked_once(void **state)
{
    (void)state;
    harness_t *h = begin(8);
    set(h, "acme", "", "100 USD/month");
    helio_job_spec_t spec = harness_spec(h, "H100", 4);
    spec.retries = 3;
    helio_job_key_t job = harness_job(h, &spec);
    harness_tick(h);
    run(h, job);
    helio_report_t report = harness_report_of(h, job, 1, HELIO_REPORT_KIND_ENDED);
    report.exit_code = 1;
    report.run_ms = 50 * SECOND;
    report.gpu_ms = 200 * SECOND;
    harness_report(h, NORTH, &report);
    for (int i = 0; i < 100; i++)
        harness_report(h, NORTH, &report);
    harness_t *next = harness_rebuild(h);
    harness_join(next, NORTH, site_of(next, 8));
    for (int i = 0; i < 100; i++)
        harness_report(next, NORTH, &report);
    harness_tick(next);
    harness_clear(next);
    set(next, "acme", "", "8.1 USD/month"); /* 0.11 are booked */
    assert_true(waits(next, submit(next, 4)));
    assert_detail(
        next, "budget of acme: 8.111 of 8.1 USD of March 2026 used or committed, it needs 8; begins again "
              "2026-04-01T00:00Z; more: `helio quota set acme --budget 'N USD/month'`");
    harness_end(&next);
    harness_end(&h);
}

/* ---- whatever happens ---------------------------------------------------------------------------------- */

typedef struct sample {
    helio_job_key_t key;
    uint32_t gpus;
    int64_t placed_ms, started_ms; /* 0 = not yet */
    int64_t foreseen_ms;           /* of its run, when it was placed */
    int64_t run_ms;                /* that it takes */
    bool over;
} sample_t;

enum { SAMPLES = 160, DAYS = 8 };

static int64_t within(int64_t start_ms, int64_t run_ms, int64_t begin_ms, int64_t end_ms)
{
    begin_ms = start_ms > begin_ms ? start_ms : begin_ms;
    end_ms = start_ms + run_ms < end_ms ? start_ms + run_ms : end_ms;
    return end_ms > begin_ms ? end_ms - begin_ms : 0;
}

/*  What becomes of a job until now: it begins a while after it was placed, and ends when its time is over. */
static void live(harness_t *h, sample_t *job, int64_t delay_ms)
{
    int64_t now_ms = harness_wall_ms(h);
    if (job->over || waits(h, job->key))
        return;
    if (!job->started_ms && now_ms >= job->placed_ms + delay_ms) {
        job->started_ms = now_ms;
        run(h, job->key);
    }
    if (!job->started_ms || now_ms < job->started_ms + job->run_ms)
        return;
    helio_report_t report = harness_report_of(h, job->key, 1, HELIO_REPORT_KIND_ENDED);
    report.run_ms = (uint64_t)job->run_ms;
    report.gpu_ms = (uint64_t)job->run_ms * job->gpus;
    report.started_wall_ms = job->started_ms;
    report.ended_wall_ms = job->started_ms + job->run_ms;
    harness_report(h, NORTH, &report);
    job->over = true;
}

static void note_placements(harness_t *h, sample_t *jobs, uint32_t count)
{
    const helio_row_placement_t *row;
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_PLACEMENT)))
        for (uint32_t i = 0; i < count; i++)
            if (helio_job_key_equal(jobs[i].key, row->key)) {
                jobs[i].placed_ms = row->at_ms;
                jobs[i].foreseen_ms = (int64_t)row->expected_ms;
            }
}

/*  In every day no more is booked than the budget, and what single runs took beyond what was foreseen of that
 * day. */
static void check_days(const harness_t *h, const sample_t *jobs, uint32_t count, int64_t begin_ms,
                       int64_t limit, uint32_t *spent_days)
{
    for (int64_t day_ms = begin_ms; day_ms < begin_ms + DAYS * (int64_t)DAY; day_ms += DAY) {
        int64_t beyond = 0, booked = harness_booked(h, "acme", HELIO_BUDGET_GPU, day_ms, day_ms + DAY);
        for (uint32_t i = 0; i < count; i++) {
            int64_t foreseen = within(jobs[i].placed_ms, jobs[i].foreseen_ms, day_ms, day_ms + DAY),
                    was = jobs[i].over ? within(jobs[i].started_ms, jobs[i].run_ms, day_ms, day_ms + DAY) : 0;
            beyond += was > foreseen ? (was - foreseen) * jobs[i].gpus : 0;
        }
        assert_true(booked <= limit + beyond);
        *spent_days += booked > limit - 8 * (int64_t)HOUR;
    }
}

static void budget__is_exceeded_by_no_more_than_runs_outlast_what_is_foreseen(void **state)
{
    (void)state;
    static const int64_t limit = 30 * (int64_t)HOUR;
    uint32_t spent_days = 0;
    for (uint64_t seed = 1; seed <= 16; seed++) {
        harness_t *h = begin(8);
        helio_rng_t rng = {seed};
        sample_t jobs[SAMPLES];
        uint32_t count = 0;
        int64_t begin_ms = helio_period_begin(HELIO_PERIOD_DAY, harness_wall_ms(h)),
                delay_ms = seed % 4 == 3 ? 20 * MINUTE : 0;
        set(h, "acme", "", "30 gpu-h/day");
        while (harness_wall_ms(h) < begin_ms + (DAYS - 1) * (int64_t)DAY) {
            if (helio_rng_below(&rng, 4) == 0 && count < SAMPLES) {
                uint32_t gpus = 1 + (uint32_t)helio_rng_below(&rng, 8);
                helio_job_spec_t spec = harness_spec(h, "H100", gpus);
                int64_t longest_ms = seed % 2 ? HOUR : HOUR + 30 * MINUTE;
                jobs[count++] =
                    (sample_t){.key = harness_job(h, &spec),
                               .gpus = gpus,
                               .run_ms = 1 + (int64_t)helio_rng_below(&rng, (uint64_t)longest_ms)};
            }
            let_pass(h, (int64_t)helio_rng_below(&rng, 15 * MINUTE));
            note_placements(h, jobs, count);
            for (uint32_t i = 0; i < count; i++)
                live(h, &jobs[i], delay_ms);
        }
        check_days(h, jobs, count, begin_ms, limit, &spent_days);
        harness_end(&h);
    }
    assert_in_range(spent_days, 10, 16 * DAYS); /* budgets that nobody reaches prove nothing */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(budget__is_stored_audited_and_answered),
        cmocka_unit_test(budget__nonsense_is_refused_and_changes_nothing),
        cmocka_unit_test(budget__of_money_is_kept_by_what_is_foreseen),
        cmocka_unit_test(budget__of_gpu_hours_and_of_carbon_are_kept_too),
        cmocka_unit_test(budget__is_given_back_what_a_run_did_not_cost),
        cmocka_unit_test(budget__that_is_spent_stops_nobody),
        cmocka_unit_test(budget__a_job_beyond_the_whole_is_told_so),
        cmocka_unit_test(budget__of_a_queue_and_of_each_in_it),
        cmocka_unit_test(budget__who_is_over_it_keeps_no_room_and_evicts_nobody),
        cmocka_unit_test(budget__begins_again_in_the_second_in_which_the_period_does),
        cmocka_unit_test(budget__a_run_across_the_end_is_charged_to_its_hours),
        cmocka_unit_test(budget__a_start_is_held_against_the_next_period_too),
        cmocka_unit_test(budget__a_run_that_lasts_longer_commits_more),
        cmocka_unit_test(budget__a_new_leader_knows_what_is_booked_and_committed),
        cmocka_unit_test(budget__an_end_that_is_told_twice_is_booked_once),
        cmocka_unit_test(budget__is_exceeded_by_no_more_than_runs_outlast_what_is_foreseen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
