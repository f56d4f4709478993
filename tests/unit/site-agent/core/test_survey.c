/*  test_survey.c -- until the backend has reported all that it holds, what it does not know is unknown and not
 *  absent. */
#include "tests/unit/site-agent/core/orders_testing.h"

static void survey_ends(void)
{
    step(&site, HELIO_AGENT_EV_SURVEYED, NULL);
}

/*  The journal knows job 1, which is in this state, and its backend has not reported yet. */
static void reload_with(uint32_t word)
{
    open_session(&site);
    give_one(1, 1, 1, 2);
    commit(&site);
    if (word != HELIO_BACKEND_REPORT_COUNT)
        backend_says(&site, 1, 1, word);
    commit(&site);
    reload_as(&site, false);
    commit(&site);
    clear_log(&site);
}

static uint32_t offered_nodes(void)
{
    const helio_site_summary_t *summary = last_of(&site, HELIO_AGENT_FX_SEND_SUMMARY);
    uint32_t nodes = 0;
    assert_non_null(summary);
    for (uint32_t i = 0; i < summary->pools.count; i++)
        for (uint32_t k = 0; k < summary->pools.items[i].free_nodes.count; k++)
            nodes += summary->pools.items[i].free_nodes.items[k];
    return nodes;
}

static void survey__an_unknown_attempt_is_not_here_only_after_it(void **state)
{
    (void)state;
    reload_as(&site, false);
    open_session(&site);
    commit(&site);
    for (int times = 0; times < 3; times++)
        stop_it(&site, 7, 3, HELIO_STOP_MODE_KILL);
    assert_null(report_row(&site, HELIO_REPORT_KIND_STOPPED));
    assert_int_equal(figures(&site).ignored_total, 3);
    assert_true(figures(&site).surveying);
    backend_says(&site, 7, 3, HELIO_BACKEND_REPORT_STARTED); /* it was there: neither over nor killed as over */
    assert_non_null(report_row(&site, HELIO_REPORT_KIND_RUNNING));
    assert_null(last_of(&site, HELIO_AGENT_FX_STOP));
    survey_ends();
    stop_it(&site, 8, 3, HELIO_STOP_MODE_KILL);
    const helio_report_t *report = report_row(&site, HELIO_REPORT_KIND_STOPPED);
    assert_true(report && report->cause == HELIO_CAUSE_NOT_HERE && helio_job_key_equal(report->key, key_of(8)));
    assert_false(figures(&site).surveying);
}

static void survey__nothing_is_offered_and_nothing_starts_before_its_end(void **state)
{
    (void)state;
    reload_as(&site, false);
    open_session(&site);
    assert_int_equal(offered_nodes(), 0);
    give_one(1, 1, 1, 2);
    assert_refused(HELIO_CAUSE_NOT_READY, "the site does not yet know what runs here");
    assert_null(last_of(&site, HELIO_AGENT_FX_START));
    survey_ends();
    later(&site, 1000);
    assert_int_equal(offered_nodes(), 4 + 2);
    give_one(1, 2, 1, 2);
    assert_non_null(last_of(&site, HELIO_AGENT_FX_START));
}

/*  A journal that is an older copy: the attempt that it takes for one to be started can run. */
static void survey__an_attempt_that_was_not_found_before_its_end_is_looked_up_again(void **state)
{
    (void)state;
    for (int running = 0; running < 2; running++) {
        if (running)
            site_begin(&site);
        reload_with(running ? HELIO_BACKEND_REPORT_STARTED : HELIO_BACKEND_REPORT_COUNT);
        open_session(&site);
        backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_ABSENT);
        assert_null(last_of(&site, HELIO_AGENT_FX_START));
        assert_null(report_row(&site, HELIO_REPORT_KIND_LOST));
        assert_int_equal(figures(&site).attempts, 1);
        clear_log(&site);
        survey_ends();
        assert_int_equal(count_of(&site, HELIO_AGENT_FX_ADOPT), 1);
        assert_null(last_of(&site, HELIO_AGENT_FX_START));
        backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_ABSENT); /* now it is */
        if (running)
            assert_non_null(report_row(&site, HELIO_REPORT_KIND_LOST));
        else
            assert_int_equal(count_of(&site, HELIO_AGENT_FX_START), 1);
        if (!running)
            site_end(&site);
    }
}

/*  ACCEPTED by the journal, so the backend was never called, as far as that journal tells. */
static void survey__an_attempt_that_waits_to_be_started_is_stopped_by_the_backend_before_its_end(void **state)
{
    (void)state;
    for (int surveyed = 0; surveyed < 2; surveyed++) {
        if (surveyed)
            site_begin(&site);
        open_session(&site);
        give_one(1, 1, 1, 2);
        commit(&site);
        for (uint32_t i = 0; i < site.row_count; i++)
            if (site.rows[i].kind == HELIO_AGENT_FX_ROW_ATTEMPT)
                ((helio_jrow_attempt_t *)site.rows[i].record)->state = HELIO_JOB_ACCEPTED;
        reload_as(&site, false);
        if (surveyed)
            survey_ends();
        open_until_inventory(&site);
        rule_on(&site, 1, 1, HELIO_VERDICT_FENCED, true);
        assert_null(last_of(&site, HELIO_AGENT_FX_START));
        assert_int_equal(count_of(&site, HELIO_AGENT_FX_STOP), !surveyed);
        assert_int_equal(report_row(&site, HELIO_REPORT_KIND_STOPPED) != NULL, surveyed);
        if (surveyed)
            break;
        backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_ABSENT);
        assert_null(report_row(&site, HELIO_REPORT_KIND_STOPPED));
        survey_ends();
        backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_ABSENT);
        assert_non_null(report_row(&site, HELIO_REPORT_KIND_STOPPED));
        assert_null(last_of(&site, HELIO_AGENT_FX_START));
        site_end(&site);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(survey__an_unknown_attempt_is_not_here_only_after_it),
        TEST(survey__nothing_is_offered_and_nothing_starts_before_its_end),
        TEST(survey__an_attempt_that_was_not_found_before_its_end_is_looked_up_again),
        TEST(survey__an_attempt_that_waits_to_be_started_is_stopped_by_the_backend_before_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
