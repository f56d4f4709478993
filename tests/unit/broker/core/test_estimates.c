/*  test_estimates.c -- what is charged for attempts that are given up, and how their sites' reports replace it. */
#include <stdio.h>

#include "tests/unit/broker/core/estimates_testing.h"

static void expect_in_ledger(uint64_t run_ms)
{
    assert_int_equal(in_ledger(), 2 * run_ms);
}

/*  What was written in each part, or not; every row names whom it is charged to, and where it was used. */
static void expect_parts(bool estimate, bool correction)
{
    bool seen[HELIO_LEDGER_MEASURED + 1] = {false};
    for (const helio_row_ledger_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER));) {
        assert_true(row->fenced && row->hourly_price_id && row->gpu_ms);
        assert_true(helio_text_is(row->tenant, "acme") && helio_text_is(row->queue, "standard"));
        assert_true(helio_text_is(row->pool, "a") && helio_text_is(row->gpu_model, "H100"));
        assert_true(row->estimated == (row->part != HELIO_LEDGER_MEASURED));
        seen[row->part] = true;
    }
    assert_false(seen[HELIO_LEDGER_USE] || seen[HELIO_LEDGER_TRANSFER]);
    assert_true(seen[HELIO_LEDGER_ESTIMATE] == estimate && seen[HELIO_LEDGER_REVERSAL] == correction &&
                seen[HELIO_LEDGER_MEASURED] == correction);
}

/* ---- giving up ------------------------------------------------------------------------------------------ */

static void given_up__run_is_charged_in_the_step_that_gives_it_up(void **state)
{
    (void)state;
    static const helio_site_loss_t policies[] = {HELIO_SITE_LOSS_EAGER, HELIO_SITE_LOSS_LEASE};
    for (int i = 0; i < 2; i++) {
        if (i) {
            (void)end(NULL);
            (void)begin_joined(NULL);
        }
        helio_job_key_t key = begin_run(policies[i]);
        give_up(key);
        const helio_row_attempt_t *row = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
        assert_true(row && row->basis == HELIO_ATTEMPT_GIVEN_UP && row->kind == HELIO_REPORT_KIND_LOST);
        assert_in_range(row->run_ms, RAN_MS - 31000, RAN_MS + 1000); /* north's last message */
        expect_in_ledger(row->run_ms);
        expect_parts(true, false);
        assert_int_equal(harness_row(h, key)->gpu_ms, 0); /* the job's figures are without fenced attempts */
    }
}

static void given_up__strict_run_is_charged_when_its_site_is_attested(void **state)
{
    (void)state;
    helio_job_key_t key = begin_run(HELIO_SITE_LOSS_STRICT);
    harness_gone(h, NORTH);
    for (int64_t ms = 0; ms < HOUR_MS; ms += 30000) {
        harness_renew(h, SOUTH);
        harness_wait(h, 30000);
    }
    assert_int_equal(in_ledger(), 0);
    assert_int_equal(harness_site_command(h, HELIO_BROKER_EV_ATTEST, HELIO_ROLE_ADMIN, "north")->rc, HELIO_OK);
    assert_int_equal(basis_of_next(), HELIO_ATTEMPT_GIVEN_UP);
    assert_in_range(in_ledger(), 2 * (RAN_MS - 31000), 2 * (RAN_MS + 1000));
    assert_int_not_equal(harness_state(h, key), HELIO_JOB_SUSPECT);
}

/*  Nobody will stop it: it has run, so that its next attempt resumes, and a cancelled one ends without a completion. */
static void given_up__cancelled_run_is_charged_and_completes_nothing(void **state)
{
    (void)state;
    helio_job_key_t key = begin_run(HELIO_SITE_LOSS_EAGER);
    harness_gone(h, NORTH);
    (void)harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key);
    harness_clear(h);
    for (int64_t ms = 0; ms < 120000; ms += 10000) {
        harness_renew(h, SOUTH);
        harness_wait(h, 10000);
    }
    assert_int_equal(harness_state(h, key), HELIO_JOB_CANCELLED);
    assert_int_equal(basis_of_next(), HELIO_ATTEMPT_GIVEN_UP);
    assert_null(harness_take(h, HELIO_BROKER_FX_ROW_BASELINE));
    assert_in_range(in_ledger(), 2 * (RAN_MS - 31000), 2 * (RAN_MS + 1000));
}

/* ---- correcting ----------------------------------------------------------------------------------------- */

static void corrected__report_replaces_the_estimate_once(void **state)
{
    (void)state;
    helio_job_key_t key = given_up();
    harness_join(h, BACK, north);
    harness_clear(h);
    tell(BACK, key, MEASURED_MS);
    assert_int_equal(basis_of_next(), HELIO_ATTEMPT_CORRECTED);
    expect_parts(false, true);
    expect_in_ledger(MEASURED_MS);
    tell(BACK, key, MEASURED_MS);
    tell(BACK, key, MEASURED_MS + 60000); /* another story */
    for (int i = 0; i < 2; i++)
        assert_int_equal(basis_of_next(), HELIO_ATTEMPT_REPORTED); /* which the store has: it changes nothing */
    expect_in_ledger(MEASURED_MS);
}

