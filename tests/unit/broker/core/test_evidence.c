/*  test_evidence.c -- reports of old epochs, invented reports, and reports in any order. */
#include "tests/unit/broker/core/life_testing.h"

/* ---- evidence ------------------------------------------------------------------------------------------ */

/*  An eager job that ran at north, went silent, and is now at south under epoch 2. */
static helio_job_key_t eager_job_at_south(void)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.on_site_loss = HELIO_SITE_LOSS_EAGER;
    helio_job_key_t key = job_in_state(&spec, HELIO_JOB_RUNNING);
    harness_gone(h, NORTH);
    harness_advance(h, 30000);
    harness_summary(h, SOUTH, south, 0, 0);
    harness_advance(h, 30000);
    harness_summary(h, SOUTH, south, 0, 0);
    harness_wait(h, 1000);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    assert_int_equal(harness_row(h, key)->epoch, 2);
    assert_true(helio_text_is(harness_row(h, key)->site, "south"));
    harness_join(h, NORTH + 10, north);
    harness_clear(h);
    return key;
}

/*  What follows the reversal of its estimate. */
static const helio_row_ledger_t *take_measured(void)
{
    const helio_row_ledger_t *row = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER);
    assert_true(row && row->part == HELIO_LEDGER_REVERSAL && row->estimated);
    row = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER);
    assert_true(row && row->part == HELIO_LEDGER_MEASURED && !row->estimated);
    return row;
}

static void stale__an_end_of_an_old_epoch_is_evidence_with_its_cost_and_never_a_completion(void **state)
{
    (void)state;
    helio_job_key_t key = eager_job_at_south();
    harness_say(h, NORTH + 10, key, 1, HELIO_REPORT_KIND_ENDED);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    assert_int_equal(harness_figures(h).stale_reports_total, 1);
    const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
    assert_non_null(attempt);
    assert_true(attempt->fenced && !attempt->completes);
    assert_int_equal(attempt->epoch, 1);
    assert_true(helio_text_is(attempt->site, "north"));
    const helio_row_ledger_t *ledger = take_measured();
    assert_non_null(ledger);
    assert_true(ledger->fenced);
    assert_int_equal(ledger->gpu_ms, 60000);
    assert_int_equal(ledger->cost_micro_usd, 2000000 / 60); /* of north, at its price */
    assert_true(ledger->energy_j > 0 && ledger->carbon_mg > 0);
    assert_true(helio_text_is(ledger->tenant, "acme"));
    /* and the current one ends normally */
    harness_say(h, SOUTH, key, 2, HELIO_REPORT_KIND_ENDED);
    assert_int_equal(harness_row(h, key)->state, HELIO_JOB_SUCCEEDED);
}

static void stale__an_end_after_the_job_is_over_is_charged_too(void **state)
{
    (void)state;
    helio_job_key_t key = eager_job_at_south();
    harness_say(h, SOUTH, key, 2, HELIO_REPORT_KIND_ENDED);
    assert_int_equal(harness_row(h, key)->state, HELIO_JOB_SUCCEEDED);
    harness_clear(h);
    harness_say(h, NORTH + 10, key, 1, HELIO_REPORT_KIND_STOPPED);
    const helio_row_ledger_t *ledger = take_measured();
    assert_non_null(ledger);
    assert_true(ledger->fenced);
    assert_int_equal(ledger->cost_micro_usd, 2000000 / 60);
}

static void stale__progress_of_an_old_epoch_writes_nothing(void **state)
{
    (void)state;
    helio_job_key_t key = eager_job_at_south();
    for (uint32_t kind = HELIO_REPORT_KIND_ACCEPTED; kind <= HELIO_REPORT_KIND_SUSPENDED; kind++)
        harness_say(h, NORTH + 10, key, 1, kind);
    assert_int_equal(harness_state(h, key), HELIO_JOB_OFFERED);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_ATTEMPT), 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_STATE), 0);
}

