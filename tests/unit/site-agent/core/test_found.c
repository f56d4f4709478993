/*  test_found.c -- attempts that the backend runs but the journal does not hold: what the broker was told of their
 *  epoch decides whether they are shown or ended. */
#include "tests/unit/site-agent/core/orders_testing.h"

/*  How the broker came to be told that epoch 5 of job 1 is over at this site. */
typedef enum how {
    REFUSED_BEFORE_THE_INVENTORY,
    STOPPED_AS_NOT_HERE,
    ENDED_AND_ACKNOWLEDGED,
    FOLLOWED_BY_ANOTHER,
    HOW_COUNT
} how_t;
static const char *const how_words[] = {"refused", "stopped as not here", "ended and acknowledged",
                                        "followed by another"};

static void tell(how_t how)
{
    switch (how) {
    case REFUSED_BEFORE_THE_INVENTORY:
        open_until_inventory(&site);
        give_one(1, 5, 1, 2);
        assert_refused(HELIO_CAUSE_NOT_READY, "the inventory is not closed");
        rule_on(&site, 0, 0, 0, true);
        break;
    case STOPPED_AS_NOT_HERE:
        open_session(&site);
        stop_it(&site, 1, 5, HELIO_STOP_MODE_GRACE);
        break;
    case ENDED_AND_ACKNOWLEDGED:
        open_session(&site);
        give_one(1, 5, 1, 2);
        backend_says(&site, 1, 5, HELIO_BACKEND_REPORT_ENDED);
        acknowledge(&site, last_seq(&site));
        break;
    case FOLLOWED_BY_ANOTHER:
        open_session(&site);
        give_one(1, 6, 1, 2);
        break;
    case HOW_COUNT:
        fail();
    }
    commit(&site);
    clear_log(&site);
}

static uint32_t holdings_of(uint8_t number, uint32_t epoch)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < site.log_count; i++) {
        if (site.log[i].kind != HELIO_AGENT_FX_SEND_INVENTORY)
            continue;
        const helio_afx_inventory_t *part = site.log[i].record;
        for (uint32_t n = 0; n < part->holdings.count; n++)
            count += part->holdings.items[n].epoch == epoch &&
                     helio_job_key_equal(part->holdings.items[n].key, key_of(number));
    }
    return count;
}

/*  The broker may have placed it elsewhere since. */
static void found__what_the_broker_takes_for_over_is_killed_and_not_held(void **state)
{
    (void)state;
    for (uint32_t how = 0; how < HOW_COUNT; how++) {
        if (how)
            site_begin(&site);
        tell((how_t)how);
        helio_agent_figures_t before = figures(&site);
        backend_says(&site, 1, 5, HELIO_BACKEND_REPORT_STARTED);
        const helio_stop_t *stop = last_of(&site, HELIO_AGENT_FX_STOP);
        if (!stop || stop->epoch != 5 || stop->mode != HELIO_STOP_MODE_KILL || stop->cause != HELIO_CAUSE_FENCED ||
            !helio_job_key_equal(stop->key, key_of(1)))
            fail_msg("%s: it is not killed", how_words[how]);
        assert_int_equal(count_of(&site, HELIO_AGENT_FX_STOP), 1);
        assert_int_equal(figures(&site).attempts, before.attempts);
        assert_false(figures(&site).found_unknown);
        commit(&site);
        clear_log(&site);
        give_one(2, 1, 1, 2); /* and it bars no other job */
        assert_non_null(last_of(&site, HELIO_AGENT_FX_START));
        if (how + 1 < HOW_COUNT)
            site_end(&site);
    }
}

static void found__what_the_broker_takes_for_over_is_killed_again_by_the_next_agent(void **state)
{
    (void)state;
    tell(STOPPED_AS_NOT_HERE);
    restart(&site);
    open_session(&site);
    assert_int_equal(holdings_of(1, 5), 0);
    backend_says(&site, 1, 5, HELIO_BACKEND_REPORT_STARTED);
    assert_int_equal(count_of(&site, HELIO_AGENT_FX_STOP), 1);
}