/*  What the site itself estimates is nearer to the run than what the broker saw. */
static void corrected__by_what_its_site_estimates_too(void **state)
{
    (void)state;
    helio_job_key_t key = given_up();
    harness_join(h, BACK, north);
    harness_clear(h);
    helio_report_t report = measured(key, MEASURED_MS);
    report.kind = HELIO_REPORT_KIND_LOST;
    harness_report(h, BACK, &report);
    assert_int_equal(basis_of_next(), HELIO_ATTEMPT_CORRECTED);
    const helio_row_ledger_t *last = NULL;
    for (const helio_row_ledger_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER));)
        last = row;
    assert_true(last && last->part == HELIO_LEDGER_MEASURED && last->estimated);
    expect_in_ledger(MEASURED_MS);
}

/*  Two times of a clock that counts seconds: less than a second, and for how long it does not say. */
static void corrected__by_times_without_a_length(void **state)
{
    (void)state;
    const helio_job_spec_t spec = spec_of_run(HELIO_SITE_LOSS_EAGER);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    give_up(key);
    harness_join(h, BACK, north);
    harness_clear(h);
    helio_report_t report = measured(key, 0);
    report.kind = HELIO_REPORT_KIND_LOST;
    report.gpu_ms = 0;
    harness_report(h, BACK, &report);
    assert_int_equal(basis_of_next(), HELIO_ATTEMPT_CORRECTED);
    expect_in_ledger(1000);
}

static void corrected__downwards_as_well(void **state)
{
    (void)state;
    helio_job_key_t key = given_up();
    harness_join(h, BACK, north);
    tell(BACK, key, SHORTER_MS);
    expect_in_ledger(SHORTER_MS);
}

static void corrected__after_its_job_is_over(void **state)
{
    (void)state;
    helio_job_key_t key = given_up();
    harness_tick(h);
    harness_run_up_to(h, SOUTH, key, 2, HELIO_JOB_RUNNING);
    harness_say(h, SOUTH, key, 2, HELIO_REPORT_KIND_ENDED);
    assert_false(harness_is_open(h, key));
    uint64_t own_ms = harness_row(h, key)->gpu_ms;
    harness_join(h, BACK, north);
    harness_clear(h);
    tell(BACK, key, MEASURED_MS);
    assert_int_equal(basis_of_next(), HELIO_ATTEMPT_CORRECTED);
    expect_parts(false, true); /* the tenant and the queue are those of the estimate */
    assert_int_equal(in_ledger(), own_ms + 2 * MEASURED_MS);
}

static void corrected__by_the_next_leader_and_not_again_by_the_one_after_it(void **state)
{
    (void)state;
    helio_job_key_t key = given_up();
    next_leader();
    tell(BACK, key, MEASURED_MS);
    assert_int_equal(basis_of_next(), HELIO_ATTEMPT_CORRECTED);
    expect_parts(false, true);
    expect_in_ledger(MEASURED_MS);
    next_leader();
    tell(BACK, key, MEASURED_MS);
    assert_int_equal(basis_of_next(), HELIO_ATTEMPT_REPORTED);
    expect_in_ledger(MEASURED_MS);
}

/*  Only the site where it ran knows, and only an end with its use replaces anything. */
static void corrected__by_nothing_that_says_less(void **state)
{
    (void)state;
    helio_job_key_t key = given_up();
    uint64_t estimated = in_ledger();
    harness_join(h, BACK, north);
    harness_clear(h);
    tell(SOUTH, key, MEASURED_MS);
    assert_int_equal(basis_of_next(), HELIO_ATTEMPT_REPORTED);
    helio_report_t report = measured(key, 0);
    report.started_wall_ms = report.ended_wall_ms = 0;
    harness_report(h, BACK, &report);
    harness_say(h, BACK, key, 1, HELIO_REPORT_KIND_REFUSED);
    assert_null(harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT));
    harness_tick(h);
    assert_int_equal(in_ledger(), estimated);
}

/*  The job is over, and its agent found the attempt without its order: the broker knows its GPUs by the placement. */
static void corrected__by_an_end_without_its_gpus(void **state)
{
    (void)state;
    helio_job_key_t key = given_up();
    harness_tick(h);
    harness_run_up_to(h, SOUTH, key, 2, HELIO_JOB_RUNNING);
    harness_say(h, SOUTH, key, 2, HELIO_REPORT_KIND_ENDED);
    uint64_t own_ms = harness_row(h, key)->gpu_ms;
    harness_join(h, BACK, north);
    harness_clear(h);
    helio_report_t report = measured(key, MEASURED_MS);
    report.gpu_ms = 0;
    harness_report(h, BACK, &report);
    assert_int_equal(basis_of_next(), HELIO_ATTEMPT_CORRECTED);
    assert_int_equal(in_ledger(), own_ms + 2 * MEASURED_MS);
    assert_int_equal(harness_figures(h).illegal_reports_total, 0);
}