/*  The row of an attempt is written once, by the first report. A site must not write that of another site's attempt. */
static void lies__a_site_cannot_write_the_row_of_another_sites_attempt(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_RUNNING);
    harness_say(h, SOUTH, key, 1, HELIO_REPORT_KIND_ENDED); /* north has epoch 1 */
    harness_say(h, SOUTH, key, 2, HELIO_REPORT_KIND_ENDED); /* not issued yet */
    harness_say(h, NORTH, key, 2, HELIO_REPORT_KIND_ENDED);
    harness_say(h, NORTH, key, UINT32_MAX, HELIO_REPORT_KIND_ENDED);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_ATTEMPT), 0);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_LEDGER), 0);
    assert_int_equal(harness_figures(h).stale_reports_total, 4);
}

static void lies__reported_figures_are_bounded_before_they_are_stored(void **state)
{
    (void)state;
    static const int64_t times[] = {INT64_MIN, -1, 0, INT64_MAX};
    static const uint64_t sizes[] = {0, 1, UINT64_MAX / 2, UINT64_MAX};
    for (int t = 0; t < 4; t++)
        for (int s = 0; s < 4; s++) {
            helio_job_key_t key = any_in_state(HELIO_JOB_RUNNING);
            helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_ENDED);
            report.started_wall_ms = report.ended_wall_ms = report.wall_ms = times[t];
            report.run_ms = report.gpu_ms = report.energy_j = report.units_done = sizes[s];
            harness_report(h, NORTH, &report);
            const helio_row_state_t *row = harness_row(h, key);
            assert_int_equal(row->state, HELIO_JOB_SUCCEEDED);
            int64_t day = 86400000;
            assert_true(row->finished_ms > 0 && row->finished_ms <= harness_wall_ms(h) + day);
            assert_true(row->started_ms >= 0 && row->started_ms <= harness_wall_ms(h) + day);
            assert_true(row->gpu_ms <= INT64_MAX && row->energy_j <= INT64_MAX && row->carbon_mg <= INT64_MAX);
            uint64_t gpu_ms = 0;
            const helio_row_ledger_t *ledger;
            while ((ledger = harness_take(h, HELIO_BROKER_FX_ROW_LEDGER))) {
                gpu_ms += ledger->gpu_ms;
                assert_true(ledger->hour_ms >= 0 && ledger->hour_ms <= harness_wall_ms(h) + day);
            }
            assert_true(gpu_ms == row->gpu_ms);
        }
}

static void lies__series_that_no_table_can_hold_are_ignored(void **state)
{
    (void)state;
    double values[] = {1, 2};
    const helio_series_t good = {.signal = HELIO_SIGNAL_CARBON,
                                 .issued_wall_ms = harness_wall_ms(h),
                                 .start_wall_ms = harness_wall_ms(h),
                                 .step_s = 3600,
                                 .values = {values, 2}};
    helio_series_t series[] = {good, good, good, good};
    series[1].issued_wall_ms = INT64_MAX;
    series[2].start_wall_ms = INT64_MIN;
    series[3].step_s = 0;
    helio_ev_site_summary_t event = {.peer = NORTH, .summary = {.seq = 77, .series = {series, 4}, .power_w = -1}};
    harness_clear(h);
    harness_step(h, HELIO_BROKER_EV_SITE_SUMMARY, &event);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_SERIES), 1);
}

static void reason__a_long_one_is_cut_between_characters(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_OFFERED);
    char reason[HELIO_DETAIL_TEXT_MAX];
    for (size_t i = 0; i + 2 <= sizeof reason; i += 2)
        memcpy(reason + i, "é", 2);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_REFUSED);
    report.reason = (helio_text_t){reason, sizeof reason};
    harness_report(h, NORTH, &report);
    const helio_detail_t *refused = harness_detail(harness_row(h, key)->why, HELIO_DETAIL_REFUSED_STATES);
    helio_text_t kept = helio_detail_value(refused, 0).text;
    assert_true(kept.size <= HELIO_DETAIL_TEXT_MAX && kept.size > HELIO_DETAIL_TEXT_MAX - 10);
    assert_int_equal((unsigned char)kept.data[kept.size - 2], 0xc3); /* the last é is whole */
    assert_int_equal((unsigned char)kept.data[kept.size - 1], 0xa9);
}

/* ---- the full product ---------------------------------------------------------------------------------- */

