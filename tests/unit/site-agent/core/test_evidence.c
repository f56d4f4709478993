/*  What is known of an attempt beside its user's folder: it is in the attempt's row, and its backend has it again after a
 *  restart. */
#include "tests/unit/site-agent/core/harness.h"

static site_t site;

static int begin(void **state)
{
    (void)state;
    site_begin(&site);
    return 0;
}

static int end(void **state)
{
    (void)state;
    site_end(&site);
    return 0;
}

static const helio_jrow_attempt_t *row(void)
{
    return last_of(&site, HELIO_AGENT_FX_ROW_ATTEMPT);
}

static void see(uint8_t number, helio_evidence_t evidence)
{
    helio_aev_evidence_t event = {key_of(number), 1, evidence};
    step(&site, HELIO_AGENT_EV_EVIDENCE, &event);
}

static void order_one(void)
{
    const helio_order_t order = order_of(1, 1, 1, 8);
    open_session(&site);
    give(&site, &order);
}

static void the_time_of_the_start_is_in_the_row_before_the_backend_is_called(void **state)
{
    (void)state;
    order_one();
    const helio_afx_start_t *start = last_of(&site, HELIO_AGENT_FX_START);
    assert_true(row()->evidence.asked_wall_ms == site.wall_ms && row()->evidence.asked_boot_ms == site.now_ms);
    assert_true(helio_record_equal(&helio_evidence_type, &start->evidence, &row()->evidence));
    assert_int_equal(helio_agent_effects[HELIO_AGENT_FX_START].release, HELIO_RELEASE_HELD);
}

static void what_the_backend_saw_comes_back_after_a_restart(void **state)
{
    (void)state;
    order_one();
    int64_t asked_ms = site.wall_ms;
    later(&site, 60000);
    clear_log(&site);
    see(1, (helio_evidence_t){.shown_wall_ms = 7, .shown_boot_ms = 8, .shown_for_ms = 9, .claimed_boot_ms = 10});
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_ROW_ATTEMPT), 1);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_ROW_REPORT), 0); /* the broker needs none of it */
    const helio_evidence_t expected = row()->evidence;
    assert_true(expected.asked_wall_ms == asked_ms && expected.shown_for_ms == 9 && expected.claimed_boot_ms == 10);
    commit(&site);
    later(&site, 60000);
    restart(&site);
    const helio_afx_start_t *adopt = last_of(&site, HELIO_AGENT_FX_ADOPT);
    assert_true(helio_record_equal(&helio_evidence_type, &adopt->evidence, &expected));
}

static void what_is_not_held_or_is_over_has_no_evidence(void **state)
{
    (void)state;
    order_one();
    backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_STARTED);
    backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_ENDED);
    clear_log(&site);
    see(1, (helio_evidence_t){.shown_wall_ms = 7});
    see(2, (helio_evidence_t){.shown_wall_ms = 7});
    assert_int_equal(site.log_count, 0);
}

/*  The backend has proved that nothing of it ever ran here: what runs from now on was submitted now. */
static void a_start_that_is_repeated_begins_anew(void **state)
{
    (void)state;
    order_one();
    see(1, (helio_evidence_t){.shown_wall_ms = 7});
    commit(&site);
    restart(&site);
    open_session(&site);
    later(&site, 60000);
    clear_log(&site);
    backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_ABSENT);
    const helio_afx_start_t *start = last_of(&site, HELIO_AGENT_FX_START);
    assert_true(start->evidence.asked_wall_ms == site.wall_ms && !start->evidence.shown_wall_ms);
    assert_true(row()->evidence.asked_wall_ms == site.wall_ms && row()->state == HELIO_JOB_STARTING);
}

/*  The journal is an older copy: it has run for an unknown time, and the time of this agent's start says nothing of it. */
static void what_was_found_to_run_was_not_submitted_now(void **state)
{
    (void)state;
    helio_jrow_attempt_t accepted = {.incarnation = 1, .order = order_of(1, 1, 1, 8), .state = HELIO_JOB_ACCEPTED};
    site.rows[site.row_count++] = (entry_t){HELIO_AGENT_FX_ROW_ATTEMPT, 1, &accepted};
    restart(&site);
    backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_STARTED);
    assert_int_equal(row()->state, HELIO_JOB_RUNNING);
    assert_int_equal(row()->evidence.asked_wall_ms, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(the_time_of_the_start_is_in_the_row_before_the_backend_is_called),
        TEST(what_the_backend_saw_comes_back_after_a_restart),
        TEST(what_is_not_held_or_is_over_has_no_evidence),
        TEST(a_start_that_is_repeated_begins_anew),
        TEST(what_was_found_to_run_was_not_submitted_now),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
