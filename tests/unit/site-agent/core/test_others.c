/*  test_others.c -- GPUs on which processes outside the federation compute. */
#include "tests/unit/site-agent/core/orders_testing.h"

static int begin_one_node(void **state)
{
    (void)begin(state);
    site.pools[0].nodes = 1;
    site.profile.pools.count = 1;
    restart(&site);
    open_session(&site);
    return 0;
}

static void say_busy(uint64_t mask)
{
    uint32_t indexes[8];
    helio_aev_gpus_t gpus = {.busy = {indexes, 0}};
    for (uint32_t i = 0; i < 8; i++)
        if (mask >> i & 1)
            indexes[gpus.busy.count++] = i;
    step(&site, HELIO_AGENT_EV_GPUS, &gpus);
}

static uint32_t free_gpus(void)
{
    later(&site, 1000);
    step(&site, HELIO_AGENT_EV_RESYNC, NULL);
    const helio_site_summary_t *summary = last_of(&site, HELIO_AGENT_FX_SEND_SUMMARY);
    for (uint32_t k = 8; k > 0; k--)
        if (summary->pools.items[0].free_nodes.items[k])
            return k;
    return 0;
}

static void others__gpus_are_neither_offered_nor_assigned(void **state)
{
    (void)state;
    assert_int_equal(free_gpus(), 8);
    say_busy(0x0f);
    assert_int_equal(figures(&site).gpus_of_others, 4);
    assert_int_equal(free_gpus(), 4);
    give_one(1, 1, 1, 5);
    assert_refused(HELIO_CAUSE_NO_CAPACITY, "0 of 1 nodes are free enough");
    give_one(2, 1, 1, 4);
    const helio_afx_start_t *start = last_of(&site, HELIO_AGENT_FX_START);
    assert_true(start && start->slots.items[0].gpus.count == 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(start->slots.items[0].gpus.items[i], 4 + i);
    say_busy(0xff); /* its own are no others' */
    assert_int_equal(figures(&site).gpus_of_others, 4);
    backend_says(&site, 2, 1, HELIO_BACKEND_REPORT_STARTED);
    backend_says(&site, 2, 1, HELIO_BACKEND_REPORT_ENDED);
    assert_int_equal(free_gpus(), 4); /* of the attempt that ended, at once */
    say_busy(0);
    assert_int_equal(free_gpus(), 8);
    assert_int_equal(figures(&site).gpus_of_others, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(others__gpus_are_neither_offered_nor_assigned, begin_one_node, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