/*  Every live state x every report x kinds of end. The harness refuses any transition that is not listed, and
 * the core asserts; here it only has to be reached, twice, with the job told to come back or not. */
static void product__every_report_in_every_state_has_its_listed_result(void **state)
{
    (void)state;
    static const uint32_t states[] = {HELIO_JOB_OFFERED, HELIO_JOB_ACCEPTED,  HELIO_JOB_STARTING,
                                      HELIO_JOB_RUNNING, HELIO_JOB_SUSPENDED, HELIO_JOB_STOPPING};
    uint32_t reached = 0;
    for (uint32_t silent = 0; silent < 3; silent++)
        for (size_t s = 0; s < sizeof states / sizeof states[0]; s++)
            for (uint32_t kind = 0; kind < HELIO_REPORT_KIND_COUNT; kind++)
                for (uint32_t variant = 0; variant < 4; variant++) {
                    end(NULL);
                    begin_joined(NULL);
                    helio_job_spec_t spec = harness_spec(h, "H100", 1);
                    spec.retries = variant == 2 ? 1 : 0;
                    helio_job_key_t key = job_in_state(&spec, states[s]);
                    uint64_t peer = NORTH;
                    if (silent) {
                        harness_gone(h, NORTH);
                        harness_wait(h, 61000);
                        assert_int_equal(harness_state(h, key), HELIO_JOB_SUSPECT);
                        if (silent == 2)
                            harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key);
                        peer = NORTH + 10;
                        harness_hello(h, peer, north);
                        helio_holding_t holding = {key, 1, states[s], 1};
                        harness_inventory(h, peer, &holding, variant % 2);
                    }
                    helio_report_t report = harness_report_of(h, key, 1, kind);
                    report.exit_code = variant >= 2 ? 1 : 0;
                    report.limit_reached = variant == 3;
                    harness_report(h, peer, &report);
                    harness_report(h, peer, &report);
                    harness_wait(h, 3000);
                    reached++;
                }
    assert_int_equal(reached, 3 * 6 * HELIO_REPORT_KIND_COUNT * 4);
}

static void progress__only_goes_forward_and_repetition_is_no_transition(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_RUNNING);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_ACCEPTED);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_STARTING);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_RUNNING);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_TRANSITION), 0);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_SUSPENDED);
    assert_int_equal(harness_state(h, key), HELIO_JOB_SUSPENDED);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_RUNNING);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_TRANSITION), 2);
    assert_int_equal(harness_figures(h).illegal_reports_total, 0);
}

static void progress__a_refusal_after_an_acceptance_is_a_contradiction_that_is_counted(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_ACCEPTED);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_REFUSED);
    assert_int_equal(harness_state(h, key), HELIO_JOB_ACCEPTED);
    assert_int_equal(harness_figures(h).illegal_reports_total, 1);
}

/*  What was seen to run is charged, and that the site denies it afterwards is no proof for a job in doubt. */
static void progress__a_refusal_of_a_run_that_is_being_stopped_is_its_end(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_RUNNING);
    for (uint32_t i = 0; i < 10; i++) {
        harness_advance(h, 30000);
        harness_renew(h, NORTH);
    }
    harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key);
    harness_clear(h);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_REFUSED);
    assert_int_equal(harness_state(h, key), HELIO_JOB_CANCELLED);
    assert_int_equal(harness_figures(h).illegal_reports_total, 1);
    const helio_row_attempt_t *attempt = harness_take(h, HELIO_BROKER_FX_ROW_ATTEMPT);
    assert_non_null(attempt);
    assert_in_range(attempt->run_ms, 300000, 301000);
    assert_true(attempt->gpu_ms >= attempt->run_ms);
    assert_non_null(harness_take(h, HELIO_BROKER_FX_ROW_LEDGER));
}

