/*  test_memory.c -- what HELLO tells of the journal: which one it is, and how far it goes. */
#include "tests/unit/site-agent/core/orders_testing.h"

static helio_afx_hello_t hello_now(void)
{
    step(&site, HELIO_AGENT_EV_DISCONNECTED, NULL);
    clear_log(&site);
    step(&site, HELIO_AGENT_EV_CONNECTED, NULL);
    helio_afx_hello_t hello = *(const helio_afx_hello_t *)last_of(&site, HELIO_AGENT_FX_SEND_HELLO);
    commit(&site);
    return hello;
}

static void memory__each_hello_and_each_report_takes_a_number_of_the_journal(void **state)
{
    (void)state;
    helio_afx_hello_t first = hello_now();
    open_session(&site);
    commit(&site);
    helio_afx_hello_t second = hello_now();
    assert_true(first.memory_since_ms > 0 && first.memory_mark > 0);
    assert_true(second.memory_since_ms == first.memory_since_ms);
    assert_true(second.memory_mark > first.memory_mark);
    open_session(&site);
    give_one(1, 1, 1, 2);
    uint64_t reported = last_seq(&site);
    commit(&site);
    restart(&site);
    helio_afx_hello_t third = hello_now();
    assert_true(third.memory_since_ms == first.memory_since_ms);
    assert_true(third.memory_mark > reported);
}

/*  What an older copy finds must not bring its number above the one that the broker has seen. */
static void memory__counts_nothing_that_was_found_before_the_first_session(void **state)
{
    (void)state;
    helio_afx_hello_t first = hello_now();
    open_session(&site);
    commit(&site);
    restart(&site);
    for (uint8_t number = 1; number < 9; number++)
        backend_says(&site, number, 1, HELIO_BACKEND_REPORT_STARTED);
    assert_true(hello_now().memory_mark <= first.memory_mark + 2);
}

static void memory__of_a_new_journal_has_another_name(void **state)
{
    (void)state;
    helio_afx_hello_t before = hello_now();
    site.row_count = 0; /* the state folder was deleted */
    later(&site, 5000);
    restart(&site);
    helio_afx_hello_t after = hello_now();
    assert_true(after.memory_since_ms != before.memory_since_ms);
}

/*  Otherwise each session of the older copy would look like another loss, until its numbers have caught up. */
static void memory__of_an_older_copy_goes_on_above_what_the_broker_has_seen(void **state)
{
    (void)state;
    helio_afx_hello_t hello = hello_now();
    helio_aev_welcome_t welcome = welcome_of(1, 1);
    welcome.memory_mark = hello.memory_mark + 1000;
    step(&site, HELIO_AGENT_EV_WELCOME, &welcome);
    rule_on(&site, 0, 0, 0, true);
    commit(&site);
    restart(&site);
    assert_int_equal(hello_now().memory_mark, hello.memory_mark + 1001);
    welcome.memory_mark = UINT64_MAX; /* a broken broker's */
    step(&site, HELIO_AGENT_EV_WELCOME, &welcome);
    assert_true(hello_now().memory_mark < hello.memory_mark + 2000);
}

static void orders__of_any_other_incarnation_than_the_sessions_start_nothing(void **state)
{
    (void)state;
    open_until_inventory(&site);
    give_one(9, 1, 1, 1);
    assert_refused(HELIO_CAUSE_NOT_READY, "the inventory is not closed");
    rule_on(&site, 0, 0, 0, true);
    clear_log(&site);
    helio_order_t order = order_of(1, 1, 1, 1);
    for (uint64_t incarnation = 0; incarnation < 4; incarnation += 2) {
        helio_aev_orders_t orders = {.incarnation = incarnation, .orders = {&order, 1}};
        step(&site, HELIO_AGENT_EV_ORDERS, &orders);
        assert_null(last_of(&site, HELIO_AGENT_FX_START));
        assert_int_equal(figures(&site).attempts, 0);
    }
    assert_int_equal(figures(&site).ignored_total, 2);
    give(&site, &order);
    assert_non_null(last_of(&site, HELIO_AGENT_FX_START));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(memory__each_hello_and_each_report_takes_a_number_of_the_journal),
        TEST(memory__counts_nothing_that_was_found_before_the_first_session),
        TEST(memory__of_a_new_journal_has_another_name),
        TEST(memory__of_an_older_copy_goes_on_above_what_the_broker_has_seen),
        TEST(orders__of_any_other_incarnation_than_the_sessions_start_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