/* ---- budgets -------------------------------------------------------------------------------------------- */

/*  A job that needs 97.1 GPU hours. */
static helio_job_key_t large(void)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.time_limit_ms = 43695000;
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    return key;
}

static const char *why(void)
{
    const helio_row_class_t *last = NULL;
    for (const helio_row_class_t *row; (row = harness_take(h, HELIO_BROKER_FX_ROW_CLASS));)
        last = row;
    assert_non_null(last);
    return harness_facts(h, last->details);
}

/*  Of 100 GPU hours, two are committed to the second attempt and one is charged by estimate. */
static void corrected__less_gives_back_to_the_budget(void **state)
{
    (void)state;
    assert_int_equal(harness_budget(h, "acme", "", "100 gpu-h/month")->rc, HELIO_OK);
    helio_job_key_t key = given_up();
    harness_tick(h);
    helio_job_key_t waits = large();
    assert_int_equal(harness_state(h, waits), HELIO_JOB_QUEUED);
    harness_join(h, BACK, north);
    assert_int_equal(harness_state(h, waits), HELIO_JOB_QUEUED);
    tell(BACK, key, SHORTER_MS);
    harness_tick(h);
    assert_int_equal(harness_state(h, waits), HELIO_JOB_OFFERED);
}

/*  A new leader decides when they are heard. */
static void wait_for_sites(void)
{
    for (int i = 0; i < 7; i++) {
        harness_renew(h, BACK);
        harness_renew(h, BACK + 1);
        harness_wait(h, 10000);
    }
}

/*  What a leader has charged is what the next one reads in the ledger, also of a job that is over. */
static void corrected__more_is_charged_to_the_budget(void **state)
{
    for (int over = 0; over < 2; over++) {
        assert_int_equal(harness_budget(h, "acme", "", "100 gpu-h/month")->rc, HELIO_OK);
        helio_job_key_t key = given_up();
        harness_tick(h);
        if (over) {
            harness_run_up_to(h, SOUTH, key, 2, HELIO_JOB_RUNNING);
            harness_say(h, SOUTH, key, 2, HELIO_REPORT_KIND_ENDED);
        }
        for (int64_t ms = 0; over && ms < 3 * HOUR_MS; ms += 30000) { /* no run is longer than since its placement */
            harness_renew(h, SOUTH);
            harness_wait(h, 30000);
        }
        harness_join(h, BACK, north);
        tell(BACK, key, MEASURED_MS + (over ? 3 * HOUR_MS : 0));
        harness_tick(h);
        harness_clear(h);
        (void)large();
        char here[512];
        (void)snprintf(here, sizeof here, "%s", why());
        assert_non_null(strstr(here, "BudgetUsed"));
        next_leader();
        wait_for_sites();
        assert_string_equal(why(), here);
        (void)end(state);
        (void)begin_joined(state);
    }
}

/* ---- runs that nobody saw --------------------------------------------------------------------------------- */

/*  North accepted it and was cut off, and only north knows that it ran. Nothing is estimated, but its end is charged
 *  when it comes, once, whether its job is open or not. */
static void unseen__run_is_charged_when_its_end_is_told(void **state)
{
    for (int over = 0; over < 2; over++) {
        assert_int_equal(harness_budget(h, "acme", "", "100 gpu-h/month")->rc, HELIO_OK);
        const helio_job_spec_t spec = spec_of_run(HELIO_SITE_LOSS_EAGER);
        helio_job_key_t key = harness_job(h, &spec);
        harness_tick(h);
        harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_ACCEPTED);
        harness_clear(h);
        give_up(key);
        assert_int_equal(in_ledger(), 0);
        harness_tick(h);
        if (over) {
            harness_run_up_to(h, SOUTH, key, 2, HELIO_JOB_RUNNING);
            harness_say(h, SOUTH, key, 2, HELIO_REPORT_KIND_ENDED);
        }
        const uint64_t own_ms = in_ledger(), run_ms = MEASURED_MS + HOUR_MS;
        harness_join(h, BACK, north);
        for (int times = 0; times < 3; times++) {
            harness_clear(h);
            tell(BACK, key, run_ms);
            assert_int_equal(basis_of_next(), HELIO_ATTEMPT_REPORTED);
            assert_int_equal(in_ledger(), own_ms + 2 * run_ms);
        }
        harness_tick(h);
        harness_clear(h);
        (void)large();
        char here[512];
        (void)snprintf(here, sizeof here, "%s", why());
        assert_non_null(strstr(here, "BudgetUsed"));
        next_leader();
        wait_for_sites();
        assert_string_equal(why(), here);
        (void)end(state);
        (void)begin_joined(state);
    }
}