static void found__an_epoch_that_nobody_knows_is_shown_in_every_session_until_it_ends(void **state)
{
    (void)state;
    tell(ENDED_AND_ACKNOWLEDGED);
    backend_says(&site, 1, 6, HELIO_BACKEND_REPORT_STARTED); /* a later one than any that was ordered */
    assert_null(last_of(&site, HELIO_AGENT_FX_STOP));
    assert_true(figures(&site).found_unknown);
    commit(&site);
    for (int session = 0; session < 3; session++) {
        if (session == 1)
            restart(&site);
        step(&site, HELIO_AGENT_EV_DISCONNECTED, NULL);
        clear_log(&site);
        open_session(&site);
        assert_int_equal(holdings_of(1, 6), 1);
        give_one((uint8_t)(10 + session), 1, 1, 1);
        assert_refused(HELIO_CAUSE_NOT_READY, "an attempt of unknown size runs here");
    }
    backend_says(&site, 1, 6, HELIO_BACKEND_REPORT_ENDED);
    assert_non_null(report_row(&site, HELIO_REPORT_KIND_ENDED));
    acknowledge(&site, last_seq(&site));
    give_one(20, 1, 1, 1);
    assert_non_null(last_of(&site, HELIO_AGENT_FX_START));
}

/*  The use of the attempt is unknown, so the account of the pools holds nothing for it, and its end gives nothing
 *  back. */
static void found__takes_and_gives_back_no_gpus_of_others(void **state)
{
    (void)state;
    open_session(&site);
    backend_says(&site, 1, 5, HELIO_BACKEND_REPORT_STARTED);
    backend_says(&site, 1, 5, HELIO_BACKEND_REPORT_ENDED);
    acknowledge(&site, last_seq(&site));
    for (uint8_t number = 2; number < 6; number++) {
        give_one(number, 1, 1, 8);
        const helio_afx_start_t *start = last_of(&site, HELIO_AGENT_FX_START);
        assert_true(start && helio_job_key_equal(start->order.key, key_of(number)));
        clear_log(&site);
    }
    give_one(6, 1, 1, 1); /* four nodes of eight are all there is */
    assert_refused(HELIO_CAUSE_NO_CAPACITY, "");
}

static const helio_site_summary_t *last_summary(void)
{
    return last_of(&site, HELIO_AGENT_FX_SEND_SUMMARY);
}

/*  Nobody knows which GPUs it uses, so none is free until it is gone. */
static void found__is_told_as_running_and_its_site_offers_nothing_until_it_is_gone(void **state)
{
    (void)state;
    open_session(&site);
    backend_says(&site, 1, 5, HELIO_BACKEND_REPORT_STARTED);
    assert_non_null(report_row(&site, HELIO_REPORT_KIND_RUNNING));
    step(&site, HELIO_AGENT_EV_RESYNC, NULL);
    for (uint32_t p = 0; p < last_summary()->pools.count; p++) {
        const helio_pool_capacity_t *pool = &last_summary()->pools.items[p];
        assert_int_equal(pool->gpus_allocated, pool->gpus_total);
        for (uint32_t k = 0; k < pool->free_nodes.count; k++)
            assert_int_equal(pool->free_nodes.items[k], 0);
    }
    backend_says(&site, 1, 5, HELIO_BACKEND_REPORT_VANISHED);
    assert_non_null(report_row(&site, HELIO_REPORT_KIND_LOST));
    step(&site, HELIO_AGENT_EV_RESYNC, NULL);
    assert_int_equal(last_summary()->pools.items[0].gpus_allocated, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(found__what_the_broker_takes_for_over_is_killed_and_not_held),
        TEST(found__what_the_broker_takes_for_over_is_killed_again_by_the_next_agent),
        TEST(found__an_epoch_that_nobody_knows_is_shown_in_every_session_until_it_ends),
        TEST(found__takes_and_gives_back_no_gpus_of_others),
        TEST(found__is_told_as_running_and_its_site_offers_nothing_until_it_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