/*  A hundred thousand rows at once are more than any site can have, and a thousand in a second. */
static void progress__a_site_that_suspends_a_job_without_end_writes_rows_within_its_bound(void **state)
{
    (void)state;
    enum { TIMES = 30000, BOUND = 100000 / 4, BY_THE_SECOND = 1000 / 4 };
    helio_job_key_t key = any_in_state(HELIO_JOB_RUNNING);
    harness_clear(h);
    helio_report_t reports[2] = {harness_report_of(h, key, 1, HELIO_REPORT_KIND_SUSPENDED),
                                 harness_report_of(h, key, 1, HELIO_REPORT_KIND_RUNNING)};
    helio_ev_site_reports_t event = {.peer = NORTH, .reports = {reports, 2}};
    for (uint32_t i = 0; i < TIMES; i++)
        harness_step(h, HELIO_BROKER_EV_SITE_REPORTS, &event);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_TRANSITION), 2 * BOUND);
    assert_int_equal(harness_state(h, key), HELIO_JOB_RUNNING);
    assert_int_equal(harness_figures(h).illegal_reports_total, TIMES - BOUND);
    harness_clear(h);
    harness_advance(h, 10000);
    for (uint32_t i = 0; i < TIMES; i++)
        harness_step(h, HELIO_BROKER_EV_SITE_REPORTS, &event);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_TRANSITION), 2 * 10 * BY_THE_SECOND);
}

/*  Likewise if it says all the time that a job waits for something else. */
static void progress__a_site_that_gives_other_reasons_without_end_writes_rows_within_its_bound(void **state)
{
    (void)state;
    enum { TIMES = 120000, BOUND = 100000 };
    helio_job_key_t key = any_in_state(HELIO_JOB_STARTING);
    harness_clear(h);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_STARTING);
    helio_ev_site_reports_t event = {.peer = NORTH, .reports = {&report, 1}};
    for (uint32_t i = 0; i < TIMES; i++) {
        report.reason = i % 2 ? HELIO_TEXT("Priority") : HELIO_TEXT("Resources");
        harness_step(h, HELIO_BROKER_EV_SITE_REPORTS, &event);
    }
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_STATE), BOUND);
    harness_clear(h);
    harness_advance(h, 10000);
    for (uint32_t i = 0; i < TIMES; i++) {
        report.reason = i % 2 ? HELIO_TEXT("Priority") : HELIO_TEXT("Resources");
        harness_step(h, HELIO_BROKER_EV_SITE_REPORTS, &event);
    }
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_STATE), 10 * 1000);
}

static void wait__is_counted_once_for_each_job(void **state)
{
    (void)state;
    helio_job_key_t key = any_in_state(HELIO_JOB_ACCEPTED);
    helio_report_t report = harness_report_of(h, key, 1, HELIO_REPORT_KIND_RUNNING);
    report.started_wall_ms = harness_wall_ms(h) + 5000; /* the site's clock is its own */
    helio_ev_site_reports_t event = {.peer = NORTH, .reports = {&report, 1}};
    harness_step(h, HELIO_BROKER_EV_SITE_REPORTS, &event);
    helio_broker_figures_t figures = harness_figures(h);
    assert_int_equal(figures.wait_ms[HELIO_TIER_STANDARD].counts[1], 1); /* over one second, at most ten */
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_SUSPENDED);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_RUNNING);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_ENDED);
    helio_broker_figures_t after = harness_figures(h);
    assert_memory_equal(after.wait_ms, figures.wait_ms, sizeof figures.wait_ms);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(stale__an_end_of_an_old_epoch_is_evidence_with_its_cost_and_never_a_completion),
        CASE(stale__an_end_after_the_job_is_over_is_charged_too),
        CASE(stale__progress_of_an_old_epoch_writes_nothing),
        CASE(lies__a_site_cannot_write_the_row_of_another_sites_attempt),
        CASE(lies__reported_figures_are_bounded_before_they_are_stored),
        CASE(lies__series_that_no_table_can_hold_are_ignored),
        CASE(reason__a_long_one_is_cut_between_characters),
        CASE(product__every_report_in_every_state_has_its_listed_result),
        CASE(progress__only_goes_forward_and_repetition_is_no_transition),
        CASE(wait__is_counted_once_for_each_job),
        CASE(progress__a_refusal_of_a_run_that_is_being_stopped_is_its_end),
        CASE(progress__a_site_that_gives_other_reasons_without_end_writes_rows_within_its_bound),
        CASE(progress__a_site_that_suspends_a_job_without_end_writes_rows_within_its_bound),
        CASE(progress__a_refusal_after_an_acceptance_is_a_contradiction_that_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