/*  The leader that gave it up is gone, and its job is open: the next one charges budgets in the same step, and once. */
static void unseen__run_that_a_former_leader_gave_up_is_charged_to_budgets_at_once(void **state)
{
    (void)state;
    assert_int_equal(harness_budget(h, "acme", "", "100 gpu-h/month")->rc, HELIO_OK);
    const helio_job_spec_t spec = spec_of_run(HELIO_SITE_LOSS_EAGER);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_ACCEPTED);
    harness_clear(h);
    give_up(key);
    harness_tick(h);
    assert_int_equal(in_ledger(), 0);
    next_leader();
    const uint64_t run_ms = MEASURED_MS + HOUR_MS;
    for (int times = 0; times < 3; times++) {
        harness_clear(h);
        tell(BACK, key, run_ms);
        assert_int_equal(basis_of_next(), HELIO_ATTEMPT_REPORTED);
        assert_int_equal(in_ledger(), 2 * run_ms);
    }
    harness_tick(h);
    harness_clear(h);
    (void)large();
    char here[512];
    (void)snprintf(here, sizeof here, "%s", why());
    assert_non_null(strstr(here, "BudgetUsed"));
    next_leader();
    wait_for_sites();
    assert_string_equal(why(), here);
}

/* ---- bounds --------------------------------------------------------------------------------------------- */

/*  As many hours as a leader keeps, and one more: the oldest attempt is forgotten, and keeps its estimate. */
static void estimates__are_bounded(void **state)
{
    enum { HOURS = 100000, HOURS_EACH = 4 };
    (void)end(state);
    h = harness_new(NULL);
    harness_load_static(h, NULL);
    helio_row_ledger_t row = {.epoch = 1,
                              .tenant = HELIO_TEXT("acme"),
                              .site = HELIO_TEXT("north"),
                              .gpu_ms = 1000,
                              .part = HELIO_LEDGER_ESTIMATE};
    helio_row_given_up_t given_up = {.epoch = 1,
                                     .site = HELIO_TEXT("north"),
                                     .nodes = 1,
                                     .gpus = 2,
                                     .time_limit_ms = HOUR_MS,
                                     .placed_ms = harness_wall_ms(h) - 4 * HOUR_MS};
    for (int32_t i = 0; i <= HOURS / HOURS_EACH; i++) {
        given_up.key = (helio_job_key_t){.task = i};
        harness_step(h, HELIO_BROKER_EV_LOAD_GIVEN_UP, &given_up);
    }
    for (uint32_t i = 0; i <= HOURS; i++) {
        row.key = (helio_job_key_t){.task = (int32_t)(i / HOURS_EACH)};
        row.hour_ms = harness_wall_ms(h) - (int64_t)(i % HOURS_EACH) * HOUR_MS;
        harness_step(h, HELIO_BROKER_EV_LOAD_ESTIMATE, &row);
    }
    harness_step(h, HELIO_BROKER_EV_LOADED, NULL);
    north = harness_site(h, "north");
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_join(h, NORTH, north);
    harness_clear(h);
    static const uint32_t expected[] = {HELIO_ATTEMPT_REPORTED, HELIO_ATTEMPT_CORRECTED, HELIO_ATTEMPT_CORRECTED};
    for (int32_t i = 0; i < 3; i++) {
        tell(NORTH, (helio_job_key_t){.task = i == 2 ? HOURS / HOURS_EACH : i}, MEASURED_MS);
        assert_int_equal(basis_of_next(), expected[i]);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_joined, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(given_up__run_is_charged_in_the_step_that_gives_it_up),
        CASE(given_up__strict_run_is_charged_when_its_site_is_attested),
        CASE(given_up__cancelled_run_is_charged_and_completes_nothing),
        CASE(corrected__report_replaces_the_estimate_once),
        CASE(corrected__by_what_its_site_estimates_too),
        CASE(corrected__by_times_without_a_length),
        CASE(corrected__downwards_as_well),
        CASE(corrected__after_its_job_is_over),
        CASE(corrected__by_the_next_leader_and_not_again_by_the_one_after_it),
        CASE(corrected__by_nothing_that_says_less),
        CASE(corrected__by_an_end_without_its_gpus),
        CASE(corrected__less_gives_back_to_the_budget),
        CASE(corrected__more_is_charged_to_the_budget),
        CASE(unseen__run_is_charged_when_its_end_is_told),
        CASE(unseen__run_that_a_former_leader_gave_up_is_charged_to_budgets_at_once),
        CASE(estimates__are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
