/*  test_reports.c -- reports of attempts, and their acknowledgement. */
#include "tests/unit/site-agent/core/orders_testing.h"

static void report__of_an_end_carries_what_the_backend_measured(void **state)
{
    (void)state;
    open_session(&site);
    give_one(1, 1, 2, 4);
    backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_STARTED);
    helio_aev_backend_t ended = backend_of(1, 1, HELIO_BACKEND_REPORT_ENDED);
    ended.exit_code = 124;
    ended.limit_reached = true;
    ended.run_ms = 5000;
    ended.energy_j = 77;
    ended.units_done = 12;
    ended.saved_run_ms = 4000;
    ended.ended_wall_ms = site.wall_ms + 5000;
    ended.local_id = HELIO_TEXT("4711");
    step(&site, HELIO_AGENT_EV_BACKEND, &ended);
    const helio_report_t *report = report_row(&site, HELIO_REPORT_KIND_ENDED);
    assert_int_equal(report->exit_code, 124);
    assert_true(report->limit_reached);
    assert_int_equal(report->run_ms, 5000);
    assert_int_equal(report->gpu_ms, 5000 * 8);
    assert_int_equal(report->energy_j, 77);
    assert_int_equal(report->units_done, 12);
    assert_int_equal(report->saved_run_ms, 4000);
    assert_int_equal(report->started_wall_ms, site.wall_ms);
    assert_int_equal(report->ended_wall_ms, site.wall_ms + 5000);
    assert_true(helio_text_is(report->local_id, "4711"));
}

static void report__numbers_ascend_and_survive_acknowledgement_and_restart(void **state)
{
    (void)state;
    open_session(&site);
    uint64_t last = 0;
    for (uint8_t i = 1; i <= 20; i++) {
        clear_log(&site);
        give_one(i, 1, 1, 1);
        for (uint32_t k = 0; k < site.log_count; k++)
            if (site.log[k].kind == HELIO_AGENT_FX_ROW_REPORT) {
                uint64_t seq = ((helio_report_t *)site.log[k].record)->seq;
                assert_true(seq > last);
                last = seq;
            }
        if (i % 3 == 0)
            acknowledge(&site, last);
        commit(&site);
        if (i % 5 == 0) {
            restart(&site);
            open_session(&site);
        }
    }
}

static void report__numbers_of_a_lost_journal_are_not_used_again(void **state)
{
    (void)state;
    open_session(&site);
    give_one(1, 1, 1, 1);
    uint64_t before = last_seq(&site);
    commit(&site);
    site.wall_ms += 5;
    restart_as(&site, true);
    open_session(&site);
    give_one(2, 1, 1, 1);
    assert_true(last_seq(&site) > before);
}

static void restart__does_not_free_gpus_of_an_ended_attempt_that_another_holds_now(void **state)
{
    (void)state;
    open_session(&site);
    give_one(1, 1, 4, 8);
    backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_ENDED);
    give_one(2, 1, 4, 8); /* the same GPUs; the end of the first is not acknowledged */
    commit(&site);
    restart(&site);
    open_session(&site);
    give_one(3, 1, 1, 1);
    assert_refused(HELIO_CAUSE_NO_CAPACITY, "");
}

static void report__texts_of_a_backend_are_made_valid_for_journal_and_wire(void **state)
{
    (void)state;
    open_session(&site);
    give_one(1, 1, 1, 8);
    static char said[400];
    memset(said, 'x', sizeof said);
    (void)snprintf(said, sizeof said, "\xff\n\x1b[31m");
    said[strlen(said)] = 'x';
    helio_aev_backend_t event = backend_of(1, 1, HELIO_BACKEND_REPORT_FAILED_TO_START);
    event.cause = HELIO_CAUSE_START_FAILED;
    event.explanation = (helio_text_t){said, 400};
    step(&site, HELIO_AGENT_EV_BACKEND, &event);
    const helio_report_t *report = report_row(&site, HELIO_REPORT_KIND_LOST);
    assert_int_equal(report->cause, HELIO_CAUSE_START_FAILED);
    assert_int_equal(report->explanation.size, 256);
    assert_memory_equal(report->explanation.data, "???[31mxxx", 10);
    assert_int_equal(report->reason.size, 256); /* for brokers before version 4 */
    assert_memory_equal(report->reason.data, "StartFailed: ???[31mxxx", 23);
}

static void report__is_sent_again_in_every_session_until_acknowledged(void **state)
{
    (void)state;
    open_session(&site);
    give_one(1, 1, 1, 8);
    uint64_t seq = last_seq(&site);
    for (int i = 0; i < 3; i++) {
        step(&site, HELIO_AGENT_EV_DISCONNECTED, NULL);
        clear_log(&site);
        open_until_inventory(&site);
        assert_int_equal(count_of(&site, HELIO_AGENT_FX_SEND_REPORT), 0);
        rule_on(&site, 1, 1, HELIO_VERDICT_KEEP, true);
        assert_int_equal(count_of(&site, HELIO_AGENT_FX_SEND_REPORT), 2);
    }
    acknowledge(&site, seq);
    clear_log(&site);
    open_session(&site);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_SEND_REPORT), 0);
}

static void acknowledgement__of_the_end_forgets_the_attempt(void **state)
{
    (void)state;
    open_session(&site);
    give_one(1, 1, 1, 8);
    backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_ENDED);
    commit(&site);
    clear_log(&site);
    acknowledge(&site, last_seq(&site)); /* 0: nothing yet */
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_FORGET), 0);
    acknowledge(&site, site.rows[site.row_count - 1].kind == HELIO_AGENT_FX_ROW_REPORT
                           ? ((helio_report_t *)site.rows[site.row_count - 1].record)->seq
                           : 0);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_FORGET), 1);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_ROW_ACKED), 1);
    const helio_jrow_attempt_t *row = last_of(&site, HELIO_AGENT_FX_ROW_ATTEMPT);
    assert_int_equal(row->state, HELIO_JOB_QUEUED);
    assert_int_equal(figures(&site).attempts, 0);
    assert_int_equal(figures(&site).reports_pending, 0);
}

static void acknowledgement__of_an_unused_number_deletes_nothing(void **state)
{
    (void)state;
    open_session(&site);
    give_one(1, 1, 1, 8);
    acknowledge(&site, UINT64_MAX);
    assert_int_equal(figures(&site).reports_pending, 2);
    assert_int_equal(figures(&site).ignored_total, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(report__of_an_end_carries_what_the_backend_measured),
        TEST(report__numbers_ascend_and_survive_acknowledgement_and_restart),
        TEST(report__numbers_of_a_lost_journal_are_not_used_again),
        TEST(restart__does_not_free_gpus_of_an_ended_attempt_that_another_holds_now),
        TEST(report__texts_of_a_backend_are_made_valid_for_journal_and_wire),
        TEST(report__is_sent_again_in_every_session_until_acknowledged),
        TEST(acknowledgement__of_the_end_forgets_the_attempt),
        TEST(acknowledgement__of_an_unused_number_deletes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
