/*  test_budget_time.c -- budgets over periods, leaders and many runs. */
#include "tests/unit/broker/core/budget_testing.h"

/* ---- the calendar -------------------------------------------------------------------------------------- */

static void budget__restarts_in_the_second_in_which_the_period_begins(void **state)
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
    assert_int_equal(harness_charged(h, "acme", HELIO_BUDGET_MONEY, april_ms - HOUR, april_ms), 4 * USD);
    assert_int_equal(harness_charged(h, "acme", HELIO_BUDGET_MONEY, april_ms, april_ms + HOUR), 4 * USD / 3);
    harness_end(&h);
}

/*  A leader begins on a machine whose clock was never set. */
static void budget__has_a_period_on_the_first_day_of_the_clock(void **state)
{
    (void)state;
    harness_t *former = begin(8);
    set(former, "acme", "", "8 gpu-h/day");
    harness_set_wall(former, 22 * HOUR - harness_wall_ms(former));
    harness_t *h = harness_rebuild(former);
    harness_end(&former);
    harness_wait(h, MINUTE);
    harness_join(h, NORTH, site_of(h, 8));
    helio_job_key_t first = submit(h, 8), second = submit(h, 8);
    assert_int_equal(harness_state(h, first), HELIO_JOB_OFFERED);
    assert_true(waits(h, second));
    run(h, first);
    let_pass(h, HOUR);
    end(h, first, 1, 8, HOUR);
    assert_true(waits(h, second)); /* until the second day */
    let_pass(h, HOUR);
    assert_int_equal(harness_state(h, second), HELIO_JOB_OFFERED);
    harness_end(&h);
}

/*  Jobs of other lengths are expected to last for their limit. */
static void budget__a_start_is_checked_against_the_next_period_too(void **state)
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
    assert_detail(h, "BudgetUsed tenant=acme used=62.666 limit=100 unit=GPU-hours period=2026-03-02 needed=62.666 "
                     "until=2026-03-03T00:00Z; BudgetRemedy tenant=acme budget=N gpu-h/day");
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
    set(h, "acme", "", "9.5 USD/month"); /* 1.07 are charged, and about 0.2 committed */
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

static void budget__a_new_leader_knows_what_is_charged_and_committed(void **state)
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
    assert_detail(next, "BudgetUsed tenant=acme used=16.111 limit=21 unit=USD period=March 2026 needed=8 "
                        "until=2026-04-01T00:00Z; BudgetRemedy tenant=acme budget=N USD/month");
    assert_true(waits(next, submit_in(next, "acme", "batch", 2)));
    harness_end(&next);
    harness_end(&h);
}

static void budget__a_repeated_end_is_charged_once(void **state)
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
    set(next, "acme", "", "8.1 USD/month"); /* 0.11 are charged */
    assert_true(waits(next, submit(next, 4)));
    assert_detail(next, "BudgetUsed tenant=acme used=8.111 limit=8.1 unit=USD period=March 2026 needed=8 "
                        "until=2026-04-01T00:00Z; BudgetRemedy tenant=acme budget=N USD/month");
    harness_end(&next);
    harness_end(&h);
}

/* ---- whatever happens ---------------------------------------------------------------------------------- */

typedef struct sample {
    helio_job_key_t key;
    uint32_t gpus;
    int64_t placed_ms, started_ms; /* 0 = not yet */
    int64_t estimate_ms;           /* of its run, when it was placed */
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
                jobs[i].estimate_ms = (int64_t)row->expected_ms;
            }
}

/*  In every day no more is booked than the budget, and what single runs took beyond what was foreseen of that
 * day. */
static void check_days(const harness_t *h, const sample_t *jobs, uint32_t count, int64_t begin_ms, int64_t limit,
                       uint32_t *spent_days)
{
    for (int64_t day_ms = begin_ms; day_ms < begin_ms + DAYS * (int64_t)DAY; day_ms += DAY) {
        int64_t beyond = 0, booked = harness_charged(h, "acme", HELIO_BUDGET_GPU, day_ms, day_ms + DAY);
        for (uint32_t i = 0; i < count; i++) {
            int64_t foreseen = within(jobs[i].placed_ms, jobs[i].estimate_ms, day_ms, day_ms + DAY),
                    was = jobs[i].over ? within(jobs[i].started_ms, jobs[i].run_ms, day_ms, day_ms + DAY) : 0;
            beyond += was > foreseen ? (was - foreseen) * jobs[i].gpus : 0;
        }
        assert_true(booked <= limit + beyond);
        *spent_days += booked > limit - 8 * (int64_t)HOUR;
    }
}

static void budget__is_exceeded_only_by_runs_that_last_longer_than_expected(void **state)
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
                jobs[count++] = (sample_t){.key = harness_job(h, &spec),
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
    assert_in_range(spent_days, 10, 16 * DAYS); /* budgets that are never reached prove nothing */
}

/*  Each attempt is charged when it ends, whatever the number of those before it. */
static void budget__every_attempt_of_a_job_is_charged_at_its_end(void **state)
{
    (void)state;
    enum { ATTEMPTS = 66 };
    harness_t *h = begin(8);
    set(h, "acme", "", "12 gpu-h/month");
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.time_limit_ms = 15 * MINUTE;
    spec.retries = 100;
    helio_job_key_t key = harness_job(h, &spec);
    for (uint32_t epoch = 1; epoch <= ATTEMPTS; epoch++) {
        for (int i = 0; i < 600 && harness_state(h, key) == HELIO_JOB_QUEUED; i++)
            let_pass(h, SECOND);
        harness_run_up_to(h, NORTH, key, epoch, HELIO_JOB_RUNNING);
        let_pass(h, 10 * MINUTE);
        helio_report_t report = harness_report_of(h, key, epoch, HELIO_REPORT_KIND_ENDED);
        report.run_ms = report.gpu_ms = 10 * MINUTE;
        report.started_wall_ms = harness_wall_ms(h) - 10 * MINUTE;
        report.ended_wall_ms = harness_wall_ms(h);
        report.exit_code = epoch < ATTEMPTS ? 1 : 0;
        harness_report(h, NORTH, &report);
    }
    assert_int_equal(harness_state(h, key), HELIO_JOB_SUCCEEDED);
    assert_true(harness_charged(h, "acme", HELIO_BUDGET_GPU, 0, INT64_MAX) == 11 * HOUR);
    harness_clear(h);
    helio_job_key_t next = submit(h, 8);
    assert_true(waits(h, next));
    helio_row_class_t row = last_class(h);
    assert_non_null(strstr(harness_facts(h, row.details), "used=11 limit=12"));
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(budget__restarts_in_the_second_in_which_the_period_begins),
        cmocka_unit_test(budget__a_run_across_the_end_is_charged_to_its_hours),
        cmocka_unit_test(budget__has_a_period_on_the_first_day_of_the_clock),
        cmocka_unit_test(budget__a_start_is_checked_against_the_next_period_too),
        cmocka_unit_test(budget__a_run_that_lasts_longer_commits_more),
        cmocka_unit_test(budget__a_new_leader_knows_what_is_charged_and_committed),
        cmocka_unit_test(budget__a_repeated_end_is_charged_once),
        cmocka_unit_test(budget__every_attempt_of_a_job_is_charged_at_its_end),
        cmocka_unit_test(budget__is_exceeded_only_by_runs_that_last_longer_than_expected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
